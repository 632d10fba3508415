//! How a pass over one intent ends, and whether the intent still stands in a request's way. It
//! performs nothing.

use std::collections::BTreeSet;

use graphwrite_protocol_types::{CommitId, Footprint, Intent, TableIdentity};

use crate::classify::Wait;
use crate::facts::AttemptOutcome;
use crate::look::Look;
use crate::port::Retired;
use crate::rule::Verdict;
use crate::standing::RefusedBecause;

/// How an intent ended, or why it did not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// Its commit is visible; its records are deleted.
    Committed {
        /// The graph commit.
        commit: CommitId,
        /// Whether this pass published it.
        rolled_forward: bool,
        /// What could not be deleted.
        retired: Retired,
    },
    /// It is aborted and taken back; its records are deleted.
    RolledBack {
        /// What could not be deleted.
        retired: Retired,
    },
    /// It had no effect and can have none; its records are deleted.
    Empty {
        /// What could not be deleted.
        retired: Retired,
    },
    /// Its branch is gone; its record is deleted.
    Discarded {
        /// What could not be deleted.
        retired: Retired,
    },
    /// Somebody else ended it meanwhile.
    Vanished,
    /// It is left to its owner for now.
    Waiting(Wait),
    /// It could not be ended.
    Stopped(Stopped),
}

/// Why a pass stopped before the end of an intent. It can be taken up again at any time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    /// The effect at fault, by index.
    pub effect: Option<u32>,
    /// Why.
    pub reason: StopReason,
    /// Whether the attempt is aborted. If so, only `unsettled` tables are blocked by it.
    pub aborted: bool,
    /// The tables whose effects are not settled.
    pub unsettled: BTreeSet<TableIdentity>,
}

/// Why a pass stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The effect cannot be judged or taken back.
    Refused(RefusedBecause),
    /// What would be next needs another mode.
    ModeForbids(Verdict),
    /// Steps were tried again and again without a visible result.
    NoProgress {
        /// What stood in the way last.
        last: String,
    },
}

impl std::fmt::Display for StopReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(reason) => f.write_str(reason.text()),
            Self::ModeForbids(verdict) => {
                write!(f, "the next step is {verdict}, which this recovery mode does not allow")
            }
            Self::NoProgress { last } => write!(f, "no step has a visible result: {last}"),
        }
    }
}

impl Resolution {
    /// Every name that [`Resolution::name`] gives.
    pub const NAMES: [&'static str; 8] = [
        "rolled_forward",
        "finalized",
        "rolled_back",
        "retired",
        "discarded",
        "vanished",
        "waiting",
        "stopped",
    ];

    /// Stable name, for spans and counters.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Committed { rolled_forward: true, .. } => "rolled_forward",
            Self::Committed { rolled_forward: false, .. } => "finalized",
            Self::RolledBack { .. } => "rolled_back",
            Self::Empty { .. } => "retired",
            Self::Discarded { .. } => "discarded",
            Self::Vanished => "vanished",
            Self::Waiting(_) => "waiting",
            Self::Stopped(_) => "stopped",
        }
    }

    /// Whether the intent is over.
    pub fn is_over(&self) -> bool {
        !matches!(self, Self::Waiting(_) | Self::Stopped(_))
    }

    /// Whether the intent still stands in the way of a request.
    pub fn blocks(&self, intent: &Intent, request: Option<&Footprint>) -> bool {
        let footprint = match self {
            Self::Stopped(stopped) if stopped.aborted => {
                Footprint { written: stopped.unsettled.clone(), ..Footprint::default() }
            }
            Self::Stopped(_) | Self::Waiting(_) => intent.footprint(),
            _ => return false,
        };
        request.is_none_or(|request| footprint.overlaps(request))
    }
}

/// A pass that ends here, with what it leaves in the way.
pub(crate) fn stopped(
    intent: &Intent,
    look: &Look,
    effect: Option<u32>,
    reason: StopReason,
) -> Resolution {
    let standings = &look.judgement.standings;
    let aborted = look.authority.outcome == AttemptOutcome::Aborted && !standings.is_empty();
    let unsettled = intent.effects.iter().zip(standings).filter(|(_, at)| !at.is_settled());
    let unsettled = unsettled.map(|(effect, _)| effect.target.identity).collect();
    Resolution::Stopped(Stopped { effect, reason, aborted, unsettled })
}
