//! One request over all of its attempts: what stays the same, and the questions that every attempt asks
//! about it. It must not know stages, gates or effects.

use std::sync::Arc;

use graphwrite_adapters::{
    CommitBounds, LoadAdapter, LoadInput, LoadMode, MutationAdapter, MutationInput, OnReferenced,
    PrepareContext, WritePlan, mutation_digest, request_digest,
};
use graphwrite_manifest::{ManifestState, OutcomeRow};
use graphwrite_protocol_types::{
    AttemptId, BranchDeleted, CommitId, Conflict, Defect, Footprint, GraphHeadToken, OperationId,
    RequestDigest, TableIdentity, WriteOutcome, WriterKind,
};
use graphwrite_schema::GraphSchema;

use crate::core::Core;
use crate::error::WriteErrorKind;
use crate::merge::{Captured, MergeWork};
use crate::receipt::receipt_of_commit;
use crate::{LoadRequest, MutateRequest, ReadError};

/// What a request asks for: one kind for each adapter.
#[derive(Debug)]
pub(crate) enum Work {
    Load { input: LoadInput, mode: LoadMode },
    Mutate(MutationInput),
    Merge(Arc<MergeWork>),
}

/// Who asks, and under which terms.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) operation: Option<OperationId>,
    pub(crate) actor: String,
    pub(crate) message: Option<String>,
    pub(crate) expect_head: Option<GraphHeadToken>,
}

/// A request with everything that stays the same over its attempts.
#[derive(Debug)]
pub(crate) struct Write {
    work: Work,
    caller: Caller,
    pub(crate) operation: OperationId,
    pub(crate) digest: RequestDigest,
}

impl From<LoadRequest> for (Work, Caller) {
    fn from(request: LoadRequest) -> Self {
        let LoadRequest { input, mode, operation, actor, message, expect_head } = request;
        (Work::Load { input, mode }, Caller { operation, actor, message, expect_head })
    }
}

impl From<MutateRequest> for (Work, Caller) {
    fn from(request: MutateRequest) -> Self {
        let MutateRequest { input, operation, actor, message, expect_head } = request;
        (Work::Mutate(input), Caller { operation, actor, message, expect_head })
    }
}

/// What a request may do to a table, as far as it shows before its base is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Touch {
    table: TableIdentity,
    /// Whether rows may go, and what then becomes of edges that name them.
    removes: Option<OnReferenced>,
}

impl Work {
    pub(crate) fn writer(&self) -> WriterKind {
        match self {
            Self::Load { .. } => WriterKind::Load,
            Self::Mutate(_) => WriterKind::Mutation,
            Self::Merge(_) => WriterKind::Merge,
        }
    }

    fn digest(&self) -> RequestDigest {
        match self {
            Self::Load { input, mode } => request_digest(*mode, input),
            Self::Mutate(input) => mutation_digest(input),
            Self::Merge(merge) => merge.digest(),
        }
    }

    async fn prepare(
        &self,
        core: &Arc<Core>,
        state: &ManifestState,
        context: &PrepareContext<'_>,
    ) -> Result<WritePlan, WriteErrorKind> {
        let prepared = match self {
            Self::Load { input, mode } => {
                Box::pin(LoadAdapter::new(*mode).prepare(context, input)).await
            }
            Self::Mutate(input) => Box::pin(MutationAdapter.prepare(context, input)).await,
            Self::Merge(merge) => return Box::pin(merge.prepare(core, state, context)).await,
        };
        prepared.map_err(WriteErrorKind::Prepare)
    }

    fn bounds(&self) -> CommitBounds {
        match self {
            Self::Load { .. } | Self::Mutate(_) => CommitBounds::NONE,
            Self::Merge(merge) => merge.bounds,
        }
    }

    fn touches(&self, schema: &GraphSchema) -> Vec<Touch> {
        match self {
            // What the source has changed is not known yet, and the head of the branch is in the read
            // set: nothing that is pending there can be left beside it.
            Self::Merge(_) => {
                let tables = schema.types().iter().map(|def| def.identity);
                tables.map(|table| Touch { table, removes: None }).collect()
            }
            Self::Load { input, mode } => {
                let removes = (*mode == LoadMode::Overwrite).then_some(OnReferenced::Restrict);
                let tables = input.tables().iter().map(|table| table.identity());
                tables.map(|table| Touch { table, removes }).collect()
            }
            Self::Mutate(input) => input
                .tables()
                .into_iter()
                .map(|(table, removes)| Touch { table, removes })
                .collect(),
        }
    }
}

impl Write {
    pub(crate) fn new(core: &Core, work: Work, caller: Caller) -> Self {
        let minted = || OperationId::mint(core.options.env.as_ref());
        let operation = caller.operation.clone().unwrap_or_else(minted);
        Self { operation, digest: work.digest(), work, caller }
    }

    /// The id of one attempt, fresh for each (K2).
    pub(crate) fn mint_attempt(&self, core: &Core) -> AttemptId {
        if core.store.has(Defect::OneIdForAttempts) {
            let digest = *blake3::hash(self.operation.as_str().as_bytes()).as_bytes();
            return AttemptId::from_u128(
                digest[..16].iter().fold(0, |n, b| n << 8 | u128::from(*b)),
            );
        }
        AttemptId::mint(core.options.env.as_ref())
    }

    /// Whether the caller chose the id, so that it may have been used before.
    pub(crate) fn is_callers_id(&self) -> bool {
        self.caller.operation.is_some()
    }

    pub(crate) fn writer(&self) -> WriterKind {
        self.work.writer()
    }

    /// The answer that the request had before, or the one that it has without any work. An id that
    /// this call minted and has not attempted cannot have been used.
    pub(crate) async fn earlier_answer(
        &self,
        state: &ManifestState,
        restarts: u32,
    ) -> Result<Option<WriteOutcome>, WriteErrorKind> {
        if (self.is_callers_id() || restarts > 0)
            && let Some(outcome) = self.earlier_commit(state).await?
        {
            return Ok(Some(outcome));
        }
        let actual = state.base().graph_head;
        Ok(match self.caller.expect_head {
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
        if let Some(conflict) = sealed(&row) {
            return Ok(Some(WriteOutcome::Conflict(conflict)));
        }
        let Some(commit) = row.commit() else { return Ok(None) };
        if row.request != Some(self.digest) {
            return Ok(Some(WriteOutcome::Conflict(Conflict::OperationReused { commit })));
        }
        let commit = state.commit(commit).await?.ok_or_else(|| WriteErrorKind::Internal {
            reason: format!("commit {commit} has an outcome row but no lineage row"),
        })?;
        let receipt = receipt_of_commit(&commit, &state.base().branch, 0);
        Ok(Some(WriteOutcome::Committed(receipt)))
    }

    /// `outcome`, saying of an unknown fate whether the request may be sent again as it is.
    pub(crate) fn told_in(&self, mut outcome: WriteOutcome) -> WriteOutcome {
        if let WriteOutcome::OutcomeUnknown(unknown) = &mut outcome {
            unknown.is_callers_id = self.is_callers_id();
        }
        outcome
    }

    /// What is said when the branch of the request is deleted.
    pub(crate) fn told_deleted(&self, core: &Core, landed: Option<CommitId>) -> BranchDeleted {
        BranchDeleted { operation: self.operation.clone(), branch: core.branch(), landed }
    }

    pub(crate) async fn prepare(
        &self,
        core: &Arc<Core>,
        state: &ManifestState,
        attempt: AttemptId,
    ) -> Result<WritePlan, WriteErrorKind> {
        let (schema, inherited) = (schema_of(state)?, state.inherited());
        let context = PrepareContext {
            store: &core.store,
            base: state.base(),
            schema: &schema,
            inherited: &inherited,
            domain: state.domain(),
            attempt,
            operation: &self.operation,
            actor: &self.caller.actor,
            message: self.caller.message.as_deref(),
            expected_head: self.caller.expect_head,
            bounds: self.work.bounds(),
            env: core.options.env.as_ref(),
        };
        self.work.prepare(core, state, &context).await
    }

    /// The commit of another branch that the request was prepared from.
    pub(crate) fn source(&self) -> Option<Arc<Captured>> {
        match &self.work {
            Work::Merge(merge) => merge.source(),
            Work::Load { .. } | Work::Mutate(_) => None,
        }
    }

    /// What the request reads and writes, as far as it is known before its base is (RFC 4.1): the
    /// tables of its rows, the node tables that its edges name, the edge tables that set a minimum
    /// for its nodes, and the edge tables that may name nodes that go.
    pub(crate) fn footprint(&self, core: &Core) -> Result<Footprint, WriteErrorKind> {
        let schema = schema_of(&core.manifest.known_state())?;
        let mut footprint = Footprint::default();
        for touch in self.work.touches(&schema) {
            footprint.written.insert(touch.table);
            footprint.probed.extend(concerned(&schema, touch));
            if touch.removes == Some(OnReferenced::Cascade) {
                let edges = schema.edges_touching(touch.table.table);
                for edge in edges.map(|edge| edge.identity) {
                    footprint.written.insert(edge);
                    let removes = Some(OnReferenced::Restrict);
                    footprint.probed.extend(concerned(&schema, Touch { table: edge, removes }));
                }
            }
        }
        Ok(footprint)
    }
}

/// The tables that a touched table may ask.
fn concerned(schema: &GraphSchema, touch: Touch) -> Vec<TableIdentity> {
    let Some(declared) = schema.by_identity(touch.table) else { return Vec::new() };
    let ends = declared.edge().map(|edge| [edge.from, edge.to]);
    let nodes = ends.into_iter().flatten().filter_map(|node| schema.by_table(node));
    let edges = schema.edges_touching(declared.identity.table).filter(|edge| {
        touch.removes.is_some() || edge.edge().is_some_and(|edge| edge.cardinality.min > 0)
    });
    nodes.chain(edges).map(|concerned| concerned.identity).collect()
}

/// What a seal says to every attempt of its operation.
pub(crate) fn sealed(row: &OutcomeRow) -> Option<Conflict> {
    row.sealed().map(|reason| Conflict::OperationSealed { reason: reason.to_owned() })
}

pub(crate) fn schema_of(state: &ManifestState) -> Result<GraphSchema, ReadError> {
    Ok(GraphSchema::from_bytes(state.schema_canonical())?)
}
