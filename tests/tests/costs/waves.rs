//! Serial round trips, as release waves: the storage holds every request; when the program cannot go
//! on without an answer, it releases all that it holds, and that was one wave. No clock decides.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use graphwrite_coordinator::Store;
use graphwrite_substrate::{Held, HoldHandle, Operation};
use parking_lot::Mutex;

use super::quiet::quiet;

/// The requests that were answered together.
pub(crate) type Wave = Vec<Operation>;

/// Counts waves while it is told to, and lets everything pass otherwise.
#[derive(Debug, Clone)]
pub(crate) struct Waves(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    holding: AtomicBool,
    released: Mutex<Vec<Wave>>,
    ended: AtomicBool,
}

/// Ends the thread that releases, when it is dropped.
#[derive(Debug)]
pub(crate) struct Releaser {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// A client of the same storage whose requests can be held in waves.
pub(crate) fn in_waves(store: &Store) -> (Store, Waves, Releaser) {
    let shared = Arc::new(Shared::default());
    let selects = Arc::clone(&shared);
    let (store, requests) = store.holding(move |_| selects.holding.load(Ordering::SeqCst));
    let of_thread = Arc::clone(&shared);
    let thread = thread::spawn(move || release(requests, &of_thread));
    let releaser = Releaser { shared: Arc::clone(&shared), thread: Some(thread) };
    (store, Waves(shared), releaser)
}

impl Waves {
    /// From here on requests are held.
    pub(crate) fn hold(&self, releaser: &Releaser) {
        self.0.holding.store(true, Ordering::SeqCst);
        releaser.wake();
    }

    /// What comes now passes; what is held is still released.
    pub(crate) fn let_pass(&self) {
        self.0.holding.store(false, Ordering::SeqCst);
    }

    /// Waves so far.
    pub(crate) fn count(&self) -> usize {
        self.0.released.lock().len()
    }

    /// The waves after the first `count`.
    pub(crate) fn since(&self, count: usize) -> Vec<Wave> {
        self.0.released.lock().split_off(count)
    }
}

impl Releaser {
    fn wake(&self) {
        self.thread.iter().for_each(|thread| thread.thread().unpark());
    }
}

impl Drop for Releaser {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        self.wake();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the releasing thread has not panicked");
        }
    }
}

fn release(mut requests: HoldHandle, shared: &Shared) {
    while !shared.ended.load(Ordering::SeqCst) {
        if !quiet() {
            thread::yield_now();
            continue;
        }
        let held: Vec<Held> = std::iter::from_fn(|| requests.try_next()).collect();
        let held: Vec<Held> = held.into_iter().filter(|held| !held.is_abandoned()).collect();
        if !held.is_empty() {
            let wave = held.iter().map(|held| held.operation.clone()).collect();
            shared.released.lock().push(wave);
            held.into_iter().for_each(Held::release);
        } else if !shared.holding.load(Ordering::SeqCst) {
            thread::park();
        }
    }
}
