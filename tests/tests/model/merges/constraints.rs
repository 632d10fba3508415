//! The constraints that both sides together break, counted on the merged rows: what is said of each is one
//! row or source, and the rule that it breaks.

use std::collections::BTreeMap;

use super::rule::Merged;
use crate::model::row::{Cell, Key, Row};
use crate::model::shape::{Schema, Shape, Table};

/// How often each kind is broken, by kind and the table that it is told of.
pub(super) type Broken = BTreeMap<(&'static str, &'static str), u64>;

pub(super) fn broken(schema: &Schema, merged: &Merged) -> Broken {
    let mut broken = Broken::new();
    let mut add = |kind, table, times: usize| {
        if times > 0 {
            *broken.entry((kind, table)).or_default() += times as u64;
        }
    };
    for table in schema.tables {
        add("unique", table.name, repeated(table, merged));
        if let Shape::Edge { from, to, min, max, .. } = table.shape {
            for (node, is_to) in [(from, false), (to, true)] {
                let (came, stayed) = dangling(table, merged, node, is_to);
                add("orphan_edge", table.name, came);
                add("orphan_edge", node, stayed);
            }
            add("cardinality", table.name, miscounted(table, merged, from, (min, max)));
        }
    }
    broken
}

fn is_taken(merged: &Merged, table: &Table, key: &Key) -> bool {
    merged.taken.contains(&(table.name, key.clone()))
}

/// Rows that are taken over with a value that a row of the target has.
fn repeated(table: &Table, merged: &Merged) -> usize {
    let rows: Vec<(&Key, &Row)> = merged.after.rows(table.name).collect();
    let clash = |set: &[&str], one: &Row, other: &Row| {
        one.values(set).is_some_and(|values| Some(values) == other.values(set))
    };
    let mut found = 0;
    for set in table.unique_sets() {
        for (key, row) in rows.iter().filter(|(key, _)| is_taken(merged, table, key)) {
            found += rows.iter().filter(|(o, it)| o != key && clash(&set, row, it)).count();
        }
    }
    found
}

/// Edges without an end: those that came with the source are told of themselves, those that were there of
/// the node that goes.
fn dangling(table: &Table, merged: &Merged, node: &str, is_to: bool) -> (usize, usize) {
    let end = |row: &Row| if is_to { row.to.clone() } else { row.from.clone() };
    let is_missing =
        |row: &Row| !merged.after.has_node(node, &end(row).expect("an edge has two ends"));
    let dangling = merged.after.rows(table.name).filter(|(_, row)| is_missing(row));
    let (came, stayed): (Vec<_>, Vec<_>) =
        dangling.partition(|(key, _)| is_taken(merged, table, key));
    (came.len(), stayed.len())
}

/// Nodes with too few or too many edges.
fn miscounted(
    table: &Table,
    merged: &Merged,
    from: &str,
    (min, max): (usize, Option<usize>),
) -> usize {
    let count = |node: &Cell| {
        let edges = merged.after.rows(table.name);
        edges.filter(|(_, row)| row.from.as_ref() == Some(node)).count()
    };
    let is_wrong = |node: &Cell| count(node) < min || max.is_some_and(|max| count(node) > max);
    merged.after.rows(from).filter(|(key, _)| is_wrong(&key[0])).count()
}
