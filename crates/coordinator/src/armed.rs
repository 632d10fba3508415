//! Stages E to H: from the durable intent to the answer. This runs in a task of its own, so that no
//! caller can stop it half-way; whatever ends it early goes to recovery, under the gates held.

use std::sync::Arc;

use graphwrite_adapters::StagedPayload;
use graphwrite_gates::GateGuard;
use graphwrite_manifest::{CommitRow, ManifestError, ManifestState, PublishOutcome, Transition};
use graphwrite_protocol_types::{
    Applied, Armed, Failpoint, Intent, Published, Revalidated, Unknown, WriteOutcome,
};
use graphwrite_recovery::{OwnSteps, RecordSet};
use graphwrite_substrate::Arming;
use tokio::sync::oneshot;

use crate::core::Core;
use crate::effects::{Effects, apply};
use crate::error::WriteErrorKind;
use crate::progress::Progress;
use crate::receipt::receipt_of_commit;
use crate::resolve::{Failed, resolve_own};
use crate::write::Attempted;

/// The answer of one attempt.
pub(crate) type Answered = Result<Attempted, WriteErrorKind>;

/// Takes a revalidated attempt to its end and sends the answer as soon as it is certain.
pub(crate) async fn carry_out(
    core: &Arc<Core>,
    revalidated: Revalidated<StagedPayload, GateGuard>,
    state: ManifestState,
    restarts: u32,
    answer: oneshot::Sender<Answered>,
) {
    // E: the intent is durable before the first effect (RFC 3.2).
    let armed = match arm(core, revalidated).await {
        Ok(armed) => armed,
        Err(kind) => return reply(answer, Err(kind)),
    };
    let branch = core.branch();
    let progress = Progress::of_armed(core, armed.write().attempt, branch.native.clone());
    match to_publication(core, armed, &state, restarts, &progress).await {
        Ok((published, commit)) => {
            // H: the caller has its receipt before the records go.
            let receipt = receipt_of_commit(&commit, &branch, restarts);
            let (intent, _) = published.finalize();
            reply(answer, Ok(Attempted::done(WriteOutcome::Committed(receipt))));
            finalize(core, &intent, &progress.records()).await;
        }
        Err(failed) => {
            let attempted = resolve_own(core, *failed, &progress.records(), restarts).await;
            reply(answer, Ok(attempted));
        }
    }
}

fn reply(answer: oneshot::Sender<Answered>, answered: Answered) {
    // The caller may be gone; the attempt has run to its end all the same.
    let _ = answer.send(answered);
}

async fn arm(
    core: &Core,
    revalidated: Revalidated<StagedPayload, GateGuard>,
) -> Result<Armed<StagedPayload, GateGuard>, WriteErrorKind> {
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

type Publication = (Published<GateGuard>, Box<CommitRow>);

/// F and G: every effect, then the one manifest commit that makes them visible.
async fn to_publication(
    core: &Core,
    armed: Armed<StagedPayload, GateGuard>,
    state: &ManifestState,
    restarts: u32,
    progress: &Progress,
) -> Result<Publication, Box<Failed>> {
    if let Err(injected) = core.options.hooks.reach(Failpoint::PostArm).await {
        return Err(Failed::injected(armed.into_recovery(), injected));
    }
    let applied = effects(core, armed, restarts, progress).await?;
    if let Err(injected) = core.options.hooks.reach(Failpoint::PrePublish).await {
        return Err(Failed::injected(applied.into_recovery(), injected));
    }
    publish(core, applied, state).await
}

async fn effects(
    core: &Core,
    armed: Armed<StagedPayload, GateGuard>,
    restarts: u32,
    progress: &Progress,
) -> Result<Applied<GateGuard>, Box<Failed>> {
    match apply(core, &armed, restarts, progress).await {
        Effects::Complete(achieved) => armed.applied(&achieved).map_err(|(outside, armed)| {
            let steps = vec![OwnSteps::SomeLanded; armed.write().effects.len()];
            Failed::lost(armed.into_recovery(), steps, outside.to_string())
        }),
        Effects::Lost { steps, reason } => Err(Failed::lost(armed.into_recovery(), steps, reason)),
        Effects::Injected(injected) => Err(Failed::injected(armed.into_recovery(), injected)),
    }
}

async fn publish(
    core: &Core,
    applied: Applied<GateGuard>,
    state: &ManifestState,
) -> Result<Publication, Box<Failed>> {
    let transition = Transition::Commit { intent: applied.intent(), delta: applied.delta() };
    let outcome = core.manifest.publish(transition, state).await;
    let reason = match outcome {
        Ok(PublishOutcome::Committed { state, commit }) => {
            let published = applied.published(state.base().manifest.clone());
            if let Err(injected) = core.options.hooks.reach(Failpoint::PostPublish).await {
                tracing::warn!(%injected, "the commit is visible; its records stay");
            }
            return Ok((published, commit));
        }
        Ok(PublishOutcome::Stale { stale, .. }) => stale.to_string(),
        Ok(PublishOutcome::AlreadyDecided { .. }) => {
            "the attempt was stalled and another process closed it".to_owned()
        }
        Ok(PublishOutcome::OperationTaken { .. }) => {
            "the same operation was committed by another attempt".to_owned()
        }
        Ok(other) => format!("the manifest answered {other:?}"),
        Err(ManifestError::Unknown { cause, .. }) => cause.to_string(),
        Err(error) => error.to_string(),
    };
    let steps = vec![OwnSteps::SomeLanded; applied.write().effects.len()];
    Err(Failed::lost(applied.into_recovery(), steps, reason))
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

/// What is said of an attempt whose fate is open.
pub(crate) fn unknown(intent: &Intent, cause: String) -> WriteOutcome {
    WriteOutcome::OutcomeUnknown(Unknown {
        operation: intent.operation.clone(),
        attempt: intent.attempt,
        branch: intent.branch.clone(),
        cause,
    })
}
