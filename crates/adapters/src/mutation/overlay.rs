//! The rows of one table that a mutation is about, as they are after the statements that have acted:
//! read-your-writes. What it does not know of stands in the base as it was.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, SchemaRef};
use graphwrite_schema::{End, TypeDef};
use graphwrite_substrate::{Predicate, PredicateError};

use super::ends::Ends;
use super::sources::{Cells, Slot, Sources};
use crate::change::addresses;
use crate::input::identity_column;
use crate::input::spot::Spot;
use crate::keys::Encoder;

/// A row that statements name, or that goes with one.
#[derive(Debug)]
pub(super) struct Row {
    /// The row of the base with this key, if it was found there.
    pub(super) base: Option<Base>,
    pub(super) now: Now,
    /// The statement that made it what it is now.
    pub(super) spot: Spot,
    /// Whether a statement has brought it whole. A row that is there again after it was deleted was
    /// brought, since updates bring none back.
    pub(super) is_brought: bool,
    is_listed: bool,
}

/// A row of the base.
#[derive(Debug, Clone)]
pub(super) struct Base {
    pub(super) address: u64,
    /// Its cells, as far as they were read.
    pub(super) cells: Cells,
}

/// What a row is at this point of the request.
#[derive(Debug)]
pub(super) enum Now {
    /// What it is in the base, which may be nothing.
    Untouched,
    Put(Cells),
    Gone,
}

/// Why a statement cannot act on a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The row that is to be inserted is in the base.
    Exists,
    /// An earlier statement brought the row that is to be inserted.
    Repeated(Spot),
    /// The row that is to be changed is not there.
    Missing,
}

pub(super) struct Overlay<'a> {
    pub(super) def: &'a TypeDef,
    pub(super) sources: Sources,
    key_column: usize,
    encoder: Encoder,
    ids: HashMap<Arc<[u8]>, u32>,
    keys: Vec<Arc<[u8]>>,
    pub(super) rows: Vec<Row>,
    /// Rows that were put at some point, each once.
    put: Vec<u32>,
    /// Edges by their ends, where the request asks for them that way.
    ends: Option<Ends>,
}

impl<'a> Overlay<'a> {
    pub(super) fn new(
        def: &'a TypeDef,
        schema: SchemaRef,
        finds_by_ends: bool,
    ) -> Result<Self, ArrowError> {
        let key_column = schema.index_of(identity_column(def))?;
        let encoder = Encoder::new([schema.field(key_column).data_type().clone()])?;
        let ends = if finds_by_ends { Some(Ends::new(&schema)?) } else { None };
        Ok(Self {
            def,
            sources: Sources::new(schema),
            key_column,
            encoder,
            ids: HashMap::new(),
            keys: Vec::new(),
            rows: Vec::new(),
            put: Vec::new(),
            ends,
        })
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        self.sources.schema()
    }

    /// Name of the column that tells rows apart.
    pub(super) fn key_name(&self) -> &str {
        self.schema().field(self.key_column).name()
    }

    pub(super) fn key_index(&self) -> usize {
        self.key_column
    }

    /// The comparable bytes of a row's key.
    pub(super) fn key(&self, id: u32) -> Arc<[u8]> {
        Arc::clone(&self.keys[id as usize])
    }

    /// Adds a batch that rows may be made of.
    pub(super) fn add_source(&mut self, batch: RecordBatch) -> Result<u32, ArrowError> {
        if let Some(ends) = &mut self.ends {
            ends.add_source(&batch)?;
        }
        Ok(self.sources.add(batch))
    }

    /// The rows with these keys; they are added where they are not known.
    pub(super) fn intern(&mut self, keys: &ArrayRef) -> Result<Vec<u32>, ArrowError> {
        let encoded = self.encoder.rows(std::slice::from_ref(keys))?;
        Ok(encoded.iter().map(|key| self.intern_one(key.data())).collect())
    }

    fn intern_one(&mut self, key: &[u8]) -> u32 {
        if let Some(id) = self.ids.get(key) {
            return *id;
        }
        let (id, key): (u32, Arc<[u8]>) = (self.rows.len() as u32, key.into());
        self.ids.insert(Arc::clone(&key), id);
        self.keys.push(key);
        let spot = Spot { statement: 0, row: None };
        let now = Now::Untouched;
        self.rows.push(Row { base: None, now, spot, is_brought: false, is_listed: false });
        id
    }

    /// Takes in rows of the base, before any statement acts. What was read of a row first stays.
    pub(super) fn load(&mut self, batch: &RecordBatch) -> Result<Vec<u32>, ArrowError> {
        let at = batch.schema_ref().index_of(self.key_name())?;
        let ids = self.intern(batch.column(at))?;
        let places = addresses(batch)?.clone();
        let source = self.add_source(batch.clone())?;
        for (row, id) in (0u32..).zip(&ids) {
            let found = &mut self.rows[*id as usize].base;
            if found.is_none() {
                let slot = Slot { source, row };
                let address = places.value(row as usize);
                *found = Some(Base { address, cells: Cells::of(slot) });
                self.note_ends(*id, slot);
            }
        }
        Ok(ids)
    }

    fn note_ends(&mut self, id: u32, slot: Slot) {
        if let Some(ends) = &mut self.ends {
            ends.note(id, slot);
        }
    }

    /// Whether there is such a row at this point.
    fn is_there(&self, id: u32) -> bool {
        let row = &self.rows[id as usize];
        match &row.now {
            Now::Untouched => row.base.is_some(),
            Now::Put(_) => true,
            Now::Gone => false,
        }
    }

    /// Whether the row is there as it is in the base.
    pub(super) fn stands(&self, id: u32) -> bool {
        let row = &self.rows[id as usize];
        matches!(row.now, Now::Untouched) && row.base.is_some()
    }

    /// Puts a row. That another one is in its place is reported, and overcome, so that what comes after
    /// it can be judged.
    pub(super) fn insert(&mut self, id: u32, slot: Slot, spot: Spot) -> Result<(), Refusal> {
        let row = &self.rows[id as usize];
        let refusal = if row.is_brought { Refusal::Repeated(row.spot) } else { Refusal::Exists };
        let is_there = self.is_there(id);
        self.upsert(id, slot, spot);
        if is_there { Err(refusal) } else { Ok(()) }
    }

    pub(super) fn upsert(&mut self, id: u32, slot: Slot, spot: Spot) {
        self.put(id, Cells::of(slot), spot);
        self.rows[id as usize].is_brought = true;
        self.note_ends(id, slot);
    }

    /// Sets cells of a row that is there.
    pub(super) fn update(&mut self, id: u32, set: Slot, spot: Spot) -> Result<(), Refusal> {
        let row = &mut self.rows[id as usize];
        let before = match (std::mem::replace(&mut row.now, Now::Gone), &row.base) {
            (Now::Put(cells), _) => Some(cells),
            (Now::Untouched, Some(base)) => Some(base.cells.clone()),
            (Now::Untouched, None) => {
                row.now = Now::Untouched;
                None
            }
            (Now::Gone, _) => None,
        };
        let mut cells = before.ok_or(Refusal::Missing)?;
        cells.set.push(set);
        self.put(id, cells, spot);
        Ok(())
    }

    fn put(&mut self, id: u32, cells: Cells, spot: Spot) {
        let row = &mut self.rows[id as usize];
        (row.now, row.spot) = (Now::Put(cells), spot);
        if !std::mem::replace(&mut row.is_listed, true) {
            self.put.push(id);
        }
    }

    /// Deletes a row; false when there is none.
    pub(super) fn delete(&mut self, id: u32, spot: Spot) -> bool {
        if !self.is_there(id) {
            return false;
        }
        let row = &mut self.rows[id as usize];
        (row.now, row.spot) = (Now::Gone, spot);
        true
    }

    /// The rows that are there and were put, each with its cells.
    pub(super) fn put_rows(&self) -> Vec<(u32, &Cells)> {
        let cells = |id: &u32| match &self.rows[*id as usize].now {
            Now::Put(cells) => Some((*id, cells)),
            Now::Untouched | Now::Gone => None,
        };
        self.put.iter().filter_map(cells).collect()
    }

    /// The rows among those that were put for which a condition holds now.
    pub(super) fn matching(&self, predicate: &Predicate) -> Result<Vec<u32>, Unanswered> {
        let names = predicate.columns().iter().map(String::as_str).chain([self.key_name()]);
        let columns = names.map(|name| self.schema().index_of(name));
        let mut columns = columns.collect::<Result<Vec<_>, _>>()?;
        columns.sort_unstable();
        columns.dedup();
        let put = self.put_rows();
        let mut found = Vec::new();
        for run in self.sources.runs(&put, |(_, cells)| cells) {
            let cells: Vec<_> = run.iter().map(|(_, cells)| *cells).collect();
            let holds = predicate.matches(&self.sources.columns(&columns, &cells)?)?;
            let holds = run.iter().zip(holds.values()).filter(|(_, holds)| *holds);
            found.extend(holds.map(|((id, _), _)| *id));
        }
        Ok(found)
    }

    /// The edges that have this end now. The list is given away: the caller deletes them all.
    pub(super) fn take_edges_at(&mut self, end: End, key: &[u8]) -> Vec<u32> {
        let noted = self.ends.as_mut().map(|ends| ends.take_at(end, key)).unwrap_or_default();
        let has = |id: &u32| {
            let slot = self.whole_slot(*id);
            slot.zip(self.ends.as_ref()).is_some_and(|(slot, ends)| ends.is_at(slot, end, key))
        };
        noted.into_iter().filter(has).collect()
    }

    /// The edges between these ends now. The list is given away: the caller deletes them all.
    pub(super) fn take_edges_between(&mut self, ends: Slot) -> Vec<u32> {
        let noted = self.ends.as_mut().map(|found| found.take_between(ends)).unwrap_or_default();
        let has = |id: &u32| {
            let slot = self.whole_slot(*id);
            slot.zip(self.ends.as_ref()).is_some_and(|(slot, found)| found.same(slot, ends))
        };
        noted.into_iter().filter(has).collect()
    }

    /// Where the ends of a row are that is there: updates do not change them.
    fn whole_slot(&self, id: u32) -> Option<Slot> {
        let row = &self.rows[id as usize];
        match (&row.now, &row.base) {
            (Now::Put(cells), _) => Some(cells.whole),
            (Now::Untouched, Some(base)) => Some(base.cells.whole),
            (Now::Untouched, None) | (Now::Gone, _) => None,
        }
    }
}

/// A condition could not be asked of rows.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// It has no value for one of them.
    Predicate(PredicateError),
    /// A fault of ours.
    Columns(ArrowError),
}

impl From<PredicateError> for Unanswered {
    fn from(error: PredicateError) -> Self {
        Self::Predicate(error)
    }
}

impl From<ArrowError> for Unanswered {
    fn from(error: ArrowError) -> Self {
        Self::Columns(error)
    }
}
