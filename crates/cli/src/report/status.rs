//! A graph on one screen.

use serde::Serialize;

use crate::render::{ABSENT, Block, Cell, Report, Rows, Tone};
use crate::report::verify::{self, FindingEntry};
use crate::report::{BlockingEntry, WaitingEntry, blocking_list, waiting_list};

/// One table at the head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct TableState {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    pub(crate) rows: Option<u64>,
    pub(crate) version: Option<u64>,
    /// HEAD of the table is not the version that readers see.
    pub(crate) drift: bool,
    /// Why the table cannot be read.
    pub(crate) unreadable: Option<String>,
}

/// The state of a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Status {
    pub(crate) root: String,
    pub(crate) domain: String,
    pub(crate) format: u32,
    pub(crate) features: Vec<String>,
    pub(crate) schema: String,
    pub(crate) branch: String,
    pub(crate) head: Option<String>,
    pub(crate) manifest_version: u64,
    pub(crate) pending_intents: usize,
    pub(crate) rows: u64,
    pub(crate) tables: Vec<TableState>,
    pub(crate) garbage: Vec<FindingEntry>,
    /// The next command, where one is worth running.
    pub(crate) next: Option<String>,
    /// Age of the oldest pending intent, where one can be read.
    pub(crate) pending_age_ms_max: Option<u64>,
    pub(crate) pending: Vec<PendingEntry>,
    /// Objects that cannot be read and stop every write.
    pub(crate) blocking: Vec<BlockingEntry>,
    /// What this process has done with the graph.
    pub(crate) activity: Vec<Sample>,
    pub(crate) branches: Branches,
    /// What deleted branches have left for maintenance.
    pub(crate) waiting: Vec<WaitingEntry>,
    /// Records of attempts on deleted branches.
    pub(crate) orphan_records: u64,
}

/// The branches of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Branches {
    /// Those that live, main among them.
    pub(crate) live: u64,
    pub(crate) creating: u64,
    pub(crate) unusable: u64,
    /// The newest ones, newest first.
    pub(crate) newest: Vec<NewestBranch>,
}

/// One of the newest branches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct NewestBranch {
    pub(crate) branch: String,
    pub(crate) incarnation: u64,
    pub(crate) source: String,
    pub(crate) head: Option<String>,
    pub(crate) age_ms: u64,
}

impl Branches {
    fn fact(&self) -> Cell {
        let mut said = format!("{} live", self.live);
        for (count, what) in [(self.creating, "creating"), (self.unusable, "unusable")] {
            if count > 0 {
                said += &format!(", {count} {what}");
            }
        }
        let tone = match (self.creating, self.unusable) {
            (0, 0) => Tone::Good,
            (_, 0) => Tone::Warn,
            _ => Tone::Bad,
        };
        Cell::text(said).toned(tone)
    }

    fn list(&self) -> Block {
        let row = |branch: &NewestBranch| {
            vec![
                Cell::text(&branch.branch),
                Cell::number(branch.incarnation),
                Cell::text(&branch.source),
                Cell::optional(branch.head.as_ref()),
                Cell::age(branch.age_ms),
            ]
        };
        Block::Rows(Rows {
            kind: "branch",
            title: "Newest branches".to_owned(),
            columns: vec!["branch", "inc.", "source", "head", "age"],
            rows: self.newest.iter().map(row).collect(),
        })
    }
}

/// A pending intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PendingEntry {
    pub(crate) attempt: String,
    pub(crate) age_ms: Option<u64>,
}

/// One number that the library counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    /// What is counted under the name, outermost first.
    pub(crate) labels: Vec<&'static str>,
    pub(crate) value: u64,
}

impl Status {
    fn facts(&self) -> Vec<(&'static str, Cell)> {
        let tone = |bad: bool| if bad { Tone::Warn } else { Tone::Good };
        let drifted = self.tables.iter().filter(|table| table.drift).count() as u64;
        let pending = self.pending_intents as u64;
        vec![
            ("graph", Cell::text(&self.root)),
            ("domain", Cell::text(&self.domain)),
            ("format", Cell::number(self.format.into())),
            ("schema", Cell::text(&self.schema)),
            ("branch", Cell::text(&self.branch)),
            ("head", Cell::optional(self.head.as_ref())),
            ("manifest", Cell::number(self.manifest_version)),
            ("branches", self.branches.fact()),
            ("tables", Cell::number(self.tables.len() as u64)),
            ("rows", Cell::number(self.rows)),
            ("pending", Cell::number(pending).toned(tone(pending > 0))),
            ("drift", Cell::number(drifted).toned(tone(drifted > 0))),
            ("garbage", Cell::number(self.garbage.len() as u64)),
            ("orphans", Cell::number(self.orphan_records).toned(tone(self.orphan_records > 0))),
            ("oldest", age(self.pending_age_ms_max)),
        ]
    }

    fn table_list(&self) -> Block {
        Block::Rows(Rows {
            kind: "table",
            title: "Tables".to_owned(),
            columns: vec!["table", "kind", "rows", "version", "head"],
            rows: self.tables.iter().map(table_row).collect(),
        })
    }

    fn pending_list(&self) -> Block {
        let row = |entry: &PendingEntry| vec![Cell::text(&entry.attempt), age(entry.age_ms)];
        Block::Rows(Rows {
            kind: "intent",
            title: "Pending intents".to_owned(),
            columns: vec!["attempt", "age"],
            rows: self.pending.iter().map(row).collect(),
        })
    }

    /// What happened; what never did is no news.
    fn activity_list(&self) -> Block {
        let happened = self.activity.iter().filter(|sample| sample.value > 0);
        let row = |sample: &Sample| {
            let label = Some(sample.labels.join(" ")).filter(|label| !label.is_empty());
            vec![Cell::text(sample.name), Cell::optional(label), Cell::number(sample.value)]
        };
        Block::Rows(Rows {
            kind: "activity",
            title: "Activity of this process".to_owned(),
            columns: vec!["count", "of", "value"],
            rows: happened.map(row).collect(),
        })
    }
}

fn age(age_ms: Option<u64>) -> Cell {
    age_ms.map_or_else(|| Cell::text(ABSENT), Cell::age)
}

fn table_row(table: &TableState) -> Vec<Cell> {
    let number = |n: Option<u64>| Cell { is_number: true, ..Cell::optional(n) };
    let head = match (table.version, table.drift) {
        _ if table.unreadable.is_some() => Cell::text("unreadable").toned(Tone::Bad),
        (_, true) => Cell::text("drifted").toned(Tone::Warn),
        (None, false) => Cell::text("absent"),
        (Some(_), false) => Cell::text("pinned").toned(Tone::Good),
    };
    let name = Cell::text(&table.name);
    vec![name, Cell::text(table.kind), number(table.rows), number(table.version), head]
}

impl Report for Status {
    fn blocks(&self) -> Vec<Block> {
        let mut blocks = vec![Block::Facts(self.facts()), self.table_list()];
        let unreadable = self.tables.iter().filter_map(|table| table.unreadable.as_ref());
        blocks.extend(unreadable.map(|why| Block::Note(format!("Unreadable: {why}"))));
        blocks.push(self.branches.list());
        blocks.push(waiting_list("Left by deleted branches, for maintenance", &self.waiting));
        blocks.push(verify::block("garbage", "Garbage", &self.garbage));
        blocks.push(self.pending_list());
        if !self.blocking.is_empty() {
            blocks.push(blocking_list(&self.blocking));
        }
        blocks.push(self.activity_list());
        blocks.extend(self.next.iter().map(|next| Block::Note(format!("Next: {next}"))));
        blocks
    }
}
