//! The pending intents of a graph, and the objects among them that cannot be read.

use graphwrite_coordinator::{BlockingObject, PendingIntents};
use serde::Serialize;

use crate::render::{Block, Cell, Report, Rows, Tone, line};
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
    fn of(intent: &graphwrite_coordinator::Explanation) -> Self {
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

/// One object that cannot be understood and stops every write, unless its branch is deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct BlockingEntry {
    pub(crate) object: String,
    /// The attempt in its name, where there is one.
    pub(crate) attempt_id: Option<String>,
    pub(crate) reason: String,
    pub(crate) remedy: String,
    /// Whether its branch is deleted, so that it stops nobody.
    pub(crate) is_orphan: bool,
}

impl BlockingEntry {
    pub(crate) fn of(object: &BlockingObject) -> Self {
        Self {
            object: object.object.clone(),
            attempt_id: object.attempt.map(|attempt| attempt.to_string()),
            reason: object.reason.clone(),
            remedy: object.remedy.to_owned(),
            is_orphan: object.is_orphan,
        }
    }

    fn row(&self) -> Vec<Cell> {
        vec![
            Cell::text(&self.object).toned(Tone::Bad),
            Cell::optional(self.attempt_id.as_ref()),
            Cell::text(&self.reason),
            Cell::text(&self.remedy),
        ]
    }
}

/// What interrupted writes left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct IntentList {
    pub(crate) intents: Vec<IntentEntry>,
    pub(crate) blocking: Vec<BlockingEntry>,
}

impl IntentList {
    pub(crate) fn of(pending: &PendingIntents) -> Self {
        Self {
            intents: pending.intents.iter().map(IntentEntry::of).collect(),
            blocking: pending.blocking.iter().map(BlockingEntry::of).collect(),
        }
    }

    fn pending(&self) -> Block {
        Block::Rows(Rows {
            kind: "intent",
            title: "Pending intents".to_owned(),
            columns: vec!["attempt", "age", "writer", "decision", "tables", "owner", "operation"],
            rows: self.intents.iter().map(IntentEntry::row).collect(),
        })
    }
}

/// Objects that cannot be read, on their own.
pub(crate) fn blocking_list(blocking: &[BlockingEntry]) -> Block {
    Block::Rows(Rows {
        kind: "blocking",
        title: "Objects that cannot be read and stop every write".to_owned(),
        columns: vec!["object", "attempt", "reason", "remedy"],
        rows: blocking.iter().map(BlockingEntry::row).collect(),
    })
}

/// Those of deleted branches.
fn orphan_list(blocking: &[BlockingEntry]) -> Option<Block> {
    let orphans = blocking.iter().filter(|object| object.is_orphan);
    let rows: Vec<Vec<Cell>> = orphans.map(BlockingEntry::row).collect();
    (!rows.is_empty()).then(|| {
        Block::Rows(Rows {
            kind: "orphan",
            title: "Objects of deleted branches that cannot be read".to_owned(),
            columns: vec!["object", "attempt", "reason", "remedy"],
            rows,
        })
    })
}

impl Report for IntentList {
    fn blocks(&self) -> Vec<Block> {
        if self.intents.is_empty() && self.blocking.is_empty() {
            return vec![Block::Note("Nothing is pending.".to_owned())];
        }
        let in_the_way: Vec<BlockingEntry> =
            self.blocking.iter().filter(|object| !object.is_orphan).cloned().collect();
        let mut blocks = vec![self.pending(), blocking_list(&in_the_way)];
        blocks.extend(orphan_list(&self.blocking));
        blocks
    }

    fn lines(&self) -> Vec<String> {
        self.intents.iter().map(line).chain(self.blocking.iter().map(line)).collect()
    }
}
