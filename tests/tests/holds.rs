//! What gates cost: they are held while effects are made, never while a request is prepared, so that
//! writers that have nothing in common do not slow each other down (RFC 4.3, 11.5).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use graphwrite_coordinator::{
    Graph, GraphOptions, Hooks, Injected, LoadMode, LoadRequest, MemoryStorage, ProcessContext,
    Store, SystemEnv,
};
use graphwrite_protocol_types::{Env, Failpoint, WriteOutcome};
use graphwrite_schema::{SchemaDocument, declare};
use tokio::sync::{Barrier, Notify};

use crate::world::{BASE, append, assert_clean, create, input, own_process};

const WRITERS: usize = 8;

/// A clock that stands still unless a hook moves it.
#[derive(Debug, Default)]
struct Clock {
    system: SystemEnv,
    now_us: AtomicU64,
}

impl Env for Clock {
    fn unix_micros(&self) -> u64 {
        self.system.unix_micros()
    }

    fn monotonic_micros(&self) -> u64 {
        self.now_us.load(Ordering::SeqCst)
    }

    fn random_u128(&self) -> u128 {
        self.system.random_u128()
    }
}

const PREPARE_US: u64 = 1_000_000;
const EFFECT_US: u64 = 1_000;

/// Each writer takes a second to prepare and a millisecond for its effects. All have prepared before
/// the first asks for its gates, so that no hold has another writer's preparation in it.
#[derive(Debug)]
struct TakesTime {
    clock: Arc<Clock>,
    prepared: Barrier,
}

#[async_trait]
impl Hooks for TakesTime {
    async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
        match point {
            Failpoint::PostPrepare => {
                self.clock.now_us.fetch_add(PREPARE_US, Ordering::SeqCst);
                self.prepared.wait().await;
            }
            Failpoint::PostArm => {
                self.clock.now_us.fetch_add(EFFECT_US, Ordering::SeqCst);
            }
            _ => {}
        }
        Ok(())
    }

    fn wants(&self, point: Failpoint) -> bool {
        matches!(point, Failpoint::PostPrepare | Failpoint::PostArm)
    }
}

/// A graph with one node type for each writer, in a process where time is told by `clock`.
async fn graph_of_writers(clock: &Arc<Clock>) -> Graph {
    let types = (0..WRITERS).map(|n| {
        format!("[node.T{n}]\nkey = \"k\"\n[node.T{n}.properties]\nk = {{ type = \"string\" }}\n")
    });
    let document = SchemaDocument::parse(&types.collect::<String>()).unwrap();
    let schema = declare(&document, &SystemEnv::new()).unwrap();
    let hooks = TakesTime { clock: Arc::clone(clock), prepared: Barrier::new(WRITERS) };
    let options = GraphOptions {
        env: Arc::clone(clock) as Arc<dyn Env>,
        process: ProcessContext::isolated(&SystemEnv::new()),
        hooks: Arc::new(hooks),
        ..GraphOptions::default()
    };
    Graph::create(Store::memory(&MemoryStorage::new()), &schema, "ada", options).await.unwrap()
}

#[tokio::test]
async fn gates_are_held_for_the_effects_and_not_for_the_preparation() {
    let clock = Arc::new(Clock::default());
    let graph = graph_of_writers(&clock).await;
    let mut writers = Vec::new();
    for n in 0..WRITERS {
        let row = format!(r#"{{"type":"T{n}","data":{{"k":"a"}}}}"#);
        let request = LoadRequest::new(input(&graph, &[row]).await, LoadMode::Append);
        let graph = graph.clone();
        writers.push(tokio::spawn(async move { graph.load(request).await.unwrap() }));
    }
    for writer in writers {
        let outcome = writer.await.unwrap();
        assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
    }
    graph.settled().await;
    let (writers, activity) = (WRITERS as u64, graph.activity());
    assert!(clock.monotonic_micros() >= writers * PREPARE_US, "each took its second to prepare");
    assert_eq!((activity.attempts, activity.gate_hold.count), (writers, writers), "no restart");
    // Every hold covers its own effects, and at most those of all that were at work beside it.
    assert!(activity.gate_hold.us_total >= writers * EFFECT_US, "{activity:?}");
    assert!(activity.gate_hold.us_max <= writers * EFFECT_US, "{activity:?}");
    assert!(activity.gate_hold.us_max < PREPARE_US, "{activity:?}");
    assert_eq!(activity.gate_wait.us_max, 0, "they have no table in common: {activity:?}");
}

/// Stays in its preparation until it is let go.
#[derive(Debug, Default)]
struct Stays {
    is_there: Notify,
    goes_on: Notify,
}

#[async_trait]
impl Hooks for Stays {
    async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
        if self.wants(point) {
            self.is_there.notify_one();
            self.goes_on.notified().await;
        }
        Ok(())
    }

    fn wants(&self, point: Failpoint) -> bool {
        point == Failpoint::PostPrepare
    }
}

#[tokio::test]
async fn a_writer_that_prepares_for_long_keeps_nobody_from_the_same_table() {
    let store = Store::memory(&MemoryStorage::new());
    append(&create(&store).await, BASE).await;
    let (options, hooks) = (own_process(), Arc::new(Stays::default()));
    let stays = GraphOptions { hooks: Arc::clone(&hooks) as Arc<dyn Hooks>, ..options.clone() };
    let slow = Graph::open(store.reopened(), stays).await.unwrap();
    let rows = [r#"{"type":"Person","data":{"slug":"slow"}}"#];
    let request = LoadRequest::new(input(&slow, &rows).await, LoadMode::Append);
    let running = tokio::spawn({
        let slow = slow.clone();
        async move { slow.load(request).await.unwrap() }
    });
    hooks.is_there.notified().await;
    // Of the same process, so of the same gates; without any patience for them.
    let options = GraphOptions { gate_wait_max: std::time::Duration::ZERO, ..options };
    let quick = Graph::open(store.reopened(), options).await.unwrap();
    append(&quick, &[r#"{"type":"Person","data":{"slug":"quick"}}"#]).await;
    assert!(!running.is_finished());
    // The slow one has lost its base, and prepares a second time.
    hooks.goes_on.notify_one();
    hooks.is_there.notified().await;
    hooks.goes_on.notify_one();
    assert!(matches!(running.await.unwrap(), WriteOutcome::Committed(_)));
    assert_clean(&quick).await;
}
