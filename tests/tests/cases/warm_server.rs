//! A long-running process whose write met a commit of another process under its own intent goes on by
//! itself: no restart, and never the same obstacle twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use graphwrite_coordinator::{Graph, GraphOptions, Hooks, Injected, Store, WriteError};
use graphwrite_protocol_types::{Failpoint, WriteOutcome};
use graphwrite_substrate::{Fault, Operation, OperationKind};

use crate::judge::{Reference, impatient, open_impatient, seen_by};
use crate::request::{Request, Terms, append, upsert};
use crate::world::{BASE, append as load, assert_clean, create, own_process};

const OWN: Request = upsert(&[
    r#"{"type":"Person","data":{"slug":"p1","age":50}}"#,
    r#"{"type":"Person","data":{"slug":"own"}}"#,
]);

const FOREIGN: Request = append(&[r#"{"type":"Person","data":{"slug":"foreign"}}"#]);

/// Lets another process write when the first attempt has armed its intent.
#[derive(Debug)]
struct Between {
    store: Store,
    has_met: AtomicBool,
    /// Whether the attempt then fails, and leaves its intent.
    fails: bool,
}

#[async_trait]
impl Hooks for Between {
    async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
        if point != Failpoint::PostArm || self.has_met.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let other = Graph::open(self.store.reopened(), impatient()).await.expect("a graph");
        let answer = Box::pin(FOREIGN.send(&other, Terms::default())).await;
        assert!(matches!(answer, Ok(WriteOutcome::Committed(_))), "{answer:?}");
        other.settled().await;
        if self.fails { Err(Injected(point)) } else { Ok(()) }
    }

    fn wants(&self, point: Failpoint) -> bool {
        point == Failpoint::PostArm
    }
}

async fn server(client: Store, store: &Store, fails: bool) -> Graph {
    let hooks = Arc::new(Between { store: store.clone(), has_met: AtomicBool::new(false), fails });
    Graph::open(client, GraphOptions { hooks, ..own_process() }).await.expect("a graph")
}

type Answer = Result<WriteOutcome, WriteError>;

/// Twenty more writes to each of two tables by the same handle. All commit, and none finds again what
/// one before it has ended.
async fn goes_on(server: &Graph, mut state: Reference) -> Reference {
    let mut recovered = Vec::new();
    for number in 0..20 {
        for table in ["Person", "Company"] {
            let line = format!(r#"{{"type":"{table}","data":{{"slug":"n{number}"}}}}"#);
            let receipt = load(server, &[&line]).await;
            recovered.extend(receipt.recovered.into_iter().map(|it| it.attempt));
            state = state.with(&[line]);
        }
    }
    let distinct: std::collections::BTreeSet<_> = recovered.iter().collect();
    assert_eq!(distinct.len(), recovered.len(), "no attempt is ended twice: {recovered:?}");
    state
}

async fn is_healthy(store: &Store, server: &Graph, state: &Reference) {
    server.settled().await;
    for graph in [server, &open_impatient(store).await] {
        state.assert_seen(&seen_by(graph).await);
    }
    assert_clean(server).await;
}

fn base() -> Reference {
    Reference::default().with(BASE)
}

#[tokio::test]
async fn a_server_whose_intent_another_process_closed_sends_its_write_again_by_itself() {
    let store = Store::memory(&graphwrite_coordinator::MemoryStorage::new());
    load(&create(&store).await, BASE).await;
    let server = server(store.reopened(), &store, false).await;
    let answer: Answer = OWN.send(&server, Terms::default()).await;
    assert!(matches!(answer, Ok(WriteOutcome::Committed(_))), "{answer:?}");
    let state = goes_on(&server, OWN.over(&FOREIGN.over(&base()))).await;
    is_healthy(&store, &server, &state).await;
}

#[tokio::test]
async fn a_server_whose_write_failed_under_anothers_commit_goes_on_without_a_restart() {
    let store = Store::memory(&graphwrite_coordinator::MemoryStorage::new());
    load(&create(&store).await, BASE).await;
    let server = server(store.reopened(), &store, true).await;
    let answer: Answer = OWN.send(&server, Terms::default()).await;
    assert!(matches!(answer, Ok(WriteOutcome::OutcomeUnknown(_))), "{answer:?}");
    let state = goes_on(&server, FOREIGN.over(&base())).await;
    is_healthy(&store, &server, &state).await;
}

#[tokio::test]
async fn a_server_that_cannot_delete_its_records_goes_on_and_leaves_none_in_the_end() {
    let store = Store::memory(&graphwrite_coordinator::MemoryStorage::new());
    load(&create(&store).await, BASE).await;
    let left = std::sync::atomic::AtomicU8::new(3);
    let (client, faults) = store.reopened().faulty(move |operation: &Operation| {
        let is_record = operation.kind == OperationKind::Delete;
        let fails = is_record
            && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
        if fails { Fault::Fail } else { Fault::Proceed }
    });
    let server = Graph::open(client, own_process()).await.expect("a graph");
    let answer: Answer = OWN.send(&server, Terms::default()).await;
    assert!(matches!(answer, Ok(WriteOutcome::Committed(_))), "{answer:?}");
    server.settled().await;
    assert!(!store.list("_recovery").await.unwrap().is_empty(), "the record stays");
    let state = goes_on(&server, OWN.over(&base())).await;
    let failed = faults.log().0.iter().filter(|it| it.fault == Fault::Fail).count();
    assert_eq!(failed, 3, "all the deletions failed that were to fail");
    is_healthy(&store, &server, &state).await;
}
