//! What is durable about one old version that no head pins: whether it is there, the records of those
//! who make it reachable, and the plans to delete it.

/// How many make the version reachable.
pub(crate) const REACHERS: usize = 2;
/// How many processes clean up.
pub(crate) const CLEANERS: usize = 2;
/// How many plans there can be.
pub(crate) const PLANS: usize = 2;

/// What the record of one who makes the version reachable says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) enum Root {
    /// There is none.
    #[default]
    None,
    /// A begun, undecided branch, or an armed intent whose owner has not gone on.
    Begun,
    /// Decided live, or an intent whose owner acts on it.
    Live,
    /// Decided void, deleted, or finished.
    Over,
}

/// `<n>.plan` and what follows it. Each is create-only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Plan {
    pub(crate) is_there: bool,
    /// What the scan after the plan has found: whether the version goes. The first one stands.
    pub(crate) verdict: Option<bool>,
    pub(crate) is_done: bool,
}

/// A durable operation of a cleaner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Put {
    Plan(u8),
    Withdraw(u8),
    Verdict(u8, bool),
    DeleteVersion,
    Done(u8),
}

/// All that a new process finds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Store {
    pub(crate) version_exists: bool,
    pub(crate) roots: [Root; REACHERS],
    pub(crate) plans: [Plan; PLANS],
    /// What was issued and has not arrived, in order.
    pub(crate) late: Vec<Put>,
}

impl Store {
    pub(crate) fn new() -> Self {
        Self {
            version_exists: true,
            roots: [Root::None; REACHERS],
            plans: [Plan::default(); PLANS],
            late: Vec::new(),
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

    /// Whether a record keeps the version: an undecided one counts.
    pub(crate) fn is_root(&self, reacher: u8) -> bool {
        matches!(self.roots[usize::from(reacher)], Root::Begun | Root::Live)
    }

    pub(crate) fn perform(&mut self, put: Put) {
        match put {
            Put::Plan(number) => self.plans[usize::from(number)].is_there = true,
            Put::Withdraw(number) => self.plans[usize::from(number)].is_there = false,
            Put::Verdict(number, goes) => {
                self.plans[usize::from(number)].verdict.get_or_insert(goes);
            }
            Put::DeleteVersion => self.version_exists = false,
            Put::Done(number) => self.plans[usize::from(number)].is_done = true,
        }
    }
}
