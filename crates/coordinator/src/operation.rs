//! One request over all of its attempts: what stays the same, and the questions that every attempt asks
//! about it. It must not know stages, gates or effects.

use graphwrite_adapters::{LoadAdapter, LoadPlan, PrepareContext, request_digest};
use graphwrite_manifest::ManifestState;
use graphwrite_protocol_types::{
    AttemptId, Conflict, Footprint, OperationId, RequestDigest, WriteOutcome,
};
use graphwrite_schema::GraphSchema;

use crate::core::Core;
use crate::error::WriteErrorKind;
use crate::receipt::receipt_of_commit;
use crate::{LoadRequest, ReadError};

/// A request with everything that stays the same over its attempts.
#[derive(Debug)]
pub(crate) struct Write {
    pub(crate) request: LoadRequest,
    pub(crate) operation: OperationId,
    pub(crate) digest: RequestDigest,
    /// Whether the caller chose the id, so that it may have been used before.
    is_callers_id: bool,
}

impl Write {
    pub(crate) fn new(core: &Core, request: LoadRequest) -> Self {
        let minted = || OperationId::mint(core.options.env.as_ref());
        Self {
            operation: request.operation.clone().unwrap_or_else(minted),
            is_callers_id: request.operation.is_some(),
            digest: request_digest(request.mode, &request.input),
            request,
        }
    }

    /// The answer that the request had before, or the one that it has without any work. An id that
    /// this call minted and has not attempted cannot have been used.
    pub(crate) async fn earlier_answer(
        &self,
        state: &ManifestState,
        restarts: u32,
    ) -> Result<Option<WriteOutcome>, WriteErrorKind> {
        if (self.is_callers_id || restarts > 0)
            && let Some(outcome) = self.earlier_commit(state).await?
        {
            return Ok(Some(outcome));
        }
        let actual = state.base().graph_head;
        Ok(match self.request.expect_head {
            Some(expected) if expected != actual => {
                let conflict = Conflict::ExpectedHead { expected: expected.0, actual: actual.0 };
                Some(WriteOutcome::Conflict(conflict))
            }
            _ => None,
        })
    }

    async fn earlier_commit(
        &self,
        state: &ManifestState,
    ) -> Result<Option<WriteOutcome>, WriteErrorKind> {
        let Some(row) = state.outcome_of_operation(&self.operation).await? else { return Ok(None) };
        let Some(commit) = row.commit() else { return Ok(None) };
        if row.request != self.digest {
            return Ok(Some(WriteOutcome::Conflict(Conflict::OperationReused { commit })));
        }
        let commit = state.commit(commit).await?.ok_or_else(|| WriteErrorKind::Internal {
            reason: format!("commit {commit} has an outcome row but no lineage row"),
        })?;
        let receipt = receipt_of_commit(&commit, &state.base().branch, 0);
        Ok(Some(WriteOutcome::Committed(receipt)))
    }

    pub(crate) async fn prepare(
        &self,
        core: &Core,
        state: &ManifestState,
        attempt: AttemptId,
    ) -> Result<LoadPlan, WriteErrorKind> {
        let schema = schema_of(state)?;
        let context = PrepareContext {
            store: &core.store,
            base: state.base(),
            schema: &schema,
            domain: state.domain(),
            attempt,
            operation: &self.operation,
            actor: &self.request.actor,
            message: self.request.message.as_deref(),
            expected_head: self.request.expect_head,
            env: core.options.env.as_ref(),
        };
        let adapter = LoadAdapter::new(self.request.mode);
        let plan = adapter.prepare(&context, &self.request.input);
        Box::pin(plan).await.map_err(WriteErrorKind::Load)
    }

    /// What the request reads and writes, as far as it is known before its base is (RFC 4.1): the
    /// tables of its rows, the node tables that its edges name, and the edge tables that set a
    /// minimum for its nodes.
    pub(crate) fn footprint(&self, core: &Core) -> Result<Footprint, WriteErrorKind> {
        let schema = schema_of(&core.manifest.known_state())?;
        let mut footprint = Footprint::default();
        for table in self.request.input.tables() {
            footprint.written.insert(table.identity());
            let Some(declared) = schema.by_identity(table.identity()) else { continue };
            let ends = declared.edge().map(|edge| [edge.from, edge.to]);
            let nodes = ends.into_iter().flatten().filter_map(|node| schema.by_table(node));
            footprint.probed.extend(nodes.map(|node| node.identity));
            let minimums = schema
                .edges_touching(declared.identity.table)
                .filter(|edge| edge.edge().is_some_and(|edge| edge.cardinality.min > 0));
            footprint.probed.extend(minimums.map(|edge| edge.identity));
        }
        Ok(footprint)
    }
}

pub(crate) fn schema_of(state: &ManifestState) -> Result<GraphSchema, ReadError> {
    Ok(GraphSchema::from_bytes(state.schema_canonical())?)
}
