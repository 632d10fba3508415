//! What is played: tables, writers, recoverers, and what the environment may do. It holds no state.

use graphwrite_protocol_types::Footprint;

use super::code::{ATTEMPTS, TABLES, identity, maker_of, own_line};
use super::view::{Head, Plan, View};

/// What a writer wants of one table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Touch {
    pub(crate) table: u8,
    /// How many commits it takes.
    pub(crate) steps: u8,
}

/// A request and who carries it out.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// The caller's request; two writers with one number are a retry by another process.
    pub(crate) operation: u8,
    /// Its first attempt; the others follow it.
    pub(crate) first: u8,
    /// How many attempts it has.
    pub(crate) attempts: u8,
    /// The incarnation of the branch that it writes to.
    pub(crate) incarnation: u8,
    pub(crate) touches: Vec<Touch>,
    /// The tables that it reads without changing them.
    pub(crate) probes: Vec<u8>,
}

impl Request {
    /// One attempt at a request that writes `tables` with one step each.
    pub(crate) fn new(operation: u8, first: u8, tables: &[u8]) -> Self {
        let touches = tables.iter().map(|table| Touch { table: *table, steps: 1 }).collect();
        Self { operation, first, attempts: 1, incarnation: 0, touches, probes: Vec::new() }
    }

    pub(crate) fn attempts(self, attempts: u8) -> Self {
        Self { attempts, ..self }
    }

    pub(crate) fn steps(mut self, steps: u8) -> Self {
        self.touches.iter_mut().for_each(|touch| touch.steps = steps);
        self
    }

    pub(crate) fn probing(self, table: u8) -> Self {
        Self { probes: vec![table], ..self }
    }

    pub(crate) fn on_incarnation(self, incarnation: u8) -> Self {
        Self { incarnation, ..self }
    }

    /// How many commits it makes to `table`.
    pub(crate) fn steps_on(&self, table: u8) -> u8 {
        self.touches.iter().find(|touch| touch.table == table).map_or(0, |touch| touch.steps)
    }

    pub(crate) fn concerns(&self, table: u8) -> bool {
        self.steps_on(table) > 0 || self.probes.contains(&table)
    }

    fn footprint(&self) -> Footprint {
        let written = self.touches.iter().map(|touch| identity(touch.table));
        let probed = self.probes.iter().map(|table| identity(*table));
        Footprint { probed: probed.collect(), written: written.collect(), schema: false }
    }
}

/// How a table begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// It has rows, on a ref that the branch owns.
    Loaded,
    /// It is declared and was never loaded.
    Declared,
    /// It has rows on a ref of another branch: the first write makes a ref.
    Inherited,
}

/// What can get lost on its way and arrive late, or never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Losses {
    /// How many durable operations of a run go unanswered at most.
    pub(crate) most: u8,
    /// Commits to tables, steps and compensation alike.
    pub(crate) tables: bool,
    /// Commits to the manifest.
    pub(crate) manifest: bool,
    /// PUTs and DELETEs of intents.
    pub(crate) records: bool,
    /// Removals of datasets and refs.
    pub(crate) removals: bool,
}

impl Losses {
    pub(crate) const NONE: Self =
        Self { most: 0, tables: false, manifest: false, records: false, removals: false };

    pub(crate) fn of_everything(most: u8) -> Self {
        Self { most, tables: true, manifest: true, records: true, removals: true }
    }

    pub(crate) fn of_tables(most: u8) -> Self {
        Self { most, tables: true, removals: true, ..Self::NONE }
    }

    pub(crate) fn of_the_manifest(most: u8) -> Self {
        Self { most, manifest: true, ..Self::NONE }
    }
}

/// What happens beside writers and recoverers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// Cleanup removes versions below the pin of a table that nobody needs.
    Cleanup { table: u8 },
    /// The branch is deleted, and may be created again.
    BranchControl,
    /// A schema change drops a table.
    Tombstone { table: u8 },
    /// A table cannot be read any more.
    Unreadable { table: u8 },
    /// An operator seals a request.
    Seal { operation: u8 },
}

/// One configuration.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) starts: [Start; TABLES],
    pub(crate) requests: Vec<Request>,
    pub(crate) recoverers: usize,
    pub(crate) losses: Losses,
    pub(crate) events: Vec<Event>,
}

impl Scenario {
    pub(crate) fn new(name: &'static str, requests: Vec<Request>, recoverers: usize) -> Self {
        let starts = [Start::Loaded; TABLES];
        Self { name, starts, requests, recoverers, losses: Losses::NONE, events: Vec::new() }
    }

    pub(crate) fn losing(self, losses: Losses) -> Self {
        Self { losses, ..self }
    }

    pub(crate) fn with(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }

    pub(crate) fn starting(self, starts: [Start; TABLES]) -> Self {
        Self { starts, ..self }
    }

    /// The request of an attempt.
    pub(crate) fn request(&self, attempt: u8) -> Option<&Request> {
        self.requests
            .iter()
            .find(|request| (request.first..request.first + request.attempts).contains(&attempt))
    }

    pub(crate) fn operation(&self, attempt: u8) -> Option<u8> {
        self.request(attempt).map(|request| request.operation)
    }

    /// The incarnation of the branch that an attempt writes to.
    pub(crate) fn incarnation(&self, attempt: u8) -> usize {
        self.request(attempt).map_or(0, |request| usize::from(request.incarnation))
    }

    /// Whether two attempts' requests can disturb each other.
    pub(crate) fn overlap(&self, one: u8, other: u8) -> bool {
        let footprints = self.request(one).zip(self.request(other));
        footprints.is_none_or(|(one, other)| one.footprint().overlaps(&other.footprint()))
    }

    /// Whether the branch of `incarnation` may commit to a ref.
    pub(crate) fn owns(&self, incarnation: usize, line: u8) -> bool {
        match self.starts.get(usize::from(line)) {
            Some(start) => *start != Start::Inherited,
            None => maker_of(line).is_some_and(|made_by| self.incarnation(made_by) == incarnation),
        }
    }

    pub(crate) fn has_branch_control(&self) -> bool {
        self.events.contains(&Event::BranchControl)
    }

    /// Every attempt.
    pub(crate) fn attempts(&self) -> impl Iterator<Item = u8> {
        (0..ATTEMPTS as u8).filter(|attempt| self.request(*attempt).is_some())
    }

    /// The view in which every branch of the scenario begins.
    pub(crate) fn first_view(&self) -> View {
        let mut view = View::default();
        for (table, start) in (0..).zip(self.starts) {
            let pin = super::store::FIRST;
            let live = Head::Live { line: table, pin, content: 0 };
            view[usize::from(table)] = if start == Start::Declared { Head::Absent } else { live };
        }
        view
    }

    /// The physical operations of one effect: what `plan` finds decides its kind.
    pub(crate) fn kind_over(&self, attempt: u8, plan: &Plan, touch: Touch) -> Kind {
        match plan.base[usize::from(touch.table)] {
            Head::Live { line, .. } if self.owns(self.incarnation(attempt), line) => {
                Kind::Commits { line }
            }
            Head::Live { line, .. } => Kind::MakesRef { from: line },
            Head::Absent | Head::Tombstoned => Kind::MakesDataset,
        }
    }
}

/// How an effect begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// With a commit to an existing ref.
    Commits { line: u8 },
    /// With the creation of a ref.
    MakesRef { from: u8 },
    /// With the creation of a dataset, which is its first commit.
    MakesDataset,
}

impl Kind {
    /// The ref that the effect commits to.
    pub(crate) fn line(self, attempt: u8, effect: u8) -> u8 {
        match self {
            Self::Commits { line } => line,
            Self::MakesRef { .. } | Self::MakesDataset => own_line(attempt, effect),
        }
    }
}
