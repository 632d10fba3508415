//! What the tests stand on: a clock that follows tokio's, and short ways to say what is wanted.

use std::sync::Arc;
use std::time::Duration;

use graphwrite_gates::{GateGuard, GateManager, GateMode, GateSet, GateTimeout};
use graphwrite_protocol_types::{Env, IncarnationId, StableTableId, TableIdentity};
use tokio::time::Instant;

#[derive(Debug)]
pub(crate) struct TokioClock(Instant);

impl TokioClock {
    pub(crate) fn start() -> Arc<dyn Env> {
        Arc::new(Self(Instant::now()))
    }
}

impl Env for TokioClock {
    fn unix_micros(&self) -> u64 {
        self.monotonic_micros()
    }

    fn monotonic_micros(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_micros()).expect("a test is short")
    }

    fn random_u128(&self) -> u128 {
        unreachable!("gates need no randomness")
    }
}

pub(crate) const WAIT_MAX: Duration = Duration::from_secs(10);

pub(crate) fn manager() -> Arc<GateManager> {
    GateManager::new(TokioClock::start())
}

pub(crate) fn table(number: u64) -> TableIdentity {
    TableIdentity {
        table: StableTableId::new(number).expect("not zero"),
        incarnation: IncarnationId::new(number).expect("not zero"),
    }
}

/// A writer on main into these tables.
pub(crate) fn writer(tables: &[u64]) -> GateSet {
    GateSet::for_writer("main", tables.iter().map(|number| ("main".to_owned(), table(*number))))
}

pub(crate) fn schema_apply() -> GateSet {
    GateSet::new().with_schema(GateMode::Exclusive)
}

/// Gates that are free, taken without a wait.
pub(crate) async fn hold(manager: &Arc<GateManager>, set: GateSet, label: &str) -> GateGuard {
    manager.acquire(set, &label, Duration::ZERO).await.expect("the gates are free")
}

/// A request that is sure to be waiting when this returns.
pub(crate) async fn queue(
    manager: &Arc<GateManager>,
    set: GateSet,
    label: &str,
) -> impl Future<Output = Result<GateGuard, GateTimeout>> + use<> {
    let mut request = Box::pin(manager.acquire(set, &label, WAIT_MAX));
    assert!(futures::poll!(&mut request).is_pending(), "`{label}` should have to wait");
    request
}

/// Whether a set could be had this moment.
pub(crate) async fn is_free(manager: &Arc<GateManager>, set: GateSet) -> bool {
    manager.acquire(set, &"probe", Duration::ZERO).await.is_ok()
}
