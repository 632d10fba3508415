//! A merge that is sent again while it still runs, as a client does whose patience was shorter: by the same
//! handle, by another one, by another process, and after the first caller has gone away.

use std::sync::Arc;

use graphwrite_coordinator::{
    Graph, GraphOptions, Hooks, MergeAnswer, MergeRelation, MergeRequest, Store, WriteError,
};
use graphwrite_protocol_types::{Failpoint, OperationId, Receipt, WriteOutcome, WriterKind};

use crate::branches::scene::{fork, graph};
use crate::judge::{Reference, impatient, seen_by};
use crate::merge::scene::{Pause, request};
use crate::world::{BASE, append, assert_clean, own_process};

const OF_BRANCH: &[&str] = &[
    r#"{"type":"Person","data":{"slug":"p9","age":9}}"#,
    r#"{"edge":"Knows","from":"p9","to":"p1"}"#,
];

/// Who sends it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    SameHandle,
    OtherHandle,
    OtherProcess,
    /// One that takes the first for dead.
    ImpatientProcess,
}

/// A merge that stands still in a handle of its own, until it is let go.
struct Running {
    store: Store,
    main: Graph,
    options: GraphOptions,
    pause: Arc<Pause>,
    first: tokio::task::JoinHandle<Result<MergeAnswer, WriteError>>,
}

impl Running {
    async fn at(point: Failpoint, operation: Option<OperationId>) -> Self {
        let (store, plain) = graph().await;
        append(&fork(&plain, "b", "main").await, OF_BRANCH).await;
        let pause = Pause::at(point);
        let options = GraphOptions { hooks: Arc::clone(&pause) as Arc<dyn Hooks>, ..own_process() };
        let main = Graph::open(store.reopened(), options.clone()).await.unwrap();
        let first = tokio::spawn({
            let (main, request) = (main.clone(), sent(operation));
            async move { main.merge(request).await }
        });
        pause.arrived().await;
        Self { store, main, options, pause, first }
    }

    async fn who(&self, again: Again) -> Graph {
        let options = match again {
            Again::SameHandle => return self.main.clone(),
            // Of the same process, whose gates it has.
            Again::OtherHandle => self.options.clone(),
            Again::OtherProcess => own_process(),
            Again::ImpatientProcess => impatient(),
        };
        Graph::open(self.store.reopened(), options).await.unwrap()
    }
}

fn sent(operation: Option<OperationId>) -> MergeRequest {
    MergeRequest { operation, ..request("b") }
}

async fn is_merged_once(graph: &Graph) {
    graph.settled().await;
    Reference::default().with(BASE).with(OF_BRANCH).assert_seen(&seen_by(graph).await);
    let log = graph.log(9).await.unwrap();
    let writers: Vec<_> = log.iter().map(|commit| commit.writer).collect();
    assert_eq!(writers, [WriterKind::Merge, WriterKind::Load]);
    assert_clean(graph).await;
}

fn committed(answer: Result<MergeAnswer, WriteError>) -> Receipt {
    match answer.expect("an outcome").outcome {
        WriteOutcome::Committed(receipt) => receipt,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merge_that_is_sent_again_while_it_runs_is_one_merge_and_the_second_is_told_so() {
    for again in [Again::SameHandle, Again::OtherHandle, Again::OtherProcess] {
        for point in [Failpoint::PostPrepare, Failpoint::PrePublish] {
            let running = Running::at(point, None).await;
            let second = running.who(again).await;
            let second = tokio::spawn(async move { second.merge(sent(None)).await });
            if point == Failpoint::PostPrepare {
                // Nothing of the first is in its way.
                let second = committed(second.await.unwrap());
                running.pause.release();
                is_told_of(&second, running.first.await.unwrap());
            } else {
                running.pause.release();
                let first = committed(running.first.await.unwrap());
                is_told_of(&first, second.await.unwrap());
            }
            is_merged_once(&running.main).await;
        }
    }
}

fn is_told_of(first: &Receipt, second: Result<MergeAnswer, WriteError>) {
    let MergeAnswer { outcome, report } = second.expect("an outcome");
    let WriteOutcome::NoChange(receipt) = outcome else { panic!("{outcome:?}") };
    assert_eq!(receipt.commit, first.commit);
    assert_eq!(report.unwrap().relation, MergeRelation::Contained);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_takes_a_running_merge_for_dead_completes_it_or_takes_it_back_and_merges() {
    for point in [Failpoint::PostArm, Failpoint::PostEffect, Failpoint::PrePublish] {
        let running = Running::at(point, None).await;
        let other = running.who(Again::ImpatientProcess).await;
        let answer = other.merge(sent(None)).await.expect("an outcome");
        other.settled().await;
        running.pause.release();
        let first = running.first.await.unwrap().expect("an outcome").outcome;
        let commits = [&first, &answer.outcome].map(|outcome| match outcome {
            WriteOutcome::Committed(receipt) | WriteOutcome::NoChange(receipt) => receipt.commit,
            other => panic!("{point:?}: {other:?}"),
        });
        assert_eq!(commits[0], commits[1], "{point:?}: {first:?} {answer:?}");
        is_merged_once(&other).await;
        is_merged_once(&running.main).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merge_whose_caller_has_gone_runs_to_its_end_and_stops_nobody() {
    for again in [Again::SameHandle, Again::OtherHandle, Again::OtherProcess] {
        let operation = OperationId::mint(&graphwrite_coordinator::SystemEnv::new());
        for sent_with in [None, Some(operation)] {
            let running = Running::at(Failpoint::PostArm, sent_with.clone()).await;
            let again = running.who(again).await;
            running.first.abort();
            assert!(running.first.await.unwrap_err().is_cancelled());
            let second = tokio::spawn({
                let sent = sent(sent_with.clone());
                async move { again.merge(sent).await }
            });
            running.pause.release();
            let outcome = second.await.unwrap().expect("an outcome").outcome;
            match (&outcome, &sent_with) {
                (WriteOutcome::NoChange(_), None) | (WriteOutcome::Committed(_), Some(_)) => {}
                _ => panic!("{outcome:?}"),
            }
            is_merged_once(&running.main).await;
        }
    }
}
