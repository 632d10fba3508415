//! What a branch name means and who may do what next (design 01 section 8, BLOCKER-01): pure and
//! total, from the records of the name's highest number and, where somebody has looked, from its
//! native branch. It reads nothing and waits for nothing.
//!
//! | records of the highest number | the name is |
//! |---|---|
//! | none | [`NameState::Free`] |
//! | begun | [`NameState::Creating`] |
//! | decided live | [`NameState::Live`] |
//! | decided void | [`NameState::Void`] |
//! | deleted, whatever else | [`NameState::Deleted`] |
//! | the one that decides cannot be understood | [`NameState::Unusable`] |
//!
//! Lower numbers are dead, whatever their records say: a number is begun only when the one below is
//! void or deleted, and what arrives later below the highest was too late.

use serde::Serialize;

/// The beginning of the highest number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum BegunFact {
    /// Not there.
    Absent,
    /// There.
    Present,
    /// There and not to be understood.
    Unusable,
}

/// The decision about the highest number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum DecidedFact {
    /// Not there.
    Absent,
    /// Decided live.
    Live,
    /// Decided void.
    Void,
    /// There and not to be understood.
    Unusable,
}

/// One of the two objects that a native branch consists of: its clone, and Lance's record of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum PhysicalFact {
    /// Nobody has looked.
    NotAsked,
    /// Not there.
    Absent,
    /// There, and what this incarnation's attempt makes.
    Own,
    /// There, and something else. No name is used twice (K4), so this is damage.
    Foreign,
}

/// Everything that a name is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NameFacts {
    /// `<n>.begin`.
    pub begun: BegunFact,
    /// `<n>.decided`.
    pub decided: DecidedFact,
    /// Whether `<n>.deleted` is there; its existence is what counts.
    pub deleted: bool,
    /// The clone, Lance's first phase.
    pub clone: PhysicalFact,
    /// `BranchContents`, Lance's second phase.
    pub contents: PhysicalFact,
}

/// What a name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum NameState {
    /// Nothing: it was never used.
    Free,
    /// An incarnation is on its way and undecided. Nobody can read it or write to it.
    Creating(Unfinished),
    /// A branch.
    Live(Wholeness),
    /// Nothing: the newest beginning came to nothing.
    Void(Remains),
    /// Nothing: the newest incarnation was deleted.
    Deleted(Remains),
    /// Not known: the record that decides cannot be understood.
    Unusable,
}

/// How far the native branch of an undecided incarnation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Unfinished {
    /// Nobody has looked at all of it.
    NotAsked,
    /// Neither clone nor contents.
    NotStarted,
    /// A clone without contents. Its name is never used again, so it is in nobody's way.
    CloneOnly,
    /// Both: nothing is missing but the decision.
    Complete,
    /// Contents without their clone, or something foreign: nothing that a creation leaves.
    Damaged,
}

/// Whether the native branch of a live incarnation is all there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Wholeness {
    /// Nobody has looked at all of it.
    NotAsked,
    /// All there.
    Whole,
    /// Something is missing or foreign.
    Damaged,
}

/// What is left of the native branch of a dead incarnation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Remains {
    /// Nobody has looked at all of it.
    NotAsked,
    /// Nothing: it is complete.
    Nothing,
    /// Something: its reclaim is pending.
    ReclaimPending,
    /// Something foreign, which nobody may remove unseen.
    Foreign,
}

/// What one who is not the owner may do about an undecided incarnation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum OthersMay {
    /// Nothing: there is nothing to decide, or it cannot be.
    Nothing,
    /// Look at the native branch first.
    Look,
    /// Decide it live at once: the owner's checks all came before what is there.
    DecideLive,
    /// Decide it void, once its owner is proven dead or its time is over.
    DecideVoidAfterWaiting,
}

/// Of what the name keeps maintenance away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum RootedBy {
    /// Nothing.
    Nothing,
    /// The version that an undecided incarnation is being made of.
    ForkPoint,
    /// All of the branch, and what it was made of.
    Branch,
    /// It cannot be known, so nothing may be deleted.
    Unknown,
}

/// What may be done next. Reads, lists and `status` do none of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct NameRights {
    /// A new incarnation may begin, at the next number.
    pub begin: bool,
    /// The owner may decide its incarnation live.
    pub owner_decides_live: bool,
    /// The owner may decide its incarnation void.
    pub owner_decides_void: bool,
    /// What others may do about the decision.
    pub others: OthersMay,
    /// It may be deleted.
    pub delete: bool,
    /// It may be read and written.
    pub use_it: bool,
    /// What is left of it may be reclaimed, once it is old enough and nothing depends on it.
    pub reclaim: bool,
    /// What maintenance must leave alone.
    pub roots: RootedBy,
}

impl NameFacts {
    /// The facts of a name without records.
    pub const NONE: Self = Self {
        begun: BegunFact::Absent,
        decided: DecidedFact::Absent,
        deleted: false,
        clone: PhysicalFact::NotAsked,
        contents: PhysicalFact::NotAsked,
    };

    /// What the name means.
    pub fn state(&self) -> NameState {
        match (self.deleted, self.decided, self.begun) {
            (true, _, _) => NameState::Deleted(self.remains()),
            (false, DecidedFact::Unusable, _) => NameState::Unusable,
            (false, DecidedFact::Live, _) => NameState::Live(self.wholeness()),
            (false, DecidedFact::Void, _) => NameState::Void(self.remains()),
            (false, DecidedFact::Absent, BegunFact::Unusable) => NameState::Unusable,
            (false, DecidedFact::Absent, BegunFact::Present) => {
                NameState::Creating(self.unfinished())
            }
            (false, DecidedFact::Absent, BegunFact::Absent) => NameState::Free,
        }
    }

    fn unfinished(&self) -> Unfinished {
        Unfinished::of(self.clone, self.contents)
    }

    fn wholeness(&self) -> Wholeness {
        use PhysicalFact::{Absent, Foreign, NotAsked};
        match (self.clone, self.contents) {
            (Absent | Foreign, _) | (_, Absent | Foreign) => Wholeness::Damaged,
            (NotAsked, _) | (_, NotAsked) => Wholeness::NotAsked,
            _ => Wholeness::Whole,
        }
    }

    fn remains(&self) -> Remains {
        use PhysicalFact::{Absent, Foreign, NotAsked, Own};
        match (self.clone, self.contents) {
            (Foreign, _) | (_, Foreign) => Remains::Foreign,
            (Own, _) | (_, Own) => Remains::ReclaimPending,
            (NotAsked, _) | (_, NotAsked) => Remains::NotAsked,
            (Absent, Absent) => Remains::Nothing,
        }
    }
}

impl Unfinished {
    /// How far a native branch of these two parts is.
    pub fn of(clone: PhysicalFact, contents: PhysicalFact) -> Self {
        use PhysicalFact::{Absent, Foreign, NotAsked, Own};
        match (clone, contents) {
            (Foreign, _) | (_, Foreign) | (Absent, Own) => Self::Damaged,
            (NotAsked, _) | (_, NotAsked) => Self::NotAsked,
            (Absent, Absent) => Self::NotStarted,
            (Own, Absent) => Self::CloneOnly,
            (Own, Own) => Self::Complete,
        }
    }
}

impl NameState {
    /// What may be done next, by whom.
    pub fn rights(self) -> NameRights {
        match self {
            Self::Free => NameRights { begin: true, ..NameRights::NONE },
            Self::Creating(unfinished) => NameRights::over_creation(unfinished),
            Self::Live(wholeness) => NameRights {
                delete: true,
                use_it: wholeness != Wholeness::Damaged,
                roots: RootedBy::Branch,
                ..NameRights::NONE
            },
            Self::Void(remains) | Self::Deleted(remains) => NameRights {
                begin: true,
                reclaim: remains == Remains::ReclaimPending,
                ..NameRights::NONE
            },
            // A deletion needs none of the other records, and is safe beside whatever they say.
            Self::Unusable => {
                NameRights { delete: true, roots: RootedBy::Unknown, ..NameRights::NONE }
            }
        }
    }

    /// Whether the name means a branch.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Live(_))
    }
}

impl NameRights {
    const NONE: Self = Self {
        begin: false,
        owner_decides_live: false,
        owner_decides_void: false,
        others: OthersMay::Nothing,
        delete: false,
        use_it: false,
        reclaim: false,
        roots: RootedBy::Nothing,
    };

    fn over_creation(unfinished: Unfinished) -> Self {
        let is_complete = unfinished == Unfinished::Complete;
        let others = match unfinished {
            Unfinished::NotAsked => OthersMay::Look,
            Unfinished::Complete => OthersMay::DecideLive,
            Unfinished::NotStarted | Unfinished::CloneOnly | Unfinished::Damaged => {
                OthersMay::DecideVoidAfterWaiting
            }
        };
        Self {
            owner_decides_live: is_complete,
            owner_decides_void: true,
            others,
            roots: RootedBy::ForkPoint,
            ..Self::NONE
        }
    }
}
