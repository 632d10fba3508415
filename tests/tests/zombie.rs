//! Zombies: a writer is held at each of its durable operations while another process, which waits
//! for nobody, runs its barrier and a whole write to the same tables; then the writer goes on.

use std::sync::atomic::{AtomicU64, Ordering};

use futures::StreamExt;
use graphwrite_coordinator::{
    BarrierOutcome, Graph, MemoryStorage, RecoverMode, RecoverRequest, Store,
};
use graphwrite_substrate::{Fault, HoldHandle, Operation, OperationKind};

use crate::crash::at_nth;
use crate::crash::mutations::MUTATE_THREE;
use crate::crash::paused::{Ended, case_of, ended, write_next, writes_over};
use crate::crash::scenario::{
    MIXED_UPSERT, Scenario, Stage, THREE_UPSERT, TWO_EXISTING_APPEND, TWO_EXISTING_UPSERT,
    TWO_FIRST_APPEND,
};
use crate::judge::{
    Case, Complaint, Heard, Promise, Verdict, check_answer, impatient, judge, open_impatient,
    seen_by, tell,
};
use crate::world::{own_process, reopen};

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
async fn a_paused_mutation_of_three_tables_goes_on_over_the_write_of_another() {
    run(MUTATE_THREE, Held::Process).await;
}

#[tokio::test]
async fn a_request_of_a_mutation_under_way_for_long_does_not_reach_a_state_that_others_made() {
    run(MUTATE_THREE, Held::Request).await;
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
    if scenario.is_strict() {
        assert!(tally.refused > 0 && tally.on_top == 0, "{tally:?}");
    } else {
        assert!(tally.on_top > 0 && tally.refused == 0, "{tally:?}");
    }
}

async fn cell(stage: &Stage, k: u64, held: Held) -> Result<Ended, Complaint> {
    held_where(stage, selects(k, held)).await
}

/// A writer all of whose selected requests are held until the other process is done.
pub(crate) async fn held_where(
    stage: &Stage,
    selects: impl Fn(&Operation) -> bool + Send + Sync + 'static,
) -> Result<Ended, Complaint> {
    let store = Store::memory(&stage.base.fork());
    let warm = reopen(&store).await;
    seen_by(&warm).await;
    let (client, mut handle) = store.holding(selects);
    let zombie = Graph::open(client, own_process()).await.unwrap();
    let scenario = stage.scenario;
    let writing = tokio::spawn({
        let zombie = zombie.clone();
        async move { scenario.write_by(&zombie).await }
    });
    let first = handle.next().await.expect("no cell passes because nothing was held");
    let is_first = writes_over(stage, &store).await?;
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

/// A writer all of whose selected requests are held until another process has resolved what is
/// pending, and done nothing else.
pub(crate) async fn recovered_while_held(
    stage: &Stage,
    selects: impl Fn(&Operation) -> bool + Send + Sync + 'static,
) -> Result<Verdict, Complaint> {
    let store = Store::memory(&stage.base.fork());
    let (client, mut handle) = store.holding(selects);
    let zombie = Graph::open(client, own_process()).await.unwrap();
    let scenario = stage.scenario;
    let writing = tokio::spawn({
        let zombie = zombie.clone();
        async move { scenario.write_by(&zombie).await }
    });
    let first = handle.next().await.expect("no cell passes because nothing was held");
    recover(&open_impatient(&store).await).await?;
    first.release();
    let releasing = tokio::spawn(release_all(handle));
    let heard = writing.await.expect("the writer ends");
    let verdict = judge(&store, &stage.case(), &heard, &[&zombie]).await;
    releasing.abort();
    verdict
}

/// Resolves all that is pending, as a process that waits for nobody.
pub(crate) async fn recover(graph: &Graph) -> Result<(), Complaint> {
    let request = RecoverRequest { attempt: None, mode: RecoverMode::Full, owner_is_dead: false };
    match graph.recover(request).await {
        Ok(report) if report.outcome == BarrierOutcome::Clean => Ok(()),
        other => Err(Promise::NoRestart.broken(other)),
    }
}

async fn run_beside_recovery(scenario: Scenario, held: Held) {
    let stage = &Stage::of(scenario).await;
    let count = stage.operations().await.0.len() as u64;
    let mut cells = futures::stream::iter(1..=count)
        .map(|k| async move { (k, Box::pin(recovered_while_held(stage, selects(k, held))).await) })
        .buffer_unordered(CELLS_AT_ONCE);
    while let Some((k, judged)) = cells.next().await {
        let verdict = judged.unwrap_or_else(|complaint| panic!("held at {k}: {complaint:?}"));
        assert!(verdict.is_after, "held at {k}: nobody else writes, so the writer commits");
    }
}

#[tokio::test]
async fn a_paused_append_goes_on_beside_a_recovery_alone() {
    run_beside_recovery(TWO_EXISTING_APPEND, Held::Process).await;
}

#[tokio::test]
async fn a_request_of_an_append_under_way_for_long_meets_the_slots_that_a_recovery_closed() {
    run_beside_recovery(TWO_EXISTING_APPEND, Held::Request).await;
}

/// Recoverers as zombies: one is held at each durable operation of its recovery and its own write,
/// another one does all of that, and the first goes on.
async fn recoverers(scenario: Scenario, landed: usize) {
    let stage = Stage::of(scenario).await;
    let crashed = crashed(&stage, landed).await;
    let (client, faults) = Store::memory(&crashed.fork()).faulty(|_| Fault::Proceed);
    assert!(write_next(&open_impatient(&client).await, scenario, "one").await.receipt().is_some());
    let count = faults.durable_operations();
    let (stage, crashed) = (&stage, &crashed);
    let mut cells = futures::stream::iter(1..=count)
        .map(|k| async move { (k, Box::pin(recoverers_cell(stage, crashed, k)).await) })
        .buffer_unordered(CELLS_AT_ONCE);
    let mut on_top = 0;
    while let Some((k, judged)) = cells.next().await {
        let is_after = judged.unwrap_or_else(|complaint| panic!("held at {k}: {complaint:?}"));
        assert_eq!(is_after, landed == scenario.tables.len(), "held at {k}: it is decided");
        on_top += 1;
    }
    tell(&format!("paused recoverers, {}, {landed} landed: {on_top} cells", scenario.name));
    assert!(on_top > 0 && on_top == count);
}

/// A storage whose writer died when `landed` of its effects had landed.
async fn crashed(stage: &Stage, landed: usize) -> MemoryStorage {
    let last = move |it: &Operation| match landed {
        0 => it.kind == OperationKind::PutIfAbsent && it.path.ends_with(".intent"),
        _ => it.path.starts_with("tables/") && it.path.ends_with(".manifest"),
    };
    let storage = stage.base.fork();
    let dying = at_nth(landed.max(1), last, Fault::DieAfter);
    let (client, faults) = Store::memory(&storage).faulty(dying);
    stage.scenario.write(&client).await;
    assert!(faults.is_dead());
    storage
}

async fn recoverers_cell(
    stage: &Stage,
    crashed: &MemoryStorage,
    k: u64,
) -> Result<bool, Complaint> {
    let store = Store::memory(&crashed.fork());
    let scenario = stage.scenario;
    let (client, mut handle) = store.holding(selects(k, Held::Process));
    let zombie = Graph::open(client, impatient()).await.unwrap();
    let writing = tokio::spawn({
        let zombie = zombie.clone();
        async move { write_next(&zombie, scenario, "one").await }
    });
    let first = handle.next().await.expect("no cell passes because nothing was held");
    let second = write_next(&open_impatient(&store).await, scenario, "two").await;
    assert!(!writing.is_finished(), "the recoverer is held");
    first.release();
    let releasing = tokio::spawn(release_all(handle));
    let first = writing.await.expect("the recoverer ends");
    for heard in [&first, &second] {
        if heard.receipt().is_none() {
            return Err(Promise::NoRestart.broken(heard));
        }
    }
    let both = [scenario.next("one"), scenario.next("two")].concat();
    let case = Case {
        before: stage.before.with(&both),
        after: scenario.over(&stage.before).with(&both),
        commits: stage.commits + 2,
        next: scenario.next("next"),
    };
    let verdict = judge(&store, &case, &Heard::Nothing, &[&zombie]).await;
    releasing.abort();
    verdict.map(|verdict| verdict.is_after)
}

#[tokio::test]
async fn a_paused_recoverer_of_half_a_write_goes_on_where_another_one_has_finished() {
    recoverers(TWO_EXISTING_UPSERT, 1).await;
}

#[tokio::test]
async fn a_paused_recoverer_of_half_a_first_touch_goes_on_where_another_one_has_finished() {
    recoverers(TWO_FIRST_APPEND, 1).await;
}

#[tokio::test]
async fn a_paused_recoverer_of_a_complete_write_goes_on_where_another_one_has_finished() {
    recoverers(TWO_EXISTING_UPSERT, 2).await;
}

#[tokio::test]
async fn an_intent_that_is_gone_between_its_listing_and_its_reading_is_no_error() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let store = Store::memory(&crashed(&stage, 1).await);
    let is_reading = |it: &Operation| it.kind == OperationKind::Get && it.path.ends_with(".intent");
    let (client, mut handle) = store.holding(is_reading);
    let slow = Graph::open(client, impatient()).await.unwrap();
    let writing = tokio::spawn({
        let slow = slow.clone();
        async move { write_next(&slow, TWO_EXISTING_UPSERT, "one").await }
    });
    let reading = handle.next().await.expect("the intent is read");
    // The same barrier in another process ends the intent and deletes it.
    let other = write_next(&open_impatient(&store).await, TWO_EXISTING_UPSERT, "two").await;
    assert!(other.receipt().is_some(), "{other:?}");
    reading.release();
    drop(handle);
    let heard = writing.await.unwrap();
    assert!(heard.receipt().is_some(), "{heard:?}");
    let both = [TWO_EXISTING_UPSERT.next("one"), TWO_EXISTING_UPSERT.next("two")].concat();
    let state = stage.before.with(&both);
    let next = TWO_EXISTING_UPSERT.next("next");
    let case = Case { before: state.clone(), after: state, commits: stage.commits + 2, next };
    judge(&store, &case, &Heard::Nothing, &[&slow]).await.expect("a sound graph");
}
