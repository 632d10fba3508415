//! Defects of recovery: outcomes that are not durable, slots that stay open, facts in the wrong order.

use graphwrite_coordinator::{Graph, LoadMode, LoadRequest, Store};
use graphwrite_protocol_types::Defect;
use graphwrite_substrate::{Fault, Held, HoldHandle, Operation, OperationKind};

use super::found_out;
use crate::crash::at_nth;
use crate::crash::log::{is_effect, is_manifest_commit};
use crate::crash::scenario::{Stage, TWO_EXISTING_UPSERT};
use crate::judge::{Case, Complaint, Heard, Promise, impatient, judge, open_impatient};
use crate::world::{input, own_process};
use crate::zombie::recover;

/// The writer dies in its second effect, which reaches the storage when recovery is over, before
/// anybody else writes.
async fn second_effect_comes_late(stage: &Stage) -> Result<(), Complaint> {
    let store = Store::memory(&stage.base.fork());
    let (client, faults) = store.faulty(at_nth(2, is_effect, Fault::LateDead));
    let (_, heard) = stage.scenario.write(&client).await;
    recover(&open_impatient(&store).await).await?;
    assert_eq!(faults.release_late().await, 1, "no cell passes because nothing happened");
    judge(&store, &stage.case(), &heard, &[]).await.map(drop)
}

#[tokio::test]
async fn a_slot_without_a_fence_is_found_out_by_a_late_step() {
    let promise = Promise::NoRestart;
    found_out(TWO_EXISTING_UPSERT, Defect::NoFence, promise, second_effect_comes_late).await;
}

/// A write held in its second effect, in a task of its own.
async fn held_in_second_effect(
    stage: &Stage,
    store: &Store,
) -> (tokio::task::JoinHandle<Heard>, Held, HoldHandle) {
    let effects = std::sync::atomic::AtomicUsize::new(0);
    let is_second = move |operation: &Operation| {
        is_effect(operation) && effects.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 1
    };
    held_in(stage, store, is_second).await
}

async fn held_in(
    stage: &Stage,
    store: &Store,
    selects: impl Fn(&Operation) -> bool + Send + Sync + 'static,
) -> (tokio::task::JoinHandle<Heard>, Held, HoldHandle) {
    let (client, mut handle) = store.holding(selects);
    let writer = Graph::open(client, own_process()).await.unwrap();
    let scenario = stage.scenario;
    let writing = tokio::spawn(async move { scenario.write_by(&writer).await });
    let held = handle.next().await.expect("no cell passes because nothing was held");
    (writing, held, handle)
}

/// A recoverer dies when it has closed the first table of a writer that goes on then.
async fn writer_goes_on_over_half_a_compensation(stage: &Stage) -> Result<(), Complaint> {
    let store = Store::memory(&stage.base.fork());
    let (writing, second, _handle) = held_in_second_effect(stage, &store).await;
    let (client, faults) = store.faulty(at_nth(1, is_effect, Fault::DieAfter));
    let _ = recover(&Graph::open(client, impatient()).await.unwrap()).await;
    assert!(faults.is_dead(), "no cell passes because nothing happened");
    second.release();
    let heard = writing.await.expect("the writer ends");
    judge(&store, &stage.case(), &heard, &[]).await.map(drop)
}

#[tokio::test]
async fn a_compensation_without_an_aborted_row_is_found_out_by_a_zombie() {
    let cell = writer_goes_on_over_half_a_compensation;
    found_out(TWO_EXISTING_UPSERT, Defect::NoAbortedRow, Promise::NoRestart, cell).await;
}

#[tokio::test]
async fn a_compensation_without_an_aborted_row_is_refused_by_the_manifest() {
    let (scenario, promise) = (TWO_EXISTING_UPSERT, Promise::NoRestart);
    found_out(scenario, Defect::NoAbortedRow, promise, async |stage| {
        let store = Store::memory(&stage.base.fork());
        let (client, faults) = store.faulty(at_nth(1, is_effect, Fault::DieAfter));
        stage.scenario.write(&client).await;
        assert!(faults.is_dead(), "no cell passes because nothing happened");
        recover(&open_impatient(&store).await).await
    })
    .await;
}

fn is_reading_a_table(operation: &Operation) -> bool {
    let reads = [OperationKind::List, OperationKind::Get, OperationKind::Head];
    reads.contains(&operation.kind) && operation.path.starts_with("tables/")
}

async fn upsert(graph: &Graph, stage: &Stage, tag: &str) -> Result<(), Complaint> {
    let rows = input(graph, &stage.scenario.next(tag)).await;
    let answer = graph.load(LoadRequest::new(rows, LoadMode::Upsert)).await;
    graph.settled().await;
    let heard = Heard::Answer(Box::new(answer));
    if heard.receipt().is_some() { Ok(()) } else { Err(Promise::NoRestart.broken(heard)) }
}

/// While somebody who looks at a pending intent is about to read the tables, the writer publishes and
/// another one builds on it.
async fn history_goes_on_under_a_look(stage: &Stage) -> Result<(), Complaint> {
    let store = Store::memory(&stage.base.fork());
    let (writing, publication, _handle) = held_in(stage, &store, is_manifest_commit).await;
    let (client, mut reads) = store.holding(is_reading_a_table);
    let looking = tokio::spawn(async move {
        let onlooker = Graph::open_read_only(client, impatient()).await.unwrap();
        onlooker.pending_intents().await.expect("what is pending").intents
    });
    let first = reads.next().await.expect("the onlooker looks at the tables");
    publication.release();
    let heard = writing.await.expect("the writer ends");
    assert!(heard.receipt().is_some(), "{heard:?}");
    upsert(&open_impatient(&store).await, stage, "other").await?;
    first.release();
    // The tables are read side by side.
    let releasing = tokio::spawn(async move {
        while let Some(held) = reads.next().await {
            held.release();
        }
    });
    let seen = looking.await.expect("the onlooker ends");
    releasing.abort();
    assert_eq!(seen.len(), 1, "{seen:#?}");
    // It committed before anything above its steps was there.
    if seen[0].decision != "finalize" {
        return Err(Promise::Agreement.broken(seen));
    }
    let state = stage.scenario.over(&stage.before).with(&stage.scenario.next("other"));
    let case =
        Case { before: state.clone(), after: state, commits: stage.commits + 2, ..stage.case() };
    judge(&store, &case, &Heard::Nothing, &[]).await.map(drop)
}

#[tokio::test]
async fn an_authority_that_is_read_first_is_found_out_by_a_history_that_goes_on() {
    let (promise, cell) = (Promise::Agreement, history_goes_on_under_a_look);
    found_out(TWO_EXISTING_UPSERT, Defect::AuthorityFirst, promise, cell).await;
}

/// The writer dies before it publishes; the judge's next write rolls it forward.
async fn dies_before_publication(stage: &Stage) -> Result<(), Complaint> {
    let store = Store::memory(&stage.base.fork());
    let (client, faults) = store.faulty(at_nth(1, is_manifest_commit, Fault::DieBefore));
    let (_, heard) = stage.scenario.write(&client).await;
    assert!(faults.is_dead(), "no cell passes because nothing happened");
    judge(&store, &stage.case(), &heard, &[]).await.map(drop)
}

#[tokio::test]
async fn a_commit_id_that_is_minted_at_recovery_is_found_out_by_the_intent() {
    let (promise, cell) = (Promise::Foretold, dies_before_publication);
    found_out(TWO_EXISTING_UPSERT, Defect::IdsMintedAtRecovery, promise, cell).await;
}
