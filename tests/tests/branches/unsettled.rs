//! A name that another has begun is decided by whoever needs it, and a storage that writes nothing is
//! not asked for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use graphwrite_coordinator::{Graph, Store};
use graphwrite_protocol_types::Answer;
use graphwrite_substrate::{Fault, Operation};

use super::scene::{delete, fork, graph, try_fork};
use crate::crash::at_nth;
use crate::judge::{impatient, open_impatient};

/// A name whose creator died after its beginning.
async fn begun() -> Store {
    let (store, _) = graph().await;
    let is_begin = |it: &Operation| it.path.ends_with(".begin");
    let (client, _) = store.reopened().faulty(at_nth(1, is_begin, Fault::DieAfter));
    let creator = Graph::open(client, impatient()).await.unwrap();
    try_fork(&creator, "a", "main").await.unwrap_err();
    store
}

#[tokio::test]
async fn a_storage_that_writes_no_decision_ends_a_creation_and_a_deletion_with_an_error() {
    let store = begun().await;
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let (client, _) = store.reopened().faulty(move |it: &Operation| {
        let is_decision = it.kind.is_durable() && it.path.ends_with(".decided");
        counted.fetch_add(usize::from(is_decision), Ordering::SeqCst);
        if is_decision { Fault::Fail } else { Fault::Proceed }
    });
    let full = Graph::open(client, impatient()).await.unwrap();
    let refused = try_fork(&full, "a", "main").await.unwrap_err();
    assert_eq!((refused.code(), refused.had_no_effect()), ("storage", true), "{refused}");
    let of_creation = asked.swap(0, Ordering::SeqCst);
    let refused = delete(&full, "a").await.unwrap_err();
    assert_eq!((refused.code(), refused.may_retry()), ("storage", true), "{refused}");
    let of_deletion = asked.load(Ordering::SeqCst);
    assert!((1..20).contains(&of_creation) && of_deletion == of_creation, "{of_creation}");
    let healthy = open_impatient(&store).await;
    fork(&healthy, "a", "main").await;
}

#[tokio::test]
async fn a_decision_whose_answer_is_lost_is_found_to_stand() {
    let store = begun().await;
    let is_decision = |it: &Operation| it.path.ends_with(".decided");
    let (client, _) = store.reopened().faulty(at_nth(1, is_decision, Fault::LoseAck));
    let second = Graph::open(client, impatient()).await.unwrap();
    let made = try_fork(&second, "a", "main").await.unwrap();
    assert_eq!(made.token.record, 2);
}
