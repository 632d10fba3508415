//! Rows of one table by reference: batches of some of its columns, and the cells of rows gathered from
//! them. A row that an update has changed is the row that it was and the cells that were set, until it
//! is gathered. It knows no key and no statement.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_empty_array};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use arrow_select::interleave::interleave;

use crate::input::assembly::{BATCH_BYTES, BATCH_ROWS};

/// One row of one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) source: u32,
    pub(super) row: u32,
}

/// A row in pieces: the newest piece that has a column gives its cell.
#[derive(Debug, Clone)]
pub(super) struct Cells {
    /// A row of all columns.
    pub(super) whole: Slot,
    /// Rows of columns that were set later, the newest last.
    pub(super) set: Vec<Slot>,
}

impl Cells {
    pub(super) fn of(whole: Slot) -> Self {
        Self { whole, set: Vec::new() }
    }
}

struct Source {
    batch: RecordBatch,
    /// For each column of the table, where it is in the batch.
    at: Vec<Option<usize>>,
}

/// The batches that rows of one table are made of.
pub(super) struct Sources {
    schema: SchemaRef,
    list: Vec<Source>,
}

impl Sources {
    /// `schema` is that of the whole table.
    pub(super) fn new(schema: SchemaRef) -> Self {
        Self { schema, list: Vec::new() }
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Adds a batch and gives its number.
    pub(super) fn add(&mut self, batch: RecordBatch) -> u32 {
        let given = batch.schema();
        let fields = self.schema.fields().iter();
        let at = fields.map(|field| given.index_of(field.name()).ok()).collect();
        self.list.push(Source { batch, at });
        self.list.len() as u32 - 1
    }

    pub(super) fn batch(&self, source: u32) -> &RecordBatch {
        &self.list[source as usize].batch
    }

    /// The newest piece of a row that has a column.
    fn newest(&self, cells: &Cells, column: usize) -> Slot {
        let has = |slot: &&Slot| self.list[slot.source as usize].at[column].is_some();
        cells.set.iter().rev().find(has).copied().unwrap_or(cells.whole)
    }

    /// One column of some rows.
    pub(super) fn column(&self, column: usize, rows: &[&Cells]) -> Result<ArrayRef, ArrowError> {
        let field = self.schema.field(column);
        if rows.is_empty() {
            return Ok(new_empty_array(field.data_type()));
        }
        let mut arrays: Vec<&dyn Array> = Vec::new();
        let mut numbers = vec![None; self.list.len()];
        let mut places = Vec::with_capacity(rows.len());
        for cells in rows {
            let slot = self.newest(cells, column);
            let source = slot.source as usize;
            let number = match numbers[source] {
                Some(number) => number,
                None => {
                    let source = &self.list[source];
                    let at = source.at[column].ok_or_else(|| not_read(field.name()))?;
                    arrays.push(source.batch.column(at).as_ref());
                    arrays.len() - 1
                }
            };
            numbers[source] = Some(number);
            places.push((number, slot.row as usize));
        }
        interleave(&arrays, &places)
    }

    /// Some columns of some rows.
    pub(super) fn columns(
        &self,
        columns: &[usize],
        rows: &[&Cells],
    ) -> Result<RecordBatch, ArrowError> {
        let fields = columns.iter().map(|column| self.schema.field(*column).clone());
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let gathered = columns.iter().map(|column| self.column(*column, rows));
        let gathered = gathered.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(schema, gathered, &options)
    }

    /// Whole rows.
    pub(super) fn rows(&self, rows: &[&Cells]) -> Result<RecordBatch, ArrowError> {
        let columns = (0..self.schema.fields().len()).map(|column| self.column(column, rows));
        RecordBatch::try_new(Arc::clone(&self.schema), columns.collect::<Result<Vec<_>, _>>()?)
    }

    /// Cuts rows into runs that may become one batch each, so that no column outgrows Arrow's 32-bit
    /// offsets.
    pub(super) fn runs<'r, T>(&self, rows: &'r [T], cells: impl Fn(&T) -> &Cells) -> Vec<&'r [T]> {
        let weights: Vec<u64> = self.list.iter().map(|source| row_bytes(&source.batch)).collect();
        let weight = |row: &T| {
            let cells = cells(row);
            let slots = std::iter::once(&cells.whole).chain(&cells.set);
            slots.map(|slot| weights[slot.source as usize]).sum::<u64>()
        };
        let (mut runs, mut start, mut bytes) = (Vec::new(), 0, 0);
        for (at, row) in rows.iter().enumerate() {
            let added = weight(row);
            if at > start && (at - start >= BATCH_ROWS || bytes + added > BATCH_BYTES) {
                runs.push(&rows[start..at]);
                (start, bytes) = (at, 0);
            }
            bytes += added;
        }
        runs.extend((start < rows.len()).then(|| &rows[start..]));
        runs
    }
}

/// Bytes of a row, on the average of its batch.
fn row_bytes(batch: &RecordBatch) -> u64 {
    batch.get_array_memory_size() as u64 / (batch.num_rows() as u64).max(1)
}

fn not_read(column: &str) -> ArrowError {
    ArrowError::SchemaError(format!("column `{column}` of a row was not read"))
}
