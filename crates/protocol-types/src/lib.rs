//! The objects of the write protocol (RFC-022 section 2). They hold data and pure rules; they know
//! no async runtime, no Lance and no object store.

mod codec;
mod delta;
mod effect;
mod env;
mod failpoint;
mod ids;
mod intent;
mod outcome;
mod owner;
mod permit;
mod plan;
mod read_set;
mod stage;
mod stamp;
mod tokens;

#[cfg(test)]
mod tests;

pub use codec::{CodecError, ControlRecord, EncodeError, RECORD_VERSION, decode, encode};
pub use delta::{
    Confirmation, HeadChange, LineageIntent, ManifestDelta, NextHead, Parents, PinSlot,
    RecoveryPlan, SchemaChange, TableSummary, WriterKind,
};
pub use effect::{
    Compensation, Effect, EffectKind, EffectTarget, PlannedStep, PostState, PreState,
};
pub use env::Env;
pub use failpoint::Failpoint;
pub use ids::{
    AttemptId, CommitId, ContentId, IdentityDomain, IncarnationId, InvalidId, OperationId,
    ProcessInstanceId, StableTableId, TableIdentity,
};
pub use intent::{Alive, Confirm, Footprint, Intent};
pub use outcome::{
    Answer, Conflict, Contention, Receipt, Recovered, RecoveredHow, Unknown, Unresolved,
    WriteOutcome,
};
pub use owner::OwnerRecord;
pub use permit::{CommitPermit, CommitReason, Full, RecoveryMode, RollForward};
pub use plan::{PlanInvalid, PreparedWrite};
pub use read_set::{Access, BaseView, ReadSet, Stale, TableMember};
pub use stage::{
    Applied, Armed, Gated, IntentDurable, NotValid, Observed, OutsideEnvelope, Prepared, Published,
    Revalidated, WrongIntent, bind_outputs,
};
pub use stamp::{FEATURES, FORMAT, FormatRefused, FormatStamp, Purpose};
pub use tokens::{
    BranchToken, DatasetPath, GraphHeadToken, LiveHead, NativeBranch, PhysicalRef, Pin,
    RefIdentifier, RequestDigest, SchemaHash, SchemaToken, TableHeadToken, TxUuid,
};
