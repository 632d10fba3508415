//! What each row of the input does to the table of the base: add a row, replace one, or nothing.
//! Rows are equal when their typed columns are (`keys`). It decides nothing on constraints.

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::ArrowError;
use arrow_select::concat::concat;
use arrow_select::interleave::interleave_record_batch;
use arrow_select::take::{take, take_record_batch};
use futures::TryStreamExt;
use graphwrite_schema::EDGE_SRC;
use graphwrite_substrate::TableHandle;

use crate::input::TableInput;
use crate::keys::Encoder;
use crate::load::LoadError;
use crate::probe::scan_matching;

/// What a row of the input does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowClass {
    /// Its key is not in the table.
    Insert,
    /// Its key is there, with other values.
    Update,
    /// It is there as it is.
    Unchanged,
}

/// The rows of one table of the input, classified.
#[derive(Debug, Clone)]
pub(crate) struct Changes {
    pub(crate) classes: Vec<RowClass>,
    /// Sources that edges of the base have and will no longer have, where updates move them, each
    /// with the row of the input that does.
    pub(crate) left_sources: Vec<(ArrayRef, Vec<u32>)>,
}

impl Changes {
    /// All rows are new.
    pub(crate) fn all_inserts(table: &TableInput) -> Self {
        Self { classes: vec![RowClass::Insert; table.rows()], left_sources: Vec::new() }
    }

    pub(crate) fn count(&self, class: RowClass) -> u64 {
        self.classes.iter().filter(|found| **found == class).count() as u64
    }

    /// Whether the table changes.
    pub(crate) fn any(&self) -> bool {
        self.classes.iter().any(|class| *class != RowClass::Unchanged)
    }

    /// Whether a row adds or replaces something.
    pub(crate) fn changes(&self, row: usize) -> bool {
        self.classes[row] != RowClass::Unchanged
    }

    pub(crate) fn inserts(&self, row: usize) -> bool {
        self.classes[row] == RowClass::Insert
    }
}

/// The rows of a strict insert whose keys are in the table, in the order of the input.
pub(crate) async fn existing_keys(
    input: &TableInput,
    table: &TableHandle,
) -> Result<Vec<u32>, LoadError> {
    let columns = vec![input.key_column.clone()];
    let mut batches = scan_keys(input, table, columns).await?;
    let mut found = Vec::new();
    while let Some(batch) = batches.try_next().await? {
        found.extend(matches(input, &batch)?.into_iter().map(|(_, row)| row));
    }
    found.sort_unstable();
    Ok(found)
}

/// Classifies the rows of an upsert. Existing rows stream by; only those of incoming keys are
/// looked at.
pub(crate) async fn classify(
    input: &TableInput,
    table: &TableHandle,
) -> Result<Changes, LoadError> {
    let columns = input.schema.fields().iter().map(|field| field.name().clone()).collect();
    let mut batches = scan_keys(input, table, columns).await?;
    let comparison = Comparison::new(input)?;
    let mut changes = Changes::all_inserts(input);
    while let Some(batch) = batches.try_next().await? {
        comparison.apply(&batch, &mut changes)?;
    }
    Ok(changes)
}

async fn scan_keys(
    input: &TableInput,
    table: &TableHandle,
    columns: Vec<String>,
) -> Result<graphwrite_substrate::BatchStream, LoadError> {
    let parts = input.columns(&[&input.key_column])?;
    let keys: Vec<_> = parts.iter().flatten().map(AsRef::as_ref).collect();
    let values = vec![(input.key_column.clone(), concat(&keys)?)];
    Ok(scan_matching(table, columns, values).await?)
}

/// Rows of `batch` whose key is in the input, each with the row of the input.
fn matches(input: &TableInput, batch: &RecordBatch) -> Result<Vec<(u32, u32)>, ArrowError> {
    let at = batch.schema().index_of(&input.key_column)?;
    let keys = input.keys.encode(&[ArrayRef::clone(batch.column(at))])?;
    let found = (0u32..).zip(keys.iter());
    Ok(found.filter_map(|(at, key)| Some((at, input.keys.find(key)?))).collect())
}

/// Compares rows of the base with rows of the input, batch by batch.
pub(crate) struct Comparison<'a> {
    input: &'a TableInput,
    encoder: Encoder,
    parts: Vec<&'a RecordBatch>,
}

impl<'a> Comparison<'a> {
    pub(crate) fn new(input: &'a TableInput) -> Result<Self, ArrowError> {
        let types = input.schema.fields().iter().map(|field| field.data_type().clone());
        Ok(Self { input, encoder: Encoder::new(types)?, parts: input.batches().collect() })
    }

    /// Classifies the rows of the input that `existing` has the keys of. Its columns may be in any
    /// order.
    pub(crate) fn apply(
        &self,
        existing: &RecordBatch,
        changes: &mut Changes,
    ) -> Result<(), ArrowError> {
        let matches = matches(self.input, existing)?;
        if matches.is_empty() {
            return Ok(());
        }
        let taken: UInt32Array = matches.iter().map(|(at, _)| Some(*at)).collect();
        let existing = self.in_order(&take_record_batch(existing, &taken)?)?;
        let places: Vec<_> =
            matches.iter().map(|(_, row)| self.input.position(*row as usize)).collect();
        let incoming = interleave_record_batch(&self.parts, &places)?;
        let (before, after) =
            (self.encoder.rows(existing.columns())?, self.encoder.rows(incoming.columns())?);
        for (at, (_, row)) in matches.iter().enumerate() {
            let same = before.row(at) == after.row(at);
            changes.classes[*row as usize] =
                if same { RowClass::Unchanged } else { RowClass::Update };
        }
        self.note_left_sources(&existing, &incoming, &matches, changes)
    }

    fn in_order(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let fields = self.input.schema.fields().iter();
        let indices = fields.map(|field| batch.schema().index_of(field.name()));
        batch.project(&indices.collect::<Result<Vec<_>, _>>()?)
    }

    /// An edge with its own id may be given another source by an update.
    fn note_left_sources(
        &self,
        existing: &RecordBatch,
        incoming: &RecordBatch,
        matches: &[(u32, u32)],
        changes: &mut Changes,
    ) -> Result<(), ArrowError> {
        let sources = existing.column_by_name(EDGE_SRC).zip(incoming.column_by_name(EDGE_SRC));
        let Some((before, after)) = sources.filter(|_| self.input.is_multi_edge) else {
            return Ok(());
        };
        let encoder = Encoder::new([before.data_type().clone()])?;
        let (old, new) = (
            encoder.rows(std::slice::from_ref(before))?,
            encoder.rows(std::slice::from_ref(after))?,
        );
        let moved: Vec<usize> =
            (0..before.len()).filter(|row| old.row(*row) != new.row(*row)).collect();
        let at: UInt32Array = moved.iter().map(|row| Some(*row as u32)).collect();
        let rows = moved.iter().map(|row| matches[*row].1).collect();
        changes.left_sources.push((take(before, &at, None)?, rows));
        Ok(())
    }
}

/// The rows of the input that change the table, as batches to write.
pub(crate) fn changed_batches(
    input: &TableInput,
    changes: &Changes,
) -> Result<Vec<RecordBatch>, ArrowError> {
    let mut written = Vec::new();
    let mut first = 0;
    for batch in input.batches() {
        let rows = first..first + batch.num_rows();
        first = rows.end;
        let keep = rows.map(|row| Some(changes.changes(row)));
        let kept = keep_rows(batch, keep)?;
        if kept.num_rows() > 0 {
            written.push(kept);
        }
    }
    Ok(written)
}

fn keep_rows(
    batch: &RecordBatch,
    keep: impl Iterator<Item = Option<bool>>,
) -> Result<RecordBatch, ArrowError> {
    let mask: arrow_array::BooleanArray = keep.collect();
    if mask.true_count() == batch.num_rows() {
        return Ok(batch.clone());
    }
    arrow_select::filter::filter_record_batch(batch, &mask)
}
