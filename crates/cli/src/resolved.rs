//! What an explicit recovery did, from the library's report to the operator's.

use graphwrite_coordinator::{BarrierOutcome, BarrierReport, Resolution};
use graphwrite_protocol_types::AttemptId;

use crate::report::{self, ResolutionEntry};

/// The report of a recovery.
pub(crate) fn report(recovered: &BarrierReport, graph: &str) -> report::Resolution {
    let intents: Vec<_> = entries(recovered);
    let resolved = intents.iter().filter(|intent| intent.resolved).count();
    let pending = intents.len() - resolved;
    report::Resolution { resolved, pending, intents, next: next(&recovered.outcome, graph) }
}

fn entries(recovered: &BarrierReport) -> Vec<ResolutionEntry> {
    let resolved = recovered.resolved.iter().map(|(attempt, how)| entry(*attempt, how));
    let swept = recovered.swept.iter().map(|attempt| ResolutionEntry {
        attempt_id: attempt.to_string(),
        action: "swept",
        message: "only signs of progress were left; they are deleted".to_owned(),
        resolved: true,
    });
    let blocking = recovered.blocking.iter().map(|object| ResolutionEntry {
        attempt_id: object.attempt.map_or_else(|| object.object.clone(), |id| id.to_string()),
        action: "blocked",
        message: object.to_string(),
        resolved: false,
    });
    resolved.chain(swept).chain(blocking).collect()
}

fn entry(attempt: AttemptId, how: &Resolution) -> ResolutionEntry {
    let (action, message) = words(how);
    ResolutionEntry { attempt_id: attempt.to_string(), action, message, resolved: how.is_over() }
}

fn words(how: &Resolution) -> (&'static str, String) {
    match how {
        Resolution::Committed { commit, rolled_forward: true, .. } => {
            ("rolled_forward", format!("commit {commit} is visible now"))
        }
        Resolution::Committed { commit, rolled_forward: false, .. } => {
            ("finalized", format!("commit {commit} was visible; its record is deleted"))
        }
        Resolution::RolledBack { .. } => ("rolled_back", "it is taken back for good".to_owned()),
        Resolution::Empty { .. } => ("retired", "it had no effect and can have none".to_owned()),
        Resolution::Discarded { .. } => {
            ("discarded", "its branch was deleted; its record is too".to_owned())
        }
        Resolution::Vanished => ("vanished", "somebody else ended it meanwhile".to_owned()),
        Resolution::Waiting(_) => ("waiting", "its owner may be alive and was active".to_owned()),
        Resolution::Stopped(stopped) => ("stopped", stopped.reason.to_string()),
    }
}

fn next(outcome: &BarrierOutcome, graph: &str) -> Option<String> {
    match outcome {
        BarrierOutcome::Clean | BarrierOutcome::Probed => None,
        BarrierOutcome::Contended(contention) => Some(format!(
            "graphwrite intent resolve {graph} {} --full --owner-is-dead, if you know that it is",
            contention.attempt
        )),
        BarrierOutcome::RecoveryRequired(unresolved) => {
            Some(format!("graphwrite intent explain {graph} {}", unresolved.attempt))
        }
        BarrierOutcome::Blocked(_) => Some(format!("graphwrite verify {graph}")),
    }
}
