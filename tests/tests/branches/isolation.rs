//! What is written on one branch is seen there and nowhere else.

use graphwrite_coordinator::{BranchStanding, Graph, LoadMode, LoadRequest};
use graphwrite_protocol_types::{Answer, WriteOutcome};

use super::scene::{delete, fork, fork_at, graph, name, open, selector, try_fork};
use crate::judge::{Reference, seen_by};
use crate::world::{BASE, append, input, load};

const NEW: &[&str] = &[
    r#"{"type":"Person","data":{"slug":"b1","age":7}}"#,
    r#"{"edge":"Knows","from":"b1","to":"p1"}"#,
];
const CHANGED: &[&str] = &[r#"{"type":"Person","data":{"slug":"p1","age":99}}"#];

async fn upsert(graph: &Graph, lines: &[&str]) {
    let outcome = load(graph, LoadMode::Upsert, lines).await;
    assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
    graph.settled().await;
}

fn base() -> Reference {
    Reference::default().with(BASE)
}

#[tokio::test]
async fn a_new_branch_has_the_rows_of_its_source_and_makes_no_commit() {
    let (_, main) = graph().await;
    let before = main.log(usize::MAX).await.unwrap();
    let branch = fork(&main, "agent/1", "main").await;
    base().assert_seen(&seen_by(&branch).await);
    assert_eq!(branch.log(usize::MAX).await.unwrap(), before);
    assert_eq!(main.log(usize::MAX).await.unwrap(), before);
}

#[tokio::test]
async fn rows_written_on_a_branch_are_seen_there_and_not_on_main() {
    let (_, main) = graph().await;
    let branch = fork(&main, "agent/1", "main").await;
    append(&branch, NEW).await;
    upsert(&branch, CHANGED).await;
    base().with(NEW).with(CHANGED).assert_seen(&seen_by(&branch).await);
    base().assert_seen(&seen_by(&main).await);
    assert_eq!(main.log(usize::MAX).await.unwrap().len(), 1);
    assert_eq!(branch.log(usize::MAX).await.unwrap().len(), 3);
}

#[tokio::test]
async fn rows_written_on_main_after_the_fork_are_not_on_the_branch() {
    let (_, main) = graph().await;
    let branch = fork(&main, "agent/1", "main").await;
    upsert(&main, CHANGED).await;
    base().assert_seen(&seen_by(&branch).await);
    append(&branch, NEW).await;
    base().with(NEW).assert_seen(&seen_by(&branch).await);
    base().with(CHANGED).assert_seen(&seen_by(&main).await);
}

#[tokio::test]
async fn a_child_keeps_the_rows_of_its_parent_when_the_parent_goes_on_and_is_deleted() {
    let (_, main) = graph().await;
    let parent = fork(&main, "parent", "main").await;
    append(&parent, NEW).await;
    let child = fork(&main, "child", "parent").await;
    upsert(&parent, CHANGED).await;
    base().with(NEW).assert_seen(&seen_by(&child).await);
    delete(&main, "parent").await.unwrap();
    upsert(&child, CHANGED).await;
    base().with(NEW).with(CHANGED).assert_seen(&seen_by(&child).await);
    base().assert_seen(&seen_by(&main).await);
}

#[tokio::test]
async fn a_branch_of_an_older_commit_has_the_rows_of_that_commit() {
    let (_, main) = graph().await;
    let first = main.log(1).await.unwrap()[0].commit;
    upsert(&main, CHANGED).await;
    let branch = fork_at(&main, "old", first).await;
    base().assert_seen(&seen_by(&branch).await);
    append(&branch, NEW).await;
    base().with(NEW).assert_seen(&seen_by(&branch).await);
}

#[tokio::test]
async fn a_branch_says_what_it_owns_and_how_far_it_is_from_its_source() {
    let (_, main) = graph().await;
    let branch = fork(&main, "agent/1", "main").await;
    append(&branch, NEW).await;
    upsert(&main, CHANGED).await;
    upsert(&main, &[r#"{"type":"Company","data":{"slug":"c9"}}"#]).await;
    let status = main.branch_status(&selector("agent/1")).await.unwrap();
    assert_eq!((status.ahead, status.behind, status.pending), (1, Some(2), 0));
    assert_eq!(status.owned, ["Knows", "Person"]);
    let all = main.branches().await.unwrap();
    let names: Vec<_> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["main", "agent/1"]);
    assert!(all.iter().all(|(_, standing)| matches!(standing, BranchStanding::Live(_))));
}

#[tokio::test]
async fn a_name_that_is_taken_is_refused_and_one_that_was_deleted_is_free() {
    let (_, main) = graph().await;
    let first = fork(&main, "a", "main").await;
    append(&first, NEW).await;
    let refused = try_fork(&main, "a", "main").await.unwrap_err();
    assert_eq!((refused.code(), refused.had_no_effect()), ("branch_exists", true));
    fork(&main, "a/b", "main").await;
    delete(&main, "a").await.unwrap();
    assert_eq!(delete(&main, "a").await.unwrap_err().code(), "no_such_branch");
    let second = fork(&main, "a", "main").await;
    base().assert_seen(&seen_by(&second).await);
    assert_eq!(name("a/b"), name("a/b"));
    base().assert_seen(&seen_by(&open(&main, "a/b").await).await);
}

#[tokio::test]
async fn a_handle_of_a_deleted_incarnation_is_refused_even_if_the_name_is_made_again() {
    let (_, main) = graph().await;
    let stale = fork(&main, "a", "main").await;
    append(&stale, NEW).await;
    delete(&main, "a").await.unwrap();
    let fresh = fork(&main, "a", "main").await;
    let request = LoadRequest::new(input(&stale, CHANGED).await, LoadMode::Upsert);
    let outcome = stale.load(request).await.unwrap();
    let WriteOutcome::BranchDeleted(deleted) = &outcome else { panic!("{outcome:?}") };
    assert_eq!((deleted.landed, outcome.had_no_effect()), (None, true));
    base().assert_seen(&seen_by(&fresh).await);
}
