//! Stage A: the recovery barrier of a request (RFC 4.1). Whatever overlaps it is resolved in place,
//! or the request has its answer.

use std::sync::Arc;

use graphwrite_protocol_types::{Full, RecoveryMode, WriteOutcome};
use graphwrite_recovery::BarrierOutcome;

use crate::core::Core;
use crate::error::WriteErrorKind;
use crate::healed::Healed;
use crate::operation::Write;
use crate::port::Port;

/// Runs the barrier and notes what it ended; an answer means that the request cannot go on.
pub(crate) async fn clear_the_way(
    core: &Arc<Core>,
    write: &Write,
    healed: &mut Healed,
) -> Result<Option<WriteOutcome>, WriteErrorKind> {
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
            Ok(None)
        }
        BarrierOutcome::Contended(contention) => Ok(Some(WriteOutcome::Contended(contention))),
        BarrierOutcome::RecoveryRequired(unresolved) => {
            Ok(Some(WriteOutcome::RecoveryRequired(unresolved)))
        }
        BarrierOutcome::Blocked(object) => Err(WriteErrorKind::Blocked(object)),
        BarrierOutcome::Probed => Err(WriteErrorKind::Internal {
            reason: "the barrier of a write only probed".to_owned(),
        }),
    }
}
