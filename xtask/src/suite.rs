//! `cargo xtask test`: every check and every test, in order, each timed, stopping at the first that
//! fails. It owns the order and the report, not the checks.

use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::process::{FEATURES, Workspace, shown};

/// How much of the suite runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All of it: what continuous integration runs.
    Everything,
    /// Without the two steps that check all dependencies a second time, for daily work.
    Fast,
}

/// What a step did.
enum Outcome {
    Passed,
    /// It could not run here; the text says why and how to make it run.
    Skipped(&'static str),
}

struct Step {
    name: &'static str,
    slow: bool,
    run: fn(&Workspace, &mut Tally) -> Result<Outcome, Failure>,
}

/// The cheap steps come first, so that a small slip costs seconds.
const STEPS: [Step; 9] = [
    Step { name: "format", slow: false, run: format },
    Step { name: "tidy", slow: false, run: tidy },
    Step { name: "entry points", slow: false, run: audit },
    Step { name: "licences and sources", slow: false, run: deny },
    Step { name: "model", slow: false, run: model },
    Step { name: "clippy", slow: true, run: clippy },
    Step { name: "documentation", slow: true, run: documentation },
    Step { name: "build", slow: false, run: build },
    Step { name: "tests", slow: false, run: tests },
];

/// Runs the suite and reports; the last line says how it ended.
///
/// # Errors
/// The failure of the first step that fails.
pub(crate) fn run(workspace: &Workspace, scope: Scope) -> Result<(), Failure> {
    let steps: Vec<&Step> =
        STEPS.iter().filter(|step| scope == Scope::Everything || !step.slow).collect();
    let mut report = Report::new(steps.len());
    for (index, step) in steps.iter().enumerate() {
        println!("\n=== {}/{} {}", index + 1, steps.len(), step.name);
        let began = Instant::now();
        let outcome = (step.run)(workspace, &mut report.tally);
        let took = began.elapsed();
        match outcome {
            Ok(outcome) => report.add(step.name, outcome, took),
            Err(failure) => {
                report.print();
                let step = format!("{}/{} {}", index + 1, steps.len(), step.name);
                return Err(Failure::Step { step, why: Box::new(failure) });
            }
        }
    }
    report.print();
    println!("{}", report.last_line());
    Ok(())
}

fn format(workspace: &Workspace, _: &mut Tally) -> Result<Outcome, Failure> {
    cargo(workspace, &["fmt", "--all", "--check"], &[])
}

fn tidy(workspace: &Workspace, _: &mut Tally) -> Result<Outcome, Failure> {
    crate::tidy::run(workspace)?;
    Ok(Outcome::Passed)
}

fn audit(workspace: &Workspace, _: &mut Tally) -> Result<Outcome, Failure> {
    crate::audit::run(workspace.root(), None, true)?;
    Ok(Outcome::Passed)
}

fn model(workspace: &Workspace, _: &mut Tally) -> Result<Outcome, Failure> {
    crate::model::run(workspace, crate::model::Shown::Rows)?;
    Ok(Outcome::Passed)
}

fn deny(workspace: &Workspace, _: &mut Tally) -> Result<Outcome, Failure> {
    if !workspace.has("deny") {
        return Ok(Outcome::Skipped(
            "cargo-deny is not installed: `cargo install cargo-deny --locked` (.ci/run does it)",
        ));
    }
    cargo(
        workspace,
        &["deny", "check", "--hide-inclusion-graph", "bans", "licenses", "sources"],
        &[],
    )
}

fn clippy(workspace: &Workspace, _: &mut Tally) -> Result<Outcome, Failure> {
    let arguments =
        [&["clippy", "--workspace", "--all-targets"][..], &FEATURES, &["--", "-D", "warnings"]];
    cargo(workspace, &arguments.concat(), &[])
}

fn documentation(workspace: &Workspace, _: &mut Tally) -> Result<Outcome, Failure> {
    let arguments = [&["doc", "--workspace", "--no-deps"][..], &FEATURES].concat();
    cargo(workspace, &arguments, &[("RUSTDOCFLAGS", "-D warnings")])
}

/// Builds programs as well as tests: the process tests start `graphwrite` itself.
fn build(workspace: &Workspace, _: &mut Tally) -> Result<Outcome, Failure> {
    let arguments = [&["build", "--workspace", "--bins", "--tests"][..], &FEATURES].concat();
    cargo(workspace, &arguments, &[])
}

/// `cargo test` and not nextest: it runs the documentation's examples too (a skipped stage must not
/// compile), and it is there on every machine.
fn tests(workspace: &Workspace, tally: &mut Tally) -> Result<Outcome, Failure> {
    let arguments = [&["test", "--workspace"][..], &FEATURES].concat();
    announce(&arguments, &[]);
    workspace.cargo_watched(&arguments, |line| tally.read(line))?;
    Ok(Outcome::Passed)
}

fn cargo(
    workspace: &Workspace,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> Result<Outcome, Failure> {
    announce(arguments, environment);
    workspace.cargo_with(arguments, environment)?;
    Ok(Outcome::Passed)
}

fn announce(arguments: &[&str], environment: &[(&str, &str)]) {
    println!("$ {}", shown(arguments, environment));
}

/// The summary lines of the test harness, and their sums.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    lines: Vec<String>,
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Tally {
    fn read(&mut self, line: &str) {
        let Some(counts) = line.strip_prefix("test result: ") else { return };
        self.passed += count(counts, "passed");
        self.failed += count(counts, "failed");
        self.ignored += count(counts, "ignored");
        self.lines.push(line.to_owned());
    }
}

/// The number before `word` in a line like `ok. 3 passed; 0 failed;`.
fn count(line: &str, word: &str) -> u64 {
    let words: Vec<&str> = line.split([' ', ';']).filter(|part| !part.is_empty()).collect();
    let number = words.windows(2).find(|pair| pair[1] == word).map(|pair| pair[0]);
    number.and_then(|text| text.parse().ok()).unwrap_or(0)
}

struct Report {
    planned: usize,
    began: Instant,
    rows: Vec<(&'static str, Outcome, Duration)>,
    tally: Tally,
}

impl Report {
    fn new(planned: usize) -> Self {
        Self { planned, began: Instant::now(), rows: Vec::new(), tally: Tally::default() }
    }

    fn add(&mut self, name: &'static str, outcome: Outcome, took: Duration) {
        println!("--- {name}: {} in {}", word(&outcome), seconds(took));
        if let Outcome::Skipped(why) = &outcome {
            println!("!!! SKIPPED: {why}");
        }
        self.rows.push((name, outcome, took));
    }

    fn print(&self) {
        println!();
        for line in self.tally.lines.iter().filter(|line| !line.contains(" 0 passed; 0 failed")) {
            println!("{line}");
        }
        println!("\n=== summary");
        for (name, outcome, took) in &self.rows {
            println!("{:>10}  {name}: {}", seconds(*took), word(outcome));
        }
    }

    fn last_line(&self) -> String {
        let skipped: Vec<&str> = self
            .rows
            .iter()
            .filter(|row| matches!(row.1, Outcome::Skipped(_)))
            .map(|row| row.0)
            .collect();
        let Tally { passed, failed, ignored, .. } = &self.tally;
        let remark = if skipped.is_empty() {
            String::new()
        } else {
            format!(", SKIPPED: {}", skipped.join(", "))
        };
        format!(
            "ok: {} steps in {}, {passed} tests passed, {failed} failed, {ignored} ignored{remark}",
            self.planned,
            seconds(self.began.elapsed()),
        )
    }
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "ok",
        Outcome::Skipped(_) => "skipped",
    }
}

fn seconds(took: Duration) -> String {
    let whole = took.as_secs();
    if whole < 60 {
        format!("{:.1} s", took.as_secs_f64())
    } else {
        format!("{} m {:02} s", whole / 60, whole % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tally_sums_the_summary_lines() {
        let mut tally = Tally::default();
        tally.read("running 3 tests");
        tally.read("test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out");
        tally.read("test result: FAILED. 2 passed; 4 failed; 0 ignored; 0 measured");
        assert_eq!((tally.passed, tally.failed, tally.ignored), (5, 4, 1));
        assert_eq!(tally.lines.len(), 2);
    }

    #[test]
    fn a_test_that_prints_a_count_does_not_change_the_tally() {
        let mut tally = Tally::default();
        tally.read("recovered 7 passed; 8 failed");
        assert_eq!(tally, Tally::default());
    }

    #[test]
    fn a_skipped_step_is_named_in_the_last_line() {
        let mut report = Report::new(2);
        report.add("format", Outcome::Passed, Duration::ZERO);
        report.add("licences", Outcome::Skipped("not installed"), Duration::ZERO);
        assert!(report.last_line().ends_with("SKIPPED: licences"), "{}", report.last_line());
    }

    #[test]
    fn times_read_naturally() {
        assert_eq!(seconds(Duration::from_millis(1_250)), "1.2 s");
        assert_eq!(seconds(Duration::from_secs(125)), "2 m 05 s");
    }
}
