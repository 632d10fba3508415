//! Many tasks on real threads, some of which give up: nobody meets anybody inside, nothing is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use graphwrite_gates::{GateKey, GateManager, GateMode, GateSet};

use crate::world::{TokioClock, schema_apply, writer};

const TABLES: usize = 4;

/// Who is inside: for each gate the number of sharers, or -1 for one that is alone.
#[derive(Default)]
struct Inside {
    schema: AtomicI64,
    tables: [AtomicI64; TABLES],
}

impl Inside {
    fn gate(&self, key: &GateKey) -> Option<&AtomicI64> {
        match key {
            GateKey::SchemaControl => Some(&self.schema),
            GateKey::Table { table, .. } => Some(&self.tables[table.table.get() as usize - 1]),
            _ => None,
        }
    }

    fn enter(&self, set: &GateSet) {
        for (gate, mode) in set.iter().filter_map(|(key, mode)| Some((self.gate(key)?, mode))) {
            match mode {
                GateMode::Shared => assert!(gate.fetch_add(1, Ordering::SeqCst) >= 0),
                GateMode::Exclusive => assert_eq!(gate.swap(-1, Ordering::SeqCst), 0),
            }
        }
    }

    fn exit(&self, set: &GateSet) {
        for (gate, mode) in set.iter().filter_map(|(key, mode)| Some((self.gate(key)?, mode))) {
            match mode {
                GateMode::Shared => assert!(gate.fetch_sub(1, Ordering::SeqCst) > 0),
                GateMode::Exclusive => assert_eq!(gate.swap(0, Ordering::SeqCst), -1),
            }
        }
    }
}

fn wanted(seed: u64) -> GateSet {
    if seed.is_multiple_of(9) {
        return schema_apply();
    }
    let chosen = |table: &u64| seed >> table & 1 == 1;
    writer(&(1..=TABLES as u64).filter(chosen).collect::<Vec<u64>>())
}

async fn pass(manager: &Arc<GateManager>, inside: &Inside, seed: u64) {
    let wait_max = Duration::from_micros(if seed.is_multiple_of(5) { 50 } else { 60_000_000 });
    let Ok(guard) = manager.acquire(wanted(seed), &seed, wait_max).await else {
        assert!(seed.is_multiple_of(5), "only a short wait may end without a grant");
        return;
    };
    inside.enter(guard.set());
    tokio::task::yield_now().await;
    inside.exit(guard.set());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tasks_that_hold_wait_and_give_up_never_meet_inside_and_leave_nothing() {
    let manager = GateManager::new(TokioClock::start());
    let inside = Arc::new(Inside::default());
    let run = |task: u64| {
        let (manager, inside) = (Arc::clone(&manager), Arc::clone(&inside));
        tokio::spawn(async move {
            for round in 0..100 {
                // A fixed mix, so that every run asks for the same sets.
                let seed = (task * 100 + round).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
                pass(&manager, &inside, seed).await;
            }
        })
    };
    for task in (0..16).map(run).collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert!(manager.holders().is_empty() && manager.waiters().is_empty());
    let metrics = manager.metrics();
    assert_eq!(metrics.granted_count + metrics.timed_out_count, 1_600);
}
