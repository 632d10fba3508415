//! Who shares gates with whom.

use std::sync::Arc;

use graphwrite_gates::{GateManager, GateRegistry};

use crate::world::{TokioClock, hold, is_free, schema_apply, writer};

fn handle(registry: &GateRegistry, root: &str) -> Arc<GateManager> {
    registry.for_root(root, TokioClock::start())
}

#[tokio::test(start_paused = true)]
async fn two_handles_of_one_root_share_gates() {
    let one = handle(GateRegistry::process(), "file:///shared");
    let two = handle(GateRegistry::process(), "file:///shared");
    let guard = hold(&one, schema_apply(), "one").await;
    assert!(!is_free(&two, writer(&[1])).await);
    drop(guard);
    assert!(is_free(&two, writer(&[1])).await);
}

#[tokio::test(start_paused = true)]
async fn different_roots_do_not_share_gates() {
    let one = handle(GateRegistry::process(), "file:///left");
    let two = handle(GateRegistry::process(), "file:///right");
    let _guard = hold(&one, schema_apply(), "one").await;
    assert!(is_free(&two, schema_apply()).await);
}

#[tokio::test(start_paused = true)]
async fn two_processes_do_not_share_gates_of_one_root() {
    let [here, there] = [GateRegistry::new(), GateRegistry::new()];
    let one = handle(&here, "file:///root");
    let two = handle(&there, "file:///root");
    let _guard = hold(&one, schema_apply(), "one").await;
    assert!(is_free(&two, schema_apply()).await);
}

#[tokio::test(start_paused = true)]
async fn a_manager_made_directly_shares_with_nobody() {
    let [one, two] = [GateManager::new(TokioClock::start()), GateManager::new(TokioClock::start())];
    let _guard = hold(&one, schema_apply(), "one").await;
    assert!(is_free(&two, schema_apply()).await);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_outlives_its_handle_is_met_by_the_next_handle() {
    let registry = GateRegistry::new();
    let first = handle(&registry, "file:///root");
    let guard = hold(&first, schema_apply(), "outlives").await;
    drop(first);
    let second = handle(&registry, "file:///root");
    assert_eq!(second.holders()[0].label, "outlives");
    drop(guard);
    assert!(is_free(&second, schema_apply()).await);
}
