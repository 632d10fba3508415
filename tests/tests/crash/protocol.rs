//! The checks of the log by themselves: what they demand of loads that change nothing and of readers,
//! and that they notice a protocol that is broken.

use graphwrite_coordinator::{Graph, LoadRequest, RecoverMode, Store};
use graphwrite_substrate::{Fault, OperationKind, OperationLog};

use super::log::{self, Steps, check_abort, check_write, is_arming, is_effect, is_manifest_commit};
use super::pending::Pending;
use super::registry::subject;
use super::scenario::{Stage, TWO_EXISTING_APPEND, TWO_EXISTING_UPSERT};
use super::subject::{Act, Scene};
use crate::world::{input, own_process};

#[tokio::test]
async fn a_load_that_changes_nothing_writes_nothing() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let (client, faults) = Store::memory(&stage.base.fork()).faulty(|_| Fault::Proceed);
    let graph = Graph::open(client, own_process()).await.unwrap();
    let request = LoadRequest::new(input(&graph, stage.scenario.base).await, stage.scenario.mode);
    let outcome = graph.load(request).await.unwrap();
    assert!(matches!(outcome, graphwrite_protocol_types::WriteOutcome::NoChange(_)), "{outcome:?}");
    assert_eq!(faults.log(), OperationLog::default());
}

#[tokio::test]
async fn the_checks_of_the_log_notice_a_write_that_breaks_the_protocol() {
    let stage = Stage::of(TWO_EXISTING_APPEND).await;
    let existing = log::datasets(&stage.base).await;
    let log = stage.operations().await;
    let tables = stage.scenario.tables.len();
    assert_eq!(check_write(&log, tables, &existing), Ok(()));
    let steps = Steps::of(&log);
    let (armed, published) = (steps.all(is_arming)[0], steps.all(is_manifest_commit)[0]);
    let effect = steps.all(is_effect)[0];
    let swapped = |a: usize, b: usize| {
        let mut log = log.clone();
        log.0.swap(a, b);
        check_write(&log, tables, &existing)
    };
    assert_eq!(swapped(armed, effect), Err("an effect before the intent is durable"));
    assert_eq!(swapped(effect, published), Err("a publication before an effect has landed"));
    assert_eq!(swapped(published, log.0.len() - 1), Err("the intent goes before the publication"));
    let mut twice = log.clone();
    twice.0.insert(published, log.0[published].clone());
    assert_eq!(check_write(&twice, tables, &existing), Err("not exactly one publication"));
    let mut deletes = log.clone();
    deletes.0[armed + 1].operation.kind = OperationKind::Delete;
    assert_eq!(
        check_write(&deletes, tables, &existing),
        Err("a deletion while the intent is pending")
    );
}

/// A scene with the log of its undisturbed run.
async fn logged(id: &str) -> (Scene, OperationLog) {
    let scene = Scene::of(subject(id)).await;
    let (client, faults) = Store::memory(&scene.start.fork()).faulty(|_| Fault::Proceed);
    scene.perform(client).await;
    (scene, faults.log())
}

/// Whether a log breaks the rules of an undisturbed run, and those of a disturbed one.
fn broken(scene: &Scene, log: &OperationLog) -> (bool, bool) {
    let undisturbed = log::undisturbed(scene, log).is_err();
    (undisturbed, log::disturbed(scene, log).is_err())
}

#[tokio::test]
async fn a_disturbed_write_without_a_durable_intent_is_noticed() {
    let (scene, mut log) = logged("load/three-existing-upsert").await;
    assert_eq!(broken(&scene, &log), (false, false));
    let armed = Steps::of(&log).all(is_arming)[0];
    log.0[armed].fault = Fault::LateDead;
    assert!(broken(&scene, &log).1);
}

#[tokio::test]
async fn a_file_of_a_table_that_is_deleted_is_noticed_in_every_run() {
    for id in ["load/three-existing-upsert", "recover/full-half", "seal/unknown", "create/empty"] {
        let (scene, mut log) = logged(id).await;
        assert_eq!(broken(&scene, &log), (false, false), "{id}");
        let mut deletion = log.0[0].clone();
        deletion.operation.kind = OperationKind::Delete;
        deletion.operation.path = match scene.existing.first() {
            Some(dataset) => format!("tables/{dataset}/data/a.lance"),
            None => "__manifest/data/a.lance".to_owned(),
        };
        log.0.push(deletion);
        assert_eq!(broken(&scene, &log), (true, true), "{id}");
    }
}

#[tokio::test]
async fn a_version_that_may_replace_another_one_is_noticed() {
    let (scene, mut log) = logged("mutate/one-existing").await;
    let published = Steps::of(&log).all(is_manifest_commit)[0];
    log.0[published].operation.kind = OperationKind::Put;
    assert_eq!(broken(&scene, &log), (true, true));
}

#[tokio::test]
async fn a_seal_that_touches_a_table_or_commits_twice_is_noticed() {
    let (scene, log) = logged("seal/half").await;
    assert_eq!(broken(&scene, &log), (false, false));
    let commit = log.0[Steps::of(&log).all(is_manifest_commit)[0]].clone();
    let mut twice = log.clone();
    twice.0.push(commit.clone());
    assert!(broken(&scene, &twice).0);
    let mut beside = log;
    beside.0.push(commit);
    beside.0.last_mut().unwrap().operation.path = "tables/x/_versions/1.manifest".to_owned();
    assert_eq!(broken(&scene, &beside), (true, true));
}

#[tokio::test]
async fn a_creation_whose_commit_is_not_its_last_act_is_noticed() {
    let (scene, mut log) = logged("create/empty").await;
    assert_eq!(broken(&scene, &log), (false, false));
    let first = log.0[0].clone();
    log.0.push(first);
    assert!(broken(&scene, &log).0);
}

#[tokio::test]
async fn a_recovery_that_takes_back_before_it_decides_is_noticed() {
    let (scene, log) = logged("recover/full-half").await;
    assert_eq!(broken(&scene, &log), (false, false));
    assert_eq!(check_abort(&log, &scene.existing), Ok(()));
    let steps = Steps::of(&log);
    let (aborted, closed) = (steps.all(is_manifest_commit)[0], steps.all(is_effect)[0]);
    let mut early = log.clone();
    early.0.swap(aborted, closed);
    assert_eq!(broken(&scene, &early), (true, true));
    let mut late = log.clone();
    late.0.swap(closed, log.0.len() - 1);
    assert!(broken(&scene, &late).0);
}

#[tokio::test]
async fn a_roll_forward_that_touches_a_table_is_noticed() {
    let (scene, mut log) = logged("recover/forward-whole").await;
    assert_eq!((scene.subject.act, scene.subject.pending), {
        (Act::Recover(RecoverMode::RollForward), Pending::Whole)
    });
    assert_eq!(broken(&scene, &log), (false, false));
    let mut touch = log.0[0].clone();
    touch.operation.path = "tables/x/data/a.lance".to_owned();
    log.0.insert(1, touch);
    assert!(broken(&scene, &log).0);
}
