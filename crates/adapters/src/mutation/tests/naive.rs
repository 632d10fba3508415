//! A graph as plain maps, and statements that act on it one by one, in the most obvious way.

use std::collections::{BTreeMap, BTreeSet};

use super::writer::Did;

pub(super) const SCHEMA: &str = r#"
[node.N]
key = "slug"
[node.N.properties]
slug = { type = "string" }
age  = { type = "i32", nullable = true }
mood = { type = "string", nullable = true }

[node.M]
key = "no"
[node.M.properties]
no  = { type = "i64" }
age = { type = "i32", nullable = true }

[edge.E]
from = "N"
to = "N"
[edge.E.properties]
age = { type = "i32", nullable = true }

[edge.V]
from = "N"
to = "M"
multi = true
[edge.V.properties]
age = { type = "i32", nullable = true }
"#;

pub(super) const TABLES: [&str; 4] = ["E", "M", "N", "V"];

type Age = Option<i32>;

/// Keys of the four tables: a text, a number, two texts, an id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    N(char),
    M(i64),
    E(char, char),
    V(u8),
}

/// What a row has beside its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) age: Age,
    /// Only nodes of `N` have one.
    pub(super) mood: Option<char>,
    /// Only edges of `V` have these; those of `E` have them in their key.
    pub(super) ends: Option<(char, i64)>,
}

#[derive(Debug, Clone)]
pub(super) enum Statement {
    Insert(Key, Row),
    Upsert(Key, Row),
    /// The age, and the mood if the row has one to set.
    Update(Key, Age, Option<Option<char>>),
    Delete(Key, bool),
    DeleteParallels(char, i64),
    /// Rows of a table whose age is below, or that have none.
    DeleteWhere(&'static str, Age, bool),
    /// Edges of a table that start from a node.
    DeleteFrom(&'static str, char),
}

impl Key {
    pub(super) fn table(&self) -> &'static str {
        match self {
            Self::N(_) => "N",
            Self::M(_) => "M",
            Self::E(..) => "E",
            Self::V(_) => "V",
        }
    }

    /// As a conflict names it.
    fn text(&self) -> String {
        match self {
            Self::N(slug) => slug.to_string(),
            Self::M(no) => no.to_string(),
            Self::E(src, dst) => format!("{src} -> {dst}"),
            Self::V(id) => format!("v{id}"),
        }
    }

    fn names(&self) -> &'static str {
        match self {
            Self::N(_) => "slug",
            Self::M(_) => "no",
            Self::E(..) => "src, dst",
            Self::V(_) => "id",
        }
    }

    /// The members that name the row in an update or delete.
    fn members(&self) -> String {
        match self {
            Self::N(slug) => format!(r#""type":"N","key":"{slug}""#),
            Self::M(no) => format!(r#""type":"M","key":{no}"#),
            Self::E(src, dst) => format!(r#""edge":"E","from":"{src}","to":"{dst}""#),
            Self::V(id) => format!(r#""edge":"V","id":"v{id}""#),
        }
    }

    /// The row as JSON has it; nulls are left out.
    fn row(&self, row: &Row) -> String {
        let mut data: Vec<String> = match self {
            Self::N(slug) => vec![format!(r#""slug":"{slug}""#)],
            Self::M(no) => vec![format!(r#""no":{no}"#)],
            Self::V(id) => vec![format!(r#""id":"v{id}""#)],
            Self::E(..) => Vec::new(),
        };
        data.extend(row.age.map(|age| format!(r#""age":{age}"#)));
        data.extend(row.mood.map(|mood| format!(r#""mood":"{mood}""#)));
        let data = data.join(",");
        match (self, row.ends) {
            (Self::E(src, dst), _) => {
                format!(r#"{{"edge":"E","from":"{src}","to":"{dst}","data":{{{data}}}}}"#)
            }
            (Self::V(_), Some((src, dst))) => {
                format!(r#"{{"edge":"V","from":"{src}","to":{dst},"data":{{{data}}}}}"#)
            }
            _ => format!(r#"{{"type":"{}","data":{{{data}}}}}"#, self.table()),
        }
    }
}

fn json<T: std::fmt::Display>(value: &Option<T>, quote: &str) -> String {
    value.as_ref().map_or_else(|| "null".into(), |value| format!("{quote}{value}{quote}"))
}

impl Statement {
    pub(super) fn to_json(&self) -> String {
        match self {
            Self::Insert(key, row) => format!(r#"{{"insert":{}}}"#, key.row(row)),
            Self::Upsert(key, row) => format!(r#"{{"upsert":{}}}"#, key.row(row)),
            Self::Update(key, age, mood) => {
                let mood = mood.as_ref().map(|mood| format!(r#","mood":{}"#, json(mood, "\"")));
                let (age, mood) = (json(age, ""), mood.unwrap_or_default());
                format!(r#"{{"update":{{{},"set":{{"age":{age}{mood}}}}}}}"#, key.members())
            }
            Self::Delete(key, cascade) => {
                let cascade = if *cascade { r#","cascade":true"# } else { "" };
                format!(r#"{{"delete":{{{}{cascade}}}}}"#, key.members())
            }
            Self::DeleteParallels(src, dst) => {
                format!(r#"{{"delete":{{"edge":"V","from":"{src}","to":{dst}}}}}"#)
            }
            Self::DeleteWhere(table, below, cascade) => {
                let kind = if matches!(*table, "N" | "M") { "type" } else { "edge" };
                let condition = match below {
                    Some(below) => format!("age < {below}"),
                    None => "age is null".into(),
                };
                let cascade = if *cascade { r#","cascade":true"# } else { "" };
                format!(r#"{{"delete":{{"{kind}":"{table}","where":"{condition}"{cascade}}}}}"#)
            }
            Self::DeleteFrom(table, src) => {
                format!(r#"{{"delete":{{"edge":"{table}","where":"src = '{src}'"}}}}"#)
            }
        }
    }
}

pub(super) type Rows = BTreeMap<Key, Row>;

/// The lines of a table, sorted.
pub(super) fn lines(rows: &Rows, table: &str) -> Vec<String> {
    let rows = rows.iter().filter(|(key, _)| key.table() == table);
    let mut lines: Vec<_> = rows.map(|(key, row)| key.row(row)).collect();
    lines.sort();
    lines
}

/// A request that acts on a copy of the graph.
pub(super) struct Acting<'b> {
    base: &'b Rows,
    pub(super) rows: Rows,
    /// Rows that a statement put or changed, as far as they are there.
    put: BTreeSet<Key>,
    /// Rows that a statement brought whole, as far as they are there.
    brought: BTreeSet<Key>,
    exists: Vec<(Key, usize)>,
    missing: Vec<(Key, usize)>,
    repeated: Vec<(Key, usize)>,
    first: Option<char>,
}

impl<'b> Acting<'b> {
    pub(super) fn on(base: &'b Rows) -> Self {
        Self {
            base,
            rows: base.clone(),
            put: BTreeSet::new(),
            brought: BTreeSet::new(),
            exists: Vec::new(),
            missing: Vec::new(),
            repeated: Vec::new(),
            first: None,
        }
    }

    pub(super) fn act(&mut self, number: usize, statement: &Statement) {
        match statement {
            Statement::Insert(key, row) => {
                if self.rows.contains_key(key) {
                    let was_brought = self.brought.contains(key);
                    self.first.get_or_insert(if was_brought { 'r' } else { 'e' });
                    let list = if was_brought { &mut self.repeated } else { &mut self.exists };
                    list.push((key.clone(), number));
                }
                self.bring(key, row);
            }
            Statement::Upsert(key, row) => self.bring(key, row),
            Statement::Update(key, age, mood) => match self.rows.get_mut(key) {
                Some(row) => {
                    row.age = *age;
                    row.mood = mood.unwrap_or(row.mood);
                    self.put.insert(key.clone());
                }
                None => {
                    self.first.get_or_insert('m');
                    self.missing.push((key.clone(), number));
                }
            },
            Statement::Delete(key, cascade) => self.delete(key, *cascade),
            Statement::DeleteParallels(src, dst) => {
                self.delete_all(false, |key, row| {
                    matches!(key, Key::V(_)) && row.ends == Some((*src, *dst))
                });
            }
            Statement::DeleteWhere(table, below, cascade) => {
                self.delete_all(*cascade, |key, row| {
                    let holds = match below {
                        Some(below) => row.age.is_some_and(|age| age < *below),
                        None => row.age.is_none(),
                    };
                    key.table() == *table && holds
                });
            }
            Statement::DeleteFrom(table, from) => self.delete_all(false, |key, row| {
                let starts = match key {
                    Key::E(src, _) => src == from,
                    _ => row.ends.is_some_and(|(src, _)| src == *from),
                };
                key.table() == *table && starts
            }),
        }
    }

    fn bring(&mut self, key: &Key, row: &Row) {
        self.rows.insert(key.clone(), row.clone());
        self.put.insert(key.clone());
        self.brought.insert(key.clone());
    }

    fn delete_all(&mut self, cascade: bool, goes: impl Fn(&Key, &Row) -> bool) {
        let going: Vec<_> = self
            .rows
            .iter()
            .filter(|(key, row)| goes(key, row))
            .map(|(key, _)| key.clone())
            .collect();
        going.iter().for_each(|key| self.delete(key, cascade));
    }

    fn delete(&mut self, key: &Key, cascade: bool) {
        if self.rows.remove(key).is_none() {
            return;
        }
        self.put.remove(key);
        self.brought.remove(key);
        if cascade {
            self.delete_all(false, |edge, row| names(edge, row, key));
        }
    }

    /// What the request comes to, if it is known without the text of faults.
    pub(super) fn outcome(&self) -> Outcome {
        match self.first {
            Some('r') => Outcome::Faults(
                self.repeated
                    .iter()
                    .map(|(key, number)| {
                        format!("statement {number} {}.{} key", key.table(), key.names())
                    })
                    .collect(),
            ),
            Some('e') => Outcome::Is(conflict("exists", &self.exists)),
            Some(_) => Outcome::Is(conflict("missing", &self.missing)),
            None if self.is_torn() => Outcome::Invalid,
            None => Outcome::Is(self.net()),
        }
    }

    /// Whether an edge has lost an end.
    fn is_torn(&self) -> bool {
        let there = |key: Key| self.rows.contains_key(&key);
        self.rows.iter().any(|(key, row)| match (key, row.ends) {
            (Key::E(src, dst), _) => !there(Key::N(*src)) || !there(Key::N(*dst)),
            (Key::V(_), Some((src, dst))) => !there(Key::N(src)) || !there(Key::M(dst)),
            _ => false,
        })
    }

    fn net(&self) -> Did {
        let mut tables = Vec::new();
        let mut changes = false;
        for table in TABLES {
            let (mut counts, of) = ([0; 4], |key: &&Key| key.table() == table);
            for key in self.put.iter().filter(of) {
                let class = match self.base.get(key) {
                    None => 0,
                    Some(before) if *before != self.rows[key] => 1,
                    Some(_) => 3,
                };
                counts[class] += 1;
            }
            counts[2] =
                self.base.keys().filter(of).filter(|key| !self.rows.contains_key(key)).count();
            changes |= counts[0] + counts[1] + counts[2] > 0;
            if counts.iter().any(|count| *count > 0) {
                let signed = ['+', '~', '-', '='].into_iter().zip(counts);
                let signed = signed.filter(|(_, count)| *count > 0);
                let text =
                    signed.map(|(sign, count)| format!(" {sign}{count}")).collect::<String>();
                tables.push(format!("{table}{text}"));
            }
        }
        if changes { Did::Committed(tables) } else { Did::NoChange }
    }
}

fn names(edge: &Key, row: &Row, node: &Key) -> bool {
    match (edge, row.ends, node) {
        (Key::E(src, dst), _, Key::N(node)) => src == node || dst == node,
        (Key::V(_), Some((src, _)), Key::N(node)) => src == *node,
        (Key::V(_), Some((_, dst)), Key::M(node)) => dst == *node,
        _ => false,
    }
}

fn conflict(kind: &str, met: &[(Key, usize)]) -> Did {
    let (key, number) = &met[0];
    let (table, key, total) = (key.table(), key.text(), met.len());
    Did::Conflict(format!("{kind} {table} {key} statement {number} {total}"))
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Is(Did),
    /// These faults and no others.
    Faults(Vec<String>),
    /// Edges would lose their ends.
    Invalid,
}
