//! Recovery on request: what is pending, and taking it to its end without a write behind it.

use std::sync::Arc;

use graphwrite_protocol_types::{Answer, AttemptId, Full, Purpose, RecoveryMode, RollForward};
use graphwrite_recovery::{
    BarrierError, BarrierReport, BlockingObject, Explanation, resolve_attempt, run,
};
use thiserror::Error;
use tracing::Instrument;

use crate::core::Core;
use crate::orphans::{OrphansOf, run_orphans};
use crate::port::Port;
use crate::spans;
use crate::{PortError, ReadError};

/// How far recovery on request may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoverMode {
    /// Publish what is complete, delete the records of what is decided.
    RollForward,
    /// Also abort and take back.
    Full,
}

/// What is to be resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecoverRequest {
    /// One attempt, or all.
    pub attempt: Option<AttemptId>,
    /// How far to go.
    pub mode: RecoverMode,
    /// The operator's word that the owner of the attempt does not run any more.
    pub owner_is_dead: bool,
}

/// What is pending on the branch, and what among its records cannot be understood; on main, also of
/// branches that are deleted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PendingIntents {
    /// The armed intents, in attempt order.
    pub intents: Vec<Explanation>,
    /// The objects that cannot be understood. Each of them stops every write to its branch, unless
    /// that is deleted.
    pub blocking: Vec<BlockingObject>,
}

impl PendingIntents {
    /// Whether nothing is left of earlier writes.
    pub fn is_empty(&self) -> bool {
        self.intents.is_empty() && self.blocking.is_empty()
    }
}

/// Recovery on request did not come to a report.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecoverError {
    /// The handle was opened for reading.
    #[error("the graph was opened read-only")]
    ReadOnly,
    /// The branch that the handle is on is deleted, or whether it is cannot be read. What it has left
    /// is discarded by recovery of main.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A word about an owner needs an attempt.
    #[error("an owner can be declared dead for one attempt only; name it")]
    OwnerOfNone,
    /// A fault of the storage.
    #[error(transparent)]
    Barrier(Box<BarrierError<PortError>>),
}

impl From<BarrierError<PortError>> for RecoverError {
    fn from(error: BarrierError<PortError>) -> Self {
        Self::Barrier(Box::new(error))
    }
}

impl Answer for RecoverError {
    fn code(&self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::OwnerOfNone => "usage",
            Self::Read(error) => error.code(),
            Self::Barrier(_) => "storage",
        }
    }

    fn may_retry(&self) -> bool {
        match self {
            Self::Read(error) => error.may_retry(),
            Self::Barrier(_) => true,
            Self::ReadOnly | Self::OwnerOfNone => false,
        }
    }

    fn had_no_effect(&self) -> bool {
        !matches!(self, Self::Barrier(_))
    }

    fn help(&self) -> String {
        match self {
            Self::ReadOnly => "open the graph for writing".into(),
            Self::OwnerOfNone => "`graphwrite intent list <graph>` lists the attempts".into(),
            Self::Read(error) => error.help(),
            Self::Barrier(_) => "correct what the message names and run it again".into(),
        }
    }
}

/// What is pending and what would be done about it; on main, also what deleted branches have left.
/// Reads only.
pub(crate) async fn pending(core: &Arc<Core>) -> Result<PendingIntents, RecoverError> {
    let mut found = core.unless_deleted(probe(core)).await?;
    if core.branch().native.is_main() {
        let all = OrphansOf::AllBranches;
        found = found.and(run_orphans(core, all, &RecoveryMode::Probe, None).await?);
    }
    Ok(PendingIntents { intents: found.pending, blocking: found.blocking })
}

/// The same, as recovery reports it.
pub(crate) async fn probe(core: &Arc<Core>) -> Result<BarrierReport, RecoverError> {
    let port = Port::new(core);
    let local = core.options.process.as_ref();
    let report = run(&port, &RecoveryMode::Probe, None, local, &core.options.waits);
    Ok(Box::pin(report).await?)
}

/// Resolves one attempt or all.
pub(crate) async fn recover(
    core: &Arc<Core>,
    request: RecoverRequest,
) -> Result<BarrierReport, RecoverError> {
    if core.purpose == Purpose::Read {
        return Err(RecoverError::ReadOnly);
    }
    core.refuse_deleted().await?;
    let span = spans::recover(core, &request);
    let report = Box::pin(resolve(core, request)).instrument(span.clone()).await;
    spans::recovered(&span, &report);
    report
}

async fn resolve(core: &Arc<Core>, request: RecoverRequest) -> Result<BarrierReport, RecoverError> {
    let (port, orphans) = listed(core).await?;
    let (local, waits) = (core.options.process.as_ref(), &core.options.waits);
    let mode = match request.mode {
        RecoverMode::RollForward => RecoveryMode::RollForward(RollForward::granted()),
        RecoverMode::Full => RecoveryMode::Full(Full::granted()),
    };
    let report = match request.attempt {
        Some(attempt) => {
            let dead = request.owner_is_dead;
            Box::pin(resolve_attempt(&port, &mode, attempt, dead, local, waits)).await?
        }
        None if request.owner_is_dead => return Err(RecoverError::OwnerOfNone),
        None => Box::pin(run(&port, &mode, None, local, waits)).await?,
    };
    let report = match request.attempt {
        _ if !orphans => report,
        Some(_) if !report.is_empty() => report,
        attempt => report.and(run_orphans(core, OrphansOf::AllBranches, &mode, attempt).await?),
    };
    report.resolved.iter().for_each(|(_, resolution)| core.counters.resolved(resolution));
    Ok(report)
}

/// The port of the branch, and whether there are records that may be of deleted branches. On main one
/// LIST shows both.
async fn listed(core: &Arc<Core>) -> Result<(Port, bool), RecoverError> {
    let own = core.branch().native;
    if !own.is_main() {
        return Ok((Port::new(core), false));
    }
    let mut all = core.intents.list_all().await.map_err(ReadError::from)?;
    let port = Port::over(core, all.remove(&own).unwrap_or_default());
    Ok((port, !all.is_empty()))
}
