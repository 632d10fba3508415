//! Edges by their ends: which edges were ever known to start from or lead to a node, or to lie between
//! two. Whether one still does is for the caller to ask; lists only grow until they are taken.

use std::collections::HashMap;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_row::Rows;
use arrow_schema::{ArrowError, SchemaRef};
use graphwrite_schema::{EDGE_DST, EDGE_SRC, End};

use super::sources::Slot;
use crate::keys::Encoder;

pub(super) struct Ends {
    src: Encoder,
    dst: Encoder,
    /// The ends of the rows of each source, if it has them.
    sources: Vec<Option<(Rows, Rows)>>,
    from: HashMap<Box<[u8]>, Vec<u32>>,
    to: HashMap<Box<[u8]>, Vec<u32>>,
    between: HashMap<Box<[u8]>, Vec<u32>>,
}

impl Ends {
    pub(super) fn new(schema: &SchemaRef) -> Result<Self, ArrowError> {
        let encoder =
            |column: &str| Encoder::new([schema.field_with_name(column)?.data_type().clone()]);
        Ok(Self {
            src: encoder(EDGE_SRC)?,
            dst: encoder(EDGE_DST)?,
            sources: Vec::new(),
            from: HashMap::new(),
            to: HashMap::new(),
            between: HashMap::new(),
        })
    }

    /// Takes in the ends of a batch. Sources are numbered in the order in which they come.
    pub(super) fn add_source(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let columns = batch.column_by_name(EDGE_SRC).zip(batch.column_by_name(EDGE_DST));
        let encode = |(src, dst): (&ArrayRef, &ArrayRef)| {
            let src = self.src.rows(std::slice::from_ref(src))?;
            Ok::<_, ArrowError>((src, self.dst.rows(std::slice::from_ref(dst))?))
        };
        let encoded = columns.map(encode).transpose()?;
        self.sources.push(encoded);
        Ok(())
    }

    fn of(&self, slot: Slot) -> Option<(&[u8], &[u8])> {
        let (src, dst) = self.sources.get(slot.source as usize)?.as_ref()?;
        let row = slot.row as usize;
        Some((src.row(row).data(), dst.row(row).data()))
    }

    /// Notes an edge whose ends are those of a row.
    pub(super) fn note(&mut self, id: u32, slot: Slot) {
        let Some((src, dst)) = self.of(slot) else { return };
        let (src, dst): (Box<[u8]>, Box<[u8]>) = (src.into(), dst.into());
        self.between.entry(pair(&src, &dst)).or_default().push(id);
        self.from.entry(src).or_default().push(id);
        self.to.entry(dst).or_default().push(id);
    }

    /// The edges that were noted at one end, forgotten with this.
    pub(super) fn take_at(&mut self, end: End, key: &[u8]) -> Vec<u32> {
        let lists = match end {
            End::Src => &mut self.from,
            End::Dst => &mut self.to,
        };
        lists.remove(key).unwrap_or_default()
    }

    /// The edges that were noted between the ends of a row, forgotten with this.
    pub(super) fn take_between(&mut self, ends: Slot) -> Vec<u32> {
        let Some(key) = self.of(ends).map(|(src, dst)| pair(src, dst)) else { return Vec::new() };
        self.between.remove(&key).unwrap_or_default()
    }

    /// Whether a row has this end.
    pub(super) fn is_at(&self, slot: Slot, end: End, key: &[u8]) -> bool {
        self.of(slot).is_some_and(|(src, dst)| match end {
            End::Src => src == key,
            End::Dst => dst == key,
        })
    }

    /// Whether two rows have the same ends.
    pub(super) fn same(&self, a: Slot, b: Slot) -> bool {
        self.of(a) == self.of(b)
    }
}

/// Both keys as one, told apart by the length of the first.
fn pair(src: &[u8], dst: &[u8]) -> Box<[u8]> {
    let length = (src.len() as u64).to_le_bytes();
    [length.as_slice(), src, dst].concat().into()
}
