//! The configurations of the model of a write, and the one in which each planted defect must fail.

use std::sync::Arc;

use super::defect::Defect;
use super::scenario::{Event, Losses, Request, Scenario, Start};
use super::setting::Setting;
use super::system::Write;
use crate::job::Job;

/// Every configuration, with all rules kept.
pub(crate) fn configurations() -> Vec<Job> {
    scenarios().into_iter().map(|scenario| sound(&scenario)).collect()
}

/// Every defect in its configuration.
pub(crate) fn defects() -> Vec<Job> {
    let scenarios = scenarios();
    let found = |name: &str| scenarios.iter().find(|scenario| scenario.name == name);
    DEFECTS
        .iter()
        .filter_map(|(text, defect, name)| Some(planted(text, *defect, found(name)?)))
        .collect()
}

/// A defect in words, and the configuration that must find it.
pub(crate) const DEFECTS: [(&str, Defect, &str); 12] = [
    ("commits are not strict", Defect::NotStrict, "two writers"),
    ("no abort row", Defect::NoAbortRow, "two writers"),
    ("no fence", Defect::NoFence, "two writers"),
    ("only written tables in the read set", Defect::TouchedTablesOnly, "a probed table"),
    ("arming over drift", Defect::ArmOverDrift, "two writers"),
    ("ids minted at recovery", Defect::IdsMintedAtRecovery, "two writers"),
    ("one id for request and attempts", Defect::OneIdForAll, "a restarted request"),
    ("manifest read before the tables", Defect::AuthorityFirst, "two writers"),
    ("names used again", Defect::NamesReused, "first loads"),
    ("intent after the effects", Defect::IntentAfterEffects, "two writers"),
    ("cleanup without an age floor", Defect::NoAgeFloor, "a slot that cleanup empties"),
    ("answer before taking back", Defect::AnswerBeforeTakingBack, "late commits to the manifest"),
];

fn sound(scenario: &Scenario) -> Job {
    let setting = Setting::new(scenario.clone(), Defect::None);
    Job::sound(scenario.name, Write { setting: Arc::new(setting) })
}

fn planted(text: &'static str, defect: Defect, scenario: &Scenario) -> Job {
    let setting = Setting::new(scenario.clone(), defect);
    Job::defect(text, scenario.name, Write { setting: Arc::new(setting) })
}

const BOTH: &[u8] = &[0, 1];

pub(crate) fn scenarios() -> Vec<Scenario> {
    vec![
        two_writers(),
        restarted(),
        retried(),
        chains(),
        two_recoverers(),
        third_writer(),
        probed(),
        cleaned_up(),
        branch_recreated(),
        retired_empty(),
        tombstoned(),
        unreadable(),
        first_loads(),
        sealed(),
        late_everything(),
        late_manifest(),
    ]
}

fn two_writers() -> Scenario {
    let requests = vec![Request::new(0, 0, BOTH), Request::new(1, 1, BOTH)];
    Scenario::new("two writers", requests, 1)
}

fn restarted() -> Scenario {
    let requests = vec![Request::new(0, 0, BOTH).attempts(2), Request::new(1, 2, &[0])];
    Scenario::new("a restarted request", requests, 1)
}

fn retried() -> Scenario {
    let requests = vec![Request::new(0, 0, &[0]).attempts(2), Request::new(0, 2, &[0]).attempts(2)];
    Scenario::new("a request sent twice", requests, 1)
}

fn chains() -> Scenario {
    let requests = vec![Request::new(0, 0, &[0]).steps(3), Request::new(1, 1, &[0]).steps(2)];
    Scenario::new("chains", requests, 1).losing(Losses::of_tables(1))
}

fn two_recoverers() -> Scenario {
    Scenario::new("two recoverers", vec![Request::new(0, 0, BOTH)], 2)
        .losing(Losses::of_everything(1))
}

fn third_writer() -> Scenario {
    let requests =
        vec![Request::new(0, 0, &[0]), Request::new(1, 1, &[0]), Request::new(2, 2, &[0])];
    Scenario::new("a third writer", requests, 1)
}

fn probed() -> Scenario {
    let requests = vec![Request::new(0, 0, &[0]).probing(1), Request::new(1, 1, &[1]).probing(0)];
    Scenario::new("a probed table", requests, 1)
}

fn cleaned_up() -> Scenario {
    let requests = vec![Request::new(0, 0, &[0]), Request::new(1, 1, &[0])];
    Scenario::new("a slot that cleanup empties", requests, 1)
        .losing(Losses::of_tables(1))
        .with(Event::Cleanup { table: 0 })
}

fn branch_recreated() -> Scenario {
    let requests =
        vec![Request::new(0, 0, BOTH).attempts(2), Request::new(1, 2, &[0]).on_incarnation(1)];
    Scenario::new("a branch made again", requests, 1)
        .starting([Start::Inherited, Start::Inherited])
        .with(Event::BranchControl)
}

fn retired_empty() -> Scenario {
    let requests = vec![Request::new(0, 0, &[0]), Request::new(1, 1, &[0])];
    Scenario::new("an empty intent retired", requests, 2)
}

fn tombstoned() -> Scenario {
    let requests = vec![Request::new(0, 0, BOTH)];
    Scenario::new("a table dropped under a load", requests, 1)
        .starting([Start::Declared, Start::Loaded])
        .losing(Losses::of_tables(1))
        .with(Event::Tombstone { table: 0 })
        .with(Event::Tombstone { table: 1 })
}

fn unreadable() -> Scenario {
    let requests = vec![Request::new(0, 0, BOTH), Request::new(1, 1, &[1])];
    Scenario::new("a table that cannot be read", requests, 1).with(Event::Unreadable { table: 0 })
}

fn first_loads() -> Scenario {
    let requests = vec![Request::new(0, 0, &[0]).attempts(2).steps(2), Request::new(1, 2, &[0])];
    Scenario::new("first loads", requests, 1)
        .starting([Start::Declared, Start::Loaded])
        .losing(Losses::of_tables(1))
}

fn sealed() -> Scenario {
    let requests = vec![Request::new(0, 0, &[0]).attempts(2), Request::new(1, 2, &[0])];
    Scenario::new("a sealed request", requests, 1).with(Event::Seal { operation: 0 })
}

fn late_everything() -> Scenario {
    let requests = vec![Request::new(0, 0, &[0]), Request::new(1, 1, &[0])];
    Scenario::new("anything late", requests, 1).losing(Losses::of_everything(2))
}

fn late_manifest() -> Scenario {
    let requests = vec![Request::new(0, 0, BOTH), Request::new(1, 1, &[0])];
    Scenario::new("late commits to the manifest", requests, 1).losing(Losses::of_the_manifest(2))
}
