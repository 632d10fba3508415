//! Three-way merge of the rows of one table by key: what the source has changed since the bases is taken
//! over into the target, row by row, and what both have changed differently is a conflict (RFC 6.2). It
//! must not know branches, commits or manifests: the caller says which versions are compared.

mod adapter;
mod candidates;
mod conflict;
mod constraints;
mod cursor;
mod discovery;
mod doubts;
mod fresh;
mod gather;
mod picked;
mod review;
mod rule;
mod table;

#[cfg(test)]
mod tests;

pub use adapter::{Classified, MergeAdapter, MergeInput};
pub use conflict::{ConflictCounts, RowConflict, RowConflicts};
pub use constraints::{ConstraintConflict, ConstraintKind, MergedConstraints};
pub use discovery::{Discovery, MergeRoute, MergeTables, merge_table};
pub use review::{MergeReview, MergeTableReview};
pub use rule::{ConflictKind, MergeStrategy, RowFate, judge};
pub use table::{MergeCounts, MergeError, MergeOptions, MergedTable};
