//! The model of the cleanup handshake can fail.

use super::defects;
use super::records::{Put, Root, Store};
use crate::report::is_as_expected;

#[test]
fn every_defect_is_found() {
    for job in &defects() {
        let found = job.run();
        assert!(is_as_expected(job, &found), "{:?} survives", job.purpose);
    }
}

#[test]
fn the_first_verdict_stands() {
    let mut store = Store::new();
    store.perform(Put::Plan(0));
    store.perform(Put::Verdict(0, false));
    store.perform(Put::Verdict(0, true));
    assert_eq!(store.plans[0].verdict, Some(false));
}

#[test]
fn a_plan_is_open_until_it_is_done() {
    let mut store = Store::new();
    assert_eq!(store.open_plan(), None);
    store.perform(Put::Plan(0));
    assert_eq!(store.open_plan(), Some(0));
    store.perform(Put::Done(0));
    assert_eq!((store.open_plan(), store.next_plan()), (None, Some(1)));
}

#[test]
fn an_undecided_record_keeps_the_version() {
    let mut store = Store::new();
    assert!(!store.is_root(0));
    store.roots[0] = Root::Begun;
    assert!(store.is_root(0));
}
