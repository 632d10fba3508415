//! Requests of the model and what they do to a state: the plain interpreter of loads.

use std::collections::{BTreeMap, BTreeSet};

use super::mutation::{Statement, run};
use super::row::{Key, Row};
use super::shape::{Schema, Table};
use super::state::{Codes, Refusal, State, faults_of, repeats_a_value};

/// What a load does with the rows that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Append,
    Upsert,
    Overwrite,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Request {
    Load(Mode, Vec<Row>),
    Mutation(Vec<Statement>),
}

/// What a request comes to, if nothing else comes first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Judged {
    /// The state afterwards; it may be the same.
    State(State),
    /// The request says something wrong, whatever the graph is.
    Malformed(Refusal),
    /// The graph does not allow it.
    Refused(Refusal),
}

impl Request {
    pub(super) fn judge(&self, schema: &Schema, before: &State) -> Judged {
        match self {
            Self::Load(mode, rows) => load(schema, before, *mode, rows),
            Self::Mutation(statements) => run(schema, before, statements),
        }
    }

    /// What kind of request committed.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Load(Mode::Append, _) => "appended",
            Self::Load(Mode::Upsert, _) => "upserted",
            Self::Load(Mode::Overwrite, _) => "overwritten",
            Self::Mutation(_) => "mutated",
        }
    }

    /// The keys that the rows of the request name, by table.
    pub(super) fn touched(&self, schema: &Schema) -> BTreeMap<&'static str, BTreeSet<Key>> {
        let mut touched: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        if let Self::Load(_, rows) = self {
            for row in rows {
                let Some(table) = schema.table(&row.table) else { continue };
                touched.entry(table.name).or_default().insert(row.key(table));
            }
        }
        touched
    }

    /// Whether two requests say the same: the rows of each table in their order.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Load(mode, rows), Self::Load(other_mode, other_rows)) => {
                mode == other_mode && by_table(rows) == by_table(other_rows)
            }
            (one, other) => one == other,
        }
    }
}

fn by_table(rows: &[Row]) -> BTreeMap<&str, Vec<&Row>> {
    let mut tables: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for row in rows {
        tables.entry(row.table.as_str()).or_default().push(row);
    }
    tables
}

fn load(schema: &Schema, before: &State, mode: Mode, rows: &[Row]) -> Judged {
    let malformed = faults_of_input(schema, rows);
    if !malformed.is_empty() {
        return Judged::Malformed(Refusal { must: malformed, may: Codes::new() });
    }
    let rows = || rows.iter().map(|row| (schema.table(&row.table).expect("declared"), row));
    let is_there = |(table, row): (&Table, &Row)| before.get(table, &row.key(table)).is_some();
    if mode == Mode::Append && rows().any(is_there) {
        return Judged::Refused(Refusal::of("key_conflict"));
    }
    let mut after = before.clone();
    if mode == Mode::Overwrite {
        rows().for_each(|(table, _)| after.clear(table));
    }
    rows().for_each(|(table, row)| after.put(table, row.clone()));
    judged(schema, before, after)
}

/// Judges the state that a request has come to.
pub(super) fn judged(schema: &Schema, before: &State, after: State) -> Judged {
    let broken = after.broken(schema, before);
    if broken.is_empty() { Judged::State(after) } else { Judged::Refused(broken) }
}

/// What the rows of a load say wrong, alone or together.
fn faults_of_input(schema: &Schema, rows: &[Row]) -> Codes {
    let (good, bad): (Vec<_>, Vec<_>) =
        rows.iter().partition(|row| faults_of(schema, row).is_empty());
    let mut codes: Codes = bad.into_iter().flat_map(|row| faults_of(schema, row)).collect();
    for table in schema.tables {
        let of_table: Vec<&Row> = good.iter().copied().filter(|r| r.table == table.name).collect();
        let mut keys = BTreeSet::new();
        if !of_table.iter().all(|row| keys.insert(row.key(table))) {
            codes.insert("key");
        }
        if repeats_a_value(table, &of_table) {
            codes.insert("unique");
        }
    }
    codes
}
