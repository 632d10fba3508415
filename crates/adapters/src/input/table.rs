//! The decoded input of a load: typed batches per table, and where each row came from. It is
//! complete and free of faults that the rows alone show; it knows nothing of the graph's content.

use std::sync::OnceLock;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_cast::display::array_value_to_string;
use arrow_schema::{ArrowError, SchemaRef};
use graphwrite_protocol_types::{SchemaHash, TableIdentity};
use graphwrite_schema::{EDGE_DST, EDGE_ID, EDGE_SRC, End, TypeDef};

use super::spot::Spot;
use super::violation::{Place, SourceName, quoted};
use crate::keys::{KeyColumn, RowIndex, key_text};

/// Everything that one load brings, valid in itself. It may be prepared any number of times.
#[derive(Debug)]
pub struct LoadInput {
    pub(crate) schema: SchemaHash,
    pub(crate) tables: Vec<TableInput>,
    pub(crate) errors_max: usize,
    /// Digest of the rows, computed when it is first asked for.
    pub(crate) content: OnceLock<[u8; 32]>,
}

impl LoadInput {
    /// Hash of the schema that the rows were decoded by.
    pub fn schema(&self) -> SchemaHash {
        self.schema
    }

    /// The tables with at least one row, in identity order.
    pub fn tables(&self) -> &[TableInput] {
        &self.tables
    }

    /// Rows of all tables.
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|table| table.rows() as u64).sum()
    }
}

/// The rows of one table.
#[derive(Debug)]
pub struct TableInput {
    pub(crate) identity: TableIdentity,
    pub(crate) name: String,
    pub(crate) schema: SchemaRef,
    pub(crate) parts: Vec<Part>,
    /// Number of the first row of each part.
    starts: Vec<usize>,
    /// The rows by the value of the column that tells them apart.
    pub(crate) keys: RowIndex,
    pub(crate) key_column: String,
    /// The columns of the key as people know it.
    pub(crate) named_by: Vec<String>,
}

/// Some rows of a table, and where they came from.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) batch: RecordBatch,
    pub(crate) origin: Origin,
}

/// Where the rows of a part came from.
#[derive(Debug, Clone)]
pub(crate) enum Origin {
    /// The line of each row.
    Lines { source: Option<SourceName>, lines: Vec<u64> },
    /// The number of the first row among all that were given for the table, or that the source has.
    Rows { source: Option<SourceName>, first: u64 },
    /// The place of each row within a mutation.
    Spots(Vec<Spot>),
}

impl TableInput {
    pub(crate) fn new(
        def: &TypeDef,
        schema: SchemaRef,
        parts: Vec<Part>,
    ) -> Result<Self, ArrowError> {
        let key_column = identity_column(def).to_owned();
        let at = schema.index_of(&key_column)?;
        let columns = parts.iter().map(|part| vec![ArrayRef::clone(part.batch.column(at))]);
        let keys = RowIndex::new([schema.field(at).data_type().clone()], columns)?;
        let (identity, name) = (def.identity, def.name.clone());
        let starts = parts.iter().scan(0, |next, part| {
            let start = *next;
            *next += part.batch.num_rows();
            Some(start)
        });
        let starts = starts.collect();
        let named_by = def.key_columns().into_iter().map(str::to_owned).collect();
        Ok(Self { identity, name, schema, parts, starts, keys, key_column, named_by })
    }

    /// The table.
    pub fn identity(&self) -> TableIdentity {
        self.identity
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its rows; every column of the table, in the table's order.
    pub fn batches(&self) -> impl Iterator<Item = &RecordBatch> {
        self.parts.iter().map(|part| &part.batch)
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.batches().map(RecordBatch::num_rows).sum()
    }

    /// Where a row came from. Rows are counted from 0 over all batches.
    pub fn place(&self, row: usize) -> Place {
        let Some((part, at)) = self.locate(row) else { return Place::Table(self.name.clone()) };
        match &part.origin {
            Origin::Lines { source, lines } => place_of_line(source.as_ref(), lines[at]),
            Origin::Rows { source, first } => {
                place_of_row(source.as_ref(), &self.name, first + at as u64)
            }
            Origin::Spots(spots) => spots[at].place(),
        }
    }

    /// A row's key as text; for an edge without an id of its own, its ends.
    pub(crate) fn key_text(&self, row: usize) -> String {
        let Some((part, at)) = self.locate(row) else { return String::new() };
        row_key_text(&part.batch, &self.named_by, at)
    }

    /// The values of some columns in one row, as text.
    pub(crate) fn value_text(&self, columns: &[String], row: usize) -> Result<String, ArrowError> {
        let Some((part, at)) = self.locate(row) else { return Ok(String::new()) };
        let text = |name: &String| {
            let column = part.batch.column(self.schema.index_of(name)?);
            Ok(quoted(&array_value_to_string(column, at)?))
        };
        Ok(columns.iter().map(text).collect::<Result<Vec<_>, ArrowError>>()?.join(", "))
    }

    /// The columns of the key as people know it, joined.
    pub(crate) fn key_names(&self) -> String {
        self.named_by.join(", ")
    }

    /// The part of a row, and the row within it.
    fn locate(&self, row: usize) -> Option<(&Part, usize)> {
        let (part, at) = self.position(row);
        self.parts.get(part).filter(|part| at < part.batch.num_rows()).map(|part| (part, at))
    }

    /// Number of the part of a row, and the row within it.
    pub(crate) fn position(&self, row: usize) -> (usize, usize) {
        let part = self.starts.partition_point(|start| *start <= row).saturating_sub(1);
        (part, row - self.starts.get(part).copied().unwrap_or_default())
    }

    /// The columns of every part, by name.
    pub(crate) fn columns(&self, names: &[&str]) -> Result<Vec<Vec<ArrayRef>>, ArrowError> {
        let indices = names.iter().map(|name| self.schema.index_of(name));
        let indices = indices.collect::<Result<Vec<_>, _>>()?;
        let of_part = |batch: &RecordBatch| {
            indices.iter().map(|at| ArrayRef::clone(batch.column(*at))).collect()
        };
        Ok(self.batches().map(of_part).collect())
    }
}

pub(crate) fn place_of_line(source: Option<&SourceName>, line: u64) -> Place {
    match source {
        Some(source) => Place::SourceLine { source: source.clone(), line },
        None => Place::Line(line),
    }
}

pub(crate) fn place_of_row(source: Option<&SourceName>, table: &str, row: u64) -> Place {
    match source {
        Some(source) => Place::SourceRow { source: source.clone(), row },
        None => Place::Row { table: table.to_owned(), row },
    }
}

/// The end of an edge that a column of a file is: `from` and `to`, unless properties have these
/// names, and always `src` and `dst`.
pub(crate) fn end_of_column(def: &TypeDef, name: &str) -> Option<End> {
    def.edge()?;
    let is_free = def.property_by_name(name).is_none();
    match name {
        EDGE_SRC => Some(End::Src),
        EDGE_DST => Some(End::Dst),
        "from" if is_free => Some(End::Src),
        "to" if is_free => Some(End::Dst),
        _ => None,
    }
}

/// The one column that tells the rows of a table apart: a node's key, an edge's id. The id of an
/// edge without parallels is a function of its ends, so both say the same.
pub(crate) fn identity_column(def: &TypeDef) -> &str {
    def.key_property().map_or(EDGE_ID, |key| key.name.as_str())
}

/// The values of key columns in one row, as text.
pub(crate) fn row_key_text(batch: &RecordBatch, columns: &[String], row: usize) -> String {
    let text = |column: &String| {
        let keys = KeyColumn::of(batch.column_by_name(column)?)?;
        Some(key_text(keys.value(row)))
    };
    columns.iter().filter_map(text).collect::<Vec<_>>().join(" -> ")
}

/// Whether rows of a type are told apart by their ends.
pub(crate) fn is_keyed_by_ends(def: &TypeDef) -> bool {
    def.edge().is_some_and(|edge| !edge.multi)
}
