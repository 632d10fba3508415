//! Statements of the model: each sees what those before it did, and the rules are asked of the state
//! in the end.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::request::{Judged, judged};
use super::row::{Cell, Key, Row};
use super::shape::{Property, Schema, Shape, Table};
use super::state::{Codes, Refusal, State, faults_of};

/// Which rows of a table a statement means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// A node.
    Node(Cell),
    /// The edges between two nodes: one, or all parallels.
    Ends(Cell, Cell),
    /// One of several parallel edges.
    Id(Cell),
}

/// One comparison, as SQL has it: a null is never a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Test {
    Is(String, Cell),
    Below(String, i64),
    IsNull(String),
}

/// One statement of a mutation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Statement {
    Insert(Row),
    Upsert(Row),
    /// Columns that are set; none makes a null.
    Update(String, Target, BTreeMap<String, Option<Cell>>),
    Delete(String, Target, bool),
    DeleteWhere(String, Test, bool),
}

impl Test {
    fn sql(&self) -> String {
        match self {
            Self::Is(name, cell) => format!("{name} = {}", cell.sql()),
            Self::Below(name, bound) => format!("{name} < {bound}"),
            Self::IsNull(name) => format!("{name} IS NULL"),
        }
    }

    fn holds(&self, row: &Row) -> bool {
        let column = |name: &str| match name {
            "src" => row.from.as_ref(),
            "dst" => row.to.as_ref(),
            name => row.data.get(name),
        };
        match self {
            Self::Is(name, cell) => column(name) == Some(cell),
            Self::Below(name, bound) => {
                matches!(column(name), Some(Cell::Int(value)) if value < bound)
            }
            Self::IsNull(name) => column(name).is_none(),
        }
    }
}

impl Target {
    fn add_to(&self, members: &mut Map<String, Value>) {
        let mut add = |name: &str, cell: &Cell| members.insert(name.into(), cell.json());
        match self {
            Self::Node(key) => {
                add("key", key);
            }
            Self::Ends(from, to) => {
                add("from", from);
                add("to", to);
            }
            Self::Id(id) => {
                add("id", id);
            }
        }
    }

    fn means(&self, row: &Row, key: &Key) -> bool {
        match self {
            Self::Node(cell) | Self::Id(cell) => key.as_slice() == std::slice::from_ref(cell),
            Self::Ends(from, to) => row.from.as_ref() == Some(from) && row.to.as_ref() == Some(to),
        }
    }
}

impl Statement {
    /// The statement as the product reads it.
    pub(super) fn json(&self, schema: &Schema) -> Value {
        let named = |table: &str| {
            let is_node = schema.table(table).is_none_or(Table::is_node);
            Map::from_iter([(if is_node { "type" } else { "edge" }.to_owned(), json!(table))])
        };
        let (verb, members) = match self {
            Self::Insert(row) => ("insert", row.json()),
            Self::Upsert(row) => ("upsert", row.json()),
            Self::Update(table, target, set) => {
                let mut members = named(table);
                target.add_to(&mut members);
                let set = set.iter().map(|(name, cell)| {
                    (name.clone(), cell.as_ref().map_or(Value::Null, Cell::json))
                });
                members.insert("set".into(), Value::Object(set.collect()));
                ("update", Value::Object(members))
            }
            Self::Delete(table, target, cascade) => {
                let mut members = named(table);
                target.add_to(&mut members);
                ("delete", Value::Object(cascading(members, *cascade)))
            }
            Self::DeleteWhere(table, test, cascade) => {
                let mut members = named(table);
                members.insert("where".into(), json!(test.sql()));
                ("delete", Value::Object(cascading(members, *cascade)))
            }
        };
        Value::Object(Map::from_iter([(verb.to_owned(), members)]))
    }

    /// What the statement says wrong, whatever the graph is.
    fn faults(&self, schema: &Schema) -> Codes {
        match self {
            Self::Insert(row) | Self::Upsert(row) => faults_of(schema, row),
            Self::Update(table, _, set) => {
                if set.is_empty() {
                    return Codes::from(["shape"]);
                }
                let table = schema.table(table).expect("declared");
                set.iter().filter_map(|(name, cell)| fault_of_set(table, name, cell)).collect()
            }
            Self::Delete(..) | Self::DeleteWhere(..) => Codes::new(),
        }
    }
}

fn cascading(mut members: Map<String, Value>, cascade: bool) -> Map<String, Value> {
    if cascade {
        members.insert("cascade".into(), json!(true));
    }
    members
}

fn fault_of_set(table: &Table, name: &str, cell: &Option<Cell>) -> Option<&'static str> {
    match (table.property(name), cell) {
        (None, _) => Some("unknown_property"),
        (Some(property), Some(cell)) => cell.breaks(property.kind),
        (Some(Property { nullable, .. }), None) => (!nullable).then_some("required"),
    }
}

/// Runs `statements` over `before`.
pub(super) fn run(schema: &Schema, before: &State, statements: &[Statement]) -> Judged {
    let malformed: Codes = statements.iter().flat_map(|it| it.faults(schema)).collect();
    if !malformed.is_empty() {
        return Judged::Malformed(Refusal { must: malformed, may: Codes::new() });
    }
    let mut run = Run { schema, state: before.clone(), brought: BTreeSet::new() };
    // The first statement that is refused tells the kind.
    if let Some(refused) = statements.iter().find_map(|it| run.step(it)) {
        return Judged::Refused(Refusal::of(refused));
    }
    // Which of several broken rules is reported depends on where the rows are.
    match judged(schema, before, run.state) {
        Judged::Refused(Refusal { must, may }) => {
            Judged::Refused(Refusal::any_of(must.into_iter().chain(may)))
        }
        judged => judged,
    }
}

/// A mutation under way.
struct Run<'a> {
    schema: &'a Schema,
    state: State,
    /// The rows that statements have brought whole.
    brought: BTreeSet<(&'static str, Key)>,
}

impl Run<'_> {
    /// Performs a statement, or says why it is refused and does nothing.
    fn step(&mut self, statement: &Statement) -> Option<&'static str> {
        let table = |name: &str| self.schema.table(name).expect("declared");
        match statement {
            Statement::Insert(row) => {
                let table = table(&row.table);
                let key = row.key(table);
                if self.state.get(table, &key).is_some() {
                    // A key of the base is a conflict with others, a key of this request is not.
                    let is_own = self.brought.contains(&(table.name, key));
                    return Some(if is_own { "key" } else { "key_conflict" });
                }
                self.bring(table, row);
            }
            Statement::Upsert(row) => self.bring(table(&row.table), row),
            Statement::Update(name, target, set) => {
                let table = table(name);
                let Some((_, row)) = self.meant(table, target).pop() else {
                    return Some("key_missing");
                };
                self.state.put(table, with(row, set));
            }
            Statement::Delete(name, target, cascade) => {
                let table = table(name);
                let meant = self.meant(table, target);
                self.delete(table, meant, *cascade);
            }
            Statement::DeleteWhere(name, test, cascade) => {
                let table = table(name);
                let rows = self.state.rows(name).filter(|(_, row)| test.holds(row));
                let meant = rows.map(|(key, row)| (key.clone(), row.clone())).collect();
                self.delete(table, meant, *cascade);
            }
        }
        None
    }

    fn bring(&mut self, table: &'static Table, row: &Row) {
        self.brought.insert((table.name, row.key(table)));
        self.state.put(table, row.clone());
    }

    fn meant(&self, table: &Table, target: &Target) -> Vec<(Key, Row)> {
        let rows = self.state.rows(table.name).filter(|(key, row)| target.means(row, key));
        rows.map(|(key, row)| (key.clone(), row.clone())).collect()
    }

    fn delete(&mut self, table: &Table, rows: Vec<(Key, Row)>, cascade: bool) {
        for (key, _) in rows {
            self.state.remove(table, &key);
            if cascade && table.is_node() {
                self.delete_edges_of(table, &key[0]);
            }
        }
    }

    fn delete_edges_of(&mut self, node: &Table, key: &Cell) {
        for edge in self.schema.edges() {
            let Shape::Edge { from, to, .. } = edge.shape else { continue };
            let names = |row: &Row| {
                (from == node.name && row.from.as_ref() == Some(key))
                    || (to == node.name && row.to.as_ref() == Some(key))
            };
            let rows = self.state.rows(edge.name).filter(|(_, row)| names(row));
            for key in rows.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
                self.state.remove(edge, &key);
            }
        }
    }
}

fn with(mut row: Row, set: &BTreeMap<String, Option<Cell>>) -> Row {
    for (name, cell) in set {
        match cell {
            Some(cell) => row.data.insert(name.clone(), cell.clone()),
            None => row.data.remove(name),
        };
    }
    row
}
