//! The model of a write on configurations that are explored in a second without optimization, and that
//! it can fail.

use std::sync::Arc;

use graphwrite_recovery::Evidence;
use stateright::Model;

use super::code::{Made, Pin, Rows, Tx};
use super::configurations::{DEFECTS, scenarios};
use super::defect::Defect;
use super::line::{Landing, Line, Put};
use super::look::{Asking, Judged, UNSEEN};
use super::properties::visible_is_committed;
use super::scenario::{Losses, Request, Scenario};
use super::setting::Setting;
use super::solo::ends_everything_alone;
use super::store::{Operation, Store, Transition};
use super::system::Write;
use super::view::Row;
use crate::job::{Found, Job};

fn explore(scenario: Scenario, defect: Defect) -> Found {
    let name = scenario.name;
    let model = Write { setting: Arc::new(Setting::new(scenario, defect)) };
    Job::sound(name, model).run()
}

fn one_writer() -> Scenario {
    Scenario::new("one writer", vec![Request::new(0, 0, &[0, 1])], 1).losing(Losses::of_tables(1))
}

fn put(version: u8, tx: Tx) -> Put {
    Put { line: 0, version, tx, rows: Rows::NONE, adds: Rows::NONE, creates: false }
}

#[test]
fn one_writer_and_one_recoverer_hold_with_a_late_commit() {
    let found = explore(one_writer(), Defect::None);
    assert_eq!(found.failures, Vec::new());
    assert!(found.unique > 1_000, "{} states are no exploration", found.unique);
}

#[test]
fn the_same_counts_come_out_every_time() {
    let counts = || {
        let found = explore(one_writer(), Defect::None);
        (found.states, found.unique, found.depth)
    };
    assert_eq!(counts(), counts());
}

#[test]
fn without_a_fence_one_writer_is_enough_to_fail() {
    let found = explore(one_writer(), Defect::NoFence);
    let broken = found.failures.iter().find(|failure| !failure.trace.is_empty());
    let broken = broken.expect("the defect is found");
    assert_eq!(broken.property, "one recoverer alone ends everything");
}

#[test]
fn every_defect_names_a_configuration_that_exists() {
    let scenarios = scenarios();
    for (text, _, name) in DEFECTS {
        assert!(scenarios.iter().any(|scenario| scenario.name == name), "{text}: {name}");
    }
}

#[test]
fn an_intent_of_the_model_is_one_that_the_production_would_arm() {
    for scenario in scenarios() {
        let setting = Setting::new(scenario, Defect::None);
        let store = Store::new(&setting.scenario);
        for attempt in setting.scenario.attempts() {
            let plan = store.plan(&setting, attempt);
            let view = *store.view_of(&setting, attempt);
            let arms = setting.revalidates(attempt, &plan, &view, Some(plan.over), None);
            assert!(arms, "{}: attempt {attempt}", setting.scenario.name);
        }
    }
}

#[test]
fn decisions_come_from_the_production_classifier() {
    let setting = Setting::new(one_writer(), Defect::None);
    let store = Store::new(&setting.scenario);
    let plan = store.plan(&setting, 0);
    let sight = (store.sight(&setting, 0), Asking::Anybody);
    let judge = |seen| setting.judge(0, &plan, &seen, sight);
    assert_eq!(judge([Evidence::Complete; 2]), Judged::RollForward);
    assert_eq!(judge([Evidence::Open(0), Evidence::Complete]), Judged::Abort);
    assert_eq!(judge([Evidence::SlotForeign; 2]), Judged::RetireEmpty);
    assert_eq!(judge(UNSEEN), Judged::Abort);
}

#[test]
fn a_strict_commit_lands_directly_above_head_or_not_at_all() {
    let mut line = Line::starting_at(1, Tx::OLD, Rows::NONE);
    let first = Tx::of(0, 0, Made::Step(0));
    assert_eq!(line.commit(put(2, first)), Landing::Landed);
    assert_eq!(line.commit(put(2, first)), Landing::Landed, "it is there already");
    assert_eq!(line.commit(put(2, Tx::of(1, 0, Made::Step(0)))), Landing::Refused);
    assert_eq!(line.head(), Some(Pin { version: 2, tx: first }));
}

#[test]
fn a_put_that_arrives_late_takes_a_slot_that_cleanup_has_emptied() {
    let mut line = Line::starting_at(1, Tx::OLD, Rows::NONE);
    line.commit(put(2, Tx::of(0, 0, Made::Step(0))));
    let late = put(1, Tx::of(1, 0, Made::Fence));
    assert_eq!(line.arrive(late), Landing::Refused);
    line.collect(1);
    assert_eq!(line.commit(late), Landing::Refused, "its client would have seen HEAD");
    assert_eq!(line.arrive(late), Landing::Landed);
}

#[test]
fn a_manifest_commit_on_its_way_is_refused_once_its_slot_is_taken() {
    let setting = Setting::new(one_writer(), Defect::None);
    let mut store = Store::new(&setting.scenario);
    store.late.push(Operation::Manifest(Transition::Abort { attempt: 0 }));
    let plan = store.plan(&setting, 0);
    let commit = Transition::Commit { attempt: 0, plan, by_recovery: false };
    store.perform(&setting, Operation::Manifest(commit));
    assert_eq!(store.late, Vec::new());
    assert_eq!(store.row(0), Row::Committed);
}

#[test]
fn a_commit_without_its_steps_is_seen() {
    let setting = Setting::new(one_writer(), Defect::None);
    let mut store = Store::new(&setting.scenario);
    let plan = store.plan(&setting, 0);
    assert!(visible_is_committed(&setting, &store));
    let commit = Transition::Commit { attempt: 0, plan, by_recovery: false };
    store.perform(&setting, Operation::Manifest(commit));
    assert!(!visible_is_committed(&setting, &store));
}

#[test]
fn an_intent_left_behind_is_ended_by_one_recoverer_alone() {
    let setting = Setting::new(one_writer(), Defect::None);
    let mut store = Store::new(&setting.scenario);
    let plan = store.plan(&setting, 0);
    store.perform(&setting, Operation::Arm { attempt: 0, plan });
    assert!(ends_everything_alone(&setting, &store));
    store.perform(&setting, Operation::Commit(put(2, Tx::of(0, 0, Made::Step(0)))));
    assert!(ends_everything_alone(&setting, &store));
}

#[test]
fn a_head_that_no_intent_explains_is_ended_by_nobody() {
    let setting = Setting::new(one_writer(), Defect::None);
    let mut store = Store::new(&setting.scenario);
    store.perform(&setting, Operation::Commit(put(2, Tx::of(0, 0, Made::Step(0)))));
    assert!(!ends_everything_alone(&setting, &store));
}

#[test]
fn a_run_is_reported_with_its_steps() {
    let model = Write { setting: Arc::new(Setting::new(one_writer(), Defect::None)) };
    let start = model.init_states();
    assert_eq!(start.len(), 1);
    let mut actions = Vec::new();
    model.actions(&start[0], &mut actions);
    assert_eq!(actions.len(), 1, "only the writer can begin: {actions:?}");
}
