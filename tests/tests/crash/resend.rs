//! A caller that does not know sends its request again: with the same operation id the request is
//! committed once, wherever the first sending crashed and however late its last step comes.

use futures::StreamExt;
use graphwrite_coordinator::{Graph, GraphOptions, Store, SystemEnv};
use graphwrite_protocol_types::OperationId;
use graphwrite_substrate::Fault;

use super::matrix::at;
use super::merges::MERGE_CHAIN;
use super::mutations::{CASCADE, OVERWRITE};
use super::scenario::{MIXED_APPEND, Scenario, Stage, TWO_EXISTING_UPSERT, TWO_FIRST_APPEND};
use crate::judge::{Case, Heard, impatient, judge_on};
use crate::request::Terms;
use crate::world::own_process;

#[tokio::test]
async fn an_upsert_that_is_sent_again_after_any_crash_commits_once() {
    run(TWO_EXISTING_UPSERT).await;
}

#[tokio::test]
async fn a_first_touch_that_is_sent_again_after_any_crash_commits_once() {
    run(TWO_FIRST_APPEND).await;
}

#[tokio::test]
async fn an_append_to_an_old_and_a_new_table_that_is_sent_again_after_any_crash_commits_once() {
    run(MIXED_APPEND).await;
}

#[tokio::test]
async fn a_mutation_that_is_sent_again_after_any_crash_commits_once() {
    run(CASCADE).await;
}

#[tokio::test]
async fn an_overwrite_that_is_sent_again_after_any_crash_commits_once() {
    run(OVERWRITE).await;
}

#[tokio::test]
async fn a_merge_by_a_chain_that_is_sent_again_after_any_crash_commits_once() {
    run(MERGE_CHAIN).await;
}

const CELLS_AT_ONCE: usize = 8;

async fn run(scenario: Scenario) {
    let stage = &Stage::of(scenario).await;
    let count = stage.operations().await.0.len() as u64;
    let cells = (1..=count).flat_map(|k| [(k, Fault::DieAfter), (k, Fault::LateDead)]);
    let judged = futures::stream::iter(cells)
        .map(|(k, fault)| Box::pin(cell(stage, k, fault)))
        .buffer_unordered(CELLS_AT_ONCE)
        .count()
        .await;
    assert_eq!(judged as u64, 2 * count);
}

async fn cell(stage: &Stage, k: u64, fault: Fault) {
    let store = Store::memory(&stage.base.fork());
    let operation = OperationId::mint(&SystemEnv::new());
    let (client, faults) = store.faulty(at(k, fault));
    let first = send(stage, &client, own_process(), &operation).await;
    assert!(faults.is_dead(), "no cell passes because nothing happened");
    let again = send(stage, &store.reopened(), impatient(), &operation).await;
    let place = format!("{}: {fault:?} at {k}", stage.scenario.name);
    let Some(receipt) = again.receipt() else { panic!("{place}: {again:?}") };
    if let Some(acknowledged) = first.receipt() {
        assert_eq!(acknowledged.commit, receipt.commit, "{place}");
    }
    assert_eq!(faults.release_late().await, usize::from(fault == Fault::LateDead));
    let case = stage.case();
    let once = Case { before: case.after.clone(), commits: case.commits + 1, ..case };
    let judged = judge_on(&stage.ground, &store, &once, &Heard::Nothing, &[]).await;
    judged.unwrap_or_else(|complaint| panic!("{place}: {complaint:?}"));
}

async fn send(
    stage: &Stage,
    client: &Store,
    options: GraphOptions,
    operation: &OperationId,
) -> Heard {
    let graph = Graph::open(client.clone(), options).await.unwrap();
    let terms = Terms { operation: Some(operation.clone()), expect_head: None };
    // A request without effect would be no answer of the first sending: this panics then.
    stage.scenario.write_as(&graph, terms).await
}
