//! `cargo xtask demo`: a graph written atomically, killed in the middle of a write, healed by the next one,
//! branched and merged. It drives the real tool on a real directory and checks everything that it says.

pub(crate) mod branches;
mod merge;
mod narrator;
mod rows;

use crate::failure::Failure;
use crate::process::{FEATURES, Workspace, shown};

use narrator::{End, Narrator};
use rows::Rows;

const SCHEMA: &str = "xtask/demo/schema.toml";
const FLEET: &str = "xtask/demo/fleet.jsonl";
const ARRIVALS: &str = "xtask/demo/arrivals.jsonl";

/// The tool would choose this form itself on a terminal; the demo reads its output.
const TABLE: &str = "--format=table";

/// Builds the tool and runs the demo.
///
/// # Errors
/// When the build fails, or a step does not show what it claims.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    build(workspace)?;
    let narrator = Narrator::new(workspace)?;
    println!(
        "\nA graph is a set of tables. Here it is a small harbour: captains, ships, berths, who"
    );
    println!("commands which ship, and where each ship lies. Each table is a Lance dataset of its");
    println!("own, and one load writes all five of them as one commit.");
    println!("\nEvery command below can be copied; the graph stays in {}", narrator.graph());
    create(&narrator)?;
    kill(&narrator)?;
    let attempt = explain(&narrator)?;
    unseen(&narrator)?;
    heal(&narrator, &attempt)?;
    merge::run(&narrator)?;
    verify(&narrator)?;
    println!(
        "\nok: every step showed what it claims. Remove the graph: rm -r {}",
        narrator.graph()
    );
    Ok(())
}

fn build(workspace: &Workspace) -> Result<(), Failure> {
    let arguments = [&["build", "--workspace", "--bins"][..], &FEATURES].concat();
    println!("$ {}", shown(&arguments, &[]));
    println!("The first build compiles Lance, which takes a quarter of an hour on two cores.");
    workspace.cargo(&arguments)
}

fn create(narrator: &Narrator<'_>) -> Result<(), Failure> {
    narrator.step("Create the graph. Its first manifest commit carries the schema.");
    narrator.run(&["init", narrator.graph(), "--schema", SCHEMA, TABLE], End::Done)?;

    narrator.step("Load the fleet: 12 rows, five tables, one commit.");
    narrator
        .run(&["load", narrator.graph(), "--data", FLEET, "--mode", "append", TABLE], End::Done)?;
    holds(narrator, &[FLEET])
}

fn kill(narrator: &Narrator<'_>) -> Result<(), Failure> {
    narrator.step(
        "Load the arrivals, and kill the process as soon as the first of the tables is committed. \
         One table has moved, the others have not, and nothing is published.",
    );
    let load = ["load", narrator.graph(), "--data", ARRIVALS, "--mode", "append", TABLE];
    narrator.run(&[&load[..], &["--fault", "post_effect:abort"]].concat(), End::Killed)?;

    narrator.step("The graph says what it is now: one attempt is pending.");
    narrator.run(&["status", narrator.graph(), TABLE], End::Done)?;
    Ok(())
}

/// Gives the id of the attempt that the killed process left behind.
fn explain(narrator: &Narrator<'_>) -> Result<String, Failure> {
    narrator.step("The attempt wrote down its intent before its first effect.");
    narrator.run(&["intent", "list", narrator.graph(), TABLE], End::Done)?;
    let attempts = pending(narrator)?;
    let [attempt] = attempts.as_slice() else {
        return Err(Failure::Claim(format!("expected one pending attempt, found {attempts:?}")));
    };

    narrator.step("So anybody can tell what landed, and what recovery will do about it.");
    narrator.run(&["intent", "explain", narrator.graph(), attempt, TABLE], End::Done)?;
    Ok(attempt.clone())
}

fn unseen(narrator: &Narrator<'_>) -> Result<(), Failure> {
    narrator
        .step("No reader sees the half that landed: the export has the fleet and nothing else.");
    narrator.run(&["export", narrator.graph(), "--format", "jsonl"], End::Done)?;
    holds(narrator, &[FLEET])
}

fn heal(narrator: &Narrator<'_>, attempt: &str) -> Result<(), Failure> {
    narrator.step(
        "The next write heals the graph by itself, then does its own work. There is no repair step, \
         no restart and no server; any process can do this.",
    );
    let load = ["load", narrator.graph(), "--data", ARRIVALS, "--mode", "append", TABLE];
    narrator.run(&load, End::Done)?;

    narrator.step("Nothing is pending any more.");
    narrator.run(&["intent", "list", narrator.graph(), TABLE], End::Done)?;
    let left = pending(narrator)?;
    narrator
        .claim(left.is_empty(), &format!("attempt {attempt} is resolved, pending: {left:?}"))?;

    narrator.step("Every row is there once: the fleet and the arrivals, 20 rows.");
    narrator.run(&["export", narrator.graph(), "--format", "jsonl"], End::Done)?;
    holds(narrator, &[FLEET, ARRIVALS])?;

    narrator.step("The history knows two graph commits; the killed load is none.");
    narrator.run(&["commit", "log", narrator.graph(), TABLE], End::Done)?;
    let log = narrator.ask(&["commit", "log", narrator.graph(), "--format", "jsonl"])?;
    narrator.claim(log.lines().count() == 2, "the history has two graph commits")
}

fn verify(narrator: &Narrator<'_>) -> Result<(), Failure> {
    narrator.step("An independent check reads everything that is stored, past every cache.");
    narrator.run(&["verify", narrator.graph(), TABLE], End::Done)?;
    Ok(())
}

/// Checks that the graph's rows are exactly those of the files.
fn holds(narrator: &Narrator<'_>, files: &[&str]) -> Result<(), Failure> {
    let exported = narrator.ask(&["export", narrator.graph(), "--format", "jsonl"])?;
    let exported = Rows::parse(&exported).map_err(Failure::Claim)?;
    let mut expected = Rows::default();
    for file in files {
        let path = narrator.root().join(file);
        let text = std::fs::read_to_string(&path).map_err(Failure::file(path))?;
        expected.extend(Rows::parse(&text).map_err(Failure::Claim)?);
    }
    let claim = format!("the graph holds the {} rows of {}", expected.len(), files.join(" and "));
    narrator.claim(exported == expected, &claim).inspect_err(|_| {
        println!("{}", expected.difference(&exported));
    })
}

/// The ids of the attempts that are not resolved.
fn pending(narrator: &Narrator<'_>) -> Result<Vec<String>, Failure> {
    let answer = narrator.ask(&["intent", "list", narrator.graph(), "--format", "json"])?;
    rows::attempts(&answer).map_err(Failure::Claim)
}
