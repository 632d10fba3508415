//! Row counts of the tables of one commit.

use graphwrite_protocol_types::TableSummary;
use serde::Serialize;

use crate::render::{Block, Cell, Rows};

/// What one commit did to one table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct TableChange {
    pub(crate) name: String,
    pub(crate) inserted: u64,
    pub(crate) updated: u64,
    pub(crate) deleted: u64,
    pub(crate) unchanged: u64,
}

impl From<&TableSummary> for TableChange {
    fn from(summary: &TableSummary) -> Self {
        Self {
            name: summary.name.clone(),
            inserted: summary.inserted,
            updated: summary.updated,
            deleted: summary.deleted,
            unchanged: summary.unchanged,
        }
    }
}

/// The changes of one commit, by table name.
pub(crate) fn changes(tables: &[TableSummary]) -> Vec<TableChange> {
    let mut changes: Vec<_> = tables.iter().map(TableChange::from).collect();
    changes.sort_by(|a, b| a.name.cmp(&b.name));
    changes
}

/// The changes as a list.
pub(crate) fn block(tables: &[TableChange]) -> Block {
    Block::Rows(Rows {
        kind: "table",
        title: "Tables".to_owned(),
        columns: vec!["table", "inserted", "updated", "deleted", "unchanged"],
        rows: tables.iter().map(row).collect(),
    })
}

fn row(table: &TableChange) -> Vec<Cell> {
    let counts = [table.inserted, table.updated, table.deleted, table.unchanged];
    std::iter::once(Cell::text(&table.name)).chain(counts.map(Cell::number)).collect()
}

/// Rows of the request, over all tables.
pub(crate) fn rows_in_all(tables: &[TableChange]) -> u64 {
    let rows =
        |table: &TableChange| table.inserted + table.updated + table.deleted + table.unchanged;
    tables.iter().map(rows).sum()
}
