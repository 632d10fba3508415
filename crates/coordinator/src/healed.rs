//! What a request ended on its way: the earlier attempts that its barriers found unfinished. It
//! only remembers; recovery has decided.

use std::collections::BTreeMap;

use graphwrite_protocol_types::{AttemptId, Recovered, RecoveredHow, WriteOutcome};
use graphwrite_recovery::Resolution;

use crate::ReadError;
use crate::core::Core;

/// The earlier attempts that one request ended, over all of its own attempts.
#[derive(Debug, Default)]
pub(crate) struct Healed(BTreeMap<AttemptId, Recovered>);

impl Healed {
    /// Notes what one barrier ended. The manifest is asked for the requests only if there is
    /// something to note, so that a write with nothing in its way pays nothing.
    pub(crate) async fn note(
        &mut self,
        core: &Core,
        resolved: &[(AttemptId, Resolution)],
    ) -> Result<(), ReadError> {
        let ended = resolved.iter().filter_map(|(attempt, end)| Some((*attempt, how(end)?)));
        let ended: Vec<_> = ended.filter(|(attempt, _)| !self.0.contains_key(attempt)).collect();
        if ended.is_empty() {
            return Ok(());
        }
        let state = core.manifest.state().await?;
        let rows = state.outcomes_of(ended.iter().map(|(attempt, _)| (*attempt, None))).await?;
        for (attempt, how) in ended {
            let operation = rows.of_attempt(attempt).map(|row| row.operation.clone());
            self.add(Recovered { attempt, operation, how });
        }
        Ok(())
    }

    /// An attempt that is met again, because a record of it was left, was ended the first time.
    fn add(&mut self, recovered: Recovered) {
        self.0.entry(recovered.attempt).or_insert(recovered);
    }

    /// `outcome`, with what was ended in its receipt if it has one.
    pub(crate) fn told_in(self, mut outcome: WriteOutcome) -> WriteOutcome {
        if let WriteOutcome::Committed(receipt) | WriteOutcome::NoChange(receipt) = &mut outcome {
            receipt.recovered = self.0.into_values().collect();
        }
        outcome
    }
}

/// How the attempt was ended here; none if it was not.
fn how(end: &Resolution) -> Option<RecoveredHow> {
    match end {
        Resolution::Committed { rolled_forward: true, .. } => Some(RecoveredHow::RolledForward),
        Resolution::Committed { rolled_forward: false, .. } => Some(RecoveredHow::Finalized),
        Resolution::RolledBack { .. } => Some(RecoveredHow::RolledBack),
        Resolution::Empty { .. } | Resolution::Discarded { .. } => Some(RecoveredHow::Retired),
        Resolution::Vanished | Resolution::Waiting(_) | Resolution::Stopped(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use graphwrite_protocol_types::{
        BranchToken, CommitId, Conflict, IdentityDomain, Receipt, WriterKind,
    };

    use super::*;

    fn ended(n: u128, how: RecoveredHow) -> Recovered {
        Recovered { attempt: AttemptId::from_u128(n), operation: None, how }
    }

    fn receipt() -> Receipt {
        Receipt {
            operation: "mine".parse().unwrap(),
            attempt: AttemptId::from_u128(9),
            branch: BranchToken::main(IdentityDomain::from_u128(1)),
            commit: None,
            manifest_version: 1,
            writer: WriterKind::Load,
            tables: vec![],
            restarts: 0,
            recovered: vec![],
        }
    }

    fn healed() -> Healed {
        let mut healed = Healed::default();
        healed.add(ended(2, RecoveredHow::RolledBack));
        healed.add(ended(1, RecoveredHow::RolledForward));
        healed.add(ended(1, RecoveredHow::Finalized));
        healed
    }

    #[test]
    fn both_kinds_of_receipt_name_each_ended_attempt_once_as_it_was_ended_first() {
        let expected = [ended(1, RecoveredHow::RolledForward), ended(2, RecoveredHow::RolledBack)];
        for outcome in [WriteOutcome::Committed(receipt()), WriteOutcome::NoChange(receipt())] {
            let told = healed().told_in(outcome);
            let (WriteOutcome::Committed(told) | WriteOutcome::NoChange(told)) = told else {
                panic!("{told:?}")
            };
            assert_eq!(told.recovered, expected);
        }
    }

    #[test]
    fn an_answer_without_a_receipt_stays_as_it_is() {
        let conflict = Conflict::OperationReused { commit: CommitId::from_u128(1) };
        let outcome = WriteOutcome::Conflict(conflict);
        assert_eq!(healed().told_in(outcome.clone()), outcome);
    }

    #[test]
    fn only_what_was_ended_here_is_told() {
        let (commit, retired) = (CommitId::from_u128(1), Default::default);
        let forward =
            |rolled_forward| Resolution::Committed { commit, rolled_forward, retired: retired() };
        assert_eq!(how(&forward(true)), Some(RecoveredHow::RolledForward));
        assert_eq!(how(&forward(false)), Some(RecoveredHow::Finalized));
        let back = Resolution::RolledBack { retired: retired() };
        assert_eq!(how(&back), Some(RecoveredHow::RolledBack));
        assert_eq!(how(&Resolution::Empty { retired: retired() }), Some(RecoveredHow::Retired));
        assert_eq!(how(&Resolution::Vanished), None);
    }
}
