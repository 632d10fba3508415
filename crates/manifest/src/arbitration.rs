//! Who may publish what over a state: the pure half of K2 and RFC 4.7. It compares rows and tokens;
//! it must not know storage, and it is asked again at every try.

use graphwrite_protocol_types::{AttemptId, BaseView, CommitId, Intent, OperationId, Stale};

use crate::outcome_row::{OutcomeKind, OutcomeRow};

/// What arbitration says of a graph commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CommitVerdict {
    /// It may be published over this state.
    Publish,
    /// It is published already, by this very attempt.
    Converged(CommitId),
    /// The attempt was decided otherwise.
    AlreadyDecided(OutcomeRow),
    /// Another attempt of the operation has committed.
    OperationTaken(OutcomeRow),
    /// The operation was sealed.
    OperationSealed(OutcomeRow),
    /// A member of the read set has changed.
    Stale(Stale),
}

/// Judges the commit of `intent` over `base`. `found` holds every outcome row of the attempt or the
/// operation that can have come since the operation was last searched for. Rows are looked at
/// before the read set: an attempt that has committed is the reason why its own read set fails.
pub(crate) fn judge_commit(
    intent: &Intent,
    base: &BaseView,
    found: &[OutcomeRow],
) -> CommitVerdict {
    if let Some(own) = outcome_of(intent.attempt, found) {
        return match own.commit() {
            Some(commit) => CommitVerdict::Converged(commit),
            None => CommitVerdict::AlreadyDecided(own.clone()),
        };
    }
    match decided_operation(&intent.operation, base, found) {
        Some(row) if row.sealed().is_some() => return CommitVerdict::OperationSealed(row.clone()),
        Some(row) => return CommitVerdict::OperationTaken(row.clone()),
        None => {}
    }
    match intent.read_set.check(base) {
        Ok(()) => CommitVerdict::Publish,
        Err(stale) => CommitVerdict::Stale(stale),
    }
}

/// The row that decides the operation on the branch incarnation of `base`. Rows that a clone of the
/// branch inherited do not count: an operation id is scoped to one incarnation.
pub(crate) fn decided_operation<'a>(
    operation: &OperationId,
    base: &BaseView,
    found: &'a [OutcomeRow],
) -> Option<&'a OutcomeRow> {
    found.iter().find(|row| {
        row.operation == *operation && row.is_of(&base.branch) && row.decides_operation()
    })
}

/// The row that says how the attempt ended: `rolled_back` says more than the `aborted` before it.
pub(crate) fn outcome_of(attempt: AttemptId, found: &[OutcomeRow]) -> Option<&OutcomeRow> {
    let own = || found.iter().filter(|row| row.attempt == attempt);
    own().find(|row| row.kind == OutcomeKind::RolledBack).or_else(|| own().next())
}
