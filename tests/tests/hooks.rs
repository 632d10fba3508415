//! Hooks that several tests use.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use async_trait::async_trait;
use futures::future::BoxFuture;
use graphwrite_coordinator::{Hooks, Injected};
use graphwrite_protocol_types::Failpoint;
use parking_lot::Mutex;

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

/// What others do when a write comes to a failpoint for the first time. The write waits for them.
pub(crate) struct Meanwhile {
    point: Failpoint,
    act: Mutex<Option<BoxFuture<'static, ()>>>,
}

impl Meanwhile {
    pub(crate) fn at(
        point: Failpoint,
        act: impl Future<Output = ()> + Send + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { point, act: Mutex::new(Some(Box::pin(act))) })
    }
}

impl std::fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "others act at {:?}", self.point)
    }
}

#[async_trait]
impl Hooks for Meanwhile {
    async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
        let act = if point == self.point { self.act.lock().take() } else { None };
        if let Some(act) = act {
            act.await;
        }
        Ok(())
    }

    fn wants(&self, point: Failpoint) -> bool {
        point == self.point
    }
}
