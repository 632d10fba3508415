//! Earlier writes that a write ended before it could go on.

use graphwrite_protocol_types::Recovered;
use serde::Serialize;

use crate::render::{Block, Cell, Rows};

/// One earlier attempt that was ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RecoveredEntry {
    pub(crate) attempt_id: String,
    /// Its request; none where nothing names it any more.
    pub(crate) operation_id: Option<String>,
    /// `rolled_forward`, `rolled_back`, `finalized` or `retired`.
    pub(crate) action: &'static str,
}

impl From<&Recovered> for RecoveredEntry {
    fn from(recovered: &Recovered) -> Self {
        Self {
            attempt_id: recovered.attempt.to_string(),
            operation_id: recovered.operation.as_ref().map(ToString::to_string),
            action: recovered.how.name(),
        }
    }
}

/// The ended attempts as a list.
pub(super) fn block(recovered: &[RecoveredEntry]) -> Block {
    Block::Rows(Rows {
        kind: "recovered",
        title: "Earlier writes that were ended first".to_owned(),
        columns: vec!["attempt", "action", "operation"],
        rows: recovered.iter().map(row).collect(),
    })
}

fn row(entry: &RecoveredEntry) -> Vec<Cell> {
    let operation = Cell::optional(entry.operation_id.as_ref());
    vec![Cell::text(&entry.attempt_id), Cell::text(entry.action), operation]
}
