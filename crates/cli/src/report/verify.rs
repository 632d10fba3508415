//! What a check of the whole graph found.

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
}

/// The result of `verify`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Verification {
    pub(crate) clean: bool,
    pub(crate) tables: u64,
    pub(crate) rows: u64,
    pub(crate) commits: u64,
    pub(crate) pending_intents: u64,
    pub(crate) findings: Vec<FindingEntry>,
    /// The next command, where one is worth running.
    pub(crate) next: Option<String>,
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
            ("tables", Cell::number(self.tables)),
            ("rows", Cell::number(self.rows)),
            ("commits", Cell::number(self.commits)),
            ("pending", Cell::number(self.pending_intents)),
            ("findings", Cell::number(self.findings.len() as u64)),
        ];
        let mut blocks = vec![Block::Facts(facts), block("finding", "Findings", &self.findings)];
        blocks.extend(self.next.iter().map(|next| Block::Note(format!("Next: {next}"))));
        blocks
    }
}
