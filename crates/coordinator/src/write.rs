//! A write, top to bottom, in the order of RFC-022 section 4. Each stage is a type that consumes the
//! one before it; what a stage does in detail has a file of its own, what it means does not.

use std::sync::Arc;
use std::time::Duration;

use graphwrite_adapters::{LoadAdapter, LoadPlan, PrepareContext, StagedPayload, request_digest};
use graphwrite_gates::{GateGuard, GateSet};
use graphwrite_manifest::ManifestState;
use graphwrite_protocol_types::{
    AttemptId, Conflict, Failpoint, Footprint, NotValid, OperationId, PreparedWrite, Purpose,
    RequestDigest, Revalidated, Unknown, WriteOutcome,
};
use graphwrite_schema::GraphSchema;
use tokio::sync::oneshot;

use crate::armed::carry_out;
use crate::barrier::clear_the_way;
use crate::core::Core;
use crate::error::WriteErrorKind;
use crate::healed::Healed;
use crate::process::LiveAttempt;
use crate::receipt::{receipt_of_commit, receipt_of_no_change};
use crate::revalidate::observe;
use crate::{LoadRequest, ReadError, WriteError};

/// A request with everything that stays the same over its attempts.
#[derive(Debug)]
pub(crate) struct Write {
    pub(crate) request: LoadRequest,
    pub(crate) operation: OperationId,
    pub(crate) digest: RequestDigest,
    /// Whether the caller chose the id, so that it may have been used before.
    is_callers_id: bool,
}

/// How one attempt ended.
#[derive(Debug)]
pub(crate) enum Attempted {
    /// With an answer.
    Done(Box<WriteOutcome>),
    /// Without effect, because of this: recompute, do not patch (RFC 3.4).
    Again(Obstacle),
}

/// Why a request is prepared again.
#[derive(Debug)]
pub(crate) enum Obstacle {
    /// Stage D found that the plan no longer holds.
    NotValid(NotValid),
    /// Somebody was faster; if the attempt had been armed, it was taken back.
    Overtaken(String),
}

impl Attempted {
    pub(crate) fn done(outcome: WriteOutcome) -> Self {
        Self::Done(Box::new(outcome))
    }
}

/// Performs `request`: attempts until one ends with an answer.
pub(crate) async fn write(
    core: &Arc<Core>,
    request: LoadRequest,
) -> Result<WriteOutcome, WriteError> {
    if core.purpose == Purpose::Read {
        return Err(WriteError { operation: request.operation, kind: WriteErrorKind::ReadOnly });
    }
    let write = Write::new(core, request);
    let (mut restarts, mut healed) = (0, Healed::default());
    // Nobody overtakes those of its own process that have lost already.
    drop(enter_lane(core, &write).await);
    let mut lane = None;
    loop {
        let attempted = Box::pin(attempt(core, &write, restarts, &mut healed)).await;
        match attempted.map_err(|kind| kind.of(&write.operation))? {
            Attempted::Done(outcome) => return Ok(healed.told_in(*outcome)),
            Attempted::Again(obstacle) if restarts >= core.options.restarts_max => {
                return give_up(restarts + 1, obstacle).map_err(|kind| kind.of(&write.operation));
            }
            Attempted::Again(obstacle) => {
                tracing::info!(operation = %write.operation, restarts, ?obstacle, "restarting");
                restarts += 1;
                if lane.is_none() {
                    lane = enter_lane(core, &write).await;
                }
                pause(core, restarts).await;
            }
        }
    }
}

async fn attempt(
    core: &Arc<Core>,
    write: &Write,
    restarts: u32,
    healed: &mut Healed,
) -> Result<Attempted, WriteErrorKind> {
    let attempt = AttemptId::mint(core.options.env.as_ref());
    let live = core.options.process.enter(attempt);

    // A: nothing unresolved is in the way.
    if let Some(outcome) = clear_the_way(core, write, healed).await? {
        return Ok(Attempted::done(outcome));
    }

    // B: one base, complete validation, staged files; no HEAD moves.
    let state = core.manifest.state().await?;
    if let Some(outcome) = write.earlier_answer(&state, restarts).await? {
        return Ok(Attempted::done(outcome));
    }
    let prepared = match write.prepare(core, &state, attempt).await? {
        LoadPlan::Write(prepared) => *prepared,
        LoadPlan::NoChange { summaries, .. } => {
            let receipt = receipt_of_no_change(write, attempt, &state, summaries, restarts);
            return Ok(Attempted::done(WriteOutcome::NoChange(receipt)));
        }
        LoadPlan::Conflict(conflict) => {
            return Ok(Attempted::done(WriteOutcome::Conflict(conflict)));
        }
    };
    core.options.hooks.reach(Failpoint::PostPrepare).await?;

    // C: the ordered gates, all or none.
    let gates = gates_of(prepared.write());
    let granted = core.gates.acquire(gates, &attempt, core.options.gate_wait_max).await?;
    let gated = prepared.gated(granted);

    // D: everything that was read is as it was, every target is at its pin.
    let (observed, fresh) = observe(core, gated.write()).await?;
    // The operation's rows that came since B are searched like every other member (K2).
    let elsewhere = fresh.outcome_of_operation_since(&state, &write.operation).await?;
    if let Some(commit) = elsewhere.and_then(|row| row.commit()) {
        let reason = format!("the operation was committed meanwhile, as {commit}");
        return Ok(Attempted::Again(Obstacle::Overtaken(reason)));
    }
    let revalidated = match gated.revalidate(&observed) {
        Ok(revalidated) => revalidated,
        Err(not_valid) => return Ok(Attempted::Again(Obstacle::NotValid(not_valid))),
    };

    // E to H, in a task of their own: a caller that goes away does not stop them.
    in_own_task(core, write, revalidated, fresh, live, restarts).await
}

async fn in_own_task(
    core: &Arc<Core>,
    write: &Write,
    revalidated: Revalidated<StagedPayload, GateGuard>,
    state: ManifestState,
    live: LiveAttempt,
    restarts: u32,
) -> Result<Attempted, WriteErrorKind> {
    let unknown = Unknown {
        operation: write.operation.clone(),
        attempt: revalidated.write().attempt,
        branch: revalidated.write().base.branch.clone(),
        cause: "the task of the attempt ended without an answer".to_owned(),
    };
    let (answer, answered) = oneshot::channel();
    let at_work = core.background.enter();
    let core = Arc::clone(core);
    tokio::spawn(async move {
        Box::pin(carry_out(&core, revalidated, state, restarts, answer)).await;
        drop(live);
        drop(at_work);
    });
    answered.await.unwrap_or(Ok(Attempted::done(WriteOutcome::OutcomeUnknown(unknown))))
}

impl Write {
    fn new(core: &Core, request: LoadRequest) -> Self {
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
    async fn earlier_answer(
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

    async fn prepare(
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

fn gates_of(write: &PreparedWrite) -> GateSet {
    let targets = write.effects.iter().map(|effect| &effect.target);
    let keys = targets.map(|target| (target.physical_ref.to_string(), target.identity));
    GateSet::for_writer(write.base.branch.native.as_str(), keys)
}

/// Requests of one process that have lost queue up for their tables and are prepared again one after
/// the other, until they have their answer; new ones line up behind them. Else every one of them
/// would spoil the base of all that wait behind it, and the same one could lose for ever. This is a
/// courtesy, not a gate: nothing depends on it, and who waits too long goes on without.
async fn enter_lane(core: &Core, write: &Write) -> Option<GateGuard> {
    let Footprint { written, probed, .. } = write.footprint(core).ok()?;
    let tables = written.union(&probed).map(|table| ("again".to_owned(), *table));
    let set = GateSet::for_writer(core.branch().native.as_str(), tables);
    core.lanes.acquire(set, &write.operation, core.options.gate_wait_max).await.ok()
}

/// Restarts are bounded and jittered, so that writers that met once do not meet for ever.
async fn pause(core: &Core, restarts: u32) {
    let ceiling_ms = 1_u64 << restarts.min(8);
    let jittered_ms = core.options.env.random_u128() as u64 % ceiling_ms;
    tokio::time::sleep(Duration::from_millis(jittered_ms)).await;
}

fn give_up(attempts: u32, obstacle: Obstacle) -> Result<WriteOutcome, WriteErrorKind> {
    let last = match obstacle {
        // No intent and no fence explains it: it was not made by this protocol.
        Obstacle::NotValid(NotValid::HeadMoved { identity, pin, found }) => {
            return Err(WriteErrorKind::UnexplainedHead { identity, pin, found });
        }
        Obstacle::NotValid(not_valid) => not_valid.to_string(),
        Obstacle::Overtaken(reason) => reason,
    };
    Ok(WriteOutcome::Conflict(Conflict::RetriesExhausted { attempts, last }))
}
