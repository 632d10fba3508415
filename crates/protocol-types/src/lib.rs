//! The objects of the write protocol (RFC-022 section 2). They hold data and pure rules; they know
//! no async runtime, no Lance and no object store.

mod branch_name;
mod codec;
mod defect;
mod delta;
mod effect;
mod env;
mod failpoint;
mod ids;
mod intent;
mod name_records;
mod name_state;
mod outcome;
mod owner;
mod permit;
mod plan;
mod reach;
mod read_set;
mod stage;
mod stamp;
mod tokens;

#[cfg(test)]
mod tests;

pub use branch_name::{BranchName, BranchSelector, InvalidBranchName};
pub use codec::{
    CodecError, ControlRecord, EncodeError, NameRecord, RECORD_VERSION, decode, decode_name_record,
    domain_of_record, encode, encode_name_record,
};
pub use defect::{Defect, Planted};
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
pub use name_records::{
    Ancestor, ForkPoint, LiveBranch, NameBegun, NameDecided, NameDeleted, NameVerdict,
};
pub use name_state::{
    BegunFact, DecidedFact, NameFacts, NameRights, NameState, OthersMay, PhysicalFact, Remains,
    RootedBy, Unfinished, Wholeness,
};
pub use outcome::{
    Answer, BranchDeleted, Conflict, Contention, Receipt, Recovered, RecoveredHow, Unknown,
    Unresolved, WriteOutcome,
};
pub use owner::OwnerRecord;
pub use permit::{CommitPermit, CommitReason, Full, RecoveryMode, RollForward};
pub use plan::{PlanInvalid, PreparedWrite};
pub use reach::{BaseSearch, MergeParents, Position, Reach, ReachKey, Tip, span_start};
pub use read_set::{Access, BaseView, ReadSet, Stale, TableMember};
pub use stage::{
    Applied, Armed, Gated, IntentDurable, NotValid, Observed, OutsideEnvelope, Prepared, Published,
    Revalidated, WrongIntent, bind_outputs,
};
pub use stamp::{FEATURES, FORMAT, FormatRefused, FormatStamp, Purpose};
pub use tokens::{
    BranchToken, DatasetPath, GraphHeadToken, LiveHead, NativeBranch, PhysicalRef, Pin,
    RefIdentifier, RequestDigest, SchemaHash, SchemaToken, TableCommit, TableHeadToken, TxUuid,
};
