//! Depth 2: the recovery of every crash is itself crashed at every durable operation, and every such
//! operation may also come late, after a third process has recovered and written.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use futures::StreamExt;
use graphwrite_coordinator::{
    BarrierOutcome, Graph, MemoryStorage, RecoverMode, RecoverRequest, Store,
};
use graphwrite_substrate::{Fault, FaultHandle};

use super::matrix::{Tally, at};
use super::scenario::{MIXED_UPSERT, Scenario, Stage, TWO_EXISTING_UPSERT};
use crate::judge::{Case, Heard, impatient, judge};

const CELLS_AT_ONCE: usize = 8;

#[tokio::test]
async fn recoveries_of_an_upsert_to_two_tables_may_crash_anywhere() {
    run(TWO_EXISTING_UPSERT, Steps::DeadOrLate).await;
}

#[tokio::test]
async fn recoveries_of_an_upsert_to_an_old_and_a_new_table_may_crash_anywhere() {
    run(MIXED_UPSERT, Steps::Dead).await;
}

/// Copies of a storage, one for the moment before each durable operation of a client, and one after
/// all of them. A client that stopped there for good has left exactly that.
#[derive(Debug, Clone, Default)]
struct Instants(Arc<Mutex<Vec<MemoryStorage>>>);

impl Instants {
    /// A client of `storage` that leaves a copy before each of its durable operations.
    fn of(storage: &MemoryStorage) -> (Store, FaultHandle, Self) {
        let instants = Self::default();
        let (kept, source) = (instants.clone(), storage.clone());
        let (client, faults) = Store::memory(storage).faulty(move |_| {
            kept.0.lock().unwrap().push(source.fork());
            Fault::Proceed
        });
        (client, faults, instants)
    }

    fn take(&self, last: &MemoryStorage) -> Vec<MemoryStorage> {
        let mut instants = std::mem::take(&mut *self.0.lock().unwrap());
        instants.push(last.fork());
        instants
    }
}

async fn recover(graph: &Graph) -> Option<BarrierOutcome> {
    let request = RecoverRequest { attempt: None, mode: RecoverMode::Full, owner_is_dead: false };
    graph.recover(request).await.ok().map(|report| report.outcome)
}

/// What the crashes of a scenario leave.
async fn crashes(stage: &Stage) -> Vec<MemoryStorage> {
    let storage = stage.base.fork();
    let (client, _, instants) = Instants::of(&storage);
    let (_, heard) = stage.scenario.write(&client).await;
    assert!(heard.receipt().is_some(), "{heard:?}");
    instants.take(&storage)
}

/// The durable operations of a recovery of `crashed`, and what is left before each of them.
async fn recoveries(crashed: &MemoryStorage) -> Vec<MemoryStorage> {
    let storage = crashed.fork();
    let (client, _, instants) = Instants::of(&storage);
    let graph = Graph::open(client, impatient()).await.unwrap();
    assert_eq!(recover(&graph).await, Some(BarrierOutcome::Clean));
    assert!(graph.pending_intents().await.unwrap().is_empty());
    instants.take(&storage)
}

/// What becomes of the step at which a recoverer dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Steps {
    Dead,
    DeadOrLate,
}

pub(super) async fn run(scenario: Scenario, steps: Steps) {
    let stage = Stage::of(scenario).await;
    let (mut dead, mut late) = (Tally::default(), Tally::default());
    let mut judged = BTreeSet::new();
    for crashed in crashes(&stage).await {
        let left = recoveries(&crashed).await;
        let operations = left.len() as u64 - 1;
        let mut fresh = Vec::new();
        for storage in left {
            if judged.insert(storage.digest().await.unwrap()) {
                fresh.push(storage);
            }
        }
        judge_all(&stage, fresh, &mut dead).await;
        if steps == Steps::DeadOrLate {
            judge_late(&stage, &crashed, operations, &mut late).await;
        }
    }
    dead.print(&format!("{}, recoverer dies", scenario.name));
    if steps == Steps::DeadOrLate {
        late.print(&format!("{}, recoverer dies and its last step comes late", scenario.name));
        assert!(late.cells > 0, "recovery has nothing to do");
    }
    assert!(0 < dead.after && dead.after < dead.cells, "both ends are reached: {dead:?}");
}

async fn judge_all(stage: &Stage, left: Vec<MemoryStorage>, tally: &mut Tally) {
    let case = &stage.case();
    let mut verdicts = futures::stream::iter(left)
        .map(|storage| async move {
            Box::pin(judge(&Store::memory(&storage), case, &Heard::Nothing, &[])).await
        })
        .buffer_unordered(CELLS_AT_ONCE);
    while let Some(verdict) = verdicts.next().await {
        tally.add(verdict.expect("a crashed recovery is taken up again"));
    }
}

async fn judge_late(stage: &Stage, crashed: &MemoryStorage, operations: u64, tally: &mut Tally) {
    let mut verdicts = futures::stream::iter(1..=operations)
        .map(|j| async move {
            let store = Store::memory(&crashed.fork());
            let (client, faults) = store.faulty(at(j, Fault::LateDead));
            let graph = Graph::open(client, impatient()).await.unwrap();
            let _ = Box::pin(recover(&graph)).await;
            assert!(faults.is_dead(), "no cell passes because nothing happened");
            let verdict = judge(&store, &stage.case(), &Heard::Nothing, &[]).await?;
            assert_eq!(faults.release_late().await, 1);
            let case = Case {
                before: verdict.state.clone(),
                after: verdict.state.clone(),
                commits: verdict.commits,
                next: stage.scenario.next("late"),
            };
            judge(&store, &case, &Heard::Nothing, &[]).await?;
            Ok::<_, crate::judge::Complaint>(verdict)
        })
        .buffer_unordered(CELLS_AT_ONCE);
    while let Some(verdict) = verdicts.next().await {
        tally.add(verdict.expect("a late step of a dead recoverer changes nothing"));
    }
}
