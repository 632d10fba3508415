//! The decoded input of a load: typed batches per table, and where each row came from. It is
//! complete and free of faults that the rows alone show; it knows nothing of the graph's content.

use std::sync::{Arc, OnceLock};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_cast::display::array_value_to_string;
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::concat::concat;
use graphwrite_protocol_types::{SchemaHash, TableIdentity};
use graphwrite_schema::{EDGE_DST, EDGE_ID, EDGE_SRC, End, TypeDef};

use super::parts::Parts;
pub(crate) use super::parts::{Origin, Part};
use super::spill::RowsError;
use super::violation::{Place, quoted};
use crate::keys::{IndexBuilder, KeyColumn, Pass, RowIndex, index_bytes, key_text};

/// Everything that one load brings, valid in itself. It may be prepared any number of times.
#[derive(Debug)]
pub struct LoadInput {
    pub(crate) schema: SchemaHash,
    pub(crate) tables: Vec<TableInput>,
    pub(crate) errors_max: usize,
    /// Digest of the rows.
    pub(crate) content: [u8; 32],
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
    parts: Arc<Parts>,
    /// Bytes that one index over some of its columns may take.
    index_share: u64,
    /// The rows by the value of the column that tells them apart, where one pass holds them all.
    keys: Option<OnceLock<Arc<RowIndex>>>,
    pub(crate) key_column: String,
    /// The columns of the key as people know it.
    pub(crate) named_by: Vec<String>,
}

impl TableInput {
    /// Rows that are held in memory, as are the indexes over them.
    pub(crate) fn new(
        def: &TypeDef,
        schema: SchemaRef,
        parts: Vec<Part>,
    ) -> Result<Self, ArrowError> {
        let mut held = Parts::new(schema);
        parts.into_iter().try_for_each(|part| held.push(part))?;
        let mut table = Self::of(def, held, u64::MAX);
        table.keep_keys();
        Ok(table)
    }

    /// Rows whose indexes take at most `index_share` bytes each.
    pub(crate) fn of(def: &TypeDef, parts: Parts, index_share: u64) -> Self {
        Self {
            identity: def.identity,
            name: def.name.clone(),
            schema: Arc::clone(parts.schema()),
            parts: Arc::new(parts),
            index_share,
            keys: None,
            key_column: identity_column(def).to_owned(),
            named_by: def.key_columns().into_iter().map(str::to_owned).collect(),
        }
    }

    /// Lets the index over the keys stay in memory once it is built.
    pub(crate) fn keep_keys(&mut self) {
        self.keys = Some(OnceLock::new());
    }

    /// The table.
    pub fn identity(&self) -> TableIdentity {
        self.identity
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its rows; every column of the table, in the table's order. Rows that are not in memory are read
    /// back one batch at a time.
    pub fn batches(&self) -> impl Iterator<Item = Result<RecordBatch, RowsError>> {
        (0..self.parts.len()).map(|part| self.parts.batch(part))
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.parts.rows()
    }

    /// The rows apart from their index, to be read while the table is not at hand.
    pub(crate) fn parts(&self) -> Arc<Parts> {
        Arc::clone(&self.parts)
    }

    /// Where a row came from. Rows are counted from 0 over all batches.
    pub fn place(&self, row: usize) -> Place {
        self.parts.place(&self.name, row).unwrap_or_else(|| Place::Table(self.name.clone()))
    }

    /// A row's key as text; for an edge without an id of its own, its ends.
    pub(crate) fn key_text(&self, row: usize) -> Result<String, RowsError> {
        let Some((part, at)) = self.parts.locate(row) else { return Ok(String::new()) };
        Ok(row_key_text(&self.parts.batch(part)?, &self.named_by, at))
    }

    /// The values of some columns in one row, as text.
    pub(crate) fn value_text(&self, columns: &[String], row: usize) -> Result<String, RowsError> {
        let Some((part, at)) = self.parts.locate(row) else { return Ok(String::new()) };
        let names: Vec<_> = columns.iter().map(String::as_str).collect();
        let text = |column: &ArrayRef| Ok(quoted(&array_value_to_string(column, at)?));
        let columns = self.parts.columns(part, &self.indices(&names)?)?;
        Ok(columns.iter().map(text).collect::<Result<Vec<_>, ArrowError>>()?.join(", "))
    }

    /// The columns of the key as people know it, joined.
    pub(crate) fn key_names(&self) -> String {
        self.named_by.join(", ")
    }

    /// Some columns of every part, by name; nothing else is read.
    pub(crate) fn columns(
        &self,
        names: &[&str],
    ) -> Result<impl Iterator<Item = Result<Vec<ArrayRef>, RowsError>>, ArrowError> {
        let indices = self.indices(names)?;
        Ok((0..self.parts.len()).map(move |part| self.parts.columns(part, &indices)))
    }

    /// One column of all rows, in one piece.
    pub(crate) fn whole_column(&self, name: &str) -> Result<ArrayRef, RowsError> {
        let parts = self.columns(&[name])?.collect::<Result<Vec<_>, _>>()?;
        let parts: Vec<_> = parts.iter().flatten().map(AsRef::as_ref).collect();
        Ok(concat(&parts)?)
    }

    fn indices(&self, names: &[&str]) -> Result<Vec<usize>, ArrowError> {
        names.iter().map(|name| self.schema.index_of(name)).collect()
    }

    /// Bytes of the values of all columns.
    pub(crate) fn bytes(&self) -> u64 {
        (0..self.schema.fields().len()).map(|column| self.parts.width(column)).sum()
    }

    /// Whether a column has a value.
    pub(crate) fn is_filled(&self, column: usize) -> bool {
        self.parts.is_filled(column)
    }

    /// Bytes of the values of some columns.
    pub(crate) fn width(&self, columns: &[&str]) -> Result<u64, ArrowError> {
        Ok(self.indices(columns)?.into_iter().map(|column| self.parts.width(column)).sum())
    }

    /// How many passes an index over some columns needs.
    pub(crate) fn passes(&self, columns: &[&str]) -> Result<u32, ArrowError> {
        Ok(Pass::needed(self.rows() as u64, self.width(columns)?, self.index_share))
    }

    /// Bytes that the index over the keys takes.
    pub(crate) fn key_index_bytes(&self) -> Result<u64, ArrowError> {
        Ok(index_bytes(self.rows() as u64, self.width(&[&self.key_column])?))
    }

    /// Bytes that one index may take.
    pub(crate) fn index_share(&self) -> u64 {
        self.index_share
    }

    /// Whether the index over the keys is built once, for all questions.
    pub(crate) fn keeps_keys(&self) -> bool {
        self.keys.is_some()
    }

    /// How many passes a question about keys needs.
    pub(crate) fn key_passes(&self) -> Result<u32, ArrowError> {
        if self.keeps_keys() { Ok(1) } else { self.passes(&[&self.key_column]) }
    }

    /// At least the rows of a pass by the column that tells them apart.
    pub(crate) fn keys(&self, pass: Pass) -> Result<Arc<RowIndex>, RowsError> {
        let build = |pass| self.index(&[&self.key_column], pass).map(Arc::new);
        let Some(kept) = &self.keys else { return build(pass) };
        if let Some(keys) = kept.get() {
            return Ok(Arc::clone(keys));
        }
        let built = build(Pass::ALL)?;
        Ok(Arc::clone(kept.get_or_init(|| built)))
    }

    /// The rows of a pass by the values of some columns. Rows with a null among them are left out.
    pub(crate) fn index(&self, columns: &[&str], pass: Pass) -> Result<RowIndex, RowsError> {
        let types =
            columns.iter().map(|name| Ok(self.schema.field_with_name(name)?.data_type().clone()));
        let types = types.collect::<Result<Vec<_>, ArrowError>>()?;
        let mut builder = IndexBuilder::new(types, pass)?;
        let mut first = 0;
        for part in self.columns(columns)? {
            let part = part?;
            first += builder.add_rows(&part, first)?;
        }
        Ok(builder.finish())
    }

    /// Of [`TableInput::index`] only the rows whose value another index over such columns has.
    pub(crate) fn index_among(
        &self,
        columns: &[&str],
        pass: Pass,
        among: &RowIndex,
    ) -> Result<RowIndex, RowsError> {
        let types =
            columns.iter().map(|name| Ok(self.schema.field_with_name(name)?.data_type().clone()));
        let types = types.collect::<Result<Vec<_>, ArrowError>>()?;
        let mut builder = IndexBuilder::new(types, pass)?;
        if among.len() == 0 {
            return Ok(builder.finish());
        }
        for (part, values) in self.columns(columns)?.enumerate() {
            let first = self.parts.first_row(part);
            builder.add_among(&values?, Some(among), |row| Some((first + row) as u32))?;
        }
        Ok(builder.finish())
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
