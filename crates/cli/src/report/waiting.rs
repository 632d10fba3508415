//! What waits for maintenance, as the operator sees it.

use graphwrite_coordinator::Waiting;
use serde::Serialize;

use crate::render::{Block, Cell, Rows};

/// What is left of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct WaitingEntry {
    pub(crate) what: &'static str,
    pub(crate) count: u64,
    pub(crate) objects: u64,
    pub(crate) bytes: u64,
}

impl WaitingEntry {
    pub(crate) fn of(waiting: &Waiting) -> Self {
        let Waiting { what, count, objects, bytes } = *waiting;
        Self { what, count, objects, bytes }
    }
}

pub(crate) fn waiting_list(title: &str, waiting: &[WaitingEntry]) -> Block {
    let row = |entry: &WaitingEntry| {
        let [count, objects, bytes] = [entry.count, entry.objects, entry.bytes].map(Cell::number);
        vec![Cell::text(entry.what), count, objects, bytes]
    };
    Block::Rows(Rows {
        kind: "waiting",
        title: title.to_owned(),
        columns: vec!["what", "count", "objects", "bytes"],
        rows: waiting.iter().map(row).collect(),
    })
}
