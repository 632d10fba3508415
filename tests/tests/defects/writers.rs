//! Defects of a write: intents that come late or go early, and steps that are not what they seem.

use std::sync::atomic::{AtomicBool, Ordering};

use graphwrite_coordinator::{Graph, GraphOptions, Store};
use graphwrite_protocol_types::Defect;
use graphwrite_substrate::{Fault, Operation};

use super::{found_out, planted};
use crate::crash::at_nth;
use crate::crash::log::{check_write, datasets, is_effect, is_retirement};
use crate::crash::scenario::{Scenario, Stage, TWO_EXISTING_UPSERT};
use crate::judge::{Case, Complaint, Promise, judge};
use crate::world::own_process;
use crate::zombie::held_where;

/// The writer dies at the first operation that is selected; a fresh process is judged.
async fn dies_at(
    stage: &Stage,
    selects: impl Fn(&Operation) -> bool + Send + Sync + 'static,
) -> Result<(), Complaint> {
    let store = Store::memory(&stage.base.fork());
    let (client, faults) = store.faulty(at_nth(1, selects, Fault::DieAfter));
    let (_, heard) = stage.scenario.write(&client).await;
    assert!(faults.is_dead(), "no cell passes because nothing happened");
    judge(&store, &stage.case(), &heard, &[]).await.map(drop)
}

/// What the protocol on the log says of a write that nothing disturbs.
async fn logged(stage: &Stage) -> Result<(), &'static str> {
    let existing = datasets(&stage.base).await;
    check_write(&stage.operations().await, stage.scenario.tables.len(), &existing)
}

async fn is_logged(defect: Defect, broken: &'static str) {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    assert_eq!(logged(&stage).await, Ok(()));
    assert_eq!(logged(&planted(stage, defect)).await, Err(broken));
}

#[tokio::test]
async fn an_intent_after_the_first_effect_is_found_out_on_the_log() {
    is_logged(Defect::IntentAfterEffect, "an effect before the intent is durable").await;
}

#[tokio::test]
async fn an_intent_after_the_first_effect_is_found_out_by_a_crash() {
    let (scenario, promise) = (TWO_EXISTING_UPSERT, Promise::NoRestart);
    found_out(scenario, Defect::IntentAfterEffect, promise, async |stage| {
        dies_at(stage, is_effect).await
    })
    .await;
}

#[tokio::test]
async fn an_intent_that_goes_before_the_publication_is_found_out_on_the_log() {
    is_logged(Defect::IntentDeletedEarly, "the intent goes before the publication").await;
}

#[tokio::test]
async fn an_intent_that_goes_before_the_publication_is_found_out_by_a_crash() {
    let (scenario, promise) = (TWO_EXISTING_UPSERT, Promise::NoRestart);
    found_out(scenario, Defect::IntentDeletedEarly, promise, async |stage| {
        dies_at(stage, is_retirement).await
    })
    .await;
}

/// From the first selected operation on, the process stands still.
pub(super) fn from_first(selects: impl Fn(&Operation) -> bool) -> impl Fn(&Operation) -> bool {
    let is_there = AtomicBool::new(false);
    move |operation| {
        if selects(operation) {
            is_there.store(true, Ordering::SeqCst);
        }
        is_there.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn one_id_for_the_request_and_its_attempts_is_found_out_by_a_zombie() {
    let (scenario, promise) = (TWO_EXISTING_UPSERT, Promise::Acknowledged);
    found_out(scenario, Defect::OneIdForAttempts, promise, async |stage| {
        held_where(stage, from_first(is_effect)).await.map(drop)
    })
    .await;
}

const ONE_UPSERT: Scenario = Scenario {
    name: "one existing table, upsert",
    tables: &["Person"],
    rows: &[r#"{"type":"Person","data":{"slug":"p1","age":100}}"#],
    ..TWO_EXISTING_UPSERT
};

/// No sending of the step is answered, the writer gives up, and then the sendings arrive.
async fn step_comes_late(stage: &Stage) -> Result<(), Complaint> {
    let store = Store::memory(&stage.base.fork());
    let sent = std::sync::atomic::AtomicUsize::new(0);
    let (client, faults) = store.faulty(move |operation| {
        let is_late = is_effect(operation) && sent.fetch_add(1, Ordering::SeqCst) < SENDINGS;
        if is_late { Fault::LateAlive } else { Fault::Proceed }
    });
    let options = GraphOptions { restarts_max: 0, ..own_process() };
    let writer = Graph::open(client, options).await.unwrap();
    let heard = stage.scenario.write_by(&writer).await;
    assert!(heard.receipt().is_none(), "{heard:?}");
    assert_eq!(faults.release_late().await, SENDINGS);
    let case = Case { after: stage.before.clone(), ..stage.case() };
    judge(&store, &case, &heard, &[&writer]).await.map(drop)
}

/// A step is sent so often before its fate counts as unknown.
const SENDINGS: usize = 3;

#[tokio::test]
async fn an_unknown_taken_for_no_effect_is_found_out_when_the_step_comes_late() {
    let promise = Promise::NoRestart;
    found_out(ONE_UPSERT, Defect::UnknownTakenForNone, promise, step_comes_late).await;
}
