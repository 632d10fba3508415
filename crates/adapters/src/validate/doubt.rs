//! What need not be asked of the base, because it is known to hold: where the rows that are put come from a
//! state that keeps every constraint. It must not know how that is found out.

use std::collections::BTreeMap;
use std::sync::Arc;

use graphwrite_protocol_types::TableIdentity;
use graphwrite_schema::End;

use crate::keys::RowIndex;

/// Values that a question is about.
pub(crate) type Doubted = Arc<RowIndex>;

/// The values about which each question is in doubt; about all where nothing is said. What is left out
/// keeps its constraint whatever else the base has, so that an answer is the same as without doubts.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    unique: BTreeMap<(TableIdentity, Vec<String>), Doubted>,
    missing: BTreeMap<TableIdentity, Doubted>,
    named: BTreeMap<(TableIdentity, &'static str), Doubted>,
    counted: BTreeMap<TableIdentity, Doubted>,
}

impl Doubts {
    /// Values of columns that a row of the base may have.
    pub(crate) fn unique(&self, table: TableIdentity, columns: &[String]) -> Option<&Doubted> {
        self.unique.get(&(table, columns.to_vec()))
    }

    /// Keys of nodes that the base may not have.
    pub(crate) fn missing(&self, node: TableIdentity) -> Option<&Doubted> {
        self.missing.get(&node)
    }

    /// Keys of nodes that an edge of the base may name.
    pub(crate) fn named(&self, edge: TableIdentity, end: End) -> Option<&Doubted> {
        self.named.get(&(edge, end.column()))
    }

    /// Keys of nodes that may have a wrong number of edges.
    pub(crate) fn counted(&self, edge: TableIdentity) -> Option<&Doubted> {
        self.counted.get(&edge)
    }

    pub(crate) fn only_unique(
        &mut self,
        table: TableIdentity,
        columns: Vec<String>,
        values: RowIndex,
    ) {
        self.unique.insert((table, columns), Arc::new(values));
    }

    pub(crate) fn only_missing(&mut self, node: TableIdentity, keys: RowIndex) {
        self.missing.insert(node, Arc::new(keys));
    }

    pub(crate) fn only_named(&mut self, edge: TableIdentity, end: End, keys: RowIndex) {
        self.named.insert((edge, end.column()), Arc::new(keys));
    }

    pub(crate) fn only_counted(&mut self, edge: TableIdentity, sources: RowIndex) {
        self.counted.insert(edge, Arc::new(sources));
    }
}
