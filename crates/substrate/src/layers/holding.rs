//! Holds requests until a test lets them go. That a request is held is itself the signal that the
//! client has come that far, so that no test needs to sleep.

use std::fmt;

use futures::FutureExt;
use futures::future::BoxFuture;
use object_store::Result;
use tokio::sync::{mpsc, oneshot};

use super::tap::{Injected, Operation, Tap, Verdict};

/// Receives the held requests of a client. When it is dropped, nothing is held any more.
#[derive(Debug)]
pub struct HoldHandle(mpsc::UnboundedReceiver<Held>);

/// A request that waits. Dropping it makes the request fail without effect.
#[derive(Debug)]
pub struct Held {
    /// What is asked.
    pub operation: Operation,
    go: oneshot::Sender<()>,
}

impl Held {
    /// Lets the request reach the storage.
    pub fn release(self) {
        // A client that has given up waiting needs no answer.
        let _ = self.go.send(());
    }

    /// Whether the client waits for the request no more.
    pub fn is_abandoned(&self) -> bool {
        self.go.is_closed()
    }
}

impl HoldHandle {
    /// Waits until a request is held. None when the client is gone.
    pub async fn next(&mut self) -> Option<Held> {
        self.0.recv().await
    }

    /// A request that is held at this moment, if there is one.
    pub fn try_next(&mut self) -> Option<Held> {
        self.0.try_recv().ok()
    }
}

pub(super) struct Holder {
    selects: Box<dyn Fn(&Operation) -> bool + Send + Sync>,
    held: mpsc::UnboundedSender<Held>,
}

pub(super) fn channel(
    selects: impl Fn(&Operation) -> bool + Send + Sync + 'static,
) -> (Holder, HoldHandle) {
    let (held, requests) = mpsc::unbounded_channel();
    (Holder { selects: Box::new(selects), held }, HoldHandle(requests))
}

impl fmt::Debug for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Holder")
    }
}

impl Tap for Holder {
    fn admit(&self, operation: Operation) -> BoxFuture<'static, Result<Verdict>> {
        let proceed = || futures::future::ok(Verdict::Proceed).boxed();
        if !(self.selects)(&operation) {
            return proceed();
        }
        let (go, released) = oneshot::channel();
        match self.held.send(Held { operation, go }) {
            // Nobody holds any more.
            Err(_) => proceed(),
            Ok(()) => released
                .map(|go| match go {
                    Ok(()) => Ok(Verdict::Proceed),
                    Err(_) => Err(Injected::error("the held request was dropped")),
                })
                .boxed(),
        }
    }

    fn received(&self, _: u64) {}
}
