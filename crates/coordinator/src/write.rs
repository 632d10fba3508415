//! A write, top to bottom, in the order of RFC-022 section 4. Each stage is a type that consumes the
//! one before it; what a stage does in detail has a file of its own, what it means does not.

use std::ops::ControlFlow;
use std::sync::Arc;

use graphwrite_adapters::{StagedPayload, WritePlan};
use graphwrite_gates::GateSet;
use graphwrite_manifest::{
    CommitRow, ManifestError, ManifestState, PublishOutcome, StagedAhead, Transition,
};
use graphwrite_protocol_types::{
    Applied, Armed, Defect, Failpoint, Gated, Intent, Prepared, PreparedWrite, Published, Purpose,
    Revalidated, Unknown, WriteOutcome,
};
use graphwrite_recovery::{OwnSteps, RecordSet};
use graphwrite_substrate::Arming;
use tokio::sync::oneshot;
use tracing::Instrument;

use crate::WriteError;
use crate::acknowledge::acknowledge;
use crate::barrier::clear_the_way;
use crate::core::Core;
use crate::counters::Asked;
use crate::drift::MovedHead;
use crate::effects::{Effects, apply};
use crate::error::WriteErrorKind;
use crate::healed::Healed;
use crate::held::{Held, acquire};
use crate::lane::enter_lane;
use crate::merge::Captured;
use crate::operation::{Caller, Work, Write, sealed};
use crate::process::LiveAttempt;
use crate::progress::Progress;
use crate::receipt::receipt_of_no_change;
use crate::resolve::{Failed, resolve_own};
use crate::restart::{Attempted, Obstacle, RestartReason, Setback, give_up, pause};
use crate::revalidate::observe;
use crate::spans::{self, Trace};

/// The answer of one attempt; an error only before anything was armed.
type Answered = Result<Attempted, WriteErrorKind>;

/// Performs a request: attempts until one ends with an answer.
pub(crate) async fn write(
    core: &Arc<Core>,
    (work, caller): (Work, Caller),
) -> Result<WriteOutcome, WriteError> {
    if core.purpose == Purpose::Read {
        return Err(WriteError { operation: caller.operation, kind: WriteErrorKind::ReadOnly });
    }
    let write = Write::new(core, work, caller);
    let span = spans::write(core, &write);
    let asked = Asked::new(&core.counters, write.writer());
    let answered = Box::pin(attempts(core, &write)).instrument(span.clone()).await;
    spans::answered(&span, &answered);
    asked.answered(&answered);
    answered
}

async fn attempts(core: &Arc<Core>, write: &Write) -> Result<WriteOutcome, WriteError> {
    let (mut restarts, mut healed) = (0, Healed::default());
    let mut moved = None;
    // Nobody overtakes those of its own process that have lost already.
    drop(enter_lane(core, write).await);
    let mut lane = None;
    loop {
        let trace = Trace::new(core, write, restarts);
        core.counters.attempts.add();
        let attempted = Box::pin(attempt(core, write, &trace, restarts, &mut healed, moved));
        let attempted = attempted.instrument(trace.span()).await;
        trace.ended(&attempted);
        match attempted.map_err(|kind| kind.of(&write.operation))? {
            Attempted::Done(outcome) => return Ok(write.told_in(healed.told_in(*outcome))),
            Attempted::Again(obstacle) if restarts >= core.options.restarts_max => {
                return give_up(restarts + 1, obstacle).map_err(|kind| kind.of(&write.operation));
            }
            Attempted::Again(obstacle) => {
                core.counters.restarted(obstacle.reason());
                tracing::info!(operation = %write.operation, restarts, ?obstacle, "restarting");
                moved = MovedHead::of(&obstacle);
                restarts += 1;
                if lane.is_none() {
                    lane = enter_lane(core, write).await;
                }
                pause(core, restarts).await;
            }
        }
    }
}

async fn attempt(
    core: &Arc<Core>,
    write: &Write,
    trace: &Trace,
    restarts: u32,
    healed: &mut Healed,
    moved: Option<MovedHead>,
) -> Result<Attempted, WriteErrorKind> {
    let live = core.options.process.enter(trace.attempt);

    // A: nothing unresolved is in the way.
    let barrier = clear_the_way(core, write, healed).instrument(trace.barrier());
    let base = match barrier.await? {
        ControlFlow::Continue(base) => base,
        ControlFlow::Break(outcome) => return Ok(Attempted::done(outcome)),
    };

    if let Some(moved) = moved {
        moved.is_explained(core, &base).await?;
    }

    // B: one base, complete validation, staged files; no HEAD moves.
    let prepared = prepare(core, write, trace, base, restarts).instrument(trace.prepare());
    let (prepared, state) = match prepared.await? {
        ControlFlow::Continue(prepared) => prepared,
        ControlFlow::Break(outcome) => return Ok(Attempted::done(outcome)),
    };
    core.options.hooks.reach(Failpoint::PostPrepare).await?;

    // C: the ordered gates, all or none.
    let gates = gates_of(prepared.write());
    let gated = prepared.gated(acquire(core, gates, trace).await?);

    // D: everything that was read is as it was, every target is at its pin.
    let revalidated = revalidate(core, write, gated, &state).instrument(trace.revalidate());
    let (revalidated, fresh) = match revalidated.await? {
        ControlFlow::Continue(revalidated) => revalidated,
        ControlFlow::Break(attempted) => return Ok(attempted),
    };

    // E to H, in a task of their own: a caller that goes away does not stop them.
    in_own_task(core, write, trace, revalidated, fresh, live, restarts).await
}

type PreparedOver = (Prepared<StagedPayload>, ManifestState);

/// Stage B, or the answer that the request has without effects.
async fn prepare(
    core: &Arc<Core>,
    write: &Write,
    trace: &Trace,
    state: ManifestState,
    restarts: u32,
) -> Result<ControlFlow<WriteOutcome, PreparedOver>, WriteErrorKind> {
    if let Some(outcome) = write.earlier_answer(&state, restarts).await? {
        return Ok(ControlFlow::Break(outcome));
    }
    Ok(match write.prepare(core, &state, trace.attempt).await? {
        WritePlan::Write(prepared) => ControlFlow::Continue((*prepared, state)),
        WritePlan::NoChange { summaries, .. } => {
            let receipt = receipt_of_no_change(write, trace.attempt, &state, summaries, restarts);
            ControlFlow::Break(WriteOutcome::NoChange(receipt))
        }
        WritePlan::Conflict(conflict) => ControlFlow::Break(WriteOutcome::Conflict(conflict)),
    })
}

type RevalidatedAt = (Revalidated<StagedPayload, Held>, ManifestState);

/// Stage D, or how the attempt ends here.
async fn revalidate(
    core: &Arc<Core>,
    write: &Write,
    gated: Gated<StagedPayload, Held>,
    base: &ManifestState,
) -> Result<ControlFlow<Attempted, RevalidatedAt>, WriteErrorKind> {
    let source = write.source();
    let is_there = async {
        match &source {
            Some(source) => source.is_there(core).await,
            None => Ok(()),
        }
    };
    let ((observed, fresh), ()) = tokio::try_join!(observe(core, gated.write()), is_there)?;
    // The operation's rows that came since B are searched like every other member (K2).
    let elsewhere = fresh.outcome_of_operation_since(base, &write.operation).await?;
    if let Some(conflict) = elsewhere.as_ref().and_then(sealed) {
        return Ok(ControlFlow::Break(Attempted::done(WriteOutcome::Conflict(conflict))));
    }
    if let Some(commit) = elsewhere.and_then(|row| row.commit()) {
        let text = format!("the operation was committed meanwhile, as {commit}");
        let obstacle = Obstacle::overtaken(RestartReason::OperationDecided, text);
        return Ok(ControlFlow::Break(Attempted::Again(obstacle)));
    }
    Ok(match gated.revalidate(&observed) {
        Ok(revalidated) => ControlFlow::Continue((revalidated, fresh)),
        Err(not_valid) => ControlFlow::Break(Attempted::Again(Obstacle::NotValid(not_valid))),
    })
}

async fn in_own_task(
    core: &Arc<Core>,
    write: &Write,
    trace: &Trace,
    revalidated: Revalidated<StagedPayload, Held>,
    state: ManifestState,
    live: LiveAttempt,
    restarts: u32,
) -> Result<Attempted, WriteErrorKind> {
    let unknown = Unknown {
        operation: write.operation.clone(),
        attempt: revalidated.write().attempt,
        branch: revalidated.write().base.branch.clone(),
        // Whoever holds the request says it.
        is_callers_id: false,
        cause: "the task of the attempt ended without an answer".to_owned(),
    };
    let (answer, answered) = oneshot::channel();
    let source = write.source();
    let at_work = core.background.enter();
    let (core, trace) = (Arc::clone(core), trace.clone());
    let span = trace.span();
    let work = async move {
        let source = source.as_deref();
        Box::pin(carry_out(&core, &trace, revalidated, state, source, restarts, answer)).await;
        drop(live);
        drop(at_work);
    };
    tokio::spawn(work.instrument(span));
    answered.await.unwrap_or(Ok(Attempted::done(WriteOutcome::OutcomeUnknown(unknown))))
}

fn gates_of(write: &PreparedWrite) -> GateSet {
    let targets = write.effects.iter().map(|effect| &effect.target);
    let keys = targets.map(|target| (target.physical_ref.to_string(), target.identity));
    GateSet::for_writer(write.base.branch.native.as_str(), keys)
}

/// Takes a revalidated attempt to its end and sends the answer as soon as it is certain.
async fn carry_out(
    core: &Arc<Core>,
    trace: &Trace,
    revalidated: Revalidated<StagedPayload, Held>,
    state: ManifestState,
    source: Option<&Captured>,
    restarts: u32,
    answer: oneshot::Sender<Answered>,
) {
    // E: the intent is durable before the first effect (RFC 3.2).
    let armed = match arm(core, revalidated).instrument(trace.arm()).await {
        Ok(armed) => armed,
        Err(kind) => return reply(answer, Err(kind)),
    };
    let branch = core.branch();
    let progress = Progress::of_armed(core, armed.write().attempt, branch.native.clone());
    if let Some(source) = source
        && let Err(error) = source.is_kept(core).await
    {
        return reply(answer, retired(core, armed, &progress, restarts, error).await);
    }
    match to_publication(core, trace, armed, &state, restarts, &progress).await {
        Ok((published, commit)) => {
            // H: the caller has its receipt before the records go.
            let (intent, _) = published.finalize();
            let outcome = acknowledge(core, &commit, restarts).await;
            reply(answer, Ok(Attempted::done(outcome)));
            let records = progress.records();
            finalize(core, &intent, &records).instrument(trace.finalize()).await;
        }
        Err(failed) => {
            let attempted = resolve_own(core, *failed, &progress.records(), restarts).await;
            reply(answer, Ok(attempted));
        }
    }
}

/// How an attempt ends whose effects have a precondition that does not hold: it had none.
async fn retired(
    core: &Arc<Core>,
    armed: Armed<StagedPayload, Held>,
    progress: &Progress,
    restarts: u32,
    error: WriteErrorKind,
) -> Answered {
    let steps = vec![OwnSteps::NoneLanded; armed.write().effects.len()];
    let setback = Setback::new(RestartReason::StepRefused, &error);
    let failed = Failed::lost(armed.into_recovery(), steps, setback);
    match resolve_own(core, *failed, &progress.records(), restarts).await {
        Attempted::Again(_) => Err(error),
        done => Ok(done),
    }
}

fn reply(answer: oneshot::Sender<Answered>, answered: Answered) {
    // The caller may be gone; the attempt has run to its end all the same.
    let _ = answer.send(answered);
}

async fn arm(
    core: &Core,
    revalidated: Revalidated<StagedPayload, Held>,
) -> Result<Armed<StagedPayload, Held>, WriteErrorKind> {
    core.options.hooks.reach(Failpoint::PreArm).await?;
    let owner = core.options.process.owner();
    let intent = revalidated.intent(owner, core.options.env.unix_micros());
    let attempt = intent.attempt;
    match core.intents.arm(intent).await {
        Ok(Arming::Armed(durable)) => Ok(revalidated.arm(*durable)?),
        Ok(Arming::NameTaken) => Err(WriteErrorKind::Internal {
            reason: format!("the records of attempt {attempt} exist already"),
        }),
        // No effect was issued under it, and none will be: if it is there, the next barrier closes
        // it.
        Ok(Arming::Unknown(cause)) => Err(WriteErrorKind::ArmUnknown { attempt, cause }),
        Err(cause) => Err(WriteErrorKind::Arm { attempt, cause: Box::new(cause) }),
    }
}

type Publication = (Published<Held>, Box<CommitRow>);

/// F and G: every effect, then the one manifest commit that makes them visible.
async fn to_publication(
    core: &Core,
    trace: &Trace,
    armed: Armed<StagedPayload, Held>,
    state: &ManifestState,
    restarts: u32,
    progress: &Progress,
) -> Result<Publication, Box<Failed>> {
    if let Err(injected) = core.options.hooks.reach(Failpoint::PostArm).await {
        return Err(Failed::injected(armed.into_recovery(), injected));
    }
    let effects = effects(core, armed, state, restarts, progress).instrument(trace.effects());
    let (applied, ahead) = Box::pin(effects).await?;
    if core.store.has(Defect::IntentDeletedEarly) {
        let _ = core.delete_records(applied.intent().attempt, &progress.records()).await;
    }
    if let Err(injected) = core.options.hooks.reach(Failpoint::PrePublish).await {
        return Err(Failed::injected(applied.into_recovery(), injected));
    }
    publish(core, applied, state, ahead).instrument(trace.publish()).await
}

type AppliedWith = (Applied<Held>, Option<StagedAhead>);

/// Every effect, and beside them the data of the manifest commit.
async fn effects(
    core: &Core,
    armed: Armed<StagedPayload, Held>,
    state: &ManifestState,
    restarts: u32,
    progress: &Progress,
) -> Result<AppliedWith, Box<Failed>> {
    let ahead = stage_ahead(core, &armed, state, restarts);
    let (ended, ahead) = tokio::join!(apply(core, &armed, restarts, progress), ahead);
    match ended {
        Effects::Complete(achieved) => match armed.applied(&achieved) {
            Ok(applied) => Ok((applied, ahead)),
            Err((outside, armed)) => {
                let steps = vec![OwnSteps::SomeLanded; armed.write().effects.len()];
                let setback = Setback::new(RestartReason::NotPublished, outside);
                Err(Failed::lost(armed.into_recovery(), steps, setback))
            }
        },
        Effects::Lost { steps, setback } => {
            Err(Failed::lost(armed.into_recovery(), steps, setback))
        }
        Effects::Injected(injected) => Err(Failed::injected(armed.into_recovery(), injected)),
    }
}

/// A restarted attempt has met somebody, and may lose its effects: it does not write ahead.
async fn stage_ahead(
    core: &Core,
    armed: &Armed<StagedPayload, Held>,
    state: &ManifestState,
    restarts: u32,
) -> Option<StagedAhead> {
    let foreseen = armed.foreseen().filter(|_| restarts == 0)?;
    core.manifest.stage_ahead(armed.intent(), &foreseen, state).await
}

async fn publish(
    core: &Core,
    applied: Applied<Held>,
    state: &ManifestState,
    ahead: Option<StagedAhead>,
) -> Result<Publication, Box<Failed>> {
    use RestartReason::{Closed, NotPublished, OperationDecided};
    let transition = Transition::Commit { intent: applied.intent(), delta: applied.delta() };
    let outcome = core.manifest.publish_staged(transition, state, ahead).await;
    let publish_is_open = matches!(outcome, Err(ManifestError::Unknown { .. }));
    let (reason, text) = match outcome {
        Ok(PublishOutcome::Committed { state, commit }) => {
            let published = applied.published(state.base().manifest.clone());
            if let Err(injected) = core.options.hooks.reach(Failpoint::PostPublish).await {
                tracing::warn!(%injected, "the commit is visible; its records stay");
            }
            return Ok((published, commit));
        }
        Ok(PublishOutcome::Stale { stale, .. }) => {
            (RestartReason::stale(&stale), stale.to_string())
        }
        Ok(PublishOutcome::AlreadyDecided { .. }) => {
            (Closed, "the attempt was stalled and another process closed it".to_owned())
        }
        Ok(PublishOutcome::OperationTaken { .. }) => {
            (OperationDecided, "the same operation was committed by another attempt".to_owned())
        }
        Ok(PublishOutcome::OperationSealed { .. }) => {
            (OperationDecided, "the operation was sealed".to_owned())
        }
        Ok(other) => (NotPublished, format!("the manifest answered {other:?}")),
        Err(ManifestError::Unknown { cause, .. }) => (NotPublished, cause.to_string()),
        Err(error) => (NotPublished, error.to_string()),
    };
    let steps = vec![OwnSteps::SomeLanded; applied.write().effects.len()];
    let setback = Setback { reason, text, publish_is_open };
    Err(Failed::lost(applied.into_recovery(), steps, setback))
}

/// Best effort: whatever is left, the next barrier removes.
async fn finalize(core: &Core, intent: &Intent, records: &RecordSet) {
    if core.options.hooks.reach(Failpoint::PreIntentDelete).await.is_err() {
        return;
    }
    if let Err(error) = core.delete_records(intent.attempt, records).await {
        tracing::warn!(attempt = %intent.attempt, %error, "the intent stays for the next barrier");
    }
}
