//! What is granted, in which mode and order.

use graphwrite_gates::{GateGuard, GateKey, GateKind, GateMode, GateSet};

use crate::world::{hold, is_free, manager, queue, schema_apply, table, writer};

fn keys(set: &GateSet) -> Vec<GateKey> {
    set.iter().map(|(key, _)| key.clone()).collect()
}

#[test]
fn a_set_is_in_the_order_of_the_protocol_however_it_was_built() {
    let set = GateSet::new()
        .with_table("t-b", table(1))
        .with_table("t-a", table(2))
        .with_table("t-a", table(1))
        .with_branch("main", GateMode::Shared)
        .with_schema(GateMode::Shared);
    let on = |physical_ref: &str, number| GateKey::Table {
        physical_ref: physical_ref.to_owned(),
        table: table(number),
    };
    let branch = GateKey::BranchControl { native_branch: "main".to_owned() };
    let order = [GateKey::SchemaControl, branch, on("t-a", 1), on("t-a", 2), on("t-b", 1)];
    assert_eq!(keys(&set), order);
}

#[test]
fn kinds_are_in_the_order_of_their_gates() {
    assert!(GateKind::SchemaControl < GateKind::BranchControl);
    assert!(GateKind::BranchControl < GateKind::Table);
}

#[test]
fn a_gate_named_twice_is_taken_once() {
    assert_eq!(writer(&[1, 1, 1]), writer(&[1]));
    assert_eq!(writer(&[1, 1]).len(), 3);
}

#[test]
fn a_gate_named_in_two_modes_is_exclusive_whichever_came_first() {
    use GateMode::{Exclusive, Shared};
    for [first, second] in [[Shared, Exclusive], [Exclusive, Shared]] {
        let set = GateSet::new().with_schema(first).with_schema(second);
        assert_eq!(set.mode_of(&GateKey::SchemaControl), Some(Exclusive));
    }
}

#[test]
fn a_writer_shares_control_and_takes_tables_alone() {
    let modes: Vec<GateMode> = writer(&[1]).iter().map(|(_, mode)| mode).collect();
    assert_eq!(modes, [GateMode::Shared, GateMode::Shared, GateMode::Exclusive]);
}

#[tokio::test(start_paused = true)]
async fn writers_of_different_tables_hold_at_the_same_time() {
    let manager = manager();
    let _one = hold(&manager, writer(&[1]), "one").await;
    assert!(is_free(&manager, writer(&[2])).await);
}

#[tokio::test(start_paused = true)]
async fn one_table_on_two_refs_is_two_gates() {
    let manager = manager();
    let _one = hold(&manager, GateSet::new().with_table("t-a", table(1)), "one").await;
    assert!(is_free(&manager, GateSet::new().with_table("t-b", table(1))).await);
    assert!(!is_free(&manager, GateSet::new().with_table("t-a", table(1))).await);
}

#[tokio::test(start_paused = true)]
async fn control_of_one_branch_does_not_stop_another() {
    let manager = manager();
    let control = GateSet::new().with_branch("side", GateMode::Exclusive);
    let _control = hold(&manager, control, "delete side").await;
    assert!(is_free(&manager, writer(&[1])).await);
    assert!(!is_free(&manager, GateSet::for_writer("side", [])).await);
}

#[tokio::test(start_paused = true)]
async fn an_empty_set_is_granted_beside_anything() {
    let manager = manager();
    let _apply = hold(&manager, schema_apply(), "apply").await;
    assert!(is_free(&manager, GateSet::new()).await);
}

#[tokio::test(start_paused = true)]
async fn a_schema_apply_is_not_overtaken_by_writers_that_come_later() {
    let manager = manager();
    let early = hold(&manager, writer(&[1]), "early").await;
    let apply = queue(&manager, schema_apply(), "apply").await;
    let late = queue(&manager, writer(&[2]), "late").await;
    drop(early);
    let apply = apply.await.unwrap();
    assert!(!is_free(&manager, writer(&[3])).await);
    drop(apply);
    assert_eq!(late.await.unwrap().label(), "late");
}

#[tokio::test(start_paused = true)]
async fn equal_requests_are_granted_in_the_order_of_their_arrival() {
    let manager = manager();
    let first = hold(&manager, writer(&[1]), "first").await;
    let second = queue(&manager, writer(&[1]), "second").await;
    let mut third = Box::pin(queue(&manager, writer(&[1]), "third").await);
    drop(first);
    let second = second.await.unwrap();
    assert!(futures::poll!(&mut third).is_pending());
    drop(second);
    assert!(third.await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_waiting_request_holds_nothing_while_part_of_its_set_is_free() {
    let manager = manager();
    let _one = hold(&manager, writer(&[1]), "one").await;
    let _both = queue(&manager, writer(&[1, 2]), "both").await;
    assert!(manager.holders().iter().all(|holder| holder.label == "one"));
}

#[tokio::test(start_paused = true)]
async fn holders_are_named_with_gate_mode_and_age() {
    let manager = manager();
    let _apply = hold(&manager, schema_apply(), "apply").await;
    tokio::time::advance(std::time::Duration::from_micros(7)).await;
    let holders = manager.holders();
    let [holder] = holders.as_slice() else { panic!("{holders:?}") };
    assert_eq!(holder.to_string(), "`apply` holds schema control (exclusive) for 7 us");
}

#[tokio::test(start_paused = true)]
async fn waiters_are_named_with_the_first_gate_they_wait_for() {
    let manager = manager();
    let _one = hold(&manager, writer(&[1, 2]), "one").await;
    let _two = queue(&manager, writer(&[2]), "two").await;
    let waiters = manager.waiters();
    let [waiter] = waiters.as_slice() else { panic!("{waiters:?}") };
    assert_eq!(waiter.label, "two");
    assert_eq!(waiter.key, keys(&writer(&[2]))[2]);
    assert_eq!(waiter.mode, GateMode::Exclusive);
}

#[tokio::test(start_paused = true)]
async fn a_guard_knows_what_it_holds() {
    let manager = manager();
    let guard = hold(&manager, writer(&[1]), "one").await;
    assert_eq!(guard.set(), &writer(&[1]));
    assert_eq!(guard.mode_of(&GateKey::SchemaControl), Some(GateMode::Shared));
    assert_eq!(guard.mode_of(&keys(&writer(&[2]))[2]), None);
}

#[test]
fn a_guard_can_be_moved_into_a_task_of_its_own() {
    fn movable<T: Send + Sync + 'static>() {}
    movable::<GateGuard>();
}
