//! Stage A: the recovery barrier of a request (RFC 4.1). Whatever overlaps it is resolved in place,
//! or the request has its answer.

use std::ops::ControlFlow;
use std::sync::Arc;

use graphwrite_manifest::ManifestState;
use graphwrite_protocol_types::{Full, RecoveryMode, WriteOutcome};
use graphwrite_recovery::BarrierOutcome;

use crate::core::Core;
use crate::error::WriteErrorKind;
use crate::healed::Healed;
use crate::operation::Write;
use crate::port::Port;

/// The base for stage B behind a clean barrier, or the answer of a request that cannot go on. The base
/// is read beside the barrier, and kept only if nothing had to be resolved.
pub(crate) async fn clear_the_way(
    core: &Arc<Core>,
    write: &Write,
    healed: &mut Healed,
) -> Result<ControlFlow<WriteOutcome, ManifestState>, WriteErrorKind> {
    let (cleared, beside, current) =
        tokio::join!(clear(core, write, healed), core.manifest.state(), core.is_current());
    if !current? {
        let deleted = write.told_deleted(core, None);
        return Ok(ControlFlow::Break(WriteOutcome::BranchDeleted(deleted)));
    }
    Ok(match cleared? {
        ControlFlow::Break(outcome) => ControlFlow::Break(outcome),
        ControlFlow::Continue(Changed(false)) => ControlFlow::Continue(beside?),
        ControlFlow::Continue(Changed(true)) => ControlFlow::Continue(core.manifest.state().await?),
    })
}

/// Whether the branch may have changed under the barrier.
struct Changed(bool);

/// Runs the barrier and notes what it ended.
async fn clear(
    core: &Arc<Core>,
    write: &Write,
    healed: &mut Healed,
) -> Result<ControlFlow<WriteOutcome, Changed>, WriteErrorKind> {
    let port = Port::new(core);
    let mode = RecoveryMode::Full(Full::granted());
    let footprint = write.footprint(core)?;
    let options = &core.options;
    let report = graphwrite_recovery::run(
        &port,
        &mode,
        Some(&footprint),
        options.process.as_ref(),
        &options.waits,
    );
    let report = Box::pin(report).await?;
    report.resolved.iter().for_each(|(_, resolution)| core.counters.resolved(resolution));
    match report.outcome {
        BarrierOutcome::Clean => {
            healed.note(core, &report.resolved).await?;
            Ok(ControlFlow::Continue(Changed(report.has_changed_anything())))
        }
        BarrierOutcome::Contended(contention) => {
            Ok(ControlFlow::Break(WriteOutcome::Contended(contention)))
        }
        BarrierOutcome::RecoveryRequired(unresolved) => {
            Ok(ControlFlow::Break(WriteOutcome::RecoveryRequired(unresolved)))
        }
        BarrierOutcome::Blocked(object) => Err(WriteErrorKind::Blocked(object)),
        BarrierOutcome::Probed => Err(WriteErrorKind::Internal {
            reason: "the barrier of a write only probed".to_owned(),
        }),
    }
}
