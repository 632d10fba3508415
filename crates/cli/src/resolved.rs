//! What an explicit recovery did, from the library's report to the operator's.

use graphwrite_coordinator::{BarrierOutcome, BarrierReport, Resolution};
use graphwrite_protocol_types::AttemptId;

use crate::in_the_way::InTheWay;
use crate::report::{self, ResolutionEntry};

/// Whether the recovery met the attempt.
pub(crate) fn concerns(recovered: &BarrierReport, attempt: AttemptId) -> bool {
    let blocking = recovered.blocking.iter().filter_map(|object| object.attempt);
    let resolved = recovered.resolved.iter().map(|(resolved, _)| *resolved);
    let mut met = blocking.chain(resolved).chain(recovered.swept.iter().copied());
    met.any(|met| met == attempt)
}

/// The report of a recovery.
pub(crate) fn report(recovered: &BarrierReport, full: bool, graph: &str) -> report::Resolution {
    let intents = entries(recovered);
    let resolved = intents.iter().filter(|intent| intent.resolved).count();
    let pending = intents.len() - resolved;
    let contention = contention(&recovered.outcome);
    let next = next(&recovered.outcome, full, graph);
    report::Resolution { resolved, pending, intents, contention, next }
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

fn contention(outcome: &BarrierOutcome) -> Option<InTheWay> {
    match outcome {
        BarrierOutcome::Contended(contention) => Some(InTheWay::from(contention)),
        _ => None,
    }
}

fn next(outcome: &BarrierOutcome, full: bool, graph: &str) -> Option<String> {
    match outcome {
        BarrierOutcome::Clean | BarrierOutcome::Probed => None,
        BarrierOutcome::Contended(contention) => Some(format!(
            "graphwrite intent resolve {graph} {} --full --owner-is-dead, if you know that it is",
            contention.attempt
        )),
        BarrierOutcome::RecoveryRequired(unresolved) if !full => {
            Some(format!("graphwrite intent resolve {graph} {} --full", unresolved.attempt))
        }
        BarrierOutcome::RecoveryRequired(unresolved) => {
            Some(format!("graphwrite intent explain {graph} {}", unresolved.attempt))
        }
        BarrierOutcome::Blocked(_) => Some(format!("graphwrite verify {graph}")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use graphwrite_coordinator::BlockingObject;
    use graphwrite_protocol_types::Unresolved;

    use super::*;

    fn attempt(n: u128) -> AttemptId {
        AttemptId::from_u128(n)
    }

    fn recovered(outcome: BarrierOutcome) -> BarrierReport {
        let commit = graphwrite_protocol_types::CommitId::from_u128(9);
        let forward =
            Resolution::Committed { commit, rolled_forward: true, retired: <_>::default() };
        BarrierReport {
            outcome,
            resolved: vec![(attempt(1), forward), (attempt(2), Resolution::Vanished)],
            left_alone: vec![],
            live: vec![],
            swept: vec![attempt(3)],
            blocking: vec![],
            pending: vec![],
        }
    }

    fn stuck() -> BarrierOutcome {
        BarrierOutcome::RecoveryRequired(Unresolved {
            attempt: attempt(4),
            operation: None,
            table: None,
            reason: "why".into(),
        })
    }

    #[test]
    fn everything_that_is_over_counts_as_resolved() {
        let report = report(&recovered(BarrierOutcome::Clean), true, "g");
        assert_eq!((report.resolved, report.pending), (3, 0));
        assert_eq!(report.next, None);
        let actions: Vec<_> = report.intents.iter().map(|intent| intent.action).collect();
        assert_eq!(actions, ["rolled_forward", "vanished", "swept"]);
    }

    #[test]
    fn an_object_that_cannot_be_read_is_pending_and_named() {
        let object = BlockingObject {
            object: "_recovery/main/junk".into(),
            attempt: None,
            reason: "it is no record".into(),
            remedy: "move it",
            is_orphan: false,
        };
        let mut recovered = recovered(BarrierOutcome::Blocked(object.clone()));
        recovered.blocking = vec![object];
        let report = report(&recovered, true, "g");
        assert_eq!(report.pending, 1);
        assert!(report.intents.iter().any(|intent| intent.attempt_id == "_recovery/main/junk"));
    }

    #[test]
    fn what_only_the_full_mode_can_end_is_answered_with_the_full_mode() {
        let next = |full| report(&recovered(stuck()), full, "g").next.unwrap();
        assert_eq!(next(false), format!("graphwrite intent resolve g {} --full", attempt(4)));
        assert!(next(true).starts_with("graphwrite intent explain"));
    }

    #[test]
    fn an_attempt_that_was_not_met_is_told_from_one_that_was() {
        let recovered = recovered(BarrierOutcome::Clean);
        let met: BTreeSet<_> = (1..=5).filter(|n| concerns(&recovered, attempt(*n))).collect();
        assert_eq!(met, [1, 2, 3].into());
    }
}
