//! Who makes branches of a version, who decides about them for others, and who takes the version. Each
//! may stop anywhere, for ever.

use graphwrite_protocol_types::{NameState, OthersMay};

use super::Defect;
use super::records::{FORKS, Put, Store, Verdict};

/// The fork of the head; the other one is of the commit.
const OF_HEAD: u8 = 0;

/// What an actor does next: a read that changes nothing, or an operation.
pub(crate) enum Next<A> {
    Becomes(A),
    Issues(Put),
    /// Nothing is open to it.
    Waits,
}

/// One who makes a branch, in the order of `coordinator/src/branch/create.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Creator {
    /// Reads the source.
    Captures,
    Begins,
    /// Reads the source's records and head once more.
    Revalidates,
    ListsPlans,
    /// Opens the version and checks its transaction.
    Opens,
    Clones,
    WritesContents,
    Decides(Verdict),
    /// Lists the records once more.
    Confirms,
    Made,
    Failed,
}

impl Creator {
    pub(crate) fn next(self, defect: Defect, at: u8, store: &Store) -> Next<Self> {
        let lists_first = defect == Defect::PlansBeforeBegin;
        match self {
            Self::Captures if at == OF_HEAD && !store.is_live_head() => Next::Waits,
            Self::Captures if !store.source().state().is_live() => Next::Waits,
            Self::Captures if at != OF_HEAD && lists_first => Next::Becomes(Self::ListsPlans),
            Self::Captures => Next::Becomes(Self::Begins),
            Self::Begins => Next::Issues(Put::Begin(at)),
            Self::Revalidates if store.is_live_head() => Next::Becomes(Self::Opens),
            Self::Revalidates => Next::Becomes(Self::ListsPlans),
            Self::ListsPlans if at != OF_HEAD && lists_first => {
                if store.open_plan().is_some() {
                    Next::Waits
                } else {
                    Next::Becomes(Self::Begins)
                }
            }
            Self::ListsPlans if store.open_plan().is_some() => {
                Next::Becomes(Self::Decides(Verdict::Void))
            }
            Self::ListsPlans => Next::Becomes(Self::Opens),
            Self::Opens if store.version_exists => Next::Becomes(Self::Clones),
            Self::Opens => Next::Becomes(Self::Decides(Verdict::Void)),
            Self::Clones => Next::Issues(Put::Clone(at)),
            Self::WritesContents => Next::Issues(Put::Contents(at)),
            Self::Decides(verdict) => Next::Issues(Put::Decide(at, verdict)),
            Self::Confirms if store.facts(at).state().is_live() => Next::Becomes(Self::Made),
            Self::Confirms => Next::Becomes(Self::Failed),
            Self::Made | Self::Failed => Next::Waits,
        }
    }

    /// After its operation. What is not known is not built upon.
    pub(crate) fn after(self, defect: Defect, at: u8, is_known: bool) -> Self {
        let decides_early = defect == Defect::DecidedBeforeContents;
        match self {
            _ if !is_known => Self::Failed,
            Self::Begins if at == OF_HEAD && defect == Defect::SourceNotRevalidated => Self::Opens,
            Self::Begins if at == OF_HEAD => Self::Revalidates,
            Self::Begins if defect == Defect::PlansBeforeBegin => Self::Opens,
            Self::Begins => Self::ListsPlans,
            Self::Clones if decides_early => Self::Decides(Verdict::Live),
            Self::Clones => Self::WritesContents,
            Self::WritesContents if decides_early => Self::Confirms,
            Self::WritesContents => Self::Decides(Verdict::Live),
            Self::Decides(Verdict::Live) if decides_early => Self::WritesContents,
            Self::Decides(_) => Self::Confirms,
            other => other,
        }
    }
}

/// One who decides for others, after waiting for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Decider {
    Lists,
    Decides(u8, Verdict),
}

impl Decider {
    pub(crate) fn next(self, store: &Store) -> Next<Self> {
        if let Self::Decides(fork, verdict) = self {
            return Next::Issues(Put::Decide(fork, verdict));
        }
        let is_undecided = |fork: &u8| matches!(store.facts(*fork).state(), NameState::Creating(_));
        let Some(fork) = (0..FORKS as u8).find(is_undecided) else { return Next::Waits };
        match store.looked_at(fork).state().rights().others {
            OthersMay::DecideLive => Next::Becomes(Self::Decides(fork, Verdict::Live)),
            OthersMay::DecideVoidAfterWaiting => Next::Becomes(Self::Decides(fork, Verdict::Void)),
            OthersMay::Nothing | OthersMay::Look => Next::Waits,
        }
    }
}

/// One who cleans up: it takes up the plan without `done`, or makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Cleaner {
    Lists,
    Plans(u8),
    /// Reads the roots, one record after the other.
    Scans {
        plan: u8,
        next: u8,
        rooted: bool,
    },
    /// Scans before there is a plan (a defect).
    ScansFirst {
        next: u8,
        rooted: bool,
    },
    Judges {
        plan: u8,
        goes: bool,
    },
    /// Reads the verdict that stands.
    ReadsVerdict(u8),
    Deletes(u8),
    Finishes(u8),
}

impl Cleaner {
    pub(crate) fn next(self, defect: Defect, store: &Store) -> Next<Self> {
        let counts = defect != Defect::UndecidedIsNoRoot;
        match self {
            Self::Lists => Self::takes_up(defect, store),
            Self::Plans(plan) => Next::Issues(Put::Plan(plan)),
            Self::Scans { plan, next, rooted } if next < Store::ROOTS => {
                let rooted = rooted || store.is_root(next, counts);
                Next::Becomes(Self::Scans { plan, next: next + 1, rooted })
            }
            Self::Scans { plan, rooted, .. } => Next::Becomes(Self::Judges { plan, goes: !rooted }),
            Self::ScansFirst { next, rooted } if next < Store::ROOTS => {
                let rooted = rooted || store.is_root(next, counts);
                Next::Becomes(Self::ScansFirst { next: next + 1, rooted })
            }
            Self::ScansFirst { rooted, .. } => {
                let plan = store.next_plan().filter(|_| !rooted);
                Next::Becomes(plan.map_or(Self::Lists, Self::Plans))
            }
            Self::Judges { plan, goes } => Next::Issues(Put::Verdict(plan, goes)),
            Self::ReadsVerdict(plan) => {
                let goes = store.plans[usize::from(plan)].verdict == Some(true);
                Next::Becomes(if goes { Self::Deletes(plan) } else { Self::Finishes(plan) })
            }
            Self::Deletes(_) => Next::Issues(Put::DeleteVersion),
            Self::Finishes(plan) => Next::Issues(Put::Done(plan)),
        }
    }

    /// A plan names what is no head. Heads do not come back.
    fn takes_up(defect: Defect, store: &Store) -> Next<Self> {
        match store.open_plan() {
            Some(plan) if store.plans[usize::from(plan)].verdict.is_some() => {
                Next::Becomes(Self::ReadsVerdict(plan))
            }
            Some(plan) => Next::Becomes(Self::Scans { plan, next: 0, rooted: false }),
            None if store.is_root(0, true) || !store.version_exists => Next::Waits,
            None if defect == Defect::ScanBeforePlan => {
                Next::Becomes(Self::ScansFirst { next: 0, rooted: false })
            }
            None => store.next_plan().map_or(Next::Waits, |plan| Next::Becomes(Self::Plans(plan))),
        }
    }

    /// After its operation. What is not known is not built upon: it begins anew.
    pub(crate) fn after(self, defect: Defect, is_known: bool) -> Self {
        match self {
            _ if !is_known => Self::Lists,
            Self::Plans(plan) if defect == Defect::ScanBeforePlan => Self::Deletes(plan),
            Self::Plans(plan) => Self::Scans { plan, next: 0, rooted: false },
            Self::Judges { plan, .. } => Self::ReadsVerdict(plan),
            Self::Deletes(plan) => Self::Finishes(plan),
            Self::Finishes(_) => Self::Lists,
            other => other,
        }
    }
}
