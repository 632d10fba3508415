//! What a merge writes, as it comes up: rows of the source that are put, in memory or on a temporary
//! file, and rows of the target that go. It judges nothing.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch, UInt32Array};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::take::{take, take_record_batch};
use graphwrite_schema::{EDGE_SRC, GraphSchema, TypeDef};
use roaring::RoaringBitmap;

use super::cursor::Layout;
use super::table::MergeOptions;
use crate::change::{Changes, Reason, RowClass, Watched, addresses, note};
use crate::input::{Held, Parts, RowsError, Spill};

/// Offsets of rows by their fragment.
pub(super) type Offsets = BTreeMap<u64, RoaringBitmap>;

/// The rows that are put, and what they do.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) parts: Parts,
    pub(super) changes: Changes,
    /// Where the source has the rows that are put.
    pub(super) taken: Offsets,
    watched: Watched,
    /// Rows of the source's batch at hand.
    put: Vec<u32>,
    /// Rows of the target's batch at hand that have a successor, with its number, and those that have
    /// none.
    replaced: Vec<(u32, u32)>,
    removed: Vec<u32>,
    held: Held,
    bytes_max: u64,
    temp_dir: PathBuf,
    spill: Option<Arc<Spill>>,
}

impl Gathered {
    /// For rows with the columns of `schema`.
    pub(super) fn new(
        graph: &GraphSchema,
        def: &TypeDef,
        schema: &SchemaRef,
        options: &MergeOptions,
    ) -> Self {
        Self {
            parts: Parts::new(SchemaRef::clone(schema)),
            changes: Changes::default(),
            taken: Offsets::new(),
            watched: Watched::of(graph, def.identity),
            put: Vec::new(),
            replaced: Vec::new(),
            removed: Vec::new(),
            held: Held::default(),
            bytes_max: options.bytes_max / 4,
            temp_dir: options.temp_dir.clone(),
            spill: None,
        }
    }

    /// The row of the source's batch is put; in place of the row of the target's batch, if there is one.
    pub(super) fn put(&mut self, source: usize, target: Option<usize>) {
        let number = self.changes.classes.len() as u32;
        self.put.push(source as u32);
        self.replaced.extend(target.map(|target| (target as u32, number)));
        let class = if target.is_some() { RowClass::Update } else { RowClass::Insert };
        self.changes.classes.push(class);
    }

    /// All these rows of the source are put, and none of the target goes for them.
    pub(super) fn adopt(&mut self, rows: &RecordBatch) -> Result<(), RowsError> {
        let numbers = self.changes.classes.len() + rows.num_rows();
        self.changes.classes.resize(numbers, RowClass::Insert);
        self.take_note(addresses(rows)?.values().iter().copied());
        let columns = rows.columns()[..self.parts.schema().fields().len()].to_vec();
        self.keep(RecordBatch::try_new(Arc::clone(self.parts.schema()), columns)?)
    }

    fn take_note(&mut self, places: impl Iterator<Item = u64>) {
        let mut run: Option<Range<u64>> = None;
        for address in places {
            match &mut run {
                Some(run) if run.end == address => run.end += 1,
                _ => self.note_run(run.replace(address..address + 1)),
            }
        }
        self.note_run(run);
    }

    /// Rows of a fragment that follow each other.
    fn note_run(&mut self, run: Option<Range<u64>>) {
        let Some(run) = run else { return };
        let first = run.start as u32;
        let last = first + (run.end - run.start - 1) as u32;
        self.taken.entry(run.start >> 32).or_default().insert_range(first..=last);
    }

    /// Keeps rows that are put, in memory as far as there is room.
    fn keep(&mut self, rows: RecordBatch) -> Result<(), RowsError> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        self.held.add(&rows);
        self.parts.push_batch(rows)?;
        if self.held.bytes() > self.bytes_max {
            self.held.clear();
            self.spill()?;
        }
        Ok(())
    }

    /// The row of the target's batch goes.
    pub(super) fn remove(&mut self, target: usize) {
        self.removed.push(target as u32);
        self.changes.removed += 1;
    }

    /// All rows of the source's batch were seen.
    pub(super) fn end_source(
        &mut self,
        batch: &RecordBatch,
        layout: &Layout,
    ) -> Result<(), RowsError> {
        if self.put.is_empty() {
            return Ok(());
        }
        let rows = UInt32Array::from(std::mem::take(&mut self.put));
        let places = addresses(batch)?;
        self.take_note(rows.values().iter().map(|row| places.value(*row as usize)));
        // Rows of a whole batch need not be copied.
        if rows.len() == batch.num_rows() {
            return self.keep(layout.without_address(batch)?);
        }
        self.keep(take_record_batch(&layout.without_address(batch)?, &rows)?)
    }

    fn spill(&mut self) -> Result<(), RowsError> {
        let spill = match &self.spill {
            Some(spill) => Arc::clone(spill),
            None => Arc::new(Spill::create(&self.temp_dir)?),
        };
        self.parts.move_to(&spill)?;
        self.spill = Some(spill);
        Ok(())
    }

    /// All rows of the target's batch were seen.
    pub(super) fn end_target(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let (replaced, removed) =
            (std::mem::take(&mut self.replaced), std::mem::take(&mut self.removed));
        let places = addresses(batch)?;
        let gone = replaced.iter().map(|(row, _)| row).chain(&removed);
        self.changes.replaced.extend(gone.map(|row| places.value(*row as usize)));
        if let (Some(key), false) = (&self.watched.key, removed.is_empty()) {
            let column = batch.column(batch.schema_ref().index_of(key)?);
            let keys = take(column, &UInt32Array::from(removed.clone()), None)?;
            note(&mut self.changes.gone, keys, vec![Reason::Place(0); removed.len()]);
        }
        if self.watched.source.is_some() {
            self.note_sources(batch, &replaced, &removed)?;
        }
        Ok(())
    }

    /// An edge that goes leaves its source, and one that is replaced may: that it comes back to it is
    /// counted by the rows that are put.
    fn note_sources(
        &mut self,
        batch: &RecordBatch,
        replaced: &[(u32, u32)],
        removed: &[u32],
    ) -> Result<(), ArrowError> {
        let column = batch.column(batch.schema_ref().index_of(EDGE_SRC)?);
        let rows = replaced.iter().map(|(row, _)| *row).chain(removed.iter().copied());
        let sources = take(column, &UInt32Array::from_iter_values(rows), None)?;
        let reasons = replaced.iter().map(|(_, number)| Reason::Row(*number));
        let reasons = reasons.chain(removed.iter().map(|_| Reason::Place(0))).collect();
        debug_assert_eq!(sources.len(), replaced.len() + removed.len());
        note(&mut self.changes.left, sources, reasons);
        Ok(())
    }
}
