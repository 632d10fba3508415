//! The conflicts of a merge: all of them counted, the first ones with both sides' rows. It decides
//! nothing.

use arrow_array::RecordBatch;

use super::rule::ConflictKind;

/// Rows of one key that contradict each other.
#[derive(Debug, Clone, PartialEq)]
pub struct RowConflict {
    /// How.
    pub kind: ConflictKind,
    /// The key as text; the ends of an edge are joined by ` -> `.
    pub key: String,
    /// The source's row, one row with the table's columns; none where it has deleted it.
    pub source: Option<RecordBatch>,
    /// The target's row, one row with the table's columns; none where it has deleted it.
    pub target: Option<RecordBatch>,
}

/// How many conflicts of each kind there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConflictCounts([u64; ConflictKind::ALL.len()]);

impl ConflictCounts {
    /// Those of one kind.
    pub fn of(&self, kind: ConflictKind) -> u64 {
        self.0[kind as usize]
    }

    /// All.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// The conflicts of one table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RowConflicts {
    counts: ConflictCounts,
    listed: Vec<RowConflict>,
}

impl RowConflicts {
    /// How many there are, listed or not.
    pub fn counts(&self) -> ConflictCounts {
        self.counts
    }

    /// The first of them, as many as were asked for: nodes in the order of their keys, edges in that of
    /// their ids.
    pub fn listed(&self) -> &[RowConflict] {
        &self.listed
    }

    pub(super) fn count(&mut self, kind: ConflictKind) {
        self.counts.0[kind as usize] += 1;
    }

    pub(super) fn list(&mut self, conflict: RowConflict) {
        self.listed.push(conflict);
    }
}
