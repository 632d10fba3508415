//! The writer kinds: decoding of their requests, the complete validators, the classification of
//! rows, and the plans and steps of their effects. It must not know gates, intents or recovery, and
//! it never decides whether a step may be taken: the permit of an armed attempt does.

mod chain;
mod change;
mod diff;
mod digest;
mod error;
mod fork;
mod input;
mod keys;
mod load;
mod merge;
mod mutation;
mod order;
mod payload;
mod plan;
mod prepare;
mod probe;
mod registry;
mod render;
mod validate;
mod whole;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod world;

pub use chain::CommitBounds;
pub use diff::{KeysOf, RowChanges, RowDiff};
pub use digest::request_digest;
pub use error::{PerformError, PrepareError};
pub use input::{
    DataForm, InputBuilder, InputError, LimitExceeded, LoadInput, LoadLimits, Place, RowsError,
    Rule, Source, SourceData, SourceError, SourceErrorKind, SourceName, TableInput, TempError,
    UnknownForm, Violation, Violations,
};
pub use load::{LoadAdapter, LoadMode, UnknownMode};
pub use merge::{
    Classified, ConflictCounts, ConflictKind, ConstraintConflict, ConstraintKind, Discovery,
    MergeAdapter, MergeCounts, MergeError, MergeInput, MergeOptions, MergeReview, MergeRoute,
    MergeStrategy, MergeTableReview, MergeTables, MergedConstraints, MergedTable, RowConflict,
    RowConflicts, RowFate, judge, merge_table,
};
pub use mutation::{
    MutationAdapter, MutationBuilder, MutationInput, OnReferenced, mutation_digest,
};
pub use order::RowSorter;
pub use payload::{StagedPayload, perform};
pub use prepare::{PrepareContext, WritePlan};
pub use registry::{Adapter, AdapterEntry, GateUse, Protocol, Writer};
pub use render::{ExportError, RenderError, RowRenderer, RowValue, RowValues, RowWriter};
pub use whole::check_graph;
