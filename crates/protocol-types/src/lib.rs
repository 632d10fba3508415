//! The objects of the write protocol (RFC-022 section 2). They hold data and pure rules; they know
//! no async runtime, no Lance and no object store.

mod env;
mod ids;

pub use env::Env;
pub use ids::{
    AttemptId, CommitId, ContentId, IdentityDomain, IncarnationId, InvalidId, OperationId,
    ProcessInstanceId, StableTableId, TableIdentity,
};
