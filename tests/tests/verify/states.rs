//! Every state that a crash leaves, of a write and of its recovery: `verify` explains it, finds no
//! fault, and writes nothing.

use std::collections::BTreeSet;

use futures::StreamExt;
use futures::future::join_all;
use graphwrite_coordinator::{Graph, MemoryStorage, RecoverMode, RecoverRequest, Store};
use graphwrite_substrate::{Fault, Operation};

use super::planting::{faults, notes, verified};
use crate::crash::scenario::{MIXED_UPSERT, Scenario, Stage, THREE_UPSERT};
use crate::crash::{at, at_nth};
use crate::judge::{impatient, tell};

/// The storage after a writer that died when its `k`-th durable operation was applied.
async fn died_at(stage: &Stage, k: u64) -> MemoryStorage {
    let storage = stage.base.fork();
    let (client, faults) = Store::memory(&storage).faulty(at(k, Fault::DieAfter));
    stage.scenario.write(&client).await;
    assert!(faults.is_dead());
    storage
}

/// States that are made at once: a writer whose storage does not answer waits before it gives up.
const STATES_AT_ONCE: usize = 8;

/// What `verify` notes of a state; it finds no fault.
async fn explained(storage: &MemoryStorage, what: &str) -> Vec<&'static str> {
    let report = verified(storage).await;
    assert_eq!(faults(&report), [""; 0], "{what}: {report:#?}");
    notes(&report)
}

async fn every_state_of(scenario: Scenario) -> BTreeSet<&'static str> {
    let stage = Stage::of(scenario).await;
    let count = stage.operations().await.0.len() as u64;
    let stage = &stage;
    let states = futures::stream::iter(1..=count).map(|k| async move {
        let storage = died_at(stage, k).await;
        explained(&storage, &format!("{} at {k}", scenario.name)).await
    });
    let noted: Vec<_> = states.buffer_unordered(STATES_AT_ONCE).collect().await;
    let seen = noted.into_iter().flatten().collect();
    tell(&format!("verify, {}: {count} states, {seen:?}", scenario.name));
    seen
}

#[tokio::test]
async fn every_state_of_a_write_to_three_tables_is_explained() {
    let seen = every_state_of(THREE_UPSERT).await;
    for code in ["pending_intent", "unpublished_head", "staged_files", "unnamed_files"] {
        assert!(seen.contains(code), "{code} in {seen:?}");
    }
}

#[tokio::test]
async fn every_state_of_a_first_touch_is_explained() {
    let seen = every_state_of(MIXED_UPSERT).await;
    for code in ["abandoned_dataset", "pending_dataset"] {
        assert!(seen.contains(code), "{code} in {seen:?}");
    }
}

async fn recover(client: Store) {
    let Ok(graph) = Graph::open(client, impatient()).await else { return };
    let request = RecoverRequest { attempt: None, mode: RecoverMode::Full, owner_is_dead: false };
    // It may die at any of its own steps.
    let _ = graph.recover(request).await;
}

/// The states that a recovery goes through, from where `landed` effects of the write have landed.
async fn states_of_recovery(stage: &Stage, landed: usize) -> Vec<Vec<&'static str>> {
    let is_effect =
        |it: &Operation| it.path.starts_with("tables/") && it.path.ends_with(".manifest");
    let died = stage.base.fork();
    let dying = at_nth(landed, is_effect, Fault::DieAfter);
    stage.scenario.write(&Store::memory(&died).faulty(dying).0).await;
    let mut states = Vec::new();
    for k in 1.. {
        let storage = died.fork();
        let (client, faults) = Store::memory(&storage).faulty(at(k, Fault::DieAfter));
        recover(client).await;
        states.push(explained(&storage, &format!("{landed} landed, recovery at {k}")).await);
        if !faults.is_dead() {
            break;
        }
    }
    states
}

#[tokio::test]
async fn every_state_of_a_recovery_is_explained() {
    let stage = Stage::of(THREE_UPSERT).await;
    let states = join_all((1..=3).map(|landed| states_of_recovery(&stage, landed))).await;
    let states: Vec<_> = states.into_iter().flatten().collect();
    let count = states.len();
    let seen: BTreeSet<_> = states.into_iter().flatten().collect();
    tell(&format!("verify, recoveries of 3 writes: {count} states, {seen:?}"));
    assert!(count > 6 && seen.contains("unpublished_head"), "{seen:?}");
}
