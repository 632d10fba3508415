//! What a check of the whole graph found.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::render::{Block, Cell, Report, Rows, Tone};

/// Something that was noticed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FindingEntry {
    /// `note` or `fault`.
    pub(crate) severity: &'static str,
    pub(crate) code: &'static str,
    pub(crate) place: String,
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) help: &'static str,
}

/// Objects below the graph's root that are the same kind of thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ObjectGroup {
    pub(crate) kind: &'static str,
    pub(crate) count: u64,
    pub(crate) bytes: u64,
}

/// The result of `verify`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Verification {
    pub(crate) clean: bool,
    pub(crate) tables: u64,
    pub(crate) rows: u64,
    pub(crate) commits: u64,
    pub(crate) versions: u64,
    pub(crate) pending_intents: u64,
    /// Every object below the root, by what it is.
    pub(crate) objects: Vec<ObjectGroup>,
    pub(crate) findings: Vec<FindingEntry>,
    /// The next command, where one is worth running.
    pub(crate) next: Option<String>,
    /// Live branches checked, main among them.
    pub(crate) branches: u64,
}

pub(crate) fn block(kind: &'static str, title: &str, findings: &[FindingEntry]) -> Block {
    Block::Rows(Rows {
        kind,
        title: title.to_owned(),
        columns: vec!["severity", "code", "place", "message"],
        rows: findings.iter().map(row).collect(),
    })
}

fn row(finding: &FindingEntry) -> Vec<Cell> {
    let tone = if finding.severity == "fault" { Tone::Bad } else { Tone::Even };
    vec![
        Cell::text(finding.severity).toned(tone),
        Cell::text(finding.code),
        Cell::text(&finding.place),
        Cell::text(&finding.message),
    ]
}

impl Report for Verification {
    fn blocks(&self) -> Vec<Block> {
        let (answer, tone) = if self.clean { ("clean", Tone::Good) } else { ("faults", Tone::Bad) };
        let facts = vec![
            ("answer", Cell::text(answer).toned(tone)),
            ("branches", Cell::number(self.branches)),
            ("tables", Cell::number(self.tables)),
            ("rows", Cell::number(self.rows)),
            ("commits", Cell::number(self.commits)),
            ("versions", Cell::number(self.versions)),
            ("pending", Cell::number(self.pending_intents)),
            ("findings", Cell::number(self.findings.len() as u64)),
        ];
        let mut blocks = vec![
            Block::Facts(facts),
            objects(&self.objects),
            block("finding", "Findings", &self.findings),
        ];
        blocks.extend(remedies(&self.findings).map(Block::Note));
        blocks.extend(self.next.iter().map(|next| Block::Note(format!("Next: {next}"))));
        blocks
    }
}

fn objects(groups: &[ObjectGroup]) -> Block {
    let row = |group: &ObjectGroup| {
        vec![Cell::text(group.kind), Cell::number(group.count), Cell::number(group.bytes)]
    };
    Block::Rows(Rows {
        kind: "objects",
        title: "Objects".to_owned(),
        columns: vec!["kind", "count", "bytes"],
        rows: groups.iter().map(row).collect(),
    })
}

/// What to do about each kind of fault, once.
fn remedies(findings: &[FindingEntry]) -> impl Iterator<Item = String> {
    let faults = findings.iter().filter(|finding| finding.severity == "fault");
    let remedies: BTreeMap<&str, &str> = faults.map(|it| (it.code, it.help)).collect();
    remedies.into_iter().map(|(code, help)| format!("{code}: {help}."))
}
