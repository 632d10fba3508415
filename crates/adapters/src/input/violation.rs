//! What is wrong with rows and where: one typed value per fault, collected up to a limit. It
//! decides nothing about what is valid.

use std::collections::BinaryHeap;
use std::fmt;
use std::sync::Arc;

use graphwrite_protocol_types::Answer;
use thiserror::Error;

/// Where a row of the input came from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Place {
    /// A line of a file, counted from 1.
    Line(u64),
    /// A row of the record batches given for a table, counted from 0 over all of them.
    Row {
        /// The table's name.
        table: String,
        /// The row.
        row: u64,
    },
    /// The record batches of a table as a whole, for faults of their columns.
    Table(String),
    /// The rows of a table that an overwriting load does not have.
    LeftOut(String),
    /// A statement of a mutation, counted from 1.
    Statement(u64),
    /// A row of the record batch of a statement.
    StatementRow {
        /// The statement, counted from 1.
        statement: u64,
        /// The row, counted from 0.
        row: u64,
    },
    /// A line of one of several sources, counted from 1.
    SourceLine {
        /// The source.
        source: SourceName,
        /// The line.
        line: u64,
    },
    /// A row of a source without lines, counted from 0.
    SourceRow {
        /// The source.
        source: SourceName,
        /// The row.
        row: u64,
    },
    /// A source without lines as a whole, for faults of its columns.
    Source(SourceName),
    /// A row that a merge takes over from its source.
    Merged {
        /// The table's name.
        table: String,
        /// The row's key; none for rows that the merge removes, since the source has deleted them.
        key: Option<String>,
    },
}

/// A source of rows, as messages call it. Sources are ordered as they were read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceName {
    order: usize,
    name: Arc<str>,
}

impl SourceName {
    pub(crate) fn new(order: usize, name: &str) -> Self {
        Self { order, name: name.into() }
    }
}

impl fmt::Display for SourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row { table, row } => write!(f, "row {row} of {table}"),
            Self::Table(table) => write!(f, "the columns of {table}"),
            Self::LeftOut(table) => write!(f, "the rows of {table} that the load leaves out"),
            Self::Statement(statement) => write!(f, "statement {statement}"),
            Self::StatementRow { statement, row } => write!(f, "statement {statement}, row {row}"),
            Self::SourceLine { source, line } => write!(f, "{source}, line {line}"),
            Self::SourceRow { source, row } => write!(f, "{source}, row {row}"),
            Self::Source(source) => write!(f, "the columns of {source}"),
            Self::Merged { table, key: Some(key) } => write!(f, "{table} `{key}` of the source"),
            Self::Merged { table, key: None } => write!(f, "rows of {table} deleted by the source"),
        }
    }
}

/// The rule that a row breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// A line is not one JSON value.
    Json,
    /// A line or a batch does not have the form of a row.
    Shape,
    /// The schema has no such type.
    UnknownType,
    /// The type has no such property.
    UnknownProperty,
    /// The value is not of the property's type.
    Type,
    /// The value is of the right kind and outside the type's range.
    Range,
    /// An item of a list is not of the list's type, or null.
    ListItem,
    /// A vector has another length than declared.
    VectorLength,
    /// A value is missing.
    Required,
    /// The text is not one of an enum's values.
    Enum,
    /// `data.id` contradicts the key, or is missing where rows carry their own id.
    Id,
    /// A key occurs twice, or an update would change it.
    Key,
    /// A value, or a combination of values, that must be unique occurs twice.
    Unique,
    /// An edge refers to a node that does not exist.
    Endpoint,
    /// A source would have too few or too many edges.
    Cardinality,
    /// A node would go that an edge names.
    Referenced,
    /// A condition cannot be read, or asks for what the type does not have.
    Predicate,
}

impl Rule {
    /// Every rule.
    pub const ALL: [Self; 17] = [
        Self::Json,
        Self::Shape,
        Self::UnknownType,
        Self::UnknownProperty,
        Self::Type,
        Self::Range,
        Self::ListItem,
        Self::VectorLength,
        Self::Required,
        Self::Enum,
        Self::Id,
        Self::Key,
        Self::Unique,
        Self::Endpoint,
        Self::Cardinality,
        Self::Referenced,
        Self::Predicate,
    ];

    /// Stable code, for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Shape => "shape",
            Self::UnknownType => "unknown_type",
            Self::UnknownProperty => "unknown_property",
            Self::Type => "type",
            Self::Range => "range",
            Self::ListItem => "list_item",
            Self::VectorLength => "vector_length",
            Self::Required => "required",
            Self::Enum => "enum",
            Self::Id => "id",
            Self::Key => "key",
            Self::Unique => "unique",
            Self::Endpoint => "endpoint",
            Self::Cardinality => "cardinality",
            Self::Referenced => "referenced",
            Self::Predicate => "predicate",
        }
    }
}

/// One fault of one row.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{place}: {}{message} [{}]", at_field(.table, .field), .rule.code())]
pub struct Violation {
    /// Where.
    pub place: Place,
    /// The type, where it is known.
    pub table: Option<String>,
    /// The property or part of the row at fault, where there is one; several joined by `, `.
    pub field: Option<String>,
    /// The rule that is broken.
    pub rule: Rule,
    /// What was found, cut to a readable length.
    pub found: Option<String>,
    /// What is wrong and what would be right.
    pub message: String,
}

fn at_field(table: &Option<String>, field: &Option<String>) -> String {
    match (table, field) {
        (Some(table), Some(field)) => format!("{table}.{field}: "),
        (Some(table), None) => format!("{table}: "),
        (None, Some(field)) => format!("{field}: "),
        (None, None) => String::new(),
    }
}

/// The faults of a request, in the order in which they were met. The graph is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", summary(.listed, .total))]
pub struct Violations {
    listed: Vec<Violation>,
    total: u64,
}

fn summary(listed: &[Violation], total: &u64) -> String {
    let first = listed.first().map(ToString::to_string).unwrap_or_default();
    if *total > 1 { format!("{first} ({total} faults in all)") } else { first }
}

impl Violations {
    /// The faults that are listed: at least one.
    pub fn listed(&self) -> &[Violation] {
        &self.listed
    }

    /// All faults that were met, listed or only counted.
    pub fn total(&self) -> u64 {
        self.total
    }
}

impl Answer for Violations {
    fn code(&self) -> &'static str {
        "invalid_input"
    }

    fn may_retry(&self) -> bool {
        false
    }

    fn had_no_effect(&self) -> bool {
        true
    }

    fn help(&self) -> String {
        "the graph is unchanged; correct the rows and send the request again".into()
    }
}

/// Collects faults: the first `errors_max` are kept, the rest only counted.
#[derive(Debug, Clone)]
pub(crate) struct Faults {
    listed: Vec<Violation>,
    total: u64,
    errors_max: usize,
}

impl Faults {
    pub(crate) fn new(errors_max: usize) -> Self {
        Self { listed: Vec::new(), total: 0, errors_max: errors_max.max(1) }
    }

    pub(crate) fn push(&mut self, violation: Violation) {
        self.total += 1;
        if self.listed.len() < self.errors_max {
            self.listed.push(violation);
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// A collection of what is found in no order, of which the first ones are to be listed.
    pub(crate) fn earliest<K: Ord>(&self) -> Earliest<K> {
        Earliest { kept: BinaryHeap::new(), total: 0, max: self.errors_max }
    }

    /// Adds what was found after these faults, in its order. Only what is listed is described.
    pub(crate) fn append_earliest<K: Ord, E>(
        &mut self,
        found: Earliest<K>,
        mut describe: impl FnMut(K) -> Result<Violation, E>,
    ) -> Result<(), E> {
        let room = self.errors_max.saturating_sub(self.listed.len());
        self.total += found.total;
        for key in found.kept.into_sorted_vec().into_iter().take(room) {
            self.listed.push(describe(key)?);
        }
        Ok(())
    }

    /// Adds the faults of another collection after these.
    pub(crate) fn append(&mut self, other: Self) {
        let room = self.errors_max - self.listed.len();
        self.total += other.total;
        self.listed.extend(other.listed.into_iter().take(room));
    }

    pub(crate) fn into_result(self) -> Result<(), Violations> {
        if self.total == 0 {
            return Ok(());
        }
        Err(Violations { listed: self.listed, total: self.total })
    }
}

/// The smallest of many findings, and how many there were.
#[derive(Debug, Clone)]
pub(crate) struct Earliest<K> {
    kept: BinaryHeap<K>,
    total: u64,
    max: usize,
}

impl<K: Ord> Earliest<K> {
    pub(crate) fn push(&mut self, found: K) {
        self.total += 1;
        if self.kept.len() < self.max {
            self.kept.push(found);
        } else if let Some(mut last) = self.kept.peek_mut()
            && found < *last
        {
            *last = found;
        }
    }
}

const FOUND_CHARS_MAX: usize = 80;

/// A value as it is quoted in a message: cut, so that no row floods a terminal.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(FOUND_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violation(line: u64) -> Violation {
        Violation {
            place: Place::Line(line),
            table: Some("Person".into()),
            field: Some("age".into()),
            rule: Rule::Type,
            found: Some("1.5".into()),
            message: "1.5 is not an i32".into(),
        }
    }

    #[test]
    fn a_violation_names_place_field_and_rule() {
        assert_eq!(violation(3).to_string(), "line 3: Person.age: 1.5 is not an i32 [type]");
    }

    #[test]
    fn faults_beyond_the_limit_are_counted() {
        let mut faults = Faults::new(2);
        (1..=5).for_each(|line| faults.push(violation(line)));
        let found = faults.into_result().unwrap_err();
        assert_eq!((found.listed().len(), found.total()), (2, 5));
        assert!(found.to_string().ends_with("(5 faults in all)"));
    }

    #[test]
    fn the_first_of_many_findings_are_listed_in_their_order() {
        let mut faults = Faults::new(3);
        faults.push(violation(9));
        let mut found = faults.earliest();
        [7u64, 2, 5, 2, 1, 8].into_iter().for_each(|line| found.push(line));
        faults.append_earliest(found, |line| Ok::<_, ()>(violation(line))).unwrap();
        let found = faults.into_result().unwrap_err();
        let lines: Vec<_> = found.listed().iter().map(|found| found.place.clone()).collect();
        assert_eq!((lines, found.total()), ([9, 1, 2].map(Place::Line).to_vec(), 7));
    }

    #[test]
    fn at_least_one_fault_is_listed() {
        let mut faults = Faults::new(0);
        faults.push(violation(1));
        assert_eq!(faults.into_result().unwrap_err().listed().len(), 1);
    }

    #[test]
    fn long_values_are_cut_at_a_character() {
        assert_eq!(quoted(&"é".repeat(81)).chars().count(), 81);
        assert_eq!(quoted("é"), "é");
    }

    #[test]
    fn rule_codes_are_distinct() {
        let codes: std::collections::BTreeSet<_> =
            Rule::ALL.iter().map(|rule| rule.code()).collect();
        assert_eq!(codes.len(), Rule::ALL.len());
    }
}
