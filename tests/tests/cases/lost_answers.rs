//! An answer of the storage that is lost after its work was done: the writer knows its own work again
//! and says so; where it cannot, it says that it does not know, and deletes nothing.

use graphwrite_coordinator::{Graph, LoadMode, MemoryStorage, Store};
use graphwrite_protocol_types::WriteOutcome;
use graphwrite_substrate::{Fault, Operation, OperationKind};

use crate::crash::at_nth;
use crate::crash::scenario::{Stage, TWO_EXISTING_UPSERT, TWO_FIRST_APPEND};
use crate::judge::{check_answer, judge, open_impatient};
use crate::world::{load, own_process};

type IsIt = fn(&Operation) -> bool;

/// A kind of object that a write creates, and how it is told in the log.
const OBJECTS: [(&str, IsIt); 3] = [
    ("the intent", |it| it.path.ends_with(".intent") && it.kind == OperationKind::PutIfAbsent),
    ("a table's commit", |it| it.path.starts_with("tables/") && it.path.ends_with(".manifest")),
    ("the graph's commit", |it| {
        it.path.starts_with("__manifest/") && it.path.ends_with(".manifest")
    }),
];

#[tokio::test]
async fn a_write_whose_answer_was_lost_knows_its_own_work_again() {
    for scenario in [TWO_EXISTING_UPSERT, TWO_FIRST_APPEND] {
        let stage = Stage::of(scenario).await;
        for (what, is_it) in OBJECTS {
            let store = Store::memory(&stage.base.fork());
            let (client, faults) = store.faulty(at_nth(1, is_it, Fault::LoseAck));
            let (writer, heard) = stage.scenario.write(&client).await;
            assert!(faults.log().0.iter().any(|it| it.fault == Fault::LoseAck));
            let receipt = heard.receipt();
            let receipt = receipt.unwrap_or_else(|| panic!("{what}, {}: {heard:?}", scenario.name));
            assert_eq!(receipt.restarts, 0, "{what}: nobody else was there");
            let judged = judge(&store, &stage.case(), &heard, &[&writer]).await;
            judged.unwrap_or_else(|complaint| panic!("{what}, {}: {complaint:?}", scenario.name));
        }
    }
}

#[tokio::test]
async fn a_write_that_cannot_look_after_its_lost_answer_says_that_it_does_not_know() {
    let mut unknown = 0;
    for scenario in [TWO_EXISTING_UPSERT, TWO_FIRST_APPEND] {
        let stage = Stage::of(scenario).await;
        for (what, is_it) in OBJECTS {
            unknown += u32::from(blinded(&stage, what, is_it).await);
        }
    }
    assert!(unknown > 0, "some cannot know");
}

/// From the lost answer on, the client reaches nothing any more. Returns whether it said that it does
/// not know.
async fn blinded(stage: &Stage, what: &str, is_it: IsIt) -> bool {
    let storage = stage.base.fork();
    let store = Store::memory(&storage);
    let (client, faults) = store.faulty(at_nth(1, is_it, Fault::DieAfter));
    let (_, heard) = stage.scenario.write(&client).await;
    assert!(faults.is_dead());
    let left = paths(&storage).await;
    let logged = faults.log();
    let deleted = logged.operations().filter(|it| it.kind == OperationKind::Delete).count();
    assert_eq!(deleted, 0, "{what}: nothing is deleted by who does not know");
    let lost = logged.operations().position(is_it).expect("it was asked for");
    for operation in logged.operations().take(lost + 1) {
        let is_there = left.contains(&operation.path);
        assert!(is_there, "{what}: `{}` stays", operation.path);
    }
    let is_unknown = match heard.answer() {
        Some(Ok(WriteOutcome::OutcomeUnknown(unknown))) => {
            assert!(!unknown.operation.to_string().is_empty());
            true
        }
        // Nothing was issued but the intent: no effect can come of it.
        Some(Err(_)) => false,
        other => panic!("{what}, {}: {other:?}", stage.scenario.name),
    };
    let fresh = open_impatient(&store).await;
    let is_after = fresh.log(usize::MAX).await.unwrap().len() > stage.commits;
    check_answer(&fresh, &heard, is_after).await.expect("a truthful answer");
    let judged = judge(&store, &stage.case(), &heard, &[]).await;
    judged.unwrap_or_else(|complaint| panic!("{what}, {}: {complaint:?}", stage.scenario.name));
    is_unknown
}

async fn paths(storage: &MemoryStorage) -> Vec<String> {
    let store = Store::memory(storage);
    let mut paths = Vec::new();
    for place in ["_recovery", "tables", "__manifest"] {
        paths.extend(store.list(place).await.unwrap().into_iter().map(|entry| entry.path));
    }
    paths
}

#[tokio::test]
async fn an_answer_that_is_lost_because_another_process_was_faster_is_a_true_conflict() {
    // The request never arrives, its answer is lost all the same, and another process takes its place.
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    for (what, is_it) in OBJECTS {
        let store = Store::memory(&stage.base.fork());
        let (client, mut held) = store.holding(first(is_it));
        let writer = Graph::open(client, own_process()).await.unwrap();
        let writing = tokio::spawn({
            let writer = writer.clone();
            let scenario = stage.scenario;
            async move { scenario.write_by(&writer).await }
        });
        let request = held.next().await.expect("it comes that far");
        let other = open_impatient(&store).await;
        let rows = stage.scenario.next("other");
        let outcome = load(&other, LoadMode::Upsert, &rows).await;
        assert!(matches!(outcome, WriteOutcome::Committed(_)), "{what}: {outcome:?}");
        other.settled().await;
        drop(request);
        drop(held);
        let heard = writing.await.unwrap();
        let before = stage.before.with(&rows);
        let case = crate::judge::Case {
            after: before.with(stage.scenario.rows),
            before,
            commits: stage.commits + 1,
            next: stage.scenario.next("next"),
        };
        let judged = judge(&store, &case, &heard, &[&writer]).await;
        judged.unwrap_or_else(|complaint| panic!("{what}: {complaint:?}"));
    }
}

fn first(is_it: IsIt) -> impl Fn(&Operation) -> bool {
    let is_over = std::sync::atomic::AtomicBool::new(false);
    move |operation| {
        is_it(operation)
            && operation.kind.is_durable()
            && !is_over.swap(true, std::sync::atomic::Ordering::SeqCst)
    }
}
