//! The deletion of the source branch behind a merge: only while the merged commit is its head. What is not
//! deleted is told beside a merge that stands.

use graphwrite_coordinator::{BranchError, DeleteBranch, Graph, MergeReport, ReadError};
use graphwrite_protocol_types::{Answer, BranchName, CommitId, GraphHeadToken, WriteOutcome};

use crate::classes::failed;
use crate::failure::{Effect, Failure};
use crate::report::{ReceiptReport, SourceBranch};

/// A merge that is done.
pub(super) struct Merged<'a> {
    pub(super) outcome: &'a WriteOutcome,
    pub(super) report: Option<&'a MergeReport>,
}

/// What became of the source branch.
pub(super) enum Deletion {
    Deleted,
    /// There is no branch of its name; an earlier run has deleted it, or somebody else has.
    Gone,
    /// It is kept, or nobody knows.
    Not(BranchError),
}

impl Merged<'_> {
    /// Deletes the branch if the merged commit still is its head.
    pub(super) async fn delete_source(
        &self,
        graph: &Graph,
        name: &BranchName,
        actor: String,
    ) -> Deletion {
        let merged = match self.merged(graph).await {
            Ok(merged) => merged,
            Err(error) => return Deletion::Not(error),
        };
        let expect_head = Some(GraphHeadToken(merged));
        match graph.delete_branch(DeleteBranch { name: name.clone(), actor, expect_head }).await {
            Ok(()) => Deletion::Deleted,
            Err(BranchError::NoSuchBranch { .. }) => Deletion::Gone,
            Err(error) => Deletion::Not(error),
        }
    }

    /// The commit that was merged. A request that is answered with an earlier receipt compares nothing;
    /// its commit has it as its second parent.
    async fn merged(&self, graph: &Graph) -> Result<Option<CommitId>, BranchError> {
        if let Some(report) = self.report {
            return Ok(report.source.commit);
        }
        let (WriteOutcome::Committed(receipt) | WriteOutcome::NoChange(receipt)) = self.outcome
        else {
            return Ok(None);
        };
        let Some(commit) = receipt.commit else { return Ok(None) };
        let found = graph.commit(commit).await?;
        let merged = found.and_then(|commit| commit.parents.get(1).copied());
        merged.map(Some).ok_or_else(|| ReadError::NoSuchCommit { commit }.into())
    }
}

impl Deletion {
    /// The same for the answer, and the failure of a command that has not done all that was asked.
    pub(super) fn told(
        self,
        name: &BranchName,
        receipt: &ReceiptReport,
        place: &str,
    ) -> (Option<SourceBranch>, Option<Failure>) {
        let told = |state, code, message| {
            Some(SourceBranch { branch: name.to_string(), state, code, message })
        };
        match self {
            Self::Deleted => (told("deleted", None, None), None),
            Self::Gone => (told("gone", None, None), None),
            Self::Not(error) => {
                let (is_unknown, code) = (!error.had_no_effect(), error.code());
                let state = if is_unknown { "unknown" } else { "kept" };
                let source = told(state, Some(code), Some(error.to_string()));
                (source, Some(failure(&error, name, receipt, place)))
            }
        }
    }
}

/// The merge stands, whatever became of the branch.
fn failure(
    error: &BranchError,
    name: &BranchName,
    receipt: &ReceiptReport,
    place: &str,
) -> Failure {
    let is_committed = receipt.outcome == "committed";
    let merged = match &receipt.commit_id {
        Some(commit) if is_committed => format!("the merge is committed as {commit}"),
        _ => "nothing was left to merge".to_owned(),
    };
    let branch = match error.had_no_effect() {
        true => format!("branch `{name}` is kept"),
        false => format!("whether branch `{name}` is deleted is not known"),
    };
    let failure = failed(error, place);
    let effect = if is_committed { Effect::Committed } else { failure.effect };
    let message = format!("{merged}, and {branch}: {error}");
    Failure { message, effect, ..failure }.operation(&receipt.operation_id)
}

#[cfg(test)]
mod tests {
    use graphwrite_protocol_types::{AttemptId, BranchToken, IdentityDomain, Receipt, WriterKind};

    use super::*;
    use crate::exit::Exit;

    fn receipt() -> Receipt {
        Receipt {
            operation: "nightly".parse().unwrap(),
            attempt: AttemptId::from_u128(1),
            branch: BranchToken::main(IdentityDomain::from_u128(1)),
            commit: Some(CommitId::from_u128(2)),
            manifest_version: 3,
            writer: WriterKind::Merge,
            tables: vec![],
            restarts: 0,
            recovered: vec![],
        }
    }

    fn told(error: BranchError, receipt: &ReceiptReport) -> (SourceBranch, Failure) {
        let (source, failure) = Deletion::Not(error).told(&"b".parse().unwrap(), receipt, "g");
        (source.unwrap(), failure.unwrap())
    }

    fn unknown() -> BranchError {
        let (name, cause) = ("b".parse().unwrap(), "no answer".to_owned());
        BranchError::OutcomeUnknown { name, doing: "deleted", cause }
    }

    #[test]
    fn a_deletion_whose_fate_is_not_known_takes_nothing_back_of_the_merge() {
        let (source, failure) = told(unknown(), &ReceiptReport::committed(&receipt()));
        assert_eq!((source.state, source.code), ("unknown", Some("outcome_unknown")));
        assert_eq!((failure.exit, failure.effect), (Exit::Unknown, Effect::Committed));
        let merged = format!("the merge is committed as {}", CommitId::from_u128(2));
        assert!(failure.message.starts_with(&merged), "{}", failure.message);
        assert!(failure.message.contains("is not known"), "{}", failure.message);
        assert!(failure.help.contains("graphwrite branch status g b"), "{}", failure.help);
    }

    #[test]
    fn a_branch_that_is_kept_where_nothing_was_merged_claims_no_commit() {
        let moved = |expected| BranchError::Moved {
            name: "b".parse().unwrap(),
            expected: Some(expected),
            found: None,
        };
        let receipt = ReceiptReport::no_change(&receipt());
        let (source, failure) = told(moved(CommitId::from_u128(4)), &receipt);
        assert_eq!((source.state, source.code), ("kept", Some("branch_moved")));
        assert_eq!((failure.exit, failure.effect), (Exit::Conflict, Effect::None));
        assert!(failure.message.starts_with("nothing was left to merge, and branch `b` is kept"));
        let (_, failure) = told(unknown(), &receipt);
        assert_eq!((failure.exit, failure.effect), (Exit::Unknown, Effect::Unknown));
    }
}
