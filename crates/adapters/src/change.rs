//! What a request comes to, table by table and net against the base: the rows that it puts, and the
//! rows of the base that go. Every writer ends here; validation and staging start here.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt64Array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::filter::filter_record_batch;
use futures::stream;
use graphwrite_protocol_types::{TableIdentity, TableSummary};
use graphwrite_schema::{EDGE_SRC, GraphSchema};
use graphwrite_substrate::{BatchStream, ROW_ADDRESS, RowAddresses, SubstrateError};

use crate::chain::ranges;
use crate::input::{Parts, Place, RowsError, TableInput};

/// What a row that is put does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowClass {
    /// Its key is not in the table.
    Insert,
    /// Its key is there, with other values.
    Update,
    /// It is there as it is.
    Unchanged,
}

/// What makes a row of the base go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    /// A row that is put.
    Row(u32),
    /// One of [`Changes::reasons`].
    Place(u32),
}

/// Values of rows of the base that go, each with what makes it go.
#[derive(Debug, Clone)]
pub(crate) struct Leaving {
    pub(crate) values: ArrayRef,
    pub(crate) reasons: Vec<Reason>,
}

/// The net change of one table, beside the rows that are put.
#[derive(Debug, Clone, Default)]
pub(crate) struct Changes {
    /// What each row that is put does.
    pub(crate) classes: Vec<RowClass>,
    /// The rows of the base that the commit removes: replaced by an update, or without a successor.
    /// Never a row that stays as it is.
    pub(crate) replaced: RowAddresses,
    /// How many of them have no successor.
    pub(crate) removed: u64,
    /// Rows that are there already, and are not among those that are put.
    pub(crate) same: u64,
    /// Sources that lose an edge, because it is removed or moves to another source.
    pub(crate) left: Vec<Leaving>,
    /// Keys of nodes that are removed without a successor.
    pub(crate) gone: Vec<Leaving>,
    /// The places that [`Reason::Place`] counts from 0.
    pub(crate) reasons: Vec<Place>,
}

impl Changes {
    /// All rows are new.
    pub(crate) fn all_inserts(table: &TableInput) -> Self {
        Self { classes: vec![RowClass::Insert; table.rows()], ..Self::default() }
    }

    pub(crate) fn count(&self, class: RowClass) -> u64 {
        self.classes.iter().filter(|found| **found == class).count() as u64
    }

    /// Whether the table changes.
    pub(crate) fn any(&self) -> bool {
        !self.replaced.is_empty() || self.puts()
    }

    /// Whether a row is added or replaces one.
    pub(crate) fn puts(&self) -> bool {
        self.classes.iter().any(|class| *class != RowClass::Unchanged)
    }

    /// Whether a row that is put adds or replaces something.
    pub(crate) fn changes(&self, row: usize) -> bool {
        self.classes[row] != RowClass::Unchanged
    }

    pub(crate) fn inserts(&self, row: usize) -> bool {
        self.classes[row] == RowClass::Insert
    }
}

/// One table with its net change.
#[derive(Debug)]
pub(crate) struct TableChange<'a> {
    /// The rows that are put, whole.
    pub(crate) rows: &'a TableInput,
    pub(crate) changes: Changes,
}

impl TableChange<'_> {
    pub(crate) fn identity(&self) -> TableIdentity {
        self.rows.identity
    }

    /// Where in the request a reason is.
    pub(crate) fn place(&self, reason: Reason) -> Place {
        let noted = |at: u32| self.changes.reasons.get(at as usize).cloned();
        match reason {
            Reason::Row(row) => self.rows.place(row as usize),
            Reason::Place(at) => noted(at).unwrap_or_else(|| Place::Table(self.rows.name.clone())),
        }
    }

    pub(crate) fn summary(&self) -> TableSummary {
        TableSummary {
            identity: self.rows.identity,
            name: self.rows.name.clone(),
            inserted: self.changes.count(RowClass::Insert),
            updated: self.changes.count(RowClass::Update),
            deleted: self.changes.removed,
            unchanged: self.changes.count(RowClass::Unchanged) + self.changes.same,
        }
    }

    /// The rows to write.
    pub(crate) fn added(&self) -> Added {
        let (rows, changes) = (self.rows, &self.changes);
        let keep = BooleanBuffer::collect_bool(changes.classes.len(), |row| changes.changes(row));
        let (schema, name) = (Arc::clone(&rows.schema), rows.name.clone());
        let of = 0..keep.count_set_bits() as u64;
        Added { parts: rows.parts(), keep, of, schema, name }
    }
}

/// The rows that a table gains, wherever they are kept. They may be read more than once: a ref that
/// does not exist yet is staged over only after it is made.
#[derive(Debug, Clone)]
pub(crate) struct Added {
    parts: Arc<Parts>,
    keep: BooleanBuffer,
    /// Which of those kept, counted from 0.
    of: Range<u64>,
    schema: SchemaRef,
    name: String,
}

impl Added {
    pub(crate) fn rows(&self) -> u64 {
        self.of.end - self.of.start
    }

    /// Bytes of their values, were all rows of the table of one size.
    pub(crate) fn bytes(&self) -> u64 {
        let columns = self.parts.schema().fields().len();
        let all: u64 = (0..columns).map(|column| self.parts.width(column)).sum();
        let share = u128::from(all) * u128::from(self.rows()) / (self.keep.len().max(1) as u128);
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// The same rows, at most `most` at a time, in order.
    pub(crate) fn in_portions(&self, most: u64) -> Vec<Self> {
        let portion = |of: Range<u64>| {
            let of = self.of.start + of.start..self.of.start + of.end;
            Self { of, ..self.clone() }
        };
        ranges(self.rows(), most).map(portion).collect()
    }

    /// The rows, read while they are written.
    pub(crate) fn stream(&self) -> BatchStream {
        let Self { parts, keep, of, schema, name } = self.clone();
        // How many rows were kept before the part at hand.
        let mut before = 0;
        let kept = (0..parts.len()).map(move |part| {
            let mask = keep.slice(parts.first_row(part), parts.rows_of(part));
            let mask = within(mask, &of, &mut before);
            kept_rows(&parts, part, mask).map_err(|error| SubstrateError::Engine {
                operation: "reading back the rows",
                path: name.clone(),
                cause: Box::new(error),
            })
        });
        let kept = kept.filter(|batch| !matches!(batch, Ok(batch) if batch.num_rows() == 0));
        BatchStream::new(schema, stream::iter(kept))
    }
}

/// Of the rows that `mask` keeps, counted on from `before`, those in `of`.
fn within(mask: BooleanBuffer, of: &Range<u64>, before: &mut u64) -> BooleanBuffer {
    let (from, kept) = (*before, mask.count_set_bits() as u64);
    *before += kept;
    if of.start <= from && *before <= of.end {
        return mask;
    }
    if *before <= of.start || of.end <= from {
        return BooleanBuffer::new_unset(mask.len());
    }
    let mut number = from;
    BooleanBuffer::collect_bool(mask.len(), |row| {
        let is_kept = mask.value(row);
        number += u64::from(is_kept);
        is_kept && of.contains(&(number - 1))
    })
}

fn kept_rows(parts: &Parts, part: usize, keep: BooleanBuffer) -> Result<RecordBatch, RowsError> {
    match keep.count_set_bits() {
        0 => Ok(RecordBatch::new_empty(Arc::clone(parts.schema()))),
        all if all == keep.len() => parts.batch(part),
        _ => Ok(filter_record_batch(&parts.batch(part)?, &BooleanArray::new(keep, None))?),
    }
}

/// Which values of rows that go are worth keeping, because a constraint asks for them.
#[derive(Debug, Clone)]
pub(crate) struct Watched {
    /// The column of a node's key, where edges may name the node.
    pub(crate) key: Option<String>,
    /// The column of an edge's source, where the schema sets a minimum for it.
    pub(crate) source: Option<&'static str>,
}

impl Watched {
    pub(crate) fn of(schema: &GraphSchema, identity: TableIdentity) -> Self {
        let def = schema.by_identity(identity);
        let is_named = schema.edges_touching(identity.table).next().is_some();
        let key = def.and_then(|def| def.key_property()).filter(|_| is_named);
        let edge = def.and_then(|def| def.edge()).filter(|edge| edge.cardinality.min > 0);
        Self { key: key.map(|key| key.name.clone()), source: edge.map(|_| EDGE_SRC) }
    }
}

/// The addresses of the rows of a batch that was scanned with them.
pub(crate) fn addresses(batch: &RecordBatch) -> Result<&UInt64Array, ArrowError> {
    let at = batch.schema_ref().index_of(ROW_ADDRESS)?;
    let column = batch.column(at).as_primitive_opt::<UInt64Type>();
    column.ok_or_else(|| ArrowError::SchemaError(format!("`{ROW_ADDRESS}` is not a number")))
}

/// Adds values to a list of those that leave, if there are any.
pub(crate) fn note(list: &mut Vec<Leaving>, values: ArrayRef, reasons: Vec<Reason>) {
    if !values.is_empty() {
        list.push(Leaving { values, reasons });
    }
}
