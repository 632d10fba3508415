//! Random statements, settled over the state that they meet.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::mutation::{Statement, Target, Test};
use super::row::{Cell, Row};
use super::seeds::{KEYS, RowSeed, missing, row, value_cell};
use super::shape::{Kind, Schema, Table};
use super::state::{State, faults_of};

/// A statement to come.
#[derive(Debug, Clone)]
pub(super) struct StatementSeed {
    row: RowSeed,
    verb: u8,
    cascade: bool,
    /// Whether an insert takes a free key and an update one that is there, if there is one.
    fits: bool,
}

pub(super) fn statement() -> impl Strategy<Value = StatementSeed> {
    let parts = (row(), 0..15_u8, any::<bool>(), prop::bool::weighted(0.85));
    parts.prop_map(|(row, verb, cascade, fits)| StatementSeed { row, verb, cascade, fits })
}

/// Adds what the schema demands beside the rows that are put.
pub(super) fn complete_statements(schema: &Schema, state: &State, statements: &mut Vec<Statement>) {
    let rows = statements.iter().filter_map(|statement| match statement {
        Statement::Insert(row) | Statement::Upsert(row) => Some(row.clone()),
        _ => None,
    });
    let rows: Vec<_> = rows.collect();
    let mut after = state.clone();
    let good = |row: &Row| faults_of(schema, row).is_empty();
    for row in rows.into_iter().filter(good) {
        after.put(schema.table(&row.table).expect("declared"), row);
    }
    statements.extend(missing(schema, &mut after).into_iter().map(Statement::Upsert));
}

impl StatementSeed {
    pub(super) fn grow(&self, schema: &Schema, state: &State) -> Statement {
        let table = self.row.table(schema);
        let mut row = self.row.grow(schema);
        let name = table.name.to_owned();
        match self.verb {
            0..=2 => {
                if self.fits {
                    row = self.free(schema, state, row);
                }
                Statement::Insert(row)
            }
            3..=5 => Statement::Upsert(row),
            // A table whose rows say nothing but their key has nothing to set.
            6..=7 if !self.set(table).is_empty() || self.cascade => {
                let set = self.set(table);
                Statement::Update(name, self.target(schema, state, table, true), set)
            }
            6..=10 => {
                let target = self.target(schema, state, table, false);
                Statement::Delete(name, target, self.cascade && table.is_node())
            }
            _ => Statement::DeleteWhere(name, self.test(table), self.cascade && table.is_node()),
        }
    }

    /// The row under the first key from its own on that is not taken.
    fn free(&self, schema: &Schema, state: &State, row: Row) -> Row {
        let table = self.row.table(schema);
        let is_free = |row: &Row| {
            let is_bad = !faults_of(schema, row).is_empty();
            is_bad || state.get(table, &row.key(table)).is_none()
        };
        let others = (0..KEYS).map(|step| {
            let mut seed = self.row.clone();
            seed.key = (seed.key + step) % KEYS;
            seed.to = (seed.to + step) % KEYS;
            seed.grow(schema)
        });
        others.into_iter().find(is_free).unwrap_or(row)
    }

    fn target(&self, schema: &Schema, state: &State, table: &Table, one: bool) -> Target {
        let count = state.rows(table.name).count();
        let there = || state.rows(table.name).nth(self.row.key as usize % count);
        let row = match self.fits && count > 0 {
            true => there().map(|(_, row)| row.clone()),
            false => None,
        };
        let seed = RowSeed { flaw: None, ..self.row.clone() };
        let row = row.unwrap_or_else(|| seed.grow(schema));
        match table.key() {
            Some(key) => Target::Node(row.data[key].clone()),
            None if table.is_multi() && (one || self.cascade) => Target::Id(row.data["id"].clone()),
            None => Target::Ends(row.from.expect("an edge"), row.to.expect("an edge")),
        }
    }

    fn set(&self, table: &Table) -> BTreeMap<String, Option<Cell>> {
        let free = table.properties.iter().filter(|it| table.key() != Some(it.name));
        let chosen = free.zip(self.row.values).filter(|(_, value)| value % 2 == 0);
        chosen.map(|(it, value)| (it.name.to_owned(), value_cell(it, value / 2))).collect()
    }

    fn test(&self, table: &Table) -> Test {
        let at = self.row.values[0] as usize % table.properties.len().max(1);
        let Some(property) = table.properties.get(at) else {
            return Test::Is("src".into(), Cell::Text(format!("k{}", self.row.key)));
        };
        let name = property.name.to_owned();
        match (value_cell(property, self.row.values[1]), property.kind) {
            (None, _) => Test::IsNull(name),
            (Some(Cell::Int(bound)), Kind::I32 | Kind::I64 | Kind::U32) if self.cascade => {
                Test::Below(name, bound)
            }
            (Some(cell), _) => Test::Is(name, cell),
        }
    }
}
