//! What a commit that has landed is answered with (design 01 section 5, G). On a branch that can be
//! deleted, landing is not enough: only a look at the name's records, taken afterwards, says that
//! whoever asks for the branch finds the commit.

use graphwrite_manifest::CommitRow;
use graphwrite_protocol_types::{BranchDeleted, Defect, Unknown, WriteOutcome};

use crate::core::Core;
use crate::receipt::receipt_of_commit;

/// The answer of the attempt whose commit is `commit`.
pub(crate) async fn acknowledge(core: &Core, commit: &CommitRow, restarts: u32) -> WriteOutcome {
    let (operation, branch) = (commit.operation.clone(), core.branch());
    let is_current = match core.store.has(Defect::BranchNotLookedAt) {
        true => Ok(true),
        false => core.is_current().await,
    };
    match is_current {
        Ok(true) => WriteOutcome::Committed(receipt_of_commit(commit, &branch, restarts)),
        Ok(false) => {
            let landed = Some(commit.commit);
            WriteOutcome::BranchDeleted(BranchDeleted { operation, branch, landed })
        }
        Err(cause) => WriteOutcome::OutcomeUnknown(Unknown {
            operation,
            attempt: commit.attempt,
            branch,
            // Whoever holds the request says it.
            is_callers_id: false,
            cause: format!(
                "the commit landed; whether its branch is deleted is not known: {cause}"
            ),
        }),
    }
}
