//! Merges by the names of branches.

use graphwrite_coordinator::{BranchFrom, Graph, MergeAnswer, MergeReport, MergeRequest};
use graphwrite_protocol_types::{Receipt, WriteOutcome};

use crate::branches::scene::selector;

pub(crate) fn request(source: &str) -> MergeRequest {
    MergeRequest::new(BranchFrom::Head(selector(source)))
}

pub(crate) async fn try_merge(target: &Graph, request: MergeRequest) -> MergeAnswer {
    let answer = target.merge(request).await.expect("an outcome");
    target.settled().await;
    answer
}

/// Merges a branch into that of `target`, which must make a commit.
pub(crate) async fn merge(target: &Graph, source: &str) -> (Receipt, MergeReport) {
    let MergeAnswer { outcome, report } = try_merge(target, request(source)).await;
    match (outcome, report) {
        (WriteOutcome::Committed(receipt), Some(report)) => (receipt, report),
        (outcome, report) => panic!("no commit: {outcome:?}, {report:?}"),
    }
}
