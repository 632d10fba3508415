//! What each row of the input does to the table of the base: add a row, replace one, or nothing; and
//! which rows of the base go. Rows are equal when their typed columns are (`keys`). It decides
//! nothing on constraints.

use std::collections::BTreeSet;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::ArrowError;
use arrow_select::concat::concat;
use arrow_select::interleave::interleave_record_batch;
use arrow_select::take::{take, take_record_batch};
use futures::TryStreamExt;
use graphwrite_schema::{EDGE_SRC, GraphSchema};
use graphwrite_substrate::TableHandle;

use crate::change::{Changes, Reason, RowClass, Watched, addresses, note};
use crate::error::PrepareError;
use crate::input::{Place, TableInput};
use crate::keys::Encoder;
use crate::probe::{scan_all, scan_matching};

/// What becomes of rows of the base whose keys are not in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    Stays,
    IsRemoved,
}

/// The rows of a strict insert whose keys are in the table, in the order of the input.
pub(super) async fn existing_keys(
    input: &TableInput,
    table: &TableHandle,
) -> Result<Vec<u32>, PrepareError> {
    let columns = vec![input.key_column.clone()];
    let mut batches = scan_matching(table, columns, vec![asked_keys(input)?]).await?;
    let mut found = Vec::new();
    while let Some(batch) = batches.try_next().await? {
        found.extend(matches(input, &batch)?.into_iter().map(|(_, row)| row));
    }
    found.sort_unstable();
    Ok(found)
}

/// Classifies the rows of the input. Existing rows stream by; only those of incoming keys are
/// looked at, or noted as going.
pub(super) async fn classify(
    schema: &GraphSchema,
    input: &TableInput,
    table: &TableHandle,
    rest: Rest,
) -> Result<Changes, PrepareError> {
    let columns = input.schema.fields().iter().map(|field| field.name().clone()).collect();
    let mut batches = match rest {
        Rest::Stays => scan_matching(table, columns, vec![asked_keys(input)?]).await?,
        Rest::IsRemoved => scan_all(table, columns).await?,
    };
    let comparison = Comparison::new(schema, input, rest)?;
    let mut changes = Changes::all_inserts(input);
    changes.reasons = vec![Place::LeftOut(input.name.clone())];
    while let Some(batch) = batches.try_next().await? {
        comparison.apply(&batch, &mut changes)?;
    }
    Ok(changes)
}

fn asked_keys(input: &TableInput) -> Result<(String, ArrayRef), ArrowError> {
    let parts = input.columns(&[&input.key_column])?;
    let keys: Vec<_> = parts.iter().flatten().map(AsRef::as_ref).collect();
    Ok((input.key_column.clone(), concat(&keys)?))
}

/// Rows of `batch` whose key is in the input, each with the row of the input.
fn matches(input: &TableInput, batch: &RecordBatch) -> Result<Vec<(u32, u32)>, ArrowError> {
    let at = batch.schema().index_of(&input.key_column)?;
    let keys = input.keys.encode(&[ArrayRef::clone(batch.column(at))])?;
    let found = (0u32..).zip(keys.iter());
    Ok(found.filter_map(|(at, key)| Some((at, input.keys.find(key)?))).collect())
}

/// Compares rows of the base with rows of the input, batch by batch.
pub(super) struct Comparison<'a> {
    input: &'a TableInput,
    encoder: Encoder,
    parts: Vec<&'a RecordBatch>,
    rest: Rest,
    watched: Watched,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(
        schema: &GraphSchema,
        input: &'a TableInput,
        rest: Rest,
    ) -> Result<Self, ArrowError> {
        let types = input.schema.fields().iter().map(|field| field.data_type().clone());
        let watched = Watched::of(schema, input.identity);
        let parts = input.batches().collect();
        Ok(Self { input, encoder: Encoder::new(types)?, parts, rest, watched })
    }

    /// Classifies the rows of the input that `existing` has the keys of, and notes which of its rows
    /// go. Its columns, the addresses among them, may be in any order.
    pub(super) fn apply(
        &self,
        existing: &RecordBatch,
        changes: &mut Changes,
    ) -> Result<(), ArrowError> {
        let matches = matches(self.input, existing)?;
        if self.rest == Rest::IsRemoved {
            self.remove_others(existing, &matches, changes)?;
        }
        if matches.is_empty() {
            return Ok(());
        }
        let taken: UInt32Array = matches.iter().map(|(at, _)| Some(*at)).collect();
        let existing = take_record_batch(existing, &taken)?;
        let (before, after) = (self.in_order(&existing)?, self.incoming(&matches)?);
        let (old, new) =
            (self.encoder.rows(before.columns())?, self.encoder.rows(after.columns())?);
        let places = addresses(&existing)?;
        for (at, (_, row)) in matches.iter().enumerate() {
            let is_same = old.row(at) == new.row(at);
            changes.classes[*row as usize] =
                if is_same { RowClass::Unchanged } else { RowClass::Update };
            if !is_same {
                changes.replaced.insert(places.value(at));
            }
        }
        self.note_moves(&before, &after, &matches, changes)
    }

    /// Rows of the base that the input does not have.
    fn remove_others(
        &self,
        existing: &RecordBatch,
        matches: &[(u32, u32)],
        changes: &mut Changes,
    ) -> Result<(), ArrowError> {
        let kept: BTreeSet<u32> = matches.iter().map(|(at, _)| *at).collect();
        let others = (0..existing.num_rows() as u32).filter(|at| !kept.contains(at));
        let others: UInt32Array = others.map(Some).collect();
        let places = addresses(existing)?;
        changes.replaced.extend(others.values().iter().map(|at| places.value(*at as usize)));
        changes.removed += others.len() as u64;
        let leaving = |column: &str| -> Result<_, ArrowError> {
            let column = existing.column(existing.schema_ref().index_of(column)?);
            Ok((take(column, &others, None)?, vec![Reason::Place(0); others.len()]))
        };
        if let Some(key) = &self.watched.key {
            let (values, reasons) = leaving(key)?;
            note(&mut changes.gone, values, reasons);
        }
        if let Some(source) = self.watched.source {
            let (values, reasons) = leaving(source)?;
            note(&mut changes.left, values, reasons);
        }
        Ok(())
    }

    fn incoming(&self, matches: &[(u32, u32)]) -> Result<RecordBatch, ArrowError> {
        let places = matches.iter().map(|(_, row)| self.input.position(*row as usize));
        interleave_record_batch(&self.parts, &places.collect::<Vec<_>>())
    }

    fn in_order(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let fields = self.input.schema.fields().iter();
        let indices = fields.map(|field| batch.schema().index_of(field.name()));
        batch.project(&indices.collect::<Result<Vec<_>, _>>()?)
    }

    /// An edge with its own id may be given another source by an update.
    fn note_moves(
        &self,
        before: &RecordBatch,
        after: &RecordBatch,
        matches: &[(u32, u32)],
        changes: &mut Changes,
    ) -> Result<(), ArrowError> {
        let sources = before.column_by_name(EDGE_SRC).zip(after.column_by_name(EDGE_SRC));
        let Some((before, after)) = sources.filter(|_| self.watched.source.is_some()) else {
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
        let reasons = moved.iter().map(|row| Reason::Row(matches[*row].1)).collect();
        note(&mut changes.left, take(before, &at, None)?, reasons);
        Ok(())
    }
}
