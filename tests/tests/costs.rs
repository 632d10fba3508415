//! Requests of the common operations, counted on the in-memory store, so that no change makes them
//! dearer unnoticed. The counts do not depend on the machine.

use std::fmt::Write;

use graphwrite_coordinator::{Graph, LoadMode, MemoryStorage, Store};
use graphwrite_protocol_types::WriteOutcome;
use graphwrite_substrate::{RequestCounter, RequestCounts};

use crate::world::{BASE, append, create, load, own_process};

fn person(number: usize) -> String {
    format!(r#"{{"type":"Person","data":{{"slug":"n{number}","age":3}}}}"#)
}

struct Costs {
    counter: RequestCounter,
    text: String,
}

impl Costs {
    fn note(&mut self, what: &str) -> RequestCounts {
        let counts = self.counter.take();
        writeln!(self.text, "{what}: {} requests", counts.total()).unwrap();
        for (kind, count) in &counts.by_kind {
            writeln!(self.text, "  {kind:?} {count}").unwrap();
        }
        counts
    }
}

async fn deep_graph(store: &Store, commits: usize) -> Graph {
    let graph = create(store).await;
    append(&graph, BASE).await;
    for number in 0..commits {
        append(&graph, &[person(number)]).await;
    }
    graph.settled().await;
    graph
}

#[tokio::test]
async fn the_common_operations_keep_their_request_counts() {
    let (store, counter) = Store::memory(&MemoryStorage::new()).counting();
    let graph = deep_graph(&store, 10).await;
    let mut costs = Costs { counter, text: String::new() };
    costs.counter.take();

    append(&graph, &[person(1_000)]).await;
    graph.settled().await;
    costs.note("insert 1 row into 1 node type, warm");

    append(&graph, &[r#"{"edge":"Knows","from":"p2","to":"p1"}"#]).await;
    graph.settled().await;
    costs.note("insert 1 edge, both endpoints probed, warm");

    let three = [
        r#"{"type":"Person","data":{"slug":"p1","age":9}}"#,
        r#"{"type":"Company","data":{"slug":"c2"}}"#,
        r#"{"edge":"Knows","from":"p2","to":"p2"}"#,
    ];
    let outcome = load(&graph, LoadMode::Upsert, &three).await;
    assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
    graph.settled().await;
    costs.note("upsert touching 3 tables, warm");

    let cold = Graph::open(store.reopened(), own_process()).await.unwrap();
    cold.snapshot().await.unwrap();
    costs.note("cold open and snapshot");
    insta::assert_snapshot!(costs.text);
}

/// Crosses the spill of older lineage, which comes after 64 commits.
#[tokio::test]
async fn the_requests_of_a_write_do_not_grow_with_history() {
    let (store, counter) = Store::memory(&MemoryStorage::new()).counting();
    let graph = deep_graph(&store, 5).await;
    let company = |number: usize| format!(r#"{{"type":"Company","data":{{"slug":"x{number}"}}}}"#);
    counter.take();
    append(&graph, &[company(1)]).await;
    graph.settled().await;
    let shallow = counter.take().total();
    for number in 100..165 {
        append(&graph, &[person(number)]).await;
    }
    graph.settled().await;
    counter.take();
    append(&graph, &[company(2)]).await;
    graph.settled().await;
    let deep = counter.take().total();
    assert!(deep <= shallow + 1, "{shallow} requests at depth 6, {deep} at depth 72");
}
