//! The harness can fail: wrong references, missing recovery and damaged graphs are complained of.

use graphwrite_coordinator::{MemoryStorage, Store};
use graphwrite_protocol_types::{AttemptId, Conflict, WriteOutcome};
use graphwrite_substrate::{Fault, FaultHandle, RawObjects};

use super::matrix::{at_nth, cell};
use super::scenario::{Stage, TWO_EXISTING_UPSERT};
use crate::judge::{Case, Heard, Promise, judge};
use crate::world::reopen;

/// The storage after the write, with what the caller heard.
async fn written(stage: &Stage) -> (MemoryStorage, Heard) {
    let storage = stage.base.fork();
    let (_, heard) = stage.scenario.write(&Store::memory(&storage)).await;
    (storage, heard)
}

async fn complaint(storage: &MemoryStorage, case: &Case, heard: &Heard) -> Promise {
    let judged = judge(&Store::memory(storage), case, heard, &[]).await;
    judged.expect_err("a complaint").promise
}

#[tokio::test]
async fn the_judge_is_content_with_an_undisturbed_write() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let (storage, heard) = written(&stage).await;
    let verdict = judge(&Store::memory(&storage), &stage.case(), &heard, &[]).await;
    assert!(verdict.expect("no complaint").is_after);
}

#[tokio::test]
async fn the_judge_notices_rows_that_are_neither_before_nor_after() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let (storage, heard) = written(&stage).await;
    // One row of one table is not as it should be; all else is.
    let half = stage.before.with(&stage.scenario.rows[..1]);
    let case = Case { after: half, ..stage.case() };
    assert_eq!(complaint(&storage, &case, &heard).await, Promise::Atomic);
}

#[tokio::test]
async fn the_judge_notices_an_acknowledged_write_that_is_not_there() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let (_, heard) = written(&stage).await;
    assert_eq!(complaint(&stage.base, &stage.case(), &heard).await, Promise::Acknowledged);
}

#[tokio::test]
async fn the_judge_notices_a_receipt_of_another_commit() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let (storage, _) = written(&stage).await;
    let (_, heard) = written(&stage).await;
    assert_eq!(complaint(&storage, &stage.case(), &heard).await, Promise::Acknowledged);
}

#[tokio::test]
async fn the_judge_notices_a_refused_write_that_is_there() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let (storage, _) = written(&stage).await;
    let refused = Conflict::ExpectedHead { expected: None, actual: None };
    let heard = Heard::Answer(Box::new(Ok(WriteOutcome::Conflict(refused))));
    assert_eq!(complaint(&storage, &stage.case(), &heard).await, Promise::Refused);
}

#[tokio::test]
async fn the_judge_notices_a_commit_too_many() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let (storage, heard) = written(&stage).await;
    let case = Case { commits: stage.commits - 1, ..stage.case() };
    assert_eq!(complaint(&storage, &case, &heard).await, Promise::OneCommit);
}

#[tokio::test]
async fn the_judge_notices_a_warm_handle_that_sees_something_else() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let (storage, heard) = written(&stage).await;
    let elsewhere = reopen(&Store::memory(&stage.base)).await;
    let store = Store::memory(&storage);
    let judged = judge(&store, &stage.case(), &heard, &[&elsewhere]).await;
    assert_eq!(judged.expect_err("a complaint").promise, Promise::Agreement);
}

#[tokio::test]
async fn the_judge_notices_an_object_that_nothing_explains() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let (storage, heard) = written(&stage).await;
    put(&storage, "tables/notes.txt").await;
    assert_eq!(complaint(&storage, &stage.case(), &heard).await, Promise::Clean);
}

#[tokio::test]
async fn the_judge_notices_a_record_that_stops_the_next_write() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let (storage, heard) = written(&stage).await;
    put(&storage, "_recovery/main/notes.txt").await;
    assert_eq!(complaint(&storage, &stage.case(), &heard).await, Promise::NoRestart);
}

#[tokio::test]
async fn a_recoverer_that_deletes_the_intent_and_compensates_nothing_is_found_out() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let (storage, faults) = dies_at_its_first_effect(&stage, Fault::DieAfter).await;
    assert!(faults.is_dead());
    delete_intent(&storage).await;
    assert_eq!(complaint(&storage, &stage.case(), &Heard::Nothing).await, Promise::NoRestart);
}

#[tokio::test]
async fn a_recoverer_that_takes_an_unknown_effect_for_none_is_found_out_when_it_comes_late() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let (storage, faults) = dies_at_its_first_effect(&stage, Fault::LateDead).await;
    // Nothing has landed, so this recoverer sees nothing to fence.
    delete_intent(&storage).await;
    assert_eq!(faults.release_late().await, 1);
    assert_eq!(complaint(&storage, &stage.case(), &Heard::Nothing).await, Promise::NoRestart);
}

#[tokio::test]
#[should_panic(expected = "no cell passes because nothing happened")]
async fn a_cell_whose_fault_is_never_met_does_not_pass() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let count = stage.operations().await.0.len() as u64;
    let _ = Box::pin(cell(&stage, count + 1, Fault::DieAfter)).await;
}

async fn dies_at_its_first_effect(stage: &Stage, fault: Fault) -> (MemoryStorage, FaultHandle) {
    let is_effect = |it: &graphwrite_substrate::Operation| {
        it.path.starts_with("tables/") && it.path.contains("/_versions/")
    };
    let storage = stage.base.fork();
    let (client, faults) = Store::memory(&storage).faulty(at_nth(1, is_effect, fault));
    stage.scenario.write(&client).await;
    (storage, faults)
}

async fn delete_intent(storage: &MemoryStorage) {
    let store = Store::memory(storage);
    let records = store.list("_recovery").await.unwrap();
    assert_eq!(records.len(), 1);
    store.delete(&records[0].path).await.unwrap();
}

async fn put(storage: &MemoryStorage, path: &str) {
    let attempt = AttemptId::from_u128(1);
    let bytes = b"not ours".as_slice().into();
    let put = Store::memory(storage).put_if_absent(path, bytes, attempt).await.unwrap();
    assert!(matches!(put, graphwrite_substrate::PutOutcome::Created));
}
