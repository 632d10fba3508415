//! Random requests. A seed says little; what it means is settled over the state that it meets, so
//! that most requests are nearly right and few are refused for the same reason.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::request::{Mode, Request};
use super::row::{Cell, Row};
use super::shape::{Kind, Property, Schema, Shape, Table};
use super::state::{State, faults_of};
use super::statements::{StatementSeed, complete_statements, statement};

/// So few keys and values that requests meet.
pub(super) const KEYS: u8 = 5;
const VALUES: u8 = 4;
const UNIQUE_VALUES: u8 = 16;

/// A row to come.
#[derive(Debug, Clone)]
pub(super) struct RowSeed {
    pub(super) table: Index,
    pub(super) key: u8,
    pub(super) from: u8,
    pub(super) to: u8,
    pub(super) values: [u8; 4],
    pub(super) flaw: Option<Flaw>,
}

/// What is wrong with a row by itself.
#[derive(Debug, Clone, Copy)]
pub(super) enum Flaw {
    MissingValue,
    WrongType,
    OutOfRange,
    NoSuchValue,
    NoSuchProperty,
    NoSuchTable,
    NoId,
}

const FLAWS: [Flaw; 7] = [
    Flaw::MissingValue,
    Flaw::WrongType,
    Flaw::OutOfRange,
    Flaw::NoSuchValue,
    Flaw::NoSuchProperty,
    Flaw::NoSuchTable,
    Flaw::NoId,
];

/// A request to come.
#[derive(Debug, Clone)]
pub(super) enum RequestSeed {
    /// Rows; whether they are completed to what the schema demands.
    Load(Mode, Vec<RowSeed>, bool),
    Mutation(Vec<StatementSeed>, bool),
}

pub(super) fn row() -> impl Strategy<Value = RowSeed> {
    let flaw = prop_oneof![
        40 => Just(None),
        1 => proptest::sample::select(&FLAWS[..]).prop_map(Some),
    ];
    let parts = (any::<Index>(), 0..KEYS, 0..KEYS, 0..KEYS, any::<[u8; 4]>(), flaw);
    parts.prop_map(|(table, key, from, to, values, flaw)| RowSeed {
        table,
        key,
        from,
        to,
        values,
        flaw,
    })
}

fn rows() -> impl Strategy<Value = Vec<RowSeed>> {
    prop_oneof![1 => Just(Vec::new()), 30 => vec(row(), 1..6)]
}

/// Loads and mutations.
pub(super) fn request() -> impl Strategy<Value = RequestSeed> {
    let mode = prop_oneof![
        2 => Just(Mode::Append),
        3 => Just(Mode::Upsert),
        1 => Just(Mode::Overwrite),
    ];
    let is_completed = prop::bool::weighted(0.8);
    let load = (mode, rows(), is_completed)
        .prop_map(|(mode, rows, completed)| RequestSeed::Load(mode, rows, completed));
    let mutation = (vec(statement(), 1..6), prop::bool::weighted(0.7))
        .prop_map(|(statements, completed)| RequestSeed::Mutation(statements, completed));
    prop_oneof![1 => load, 1 => mutation]
}

impl RequestSeed {
    /// What the seed means over `state`.
    pub(super) fn grow(&self, schema: &Schema, state: &State) -> Request {
        match self {
            Self::Load(mode, rows, completed) => {
                let mut rows: Vec<Row> = rows.iter().map(|row| row.grow(schema)).collect();
                if *completed {
                    rows = fitting(schema, state, *mode, rows);
                    complete(schema, state, *mode, &mut rows);
                }
                Request::Load(*mode, rows)
            }
            Self::Mutation(statements, completed) => {
                let mut grown: Vec<_> =
                    statements.iter().map(|it| it.grow(schema, state)).collect();
                if *completed {
                    complete_statements(schema, state, &mut grown);
                }
                Request::Mutation(grown)
            }
        }
    }
}

fn key_cell(property: &Property, number: u8) -> Cell {
    match property.kind {
        Kind::Text | Kind::OneOf(_) => Cell::Text(format!("k{number}")),
        Kind::I32 | Kind::I64 | Kind::U32 => Cell::Int(i64::from(number) + 1),
    }
}

fn node_key(schema: &Schema, node: &str, number: u8) -> Cell {
    let table = schema.table(node).expect("declared");
    let key = table.key().and_then(|key| table.property(key)).expect("a node has a key");
    key_cell(key, number)
}

pub(super) fn value_cell(property: &Property, value: u8) -> Option<Cell> {
    let number = value % if property.unique { UNIQUE_VALUES } else { VALUES };
    if property.nullable && number == 0 {
        return None;
    }
    Some(match property.kind {
        Kind::Text => Cell::Text(format!("v{number}")),
        Kind::OneOf(values) => Cell::Text(values[number as usize % values.len()].to_owned()),
        Kind::I32 | Kind::I64 | Kind::U32 => Cell::Int(i64::from(number)),
    })
}

impl RowSeed {
    pub(super) fn table(&self, schema: &Schema) -> &'static Table {
        &schema.tables[self.table.index(schema.tables.len())]
    }

    pub(super) fn grow(&self, schema: &Schema) -> Row {
        let table = self.table(schema);
        let ends = table
            .ends()
            .map(|(from, to)| (node_key(schema, from, self.from), node_key(schema, to, self.to)));
        let mut data = BTreeMap::new();
        for (property, value) in table.properties.iter().zip(self.values.iter().cycle()) {
            let is_key = table.key() == Some(property.name);
            let cell = if is_key {
                Some(key_cell(property, self.key))
            } else {
                value_cell(property, *value)
            };
            data.extend(cell.map(|cell| (property.name.to_owned(), cell)));
        }
        if table.is_multi() {
            data.insert("id".into(), Cell::Text(format!("e{}", self.key)));
        }
        let (from, to) = ends.unzip();
        let mut row = Row { table: table.name.to_owned(), from, to, data };
        if let Some(flaw) = self.flaw {
            flaw.add_to(table, &mut row);
        }
        row
    }
}

impl Flaw {
    /// Does nothing where the table has no room for the flaw.
    fn add_to(self, table: &Table, row: &mut Row) {
        let number = |kind| matches!(kind, Kind::I32 | Kind::U32 | Kind::I64);
        let find = |wanted: &dyn Fn(&Property) -> bool| {
            table.properties.iter().find(|property| wanted(property)).map(|it| it.name.to_owned())
        };
        let mut set = |name: Option<String>, cell: Cell| {
            row.data.extend(name.map(|name| (name, cell)));
        };
        match self {
            Self::MissingValue => {
                if let Some(name) = find(&|property| !property.nullable) {
                    row.data.remove(&name);
                }
            }
            Self::WrongType => {
                set(find(&|property| number(property.kind)), Cell::Text("many".into()));
            }
            Self::OutOfRange => {
                let is_small = |property: &Property| matches!(property.kind, Kind::I32 | Kind::U32);
                set(find(&is_small), Cell::Int(1 << 40));
            }
            Self::NoSuchValue => {
                let is_enum = |property: &Property| matches!(property.kind, Kind::OneOf(_));
                set(find(&is_enum), Cell::Text("other".into()));
            }
            Self::NoSuchProperty => set(Some("colour".into()), Cell::Text("red".into())),
            Self::NoSuchTable => row.table.push('s'),
            Self::NoId => {
                row.data.remove("id");
            }
        }
    }
}

/// Rows without a second one of a key, and, where all of them must be new, without old keys.
fn fitting(schema: &Schema, state: &State, mode: Mode, rows: Vec<Row>) -> Vec<Row> {
    let mut keys = std::collections::BTreeSet::new();
    let mut fits = |row: &Row| {
        if !faults_of(schema, row).is_empty() {
            return true;
        }
        let table = schema.table(&row.table).expect("declared");
        let key = row.key(table);
        let is_old = mode == Mode::Append && state.get(table, &key).is_some();
        !is_old && keys.insert((table.name, key))
    };
    rows.into_iter().filter(|row| fits(row)).collect()
}

/// Adds what the schema demands beside `rows`: the ends of edges, and the edges that a node must have.
fn complete(schema: &Schema, state: &State, mode: Mode, rows: &mut Vec<Row>) {
    let mut after = state.clone();
    let good = |row: &&Row| faults_of(schema, row).is_empty();
    if mode == Mode::Overwrite {
        rows.iter().filter_map(|row| schema.table(&row.table)).for_each(|it| after.clear(it));
    }
    for row in rows.iter().filter(good) {
        after.put(schema.table(&row.table).expect("declared"), row.clone());
    }
    for row in missing(schema, &mut after) {
        // An overwrite of one table more would take its rows away.
        let is_named = rows.iter().any(|it| it.table == row.table);
        if mode != Mode::Overwrite || is_named || state.rows(&row.table).next().is_none() {
            rows.push(row);
        }
    }
}

/// The rows that `after` lacks; they are put into it.
pub(super) fn missing(schema: &Schema, after: &mut State) -> Vec<Row> {
    let mut added = Vec::new();
    // A node that is added may need edges, and those other nodes: twice is enough for the schemas.
    for _ in 0..2 {
        for edge in schema.edges() {
            let wanted = missing_ends(schema, edge, after);
            let wanted = wanted.into_iter().chain(missing_edges(schema, edge, after));
            for row in wanted.collect::<Vec<_>>() {
                let table = schema.table(&row.table).expect("declared");
                if after.get(table, &row.key(table)).is_none() {
                    after.put(table, row.clone());
                    added.push(row);
                }
            }
        }
    }
    added
}

fn bare_node(schema: &Schema, node: &str, key: &Cell) -> Row {
    let table = schema.table(node).expect("declared");
    let cell = |property: &Property| match table.key() == Some(property.name) {
        true => Some(key.clone()),
        false if property.nullable => None,
        false => value_cell(property, 1),
    };
    let data = table.properties.iter();
    let data = data.filter_map(|it| Some((it.name.to_owned(), cell(it)?))).collect();
    Row { table: node.to_owned(), from: None, to: None, data }
}

fn missing_ends(schema: &Schema, edge: &Table, after: &State) -> Vec<Row> {
    let Some((from, to)) = edge.ends() else { return Vec::new() };
    let ends = after
        .rows(edge.name)
        .flat_map(|(_, row)| [(from, row.from.as_ref()), (to, row.to.as_ref())]);
    let missing = ends.filter_map(|(node, end)| Some((node, end?)));
    let missing = missing.filter(|(node, end)| !after.has_node(node, end));
    missing.map(|(node, end)| bare_node(schema, node, end)).collect()
}

fn missing_edges(schema: &Schema, edge: &Table, after: &State) -> Vec<Row> {
    let Shape::Edge { from, to, min, .. } = edge.shape else { return Vec::new() };
    let mut rows = Vec::new();
    for (key, _) in after.rows(from).filter(|_| min > 0) {
        let is_from = |row: &&Row| row.from.as_ref() == Some(&key[0]);
        if after.rows(edge.name).map(|(_, row)| row).filter(is_from).count() >= min {
            continue;
        }
        let first = after.rows(to).next().map(|(key, _)| key[0].clone());
        let end = first.unwrap_or_else(|| node_key(schema, to, 0));
        let id =
            edge.is_multi().then(|| ("id".to_owned(), Cell::Text(format!("of {}", key[0].sql()))));
        rows.push(bare_node(schema, to, &end));
        rows.push(Row {
            table: edge.name.to_owned(),
            from: Some(key[0].clone()),
            to: Some(end),
            data: id.into_iter().collect(),
        });
    }
    rows
}
