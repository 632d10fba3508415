//! Where requests of one process line up once they have lost.

use graphwrite_gates::{GateGuard, GateSet};
use graphwrite_protocol_types::Footprint;

use crate::core::Core;
use crate::operation::Write;

/// Requests of one process that have lost queue up for their tables and are prepared again one after
/// the other, until they have their answer; new ones line up behind them. Else every one of them
/// would spoil the base of all that wait behind it, and the same one could lose for ever. This is a
/// courtesy, not a gate: nothing depends on it, and who waits too long goes on without.
pub(crate) async fn enter_lane(core: &Core, write: &Write) -> Option<GateGuard> {
    let Footprint { written, probed, .. } = write.footprint(core).ok()?;
    let tables = written.union(&probed).map(|table| ("again".to_owned(), *table));
    let set = GateSet::for_writer(core.branch().native.as_str(), tables);
    let entered = core.lanes.acquire(set, &write.operation, core.options.gate_wait_max).await;
    let waited_us = entered.as_ref().map_or_else(|late| late.waited_us, GateGuard::waited_us);
    core.counters.lane_wait.add(waited_us);
    entered.ok()
}
