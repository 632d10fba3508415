//! The async shell around the pure core: it brings the clock, the bound of the wait and the waking.
//! It decides nothing; the table does.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use graphwrite_protocol_types::Env;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::queue::Ticket;
use crate::table::{GateTable, Standing};
use crate::{GateHolder, GateKey, GateMetrics, GateMode, GateSet, GateTimeout, GateWaiter};

/// The gates of one graph in one process (RFC-022 section 4.3). Handles of one graph share it
/// through [`crate::GateRegistry`]; a manager made by [`GateManager::new`] shares with nobody and
/// so stands for a process of its own.
#[derive(Debug)]
pub struct GateManager {
    env: Arc<dyn Env>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    table: GateTable,
    wakers: BTreeMap<Ticket, oneshot::Sender<()>>,
}

impl GateManager {
    /// A manager that shares with nobody. Times are measured on the clock of `env`.
    pub fn new(env: Arc<dyn Env>) -> Arc<Self> {
        Arc::new(Self { env, state: Mutex::default() })
    }

    /// Waits until the whole set is granted, at most for `wait_max`; with a zero bound it is granted
    /// at once or not at all. The request takes its place in the order of arrival at the first poll
    /// and gives it back when the future is dropped. `label` names the attempt to others.
    ///
    /// Waiting needs a tokio runtime with its timer enabled.
    ///
    /// # Errors
    ///
    /// [`GateTimeout`] when the bound is reached; nothing is held then.
    pub fn acquire(
        self: &Arc<Self>,
        set: GateSet,
        label: &dyn fmt::Display,
        wait_max: Duration,
    ) -> impl Future<Output = Result<GateGuard, GateTimeout>> + Send + use<> {
        let manager = Arc::clone(self);
        let label = label.to_string();
        async move {
            let (place, granted) = Place::take(manager, set, label);
            if let Some(granted) = granted {
                // Both outcomes are only hints: a grant may come in the very moment of the time-out.
                // The table knows, and is asked next.
                let _ = tokio::time::timeout(wait_max, granted).await;
            }
            place.settle()
        }
    }

    /// Everything that is held now, one entry for each gate of each holder, oldest holder first.
    pub fn holders(&self) -> Vec<GateHolder> {
        self.state.lock().table.holders(self.env.monotonic_micros())
    }

    /// Everybody who waits now, oldest first.
    pub fn waiters(&self) -> Vec<GateWaiter> {
        self.state.lock().table.waiters(self.env.monotonic_micros())
    }

    /// The measures since the manager was made.
    pub fn metrics(&self) -> GateMetrics {
        self.state.lock().table.metrics()
    }

    fn leave(&self, ticket: Ticket) {
        let mut state = self.state.lock();
        let granted = state.table.leave(ticket, self.env.monotonic_micros());
        state.wakers.remove(&ticket);
        let wakers = state.take_wakers(&granted);
        drop(state);
        wake(wakers);
    }

    fn expire(&self, ticket: Ticket) -> Option<GateTimeout> {
        let mut state = self.state.lock();
        let (timeout, granted) = state.table.expire(ticket, self.env.monotonic_micros())?;
        let wakers = state.take_wakers(&granted);
        drop(state);
        wake(wakers);
        Some(timeout)
    }
}

impl State {
    fn take_wakers(&mut self, granted: &[Ticket]) -> Vec<oneshot::Sender<()>> {
        granted.iter().filter_map(|ticket| self.wakers.remove(ticket)).collect()
    }
}

/// Wakes outside the lock, since a waker may run arbitrary code. A receiver that is gone is no
/// failure: its place is given back by its own drop.
fn wake(wakers: Vec<oneshot::Sender<()>>) {
    for waker in wakers {
        let _ = waker.send(());
    }
}

/// The one owner of a place in the table, waiting or granted. Dropping it gives the place back,
/// which covers every await point, the time-out and the guard alike.
#[derive(Debug)]
struct Place {
    manager: Arc<GateManager>,
    ticket: Ticket,
    set: Arc<GateSet>,
    label: String,
    asked_us: u64,
}

impl Place {
    /// Joins the queues; the receiver is there only if the set was not granted at once.
    fn take(
        manager: Arc<GateManager>,
        set: GateSet,
        label: String,
    ) -> (Self, Option<oneshot::Receiver<()>>) {
        let set = Arc::new(set);
        let asked_us = manager.env.monotonic_micros();
        let mut state = manager.state.lock();
        let ticket = state.table.request(Arc::clone(&set), label.clone(), asked_us);
        let waits = state.table.poll(ticket) == Standing::Waiting;
        let granted = waits.then(|| {
            let (waker, granted) = oneshot::channel();
            state.wakers.insert(ticket, waker);
            granted
        });
        drop(state);
        (Self { manager, ticket, set, label, asked_us }, granted)
    }

    fn settle(self) -> Result<GateGuard, GateTimeout> {
        match self.manager.expire(self.ticket) {
            Some(timeout) => {
                tracing::debug!(label = %self.label, %timeout, "gates not granted");
                Err(timeout)
            }
            None => Ok(GateGuard::new(self)),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.manager.leave(self.ticket);
    }
}

/// The granted gates of one attempt; all of them are released when it is dropped. It keeps its
/// manager alive, so a handle that is opened while an attempt still runs shares its gates.
///
/// A grant belongs to one attempt, so a guard cannot be doubled:
///
/// ```compile_fail,E0599
/// # use graphwrite_gates::GateGuard;
/// # fn double(guard: GateGuard) -> (GateGuard, GateGuard) {
/// (guard.clone(), guard)
/// # }
/// ```
#[derive(Debug)]
#[must_use = "the gates are released as soon as the guard is dropped"]
pub struct GateGuard {
    place: Place,
    granted_us: u64,
}

impl GateGuard {
    fn new(place: Place) -> Self {
        let granted_us = place.manager.env.monotonic_micros();
        let waited_us = granted_us.saturating_sub(place.asked_us);
        tracing::trace!(label = %place.label, gates = place.set.len(), waited_us, "gates granted");
        Self { place, granted_us }
    }

    /// The label under which the gates were acquired.
    pub fn label(&self) -> &str {
        &self.place.label
    }

    /// The gates that are held.
    pub fn set(&self) -> &GateSet {
        &self.place.set
    }

    /// The mode in which a gate is held, if it is.
    pub fn mode_of(&self, key: &GateKey) -> Option<GateMode> {
        self.place.set.mode_of(key)
    }

    /// Microseconds from the request until its caller saw the grant.
    pub fn waited_us(&self) -> u64 {
        self.granted_us.saturating_sub(self.place.asked_us)
    }

    /// Microseconds since its caller saw the grant.
    pub fn held_us(&self) -> u64 {
        self.place.manager.env.monotonic_micros().saturating_sub(self.granted_us)
    }
}
