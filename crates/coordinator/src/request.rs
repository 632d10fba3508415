//! What a caller asks for.

use graphwrite_adapters::{LoadInput, LoadMode, MutationInput};
use graphwrite_protocol_types::{GraphHeadToken, OperationId};

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
