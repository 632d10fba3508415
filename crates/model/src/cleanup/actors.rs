//! Those who make an old version reachable, and those who clean up. Each may stop anywhere, for ever.

use super::Defect;
use super::records::{Put, REACHERS, Root, Store};

/// A fork of an old commit, or an attempt that plans over an old version: it writes its record first
/// and lists the plans afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Reacher {
    Begins,
    ListsPlans,
    /// Opens the version and checks its transaction.
    Opens,
    Decides,
    /// It counts on the version.
    Counts,
    Over,
}

impl Reacher {
    pub(crate) fn next(self, defect: Defect, at: u8, store: &mut Store) -> Self {
        let lists_first = defect == Defect::ListBeforeRecord;
        let meets_plan = store.open_plan().is_some();
        match self {
            Self::Begins if lists_first && meets_plan => self,
            Self::Begins if lists_first => Self::ListsPlans,
            Self::Begins => Self::records(at, store, Root::Begun, Self::ListsPlans),
            Self::ListsPlans if lists_first => Self::records(at, store, Root::Begun, Self::Opens),
            Self::ListsPlans if meets_plan => Self::records(at, store, Root::Over, Self::Over),
            Self::ListsPlans => Self::Opens,
            Self::Opens if !store.version_exists => {
                Self::records(at, store, Root::Over, Self::Over)
            }
            Self::Opens => Self::Decides,
            Self::Decides => Self::records(at, store, Root::Live, Self::Counts),
            Self::Counts | Self::Over => self,
        }
    }

    fn records(at: u8, store: &mut Store, root: Root, next: Self) -> Self {
        store.roots[usize::from(at)] = root;
        next
    }

    /// Its branch is deleted, its attempt is finished.
    pub(crate) fn lets_go(self, at: u8, store: &mut Store) -> Self {
        match self {
            Self::Counts => Self::records(at, store, Root::Over, Self::Over),
            _ => self,
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
    Withdraws(u8),
    Finishes(u8),
}

impl Cleaner {
    /// The operation that is next, if one is.
    pub(crate) fn put(self, defect: Defect) -> Option<Put> {
        match self {
            Self::Plans(plan) => Some(Put::Plan(plan)),
            Self::Judges { plan, goes } if defect != Defect::NoVerdict => {
                Some(Put::Verdict(plan, goes))
            }
            Self::Deletes(_) => Some(Put::DeleteVersion),
            Self::Withdraws(plan) => Some(Put::Withdraw(plan)),
            Self::Finishes(plan) => Some(Put::Done(plan)),
            _ => None,
        }
    }

    /// Its next read, or its next operation with the answer.
    pub(crate) fn next(self, defect: Defect, store: &mut Store) -> Self {
        if let Some(put) = self.put(defect) {
            store.perform(put);
        }
        match self {
            Self::Lists => Self::takes_up(defect, store),
            Self::Plans(plan) if defect == Defect::ScanBeforePlan => Self::Deletes(plan),
            Self::Plans(plan) => Self::Scans { plan, next: 0, rooted: false },
            Self::ScansFirst { next, rooted } if usize::from(next) < REACHERS => {
                Self::ScansFirst { next: next + 1, rooted: rooted || store.is_root(next) }
            }
            Self::ScansFirst { rooted, .. } => {
                store.next_plan().filter(|_| !rooted).map_or(Self::Lists, Self::Plans)
            }
            Self::Scans { plan, next, rooted } if usize::from(next) < REACHERS => {
                Self::Scans { plan, next: next + 1, rooted: rooted || store.is_root(next) }
            }
            Self::Scans { plan, rooted: true, .. } if defect == Defect::PlanWithdrawn => {
                Self::Withdraws(plan)
            }
            Self::Scans { plan, rooted, .. } => Self::Judges { plan, goes: !rooted },
            Self::Judges { plan, goes } if defect == Defect::NoVerdict => {
                Self::carries_out(plan, goes)
            }
            Self::Judges { plan, .. } => Self::ReadsVerdict(plan),
            Self::ReadsVerdict(plan) => {
                let goes = store.plans[usize::from(plan)].verdict == Some(true);
                Self::carries_out(plan, goes)
            }
            Self::Deletes(plan) => Self::Finishes(plan),
            Self::Withdraws(_) | Self::Finishes(_) => Self::Lists,
        }
    }

    fn takes_up(defect: Defect, store: &Store) -> Self {
        match store.open_plan() {
            Some(plan) if store.plans[usize::from(plan)].verdict.is_some() => {
                Self::ReadsVerdict(plan)
            }
            Some(plan) => Self::Scans { plan, next: 0, rooted: false },
            None if defect == Defect::ScanBeforePlan => Self::ScansFirst { next: 0, rooted: false },
            None => store.next_plan().map_or(Self::Lists, Self::Plans),
        }
    }

    fn carries_out(plan: u8, goes: bool) -> Self {
        if goes { Self::Deletes(plan) } else { Self::Finishes(plan) }
    }
}
