//! The coordinator: the stages of a write, recovery over this graph's storage, and the public handle
//! [`Graph`]. It composes the crates below; rules about rows, records or recovery are theirs.

// Futures over Lance's types are deep; here they are proven `Send` once, for every caller.
#![recursion_limit = "256"]

mod acknowledge;
mod activity;
mod audit;
mod background;
mod barrier;
mod branch;
mod census;
mod core;
mod counters;
mod diff;
mod drift;
mod effects;
mod env;
mod error;
mod fence;
mod graph;
mod healed;
mod held;
mod hooks;
mod lane;
mod merge;
mod operation;
mod options;
mod orphans;
mod outcome;
mod port;
mod proc_files;
mod process;
mod progress;
mod receipt;
mod recover;
mod report;
mod request;
mod resolve;
mod restart;
mod revalidate;
mod side_by_side;
mod snapshot;
mod spans;
mod status;
mod tree;
mod verify;
mod whole;
mod write;

pub use activity::{Activity, Durations, Sample};
pub use audit::{AuditEntry, AuditedDecision};
pub use branch::{
    BranchError, BranchFrom, BranchInfo, BranchStanding, BranchStatus, CreateBranch, DeleteBranch,
};
pub use diff::{CommitDiff, DiffRequest, TableDiff};
pub use env::SystemEnv;
pub use error::{
    CreateError, InitError, OpenError, ReadError, WriteError, WriteErrorKind, graph_around,
};
pub use graph::Graph;
pub use hooks::{Hooks, Injected, NoHooks};
pub use merge::{MergeAnswer, MergeRelation, MergeReport, MergedSource};
pub use options::GraphOptions;
pub use outcome::{OperationOutcome, OutcomeError, OutcomeRequest};
pub use port::PortError;
pub use process::ProcessContext;
pub use recover::{PendingIntents, RecoverError, RecoverMode, RecoverRequest};
pub use report::{
    BranchCounts, CommitInfo, Finding, FindingKind, NewBranch, ObjectGroup, PendingAge, Severity,
    StatusReport, TableStatus, VerifyReport, Waiting,
};
pub use request::{LoadRequest, MergeRequest, MutateRequest};
pub use restart::RestartReason;
pub use snapshot::{Snapshot, SnapshotTable};
pub use spans::SPANS;
pub use verify::FINDINGS;

pub use graphwrite_adapters::{
    CommitBounds, ConflictCounts, ConflictKind, ConstraintConflict, ConstraintKind, DataForm,
    Discovery, ExportError, InputBuilder, InputError, KeysOf, LimitExceeded, LoadInput, LoadLimits,
    LoadMode, MergeCounts, MergeError, MergeOptions, MergeReview, MergeRoute, MergeStrategy,
    MergeTableReview, MergedConstraints, MutationBuilder, MutationInput, OnReferenced, Place,
    PrepareError, RenderError, RowChanges, RowConflict, RowConflicts, RowRenderer, RowSorter,
    RowValue, RowValues, RowWriter, RowsError, Rule, Source, SourceData, SourceError,
    SourceErrorKind, SourceName, TempError, UnknownForm, Violation, Violations,
};
pub use graphwrite_gates::{GateMetrics, GateTimeout};
pub use graphwrite_manifest::BasesError;
pub use graphwrite_recovery::{
    BarrierOutcome, BarrierReport, BlockingObject, ExplainedEffect, Explanation, Resolution,
    WaitRules,
};
pub use graphwrite_substrate::{BatchStream, Durability, MemoryStorage, Store, StoreError};
