//! A state of the graph in plain maps, and the rules that a state must keep, each asked of every row
//! as the schema says it. Nothing here is the product's.

use std::collections::{BTreeMap, BTreeSet};

use super::row::{Cell, Key, Row};
use super::shape::{Schema, Shape, Table};

/// Codes of broken rules.
pub(super) type Codes = BTreeSet<&'static str>;

/// The rules that are broken: all of `must` are to be reported, and of `may` any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) must: Codes,
    pub(super) may: Codes,
}

impl Refusal {
    pub(super) fn is_empty(&self) -> bool {
        self.must.is_empty() && self.may.is_empty()
    }

    /// One of `codes` is reported, whichever.
    pub(super) fn any_of(codes: impl IntoIterator<Item = &'static str>) -> Self {
        Self { must: Codes::new(), may: codes.into_iter().collect() }
    }

    pub(super) fn of(code: &'static str) -> Self {
        Self { must: Codes::from([code]), may: Codes::new() }
    }

    /// Whether a report of `codes` is right.
    pub(super) fn explains(&self, codes: &BTreeSet<String>) -> bool {
        let known =
            |code: &String| self.must.contains(code.as_str()) || self.may.contains(code.as_str());
        !codes.is_empty()
            && codes.iter().all(known)
            && self.must.iter().all(|code| codes.contains(*code))
    }
}

/// All rows of a graph.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct State(BTreeMap<&'static str, BTreeMap<Key, Row>>);

impl State {
    /// The rows of a table.
    pub(super) fn rows(&self, table: &str) -> impl Iterator<Item = (&Key, &Row)> {
        self.0.get(table).into_iter().flatten()
    }

    pub(super) fn get(&self, table: &Table, key: &Key) -> Option<&Row> {
        self.0.get(table.name)?.get(key)
    }

    pub(super) fn has_node(&self, table: &str, key: &Cell) -> bool {
        let key = std::slice::from_ref(key);
        self.0.get(table).is_some_and(|rows| rows.contains_key(key))
    }

    /// Puts a row in place of the one with its key.
    pub(super) fn put(&mut self, table: &Table, row: Row) {
        self.0.entry(table.name).or_default().insert(row.key(table), row);
    }

    /// A table whose last row goes is as one that was never loaded: rows that come and go within one
    /// request change nothing.
    pub(super) fn remove(&mut self, table: &Table, key: &Key) {
        let Some(rows) = self.0.get_mut(table.name) else { return };
        rows.remove(key);
        if rows.is_empty() {
            self.0.remove(table.name);
        }
    }

    pub(super) fn clear(&mut self, table: &Table) {
        self.0.remove(table.name);
    }

    /// All rows, sorted, as a reader lists them.
    pub(super) fn all(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = self.0.values().flat_map(BTreeMap::values).cloned().collect();
        rows.sort();
        rows
    }

    /// Inserted, updated, removed and unchanged rows of a table, seen from `before`; of the last only
    /// those in `touched`.
    pub(super) fn counts(&self, before: &Self, table: &Table, touched: &BTreeSet<Key>) -> [u64; 4] {
        let mut counts = [0; 4];
        for (key, row) in self.rows(table.name) {
            match before.get(table, key) {
                None => counts[0] += 1,
                Some(old) if old != row => counts[1] += 1,
                Some(_) => counts[3] += u64::from(touched.contains(key)),
            }
        }
        let gone = before.rows(table.name).filter(|(key, _)| self.get(table, key).is_none());
        counts[2] = gone.count() as u64;
        counts
    }

    /// The rules that this state breaks, as a request over `before` would be told.
    pub(super) fn broken(&self, schema: &Schema, before: &Self) -> Refusal {
        let mut refusal = Refusal::default();
        for table in schema.tables {
            if self.repeats_a_value(table) {
                refusal.must.insert("unique");
            }
            self.dangling(table, before, &mut refusal);
            self.miscounted(table, &mut refusal);
        }
        refusal
    }

    fn repeats_a_value(&self, table: &Table) -> bool {
        let rows: Vec<&Row> = self.rows(table.name).map(|(_, row)| row).collect();
        repeats_a_value(table, &rows)
    }

    fn dangling(&self, table: &Table, before: &Self, refusal: &mut Refusal) {
        let Some((from, to)) = table.ends() else { return };
        for (key, row) in self.rows(table.name) {
            for (node, end) in [(from, &row.from), (to, &row.to)] {
                let end = end.as_ref().expect("an edge has two ends");
                if self.has_node(node, end) {
                    continue;
                }
                match (before.has_node(node, end), before.get(table, key) == Some(row)) {
                    (false, _) => refusal.must.insert("endpoint"),
                    (true, true) => refusal.must.insert("referenced"),
                    // The edge came and the node went at once.
                    (true, false) => {
                        refusal.may.insert("endpoint");
                        refusal.may.insert("referenced")
                    }
                };
            }
        }
    }

    /// Sources that have too few or too many edges. A source that is no node is refused anyway.
    fn miscounted(&self, table: &Table, refusal: &mut Refusal) {
        let Shape::Edge { from, min, max, .. } = table.shape else { return };
        let mut counts: BTreeMap<&Cell, usize> = BTreeMap::new();
        for (_, row) in self.rows(table.name) {
            *counts.entry(row.from.as_ref().expect("an edge has a source")).or_default() += 1;
        }
        let is_wrong = |count: usize| count < min || max.is_some_and(|max| count > max);
        let of = |node: &Cell| counts.get(node).copied().unwrap_or_default();
        if self.rows(from).any(|(key, _)| is_wrong(of(&key[0]))) {
            refusal.must.insert("cardinality");
        }
        if counts.iter().any(|(node, count)| !self.has_node(from, node) && is_wrong(*count)) {
            refusal.may.insert("cardinality");
        }
    }
}

/// Whether two of the rows have one value that must be unique.
pub(super) fn repeats_a_value(table: &Table, rows: &[&Row]) -> bool {
    table.unique_sets().any(|set| {
        let mut seen = BTreeSet::new();
        rows.iter().filter_map(|row| row.values(&set)).any(|values| !seen.insert(values))
    })
}

/// The rules that a row breaks by itself.
pub(super) fn faults_of(schema: &Schema, row: &Row) -> Codes {
    let Some(table) = schema.table(&row.table) else { return Codes::from(["unknown_type"]) };
    let mut codes = Codes::new();
    if table.is_multi() && !row.data.contains_key("id") {
        codes.insert("id");
    }
    for property in table.properties {
        match row.data.get(property.name) {
            Some(cell) => codes.extend(cell.breaks(property.kind)),
            None if property.nullable => {}
            None => {
                codes.insert("required");
            }
        }
    }
    let has_id = table.is_multi();
    let unknown = |name: &&String| !(has_id && *name == "id") && table.property(name).is_none();
    if row.data.keys().any(|name| unknown(&name)) {
        codes.insert("unknown_property");
    }
    codes
}
