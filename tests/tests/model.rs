//! Random requests against a plain reference of the graph model (design 01 section 11): what the
//! product answers, keeps and remembers is what a simple interpreter over ordered maps says.
//!
//! `PROPTEST_CASES` sets how many histories each schema gets. A history that fails is shrunk, its seed
//! is kept below `tests/proptest-regressions`, and it is run again before all others from then on.

mod client;
mod history;
mod machine;
mod merges;
mod mutation;
mod request;
mod row;
mod schemas;
mod seeds;
mod shape;
mod state;
mod statements;
mod steps;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use graphwrite_coordinator::MemoryStorage;
use graphwrite_protocol_types::Defect;
use proptest::collection::vec;
use proptest::test_runner::{Config, FileFailurePersistence, RngAlgorithm, TestRng, TestRunner};

use crate::judge::tell;
use machine::Machine;
use schemas::{PARTS, PEOPLE, TEAMS};
use shape::Schema;
use steps::{Step, step};

/// Histories of each schema, if nothing else is said: more than 64 in all.
const CASES: u32 = 22;
const STEPS: usize = 30;
const SHRINK_MS_MAX: u32 = 60_000;

fn config(regressions: &'static str) -> Config {
    let given = std::env::var_os("PROPTEST_CASES").is_some();
    let default = Config::default();
    Config {
        cases: if given { default.cases } else { CASES },
        max_shrink_time: SHRINK_MS_MAX,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(regressions))),
        ..default
    }
}

/// A kind of answer that no history came to is looked for in as many again, this often at most: chance
/// is no failure.
const ROUNDS_MAX: u32 = 8;

/// Runs random histories over `schema`, and demands that every kind of answer in `kinds` was heard.
fn run(schema: &'static Schema, regressions: &'static str, kinds: &[&str]) {
    let heard = RefCell::new(BTreeMap::<String, usize>::new());
    let config = config(regressions);
    let is_whole = config.cases >= CASES;
    let mut missing = Vec::new();
    for _ in 0..ROUNDS_MAX {
        run_once(schema, config.clone(), &heard);
        let heard = heard.borrow();
        missing = kinds.iter().filter(|kind| !heard.contains_key(**kind)).collect();
        if missing.is_empty() || !is_whole {
            break;
        }
    }
    tell(&format!("random histories of {}: {:?}", schema.name, heard.borrow()));
    assert!(missing.is_empty() || !is_whole, "no history of {} came to {missing:?}", schema.name);
}

fn run_once(schema: &'static Schema, config: Config, heard: &RefCell<BTreeMap<String, usize>>) {
    let end = TestRunner::new(config).run(&vec(step(), STEPS), |steps| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        for (what, times) in runtime.block_on(history(schema, &MemoryStorage::new(), &steps)) {
            *heard.borrow_mut().entry(what).or_default() += times;
        }
        Ok(())
    });
    if let Err(failure) = end {
        panic!("{failure}");
    }
}

async fn history(
    schema: &'static Schema,
    storage: &MemoryStorage,
    steps: &[Step],
) -> BTreeMap<String, usize> {
    let mut machine = Machine::on(schema, storage).await;
    for step in steps {
        Box::pin(machine.step(step)).await;
    }
    machine.finish().await;
    machine.into_tally()
}

/// How many histories, of as many as are always run, show that a build with `defect` is not what the
/// model says: the number of the first that does. Always the same histories.
pub(crate) fn first_to_show(defect: Defect) -> Option<u32> {
    let ran = Cell::new(0);
    for schema in [&PEOPLE, &TEAMS, &PARTS] {
        let config = Config {
            cases: CASES,
            max_shrink_iters: 0,
            failure_persistence: None,
            ..Config::default()
        };
        let always_the_same = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let mut runner = TestRunner::new_with_rng(config, always_the_same);
        let end = runner.run(&vec(step(), STEPS), |steps| {
            ran.set(ran.get() + 1);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let storage = MemoryStorage::new().with_defect(defect);
            runtime.block_on(history(schema, &storage, &steps));
            Ok(())
        });
        if end.is_err() {
            return Some(ran.get());
        }
    }
    None
}

const ALWAYS: &[&str] = &[
    "appended",
    "upserted",
    "overwritten",
    "mutated",
    "key_missing",
    "no change",
    "sent again",
    "disturbed, after",
    "disturbed, before",
    "key_conflict",
    "operation_reused",
    "expected_head",
    "unique",
    "endpoint",
    "cardinality",
    "referenced",
    "key",
    "required",
];

#[test]
fn random_histories_of_people_are_what_the_model_says() {
    run(&PEOPLE, "proptest-regressions/model-people.txt", ALWAYS);
}

#[test]
fn random_histories_of_teams_are_what_the_model_says() {
    run(&TEAMS, "proptest-regressions/model-teams.txt", ALWAYS);
}

#[test]
fn random_histories_of_parts_are_what_the_model_says() {
    run(&PARTS, "proptest-regressions/model-parts.txt", ALWAYS);
}
