//! The gates that an attempt holds, measured: how long they were waited for and how long they were
//! held goes to the attempt's span. It must not know what happens while they are held.

use graphwrite_gates::{GateGuard, GateSet, GateTimeout};
use tracing::{Instrument, Span};

use crate::core::Core;
use crate::spans::Trace;

/// Granted gates. They are released when this is dropped, wherever the attempt ends.
#[derive(Debug)]
pub(crate) struct Held {
    guard: GateGuard,
    span: Span,
}

/// Stage C: waits for `gates`, all or none (RFC 4.3).
pub(crate) async fn acquire(
    core: &Core,
    gates: GateSet,
    trace: &Trace,
) -> Result<Held, GateTimeout> {
    let granted = core.gates.acquire(gates, &trace.attempt, core.options.gate_wait_max);
    let guard = granted.instrument(trace.gates()).await?;
    let span = trace.span();
    span.record("gate_wait_us", guard.waited_us());
    Ok(Held { guard, span })
}

impl Drop for Held {
    fn drop(&mut self) {
        self.span.record("gate_hold_us", self.guard.held_us());
    }
}
