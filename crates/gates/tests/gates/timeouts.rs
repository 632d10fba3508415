//! A wait ends at its bound, says why, and holds nothing afterwards.

use std::time::Duration;

use graphwrite_gates::{GateKey, GateMode};

use crate::world::{WAIT_MAX, hold, is_free, manager, queue, schema_apply, table, writer};

#[tokio::test(start_paused = true)]
async fn a_wait_ends_exactly_at_its_bound() {
    let manager = manager();
    let _held = hold(&manager, writer(&[1]), "held").await;
    let started = tokio::time::Instant::now();
    let timeout = manager.acquire(writer(&[1]), &"waits", WAIT_MAX).await.unwrap_err();
    assert_eq!(started.elapsed(), WAIT_MAX);
    assert_eq!(timeout.waited_us, 10_000_000);
}

#[tokio::test(start_paused = true)]
async fn it_names_the_gate_the_wait_and_the_holders() {
    let manager = manager();
    let _other = hold(&manager, writer(&[2]), "other").await;
    let _held = hold(&manager, writer(&[1]), "held").await;
    tokio::time::advance(Duration::from_secs(5)).await;
    let timeout = manager.acquire(writer(&[1]), &"waits", WAIT_MAX).await.unwrap_err();
    let key = GateKey::Table { physical_ref: "main".to_owned(), table: table(1) };
    assert_eq!((&timeout.label[..], &timeout.key), ("waits", &key));
    assert_eq!((timeout.mode, timeout.waiters_ahead), (GateMode::Exclusive, 0));
    let holders = &timeout.holders;
    let [holder] = holders.as_slice() else { panic!("{holders:?}") };
    assert_eq!((&holder.label[..], &holder.key), ("held", &key));
    assert_eq!(holder.age_us, 15_000_000);
}

#[tokio::test(start_paused = true)]
async fn behind_a_waiting_request_it_names_the_holder_that_both_wait_for() {
    let manager = manager();
    let _held = hold(&manager, writer(&[1]), "held").await;
    let _apply = queue(&manager, schema_apply(), "apply").await;
    let timeout = manager.acquire(writer(&[2]), &"late", Duration::ZERO).await.unwrap_err();
    assert_eq!(timeout.key, GateKey::SchemaControl);
    assert_eq!(timeout.waiters_ahead, 1);
    let holders: Vec<&str> = timeout.holders.iter().map(|holder| &holder.label[..]).collect();
    assert_eq!(holders, ["held"]);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_waits_for_itself_is_told_so() {
    let manager = manager();
    let _mine = hold(&manager, writer(&[1]), "mine").await;
    let timeout = manager.acquire(writer(&[1]), &"mine", WAIT_MAX).await.unwrap_err();
    assert_eq!(timeout.holders[0].label, timeout.label);
}

#[tokio::test(start_paused = true)]
async fn its_message_lists_three_holders_and_counts_the_rest() {
    let manager = manager();
    let mut guards = Vec::new();
    for number in 1..=5 {
        guards.push(hold(&manager, writer(&[number]), &format!("w{number}")).await);
    }
    let timeout = manager.acquire(schema_apply(), &"apply", Duration::ZERO).await.unwrap_err();
    assert_eq!(
        timeout.to_string(),
        "`apply` waited 0 us for schema control (exclusive) in this process: 0 older requests wait \
         before it; `w1` holds schema control (shared) for 0 us; `w2` holds schema control (shared) \
         for 0 us; `w3` holds schema control (shared) for 0 us; and 2 more. Nothing was changed; \
         try again when they are done, or allow a longer wait"
    );
}

#[tokio::test(start_paused = true)]
async fn it_leaves_nothing_behind_and_lets_the_next_one_in() {
    let manager = manager();
    let early = hold(&manager, writer(&[1]), "early").await;
    let apply = manager.acquire(schema_apply(), &"apply", Duration::from_secs(1));
    let mut apply = Box::pin(apply);
    assert!(futures::poll!(&mut apply).is_pending());
    let late = queue(&manager, writer(&[2]), "late").await;
    assert!(apply.await.is_err());
    assert_eq!(late.await.unwrap().waited_us(), 1_000_000);
    drop(early);
    assert!(is_free(&manager, schema_apply()).await);
}

#[tokio::test(start_paused = true)]
async fn a_zero_bound_takes_what_is_free_and_waits_for_nothing() {
    let manager = manager();
    let _held = hold(&manager, writer(&[1]), "held").await;
    let started = tokio::time::Instant::now();
    assert!(is_free(&manager, writer(&[2])).await);
    assert!(!is_free(&manager, writer(&[1])).await);
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_grant_in_the_moment_of_the_bound_is_not_lost() {
    let manager = manager();
    let held = hold(&manager, writer(&[1]), "held").await;
    let mut waits = Box::pin(queue(&manager, writer(&[1]), "waits").await);
    tokio::time::advance(WAIT_MAX).await;
    drop(held);
    assert_eq!((&mut waits).await.unwrap().waited_us(), 10_000_000);
}

#[tokio::test(start_paused = true)]
async fn an_endless_bound_is_accepted() {
    let manager = manager();
    let held = hold(&manager, writer(&[1]), "held").await;
    let mut waits = Box::pin(manager.acquire(writer(&[1]), &"waits", Duration::MAX));
    assert!(futures::poll!(&mut waits).is_pending());
    drop(held);
    assert!(waits.await.is_ok());
}
