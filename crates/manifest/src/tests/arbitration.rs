//! The truth table of a commit: every outcome of the attempt, of another attempt of its operation,
//! and of the read set, against the rules as they are written down.

use graphwrite_protocol_types::*;

use super::world::*;
use crate::arbitration::{CommitVerdict, judge_commit};
use crate::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Own {
    None,
    Committed,
    Aborted,
    RolledBack,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Other {
    None,
    Committed,
    /// Inherited through a clone of the branch, so it does not count.
    CommittedElsewhere,
    Aborted,
    Sealed,
    /// The same name on another incarnation of the branch is another operation.
    SealedElsewhere,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Publish,
    Converged,
    AlreadyDecided,
    OperationTaken,
    OperationSealed,
    Stale,
}

const OWN: [Own; 4] = [Own::None, Own::Committed, Own::Aborted, Own::RolledBack];
const OTHER: [Other; 6] = [
    Other::None,
    Other::Committed,
    Other::CommittedElsewhere,
    Other::Aborted,
    Other::Sealed,
    Other::SealedElsewhere,
];

fn expected(own: Own, other: Other, holds: bool) -> Expected {
    match (own, other, holds) {
        (Own::Committed, ..) => Expected::Converged,
        (Own::Aborted | Own::RolledBack, ..) => Expected::AlreadyDecided,
        (Own::None, Other::Committed, _) => Expected::OperationTaken,
        (Own::None, Other::Sealed, _) => Expected::OperationSealed,
        (Own::None, _, true) => Expected::Publish,
        (Own::None, _, false) => Expected::Stale,
    }
}

fn class(verdict: &CommitVerdict) -> Expected {
    match verdict {
        CommitVerdict::Publish => Expected::Publish,
        CommitVerdict::Converged(_) => Expected::Converged,
        CommitVerdict::AlreadyDecided(_) => Expected::AlreadyDecided,
        CommitVerdict::OperationTaken(_) => Expected::OperationTaken,
        CommitVerdict::OperationSealed(_) => Expected::OperationSealed,
        CommitVerdict::Stale(_) => Expected::Stale,
    }
}

fn row(of: AttemptId, write: &Write, record: u64, kind: OutcomeKind) -> OutcomeRow {
    OutcomeRow {
        attempt: of,
        operation: write.intent.operation.clone(),
        request: (!matches!(kind, OutcomeKind::Sealed { .. })).then_some(write.intent.request),
        branch_record: record,
        manifest_version: 2,
        kind,
        recorded_at_unix_us: 1,
    }
}

fn own_rows(own: Own, write: &Write) -> Vec<OutcomeRow> {
    let row = |kind| row(write.intent.attempt, write, 0, kind);
    match own {
        Own::None => vec![],
        Own::Committed => vec![row(committed())],
        Own::Aborted => vec![row(aborted())],
        Own::RolledBack => vec![row(aborted()), row(OutcomeKind::RolledBack)],
    }
}

fn other_rows(other: Other, write: &Write) -> Vec<OutcomeRow> {
    let row = |record, kind| vec![row(attempt(77), write, record, kind)];
    match other {
        Other::None => vec![],
        Other::Committed => row(0, committed()),
        Other::CommittedElsewhere => row(3, committed()),
        Other::Aborted => row(0, aborted()),
        Other::Sealed => row(0, sealed()),
        Other::SealedElsewhere => row(3, sealed()),
    }
}

fn committed() -> OutcomeKind {
    OutcomeKind::Committed { commit: CommitId::from_u128(9) }
}

fn aborted() -> OutcomeKind {
    OutcomeKind::Aborted { by: ProcessInstanceId::from_u128(1), reason: String::new() }
}

fn sealed() -> OutcomeKind {
    OutcomeKind::Sealed { by: ProcessInstanceId::from_u128(1), reason: String::new() }
}

#[tokio::test]
async fn every_combination_is_judged_as_the_rules_say() {
    let world = World::in_memory().await;
    let state = world.open().await.known_state();
    let write = world.write(&state).writes(table(1));
    let mut cells = 0;
    for (own, other, holds) in combinations() {
        let mut base = state.base().clone();
        if !holds {
            base.heads.insert(table(1), TableHeadToken::Tombstoned);
        }
        for order in [false, true] {
            let mut found = own_rows(own, &write);
            found.extend(other_rows(other, &write));
            if order {
                found.reverse();
            }
            let verdict = judge_commit(&write.intent, &base, &found);
            let expected = expected(own, other, holds);
            assert_eq!(class(&verdict), expected, "{own:?} {other:?} {holds}");
            if let (Own::RolledBack, CommitVerdict::AlreadyDecided(row)) = (own, &verdict) {
                assert_eq!(row.kind, OutcomeKind::RolledBack, "it says more than `aborted`");
            }
            cells += 1;
        }
    }
    assert_eq!(cells, 96);
}

fn combinations() -> impl Iterator<Item = (Own, Other, bool)> {
    OWN.into_iter().flat_map(|own| {
        OTHER.into_iter().flat_map(move |other| [true, false].map(move |holds| (own, other, holds)))
    })
}
