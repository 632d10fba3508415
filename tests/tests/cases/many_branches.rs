//! Bursts of writes on many branches at once: none is an error because another's record went away while it
//! was looked at. And what a branch and a row cost does not depend on tables or history.

use std::sync::Arc;

use async_trait::async_trait;
use graphwrite_coordinator::{
    DeleteBranch, Graph, GraphOptions, Hooks, Injected, LoadLimits, LoadMode, LoadRequest,
    MemoryStorage, MutateRequest, Store,
};
use graphwrite_protocol_types::{Failpoint, WriteOutcome};
use graphwrite_substrate::{Operation, OperationKind, RequestCounter};

use crate::branches::scene::{fork, graph, name, open, request, selector};
use crate::judge::{Reference, impatient, open_impatient, seen_by};
use crate::world::{BASE, append, create_with, input, own_process};

async fn insert(graph: &Graph, ty: &str, slug: &str) {
    let mut builder = graph.mutation(LoadLimits::default()).await.unwrap();
    let statement = format!(r#"[{{"insert":{{"type":"{ty}","data":{{"slug":"{slug}"}}}}}}]"#);
    builder.push_json(&statement).unwrap();
    let outcome = graph.mutate(MutateRequest::new(builder.finish().unwrap())).await;
    assert!(matches!(outcome, Ok(WriteOutcome::Committed(_))), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ten_tasks_that_each_make_a_branch_and_write_twice_all_succeed() {
    for apart in [false, true] {
        let (store, main) = graph().await;
        let tasks = (0..10).map(|task| {
            let (store, main) = (store.clone(), main.clone());
            tokio::spawn(async move {
                let graph = if apart { open_impatient(&store).await } else { main };
                let branch = fork(&graph, &format!("t{task}"), "main").await;
                for step in 0..2 {
                    insert(&branch, "Person", &format!("k{task}-{step}")).await;
                }
                branch.settled().await;
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        let fresh = open_impatient(&store).await;
        for task in 0..10 {
            let rows: Vec<_> = (0..2)
                .map(|step| format!(r#"{{"type":"Person","data":{{"slug":"k{task}-{step}"}}}}"#))
                .collect();
            let seen = seen_by(&open(&fresh, &format!("t{task}")).await).await;
            Reference::default().with(BASE).with(&rows).assert_seen(&seen);
        }
        Reference::default().with(BASE).assert_seen(&seen_by(&fresh).await);
    }
}

/// Leaves an intent behind one of two effects.
#[derive(Debug)]
struct Fails;

#[async_trait]
impl Hooks for Fails {
    async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
        if point == Failpoint::PostEffect { Err(Injected(point)) } else { Ok(()) }
    }

    fn wants(&self, point: Failpoint) -> bool {
        point == Failpoint::PostEffect
    }
}

/// The intent of another process on a branch goes between its listing and the request of `kind`.
async fn goes_before(kind: OperationKind) {
    let (store, main) = graph().await;
    fork(&main, "b", "main").await;
    let options = GraphOptions { hooks: Arc::new(Fails), ..own_process() };
    let failing = Graph::open_on(store.reopened(), &selector("b"), options).await.unwrap();
    let half = [
        r#"{"type":"Person","data":{"slug":"half"}}"#,
        r#"{"type":"Company","data":{"slug":"half"}}"#,
    ];
    let request = LoadRequest::new(input(&failing, &half).await, LoadMode::Append);
    let failed = failing.load(request).await;
    assert!(!matches!(failed, Ok(WriteOutcome::Committed(_))), "{failed:?}");
    let is_it = move |it: &Operation| it.kind == kind && it.path.ends_with(".intent");
    let (client, mut handle) = store.reopened().holding(is_it);
    let slow = Graph::open_on(client, &selector("b"), impatient()).await.unwrap();
    let writing = tokio::spawn(async move {
        insert(&slow, "Person", "slow").await;
        slow.settled().await;
    });
    let held = handle.next().await.expect("it comes to the record");
    let other = open(&open_impatient(&store).await, "b").await;
    append(&other, &[r#"{"type":"Person","data":{"slug":"other"}}"#]).await;
    other.settled().await;
    held.release();
    drop(handle);
    writing.await.unwrap();
    let rows =
        ["slow", "other"].map(|it| format!(r#"{{"type":"Person","data":{{"slug":"{it}"}}}}"#));
    let expected = Reference::default().with(BASE).with(&rows);
    expected.assert_seen(&seen_by(&open(&main, "b").await).await);
    assert!(store.list("_recovery").await.unwrap().is_empty());
}

#[tokio::test]
async fn a_record_of_a_branch_that_is_gone_when_it_is_read_or_deleted_is_no_error() {
    goes_before(OperationKind::Get).await;
    goes_before(OperationKind::Delete).await;
}

fn node_types(count: usize) -> String {
    let types = (0..count).map(|number| {
        format!("[node.T{number}]\nkey = \"slug\"\n[node.T{number}.properties]\nslug = {{ type = \"string\" }}\n")
    });
    types.collect()
}

/// Requests of a creation, a row on the new branch, a row on main, and a deletion.
async fn requests(graph: &Graph, counter: &RequestCounter, round: usize) -> [u64; 4] {
    let branch_name = format!("c{round}");
    graph.settled().await;
    counter.take();
    let from = graphwrite_coordinator::BranchFrom::Head(selector("main"));
    let made = graph.create_branch(request(&branch_name, from)).await;
    made.unwrap();
    let creation = counter.take().total();
    let branch = open(graph, &branch_name).await;
    // The table's own ref, and its first look at what it has inherited.
    insert(&branch, "T1", "first").await;
    insert(&branch, "T1", "second").await;
    branch.settled().await;
    counter.take();
    insert(&branch, "T1", "third").await;
    branch.settled().await;
    let on_branch = counter.take().total();
    insert(graph, "T2", &format!("m{round}")).await;
    graph.settled().await;
    counter.take();
    insert(graph, "T2", &format!("n{round}")).await;
    graph.settled().await;
    let on_main = counter.take().total();
    let request =
        DeleteBranch { name: name(&branch_name), actor: "ada".to_owned(), expect_head: None };
    graph.delete_branch(request).await.unwrap();
    [creation, on_branch, on_main, counter.take().total()]
}

#[tokio::test]
async fn branches_and_rows_cost_the_same_at_any_number_of_tables_and_depth_of_history() {
    let mut all = Vec::new();
    for (tables, depths) in [(10, &[10, 80][..]), (112, &[10])] {
        let (store, counter) = Store::memory(&MemoryStorage::new()).counting();
        let graph = create_with(&store, &node_types(tables)).await;
        let first =
            (0..60.min(tables)).map(|n| format!(r#"{{"type":"T{n}","data":{{"slug":"t"}}}}"#));
        append(&graph, &first.collect::<Vec<_>>()).await;
        let mut depth = 1;
        for until in depths {
            while depth < *until {
                insert(&graph, "T0", &format!("d{depth}")).await;
                depth += 1;
            }
            let found = requests(&graph, &counter, *until).await;
            all.push((tables, *until, found));
        }
    }
    let [creation, _, _, deletion] = all[0].2;
    assert!(creation <= 14 && deletion <= 3, "{all:?}");
    for (_, _, found) in &all {
        assert_eq!((found[0], found[3]), (creation, deletion), "{all:?}");
        for row in [1, 2] {
            assert!(found[row].abs_diff(all[0].2[row]) <= 1, "{all:?}");
        }
    }
}
