//! What a merge writes, as it comes up: rows of the source that are put, in memory or on a temporary
//! file, and rows of the target that go. It judges nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch, UInt32Array};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::take::{take, take_record_batch};
use graphwrite_schema::EDGE_SRC;
use roaring::RoaringBitmap;

use super::cursor::Layout;
use crate::change::{Changes, Reason, RowClass, Watched, addresses, note};
use crate::input::{Parts, RowsError, Spill};

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
    held_bytes: u64,
    bytes_max: u64,
    temp_dir: PathBuf,
    spill: Option<Arc<Spill>>,
}

impl Gathered {
    pub(super) fn new(
        schema: SchemaRef,
        watched: Watched,
        bytes_max: u64,
        temp_dir: PathBuf,
    ) -> Self {
        Self {
            parts: Parts::new(schema),
            changes: Changes::default(),
            taken: Offsets::new(),
            watched,
            put: Vec::new(),
            replaced: Vec::new(),
            removed: Vec::new(),
            held_bytes: 0,
            bytes_max,
            temp_dir,
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
        for address in rows.values().iter().map(|row| places.value(*row as usize)) {
            self.taken.entry(address >> 32).or_default().insert(address as u32);
        }
        let rows = take_record_batch(&layout.without_address(batch)?, &rows)?;
        self.held_bytes += rows.get_array_memory_size() as u64;
        self.parts.push_batch(rows)?;
        if self.held_bytes > self.bytes_max {
            self.held_bytes = 0;
            self.spill()?;
        }
        Ok(())
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
