//! What a mutation reads of the base: one scan per table for all keys that statements name, one per
//! condition, one per edge table for the edges that go with nodes. It decides nothing.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow_schema::ArrowError;
use arrow_select::concat::{concat, concat_batches};
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take;
use futures::TryStreamExt;
use graphwrite_schema::{EDGE_DST, EDGE_SRC};
use graphwrite_substrate::{Predicate, RowFilter, TableHandle};

use super::overlay::Overlay;
use crate::error::PrepareError;
use crate::input::LoadLimits;
use crate::input::assembly::{BATCH_BYTES, BATCH_ROWS};
use crate::input::limits::Usage;
use crate::keys::Encoder;
use crate::probe::{NAMED_VALUES_MAX, one_of, scan};

/// How much of the base a request holds in memory, over all scans at once.
pub(super) struct Meter {
    limits: LoadLimits,
    rows: AtomicU64,
    bytes: AtomicU64,
}

impl Meter {
    pub(super) fn new(limits: LoadLimits) -> Self {
        Self { limits, rows: AtomicU64::new(0), bytes: AtomicU64::new(0) }
    }

    /// Counts a batch that is kept.
    fn add(&self, batch: &RecordBatch) -> Result<(), PrepareError> {
        let (rows, bytes) = (batch.num_rows() as u64, batch.get_array_memory_size() as u64);
        let usage = Usage {
            rows: self.rows.fetch_add(rows, Ordering::Relaxed) + rows,
            bytes: self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes,
            tables: 0,
        };
        Ok(usage.check(&self.limits)?)
    }
}

/// The columns of a scan that must tell rows apart and know where edges lead, but not more.
pub(super) fn naming_columns(overlay: &Overlay<'_>) -> Vec<String> {
    let ends = if overlay.def.is_node() { [].as_slice() } else { &[EDGE_SRC, EDGE_DST] };
    let names = std::iter::once(overlay.key_name()).chain(ends.iter().copied());
    names.map(str::to_owned).collect()
}

pub(super) fn all_columns(overlay: &Overlay<'_>) -> Vec<String> {
    overlay.schema().fields().iter().map(|field| field.name().clone()).collect()
}

/// The rows of the base that have one of these keys.
pub(super) async fn keyed(
    overlay: &Overlay<'_>,
    table: &TableHandle,
    (keys, columns): (&Keys, Vec<String>),
    meter: &Meter,
) -> Result<Vec<RecordBatch>, PrepareError> {
    let filter = keys.filter(overlay.key_name())?;
    let keep = |batch: &RecordBatch| Ok(BooleanArray::from(keys.has(batch, overlay.key_name())?));
    collect(table, columns, filter, meter, keep).await
}

/// The rows of the base that a condition holds for.
pub(super) async fn selected(
    overlay: &Overlay<'_>,
    table: &TableHandle,
    predicate: &Predicate,
    meter: &Meter,
) -> Result<Vec<RecordBatch>, PrepareError> {
    let filter = Some(RowFilter::Holds(predicate.clone()));
    let keep = |batch: &RecordBatch| Ok(BooleanArray::from(vec![true; batch.num_rows()]));
    collect(table, naming_columns(overlay), filter, meter, keep).await
}

/// Keys to look up: as bytes to compare with and, if they are few, as values to name in a scan.
#[derive(Default)]
pub(super) struct Keys {
    members: HashSet<Arc<[u8]>>,
    /// The values of the members, as long as they are few.
    pieces: Vec<ArrayRef>,
}

impl Keys {
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Adds the keys of a column, given with their bytes.
    pub(super) fn add(
        &mut self,
        column: &ArrayRef,
        bytes: impl IntoIterator<Item = Arc<[u8]>>,
    ) -> Result<(), ArrowError> {
        let mut new = Vec::new();
        for (row, key) in (0u32..).zip(bytes) {
            if self.members.insert(key) {
                new.push(row);
            }
        }
        if self.members.len() <= NAMED_VALUES_MAX {
            self.pieces.push(take(column, &UInt32Array::from(new), None)?);
        } else {
            self.pieces.clear();
        }
        Ok(())
    }

    /// At least the rows in which a column has one of the keys; none when the keys are too many to
    /// be named.
    fn filter(&self, column: &str) -> Result<Option<RowFilter>, ArrowError> {
        if self.members.len() > NAMED_VALUES_MAX || self.pieces.is_empty() {
            return Ok(None);
        }
        let pieces: Vec<&dyn Array> = self.pieces.iter().map(AsRef::as_ref).collect();
        Ok(one_of(column.to_owned(), concat(&pieces)?))
    }

    /// Whether each row of a batch has one of the keys.
    fn has(&self, batch: &RecordBatch, column: &str) -> Result<Vec<bool>, ArrowError> {
        let at = batch.schema_ref().index_of(column)?;
        let column = batch.column(at);
        let encoder = Encoder::new([column.data_type().clone()])?;
        let encoded = encoder.rows(std::slice::from_ref(column))?;
        Ok(encoded.iter().map(|key| self.members.contains(key.data())).collect())
    }
}

/// The ends for which edges of one type are asked.
#[derive(Default)]
pub(super) struct EndsAsked {
    /// Nodes whose edges are asked for.
    pub(super) from: Keys,
    /// Nodes that edges may lead to.
    pub(super) to: Keys,
    /// Edges that start from one of the first and lead to one of the second.
    pub(super) between: (Keys, Keys),
}

impl EndsAsked {
    pub(super) fn is_empty(&self) -> bool {
        self.from.is_empty() && self.to.is_empty() && self.between.0.is_empty()
    }

    /// At least what is asked; none when that cannot be narrowed.
    fn filter(&self) -> Result<Option<RowFilter>, ArrowError> {
        let mut any = Vec::new();
        for (keys, column) in [(&self.from, EDGE_SRC), (&self.to, EDGE_DST)] {
            if !keys.is_empty() {
                let Some(filter) = keys.filter(column)? else { return Ok(None) };
                any.push(filter);
            }
        }
        let (src, dst) = &self.between;
        if !src.is_empty() {
            let both = [src.filter(EDGE_SRC)?, dst.filter(EDGE_DST)?];
            let both: Vec<_> = both.into_iter().flatten().collect();
            if both.is_empty() {
                return Ok(None);
            }
            any.push(RowFilter::All(both));
        }
        Ok(Some(RowFilter::Any(any)))
    }

    fn keep(&self, batch: &RecordBatch) -> Result<BooleanArray, ArrowError> {
        let (from, to) = (self.from.has(batch, EDGE_SRC)?, self.to.has(batch, EDGE_DST)?);
        let (src, dst) =
            (self.between.0.has(batch, EDGE_SRC)?, self.between.1.has(batch, EDGE_DST)?);
        let rows = 0..batch.num_rows();
        Ok(rows.map(|row| Some(from[row] || to[row] || (src[row] && dst[row]))).collect())
    }
}

/// The edges of the base that have one of the ends that are asked, and no others but between crossed
/// pairs.
pub(super) async fn edges(
    overlay: &Overlay<'_>,
    table: &TableHandle,
    asked: &EndsAsked,
    meter: &Meter,
) -> Result<Vec<RecordBatch>, PrepareError> {
    let keep = |batch: &RecordBatch| asked.keep(batch);
    collect(table, naming_columns(overlay), asked.filter()?, meter, keep).await
}

async fn collect(
    table: &TableHandle,
    columns: Vec<String>,
    filter: Option<RowFilter>,
    meter: &Meter,
    keep: impl Fn(&RecordBatch) -> Result<BooleanArray, ArrowError>,
) -> Result<Vec<RecordBatch>, PrepareError> {
    let mut batches = scan(table, columns, filter).await?;
    let mut kept = Pile::default();
    while let Some(batch) = batches.try_next().await? {
        let found = filter_record_batch(&batch, &keep(&batch)?)?;
        if found.num_rows() > 0 {
            meter.add(&found)?;
            kept.push(found)?;
        }
    }
    kept.finish()
}

/// Joins small batches: a few rows of each of thousands would be thousands of sources.
#[derive(Default)]
struct Pile {
    open: Vec<RecordBatch>,
    rows: usize,
    bytes: u64,
    done: Vec<RecordBatch>,
}

impl Pile {
    fn push(&mut self, batch: RecordBatch) -> Result<(), PrepareError> {
        self.rows += batch.num_rows();
        self.bytes += batch.get_array_memory_size() as u64;
        self.open.push(batch);
        if self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES { self.join() } else { Ok(()) }
    }

    fn join(&mut self) -> Result<(), PrepareError> {
        if let Some(first) = self.open.first() {
            self.done.push(concat_batches(&first.schema(), &self.open)?);
        }
        self.open.clear();
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<RecordBatch>, PrepareError> {
        self.join()?;
        Ok(self.done)
    }
}
