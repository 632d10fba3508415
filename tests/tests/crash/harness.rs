//! The harness can fail: wrong references, missing recovery and damaged graphs are complained of.

use graphwrite_coordinator::{MemoryStorage, OutcomeRequest, Store};
use graphwrite_protocol_types::{AttemptId, Conflict, WriteOutcome};
use graphwrite_substrate::{Fault, FaultHandle, RawObjects};

use super::cells::{Fate, cell, guarded};
use super::matrix::at_nth;
use super::memo::{Memo, State};
use super::place::Place;
use super::registry::subject;
use super::report::{self, Row, Wanted};
use super::scenario::{Stage, TWO_EXISTING_UPSERT};
use super::subject::{Said, Scene};
use super::{paused, pending, verdict};
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

/// A scene, and an operation that it does not have.
async fn nowhere() -> (Scene, Place) {
    let scene = Scene::of(subject("load/one-existing-upsert")).await;
    (scene, Place::first("put-if-absent:nowhere"))
}

#[tokio::test]
async fn a_cell_whose_fault_is_never_met_does_not_pass() {
    let (scene, place) = nowhere().await;
    for fate in [Fate::Dead, Fate::Lost, Fate::Late] {
        let judged = guarded(Box::pin(cell(&scene, &place, fate))).await;
        assert!(judged.unwrap_err().contains("no cell passes because nothing happened"));
    }
}

#[tokio::test]
async fn a_cell_of_a_paused_process_that_is_never_held_does_not_pass() {
    let (scene, place) = nowhere().await;
    let judged = guarded(Box::pin(paused::cell(&scene, &place))).await;
    assert!(judged.unwrap_err().contains("no cell passes because nothing was held"));
}

#[tokio::test]
async fn a_zombie_that_says_committed_and_is_not_there_is_found_out() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let store = Store::memory(&stage.base.fork());
    let is_first = paused::writes_over(&stage, &store).await.unwrap();
    assert!(!is_first, "nobody else has written");
    let (_, heard) = written(&stage).await;
    let judged = paused::judged_write(&stage, &store, is_first, &heard, &[]).await;
    assert_eq!(judged.unwrap_err().promise, Promise::Acknowledged);
}

#[tokio::test]
async fn a_zombie_that_says_refused_and_is_there_is_found_out() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let (storage, heard) = written(&stage).await;
    let store = Store::memory(&storage);
    assert!(paused::writes_over(&stage, &store).await.unwrap(), "it was first");
    let refused = Conflict::ExpectedHead { expected: None, actual: None };
    let refused = Heard::Answer(Box::new(Ok(WriteOutcome::Conflict(refused))));
    let judged = paused::judged_write(&stage, &store, true, &refused, &[]).await;
    assert_eq!(judged.unwrap_err().promise, Promise::Acknowledged);
    paused::judged_write(&stage, &store, true, &heard, &[]).await.expect("the truth");
}

#[tokio::test]
async fn a_seal_and_a_request_that_both_say_they_have_won_are_found_out() {
    let scene = Scene::of(subject("seal/unknown")).await;
    let store = Store::memory(&scene.start.fork());
    let (_, said) = scene.perform(store.clone()).await;
    let found = verdict::ask(&store).await;
    verdict::agrees(&said, None, &found).expect("one story");
    let (_, heard) = written(&scene.stage).await;
    let told = verdict::agrees(&said, Some(&heard), &found);
    assert_eq!(told.unwrap_err().promise, Promise::Acknowledged);
}

#[tokio::test]
async fn storages_with_the_same_bytes_are_judged_once_and_each_cell_gets_the_verdict() {
    let scene = Scene::of(subject("load/three-existing-upsert")).await;
    let storage = scene.start.fork();
    let states = |storage: &MemoryStorage| {
        ["a", "b"].map(|id| State { id: id.to_owned(), storage: storage.fork() }).to_vec()
    };
    let memo = Memo::default();
    let sound = memo.judge_all(&scene, states(&storage)).await;
    assert!(sound.iter().all(|(_, judged)| judged.is_ok()), "{sound:?}");
    assert_eq!(memo.hits(), 1);
    put(&storage, "_recovery/main/notes.txt").await;
    let damaged = memo.judge_all(&scene, states(&storage)).await;
    assert!(damaged.iter().all(|(_, judged)| judged.is_err()), "{damaged:?}");
    assert_eq!(memo.hits(), 2);
}

#[tokio::test]
async fn a_verdict_is_not_taken_for_that_of_another_demand() {
    let scene = Scene::of(subject("seal/whole")).await;
    let other = Scene::of(subject("seal/published")).await;
    let state = State { id: "a".to_owned(), storage: scene.start.fork() };
    let memo = Memo::default();
    assert!(memo.judge_all(&scene, vec![state.clone()]).await[0].1.is_ok());
    // This one is to have committed already.
    assert!(memo.judge_all(&other, vec![state]).await[0].1.is_err());
    assert_eq!(memo.hits(), 0);
}

#[tokio::test]
async fn a_recoverer_that_ends_a_complete_attempt_the_wrong_way_is_found_out() {
    let scene = Scene::of(subject("recover/full-whole")).await;
    let store = Store::memory(&scene.start.fork());
    let sealer = crate::world::reopen(&store).await;
    let seal = OutcomeRequest { seal: true, ..OutcomeRequest::new(pending::operation()) };
    drop(sealer.outcome(seal).await.unwrap());
    let (_, said) = scene.perform(store.clone()).await;
    let judged = scene.judged(&store, &said, None, &[]).await;
    assert_eq!(judged.unwrap_err().promise, Promise::Acknowledged);
    let judged = scene.judged(&store, &Said::Nothing, None, &[]).await;
    assert_eq!(judged.unwrap_err().promise, Promise::Atomic);
}

fn failed() -> Row {
    let mut row = Row::new("load/one-existing-upsert");
    row.deep_cell("load/one-existing-upsert/x/dead", &Err("why".to_owned()));
    row
}

#[test]
#[should_panic(expected = "1 cells of load/one-existing-upsert failed")]
fn a_scenario_with_a_failed_cell_fails() {
    report::assert_sound(&failed(), "");
}

#[test]
#[should_panic(expected = "docs/crash-matrix.md does not say")]
fn a_scenario_that_the_page_does_not_have_fails() {
    report::assert_sound(&Row::new("load/one-existing-upsert"), "| `load/other` | 0 |");
}

#[test]
fn the_report_names_the_cell_that_failed() {
    let document = failed().document();
    assert_eq!(document["failures"][0]["cell"], "load/one-existing-upsert/x/dead");
    assert_eq!(document["cells"]["recovery"], 1);
    assert_eq!(document["entries"][1], "graphwrite load");
}

#[test]
fn a_cell_that_is_wanted_and_does_not_exist_is_no_success() {
    let wanted = |cell: &str| Wanted { cell: Some(cell.to_owned()), ..Wanted::default() };
    let mut row = failed();
    row.demand(&wanted("load/one-existing-upsert/x/dead"));
    row.demand(&wanted("load/one-existing-upsert/calm"));
    row.demand(&Wanted::default());
    assert_eq!(row.failures.len(), 1);
    row.demand(&wanted("load/one-existing-upsert/y/dead"));
    assert_eq!(row.failures[1].1, "there is no such cell");
}

#[test]
fn one_cell_alone_is_run_with_what_it_begins_with() {
    let id = "load/a/put:x/dead/recovery/delete:y/late";
    let wanted = Wanted { cell: Some(id.to_owned()), ..Wanted::default() };
    assert!(wanted.has("load/a") && !wanted.has("load/ab") && wanted.is_deep("load/a"));
    let concerned = |id| wanted.concerns(id);
    assert!(concerned(id) && concerned("load/a/put:x/dead"));
    assert!(
        !concerned("load/a/put:x/late") && !concerned("load/a/put:x/dead/recovery/delete:y/dead")
    );
    let entry = Wanted { entry: Some("graphwrite load".to_owned()), ..Wanted::default() };
    assert!(entry.has("load/a") && !entry.has("mutate/a") && !entry.is_deep("load/a"));
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
