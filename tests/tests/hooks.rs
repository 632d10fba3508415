//! Hooks that several tests use.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use async_trait::async_trait;
use graphwrite_coordinator::{Hooks, Injected};
use graphwrite_protocol_types::Failpoint;

/// Stops a write at a failpoint, the n-th time it comes there.
#[derive(Debug)]
pub(crate) struct StopAt {
    point: Failpoint,
    left: AtomicU8,
}

impl StopAt {
    pub(crate) fn new(point: Failpoint, nth: u8) -> Arc<Self> {
        Arc::new(Self { point, left: AtomicU8::new(nth) })
    }
}

#[async_trait]
impl Hooks for StopAt {
    async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
        if point == self.point && self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            return Err(Injected(point));
        }
        Ok(())
    }

    fn wants(&self, point: Failpoint) -> bool {
        point == self.point
    }
}
