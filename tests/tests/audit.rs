//! The audit: what recovery and seals decided, told by the rows that decided it.

use graphwrite_coordinator::{
    AuditedDecision, Graph, MemoryStorage, OutcomeRequest, RecoverMode, RecoverRequest, Store,
};
use graphwrite_protocol_types::ProcessInstanceId;
use graphwrite_substrate::{Fault, Operation};

use crate::crash::at_nth;
use crate::crash::scenario::{Stage, TWO_EXISTING_UPSERT};
use crate::judge::impatient;
use crate::world::{BASE, append, create, reopen};

/// A writer dies after its effect number `nth`; another process ends what it left. Says who the
/// other one is.
async fn recovered(stage: &Stage, store: &Store, nth: usize) -> (Graph, ProcessInstanceId) {
    let (client, faults) = store.faulty(at_nth(nth, is_effect, Fault::DieAfter));
    stage.scenario.write(&client).await;
    assert!(faults.is_dead(), "no test passes because nothing happened");
    let options = impatient();
    let instance = options.process.instance();
    let other = Graph::open(store.reopened(), options).await.unwrap();
    let full = RecoverRequest { attempt: None, mode: RecoverMode::Full, owner_is_dead: false };
    other.recover(full).await.unwrap();
    (other, instance)
}

/// The effects of the write that the tests recover from; it has two.
const EFFECTS: usize = 2;

fn is_effect(operation: &Operation) -> bool {
    operation.path.starts_with("tables/") && operation.path.ends_with(".manifest")
}

#[tokio::test]
async fn a_write_that_went_well_is_history_and_no_audit() {
    let store = Store::memory(&MemoryStorage::new());
    let graph = create(&store).await;
    append(&graph, BASE).await;
    assert_eq!(graph.audit(10).await.unwrap(), []);
}

#[tokio::test]
async fn a_commit_that_another_process_published_names_it() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let store = Store::memory(&stage.base.fork());
    let (graph, instance) = recovered(&stage, &store, EFFECTS).await;
    let audit = graph.audit(10).await.unwrap();
    let [entry] = &audit[..] else { panic!("{audit:?}") };
    let head = graph.log(1).await.unwrap().remove(0);
    assert_eq!(entry.decision, AuditedDecision::RolledForward { commit: head.commit });
    assert_eq!(entry.by, Some(instance));
    assert_eq!(
        (&entry.operation, entry.manifest_version),
        (&head.operation, head.manifest_version)
    );
    assert_eq!(entry.at_unix_us, head.at_unix_us);
}

#[tokio::test]
async fn an_abort_says_who_decided_and_what_was_missing_and_its_end_follows() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let store = Store::memory(&stage.base.fork());
    let (graph, instance) = recovered(&stage, &store, 1).await;
    let audit = graph.audit(10).await.unwrap();
    let [end, abort] = &audit[..] else { panic!("{audit:?}") };
    assert_eq!((end.decision.name(), abort.decision.name()), ("rolled_back", "aborted"));
    assert_eq!(abort.by, Some(instance));
    assert_eq!(abort.decision.reason(), "not all that it planned has landed");
    assert_eq!((end.attempt, &end.operation), (abort.attempt, &abort.operation));
    assert!(end.manifest_version > abort.manifest_version);
}

#[tokio::test]
async fn a_complete_attempt_of_a_sealed_operation_is_aborted_because_of_the_seal() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let store = Store::memory(&stage.base.fork());
    let (client, faults) = store.faulty(at_nth(EFFECTS, is_effect, Fault::DieAfter));
    stage.scenario.write(&client).await;
    assert!(faults.is_dead());
    let graph = Graph::open(store.reopened(), impatient()).await.unwrap();
    let pending = graph.pending_intents().await.unwrap();
    let operation = pending.intents[0].operation.parse().unwrap();
    let seal = OutcomeRequest { seal: true, ..OutcomeRequest::new(operation) };
    let _ = graph.outcome(seal).await.unwrap();
    let full = RecoverRequest { attempt: None, mode: RecoverMode::Full, owner_is_dead: false };
    graph.recover(full).await.unwrap();
    let audit = graph.audit(10).await.unwrap();
    let names: Vec<_> = audit.iter().map(|entry| entry.decision.name()).collect();
    assert_eq!(names, ["rolled_back", "aborted", "sealed"]);
    assert_eq!(audit[1].decision.reason(), "its operation was sealed");
    assert_eq!(audit[2].decision.reason(), "sealed on request");
    assert!(audit.iter().all(|entry| entry.operation == audit[0].operation));
}

#[tokio::test]
async fn the_audit_is_whole_and_newest_first_however_old_it_is_and_stops_at_its_limit() {
    let store = Store::memory(&MemoryStorage::new());
    let graph = create(&store).await;
    for number in 0..3 {
        let operation = format!("sealed-{number}").parse().unwrap();
        let seal = OutcomeRequest { seal: true, ..OutcomeRequest::new(operation) };
        let _ = graph.outcome(seal).await.unwrap();
        for row in 0..40 {
            let slug = format!("{number}-{row}");
            append(&graph, &[format!(r#"{{"type":"Company","data":{{"slug":"{slug}"}}}}"#)]).await;
        }
    }
    let fresh = reopen(&store).await;
    for limit in [0, 1, 2, 3, 100] {
        let audit = fresh.audit(limit).await.unwrap();
        let names: Vec<_> = audit.iter().map(|entry| entry.operation.to_string()).collect();
        assert_eq!(names, ["sealed-2", "sealed-1", "sealed-0"][..limit.min(3)]);
    }
}
