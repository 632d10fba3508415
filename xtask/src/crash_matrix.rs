//! `cargo xtask crash-matrix`: every durable operation of every entry point, crashed, cut off, late and
//! paused. The integration binary runs the cells, one test per scenario; this says which, prints what
//! they have left, and holds the list of entry points against it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::audit::ENTRY_POINTS;
use crate::failure::Failure;
use crate::process::{FEATURES, Workspace};

/// The tests that run the scenarios, and the variables by which they hear what is wanted.
const TESTS: &str = "crash::registry::";
/// More than processors: a client whose storage is gone waits a while before it gives up.
const THREADS: &str = "4";
const TO: &str = "GRAPHWRITE_CRASH_TO";
const ENTRY: &str = "GRAPHWRITE_CRASH_ENTRY";
const CELL: &str = "GRAPHWRITE_CRASH_CELL";
const FULL: &str = "GRAPHWRITE_CRASH_FULL";

const PLAN: &str = "GRAPHWRITE_CRASH_PLAN";

const PAGE: &str = "docs/crash-matrix.md";
const BEGIN: &str = "<!-- cells: cargo xtask crash-matrix --page -->\n";
const END: &str = "<!-- end of cells -->";

/// What is to be run, and what becomes of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// One entry point, by its name.
    entry: Option<String>,
    /// One cell, by its id.
    cell: Option<String>,
    /// Recoveries of every scenario are crashed too.
    full: bool,
    json: bool,
    /// The cells are counted, not run, and the counts go into the page.
    page: bool,
}

impl Options {
    /// # Errors
    /// When the words are no options.
    pub(crate) fn parse(words: &[&str]) -> Result<Self, Failure> {
        let usage = || Failure::Usage(format!("crash-matrix {}", words.join(" ")));
        let mut options = Self::default();
        let mut words_left = words.iter();
        while let Some(word) = words_left.next() {
            let mut value = || words_left.next().map(ToString::to_string).ok_or_else(usage);
            match *word {
                "--entry" => options.entry = Some(value()?),
                "--cell" => options.cell = Some(value()?),
                "--full" => options.full = true,
                "--json" => options.json = true,
                "--page" => options.page = true,
                _ => return Err(usage()),
            }
        }
        let is_part = options.entry.is_some() || options.cell.is_some();
        let is_odd = options.page && (is_part || options.full || options.json)
            || options.cell.is_some() && (options.entry.is_some() || options.full);
        if is_odd { Err(usage()) } else { Ok(options) }
    }

    fn is_whole(&self) -> bool {
        self.entry.is_none() && self.cell.is_none()
    }
}

/// The cells of a scenario, by what happens in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Cells {
    calm: usize,
    dead: usize,
    lost: usize,
    late: usize,
    paused: usize,
    recovery: usize,
}

impl Cells {
    fn total(self) -> usize {
        self.calm + self.dead + self.lost + self.late + self.paused + self.recovery
    }

    fn plus(self, other: Self) -> Self {
        Self {
            calm: self.calm + other.calm,
            dead: self.dead + other.dead,
            lost: self.lost + other.lost,
            late: self.late + other.late,
            paused: self.paused + other.paused,
            recovery: self.recovery + other.recovery,
        }
    }

    /// Those that are the same in every run.
    fn stable(self) -> [usize; 5] {
        [self.calm, self.dead, self.lost, self.late, self.paused]
    }

    fn columns(self) -> [usize; 6] {
        [self.calm, self.dead, self.lost, self.late, self.paused, self.recovery]
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Failed {
    cell: String,
    why: String,
}

/// What the binary tells of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    scenario: String,
    entries: Vec<String>,
    operations: usize,
    cells: Cells,
    aftermaths: usize,
    memoised: usize,
    failures: Vec<Failed>,
    seconds: f64,
}

/// The sum of some rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct Sum {
    scenarios: usize,
    operations: usize,
    cells: Cells,
    aftermaths: usize,
    memoised: usize,
    failures: usize,
    seconds: f64,
}

impl Sum {
    fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Self {
        rows.into_iter().fold(Self::default(), |sum, row| Self {
            scenarios: sum.scenarios + 1,
            operations: sum.operations + row.operations,
            cells: sum.cells.plus(row.cells),
            aftermaths: sum.aftermaths + row.aftermaths,
            memoised: sum.memoised + row.memoised,
            failures: sum.failures + row.failures.len(),
            seconds: sum.seconds + row.seconds,
        })
    }
}

/// All that was found.
#[derive(Debug)]
struct Report {
    rows: Vec<Row>,
    /// None where not all of the matrix was run.
    without_cells: Option<Vec<&'static str>>,
    seconds: f64,
    /// Seconds of the processors that the tests took; none where the system does not say.
    processor_seconds: Option<f64>,
}

/// Runs what is wanted, and tells.
///
/// # Errors
/// When a cell fails, an entry point has no cells, or something cannot be built or read.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<(), Failure> {
    let report = measured(workspace, options)?;
    if options.page {
        let page = workspace.root().join(PAGE);
        let text = fs::read_to_string(&page).map_err(Failure::file(&page))?;
        fs::write(&page, report.page(&text)?).map_err(Failure::file(&page))?;
    } else if options.json {
        println!("{}", report.document());
    } else {
        report.print();
    }
    report.verdict()
}

fn measured(workspace: &Workspace, options: &Options) -> Result<Report, Failure> {
    let to = workspace.root().join("target").join("xtask").join("crash-matrix");
    if to.exists() {
        fs::remove_dir_all(&to).map_err(Failure::file(&to))?;
    }
    fs::create_dir_all(&to).map_err(Failure::file(&to))?;
    let build = [&["build", "--workspace", "--bins", "--test", "graphwrite"][..], &FEATURES];
    workspace.cargo(&build.concat())?;
    let arguments = ["test", "--workspace", "--test", "graphwrite"];
    let arguments = [&arguments[..], &FEATURES, &["--", TESTS, "--test-threads", THREADS]].concat();
    let to_text = to.to_string_lossy().into_owned();
    let mut environment = vec![(TO, to_text.as_str())];
    environment.extend(options.entry.as_deref().map(|entry| (ENTRY, entry)));
    environment.extend(options.cell.as_deref().map(|cell| (CELL, cell)));
    environment.extend(options.full.then_some((FULL, "1")));
    environment.extend(options.page.then_some((PLAN, "1")));
    let (began, before) = (Instant::now(), processor_seconds());
    workspace.cargo_output_with(&arguments, &environment)?;
    let processor_seconds = processor_seconds().zip(before).map(|(after, before)| after - before);
    let rows = read(&to)?;
    if rows.is_empty() {
        return Err(nothing(options));
    }
    let without_cells = options.is_whole().then(|| without_cells(&rows));
    let seconds = began.elapsed().as_secs_f64();
    Ok(Report { rows, without_cells, seconds, processor_seconds })
}

fn nothing(options: &Options) -> Failure {
    let what = if options.cell.is_some() { "scenario of cell" } else { "entry point" };
    let name = options.cell.as_ref().or(options.entry.as_ref()).cloned().unwrap_or_default();
    Failure::NoSuch { what, name }
}

/// What the children of this process, which have ended, have computed so far.
fn processor_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The fields after the name of the program; a tick is a hundredth of a second on Linux.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields.get(13)?.parse().ok()?;
    u32::try_from(ticks).ok().map(|ticks| f64::from(ticks) / 100.0)
}

fn read(directory: &Path) -> Result<Vec<Row>, Failure> {
    let entries = fs::read_dir(directory).map_err(Failure::file(directory))?;
    let files: Result<Vec<PathBuf>, _> = entries.map(|it| it.map(|it| it.path())).collect();
    let mut rows = Vec::new();
    for file in files.map_err(Failure::file(directory))? {
        let text = fs::read_to_string(&file).map_err(Failure::file(&file))?;
        let row = serde_json::from_str::<Row>(&text).map_err(|why| Failure::Answer {
            program: file.display().to_string(),
            why: why.to_string(),
        })?;
        rows.push(row);
    }
    rows.sort_by(|a, b| a.scenario.cmp(&b.scenario));
    Ok(rows)
}

/// The entry points of the audit that no row is of.
fn without_cells(rows: &[Row]) -> Vec<&'static str> {
    let has = |name: &str| rows.iter().any(|row| row.entries.iter().any(|it| it == name));
    ENTRY_POINTS.iter().map(|entry| entry.name).filter(|name| !has(name)).collect()
}

const HEAD: &str = "calm   dead   lost   late paused recov.";

impl Report {
    /// The rows by entry point; those of several under all of their names.
    fn by_entry(&self) -> BTreeMap<String, Sum> {
        let mut rows = BTreeMap::<String, Vec<&Row>>::new();
        for row in &self.rows {
            rows.entry(row.entries.join(", ")).or_default().push(row);
        }
        rows.into_iter().map(|(entry, rows)| (entry, Sum::of(rows))).collect()
    }

    fn print(&self) {
        let of = |name: &str, sum: &Sum| {
            let columns = sum.cells.columns().map(|count| format!("{count:>7}")).concat();
            let Sum { scenarios, operations, aftermaths, memoised, failures, seconds, .. } = sum;
            let cells = sum.cells.total();
            println!(
                "{name:<42} {scenarios:>9} {operations:>10} {columns} {cells:>6} {aftermaths:>10} \
                 {memoised:>8} {failures:>8} {seconds:>8.1}"
            );
        };
        println!(
            "{:<42} scenarios operations    {HEAD}  cells aftermaths memoised failures  seconds",
            "entry point"
        );
        for (entry, sum) in self.by_entry() {
            of(&entry, &sum);
        }
        of("total", &Sum::of(&self.rows));
        for failed in self.rows.iter().flat_map(|row| &row.failures) {
            println!("\nFAILED {}\n{}", failed.cell, failed.why);
            println!("again: cargo xtask crash-matrix --cell '{}'", failed.cell);
        }
        println!();
        if let Some(missing) = &self.without_cells {
            println!("entry points without cells: {}", listed(missing));
        }
        let processor = self.processor_seconds.map(|it| format!(", {it:.0} s of processors"));
        println!("{:.0} s{}", self.seconds, processor.unwrap_or_default());
    }

    fn document(&self) -> serde_json::Value {
        serde_json::json!({
            "schema_version": 1,
            "scenarios": self.rows,
            "totals": Sum::of(&self.rows),
            "entry_points_without_cells": self.without_cells,
            "seconds": self.seconds,
            "processor_seconds": self.processor_seconds,
        })
    }

    /// The page with these figures in it.
    fn page(&self, text: &str) -> Result<String, Failure> {
        let (before, rest) = text.split_once(BEGIN).ok_or_else(no_place)?;
        let (_, after) = rest.split_once(END).ok_or_else(no_place)?;
        let head = "| scenario | operations | calm | dead | lost | late | paused |\n\
                    |---|---|---|---|---|---|---|\n";
        let line = |name: &str, operations: usize, cells: Cells| {
            let columns = cells.stable().map(|count| format!(" {count} |")).concat();
            format!("| {name} | {operations} |{columns}\n")
        };
        let rows = self.rows.iter();
        let rows: String = rows
            .map(|row| line(&format!("`{}`", row.scenario), row.operations, row.cells))
            .collect();
        let sum = Sum::of(&self.rows);
        let total = line("all", sum.operations, sum.cells);
        Ok(format!("{before}{BEGIN}\n{head}{rows}{total}\n{END}{after}"))
    }

    fn verdict(&self) -> Result<(), Failure> {
        let faults = Sum::of(&self.rows).failures + self.without_cells.iter().flatten().count();
        if faults == 0 { Ok(()) } else { Err(Failure::Found { check: "crash-matrix", faults }) }
    }
}

fn no_place() -> Failure {
    Failure::Claim(format!("{PAGE} has no place for the figures"))
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(scenario: &str, entries: &[&str]) -> Row {
        Row {
            scenario: scenario.to_owned(),
            entries: entries.iter().map(ToString::to_string).collect(),
            operations: 2,
            cells: Cells { calm: 1, dead: 2, lost: 2, late: 2, paused: 2, recovery: 0 },
            aftermaths: 3,
            memoised: 0,
            failures: Vec::new(),
            seconds: 0.5,
        }
    }

    fn report(rows: Vec<Row>) -> Report {
        Report { rows, without_cells: None, seconds: 1.0, processor_seconds: None }
    }

    #[test]
    fn an_entry_point_of_the_audit_without_a_row_is_named() {
        let rows = [row("load/a", &["Graph::load", "graphwrite load"])];
        let missing = without_cells(&rows);
        assert!(missing.contains(&"Graph::mutate") && !missing.contains(&"Graph::load"));
        assert_eq!(missing.len(), ENTRY_POINTS.len() - 2);
        let report = Report { without_cells: Some(missing), ..report(Vec::new()) };
        assert!(report.verdict().is_err());
    }

    #[test]
    fn a_failed_cell_fails_the_command() {
        let failed = Failed { cell: "load/a/x/dead".to_owned(), why: "torn".to_owned() };
        let failing = Row { failures: vec![failed], ..row("load/a", &["Graph::load"]) };
        assert!(report(vec![row("load/b", &["Graph::load"])]).verdict().is_ok());
        assert!(report(vec![failing]).verdict().is_err());
    }

    #[test]
    fn rows_of_one_entry_point_are_summed() {
        let rows = vec![row("load/a", &["Graph::load"]), row("load/b", &["Graph::load"])];
        let sums = report(rows).by_entry();
        let sum = &sums["Graph::load"];
        assert_eq!((sum.scenarios, sum.operations, sum.cells.total()), (2, 4, 18));
    }

    #[test]
    fn the_figures_go_between_the_marks_of_the_page() {
        let text = format!("before\n{BEGIN}old\n{END}\nafter\n");
        let page = report(vec![row("load/a", &["Graph::load"])]).page(&text).expect("a page");
        assert!(page.starts_with("before\n") && page.ends_with("\nafter\n"));
        assert!(page.contains("| `load/a` | 2 | 1 | 2 | 2 | 2 | 2 |\n"));
        assert!(!page.contains("old"));
        assert!(report(Vec::new()).page("no marks").is_err());
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        let parse = |words: &str| Options::parse(&words.split(' ').collect::<Vec<_>>());
        assert!(parse("--entry Graph::load --full --json").is_ok());
        assert!(parse("--cell a/b/c/dead").is_ok_and(|it| !it.is_whole()));
        for words in ["--cell", "--cell a --full", "--page --entry a", "--page --full", "--what"] {
            assert!(parse(words).is_err(), "{words}");
        }
    }
}
