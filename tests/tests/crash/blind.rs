//! Lost answers that cannot be checked at once: the first read after them fails too.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use graphwrite_coordinator::Store;
use graphwrite_substrate::{Fault, Operation};

use super::matrix::at;
use super::scenario::{Scenario, Stage, TWO_EXISTING_UPSERT, TWO_FIRST_APPEND};
use crate::judge::judge;

#[tokio::test]
async fn a_lost_answer_whose_check_fails_doubles_nothing_and_deletes_nothing() {
    let mut reads_failed = 0;
    for scenario in [TWO_EXISTING_UPSERT, TWO_FIRST_APPEND] {
        reads_failed += run(scenario).await;
    }
    assert!(reads_failed > 0, "no check was made that could fail");
}

async fn run(scenario: Scenario) -> u64 {
    let stage = Stage::of(scenario).await;
    let mut reads_failed = 0;
    for k in 1..=stage.operations().await.0.len() as u64 {
        let store = Store::memory(&stage.base.fork());
        let (client, faults) = store.faulty(at(k, Fault::LoseAck));
        let (client, mut blinded) = client.holding(first_read_after(k));
        let failing = tokio::spawn(async move {
            let mut failed = 0;
            while let Some(held) = blinded.next().await {
                // A held request that is dropped fails.
                drop(held);
                failed += 1;
            }
            failed
        });
        let (writer, heard) = stage.scenario.write(&client).await;
        assert_eq!(faults.log().0[k as usize - 1].fault, Fault::LoseAck);
        let judged = judge(&store, &stage.case(), &heard, &[&writer]).await;
        judged.unwrap_or_else(|complaint| panic!("{}, {k}: {complaint:?}", scenario.name));
        drop((writer, client));
        reads_failed += failing.await.unwrap();
    }
    reads_failed
}

fn first_read_after(k: u64) -> impl Fn(&Operation) -> bool {
    let (durable, is_done) = (AtomicU64::new(0), AtomicBool::new(false));
    move |operation| {
        if operation.kind.is_durable() {
            durable.fetch_add(1, Ordering::SeqCst);
            return false;
        }
        durable.load(Ordering::SeqCst) == k && !is_done.swap(true, Ordering::SeqCst)
    }
}
