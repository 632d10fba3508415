//! The gates that an attempt holds, measured: how long they were waited for and how long they were
//! held goes to the attempt's span and to the counters. It must not know what happens while they are held.

use std::sync::Arc;

use graphwrite_gates::{GateGuard, GateSet, GateTimeout};
use tracing::{Instrument, Span};

use crate::core::Core;
use crate::counters::Counters;
use crate::spans::Trace;

/// Granted gates. They are released when this is dropped, wherever the attempt ends.
#[derive(Debug)]
pub(crate) struct Held {
    guard: GateGuard,
    span: Span,
    counters: Arc<Counters>,
}

/// Stage C: waits for `gates`, all or none (RFC 4.3).
pub(crate) async fn acquire(
    core: &Core,
    gates: GateSet,
    trace: &Trace,
) -> Result<Held, GateTimeout> {
    let granted = core.gates.acquire(gates, &trace.attempt, core.options.gate_wait_max);
    let granted = granted.instrument(trace.gates()).await;
    let waited_us = granted.as_ref().map_or_else(|late| late.waited_us, GateGuard::waited_us);
    let (span, counters) = (trace.span(), Arc::clone(&core.counters));
    span.record("gate_wait_us", waited_us);
    counters.gate_wait.add(waited_us);
    Ok(Held { guard: granted?, span, counters })
}

impl Drop for Held {
    fn drop(&mut self) {
        let held_us = self.guard.held_us();
        self.span.record("gate_hold_us", held_us);
        self.counters.gate_hold.add(held_us);
    }
}
