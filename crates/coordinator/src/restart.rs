//! When an attempt is followed by another, and when a request is given up.

use std::time::Duration;

use graphwrite_protocol_types::{Conflict, NotValid, WriteOutcome};

use crate::core::Core;
use crate::error::WriteErrorKind;

/// How one attempt ended.
#[derive(Debug)]
pub(crate) enum Attempted {
    /// With an answer.
    Done(Box<WriteOutcome>),
    /// Without effect, because of this: recompute, do not patch (RFC 3.4).
    Again(Obstacle),
}

/// Why a request is prepared again.
#[derive(Debug)]
pub(crate) enum Obstacle {
    /// Stage D found that the plan no longer holds.
    NotValid(NotValid),
    /// Somebody was faster; if the attempt had been armed, it was taken back.
    Overtaken(String),
}

impl Attempted {
    pub(crate) fn done(outcome: WriteOutcome) -> Self {
        Self::Done(Box::new(outcome))
    }
}

/// Restarts are bounded and jittered, so that writers that met once do not meet for ever.
pub(crate) async fn pause(core: &Core, restarts: u32) {
    let ceiling_ms = 1_u64 << restarts.min(8);
    let jittered_ms = core.options.env.random_u128() as u64 % ceiling_ms;
    tokio::time::sleep(Duration::from_millis(jittered_ms)).await;
}

pub(crate) fn give_up(attempts: u32, obstacle: Obstacle) -> Result<WriteOutcome, WriteErrorKind> {
    let last = match obstacle {
        // No intent and no fence explains it: it was not made by this protocol.
        Obstacle::NotValid(NotValid::HeadMoved { identity, pin, found }) => {
            return Err(WriteErrorKind::UnexplainedHead { identity, pin, found });
        }
        Obstacle::NotValid(not_valid) => not_valid.to_string(),
        Obstacle::Overtaken(reason) => reason,
    };
    Ok(WriteOutcome::Conflict(Conflict::RetriesExhausted { attempts, last }))
}
