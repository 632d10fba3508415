//! A creation, a deletion and a write are each held at every durable request, while another process that
//! waits for nobody deletes the branch, makes it again, or makes one of its name. Then the request lands
//! late. Two processes in all but their address space: they share the storage and nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use graphwrite_coordinator::{
    BranchError, BranchInfo, BranchStanding, Graph, LoadMode, LoadRequest, Store,
};
use graphwrite_protocol_types::{Answer, WriteOutcome};
use graphwrite_substrate::{HoldHandle, Operation, OperationKind};

use super::scene::{delete, fork, graph, open, try_fork};
use crate::judge::{Reference, open_impatient, seen_by, tell};
use crate::world::{BASE, append, input, own_process};

const NEW: &[&str] = &[
    r#"{"type":"Person","data":{"slug":"b1","age":7}}"#,
    r#"{"edge":"Knows","from":"b1","to":"p1"}"#,
];
/// A table that the branch owns, and one that it has inherited.
const LATE: &[&str] = &[
    r#"{"type":"Person","data":{"slug":"late","age":8}}"#,
    r#"{"type":"Company","data":{"slug":"late"}}"#,
];
const NEXT: &[&str] = &[r#"{"type":"Person","data":{"slug":"next"}}"#];

fn base() -> Reference {
    Reference::default().with(BASE)
}

/// A client whose `nth` durable request is held.
fn held_at(store: &Store, nth: u64) -> (Store, HoldHandle) {
    let durable = Arc::new(AtomicU64::new(0));
    store.reopened().holding(move |it: &Operation| {
        it.kind.is_durable() && durable.fetch_add(1, Ordering::SeqCst) + 1 == nth
    })
}

async fn process(client: Store) -> Graph {
    Graph::open(client, own_process()).await.expect("a graph")
}

/// A graph whose branch `source` has rows of its own.
async fn scene() -> (Store, Graph) {
    let (store, main) = graph().await;
    let source = fork(&main, "source", "main").await;
    append(&source, NEW).await;
    source.settled().await;
    (store, main)
}

/// What the name means is all of what it should be, to a fresh process, and it takes a write.
async fn is_sound(store: &Store, branch: &str, rows: Reference) {
    let main = open_impatient(store).await;
    let graph = open(&main, branch).await;
    rows.assert_seen(&seen_by(&graph).await);
    append(&graph, NEXT).await;
    graph.settled().await;
    rows.with(NEXT).assert_seen(&seen_by(&open(&main, branch).await).await);
    base().assert_seen(&seen_by(&main).await);
}

async fn incarnation(store: &Store, branch: &str) -> u64 {
    let all = open_impatient(store).await.branches().await.unwrap();
    let standing = all.into_iter().find(|(name, _)| name == branch).expect("a name").1;
    match standing {
        BranchStanding::Live(info) => info.token.record,
        other => panic!("{other:?}"),
    }
}

type Made = Result<BranchInfo, BranchError>;

/// Exactly one of two creations has the name.
#[track_caller]
fn one_of(ours: &Made, theirs: &Made) -> bool {
    match (ours, theirs) {
        (Ok(_), Err(error)) => assert_eq!(error.code(), "branch_exists", "{error:?}"),
        (Err(error), Ok(_)) => {
            assert!(matches!(error.code(), "branch_exists" | "given_up"), "{error:?}");
            assert!(error.had_no_effect(), "{error:?}");
        }
        both => panic!("{both:?}"),
    }
    ours.is_ok()
}

#[tokio::test]
async fn of_a_creation_held_at_any_request_and_one_of_another_source_one_has_the_name() {
    let (mut first, mut second) = (0, 0);
    for nth in 1.. {
        let (store, _) = scene().await;
        let (client, mut handle) = held_at(&store, nth);
        let slow = process(client).await;
        let creating = tokio::spawn(async move { try_fork(&slow, "x", "source").await });
        let Some(held) = handle.next().await else {
            creating.await.unwrap().expect("nobody was in its way");
            break;
        };
        let theirs = try_fork(&open_impatient(&store).await, "x", "main").await;
        held.release();
        drop(handle);
        let ours = creating.await.unwrap();
        if one_of(&ours, &theirs) {
            first += 1;
            is_sound(&store, "x", base().with(NEW)).await;
        } else {
            second += 1;
            is_sound(&store, "x", base()).await;
        }
    }
    tell(&format!("creations held: {first} have the name, {second} lost it"));
    assert!(first > 0 && second > 2, "{first} and {second}");
}

#[tokio::test]
async fn a_creation_held_at_any_request_does_not_come_back_over_a_deletion() {
    let mut deleted = 0;
    for nth in 1.. {
        let (store, _) = scene().await;
        let (client, mut handle) = held_at(&store, nth);
        let slow = process(client).await;
        let creating = tokio::spawn(async move { try_fork(&slow, "x", "source").await });
        let Some(held) = handle.next().await else { break };
        let other = open_impatient(&store).await;
        let gone = delete(&other, "x").await;
        let again = try_fork(&other, "x", "main").await.expect("the name is free");
        held.release();
        drop(handle);
        let ours = creating.await.unwrap().expect_err("the name is another's");
        let codes = ["branch_exists", "given_up", "branch_deleted"];
        assert!(codes.contains(&ours.code()), "{nth}: {ours:?}");
        deleted += usize::from(gone.is_ok());
        assert_eq!(incarnation(&store, "x").await, again.token.record);
        is_sound(&store, "x", base()).await;
    }
    assert!(deleted > 0, "it was held when it was a branch already, too");
}

#[tokio::test]
async fn a_deletion_that_lands_late_does_not_delete_the_next_branch_of_the_name() {
    let (store, main) = scene().await;
    let (client, mut handle) = held_at(&store, 1);
    let slow = process(client).await;
    let deleting = tokio::spawn(async move { delete(&slow, "source").await });
    let held = handle.next().await.expect("the record of the deletion");
    assert!(held.operation.path.ends_with("/1.deleted"), "{:?}", held.operation);
    delete(&main, "source").await.unwrap();
    fork(&main, "source", "main").await;
    held.release();
    assert_eq!(deleting.await.unwrap().unwrap_err().code(), "no_such_branch");
    assert_eq!(incarnation(&store, "source").await, 2);
    is_sound(&store, "source", base()).await;
}

/// A write to the branch is held at each of its durable requests: those of its tables and of the manifest
/// come after it has looked at their heads.
#[tokio::test]
async fn a_write_held_at_any_request_never_reaches_the_next_branch_of_the_name() {
    let (mut told, mut paths) = (0, Vec::new());
    for nth in 1.. {
        let (store, _) = scene().await;
        let (client, mut handle) = held_at(&store, nth);
        let slow = open(&process(client).await, "source").await;
        let writing = tokio::spawn(async move {
            let request = LoadRequest::new(input(&slow, LATE).await, LoadMode::Append);
            let outcome = slow.load(request).await;
            slow.settled().await;
            outcome
        });
        let Some(held) = handle.next().await else { break };
        let is_tidying = held.operation.kind == OperationKind::Delete;
        paths.push(held.operation.path.clone());
        let other = open_impatient(&store).await;
        delete(&other, "source").await.unwrap();
        let again = fork(&other, "source", "main").await;
        append(&again, LATE).await;
        again.settled().await;
        held.release();
        drop(handle);
        match writing.await.unwrap().expect("an outcome") {
            WriteOutcome::BranchDeleted(deleted) => {
                assert_eq!(deleted.branch.record, 1);
                told += 1;
            }
            // It was acknowledged before the branch was deleted.
            WriteOutcome::Committed(_) if is_tidying => {}
            other => panic!("held at {nth}, {}: {other:?}", paths.last().unwrap()),
        }
        is_sound(&store, "source", base().with(LATE)).await;
    }
    tell(&format!("writes held under a deletion: {told} are told"));
    let held_at =
        |part: &str| paths.iter().any(|path| path.contains(part) && path.ends_with(".manifest"));
    assert!(held_at("tables/") && held_at("__manifest/tree/"), "{paths:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_creations_at_once_in_one_process_one_has_the_name() {
    for _ in 0..8 {
        let (store, main) = scene().await;
        let (ours, theirs) =
            tokio::join!(try_fork(&main, "x", "source"), try_fork(&main, "x", "main"));
        let rows = if one_of(&ours, &theirs) { base().with(NEW) } else { base() };
        assert_eq!(incarnation(&store, "x").await, 1);
        is_sound(&store, "x", rows).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_creations_at_once_in_two_processes_one_has_the_name() {
    for _ in 0..8 {
        let (store, _) = scene().await;
        let (one, other) = (process(store.reopened()).await, process(store.reopened()).await);
        let (ours, theirs) =
            tokio::join!(try_fork(&one, "x", "source"), try_fork(&other, "x", "main"));
        let rows = if one_of(&ours, &theirs) { base().with(NEW) } else { base() };
        is_sound(&store, "x", rows).await;
    }
}
