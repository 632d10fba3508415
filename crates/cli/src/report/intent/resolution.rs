//! What an explicit recovery did.

use serde::Serialize;

use crate::in_the_way::InTheWay;
use crate::render::{Block, Cell, Report, Rows};

/// What was done about one intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ResolutionEntry {
    pub(crate) attempt_id: String,
    /// Stable code of what was done.
    pub(crate) action: &'static str,
    /// In words.
    pub(crate) message: String,
    /// Whether the intent is gone.
    pub(crate) resolved: bool,
}

/// The result of `intent resolve`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Resolution {
    pub(crate) resolved: usize,
    pub(crate) pending: usize,
    pub(crate) intents: Vec<ResolutionEntry>,
    /// The write that is waited for, where one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) contention: Option<InTheWay>,
    /// The next command, where something is left.
    pub(crate) next: Option<String>,
}

fn row(entry: &ResolutionEntry) -> Vec<Cell> {
    vec![Cell::text(&entry.attempt_id), Cell::text(entry.action), Cell::text(&entry.message)]
}

fn waited_for(met: &InTheWay) -> Block {
    Block::Note(format!("{}; try again in {} ms", met.message(), met.retry_after_ms))
}

impl Report for Resolution {
    fn blocks(&self) -> Vec<Block> {
        let facts = vec![
            ("resolved", Cell::number(self.resolved as u64)),
            ("pending", Cell::number(self.pending as u64)),
        ];
        let rows = Rows {
            kind: "intent",
            title: "Intents".to_owned(),
            columns: vec!["attempt", "action", "message"],
            rows: self.intents.iter().map(row).collect(),
        };
        let mut blocks = vec![Block::Facts(facts), Block::Rows(rows)];
        blocks.extend(self.contention.iter().map(waited_for));
        blocks.extend(self.next.iter().map(|next| Block::Note(format!("Next: {next}"))));
        blocks
    }
}
