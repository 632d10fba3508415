//! Rows of the model, and the JSON lines that say them. A missing value is a null.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::shape::{Kind, Shape, Table};

/// One value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cell {
    Int(i64),
    Text(String),
}

impl Cell {
    pub(super) fn json(&self) -> Value {
        match self {
            Self::Int(value) => json!(value),
            Self::Text(value) => json!(value),
        }
    }

    fn of(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text.clone()),
            value => Self::Int(value.as_i64().expect("a number that the model has")),
        }
    }

    /// The value as SQL says it.
    pub(super) fn sql(&self) -> String {
        match self {
            Self::Int(value) => value.to_string(),
            Self::Text(value) => format!("'{value}'"),
        }
    }

    /// The rule that the value breaks as a `kind`.
    pub(super) fn breaks(&self, kind: Kind) -> Option<&'static str> {
        let range = match kind {
            Kind::Text | Kind::OneOf(_) => None,
            Kind::I32 => Some(i64::from(i32::MIN)..=i64::from(i32::MAX)),
            Kind::U32 => Some(0..=i64::from(u32::MAX)),
            Kind::I64 => Some(i64::MIN..=i64::MAX),
        };
        match (self, kind, range) {
            (Self::Int(value), _, Some(range)) => (!range.contains(value)).then_some("range"),
            (Self::Text(_), Kind::Text, _) => None,
            (Self::Text(text), Kind::OneOf(values), _) => {
                (!values.contains(&text.as_str())).then_some("enum")
            }
            _ => Some("type"),
        }
    }
}

/// What tells the rows of a table apart: a node's key, an edge's ends, or its own id.
pub(super) type Key = Vec<Cell>;

/// A row, as it is sent and as it is kept; one that is sent may break any rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row {
    pub(super) table: String,
    pub(super) from: Option<Cell>,
    pub(super) to: Option<Cell>,
    /// The properties, and the id of an edge that has its own.
    pub(super) data: BTreeMap<String, Cell>,
}

impl Row {
    /// The key of a row that breaks no rule of its own.
    pub(super) fn key(&self, table: &Table) -> Key {
        let cells = match table.shape {
            Shape::Node { key } => vec![self.data.get(key)],
            Shape::Edge { multi: true, .. } => vec![self.data.get("id")],
            Shape::Edge { .. } => vec![self.from.as_ref(), self.to.as_ref()],
        };
        cells.into_iter().map(|cell| cell.expect("a row with a key").clone()).collect()
    }

    /// The values of a unique set; none where one of them is a null.
    pub(super) fn values(&self, set: &[&str]) -> Option<Vec<&Cell>> {
        set.iter().map(|name| self.data.get(*name)).collect()
    }

    /// What the row says, as a statement or a line has it.
    pub(super) fn json(&self) -> Value {
        let mut row = Map::new();
        row.insert(if self.from.is_some() { "edge" } else { "type" }.into(), json!(self.table));
        for (name, end) in [("from", &self.from), ("to", &self.to)] {
            if let Some(end) = end {
                row.insert(name.into(), end.json());
            }
        }
        let data = self.data.iter().map(|(name, cell)| (name.clone(), cell.json()));
        row.insert("data".into(), Value::Object(data.collect()));
        Value::Object(row)
    }

    /// A line of an export.
    pub(super) fn parse(line: &str) -> Self {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        let table = line.get("edge").or_else(|| line.get("type")).and_then(Value::as_str);
        let data = line["data"].as_object().expect("the properties");
        Self {
            table: table.expect("a type").to_owned(),
            from: line.get("from").map(Cell::of),
            to: line.get("to").map(Cell::of),
            data: data.iter().map(|(name, value)| (name.clone(), Cell::of(value))).collect(),
        }
    }
}
