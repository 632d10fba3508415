//! The only crate that names Lance or object_store: where tables and control objects are stored,
//! how a commit is made strict (K1), how data is staged. It must not know what a graph is, nor when
//! a commit may be made: every committing function takes the permit of somebody who knows.

mod addresses;
mod error;
mod handler;
mod intents;
mod layers;
mod marking;
mod names;
mod objects;
mod predicate;
mod provenance;
mod ref_fork;
mod refs;
mod scan;
mod slot;
mod staging;
mod store;
mod strict;
mod tables;
mod unwinding;
mod versions;

#[cfg(test)]
mod tests;

pub use addresses::{ROW_ADDRESS, RowAddresses};
pub use error::{Cause, MISNAMED, StoreError, SubstrateError};
pub use intents::{
    Arming, AttemptRecords, ForeignRecord, IntentError, IntentStore, RecoveryListing,
};
pub use layers::{
    Fault, FaultHandle, Held, HoldHandle, LoggedOperation, Operation, OperationKind, OperationLog,
    RequestCounter, RequestCounts,
};
pub use names::{
    AllNames, LookedAt, NameError, NameListing, NameLook, NameStore, NumberRecords, RecordPut,
    is_name_record, look_at_unknown_graph,
};
pub use objects::{ObjectEntry, PutOutcome, RawObjects};
pub use predicate::{Predicate, PredicateError, TextPosition};
pub use provenance::FragmentPlace;
pub use ref_fork::RefFork;
pub use refs::{
    ClonedRef, Cloning, ForkCheck, ReadyFork, RefProbe, RefRemoval, check_fork, clone_ref,
    delete_ref, probe_ref, probe_remains, refs_with_contents, write_ref_contents,
};
pub use scan::{BatchStream, RowFilter, ScanRequest};
pub use slot::{SlotAction, SlotRecord, TableVersion, head, head_expected, read_slot};
pub use staging::{
    StagedCommit, stage_change, stage_create, stage_fence, stage_following, stage_replace,
    stage_restore,
};
pub use store::{Durability, MemoryStorage, Store};
pub use strict::{Landing, create_dataset, strict_commit};
pub use tables::{FragmentFiles, TableHandle, Version, delete_dataset};
pub use versions::{VersionRecord, read_version, version_of_object};
