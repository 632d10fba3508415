//! Signs of progress of a long attempt: left while it lands effects, gone with its intent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use graphwrite_coordinator::{Graph, GraphOptions, MemoryStorage, Store, SystemEnv};
use graphwrite_protocol_types::Env;
use graphwrite_substrate::{Fault, OperationKind};

use crate::world::{BASE, append, assert_clean, create, own_process};

/// A process so slow that every look at its clock is 20 seconds after the one before.
#[derive(Debug, Default)]
struct SlowEnv {
    system: SystemEnv,
    looks: AtomicU64,
}

impl Env for SlowEnv {
    fn unix_micros(&self) -> u64 {
        self.system.unix_micros()
    }

    fn monotonic_micros(&self) -> u64 {
        self.looks.fetch_add(1, Ordering::Relaxed) * 20_000_000
    }

    fn random_u128(&self) -> u128 {
        self.system.random_u128()
    }
}

#[tokio::test]
async fn a_long_attempt_shows_its_progress_and_tidies_it() {
    let (store, handle) = Store::memory(&MemoryStorage::new()).faulty(|_| Fault::Proceed);
    create(&store).await;
    let options = GraphOptions { env: Arc::new(SlowEnv::default()), ..own_process() };
    let graph = Graph::open(store.reopened(), options).await.unwrap();
    append(&graph, BASE).await;
    assert_clean(&graph).await;
    let log = handle.log();
    let touched = |kind: OperationKind| {
        let signs = log.operations().filter(move |o| o.kind == kind && o.path.contains(".alive."));
        signs.map(|operation| operation.path.clone()).collect::<Vec<_>>()
    };
    let shown = touched(OperationKind::PutIfAbsent);
    assert_eq!(shown.len(), 3, "one for each table that landed: {shown:?}");
    assert_eq!(touched(OperationKind::Delete), shown);
    assert!(store.list("_recovery").await.unwrap().is_empty());
}
