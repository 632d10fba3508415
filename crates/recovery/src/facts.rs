//! Raw facts, as a port reads them from storage and from the manifest. They hold no judgement:
//! which transaction is where, and which rows exist. `evidence` and `classify` judge them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use graphwrite_protocol_types::{
    BaseView, CommitId, Confirm, Confirmation, Effect, Intent, Pin, PostState, PreState, TxUuid,
};

/// What one version slot of a ref holds. A slot that is not in the map was vacant when read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlotFacts {
    /// The transaction that took it.
    Taken(TxUuid),
    /// It is taken, but by whom cannot be read.
    Unreadable {
        /// What the storage says.
        reason: String,
    },
}

/// What one effect's ref looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefFacts {
    /// The dataset or the ref does not exist.
    Absent,
    /// It exists and cannot be read.
    Unreadable {
        /// What the storage says.
        reason: String,
    },
    /// It can be read.
    Present {
        /// The newest version, read before the slots.
        head: Pin,
        /// Of the slots in [`slots_to_observe`] those that are taken and not above `head`.
        slots: BTreeMap<u64, SlotFacts>,
    },
}

/// The version slots that say everything about `effect`: from its pre-state to one above its
/// highest planned version, where a restore would be. None for an effect that moves no version.
pub fn slots_to_observe(effect: &Effect) -> Option<RangeInclusive<u64>> {
    let planned = effect.steps.iter().map(|step| step.version()).max();
    let last = match (&effect.post, planned) {
        (PostState::Range { last, .. }, planned) => Some((*last).max(planned.unwrap_or(0))),
        (_, planned) => planned,
    }?;
    let first = match &effect.pre {
        PreState::Absent => first_slot(effect),
        PreState::At(pin) => pin.version,
    };
    Some(first..=last + 1)
}

/// The slot that the first step takes. A created ref starts at the version it was made from, so
/// the plan says it, not the absence before it.
pub(crate) fn first_slot(effect: &Effect) -> u64 {
    effect.steps.first().map_or(effect.first_version(), |step| step.version())
}

/// Whether the data files that landed steps name are there. Asked only of a complete attempt,
/// because only a roll-forward makes anybody read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DataFiles {
    /// Nobody had to know.
    NotAsked,
    /// All of them.
    Present,
    /// At least one is gone.
    Missing,
}

/// The confirm object of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfirmFacts {
    /// Every effect says for itself whether it is complete.
    NotNeeded,
    /// Needed and not there.
    Missing,
    /// There.
    Present(Confirm),
    /// There and not to be understood. It counts as missing: an unconfirmed attempt is taken back,
    /// which is always safe, so that a damaged confirm object needs nobody's hand.
    Unreadable {
        /// What is wrong with it.
        reason: String,
    },
}

impl ConfirmFacts {
    /// Whether the confirm object of `intent` has to be read at all.
    pub fn needed_by(intent: &Intent) -> bool {
        intent.recovery.confirmation == Confirmation::Required
    }

    /// The confirmed version of the effect with this index.
    pub fn achieved(&self, effect: usize) -> Option<&Pin> {
        match self {
            Self::Present(confirm) => confirm.achieved.get(effect).and_then(Option::as_ref),
            Self::NotNeeded | Self::Missing | Self::Unreadable { .. } => None,
        }
    }
}

/// The row of the attempt in the manifest, at most one terminal one (K2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttemptOutcome {
    /// No row: nobody has decided.
    None,
    /// `committed`.
    Committed {
        /// The graph commit.
        commit: CommitId,
    },
    /// `aborted`, and nothing says yet that everything is taken back.
    Aborted,
    /// `aborted` and `rolled_back`.
    RolledBack,
}

/// What became of the caller's request under another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationOutcome {
    /// Nothing.
    None,
    /// It committed under another attempt.
    CommittedElsewhere,
    /// It was sealed: it may never commit.
    Sealed,
}

/// The branch's manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authority {
    /// One consistent view of it.
    Branch(Box<BaseView>),
    /// The incarnation that the intent names was deleted.
    BranchGone,
}

/// Everything that the manifest says about one intent, read from one manifest version and *after*
/// the evidence: read before, a healthy history looks buried (pitfall 80).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorityFacts {
    /// The branch's state.
    pub authority: Authority,
    /// The attempt's own row.
    pub outcome: AttemptOutcome,
    /// The request's rows under other attempts.
    pub operation: OperationOutcome,
}
