//! What each row of the input does to the table of the base: add a row, replace one, or nothing; and
//! which rows of the base go. Rows are equal when their typed columns are (`keys`). It decides
//! nothing on constraints.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_row::Row;
use arrow_schema::ArrowError;
use arrow_select::take::{take, take_record_batch};
use futures::TryStreamExt;
use graphwrite_schema::{EDGE_SRC, GraphSchema};
use graphwrite_substrate::TableHandle;

use crate::change::{Changes, Reason, RowClass, Watched, addresses, note};
use crate::error::PrepareError;
use crate::input::{Place, RowsError, TableInput};
use crate::keys::{Encoder, Pass, RowIndex};
use crate::probe::{NAMED_VALUES_MAX, scan_all, scan_matching};

/// What becomes of rows of the base whose keys are not in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    Stays,
    IsRemoved,
}

/// The rows of a strict insert whose keys are in the table.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Taken {
    pub(super) total: u64,
    /// The first in the order of the input.
    pub(super) first: Option<u32>,
}

/// Looks for the keys of a strict insert.
pub(super) async fn existing_keys(
    input: &TableInput,
    table: &TableHandle,
) -> Result<Taken, PrepareError> {
    let mut taken = Taken::default();
    for pass in Pass::each(input.key_passes()?) {
        let keys = input.keys(pass)?;
        let columns = vec![input.key_column.clone()];
        let mut batches = scan_matching(table, columns, asked_keys(input)?).await?;
        while let Some(batch) = batches.try_next().await? {
            for key in keys.encode(&[key_of(input, &batch)?])?.iter() {
                let Some(row) = keys.find(key) else { continue };
                taken.total += 1;
                taken.first = Some(taken.first.map_or(row, |first| first.min(row)));
            }
        }
    }
    Ok(taken)
}

/// Classifies the rows of the input. Existing rows stream by; only those of incoming keys are
/// looked at, or noted as going.
pub(super) async fn classify(
    schema: &GraphSchema,
    input: &TableInput,
    table: &TableHandle,
    rest: Rest,
) -> Result<Changes, PrepareError> {
    let columns: Vec<_> = input.schema.fields().iter().map(|field| field.name().clone()).collect();
    let mut changes = Changes::all_inserts(input);
    changes.reasons = vec![Place::LeftOut(input.name.clone())];
    for pass in Pass::each(input.key_passes()?) {
        let comparison = Comparison::new(schema, input, rest, pass)?;
        let mut batches = match rest {
            Rest::Stays => scan_matching(table, columns.clone(), asked_keys(input)?).await?,
            Rest::IsRemoved => scan_all(table, columns.clone()).await?,
        };
        while let Some(batch) = batches.try_next().await? {
            comparison.apply(&batch, &mut changes)?;
        }
    }
    Ok(changes)
}

/// The keys to look for, where they are few enough to be named.
fn asked_keys(input: &TableInput) -> Result<Vec<(String, ArrayRef)>, PrepareError> {
    if input.rows() > NAMED_VALUES_MAX {
        return Ok(Vec::new());
    }
    Ok(vec![(input.key_column.clone(), input.whole_column(&input.key_column)?)])
}

fn key_of(input: &TableInput, batch: &RecordBatch) -> Result<ArrayRef, ArrowError> {
    let at = batch.schema_ref().index_of(&input.key_column)?;
    Ok(ArrayRef::clone(batch.column(at)))
}

/// Stands for the values of a row. Two rows with the same one are the same: to find two others would
/// take 2^64 attempts.
type Digest = [u8; 16];

fn digest(row: Row<'_>) -> Digest {
    let mut digest = [0; 16];
    digest.copy_from_slice(&blake3::hash(row.data()).as_bytes()[..16]);
    digest
}

/// Compares rows of the base with those of the input that belong to a pass, batch by batch.
pub(super) struct Comparison<'a> {
    input: &'a TableInput,
    keys: Arc<RowIndex>,
    encoder: Encoder,
    /// The incoming rows by their position in `keys`.
    whole: Vec<Digest>,
    /// Their sources, where these are watched.
    source: Option<(Encoder, Vec<Digest>)>,
    rest: Rest,
    watched: Watched,
}

/// A row of the base, and the position of the incoming row with its key.
type Match = (u32, u32);

impl<'a> Comparison<'a> {
    pub(super) fn new(
        schema: &GraphSchema,
        input: &'a TableInput,
        rest: Rest,
        pass: Pass,
    ) -> Result<Self, RowsError> {
        let types = input.schema.fields().iter().map(|field| field.data_type().clone());
        let watched = Watched::of(schema, input.identity);
        let source = match watched.source {
            Some(source) => {
                let source = input.schema.field_with_name(source)?.data_type().clone();
                Some((Encoder::new([source])?, Vec::new()))
            }
            None => None,
        };
        let (keys, encoder) = (input.keys(pass)?, Encoder::new(types)?);
        let mut comparison =
            Self { input, keys, encoder, whole: Vec::new(), source, rest, watched };
        for batch in input.batches() {
            comparison.digest(&batch?)?;
        }
        Ok(comparison)
    }

    /// Adds the rows of a batch of the input that belong to the pass: keys are never null, so these
    /// are the rows of the index in its order.
    fn digest(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let pass = self.keys.pass();
        let keys = self.keys.encode(&[key_of(self.input, batch)?])?;
        let rows = self.encoder.rows(batch.columns())?;
        let chosen: Vec<usize> =
            (0..batch.num_rows()).filter(|row| pass.has(keys.row(*row))).collect();
        self.whole.extend(chosen.iter().map(|row| digest(rows.row(*row))));
        if let Some((encoder, digests)) = &mut self.source {
            let at = batch.schema_ref().index_of(EDGE_SRC)?;
            let sources = encoder.rows(std::slice::from_ref(batch.column(at)))?;
            digests.extend(chosen.iter().map(|row| digest(sources.row(*row))));
        }
        Ok(())
    }

    /// Classifies the rows of the input that `existing` has the keys of, and notes which of its rows
    /// go. Its columns, the addresses among them, may be in any order.
    pub(super) fn apply(
        &self,
        existing: &RecordBatch,
        changes: &mut Changes,
    ) -> Result<(), ArrowError> {
        let keys = self.keys.encode(&[key_of(self.input, existing)?])?;
        let found = (0u32..).zip(keys.iter());
        let matches: Vec<Match> =
            found.filter_map(|(at, key)| Some((at, self.keys.position(key)?))).collect();
        if self.rest == Rest::IsRemoved {
            let in_pass = |at: &u32| self.keys.pass().has(keys.row(*at as usize));
            let others = others(existing.num_rows(), &matches).filter(in_pass);
            self.remove(existing, &others.map(Some).collect(), changes)?;
        }
        if matches.is_empty() {
            return Ok(());
        }
        let taken: UInt32Array = matches.iter().map(|(at, _)| Some(*at)).collect();
        let existing = take_record_batch(existing, &taken)?;
        let before = self.in_order(&existing)?;
        let (old, places) = (self.encoder.rows(before.columns())?, addresses(&existing)?);
        for (at, (_, position)) in matches.iter().enumerate() {
            let is_same = digest(old.row(at)) == self.whole[*position as usize];
            let class = if is_same { RowClass::Unchanged } else { RowClass::Update };
            changes.classes[self.keys.number(*position) as usize] = class;
            if !is_same {
                changes.replaced.insert(places.value(at));
            }
        }
        self.note_moves(&before, &matches, changes)
    }

    /// Rows of the base that the input does not have.
    fn remove(
        &self,
        existing: &RecordBatch,
        others: &UInt32Array,
        changes: &mut Changes,
    ) -> Result<(), ArrowError> {
        let places = addresses(existing)?;
        changes.replaced.extend(others.values().iter().map(|at| places.value(*at as usize)));
        changes.removed += others.len() as u64;
        let leaving = |column: &str| -> Result<_, ArrowError> {
            let column = existing.column(existing.schema_ref().index_of(column)?);
            Ok((take(column, others, None)?, vec![Reason::Place(0); others.len()]))
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

    fn in_order(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let fields = self.input.schema.fields().iter();
        let indices = fields.map(|field| batch.schema().index_of(field.name()));
        batch.project(&indices.collect::<Result<Vec<_>, _>>()?)
    }

    /// An edge with its own id may be given another source by an update.
    fn note_moves(
        &self,
        before: &RecordBatch,
        matches: &[Match],
        changes: &mut Changes,
    ) -> Result<(), ArrowError> {
        let Some((encoder, after)) = &self.source else { return Ok(()) };
        let before = before.column(before.schema_ref().index_of(EDGE_SRC)?);
        let old = encoder.rows(std::slice::from_ref(before))?;
        let is_moved = |row: &usize| digest(old.row(*row)) != after[matches[*row].1 as usize];
        let moved: Vec<usize> = (0..before.len()).filter(is_moved).collect();
        let at: UInt32Array = moved.iter().map(|row| Some(*row as u32)).collect();
        let number = |row: &usize| Reason::Row(self.keys.number(matches[*row].1));
        note(&mut changes.left, take(before, &at, None)?, moved.iter().map(number).collect());
        Ok(())
    }
}

/// The rows of a batch that match nothing.
fn others(rows: usize, matches: &[Match]) -> impl Iterator<Item = u32> {
    let mut matched = matches.iter().map(|(at, _)| *at).peekable();
    // Matches are in the order of the batch.
    (0..rows as u32).filter(move |at| matched.next_if_eq(at).is_none())
}
