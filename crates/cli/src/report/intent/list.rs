//! The pending intents of a graph.

use serde::Serialize;

use crate::render::{Block, Cell, Report, Rows, line};
use crate::report::Owner;
use crate::text;

/// One pending intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct IntentEntry {
    pub(crate) attempt_id: String,
    pub(crate) operation_id: String,
    pub(crate) writer: String,
    pub(crate) branch: String,
    pub(crate) armed_at: String,
    /// Age of the last sign of progress.
    pub(crate) age_ms: u64,
    pub(crate) owner: Owner,
    pub(crate) tables: Vec<String>,
    /// What recovery decides about it now.
    pub(crate) decision: String,
}

impl IntentEntry {
    pub(crate) fn of(intent: &graphwrite_coordinator::Explanation) -> Self {
        Self {
            attempt_id: intent.attempt.clone(),
            operation_id: intent.operation.clone(),
            writer: intent.writer.clone(),
            branch: intent.branch.clone(),
            armed_at: text::moment(intent.armed_at_unix_us),
            age_ms: intent.age_ms,
            owner: Owner::of(intent),
            tables: intent.effects.iter().map(|effect| effect.table.clone()).collect(),
            decision: intent.decision.clone(),
        }
    }

    fn row(&self) -> Vec<Cell> {
        vec![
            Cell::text(&self.attempt_id),
            Cell::age(self.age_ms),
            Cell::text(&self.writer),
            Cell::text(&self.decision),
            Cell::text(self.tables.join(", ")),
            self.owner.cell(),
            Cell::text(&self.operation_id),
        ]
    }
}

/// The pending intents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct IntentList {
    pub(crate) intents: Vec<IntentEntry>,
}

impl Report for IntentList {
    fn blocks(&self) -> Vec<Block> {
        if self.intents.is_empty() {
            return vec![Block::Note("Nothing is pending.".to_owned())];
        }
        vec![Block::Rows(Rows {
            kind: "intent",
            title: "Pending intents".to_owned(),
            columns: vec!["attempt", "age", "writer", "decision", "tables", "owner", "operation"],
            rows: self.intents.iter().map(IntentEntry::row).collect(),
        })]
    }

    fn lines(&self) -> Vec<String> {
        self.intents.iter().map(line).collect()
    }
}
