//! Which rows differ between two commits.

use graphwrite_coordinator::{CommitDiff, TableDiff};
use serde::Serialize;

use crate::render::{Block, Cell, Report, Rows};

/// What differs in one table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct TableEntry {
    table: String,
    kind: &'static str,
    added: u64,
    removed: u64,
    changed: u64,
    /// The first keys, as many as were asked for.
    added_keys: Vec<String>,
    removed_keys: Vec<String>,
    changed_keys: Vec<String>,
}

impl From<&TableDiff> for TableEntry {
    fn from(diff: &TableDiff) -> Self {
        let rows = &diff.rows;
        Self {
            table: diff.name.clone(),
            kind: diff.kind,
            added: rows.added.count,
            removed: rows.removed.count,
            changed: rows.changed.count,
            added_keys: rows.added.first.clone(),
            removed_keys: rows.removed.first.clone(),
            changed_keys: rows.changed.first.clone(),
        }
    }
}

impl TableEntry {
    fn row(&self) -> Vec<Cell> {
        let counts = [self.added, self.removed, self.changed].map(Cell::number);
        [Cell::text(&self.table), Cell::text(self.kind)].into_iter().chain(counts).collect()
    }

    fn key_rows(&self) -> impl Iterator<Item = Vec<Cell>> {
        let kinds = [
            ("added", &self.added_keys),
            ("removed", &self.removed_keys),
            ("changed", &self.changed_keys),
        ];
        kinds.into_iter().flat_map(move |(kind, keys)| {
            keys.iter()
                .map(move |key| vec![Cell::text(&self.table), Cell::text(kind), Cell::text(key)])
        })
    }
}

/// What differs between two commits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct DiffReport {
    from: Option<String>,
    to: Option<String>,
    schema_changed: bool,
    tables: Vec<TableEntry>,
}

impl DiffReport {
    pub(crate) fn of(diff: &CommitDiff) -> Self {
        Self {
            from: diff.from.map(|commit| commit.to_string()),
            to: diff.to.map(|commit| commit.to_string()),
            schema_changed: diff.schema_changed,
            tables: diff.tables.iter().map(TableEntry::from).collect(),
        }
    }
}

impl Report for DiffReport {
    fn blocks(&self) -> Vec<Block> {
        let facts = vec![
            ("from", Cell::optional(self.from.as_ref())),
            ("to", Cell::optional(self.to.as_ref())),
            ("schema", Cell::text(if self.schema_changed { "changed" } else { "same" })),
        ];
        let tables = Rows {
            kind: "table",
            title: "Rows that differ".to_owned(),
            columns: vec!["table", "kind", "added", "removed", "changed"],
            rows: self.tables.iter().map(TableEntry::row).collect(),
        };
        let keys = Rows {
            kind: "key",
            title: "First keys".to_owned(),
            columns: vec!["table", "change", "key"],
            rows: self.tables.iter().flat_map(TableEntry::key_rows).collect(),
        };
        vec![Block::Facts(facts), Block::Rows(tables), Block::Rows(keys)]
    }
}
