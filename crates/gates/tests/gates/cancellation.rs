//! A future that is dropped, wherever it is, leaves nothing behind.

use std::time::Duration;

use crate::world::{WAIT_MAX, hold, is_free, manager, queue, schema_apply, writer};

#[tokio::test(start_paused = true)]
async fn dropped_before_the_first_poll_it_never_stood_in_line() {
    let manager = manager();
    drop(manager.acquire(schema_apply(), &"apply", WAIT_MAX));
    assert!(manager.holders().is_empty() && manager.waiters().is_empty());
    assert_eq!(manager.metrics().cancelled_count, 0);
}

#[tokio::test(start_paused = true)]
async fn dropped_while_waiting_it_gives_its_place_back() {
    let manager = manager();
    let _early = hold(&manager, writer(&[1]), "early").await;
    let apply = queue(&manager, schema_apply(), "apply").await;
    let late = queue(&manager, writer(&[2]), "late").await;
    drop(apply);
    assert!(late.await.is_ok());
    assert!(manager.waiters().is_empty());
    assert_eq!(manager.metrics().cancelled_count, 1);
}

#[tokio::test(start_paused = true)]
async fn dropped_after_the_grant_but_before_it_was_seen_it_releases() {
    let manager = manager();
    let first = hold(&manager, writer(&[1]), "first").await;
    let second = queue(&manager, writer(&[1]), "second").await;
    let third = queue(&manager, writer(&[1]), "third").await;
    drop(first);
    assert_eq!(manager.holders()[0].label, "second");
    drop(second);
    assert_eq!(third.await.unwrap().label(), "third");
    assert!(manager.holders().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_waiting_task_that_is_aborted_gives_its_place_back() {
    let manager = manager();
    let held = hold(&manager, writer(&[1]), "held").await;
    let task = tokio::spawn(queue(&manager, writer(&[1]), "waits").await);
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    assert!(manager.waiters().is_empty());
    drop(held);
    assert!(is_free(&manager, schema_apply()).await);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_bounds_the_wait_from_outside_leaves_nothing() {
    let manager = manager();
    let _held = hold(&manager, writer(&[1]), "held").await;
    let request = manager.acquire(writer(&[1]), &"waits", WAIT_MAX);
    assert!(tokio::time::timeout(Duration::from_millis(1), request).await.is_err());
    assert!(manager.waiters().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_guard_lost_to_a_panic_releases() {
    let manager = manager();
    let guard = hold(&manager, schema_apply(), "apply").await;
    let task = tokio::spawn(async move {
        let _guard = guard;
        std::panic::resume_unwind(Box::new("the attempt died"));
    });
    assert!(task.await.unwrap_err().is_panic());
    assert!(is_free(&manager, schema_apply()).await);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_guard_releases_every_gate_of_its_set() {
    let manager = manager();
    drop(hold(&manager, writer(&[1, 2, 3]), "one").await);
    assert!(manager.holders().is_empty());
    assert!(is_free(&manager, writer(&[1, 2, 3])).await);
}
