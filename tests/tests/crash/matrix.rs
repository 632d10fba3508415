//! Depth 1: every durable operation of every scenario meets every fate.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::StreamExt;
use graphwrite_coordinator::{Graph, Store};
use graphwrite_substrate::{Fault, FaultHandle};

use super::scenario::{
    MIXED_APPEND, MIXED_UPSERT, Scenario, Stage, THREE_APPEND, THREE_UPSERT, TWO_EXISTING_APPEND,
    TWO_EXISTING_UPSERT, TWO_FIRST_APPEND, TWO_FIRST_UPSERT,
};
use crate::judge::{Case, Complaint, Verdict, judge, seen_by, tell};
use crate::world::reopen;

/// Applied and dead; applied and the answer lost, alive; dead, and applied only after a recoverer has
/// run.
pub(super) const FATES: [Fault; 3] = [Fault::DieAfter, Fault::LoseAck, Fault::LateDead];

/// Cells that sleep, because their storage does not answer, leave the processor to others.
const CELLS_AT_ONCE: usize = 8;

#[tokio::test]
async fn every_crash_of_an_append_to_two_tables_is_survived() {
    run(TWO_EXISTING_APPEND).await;
}

#[tokio::test]
async fn every_crash_of_an_upsert_to_two_tables_is_survived() {
    run(TWO_EXISTING_UPSERT).await;
}

#[tokio::test]
async fn every_crash_of_an_append_of_two_first_touches_is_survived() {
    run(TWO_FIRST_APPEND).await;
}

#[tokio::test]
async fn every_crash_of_an_upsert_of_two_first_touches_is_survived() {
    run(TWO_FIRST_UPSERT).await;
}

#[tokio::test]
async fn every_crash_of_an_append_to_an_old_and_a_new_table_is_survived() {
    run(MIXED_APPEND).await;
}

#[tokio::test]
async fn every_crash_of_an_upsert_to_an_old_and_a_new_table_is_survived() {
    run(MIXED_UPSERT).await;
}

#[tokio::test]
async fn every_crash_of_an_append_to_three_tables_is_survived() {
    run(THREE_APPEND).await;
}

#[tokio::test]
async fn every_crash_of_an_upsert_to_three_tables_is_survived() {
    run(THREE_UPSERT).await;
}

/// What became of the cells of a scenario.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) cells: usize,
    pub(super) after: usize,
    pub(super) aftermaths: BTreeSet<String>,
}

impl Tally {
    pub(super) fn add(&mut self, verdict: Verdict) {
        self.cells += 1;
        self.after += usize::from(verdict.is_after);
        self.aftermaths.insert(verdict.aftermath);
    }

    pub(super) fn print(&self, what: &str) {
        let (aftermaths, after) = (self.aftermaths.len(), self.after);
        tell(&format!("{what}: {} cells, {aftermaths} aftermaths, {after} after", self.cells));
    }
}

/// Gives the fate `fault` to durable operation number `k`.
pub(crate) fn at(k: u64, fault: Fault) -> impl Fn(&graphwrite_substrate::Operation) -> Fault {
    move |operation| if operation.number == k { fault } else { Fault::Proceed }
}

/// Gives the fate `fault` to the durable operation that is the `nth` of those selected, from 1. Where
/// operations go side by side, a number means another one in every run.
pub(crate) fn at_nth(
    nth: usize,
    selects: impl Fn(&graphwrite_substrate::Operation) -> bool,
    fault: Fault,
) -> impl Fn(&graphwrite_substrate::Operation) -> Fault {
    let seen = AtomicUsize::new(0);
    move |operation| {
        let is_it = selects(operation) && seen.fetch_add(1, Ordering::SeqCst) + 1 == nth;
        if is_it { fault } else { Fault::Proceed }
    }
}

#[tokio::test]
async fn every_request_of_an_upsert_may_fail_once() {
    run_with(TWO_EXISTING_UPSERT, &[Fault::Fail]).await;
}

#[tokio::test]
async fn every_request_of_an_append_of_first_touches_may_fail_once() {
    run_with(TWO_FIRST_APPEND, &[Fault::Fail]).await;
}

pub(super) async fn run(scenario: Scenario) {
    run_with(scenario, &FATES).await;
}

async fn run_with(scenario: Scenario, fates: &[Fault]) {
    let stage = Stage::of(scenario).await;
    let count = stage.operations().await.0.len() as u64;
    assert!(count > 0, "there is nothing to crash at");
    let cells = (1..=count).flat_map(|k| fates.iter().map(move |fault| (k, *fault)));
    let stage = &stage;
    let mut verdicts = futures::stream::iter(cells)
        .map(|(k, fault)| async move { (k, fault, Box::pin(cell(stage, k, fault)).await) })
        .buffer_unordered(CELLS_AT_ONCE);
    let mut tally = Tally::default();
    let mut failures = Vec::new();
    while let Some((k, fault, verdict)) = verdicts.next().await {
        match verdict {
            Ok(verdict) => tally.add(verdict),
            Err(complaint) => failures.push((k, fault, complaint)),
        }
    }
    tally.print(&format!("{}, {fates:?}", scenario.name));
    report(stage, failures).await;
    assert_eq!(tally.cells as u64, count * fates.len() as u64);
    assert!(0 < tally.after && tally.after < tally.cells, "both ends are reached: {tally:?}");
}

async fn report(stage: &Stage, failures: Vec<(u64, Fault, Complaint)>) {
    if failures.is_empty() {
        return;
    }
    let log = stage.operations().await;
    for (k, fault, complaint) in &failures {
        let operation = log.0.get(*k as usize - 1).map(|logged| &logged.operation);
        let operation = operation.map(|it| format!("{:?} {}", it.kind, it.path));
        let what = format!("{fault:?} at {k} {operation:?}: {complaint:?}");
        tell(&format!("{}: {what}", stage.scenario.name));
    }
    panic!("{} cells of {} failed", failures.len(), stage.scenario.name);
}

pub(super) async fn cell(stage: &Stage, k: u64, fault: Fault) -> Result<Verdict, Complaint> {
    let store = Store::memory(&stage.base.fork());
    let warm = reopen(&store).await;
    seen_by(&warm).await;
    let (client, faults) = store.faulty(at(k, fault));
    let (writer, heard) = stage.scenario.write(&client).await;
    assert_fired(&faults, k, fault);
    let case = stage.case();
    // A writer that cannot reach its storage is no witness.
    let witnesses: &[&Graph] = if faults.is_dead() { &[&warm] } else { &[&warm, &writer] };
    let verdict = judge(&store, &case, &heard, witnesses).await?;
    if fault != Fault::LateDead {
        return Ok(verdict);
    }
    assert_eq!(faults.release_late().await, 1, "one operation is late");
    let late = Case {
        before: verdict.state.clone(),
        after: verdict.state.clone(),
        commits: verdict.commits,
        next: stage.scenario.next("late"),
    };
    // The state before and the state after are one now: whatever came late changed nothing.
    judge(&store, &late, &crate::judge::Heard::Nothing, witnesses).await?;
    Ok(verdict)
}

fn assert_fired(faults: &FaultHandle, k: u64, fault: Fault) {
    let log = faults.log();
    let met = log.0.get(k as usize - 1).map(|logged| logged.fault);
    assert_eq!(met, Some(fault), "no cell passes because nothing happened");
}
