//! Layers around a client's storage: they count its requests, hold them, or make them fail. They
//! see Lance's requests and ours alike, and must not know what an object means.

mod counting;
mod faulty;
mod holding;
mod tap;

pub use counting::{RequestCounter, RequestCounts};
pub use faulty::{Fault, FaultHandle, LoggedOperation, OperationLog};
pub use holding::{Held, HoldHandle};
pub use tap::{Operation, OperationKind};

use std::sync::Arc;

use crate::Store;
use tap::{Tap, Tapped};

impl Store {
    /// A client of the same storage whose requests are counted.
    pub fn counting(&self) -> (Self, RequestCounter) {
        let counter = RequestCounter::default();
        (self.tapped(Arc::new(counter.clone())), counter)
    }

    /// A client of the same storage whose durable operations are numbered from 1, logged, and meet
    /// the fate that `decide` gives them.
    pub fn faulty(
        &self,
        decide: impl Fn(&Operation) -> Fault + Send + Sync + 'static,
    ) -> (Self, FaultHandle) {
        let handle = FaultHandle::new(decide);
        (self.tapped(Arc::new(handle.clone())), handle)
    }

    /// A client of the same storage in which every request that `selects` picks waits until the
    /// handle lets it go.
    pub fn holding(
        &self,
        selects: impl Fn(&Operation) -> bool + Send + Sync + 'static,
    ) -> (Self, HoldHandle) {
        let (tap, handle) = holding::channel(selects);
        (self.tapped(Arc::new(tap)), handle)
    }

    fn tapped(&self, tap: Arc<dyn Tap>) -> Self {
        self.layered(|inner| Arc::new(Tapped::new(inner, tap)))
    }
}
