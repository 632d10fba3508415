//! Faults chosen by what they hit, and the fate that is no crash: a request that fails once.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::StreamExt;
use graphwrite_coordinator::Store;
use graphwrite_substrate::Fault;

use super::cells::{CELLS_AT_ONCE, assert_fired};
use super::scenario::{Scenario, Stage, TWO_EXISTING_UPSERT, TWO_FIRST_APPEND};
use crate::judge::judge;
use crate::world::reopen;

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
    every_request_may_fail(TWO_EXISTING_UPSERT).await;
}

#[tokio::test]
async fn every_request_of_an_append_of_first_touches_may_fail_once() {
    every_request_may_fail(TWO_FIRST_APPEND).await;
}

async fn every_request_may_fail(scenario: Scenario) {
    let stage = &Stage::of(scenario).await;
    let count = stage.operations().await.0.len() as u64;
    assert!(count > 0, "there is nothing that could fail");
    let mut cells = futures::stream::iter(1..=count)
        .map(|k| async move {
            let store = Store::memory(&stage.base.fork());
            let warm = reopen(&store).await;
            let (client, faults) = store.faulty(at(k, Fault::Fail));
            let (writer, heard) = stage.scenario.write(&client).await;
            assert_fired(&faults, Fault::Fail);
            (k, Box::pin(judge(&store, &stage.case(), &heard, &[&warm, &writer])).await)
        })
        .buffer_unordered(CELLS_AT_ONCE);
    while let Some((k, judged)) = cells.next().await {
        judged.unwrap_or_else(|complaint| panic!("{}, {k}: {complaint:?}", scenario.name));
    }
}
