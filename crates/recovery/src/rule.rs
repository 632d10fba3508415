//! The precedence of recovery as one function per rule over the summary, first match wins. This
//! file is the decision table in prose: it knows classes, no effects, no ids and no storage.

use std::fmt;

use serde::Serialize;

use crate::summary::{BranchClass, OperationClass, OutcomeClass, OwnerClass, Rest, Shape, Summary};

/// The rules, in the order in which they are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Rule {
    /// The intent lies where it does not belong.
    ForeignBranch,
    /// `committed` is durable.
    Committed,
    /// `rolled_back` is durable.
    RolledBack,
    /// The branch incarnation is gone.
    BranchGone,
    /// `aborted` is durable.
    Aborted,
    /// The owner may be at work.
    OwnerFirst,
    /// Everything is there to be published.
    Complete,
    /// Nothing landed and nothing can.
    Empty,
    /// Everything else.
    TakeBack,
}

impl Rule {
    /// Every rule, in precedence.
    pub const ALL: &'static [Self] = &[
        Self::ForeignBranch,
        Self::Committed,
        Self::RolledBack,
        Self::BranchGone,
        Self::Aborted,
        Self::OwnerFirst,
        Self::Complete,
        Self::Empty,
        Self::TakeBack,
    ];

    /// The number of the rule; 0 for the guard before them.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The rule in one sentence.
    pub fn text(self) -> &'static str {
        match self {
            Self::ForeignBranch => {
                "the intent names another branch than the one it lies under: nothing is touched"
            }
            Self::Committed => "the attempt committed: only its records are left to delete",
            Self::RolledBack => {
                "the attempt is aborted and taken back: only its records are left to delete"
            }
            Self::BranchGone => {
                "the branch was deleted: the record is discarded, its tables are left to reclaim"
            }
            Self::Aborted => "the attempt is aborted: take back what it left, never go forward",
            Self::OwnerFirst => "the owner may be at work and showed it not long ago: wait for it",
            Self::Complete => {
                "everything the attempt planned is there and all that it read still holds: publish it"
            }
            Self::Empty => "nothing of the attempt landed and nothing of it can land: forget it",
            Self::TakeBack => {
                "the attempt can neither be finished nor forgotten: abort it, take it back"
            }
        }
    }
}

/// What is to be done, without the details that only the intent has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Verdict {
    /// Delete the attempt's records.
    Finalize,
    /// Publish the fixed delta.
    RollForward,
    /// Make `aborted` durable.
    Abort,
    /// Fence, restore, remove, move pins, or record `rolled_back`: whatever is next.
    Compensate,
    /// Delete the records of an attempt without effects.
    RetireEmpty,
    /// Audit on main, then delete the record.
    DiscardOrphan,
    /// Leave it to its running owner, whose gates order everybody else.
    WaitForGates,
    /// Look again after a pause.
    WaitForOwner,
    /// Read the evidence again.
    LookAgain,
    /// Leave it, with a typed reason.
    Refuse,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Finalize => "Finalize",
            Self::RollForward => "RollForward",
            Self::Abort => "Abort",
            Self::Compensate => "Compensate",
            Self::RetireEmpty => "RetireEmpty",
            Self::DiscardOrphan => "DiscardOrphan",
            Self::WaitForGates => "Wait (gates)",
            Self::WaitForOwner => "Wait (owner)",
            Self::LookAgain => "Wait (look again)",
            Self::Refuse => "Refuse",
        })
    }
}

/// Asks the rules in order. Total: the last one always answers.
pub fn decide(summary: &Summary) -> (Rule, Verdict) {
    let found = foreign_branch(summary)
        .or_else(|| committed(summary))
        .or_else(|| rolled_back(summary))
        .or_else(|| branch_gone(summary))
        .or_else(|| aborted(summary))
        .or_else(|| owner_first(summary))
        .or_else(|| complete(summary))
        .or_else(|| empty(summary));
    found.unwrap_or((Rule::TakeBack, Verdict::Abort))
}

type Found = Option<(Rule, Verdict)>;

/// Guard: rows and heads were read from a manifest that is not the intent's. They prove nothing
/// about it, so nothing may be done.
fn foreign_branch(summary: &Summary) -> Found {
    let foreign = summary.branch == BranchClass::Foreign;
    foreign.then_some((Rule::ForeignBranch, Verdict::Refuse))
}

/// Rule 1. Safe: `committed` was part of the manifest commit that made the whole delta visible, and
/// no `aborted` can follow it (K2). Whatever else differs now, a buried effect, a lost confirm, a
/// moved read set, is the later history of a healthy graph.
fn committed(summary: &Summary) -> Found {
    let committed = summary.outcome == OutcomeClass::Committed;
    committed.then_some((Rule::Committed, Verdict::Finalize))
}

/// Rule 2. Safe: `rolled_back` was written when every effect was settled, and settled is for ever:
/// a closed slot stays closed, a pin never goes down on its ref, an identity never comes back. A
/// zombie that wakes up now finds its slots taken and `aborted` in its way.
fn rolled_back(summary: &Summary) -> Found {
    let rolled_back = summary.outcome == OutcomeClass::RolledBack;
    rolled_back.then_some((Rule::RolledBack, Verdict::Finalize))
}

/// Rule 3. Safe: nothing is published on a deleted incarnation, and its name's next incarnation has
/// another native branch and other refs (K4). Only the record goes: a fork may pin the rest.
fn branch_gone(summary: &Summary) -> Found {
    let gone = summary.branch == BranchClass::Gone;
    gone.then_some((Rule::BranchGone, Verdict::DiscardOrphan))
}

/// Rule 4. Safe: `aborted` excludes `committed` for ever, so what landed is nobody's; and it is
/// never followed by a roll-forward, since another recoverer may already be taking back. It does
/// not wait for the owner, whose fate is decided: its slots are closed under it, strictly (K3).
fn aborted(summary: &Summary) -> Found {
    let aborted = summary.outcome == OutcomeClass::Aborted;
    let verdict = match summary.rest {
        Rest::Steps | Rest::Settled => Verdict::Compensate,
        Rest::Outdated => Verdict::LookAgain,
        Rest::Refused => Verdict::Refuse,
    };
    aborted.then_some((Rule::Aborted, verdict))
}

/// Rule 5. Courtesy, not safety: acting beside a live owner is safe, but would abort work that is
/// about to succeed.
fn owner_first(summary: &Summary) -> Found {
    let verdict = match summary.owner {
        OwnerClass::LiveHere => Verdict::WaitForGates,
        OwnerClass::Young => Verdict::WaitForOwner,
        OwnerClass::EmptyHanded | OwnerClass::Free => return None,
    };
    Some((Rule::OwnerFirst, verdict))
}

/// Rule 6. Safe: what is published is the delta that was fixed at arm, over exactly the effects
/// that it was made for, and the strict manifest commit goes to the slot after the state in which
/// the read set was found to hold. Nobody can have built on an unpublished HEAD, nobody restores
/// it without `aborted`, and `aborted` would have taken that very slot. What the read set cannot hold,
/// the source of a merge, its owner has asked for between the intent and the first effect, so that an
/// effect proves it (BLOCKER-10); an attempt without any effect proves nothing, and is for rule 8.
fn complete(summary: &Summary) -> Found {
    let published_once = summary.operation == OperationClass::Free;
    let whole = summary.shape == Shape::Complete && summary.confirmed && summary.files;
    let forward = whole && summary.read_set && published_once;
    forward.then_some((Rule::Complete, Verdict::RollForward))
}

/// Rule 7. Safe without an `aborted` row, because the attempt can never publish: (i) its owner
/// itself says that it stopped with nothing landed and nothing unanswered; (ii) each of its slots
/// went to another transaction, so that none of its steps can land (K1), not even late. An unknown
/// is not settled: it goes to rule 8. An object with a unique name has no slot that others could
/// take, so (ii) does not hold for it.
fn empty(summary: &Summary) -> Found {
    let own = summary.owner == OwnerClass::EmptyHanded
        && matches!(summary.shape, Shape::NothingLanded | Shape::SlotsForeign);
    let lost = summary.shape == Shape::SlotsForeign;
    (own || lost).then_some((Rule::Empty, Verdict::RetireEmpty))
}
