//! A table whose version has the number that a writer expects, and is another one (BLOCKER-05): somebody
//! has put another dataset in its place from outside. No number is an identity.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use async_trait::async_trait;
use graphwrite_coordinator::{
    BatchStream, Graph, GraphOptions, Hooks, Injected, MemoryStorage, Store,
};
use graphwrite_protocol_types::{Answer, AttemptId, CommitPermit, Failpoint, PhysicalRef, TxUuid};
use graphwrite_substrate::{
    Landing, RawObjects, TableHandle, Version, create_dataset, stage_create, stage_fence,
    strict_commit,
};

use crate::judge::impatient;
use crate::request::{Request, Terms, append, mutation, upsert};
use crate::world::{BASE, append as load, create, own_process};

const MAIN: PhysicalRef = PhysicalRef::Main;

fn stranger() -> AttemptId {
    AttemptId::from_u128(0xBAD)
}

/// The dataset of persons, which holds the one table with a value of `p2`.
async fn dataset_of_persons(store: &Store) -> String {
    let mut paths = Vec::new();
    for entry in store.list("tables").await.unwrap() {
        let mut parts = entry.path.split('/');
        let dataset = format!("{}/{}", parts.next().unwrap(), parts.next().unwrap());
        if paths.last() != Some(&dataset) {
            paths.push(dataset);
        }
    }
    for path in paths {
        let table = TableHandle::open(store, &path, &MAIN, Version::Latest).await.unwrap();
        if table.schema().field_with_name("age").is_ok() {
            return path;
        }
    }
    panic!("no persons");
}

fn landed(landing: Landing) -> TableHandle {
    match landing {
        Landing::Landed { table, .. } => table,
        other => panic!("{other:?}"),
    }
}

/// Removes the dataset, and puts another one in its place that has the same columns and the same number
/// for its newest version.
async fn replace(store: &Store) {
    let path = dataset_of_persons(store).await;
    let old = TableHandle::open(store, &path, &MAIN, Version::Latest).await.unwrap();
    let (schema, number) = (old.schema(), old.version());
    for entry in store.list(&path).await.unwrap() {
        store.delete(&entry.path).await.unwrap();
    }
    let columns = schema.fields().iter().map(|field| match field.name().as_str() {
        "age" => Arc::new(Int32Array::from(vec![Some(99)])) as ArrayRef,
        "email" => Arc::new(StringArray::from(vec![None::<&str>])) as ArrayRef,
        _ => Arc::new(StringArray::from(vec!["stranger"])) as ArrayRef,
    });
    let batch = RecordBatch::try_new(schema.clone(), columns.collect()).unwrap();
    let (permit, uuid) = (CommitPermit::authority(stranger()), TxUuid::effect(stranger(), 0, 0));
    let rows = BatchStream::of(schema, vec![batch]);
    let store = store.reopened();
    let staged = stage_create(&store, &path, rows, uuid).await.unwrap();
    let mut table = landed(create_dataset(&permit, &store, &path, staged).await.unwrap());
    while table.version() < number {
        let step = u32::try_from(table.version()).unwrap();
        let staged = stage_fence(table.version(), TxUuid::effect(stranger(), 0, step));
        table = landed(strict_commit(&permit, &table, staged).await.unwrap());
    }
    assert_eq!(table.version(), number);
}

/// Replaces the dataset when the first attempt has come to a point.
#[derive(Debug)]
struct Meanwhile {
    store: Store,
    point: Failpoint,
    done: AtomicBool,
}

#[async_trait]
impl Hooks for Meanwhile {
    async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
        if point == self.point && !self.done.swap(true, Ordering::SeqCst) {
            Box::pin(replace(&self.store)).await;
        }
        Ok(())
    }

    fn wants(&self, point: Failpoint) -> bool {
        point == self.point
    }
}

/// Writes of the table of persons, and one that only depends on it.
const REQUESTS: [Request; 3] = [
    append(&[r#"{"type":"Person","data":{"slug":"k1"}}"#]),
    upsert(&[r#"{"type":"Person","data":{"slug":"p1","age":7}}"#]),
    mutation(&[r#"{"delete":{"type":"Person","key":"p1","cascade":true}}"#], |before| {
        before.without(&[r#"{"type":"Person","data":{"slug":"p1"}}"#])
    }),
];

async fn world() -> Store {
    let store = Store::memory(&MemoryStorage::new());
    load(&create(&store).await, BASE).await;
    store
}

/// The write is refused by a name that is no bug of ours, and has published nothing.
async fn is_refused(store: &Store, graph: &Graph, request: Request, when: &str) {
    let answer = request.send(graph, Terms::default()).await;
    graph.settled().await;
    let refused = match &answer {
        Err(refused) => refused as &dyn Answer,
        Ok(outcome) => outcome as &dyn Answer,
    };
    assert!(refused.had_no_effect(), "{when}: {answer:?}");
    assert!(
        !matches!(refused.code(), "committed" | "no_change" | "internal"),
        "{when}: {answer:?}"
    );
    assert!(!refused.help().is_empty(), "{when}: {answer:?}");
    let fresh = Graph::open_read_only(store.reopened(), impatient()).await.unwrap();
    assert_eq!(fresh.log(usize::MAX).await.unwrap().len(), 1, "{when}: nothing is published");
    let verified = fresh.verify().await.unwrap();
    assert!(!verified.is_clean(), "{when}: the other dataset is noticed");
}

#[tokio::test]
async fn another_dataset_under_the_number_of_a_pin_is_not_written() {
    for request in REQUESTS {
        let store = world().await;
        replace(&store).await;
        let graph = Graph::open(store.reopened(), own_process()).await.unwrap();
        is_refused(&store, &graph, request, "before").await;
    }
}

#[tokio::test]
async fn another_dataset_that_comes_under_the_number_of_a_pin_while_a_write_prepares_is_not_written()
 {
    // Behind stage D nothing looks again: no path is ever used twice by anything of ours (K4).
    let point = Failpoint::PostPrepare;
    for request in REQUESTS {
        let base = world().await;
        let done = AtomicBool::new(false);
        let hooks = Arc::new(Meanwhile { store: base.reopened(), point, done });
        let options = GraphOptions { hooks, ..own_process() };
        let graph = Graph::open(base.reopened(), options).await.unwrap();
        is_refused(&base, &graph, request, point.name()).await;
    }
}
