//! The model of a branch name can fail, and its store keeps the first record.

use super::records::{Put, Store, Verdict};
use super::{Defect, defects};
use crate::report::is_as_expected;

#[test]
fn every_defect_is_found() {
    for job in defects() {
        let found = job.run();
        assert!(is_as_expected(&job, &found), "{:?} survives", job.purpose);
    }
}

#[test]
fn the_first_decision_stands() {
    let mut store = Store::default();
    store.perform(Defect::None, Put::Begin { number: 0, creator: 1 });
    assert!(store.perform(Defect::None, Put::Decide { number: 0, verdict: Verdict::Void }));
    assert!(!store.perform(Defect::None, Put::Decide { number: 0, verdict: Verdict::Live }));
    assert!(!store.means(0));
}

#[test]
fn a_name_means_its_highest_number() {
    let mut store = Store::default();
    for number in [0, 1] {
        store.perform(Defect::None, Put::Begin { number, creator: number });
        store.perform(Defect::None, Put::Decide { number, verdict: Verdict::Live });
    }
    assert!(!store.means(0));
    assert!(store.means(1));
}
