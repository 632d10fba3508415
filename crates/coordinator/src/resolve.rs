//! An attempt of ours that was armed and cannot go on: resolved at once through its own intent, by
//! the interpreter that another process would use, under the gates still held (RFC 4.6, 4.7).

use std::sync::Arc;

use graphwrite_protocol_types::{
    BranchDeleted, CommitId, Full, Intent, RecoveryMode, Unknown, Unresolved, WriteOutcome,
};
use graphwrite_recovery::{Interpreter, OwnSteps, Owner, RecordSet, Resolution};

use crate::Injected;
use crate::acknowledge::acknowledge;
use crate::core::Core;
use crate::error::WriteErrorKind;
use crate::held::Held;
use crate::operation::sealed;
use crate::port::Port;
use crate::restart::{Attempted, Obstacle, Setback};

/// An armed attempt that stopped.
#[derive(Debug)]
pub(crate) struct Failed {
    intent: Intent,
    gates: Held,
    why: Why,
}

#[derive(Debug)]
enum Why {
    /// A step lost, or is not known.
    Lost { steps: Vec<OwnSteps>, setback: Setback },
    /// A test stopped it; its records stay, as after a crash.
    Injected(Injected),
}

impl Failed {
    pub(crate) fn lost(
        (intent, gates): (Intent, Held),
        steps: Vec<OwnSteps>,
        setback: Setback,
    ) -> Box<Self> {
        Box::new(Self { intent, gates, why: Why::Lost { steps, setback } })
    }

    pub(crate) fn injected((intent, gates): (Intent, Held), injected: Injected) -> Box<Self> {
        Box::new(Self { intent, gates, why: Why::Injected(injected) })
    }
}

/// Resolves an attempt of this process that has left `records`. Effects may have been issued, so what
/// cannot be established is an outcome, never an error.
pub(crate) async fn resolve_own(
    core: &Arc<Core>,
    failed: Failed,
    records: &RecordSet,
    restarts: u32,
) -> Attempted {
    let Failed { intent, gates, why } = failed;
    let (steps, setback) = match why {
        Why::Lost { steps, setback } => (steps, setback),
        Why::Injected(injected) => {
            return Attempted::done(unknown(&intent, injected.to_string()));
        }
    };
    let port = Port::new(core);
    let mode = RecoveryMode::Full(Full::granted());
    let interpreter = Interpreter::new(&port, &mode, &core.options.waits);
    let resolved =
        Box::pin(interpreter.resolve(&intent, records, &Owner::OwnStopped { steps })).await;
    drop(gates);
    let open = |fault: &dyn std::fmt::Display| {
        Attempted::done(unknown(&intent, format!("{}; then {fault}", setback.text)))
    };
    match resolved {
        Ok(resolution) => {
            core.counters.resolved(&resolution);
            let answered = answer(core, &intent, resolution, setback.clone(), restarts).await;
            answered.unwrap_or_else(|kind| open(&kind))
        }
        Err(fault) => open(&fault),
    }
}

async fn answer(
    core: &Core,
    intent: &Intent,
    resolution: Resolution,
    setback: Setback,
    restarts: u32,
) -> Result<Attempted, WriteErrorKind> {
    match resolution {
        Resolution::Committed { .. } => committed(core, intent, restarts).await,
        // Somebody else ended it; which way, the manifest says.
        Resolution::Vanished => {
            match core.manifest.state().await?.outcome_of_attempt(intent.attempt).await? {
                Some(row) if row.commit().is_some() => committed(core, intent, restarts).await,
                _ => without_effect(core, intent, setback).await,
            }
        }
        Resolution::RolledBack { .. } | Resolution::Empty { .. } => {
            without_effect(core, intent, setback).await
        }
        Resolution::Discarded { .. } => Ok(on_deleted_branch(core, intent, setback).await),
        Resolution::Waiting(_) => Ok(Attempted::done(unknown(intent, setback.text))),
        Resolution::Stopped(stopped) if stopped.aborted => {
            Ok(Attempted::done(WriteOutcome::RecoveryRequired(Unresolved {
                attempt: intent.attempt,
                operation: Some(intent.operation.clone()),
                table: stopped.effect.and_then(|at| table_of(intent, at)),
                reason: format!("{}; {}", setback.text, stopped.reason),
            })))
        }
        Resolution::Stopped(stopped) => {
            Ok(Attempted::done(unknown(intent, format!("{}; {}", setback.text, stopped.reason))))
        }
    }
}

/// An attempt that is over and took nothing with it is followed by another, unless its operation was
/// sealed: then no attempt can commit.
async fn without_effect(
    core: &Core,
    intent: &Intent,
    setback: Setback,
) -> Result<Attempted, WriteErrorKind> {
    let state = core.manifest.known_state();
    let decided = state.outcome_of_operation(&intent.operation).await?;
    Ok(match decided.as_ref().and_then(sealed) {
        Some(conflict) => Attempted::done(WriteOutcome::Conflict(conflict)),
        None => Attempted::Again(Obstacle::Overtaken(setback)),
    })
}

async fn committed(
    core: &Core,
    intent: &Intent,
    restarts: u32,
) -> Result<Attempted, WriteErrorKind> {
    let state = core.manifest.state().await?;
    let commit = state.commit(intent.lineage.commit).await?;
    let row = commit.ok_or_else(|| WriteErrorKind::Internal {
        reason: format!("commit {} has no lineage row", intent.lineage.commit),
    })?;
    Ok(Attempted::done(acknowledge(core, &row, restarts).await))
}

/// The branch was deleted under the attempt, so that nobody decides it any more. What it can be told is
/// whether its commit is there, which a fork may hold; while a commit may still land, that is open.
async fn on_deleted_branch(core: &Core, intent: &Intent, setback: Setback) -> Attempted {
    let landed = landed(core, intent).await;
    match landed {
        Ok(None) if setback.publish_is_open => Attempted::done(unknown(intent, setback.text)),
        Ok(landed) => Attempted::done(WriteOutcome::BranchDeleted(BranchDeleted {
            operation: intent.operation.clone(),
            branch: intent.branch.clone(),
            landed,
        })),
        // What the branch holds cannot be read any more: only an attempt that never asked for its
        // commit knows that there is none.
        Err(fault) => Attempted::done(unknown(intent, format!("{}; then {fault}", setback.text))),
    }
}

async fn landed(core: &Core, intent: &Intent) -> Result<Option<CommitId>, WriteErrorKind> {
    let row = core.manifest.state().await?.outcome_of_attempt(intent.attempt).await?;
    Ok(row.and_then(|row| row.commit()))
}

/// The name under which the intent knew the table of an effect.
fn table_of(intent: &Intent, effect: u32) -> Option<String> {
    let identity = intent.effects.get(effect as usize)?.target.identity;
    let named = intent.table_name(identity);
    Some(named.map_or_else(|| identity.to_string(), str::to_owned))
}

/// What is said of an attempt whose fate is open.
fn unknown(intent: &Intent, cause: String) -> WriteOutcome {
    WriteOutcome::OutcomeUnknown(Unknown {
        operation: intent.operation.clone(),
        attempt: intent.attempt,
        branch: intent.branch.clone(),
        // An intent does not say it; whoever holds the request does.
        is_callers_id: false,
        cause,
    })
}
