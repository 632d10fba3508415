//! The model of a fork can fail, and what it calls a root is what the production calls one.

use super::defects;
use super::records::{Put, Store, Verdict};
use crate::report::is_as_expected;

#[test]
fn every_defect_is_found() {
    for job in &defects() {
        let found = job.run();
        assert!(is_as_expected(job, &found), "{:?} survives", job.purpose);
    }
}

#[test]
fn a_version_is_kept_by_the_head_by_an_undecided_name_and_by_a_live_one() {
    let mut store = Store::new();
    let kept = |store: &Store| (0..Store::ROOTS).any(|at| store.is_root(at, true));
    assert!(kept(&store));
    store.is_head = false;
    assert!(!kept(&store));
    store.perform(Put::Begin(1));
    assert!(kept(&store));
    store.perform(Put::Decide(1, Verdict::Live));
    store.perform(Put::Decide(1, Verdict::Void));
    assert!(kept(&store), "the first decision stands");
    store.forks[1].is_deleted = true;
    assert!(!kept(&store));
}

#[test]
fn a_head_of_a_deleted_branch_keeps_nothing() {
    let mut store = Store::new();
    store.source_is_deleted = true;
    assert!(!store.is_root(0, true) && !store.is_live_head());
}
