//! Zombies: a writer is held at each of its durable operations while another process, which waits
//! for nobody, runs its barrier and a whole write to the same tables; then the writer goes on.

use std::sync::atomic::{AtomicU64, Ordering};

use futures::StreamExt;
use graphwrite_coordinator::{Graph, LoadMode, LoadRequest, Store};
use graphwrite_protocol_types::{Conflict, WriteOutcome};
use graphwrite_substrate::{HoldHandle, Operation};

use crate::crash::scenario::{
    MIXED_UPSERT, Scenario, Stage, THREE_UPSERT, TWO_EXISTING_APPEND, TWO_EXISTING_UPSERT,
    TWO_FIRST_APPEND,
};
use crate::judge::{
    Case, Complaint, Heard, Promise, check_answer, check_commits, judge, open_impatient, seen_by,
    tell, which,
};
use crate::world::{input, own_process, reopen};

const CELLS_AT_ONCE: usize = 4;

/// What stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    /// The whole process, from its k-th durable operation on.
    Process,
    /// One request, somewhere between the process and the storage; the process runs.
    Request,
}

#[tokio::test]
async fn a_paused_append_that_meets_its_own_keys_yields_or_has_won() {
    run(TWO_EXISTING_APPEND, Held::Process).await;
}

#[tokio::test]
async fn a_paused_upsert_goes_on_over_the_write_of_another() {
    run(TWO_EXISTING_UPSERT, Held::Process).await;
}

#[tokio::test]
async fn a_paused_first_touch_yields_or_has_won() {
    run(TWO_FIRST_APPEND, Held::Process).await;
}

#[tokio::test]
async fn a_paused_upsert_of_an_old_and_a_new_table_goes_on_over_the_write_of_another() {
    run(MIXED_UPSERT, Held::Process).await;
}

#[tokio::test]
async fn a_paused_upsert_of_three_tables_goes_on_over_the_write_of_another() {
    run(THREE_UPSERT, Held::Process).await;
}

#[tokio::test]
async fn a_request_under_way_for_long_does_not_reach_a_state_that_others_made() {
    run(TWO_EXISTING_UPSERT, Held::Request).await;
}

#[tokio::test]
async fn a_first_touch_under_way_for_long_does_not_reach_a_state_that_others_made() {
    run(TWO_FIRST_APPEND, Held::Request).await;
}

/// How cells ended.
#[derive(Debug, Default)]
struct Tally {
    cells: usize,
    /// The writer's commit comes first.
    first: usize,
    /// The writer committed over the other's write.
    on_top: usize,
    /// The writer was refused.
    refused: usize,
}

/// How the zombie ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    First,
    OnTop,
    Refused,
}

async fn run(scenario: Scenario, held: Held) {
    let stage = Stage::of(scenario).await;
    let count = stage.operations().await.0.len() as u64;
    let stage = &stage;
    let mut cells = futures::stream::iter(1..=count)
        .map(|k| async move { (k, Box::pin(cell(stage, k, held)).await) })
        .buffer_unordered(CELLS_AT_ONCE);
    let mut tally = Tally::default();
    while let Some((k, ended)) = cells.next().await {
        tally.cells += 1;
        match ended.unwrap_or_else(|complaint| panic!("held at {k}: {complaint:?}")) {
            Ended::First => tally.first += 1,
            Ended::OnTop => tally.on_top += 1,
            Ended::Refused => tally.refused += 1,
        }
    }
    tell(&format!("zombies, {}, {held:?}: {tally:?}", scenario.name));
    assert_eq!(tally.cells as u64, count);
    assert!(tally.first > 0, "some were held too late to lose: {tally:?}");
    match scenario.mode {
        LoadMode::Append => assert!(tally.refused > 0 && tally.on_top == 0, "{tally:?}"),
        LoadMode::Upsert => assert!(tally.on_top > 0 && tally.refused == 0, "{tally:?}"),
    }
}

/// Rows of the other process: some of the writer's keys with other values, and keys of its own.
fn others(scenario: &Scenario) -> Vec<String> {
    let contested = match scenario.mode {
        LoadMode::Append => 1,
        LoadMode::Upsert => 2,
    };
    let changed = scenario.rows[..contested].iter().map(|row| row.replace("\"age\":", "\"age\":7"));
    changed.chain(scenario.next("other")).collect()
}

async fn cell(stage: &Stage, k: u64, held: Held) -> Result<Ended, Complaint> {
    let store = Store::memory(&stage.base.fork());
    let warm = reopen(&store).await;
    seen_by(&warm).await;
    let (client, mut handle) = store.holding(selects(k, held));
    let zombie = Graph::open(client, own_process()).await.unwrap();
    let scenario = stage.scenario;
    let writing = tokio::spawn({
        let zombie = zombie.clone();
        async move { scenario.write_by(&zombie).await }
    });
    let first = handle.next().await.expect("no cell passes because nothing was held");
    let is_first = meanwhile(stage, &store).await?;
    assert!(!writing.is_finished(), "the writer is held");
    first.release();
    let releasing = tokio::spawn(release_all(handle));
    let heard = writing.await.expect("the writer ends");
    let ended = ended(is_first, &heard)?;
    check_answer(&open_impatient(&store).await, &heard, ended != Ended::Refused).await?;
    let verdict = judge(&store, &case_of(stage, ended), &Heard::Nothing, &[&warm, &zombie]).await;
    releasing.abort();
    verdict.map(|_| ended)
}

fn selects(k: u64, held: Held) -> impl Fn(&Operation) -> bool {
    let asked = AtomicU64::new(0);
    move |operation| {
        let step = u64::from(operation.kind.is_durable());
        let number = asked.fetch_add(step, Ordering::SeqCst) + step;
        match held {
            Held::Process => number >= k,
            Held::Request => step == 1 && number == k,
        }
    }
}

async fn release_all(mut handle: HoldHandle) {
    while let Some(held) = handle.next().await {
        held.release();
    }
}

/// The other process: a barrier and a write, beside the writer that stands still. Says whether the
/// writer's commit was, or was made, visible before.
async fn meanwhile(stage: &Stage, store: &Store) -> Result<bool, Complaint> {
    let other = open_impatient(store).await;
    let rows = others(&stage.scenario);
    let request = LoadRequest::new(input(&other, &rows).await, LoadMode::Upsert);
    let outcome = other.load(request).await;
    other.settled().await;
    if !matches!(outcome, Ok(WriteOutcome::Committed(_))) {
        return Err(Promise::NoRestart.broken(outcome));
    }
    let first = stage.before.with(stage.scenario.rows).with(&rows);
    let is_first = which(&other, &stage.before.with(&rows), &first).await?;
    check_commits(&other, stage.commits + 1, is_first).await?;
    let report = other.verify().await.expect("a report");
    if report.is_clean() { Ok(is_first) } else { Err(Promise::Clean.broken(report)) }
}

fn ended(is_first: bool, heard: &Heard) -> Result<Ended, Complaint> {
    match heard.answer() {
        Some(Ok(WriteOutcome::Committed(_))) if is_first => Ok(Ended::First),
        Some(Ok(WriteOutcome::Committed(_))) => Ok(Ended::OnTop),
        Some(Ok(WriteOutcome::Conflict(Conflict::KeyExists { .. }))) if !is_first => {
            Ok(Ended::Refused)
        }
        _ => Err(Promise::Acknowledged.broken((is_first, heard))),
    }
}

/// What the storage must hold in the end.
fn case_of(stage: &Stage, ended: Ended) -> Case {
    let (own, other) = (stage.scenario.rows, others(&stage.scenario));
    let (state, commits) = match ended {
        Ended::First => (stage.before.with(own).with(&other), 2),
        Ended::OnTop => (stage.before.with(&other).with(own), 2),
        Ended::Refused => (stage.before.with(&other), 1),
    };
    let next = stage.scenario.next("next");
    Case { before: state.clone(), after: state, commits: stage.commits + commits, next }
}
