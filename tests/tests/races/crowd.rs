//! Many writers of one table: all that was acknowledged is there, and none is starved without being
//! told.

use graphwrite_coordinator::{Graph, LoadMode, LoadRequest, MemoryStorage, Store};
use graphwrite_protocol_types::{Conflict, WriteOutcome};

use super::ring::{Processes, RING};
use crate::judge::{Case, Heard, Reference, judge, tell};
use crate::world::{append, create, input};

const WRITERS: usize = 8;
const LOADS: usize = 5;

/// What became of the loads of many writers.
#[derive(Debug, Default)]
struct Crowd {
    kept: Vec<String>,
    /// Loads that ended with a typed answer and had no effect.
    given_up: usize,
    restarts_max: u32,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_writers_of_one_process_all_commit_and_none_is_starved() {
    let crowd = many(Processes::One).await;
    assert_eq!(crowd.given_up, 0, "the writers of one process queue");
    assert!(crowd.restarts_max < WRITERS as u32, "{}", crowd.restarts_max);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_writers_of_many_processes_lose_nothing_that_they_acknowledged() {
    many(Processes::Two).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_writers_that_close_each_others_intents_lose_nothing_that_they_acknowledged() {
    many(Processes::Hostile).await;
}

/// Many writers append to one table; every load commits or has a typed answer without effect.
async fn many(processes: Processes) -> Crowd {
    let store = Store::memory(&MemoryStorage::new());
    append(&create(&store).await, RING.base).await;
    let mut running = Vec::new();
    for (writer, options) in processes.options(WRITERS).into_iter().enumerate() {
        let graph = Graph::open(store.reopened(), options).await.unwrap();
        running.push(tokio::spawn(one_of_many(graph, writer)));
    }
    let mut crowd = Crowd::default();
    for task in running {
        crowd.add(task.await.expect("a writer ends"));
    }
    let (kept, given_up, restarts) = (crowd.kept.len(), crowd.given_up, crowd.restarts_max);
    let what = format!("{kept} committed, {given_up} given up, at most {restarts} restarts");
    tell(&format!("{WRITERS} writers, {processes:?}: {what}"));
    assert_eq!(kept + given_up, WRITERS * LOADS);
    assert!(kept >= LOADS, "somebody always gets on");
    let state = Reference::default().with(RING.base).with(&crowd.kept);
    let next = RING.next.iter().map(ToString::to_string).collect();
    let case = Case { before: state.clone(), after: state, commits: 1 + kept, next };
    judge(&store, &case, &Heard::Nothing, &[]).await.expect("a sound graph");
    crowd
}

async fn one_of_many(graph: Graph, writer: usize) -> Crowd {
    let mut crowd = Crowd::default();
    for number in 0..LOADS {
        let row = format!(r#"{{"type":"Person","data":{{"slug":"w{writer}-{number}"}}}}"#);
        let request = LoadRequest::new(input(&graph, &[&row]).await, LoadMode::Append);
        match graph.load(request).await {
            Ok(WriteOutcome::Committed(receipt)) => {
                crowd.kept.push(row);
                crowd.restarts_max = crowd.restarts_max.max(receipt.restarts);
            }
            Ok(WriteOutcome::Conflict(Conflict::RetriesExhausted { .. }))
            | Ok(WriteOutcome::Contended(_)) => crowd.given_up += 1,
            other => panic!("{other:?}"),
        }
    }
    graph.settled().await;
    crowd
}

impl Crowd {
    fn add(&mut self, other: Self) {
        self.kept.extend(other.kept);
        self.given_up += other.given_up;
        self.restarts_max = self.restarts_max.max(other.restarts_max);
    }
}
