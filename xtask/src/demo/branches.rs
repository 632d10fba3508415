//! `cargo xtask demo --branches`: two hundred branches of one graph, each written by a process of its own,
//! half of them deleted. It drives the real tool and checks everything that it says.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::failure::Failure;
use crate::process::Workspace;

use super::narrator::{End, Narrator};
use super::rows::Rows;
use super::{FLEET, SCHEMA, TABLE, build, holds};

const BRANCHES: usize = 200;
/// Processes at a time.
const CROWD: usize = 4;
/// What one screen holds.
const LINES_MAX: usize = 50;
const COLUMNS_MAX: usize = 80;

/// Builds the tool and runs the demo.
///
/// # Errors
/// When the build fails, or a step does not show what it claims.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    build(workspace)?;
    let narrator = Narrator::new(workspace)?;
    println!(
        "\nA branch is a branch of the whole graph. Making one copies no row and makes no commit;"
    );
    println!("the first write to a table gives the branch a ref of its own for that table.");
    println!("\nThe graph stays in {}", narrator.graph());
    let started = Instant::now();
    create(&narrator)?;
    let rows = Rows::of_branches(&narrator)?;
    branch(&narrator)?;
    write(&narrator, &rows)?;
    delete(&narrator)?;
    look(&narrator, &rows)?;
    verify(&narrator)?;
    status(&narrator)?;
    println!(
        "\nok: every step showed what it claims, in {:.1} s. Remove the graph: rm -r {graph} {graph}-rows",
        started.elapsed().as_secs_f64(),
        graph = narrator.graph()
    );
    Ok(())
}

fn create(narrator: &Narrator<'_>) -> Result<(), Failure> {
    narrator.step("Create the graph and load the fleet.");
    narrator.run(&["init", narrator.graph(), "--schema", SCHEMA, TABLE], End::Done)?;
    narrator.run(&["load", narrator.graph(), "--data", FLEET, "--mode", "append", TABLE], End::Done)
}

fn branch(narrator: &Narrator<'_>) -> Result<(), Failure> {
    narrator.step(&format!(
        "Make {BRANCHES} branches, each in a process of its own, {CROWD} processes at a time."
    ));
    let request = |n| vec!["branch".into(), "create".into(), narrator.graph().into(), name(n)];
    let spent = narrator.crowd(CROWD, (0..BRANCHES).map(request))?;
    told("making a branch", BRANCHES, spent);
    let commits = lines(narrator, &["commit", "log", narrator.graph(), "--format", "jsonl"])?;
    narrator.claim(commits.len() == 1, "no branch made a commit")
}

fn write(narrator: &Narrator<'_>, rows: &[PathBuf]) -> Result<(), Failure> {
    narrator.step("Write a berth on each of them: the first write of the branch to that table.");
    let request = |(n, file): (usize, &PathBuf)| {
        let fixed = ["load", narrator.graph(), "--mode", "append", "--data"].map(String::from);
        let file = file.to_string_lossy().into_owned();
        [&fixed[..], &[file, "--branch".into(), name(n)]].concat()
    };
    let spent = narrator.crowd(CROWD, rows.iter().enumerate().map(request))?;
    told("a first write", BRANCHES, spent);
    Ok(())
}

fn delete(narrator: &Narrator<'_>) -> Result<(), Failure> {
    narrator.step("Delete every second one. A deletion is one object, whatever the branch holds.");
    let request = |n| vec!["branch".into(), "delete".into(), narrator.graph().into(), name(n)];
    let spent = narrator.crowd(CROWD, (0..BRANCHES).filter(|n| n % 2 == 1).map(request))?;
    told("a deletion", BRANCHES / 2, spent);
    let names = lines(narrator, &["branch", "list", narrator.graph(), "--format", "plain"])?;
    let expected: Vec<String> =
        std::iter::once("main".to_owned()).chain((0..BRANCHES).step_by(2).map(name)).collect();
    narrator.claim(names == expected, "main and every other branch are left")?;
    narrator.run(&["branch", "status", narrator.graph(), &name(1), TABLE], End::Negative)
}

/// What is written on a branch is seen there and nowhere else.
fn look(narrator: &Narrator<'_>, files: &[PathBuf]) -> Result<(), Failure> {
    narrator.step("Main has the fleet alone, and each branch the fleet and its own berth.");
    holds(narrator, &[FLEET])?;
    for n in [0, BRANCHES / 2, BRANCHES - 2] {
        let branch = name(n);
        let export = ["export", narrator.graph(), "--branch", &branch, "--format", "jsonl"];
        let found = Rows::parse(&narrator.ask(&export)?).map_err(Failure::Claim)?;
        let mut expected = Rows::default();
        for file in [&narrator.root().join(FLEET), &files[n]] {
            let text = std::fs::read_to_string(file).map_err(Failure::file(file))?;
            expected.extend(Rows::parse(&text).map_err(Failure::Claim)?);
        }
        narrator
            .claim(found == expected, &format!("{branch} holds the fleet and its own berth"))?;
    }
    Ok(())
}

fn verify(narrator: &Narrator<'_>) -> Result<(), Failure> {
    narrator.step("An independent check reads everything that is stored, on every branch.");
    let started = Instant::now();
    narrator.run(&["verify", narrator.graph(), TABLE], End::Done)?;
    told("the check", 1, started.elapsed());
    let answer = json(narrator, "verify")?;
    let live = (BRANCHES / 2 + 1) as u64;
    narrator.claim(answer["clean"] == true, "the graph is clean")?;
    narrator.claim(answer["branches"] == live, &format!("{live} branches were checked"))?;
    let findings = answer["findings"].as_array().cloned().unwrap_or_default();
    let waits = |finding: &Value| finding["code"] == "reclaim_pending";
    narrator.claim(
        !findings.is_empty() && findings.iter().all(waits),
        "nothing is noted but what deleted branches have left",
    )
}

fn status(narrator: &Narrator<'_>) -> Result<(), Failure> {
    narrator.step("The state of all of it is one screen, whatever the number of branches.");
    let started = Instant::now();
    let screen = lines(narrator, &["status", narrator.graph(), TABLE])?;
    let spent = started.elapsed();
    screen.iter().for_each(|line| println!("    {line}"));
    told("the status", 1, spent);
    let (count, wide) = (screen.len(), screen.iter().map(|line| line.chars().count()).max());
    let claim = format!("it has {count} lines, at most {LINES_MAX}");
    narrator.claim(count <= LINES_MAX, &claim)?;
    narrator.claim(wide <= Some(COLUMNS_MAX), &format!("no line is wider than {COLUMNS_MAX}"))?;
    let answer = json(narrator, "status")?;
    let live = (BRANCHES / 2 + 1) as u64;
    narrator.claim(answer["branches"]["live"] == live, &format!("{live} branches live"))?;
    let left = (BRANCHES / 2) as u64;
    for what in ["native branches", "refs of tables"] {
        let waiting = answer["waiting"].as_array().into_iter().flatten();
        let found = waiting.filter(|it| it["what"] == what).any(|it| it["count"] == left);
        narrator.claim(found, &format!("{left} {what} wait for maintenance"))?;
    }
    Ok(())
}

fn json(narrator: &Narrator<'_>, command: &str) -> Result<Value, Failure> {
    let answer = narrator.ask(&[command, narrator.graph(), "--json"])?;
    let parsed = serde_json::from_str(&answer);
    parsed.map_err(|why| Failure::Claim(format!("`{command}` does not answer in JSON: {why}")))
}

fn lines(narrator: &Narrator<'_>, arguments: &[&str]) -> Result<Vec<String>, Failure> {
    Ok(narrator.ask(arguments)?.lines().map(str::to_owned).collect())
}

fn name(n: usize) -> String {
    format!("agent/{n:03}")
}

fn told(what: &str, times: usize, spent: Duration) {
    let each_ms = spent.as_secs_f64() * 1_000.0 / times as f64;
    match times {
        1 => println!("    time: {what} took {each_ms:.0} ms"),
        times => println!(
            "    time: {what} {times} times took {:.1} s, {each_ms:.0} ms each",
            spent.as_secs_f64()
        ),
    }
}

impl Rows {
    /// A file with the one row of each branch, beside the graph.
    fn of_branches(narrator: &Narrator<'_>) -> Result<Vec<PathBuf>, Failure> {
        let directory = PathBuf::from(format!("{}-rows", narrator.graph()));
        std::fs::create_dir_all(&directory).map_err(Failure::file(&directory))?;
        let file = |n: usize| {
            let path = directory.join(format!("{n:03}.jsonl"));
            let row = format!(
                "{{\"type\":\"Berth\",\"data\":{{\"slug\":\"{}\",\"depth_m\":{n}.5,\"crane\":true}}}}\n",
                name(n)
            );
            std::fs::write(&path, row).map_err(Failure::file(&path))?;
            Ok(path)
        };
        (0..BRANCHES).map(file).collect()
    }
}
