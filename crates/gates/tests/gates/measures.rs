//! Wait and hold times, exact on a paused clock.

use std::time::Duration;

use graphwrite_gates::GateTimes;

use crate::world::{WAIT_MAX, hold, manager, queue, schema_apply, writer};

const STEP: Duration = Duration::from_micros(100);

fn waits(times: GateTimes) -> [u64; 3] {
    [times.wait_count, times.wait_us_total, times.wait_us_max]
}

fn holds(times: GateTimes) -> [u64; 3] {
    [times.hold_count, times.hold_us_total, times.hold_us_max]
}

#[tokio::test(start_paused = true)]
async fn a_hold_is_measured_from_grant_to_release_at_each_gate() {
    let manager = manager();
    let guard = hold(&manager, writer(&[1, 2]), "one").await;
    tokio::time::advance(STEP).await;
    assert_eq!(guard.held_us(), 100);
    drop(guard);
    let metrics = manager.metrics();
    assert_eq!(holds(metrics.schema_control), [1, 100, 100]);
    assert_eq!(holds(metrics.branch_control), [1, 100, 100]);
    assert_eq!(holds(metrics.table), [2, 200, 100]);
    assert_eq!(holds(metrics.set), [1, 100, 100]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_is_charged_to_the_kind_of_gate_that_caused_it() {
    let manager = manager();
    let first = hold(&manager, writer(&[1]), "first").await;
    let second = queue(&manager, writer(&[1]), "second").await;
    tokio::time::advance(STEP).await;
    drop(first);
    let second = second.await.unwrap();
    assert_eq!(second.waited_us(), 100);
    let metrics = manager.metrics();
    assert_eq!(waits(metrics.schema_control), [2, 0, 0]);
    assert_eq!(waits(metrics.table), [2, 100, 100]);
    assert_eq!(waits(metrics.set), [2, 100, 100]);
    assert_eq!(metrics.granted_count, 2);
}

#[tokio::test(start_paused = true)]
async fn the_wait_of_a_set_is_not_part_of_its_hold() {
    let manager = manager();
    let first = hold(&manager, writer(&[1]), "first").await;
    let second = queue(&manager, writer(&[1]), "second").await;
    tokio::time::advance(STEP).await;
    drop(first);
    drop(second.await.unwrap());
    assert_eq!(holds(manager.metrics().set), [2, 100, 100]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_timed_out_is_measured_and_counted() {
    let manager = manager();
    let _held = hold(&manager, writer(&[1]), "held").await;
    assert!(manager.acquire(schema_apply(), &"apply", WAIT_MAX).await.is_err());
    let metrics = manager.metrics();
    assert_eq!((metrics.timed_out_count, metrics.cancelled_count), (1, 0));
    assert_eq!(waits(metrics.schema_control), [2, 10_000_000, 10_000_000]);
    assert_eq!(waits(metrics.set), [2, 10_000_000, 10_000_000]);
    assert_eq!(holds(metrics.set), [0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_was_cancelled_is_measured_and_counted() {
    let manager = manager();
    let _held = hold(&manager, writer(&[1]), "held").await;
    let waiting = queue(&manager, writer(&[1]), "waits").await;
    tokio::time::advance(STEP).await;
    drop(waiting);
    let metrics = manager.metrics();
    assert_eq!((metrics.timed_out_count, metrics.cancelled_count), (0, 1));
    assert_eq!(waits(metrics.table), [2, 100, 100]);
}
