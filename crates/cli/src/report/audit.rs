//! What recovery and seals have decided.

use graphwrite_coordinator::AuditEntry;
use graphwrite_protocol_types::{BranchToken, WriterKind};
use serde::Serialize;

use crate::render::{Block, Cell, Report, Rows, line};
use crate::text;

/// One decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct DecisionEntry {
    /// `rolled_forward`, `aborted`, `rolled_back`, `sealed` or `discarded`.
    decision: &'static str,
    at: String,
    at_unix_us: u64,
    attempt_id: String,
    operation_id: String,
    /// The deleted branch of a discarded attempt.
    branch: Option<String>,
    /// Its number.
    incarnation: Option<u64>,
    /// The commit that was made visible.
    commit_id: Option<String>,
    /// The process instance that decided.
    by: Option<String>,
    manifest_version: u64,
    reason: String,
    /// What made the commit that was made visible.
    writer: Option<&'static str>,
}

impl From<&AuditEntry> for DecisionEntry {
    fn from(entry: &AuditEntry) -> Self {
        Self {
            decision: entry.decision.name(),
            at: text::moment(entry.at_unix_us),
            at_unix_us: entry.at_unix_us,
            attempt_id: entry.attempt.to_string(),
            operation_id: entry.operation.to_string(),
            branch: entry.decision.branch().map(|branch| branch.name.clone()),
            incarnation: entry.decision.branch().map(|branch| branch.record),
            commit_id: entry.decision.commit().map(|commit| commit.to_string()),
            by: entry.by.map(|by| by.to_string()),
            manifest_version: entry.manifest_version,
            reason: reason(entry),
            writer: entry.writer.map(WriterKind::name),
        }
    }
}

fn reason(entry: &AuditEntry) -> String {
    match entry.decision.branch() {
        Some(BranchToken { name, record, .. }) => {
            format!("branch `{name}`, incarnation {record}, was deleted")
        }
        None => entry.decision.reason().to_owned(),
    }
}

/// Decisions, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct AuditReport {
    decisions: Vec<DecisionEntry>,
}

impl AuditReport {
    pub(crate) fn of(entries: &[AuditEntry]) -> Self {
        Self { decisions: entries.iter().map(DecisionEntry::from).collect() }
    }

    fn row(entry: &DecisionEntry) -> Vec<Cell> {
        vec![
            Cell::text(&entry.attempt_id),
            Cell::text(&entry.at),
            Cell::text(entry.decision),
            Cell::text(&entry.operation_id),
            Cell::optional(entry.commit_id.as_ref()),
            Cell::optional(entry.by.as_ref()),
            Cell::number(entry.manifest_version),
            Cell::text(&entry.reason),
            Cell::optional(entry.writer),
        ]
    }
}

impl Report for AuditReport {
    fn blocks(&self) -> Vec<Block> {
        vec![Block::Rows(Rows {
            kind: "decision",
            title: "Decisions, newest first".to_owned(),
            columns: vec![
                "attempt",
                "at",
                "decision",
                "operation",
                "commit",
                "by",
                "manifest",
                "reason",
                "writer",
            ],
            rows: self.decisions.iter().map(Self::row).collect(),
        })]
    }

    fn lines(&self) -> Vec<String> {
        self.decisions.iter().map(line).collect()
    }
}
