//! Rows of the source whose key no other side has: they are new, whatever they hold, and need neither an order
//! nor a comparison. They are told by hashes of their keys, so that some that are new may be left to be
//! compared, and none is taken for new that is not. It must not know what the other rows come to.

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::ArrowError;
use arrow_select::filter::filter_record_batch;

use super::gather::Gathered;
use crate::input::RowsError;
use crate::keys::{Sieve, key_hashes};

/// The rows of the source that are new, on their way into what is written.
#[derive(Debug)]
pub(super) struct Fresh {
    /// Which column is the key.
    key: usize,
    known: Sieve,
    /// Of the rows that are new.
    hashes: Vec<u64>,
    seen: Sieve,
    /// Those that looked as if they had been seen before.
    again: Vec<u64>,
    pub(super) gathered: Gathered,
}

/// Bytes that each row takes, about.
pub(super) const ROW_BYTES: u64 = 24;

impl Fresh {
    /// Where the source has at most `rows` rows, and the other sides have `others`.
    pub(super) fn new(key: usize, (rows, others): (u64, u64), gathered: Gathered) -> Self {
        let (known, seen) = (Sieve::of(others), Sieve::of(rows));
        Self { key, known, hashes: Vec::new(), seen, again: Vec::new(), gathered }
    }

    /// How many rows are new.
    pub(super) fn rows(&self) -> u64 {
        self.hashes.len() as u64
    }

    /// Takes notice of the keys of another side.
    pub(super) fn know(&mut self, rows: &RecordBatch) -> Result<(), ArrowError> {
        self.hashes_of(rows)?.into_iter().for_each(|hash| self.known.add(hash));
        Ok(())
    }

    /// Takes the new ones among rows of the source, and gives back the others, if there are any.
    pub(super) fn take(&mut self, rows: RecordBatch) -> Result<Option<RecordBatch>, RowsError> {
        let hashes = self.hashes_of(&rows)?;
        let may_be_known: Vec<bool> = hashes.iter().map(|hash| self.known.has(*hash)).collect();
        if !may_be_known.contains(&true) {
            hashes.into_iter().for_each(|hash| self.note(hash));
            self.gathered.adopt(&rows)?;
            return Ok(None);
        }
        let new = hashes.iter().zip(&may_be_known).filter(|(_, is_known)| !**is_known);
        new.for_each(|(hash, _)| self.note(*hash));
        let is_new: BooleanArray = may_be_known.iter().map(|is_known| Some(!is_known)).collect();
        self.gathered.adopt(&filter_record_batch(&rows, &is_new)?)?;
        Ok(Some(filter_record_batch(&rows, &BooleanArray::from(may_be_known))?))
    }

    fn note(&mut self, hash: u64) {
        if self.seen.has(hash) {
            self.again.push(hash);
        }
        self.seen.add(hash);
        self.hashes.push(hash);
    }

    /// Whether two of them may have the same key.
    pub(super) fn may_repeat(&mut self) -> bool {
        let mut again = Sieve::of(self.again.len() as u64);
        self.again.iter().for_each(|hash| again.add(*hash));
        // The later one of two was seen again, and both have its hash.
        let mut few: Vec<u64> = self.hashes.iter().copied().filter(|of| again.has(*of)).collect();
        few.sort_unstable();
        few.windows(2).any(|pair| pair[0] == pair[1])
    }

    fn hashes_of(&self, rows: &RecordBatch) -> Result<Vec<u64>, ArrowError> {
        let column = rows.column(self.key);
        let none = || ArrowError::SchemaError(format!("column {} is no key", self.key));
        key_hashes(column).ok_or_else(none)
    }
}
