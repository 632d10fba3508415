//! Races of requests as such: for the head, for an operation id, for a graph that is not there yet.

use graphwrite_coordinator::{CreateError, Graph, InitError, MemoryStorage, Store, SystemEnv};
use graphwrite_protocol_types::{Conflict, OperationId, WriteOutcome};

use super::ring::{Meeting, RING, Ring};
use crate::judge::open_impatient;
use crate::request::append;
use crate::world::{own_process, schema};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_writes_that_expect_the_same_head_one_commits() {
    // Different tables, so that nothing but the head stands between them.
    let one = append(&[r#"{"type":"Person","data":{"slug":"k1"}}"#]);
    let other = append(&[r#"{"type":"Company","data":{"slug":"d1"}}"#]);
    for meeting in Meeting::all_disjoint() {
        let raced = Ring { expects_head: true, ..RING }.race(meeting, [one, other]).await;
        let loser = raced.loser();
        let Ok(WriteOutcome::Conflict(Conflict::ExpectedHead { expected, actual })) = loser else {
            panic!("{meeting:?}: {loser:?}");
        };
        let log = raced.graphs[0].log(2).await.unwrap();
        assert_eq!((*expected, *actual), (Some(log[1].commit), Some(log[0].commit)));
        raced.judge().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_operation_that_is_sent_twice_at_once_commits_once() {
    let load = append(&[r#"{"type":"Person","data":{"slug":"k1"}}"#]);
    // The sides are the same, so that one order is enough.
    for meeting in Meeting::all().into_iter().filter(|meeting| meeting.first != Some(1)) {
        let operation = Some(OperationId::mint(&SystemEnv::new()));
        let raced = RING.race_on(meeting, [load; 2], [operation.clone(), operation]).await;
        let commits = raced.answers.iter().map(|answer| match answer {
            Ok(WriteOutcome::Committed(receipt)) => receipt.commit,
            other => panic!("{meeting:?}: {other:?}"),
        });
        let commits: Vec<_> = commits.collect();
        assert_eq!(commits[0], commits[1], "{meeting:?}: both have the one receipt");
        raced.judge().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_operation_id_that_two_requests_use_at_once_is_of_one_of_them() {
    let one = append(&[r#"{"type":"Person","data":{"slug":"k1"}}"#]);
    let other = append(&[r#"{"type":"Company","data":{"slug":"d1"}}"#]);
    for meeting in Meeting::all_disjoint() {
        let operation = Some(OperationId::mint(&SystemEnv::new()));
        let raced = RING.race_on(meeting, [one, other], [operation.clone(), operation]).await;
        let loser = raced.loser();
        let reused = matches!(loser, Ok(WriteOutcome::Conflict(Conflict::OperationReused { .. })));
        assert!(reused, "{meeting:?}: {loser:?}");
        raced.judge().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_creations_of_one_graph_one_succeeds() {
    for _ in 0..4 {
        let store = Store::memory(&MemoryStorage::new());
        let make = |store: Store| async move {
            Graph::create(store, &schema(), "ada", own_process()).await
        };
        let (one, other) = (store.reopened(), store.reopened());
        let (one, other) = tokio::join!(tokio::spawn(make(one)), tokio::spawn(make(other)));
        let answers = [one.unwrap(), other.unwrap()];
        let made: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().ok()).collect();
        assert_eq!(made.len(), 1, "{answers:?}");
        let refused = answers.iter().filter_map(|answer| answer.as_ref().err());
        for error in refused {
            assert!(matches!(error, CreateError::Init(InitError::AlreadyExists { .. })), "{error}");
        }
        let domain = made[0].status().await.unwrap().domain;
        assert_eq!(open_impatient(&store).await.status().await.unwrap().domain, domain);
    }
}
