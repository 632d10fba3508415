//! A record that its owner removes while another process looks at it is no obstacle; one that cannot
//! be read is.

use graphwrite_coordinator::{Graph, Store};
use graphwrite_protocol_types::{Answer, WriteOutcome};
use graphwrite_substrate::{Fault, Operation, OperationKind};

use crate::crash::at_nth;
use crate::crash::scenario::{Stage, TWO_EXISTING_UPSERT};
use crate::judge::{Case, Heard, impatient, judge, open_impatient};
use crate::request::{Terms, append};

/// A storage whose writer died when one of its two effects had landed.
async fn half_done(stage: &Stage) -> Store {
    let is_effect =
        |it: &Operation| it.path.starts_with("tables/") && it.path.ends_with(".manifest");
    let storage = stage.base.fork();
    let (client, faults) = Store::memory(&storage).faulty(at_nth(1, is_effect, Fault::DieAfter));
    stage.scenario.write(&client).await;
    assert!(faults.is_dead());
    Store::memory(&storage)
}

const ONE: &[&str] = &[r#"{"type":"Person","data":{"slug":"one"}}"#];
const TWO: &[&str] = &[r#"{"type":"Person","data":{"slug":"two"}}"#];

/// Holds the first request of `kind` for the record, lets another process end the intent, and goes on.
async fn ended_meanwhile(kind: OperationKind) {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let store = half_done(&stage).await;
    let is_it = move |it: &Operation| it.kind == kind && it.path.ends_with(".intent");
    let (client, mut handle) = store.holding(is_it);
    let slow = Graph::open(client, impatient()).await.unwrap();
    let writing = tokio::spawn({
        let slow = slow.clone();
        async move {
            let answer = append(ONE).send(&slow, Terms::default()).await;
            slow.settled().await;
            answer
        }
    });
    let held = handle.next().await.expect("it comes to the record");
    let other = append(TWO).send(&open_impatient(&store).await, Terms::default()).await;
    assert!(matches!(other, Ok(WriteOutcome::Committed(_))), "{kind:?}: {other:?}");
    held.release();
    drop(handle);
    let answer = writing.await.unwrap();
    assert!(matches!(answer, Ok(WriteOutcome::Committed(_))), "{kind:?}: {answer:?}");
    let state = stage.before.with(ONE).with(TWO);
    let next = stage.scenario.next("next");
    let case = Case { before: state.clone(), after: state, commits: stage.commits + 2, next };
    judge(&store, &case, &Heard::Nothing, &[&slow]).await.expect("a sound graph");
}

#[tokio::test]
async fn a_record_that_is_gone_when_it_is_read_is_no_error() {
    ended_meanwhile(OperationKind::Get).await;
}

#[tokio::test]
async fn a_record_that_is_gone_when_it_is_deleted_is_no_error() {
    ended_meanwhile(OperationKind::Delete).await;
}

#[tokio::test]
async fn a_record_that_cannot_be_read_keeps_the_barrier_closed() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let store = half_done(&stage).await;
    let (client, mut handle) = store
        .holding(|it: &Operation| it.kind == OperationKind::Get && it.path.ends_with(".intent"));
    let failing = tokio::spawn(async move {
        let mut failed = 0;
        while handle.next().await.is_some() {
            failed += 1;
        }
        failed
    });
    let graph = Graph::open(client, impatient()).await.unwrap();
    let refused = append(ONE).send(&graph, Terms::default()).await;
    let refused = refused.expect_err("a barrier that cannot judge lets nobody through");
    assert_eq!(refused.code(), "storage");
    assert!(refused.had_no_effect() && refused.may_retry(), "{refused:?}");
    drop(graph);
    assert!(failing.await.unwrap() > 0);
    assert_eq!(store.list("_recovery").await.unwrap().len(), 1, "the record stays");
    let case = Case { after: stage.before.clone(), ..stage.case() };
    judge(&store, &case, &Heard::Nothing, &[]).await.expect("the next process ends it");
}
