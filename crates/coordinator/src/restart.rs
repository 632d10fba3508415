//! When an attempt is followed by another, and when a request is given up.

use std::fmt;
use std::time::Duration;

use graphwrite_protocol_types::{Access, Conflict, NotValid, Stale, WriteOutcome};

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
    Overtaken(Setback),
}

/// What kept an attempt from its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setback {
    pub(crate) reason: RestartReason,
    /// The same for people, with the details.
    pub(crate) text: String,
    /// Whether a manifest commit was sent and never answered, so that it may still land.
    pub(crate) publish_is_open: bool,
}

impl Setback {
    pub(crate) fn new(reason: RestartReason, text: impl fmt::Display) -> Self {
        Self { reason, text: text.to_string(), publish_is_open: false }
    }
}

/// Why a request is prepared again: what kind of thing came first. The names are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RestartReason {
    /// The branch was deleted, or is another incarnation.
    StaleBranch,
    /// The accepted schema changed.
    StaleSchema,
    /// A table that the request writes changed.
    StaleTable,
    /// A table that the request only depends on changed.
    StaleProbe,
    /// The branch's head moved under a request that names its parent.
    StaleHead,
    /// HEAD of a table is not its published version.
    HeadMoved,
    /// An intent was armed on the same tables since the barrier.
    PendingIntent,
    /// The version of a table went to another transaction.
    SlotTaken,
    /// The storage refused a step before it was sent.
    StepRefused,
    /// A step never answered for certain.
    StepUnknown,
    /// Another process closed the attempt while it stalled.
    Closed,
    /// Another attempt decided the same operation.
    OperationDecided,
    /// The manifest commit was refused or never answered.
    NotPublished,
}

impl RestartReason {
    /// Every reason.
    pub const ALL: [Self; 13] = [
        Self::StaleTable,
        Self::StaleProbe,
        Self::StaleSchema,
        Self::StaleBranch,
        Self::StaleHead,
        Self::PendingIntent,
        Self::HeadMoved,
        Self::SlotTaken,
        Self::StepRefused,
        Self::StepUnknown,
        Self::Closed,
        Self::OperationDecided,
        Self::NotPublished,
    ];

    /// Stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::StaleBranch => "stale_branch",
            Self::StaleSchema => "stale_schema",
            Self::StaleTable => "stale_table",
            Self::StaleProbe => "stale_probe",
            Self::StaleHead => "stale_head",
            Self::HeadMoved => "head_moved",
            Self::PendingIntent => "pending_intent",
            Self::SlotTaken => "slot_taken",
            Self::StepRefused => "step_refused",
            Self::StepUnknown => "step_unknown",
            Self::Closed => "closed",
            Self::OperationDecided => "operation_decided",
            Self::NotPublished => "not_published",
        }
    }

    /// The member of the read set that changed.
    pub(crate) fn stale(stale: &Stale) -> Self {
        match stale {
            Stale::Branch { .. } => Self::StaleBranch,
            Stale::Schema => Self::StaleSchema,
            Stale::Table { access: Access::Written, .. } => Self::StaleTable,
            Stale::Table { access: Access::Probed, .. } => Self::StaleProbe,
            Stale::GraphHead { .. } => Self::StaleHead,
            _ => Self::NotPublished,
        }
    }
}

impl Obstacle {
    pub(crate) fn overtaken(reason: RestartReason, text: impl fmt::Display) -> Self {
        Self::Overtaken(Setback::new(reason, text))
    }

    pub(crate) fn reason(&self) -> RestartReason {
        match self {
            Self::Overtaken(setback) => setback.reason,
            Self::NotValid(NotValid::Stale(stale)) => RestartReason::stale(stale),
            Self::NotValid(NotValid::HeadMoved { .. }) => RestartReason::HeadMoved,
            Self::NotValid(_) => RestartReason::PendingIntent,
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotValid(not_valid) => not_valid.fmt(f),
            Self::Overtaken(setback) => f.write_str(&setback.text),
        }
    }
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
        Obstacle::NotValid(NotValid::HeadMoved { identity, pin, found }) => {
            return Err(WriteErrorKind::UnexplainedHead { identity, pin, found });
        }
        obstacle => obstacle.to_string(),
    };
    Ok(WriteOutcome::Conflict(Conflict::RetriesExhausted { attempts, last }))
}
