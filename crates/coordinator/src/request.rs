//! What a caller asks for.

use graphwrite_adapters::{CommitBounds, LoadInput, LoadMode, MergeOptions, MutationInput};
use graphwrite_protocol_types::{GraphHeadToken, OperationId};

use crate::BranchFrom;

/// Rows to be loaded in one commit.
#[derive(Debug)]
pub struct LoadRequest {
    /// The rows, decoded and checked on their own.
    pub input: LoadInput,
    /// What to do with keys that are there already.
    pub mode: LoadMode,
    /// The caller's idempotency key. The same key with the same content is answered with the first
    /// receipt; a ULID is minted when there is none.
    pub operation: Option<OperationId>,
    /// Who asks, for the lineage.
    pub actor: String,
    /// What for, for the lineage.
    pub message: Option<String>,
    /// The head that the branch must have; the load is refused on any other.
    pub expect_head: Option<GraphHeadToken>,
}

impl LoadRequest {
    /// A request with a fresh operation id and nothing said about the head.
    pub fn new(input: LoadInput, mode: LoadMode) -> Self {
        let actor = "unknown".to_owned();
        Self { input, mode, operation: None, actor, message: None, expect_head: None }
    }
}

/// Statements to be carried out in one commit.
#[derive(Debug)]
pub struct MutateRequest {
    /// The statements, decoded and checked on their own.
    pub input: MutationInput,
    /// The caller's idempotency key. The same key with the same content is answered with the first
    /// receipt; a ULID is minted when there is none.
    pub operation: Option<OperationId>,
    /// Who asks, for the lineage.
    pub actor: String,
    /// What for, for the lineage.
    pub message: Option<String>,
    /// The head that the branch must have; the mutation is refused on any other.
    pub expect_head: Option<GraphHeadToken>,
}

impl MutateRequest {
    /// A request with a fresh operation id and nothing said about the head.
    pub fn new(input: MutationInput) -> Self {
        let actor = "unknown".to_owned();
        Self { input, operation: None, actor, message: None, expect_head: None }
    }
}

/// What another branch has changed, to be taken over into the branch of the handle in one commit (RFC 6.2).
#[derive(Debug)]
pub struct MergeRequest {
    /// What is merged: the head of a branch as it is when the request begins, or a commit. Later commits
    /// of the branch are not merged.
    pub source: BranchFrom,
    /// Strategy, memory and limits.
    pub options: MergeOptions,
    /// How much one commit to a table carries; what is more becomes several commits to it, of which
    /// readers see all or none.
    pub bounds: CommitBounds,
    /// The caller's idempotency key. The same key with the same source and strategy is answered with the
    /// first receipt, even if the source has moved on or is deleted; a ULID is minted when there is none.
    pub operation: Option<OperationId>,
    /// Who asks, for the lineage.
    pub actor: String,
    /// What for, for the lineage.
    pub message: Option<String>,
    /// The head that the target must have; the merge is refused on any other.
    pub expect_head: Option<GraphHeadToken>,
}

impl MergeRequest {
    /// A request with a fresh operation id, nothing said about the head, and every other choice the
    /// ordinary one.
    pub fn new(source: BranchFrom) -> Self {
        let (options, bounds) = (MergeOptions::default(), CommitBounds::default());
        let actor = "unknown".to_owned();
        Self { source, options, bounds, operation: None, actor, message: None, expect_head: None }
    }
}
