//! The small summary through which every decision goes: nine values with few classes each. What
//! is not in here cannot influence a decision.

use std::fmt;

use graphwrite_protocol_types::EffectKind;

use crate::classify::Case;
use crate::facts::{AttemptOutcome, Authority, ConfirmFacts, DataFiles, OperationOutcome};
use crate::standing::Standing;
use crate::wait::{OwnSteps, Owner};

macro_rules! class {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// Every class.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $text,)* })
            }
        }
    };
}

class! {
    /// Whose manifest was read.
    BranchClass {
        /// The incarnation that the intent names.
        Named = "live",
        /// None: that incarnation was deleted.
        Gone = "deleted",
        /// Another incarnation's; the intent lies in a foreign directory.
        Foreign = "another incarnation",
    }
}

class! {
    /// The attempt's terminal row.
    OutcomeClass {
        /// No row.
        Undecided = "none",
        /// `committed`.
        Committed = "`committed`",
        /// `aborted`.
        Aborted = "`aborted`",
        /// `aborted` and `rolled_back`.
        RolledBack = "`rolled_back`",
    }
}

class! {
    /// The owner.
    OwnerClass {
        /// Running in this process.
        LiveHere = "live here",
        /// May be running, and showed a sign of progress not long ago.
        Young = "maybe alive, young",
        /// This process; every step that it issued came back, and none landed.
        EmptyHanded = "this process, nothing landed",
        /// Anything else: dead, silent for too long, or this process with landed or unknown steps.
        Free = "dead, silent or stopped here",
    }
}

class! {
    /// The effects, as far as a forward decision goes.
    Shape {
        /// Every planned step of every effect is there, at HEAD.
        Complete = "all complete",
        /// Every effect with a slot lost it to another, and no effect has a unique name.
        SlotsForeign = "every slot foreign",
        /// Nothing landed as far as storage shows.
        NothingLanded = "nothing landed",
        /// It has no effect at all: storage shows nothing of how far its owner came.
        NoEffect = "no effect",
        /// Anything else.
        Other = "other",
    }
}

class! {
    /// The effects, as far as compensation goes.
    Rest {
        /// Something can be fenced, restored, removed, or followed by its pin.
        Steps = "steps left",
        /// Every effect is settled.
        Settled = "all settled",
        /// Nothing can be done before the evidence is read again.
        Outdated = "evidence outdated",
        /// What is left needs repair.
        Refused = "only refused effects left",
    }
}

class! {
    /// The caller's request under other attempts.
    OperationClass {
        /// Nothing.
        Free = "no",
        /// It committed.
        CommittedElsewhere = "committed",
        /// It may never commit.
        Sealed = "sealed",
    }
}

/// What every decision is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Summary {
    /// Whose manifest was read.
    pub branch: BranchClass,
    /// The attempt's row.
    pub outcome: OutcomeClass,
    /// The owner.
    pub owner: OwnerClass,
    /// The effects, looking forward.
    pub shape: Shape,
    /// Whether the attempt is confirmed, where it has to be.
    pub confirmed: bool,
    /// Whether the data files of the landed steps are there.
    pub files: bool,
    /// Whether every member of the read set still holds.
    pub read_set: bool,
    /// The request under other attempts.
    pub operation: OperationClass,
    /// The effects, looking back.
    pub rest: Rest,
}

impl Summary {
    /// The summary of a case whose effects stand as in `standings`, by index.
    pub fn of(case: &Case<'_>, standings: &[Standing]) -> Self {
        Self {
            branch: branch_class(case),
            outcome: outcome_class(case.authority.outcome),
            owner: owner_class(case),
            shape: shape(standings),
            confirmed: is_confirmed(case),
            files: case.files != DataFiles::Missing,
            read_set: read_set_holds(case),
            operation: operation_class(case.authority.operation),
            rest: rest(standings),
        }
    }
}

impl Summary {
    /// What keeps the attempt from being published, for the audit: the first of the conditions of
    /// rule 6 that does not hold.
    pub fn obstacle(&self) -> &'static str {
        match self.operation {
            OperationClass::Sealed => return "its operation was sealed",
            OperationClass::CommittedElsewhere => {
                return "another attempt of its operation has committed";
            }
            OperationClass::Free => {}
        }
        if self.shape == Shape::NoEffect {
            "nothing shows that its preconditions held"
        } else if self.shape != Shape::Complete {
            "not all that it planned has landed"
        } else if !self.confirmed {
            "what landed is not confirmed to be all"
        } else if !self.files {
            "data files that it landed are missing"
        } else if !self.read_set {
            "something that it read has changed since"
        } else {
            "nothing"
        }
    }
}

fn branch_class(case: &Case<'_>) -> BranchClass {
    match &case.authority.authority {
        Authority::BranchGone => BranchClass::Gone,
        Authority::Branch(view) if view.branch == case.intent.branch => BranchClass::Named,
        Authority::Branch(_) => BranchClass::Foreign,
    }
}

fn outcome_class(outcome: AttemptOutcome) -> OutcomeClass {
    match outcome {
        AttemptOutcome::None => OutcomeClass::Undecided,
        AttemptOutcome::Committed { .. } => OutcomeClass::Committed,
        AttemptOutcome::Aborted => OutcomeClass::Aborted,
        AttemptOutcome::RolledBack => OutcomeClass::RolledBack,
    }
}

fn owner_class(case: &Case<'_>) -> OwnerClass {
    match case.owner {
        Owner::OwnLive => OwnerClass::LiveHere,
        Owner::MaybeAlive { age_ms } if *age_ms < case.waits.fence_after_ms => OwnerClass::Young,
        Owner::OwnStopped { steps } if covers(case, steps) => OwnerClass::EmptyHanded,
        Owner::OwnStopped { .. } | Owner::Dead { .. } | Owner::MaybeAlive { .. } => {
            OwnerClass::Free
        }
    }
}

/// The owner accounts for every effect, and for each one nothing landed.
fn covers(case: &Case<'_>, steps: &[OwnSteps]) -> bool {
    steps.len() == case.intent.effects.len()
        && steps.iter().all(|effect| *effect == OwnSteps::NoneLanded)
}

fn shape(standings: &[Standing]) -> Shape {
    let bearing = || standings.iter().filter(|standing| **standing != Standing::Pointer);
    if standings.is_empty() {
        Shape::NoEffect
    } else if standings.iter().all(|standing| standing.is_complete()) {
        Shape::Complete
    } else if bearing().all(|standing| *standing == Standing::Foreign) {
        Shape::SlotsForeign
    } else if standings.iter().all(|standing| standing.has_nothing_landed()) {
        Shape::NothingLanded
    } else {
        Shape::Other
    }
}

fn is_confirmed(case: &Case<'_>) -> bool {
    if !ConfirmFacts::needed_by(case.intent) {
        return true;
    }
    let ConfirmFacts::Present(confirm) = case.confirm else { return false };
    let same_attempt = confirm.attempt == case.intent.attempt;
    let same_effects = confirm.achieved.len() == case.intent.effects.len();
    same_attempt
        && same_effects
        && (0..).zip(&case.intent.effects).all(|(index, effect)| {
            let achieved = case.confirm.achieved(index);
            match effect.kind {
                // Evidence calls it complete only at the confirmed version.
                EffectKind::Inline => achieved.is_some(),
                _ => achieved == effect.exact_post(),
            }
        })
}

fn read_set_holds(case: &Case<'_>) -> bool {
    match &case.authority.authority {
        Authority::Branch(view) => case.intent.read_set.check(view).is_ok(),
        Authority::BranchGone => false,
    }
}

fn operation_class(outcome: OperationOutcome) -> OperationClass {
    match outcome {
        OperationOutcome::None => OperationClass::Free,
        OperationOutcome::CommittedElsewhere => OperationClass::CommittedElsewhere,
        OperationOutcome::Sealed => OperationClass::Sealed,
    }
}

fn rest(standings: &[Standing]) -> Rest {
    let refused =
        |standing: &Standing| matches!(standing, Standing::Refused(_) | Standing::CompleteOneWay);
    let outdated = |standing: &Standing| *standing == Standing::Outdated;
    let has_step =
        |standing: &Standing| !standing.is_settled() && !refused(standing) && !outdated(standing);
    if standings.iter().any(has_step) {
        Rest::Steps
    } else if standings.iter().any(outdated) {
        Rest::Outdated
    } else if standings.iter().any(refused) {
        Rest::Refused
    } else {
        Rest::Settled
    }
}
