//! Publishing over a storage that loses answers, fails, dies, or performs writes late (K1, K2).

use std::sync::atomic::{AtomicU32, Ordering};

use graphwrite_protocol_types::Answer;
use graphwrite_substrate::*;

use super::world::*;
use crate::*;

fn is_version(operation: &Operation) -> bool {
    operation.path.starts_with("__manifest/_versions/") && operation.path.ends_with(".manifest")
}

/// The fault for the first `times` writes of a manifest version.
fn first_versions(times: u32, fault: Fault) -> impl Fn(&Operation) -> Fault + Send + Sync {
    let seen = AtomicU32::new(0);
    move |operation| {
        let hit = is_version(operation) && seen.fetch_add(1, Ordering::SeqCst) < times;
        if hit { fault } else { Fault::Proceed }
    }
}

#[tokio::test]
async fn a_publish_whose_answer_is_lost_has_committed_once() {
    let world = World::in_memory().await;
    let (faulty, handle) = world.store.faulty(first_versions(1, Fault::LoseAck));
    let manifest = world.open_through(&faulty).await;
    let base = manifest.known_state();
    let write = world.write(&base).writes(table(1));
    let state = write.commit(&manifest, &base).await;
    assert_eq!(handle.log().0.iter().filter(|logged| logged.fault == Fault::LoseAck).count(), 1);
    assert_eq!(world.open().await.known_state().base(), state.base());
    assert_eq!(check_history(&world).await.len(), 1);
}

#[tokio::test]
async fn an_unknown_answer_is_cured_by_wanting_the_same_slot_again() {
    let world = World::in_memory().await;
    let (faulty, handle) = world.store.faulty(first_versions(2, Fault::Fail));
    let manifest = world.open_through(&faulty).await;
    let base = manifest.known_state();
    let state = world.write(&base).writes(table(1)).commit(&manifest, &base).await;
    assert_eq!(state.version(), base.version() + 1);
    let tries = handle.log().operations().filter(|operation| is_version(operation)).count();
    assert_eq!(tries, 3, "two that failed and one that landed");
    assert_eq!(check_history(&world).await.len(), 1);
}

#[tokio::test]
async fn an_answer_that_stays_unknown_is_reported_so_and_settled_by_publishing_again() {
    let world = World::in_memory().await;
    let (faulty, _handle) = world.store.faulty(first_versions(u32::MAX, Fault::Fail));
    let manifest = world.open_through(&faulty).await;
    let base = manifest.known_state();
    let write = world.write(&base).writes(table(1));
    let error = manifest.publish(write.transition(), &base).await.unwrap_err();
    assert!(matches!(error, ManifestError::Unknown { version: 2, .. }), "{error}");
    assert!(!error.had_no_effect());
    assert!(!error.may_retry());
    write.commit(&world.open().await, &base).await;
    assert_eq!(check_history(&world).await.len(), 1);
}

#[tokio::test]
async fn a_put_that_arrives_after_its_slot_was_taken_changes_nothing() {
    let world = World::in_memory().await;
    let (faulty, handle) = world.store.faulty(first_versions(1, Fault::LateDead));
    let dead = world.open_through(&faulty).await;
    let survivor = world.open().await;
    let base = survivor.known_state();
    let late = world.write(&base).writes(table(1));
    assert!(dead.publish(late.transition(), &base).await.is_err());
    let aborted = survivor.publish(late.abort(), &base).await.unwrap();
    assert!(matches!(aborted, PublishOutcome::Aborted { .. }), "{aborted:?}");
    assert_eq!(handle.release_late().await, 1);
    let state = world.open().await.known_state();
    assert_eq!(state.base(), aborted.state().base());
    assert!(check_history(&world).await.is_empty());
}

#[tokio::test]
async fn a_put_that_arrives_before_the_abort_is_found_by_it() {
    let world = World::in_memory().await;
    let (faulty, handle) = world.store.faulty(first_versions(1, Fault::LateDead));
    let dead = world.open_through(&faulty).await;
    let survivor = world.open().await;
    let base = survivor.known_state();
    let late = world.write(&base).writes(table(1));
    assert!(dead.publish(late.transition(), &base).await.is_err());
    assert_eq!(handle.release_late().await, 1);
    match survivor.publish(late.abort(), &base).await.unwrap() {
        PublishOutcome::AlreadyDecided { outcome, .. } => {
            assert_eq!(outcome.commit(), Some(late.intent.lineage.commit));
        }
        other => panic!("not decided: {other:?}"),
    }
    assert_eq!(check_history(&world).await.len(), 1);
}

/// What a publish whose `k`th durable operation met `fault` left, and whether it came that far.
async fn publish_with_fault(world: &World, write: &Write, k: u64, fault: Fault) -> bool {
    let decide = move |o: &Operation| if o.number == k { fault } else { Fault::Proceed };
    let (faulty, handle) = world.store.faulty(decide);
    let manifest = world.open_through(&faulty).await;
    let base = manifest.known_state();
    let _ = manifest.publish(write.transition(), &base).await;
    handle.release_late().await;
    handle.durable_operations() >= k
}

/// Runs every cell of (durable operation, fault) on a graph that `prepare` has filled.
async fn every_durable_operation(commits_before: u64) -> u32 {
    let faults = [Fault::DieBefore, Fault::DieAfter, Fault::Fail, Fault::LoseAck, Fault::LateDead];
    let storage = MemoryStorage::new();
    let origin = World::on(Store::memory(&storage)).await;
    commit_many(&origin, &origin.open().await, commits_before).await;
    let mut cells = 0;
    for fault in faults {
        for k in 1.. {
            let world = World::over(Store::memory(&storage.fork()));
            let base = world.open().await.known_state();
            let write = world.write(&base).writes(table(1));
            if !publish_with_fault(&world, &write, k, fault).await {
                break;
            }
            let left = check_history(&world).await.len() as u64;
            assert!(left == commits_before || left == commits_before + 1, "{fault:?} at {k}");
            write.commit(&world.open().await, &base).await;
            let after = check_history(&world).await.len() as u64;
            assert_eq!(after, commits_before + 1, "{fault:?} at {k}");
            cells += 1;
        }
    }
    cells
}

#[tokio::test]
async fn a_publish_that_dies_anywhere_happened_wholly_or_not_and_can_be_repeated() {
    let cells = every_durable_operation(2).await;
    assert!(cells >= 15, "{cells} cells");
}

#[tokio::test]
async fn a_publish_that_dies_anywhere_while_it_spills_loses_no_row() {
    let cells = every_durable_operation(64).await;
    assert!(cells >= 20, "{cells} cells");
}

#[tokio::test]
async fn a_failing_data_file_leaves_the_manifest_as_it_was() {
    let world = World::in_memory().await;
    let decide = |o: &Operation| {
        if o.path.contains("/data/") { Fault::Fail } else { Fault::Proceed }
    };
    let (faulty, _handle) = world.store.faulty(decide);
    let manifest = world.open_through(&faulty).await;
    let base = manifest.known_state();
    let write = world.write(&base).writes(table(1));
    let error = manifest.publish(write.transition(), &base).await.unwrap_err();
    assert!(matches!(error, ManifestError::Substrate(_)), "{error}");
    assert!(error.had_no_effect());
    assert_eq!(world.open().await.known_state().version(), base.version());
}
