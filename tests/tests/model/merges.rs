//! Random histories of branches that merge each other, against a plain reference: rows of every commit,
//! the graph of all commits walked step by step, and the rule of each key as `docs/merge.md` says it.
//! Nothing of the product's own comparison, search or lineage is used.

mod constraints;
mod dag;
mod finish;
mod machine;
mod merging;
mod rule;
mod steps;

use std::cell::RefCell;
use std::collections::BTreeMap;

use graphwrite_coordinator::MemoryStorage;
use proptest::sample::select;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestRunner};

use super::config;
use super::schemas::{PEOPLE, TEAMS};
use super::shape::Schema;
use crate::judge::tell;
use machine::Machine;
use steps::{Step, steps};

/// Histories in one round.
const CASES: u32 = 12;
const STEPS: usize = 18;
/// A kind of merge that no history came to is looked for in as many again, this often at most: chance is
/// no failure.
const ROUNDS_MAX: u32 = 3;

/// What must have been met, for the histories to say something. Rarer kinds are met by longer runs.
const ALWAYS: &[&str] = &[
    "contained",
    "fast_forward",
    "diverged",
    "merged a merge",
    "merged into several commits of a table",
    "rows changed on both sides",
    "no row changed",
    "converged",
    "divergent_insert",
    "branch made again",
    "merge disturbed, after",
    "merge disturbed, before",
];

fn histories() -> impl Strategy<Value = (&'static Schema, Vec<Step>)> {
    (select(&[&TEAMS, &TEAMS, &PEOPLE][..]), steps(STEPS))
}

fn run_once(config: Config, met: &RefCell<BTreeMap<String, usize>>) {
    let end = TestRunner::new(config).run(&histories(), |(schema, steps)| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        for (what, times) in runtime.block_on(history(schema, &steps)) {
            *met.borrow_mut().entry(what).or_default() += times;
        }
        Ok(())
    });
    if let Err(failure) = end {
        panic!("{failure}");
    }
}

async fn history(schema: &'static Schema, steps: &[Step]) -> BTreeMap<String, usize> {
    let mut machine = Machine::on(schema, &MemoryStorage::new()).await;
    for step in steps {
        Box::pin(machine.step(step)).await;
    }
    Box::pin(machine.finish()).await;
    machine.into_tally()
}

#[test]
fn random_histories_of_branches_that_merge_each_other_are_what_the_model_says() {
    let met = RefCell::new(BTreeMap::<String, usize>::new());
    let given = std::env::var_os("PROPTEST_CASES").is_some();
    let default = config("proptest-regressions/model-merges.txt");
    let cases = if given { default.cases } else { CASES };
    let is_whole = cases >= CASES;
    let mut missing = Vec::new();
    for _ in 0..ROUNDS_MAX {
        run_once(Config { cases, ..default.clone() }, &met);
        let met = met.borrow();
        missing = ALWAYS.iter().filter(|what| !met.contains_key(**what)).collect();
        if missing.is_empty() || !is_whole {
            break;
        }
    }
    tell(&format!("random histories of merges: {:?}", met.borrow()));
    assert!(missing.is_empty() || !is_whole, "no history came to {missing:?}");
}
