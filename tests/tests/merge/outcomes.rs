//! What a merge answers and what is then seen: one commit of both, nothing twice, nothing of a conflict.

use graphwrite_coordinator::{
    ConflictKind, Graph, MergeAnswer, MergeOptions, MergeRelation, MergeRequest, MergeStrategy,
};
use graphwrite_protocol_types::{Answer, Conflict, WriteOutcome, WriterKind};

use super::scene::{merge, request, try_merge};
use crate::branches::scene::{delete, fork, graph};
use crate::judge::{Reference, seen_by};
use crate::world::{BASE, append, assert_clean, load};
use graphwrite_coordinator::LoadMode;

const OF_BRANCH: &[&str] = &[
    r#"{"type":"Person","data":{"slug":"b1","age":7}}"#,
    r#"{"edge":"Knows","from":"b1","to":"p1"}"#,
];
const OF_MAIN: &[&str] = &[r#"{"type":"Person","data":{"slug":"m1","age":8}}"#];
const P1_IS_50: &[&str] = &[r#"{"type":"Person","data":{"slug":"p1","age":50}}"#];
const P1_IS_60: &[&str] = &[r#"{"type":"Person","data":{"slug":"p1","age":60}}"#];

async fn upsert(graph: &Graph, lines: &[&str]) {
    let outcome = load(graph, LoadMode::Upsert, lines).await;
    assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
    graph.settled().await;
}

fn under(strategy: MergeStrategy) -> MergeRequest {
    let options = MergeOptions { strategy, ..MergeOptions::default() };
    MergeRequest { options, ..request("b") }
}

fn base() -> Reference {
    Reference::default().with(BASE)
}

#[tokio::test]
async fn a_branch_that_is_ahead_is_merged_by_one_commit_of_both() {
    let (_, main) = graph().await;
    let branch = fork(&main, "b", "main").await;
    let before = main.log(1).await.unwrap()[0].commit;
    append(&branch, OF_BRANCH).await;
    upsert(&branch, P1_IS_50).await;
    let theirs = branch.log(1).await.unwrap()[0].commit;

    let (receipt, report) = merge(&main, "b").await;

    assert_eq!(report.relation, MergeRelation::FastForward);
    assert_eq!((report.source.commit, report.target), (Some(theirs), Some(before)));
    let commit = main.log(1).await.unwrap().remove(0);
    assert_eq!((Some(commit.commit), commit.writer), (receipt.commit, WriterKind::Merge));
    assert_eq!(commit.parents, [before, theirs]);
    base().with(OF_BRANCH).with(P1_IS_50).assert_seen(&seen_by(&main).await);
    assert_clean(&main).await;
}

#[tokio::test]
async fn what_both_have_changed_apart_is_merged_and_merged_once() {
    let (_, main) = graph().await;
    let branch = fork(&main, "b", "main").await;
    append(&branch, OF_BRANCH).await;
    append(&main, OF_MAIN).await;

    let (receipt, report) = merge(&main, "b").await;
    assert_eq!(report.relation, MergeRelation::Diverged);
    base().with(OF_BRANCH).with(OF_MAIN).assert_seen(&seen_by(&main).await);

    let again = try_merge(&main, request("b")).await;
    assert!(
        matches!(&again.outcome, WriteOutcome::NoChange(same) if same.commit == receipt.commit)
    );
    assert_eq!(again.report.unwrap().relation, MergeRelation::Contained);

    let (_, back) = merge(&branch, "main").await;
    assert_eq!(back.relation, MergeRelation::FastForward);
    base().with(OF_BRANCH).with(OF_MAIN).assert_seen(&seen_by(&branch).await);
    assert_clean(&main).await;
}

#[tokio::test]
async fn rows_that_contradict_each_other_are_all_told_and_nothing_is_written() {
    let (_, main) = graph().await;
    let branch = fork(&main, "b", "main").await;
    append(&branch, OF_BRANCH).await;
    upsert(&branch, P1_IS_50).await;
    upsert(&main, P1_IS_60).await;

    let MergeAnswer { outcome, report } = try_merge(&main, request("b")).await;

    assert_eq!((outcome.code(), outcome.may_retry()), ("merge_conflict", false));
    let WriteOutcome::Conflict(Conflict::Merge { rows: 1, constraints: 0, .. }) = outcome else {
        panic!("{outcome:?}");
    };
    let review = report.unwrap().review;
    let listed: Vec<_> = review.tables.iter().flat_map(|of| of.conflicts.listed()).collect();
    assert_eq!((listed.len(), listed[0].kind), (1, ConflictKind::DivergentUpdate));
    assert_eq!(listed[0].key, "p1");
    base().with(P1_IS_60).assert_seen(&seen_by(&main).await);

    let previewed = main.preview_merge(request("b")).await.unwrap();
    assert_eq!(previewed.review, review);
    assert_eq!(main.log(9).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_strategy_decides_about_contradicting_rows_and_takes_the_others_over() {
    for (strategy, kept) in [(MergeStrategy::Ours, P1_IS_60), (MergeStrategy::Theirs, P1_IS_50)] {
        let (_, main) = graph().await;
        let branch = fork(&main, "b", "main").await;
        append(&branch, OF_BRANCH).await;
        upsert(&branch, P1_IS_50).await;
        upsert(&main, P1_IS_60).await;
        let answer = try_merge(&main, under(strategy)).await;
        assert!(matches!(answer.outcome, WriteOutcome::Committed(_)), "{:?}", answer.outcome);
        base().with(OF_BRANCH).with(kept).assert_seen(&seen_by(&main).await);
        assert_clean(&main).await;
    }
}

#[tokio::test]
async fn a_request_sent_again_has_its_first_receipt_though_the_source_moved_on_and_is_gone() {
    let (_, main) = graph().await;
    let branch = fork(&main, "b", "main").await;
    append(&branch, OF_BRANCH).await;
    let asked = || MergeRequest { operation: Some("op-1".parse().unwrap()), ..request("b") };
    let first = try_merge(&main, asked()).await;
    let WriteOutcome::Committed(first) = first.outcome else { panic!("{first:?}") };

    upsert(&branch, P1_IS_50).await;
    for is_gone in [false, true] {
        if is_gone {
            delete(&main, "b").await.unwrap();
        }
        let MergeAnswer { outcome, report } = try_merge(&main, asked()).await;
        let WriteOutcome::Committed(again) = outcome else { panic!("{outcome:?}") };
        assert_eq!((again.commit, again.attempt), (first.commit, first.attempt));
        assert_eq!(report, None, "nothing was compared");
    }
    let other = MergeOptions { strategy: MergeStrategy::Theirs, ..MergeOptions::default() };
    let other = try_merge(&main, MergeRequest { options: other, ..asked() }).await;
    assert_eq!(other.outcome.code(), "operation_reused");
    base().with(OF_BRANCH).assert_seen(&seen_by(&main).await);
}

#[tokio::test]
async fn more_rows_than_are_allowed_are_refused_before_anything_is_written() {
    let (_, main) = graph().await;
    append(&fork(&main, "b", "main").await, OF_BRANCH).await;
    let options = MergeOptions { rows_max: 1, ..MergeOptions::default() };
    let refused = main.merge(MergeRequest { options, ..request("b") }).await.unwrap_err();
    assert_eq!((refused.code(), refused.had_no_effect()), ("limit_exceeded", true));
    assert_eq!(refused.to_string(), "the merge changes 2 rows, and 1 are allowed");
    base().assert_seen(&seen_by(&main).await);
    assert!(main.pending_intents().await.unwrap().intents.is_empty());
}

/// A commit without changes: what the branch has done comes to nothing, and that it is merged is known.
#[tokio::test]
async fn a_branch_whose_changes_come_to_nothing_is_merged_by_a_commit_without_changes() {
    let (_, main) = graph().await;
    let branch = fork(&main, "b", "main").await;
    upsert(&branch, P1_IS_50).await;
    upsert(&branch, &[r#"{"type":"Person","data":{"slug":"p1","age":1}}"#]).await;
    let (receipt, report) = merge(&main, "b").await;
    assert_eq!(report.review.rows_changed(), 0);
    assert_eq!(receipt.tables.iter().map(|table| table.inserted + table.updated).sum::<u64>(), 0);
    let commit = main.log(1).await.unwrap().remove(0);
    assert_eq!((Some(commit.commit), commit.parents.len()), (receipt.commit, 2));
    let again = try_merge(&main, request("b")).await;
    assert!(matches!(again.outcome, WriteOutcome::NoChange(_)), "{:?}", again.outcome);
    base().assert_seen(&seen_by(&main).await);
    assert_clean(&main).await;
}
