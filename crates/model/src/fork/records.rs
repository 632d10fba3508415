//! What is durable about one version of a source branch and the branches that are made of it: the
//! version, the records of the names, the native branches, and the plans of maintenance.

use graphwrite_protocol_types::{BegunFact, DecidedFact, NameFacts, PhysicalFact, RootedBy};

/// How many branches are made of the version.
pub(crate) const FORKS: usize = 2;
/// How many plans there can be. A second one is the matter of the model of cleanup.
pub(crate) const PLANS: usize = 1;

/// What a name was decided to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Verdict {
    Live,
    Void,
}

/// The records and the native branch of one fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Fork {
    pub(crate) is_begun: bool,
    pub(crate) decided: Option<Verdict>,
    pub(crate) is_deleted: bool,
    pub(crate) has_clone: bool,
    pub(crate) has_contents: bool,
}

/// `<n>.plan`, which names the version, and what follows it. Each is create-only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Plan {
    pub(crate) is_there: bool,
    /// Whether the version goes. The first verdict stands.
    pub(crate) verdict: Option<bool>,
    pub(crate) is_done: bool,
}

/// A durable operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Put {
    Begin(u8),
    Clone(u8),
    Contents(u8),
    Decide(u8, Verdict),
    Plan(u8),
    Verdict(u8, bool),
    DeleteVersion,
    Done(u8),
}

/// All that a new process finds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Store {
    pub(crate) version_exists: bool,
    /// The version is the head of the source.
    pub(crate) is_head: bool,
    pub(crate) source_is_deleted: bool,
    pub(crate) forks: [Fork; FORKS],
    pub(crate) plans: [Plan; PLANS],
    /// What was issued and has not arrived, in order.
    pub(crate) late: Vec<Put>,
}

impl Store {
    pub(crate) fn new() -> Self {
        Self {
            version_exists: true,
            is_head: true,
            source_is_deleted: false,
            forks: [Fork::default(); FORKS],
            plans: [Plan::default(); PLANS],
            late: Vec::new(),
        }
    }

    /// The records of the source's name, whose native branch is all there.
    pub(crate) fn source(&self) -> NameFacts {
        NameFacts {
            begun: BegunFact::Present,
            decided: DecidedFact::Live,
            deleted: self.source_is_deleted,
            clone: PhysicalFact::Own,
            contents: PhysicalFact::Own,
        }
    }

    /// Whether the version is the head of a branch that is one.
    pub(crate) fn is_live_head(&self) -> bool {
        self.is_head && self.source().state().rights().use_it
    }

    /// The records of a fork's name.
    pub(crate) fn facts(&self, fork: u8) -> NameFacts {
        let fork = self.forks[usize::from(fork)];
        NameFacts {
            begun: if fork.is_begun { BegunFact::Present } else { BegunFact::Absent },
            decided: match fork.decided {
                None => DecidedFact::Absent,
                Some(Verdict::Live) => DecidedFact::Live,
                Some(Verdict::Void) => DecidedFact::Void,
            },
            deleted: fork.is_deleted,
            ..NameFacts::NONE
        }
    }

    /// The same, with a look at its native branch.
    pub(crate) fn looked_at(&self, fork: u8) -> NameFacts {
        let native = self.forks[usize::from(fork)];
        let fact = |there| if there { PhysicalFact::Own } else { PhysicalFact::Absent };
        NameFacts {
            clone: fact(native.has_clone),
            contents: fact(native.has_contents),
            ..self.facts(fork)
        }
    }

    /// How many records a scan of the roots reads.
    pub(crate) const ROOTS: u8 = FORKS as u8 + 1;

    /// Whether root `at` keeps the version: the head of the source first, then each fork.
    pub(crate) fn is_root(&self, at: u8, undecided_counts: bool) -> bool {
        let Some(fork) = at.checked_sub(1) else {
            return self.is_head && self.source().state().rights().roots == RootedBy::Branch;
        };
        match self.facts(fork).state().rights().roots {
            RootedBy::Nothing => false,
            RootedBy::ForkPoint => undecided_counts,
            RootedBy::Branch | RootedBy::Unknown => true,
        }
    }

    /// The plan without `done`.
    pub(crate) fn open_plan(&self) -> Option<u8> {
        let open = |plan: &Plan| plan.is_there && !plan.is_done;
        self.plans.iter().position(open).and_then(|at| u8::try_from(at).ok())
    }

    /// The number of a next plan.
    pub(crate) fn next_plan(&self) -> Option<u8> {
        let free = self.plans.iter().position(|plan| !plan.is_there);
        free.and_then(|at| u8::try_from(at).ok())
    }

    pub(crate) fn perform(&mut self, put: Put) {
        match put {
            Put::Begin(fork) => self.forks[usize::from(fork)].is_begun = true,
            Put::Clone(fork) => self.forks[usize::from(fork)].has_clone = true,
            Put::Contents(fork) => self.forks[usize::from(fork)].has_contents = true,
            Put::Decide(fork, verdict) => {
                self.forks[usize::from(fork)].decided.get_or_insert(verdict);
            }
            Put::Plan(plan) => self.plans[usize::from(plan)].is_there = true,
            Put::Verdict(plan, goes) => {
                self.plans[usize::from(plan)].verdict.get_or_insert(goes);
            }
            Put::DeleteVersion => self.version_exists = false,
            Put::Done(plan) => self.plans[usize::from(plan)].is_done = true,
        }
    }
}
