//! A scratch directory with a graph in it: runs the program on the graph, and judges what an operator
//! can see of it.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};

use serde_json::Value;
use tempfile::TempDir;

use super::program::{Paused, Run, command, run};
use crate::judge::RESIDUE;
use crate::world::SCHEMA;

/// A person, as `load` reads it and `export` writes it.
pub(super) fn person(slug: &str, age: u32) -> String {
    format!(r#"{{"type":"Person","data":{{"slug":"{slug}","age":{age}}}}}"#)
}

pub(super) fn company(slug: &str) -> String {
    format!(r#"{{"type":"Company","data":{{"slug":"{slug}"}}}}"#)
}

pub(super) fn knows(from: &str, to: &str) -> String {
    format!(r#"{{"edge":"Knows","from":"{from}","to":"{to}","data":{{}}}}"#)
}

pub(super) fn works_at(person: &str, company: &str) -> String {
    format!(r#"{{"edge":"WorksAt","from":"{person}","to":"{company}","data":{{}}}}"#)
}

/// Rows that a graph may start from: every table but `WorksAt` exists.
pub(super) fn base() -> Vec<String> {
    vec![person("p1", 1), person("p2", 2), company("c1"), knows("p1", "p2")]
}

/// Three tables: two that exist, one that is new.
pub(super) fn addition() -> Vec<String> {
    vec![person("p3", 3), knows("p2", "p3"), works_at("p1", "c1")]
}

/// Other rows of the same three tables.
pub(super) fn other_addition() -> Vec<String> {
    vec![person("p4", 4), knows("p1", "p4"), works_at("p2", "c1")]
}

/// Rows of several loads.
pub(super) fn all(parts: &[Vec<String>]) -> Vec<String> {
    parts.concat()
}

/// A scratch directory and the graph in it.
#[derive(Debug)]
pub(super) struct Site {
    scratch: TempDir,
    graph: PathBuf,
    names: AtomicU32,
    /// Where the graph was copied from; kept for the next one.
    _model: Option<Arc<Site>>,
}

impl Site {
    /// No graph yet.
    pub(super) fn empty() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let graph = scratch.path().join("graph");
        std::fs::write(scratch.path().join("schema.toml"), SCHEMA).unwrap();
        Self { scratch, graph, names: AtomicU32::new(0), _model: None }
    }

    /// A graph without rows.
    pub(super) fn new() -> Self {
        let site = Self::empty();
        site.init().exits(0);
        site
    }

    /// A graph with the rows of [`base`]: a copy of one that was made by the program.
    pub(super) fn with_base() -> Self {
        let model = Self::model();
        let site = Self::empty();
        copy(&model.graph, &site.graph);
        Self { _model: Some(model), ..site }
    }

    /// The graph that the others are copies of. It lives as long as one of them.
    fn model() -> Arc<Self> {
        static MODEL: Mutex<Weak<Site>> = Mutex::new(Weak::new());
        let mut shared = MODEL.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(model) = shared.upgrade() {
            return model;
        }
        let model = Arc::new(Self::new());
        model.load(&base()).exits(0);
        *shared = Arc::downgrade(&model);
        model
    }

    pub(super) fn graph(&self) -> &str {
        self.graph.to_str().unwrap()
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// The graph was moved to `graph`.
    pub(super) fn moved_to(&mut self, graph: PathBuf) {
        self.graph = graph;
    }

    /// A path that was not used before.
    pub(super) fn fresh(&self, what: &str) -> PathBuf {
        self.path(&format!("{what}-{}", self.names.fetch_add(1, Ordering::Relaxed)))
    }

    /// A file with these lines.
    pub(super) fn file(&self, lines: &[String]) -> String {
        let path = self.fresh("rows");
        let mut text = String::new();
        lines.iter().for_each(|line| writeln!(text, "{line}").unwrap());
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(super) fn schema(&self) -> String {
        self.path("schema.toml").to_str().unwrap().to_owned()
    }

    pub(super) fn init(&self) -> Run {
        self.init_with(&[])
    }

    pub(super) fn init_with(&self, more: &[&str]) -> Run {
        let schema = self.schema();
        let args = ["init", self.graph(), "--schema", &schema, "--json"];
        run(&mut command(&[&args[..], more].concat()))
    }

    pub(super) fn load(&self, rows: &[String]) -> Run {
        self.load_with(rows, &[])
    }

    pub(super) fn load_with(&self, rows: &[String], more: &[&str]) -> Run {
        let data = self.file(rows);
        run(&mut command(&self.load_args(&data, more)))
    }

    /// The command line of a load of the file `data`.
    pub(super) fn load_args<'a>(&'a self, data: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        [&["load", self.graph(), "--data", data, "--json"], more].concat()
    }

    /// A load that waits at `point`.
    pub(super) fn paused_load(&self, rows: &[String], point: &str, more: &[&str]) -> Paused {
        let data = self.file(rows);
        Paused::start(&self.load_args(&data, more), point, self.fresh("release"))
    }

    /// A mutation by these statements, a JSON array.
    pub(super) fn mutate(&self, statements: &str) -> Run {
        self.mutate_with(statements, &[])
    }

    pub(super) fn mutate_with(&self, statements: &str, more: &[&str]) -> Run {
        let file = self.file(&[statements.to_owned()]);
        let args = ["mutate", self.graph(), "--file", &file, "--json"];
        run(&mut command(&[&args[..], more].concat()))
    }

    /// A mutation that waits at `point`.
    pub(super) fn paused_mutation(&self, statements: &str, point: &str) -> Paused {
        let file = self.file(&[statements.to_owned()]);
        let args = ["mutate", self.graph(), "--file", &file, "--json"];
        Paused::start(&args, point, self.fresh("release"))
    }

    /// An `init` that waits at `point`.
    pub(super) fn paused_init(&self, point: &str) -> Paused {
        let schema = self.schema();
        let args = ["init", self.graph(), "--schema", &schema, "--json"];
        Paused::start(&args, point, self.fresh("release"))
    }

    /// A command on the graph: its words, then the graph, then what follows it.
    pub(super) fn ask(&self, words: &[&str], more: &[&str]) -> Run {
        run(&mut command(&[words, &[self.graph()], more].concat()))
    }

    /// What `init` or `load` reads from standard input.
    pub(super) fn load_from(&self, input: Stdio, more: &[&str]) -> Run {
        run(command(&self.load_args("-", more)).stdin(input))
    }

    pub(super) fn status(&self) -> Value {
        self.ask(&["status"], &["--json"]).exits(0).json()
    }

    /// The rows of the head, sorted as text.
    pub(super) fn rows(&self) -> Vec<String> {
        let export = self.ask(&["export"], &[]).exits(0);
        sorted(&export.stdout.lines().map(str::to_owned).collect::<Vec<_>>())
    }

    /// The pending intents.
    pub(super) fn intents(&self) -> Vec<Value> {
        let list = self.ask(&["intent", "list"], &["--json"]).exits(0).json();
        list["intents"].as_array().unwrap().clone()
    }

    /// The attempt of the only pending intent.
    pub(super) fn pending_attempt(&self) -> String {
        let intents = self.intents();
        assert_eq!(intents.len(), 1, "{intents:#?}");
        text(&intents[0], "attempt_id")
    }

    /// The operation ids of the history, newest first.
    pub(super) fn operations(&self) -> Vec<String> {
        let log = self.ask(&["commit", "log"], &["--json", "--limit", "1000"]).exits(0).json();
        log["commits"].as_array().unwrap().iter().map(|c| text(c, "operation_id")).collect()
    }

    /// Every file of the graph, by its path below the root.
    pub(super) fn files(&self) -> BTreeSet<PathBuf> {
        let mut files = BTreeSet::new();
        collect(&self.graph, &self.graph, &mut files);
        files
    }

    /// Readers see exactly `rows`, and nothing is wrong. Returns the state of the graph.
    #[track_caller]
    pub(super) fn shows(&self, rows: &[String]) -> Value {
        assert_eq!(self.rows(), sorted(rows));
        let status = self.status();
        assert_eq!(status["rows"], rows.len(), "{status:#}");
        self.verified();
        status
    }

    /// `verify` finds no fault.
    #[track_caller]
    pub(super) fn verified(&self) -> Value {
        let report = self.ask(&["verify"], &["--json"]);
        assert_eq!(report.code(), Some(0), "{report:#?}");
        report.json()
    }

    /// Readers see exactly `rows`, nothing is wrong, nothing is pending, no request counts twice.
    #[track_caller]
    pub(super) fn settled_with(&self, rows: &[String]) -> Value {
        let status = self.shows(rows);
        assert_eq!(status["pending_intents"], 0, "{status:#}");
        let operations = self.operations();
        let distinct: BTreeSet<&String> = operations.iter().collect();
        assert_eq!(distinct.len(), operations.len(), "{operations:#?}");
        status
    }

    /// The same, and `verify` has nothing to note but what attempts that were given up have left: HEAD of
    /// every table is the version that readers see.
    #[track_caller]
    pub(super) fn at_rest_with(&self, rows: &[String]) {
        self.settled_with(rows);
        let report = self.verified();
        let codes = report["findings"].as_array().unwrap().iter().map(|it| text(it, "code"));
        let mut left = codes.filter(|code| !RESIDUE.contains(&code.as_str()));
        assert_eq!(left.next(), None, "{report:#}");
    }
}

/// Copies a directory with all that is in it.
pub(super) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

fn collect(root: &Path, directory: &Path, files: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            files.insert(path.strip_prefix(root).unwrap().to_owned());
        }
    }
}

pub(super) fn sorted(rows: &[String]) -> Vec<String> {
    let mut rows = rows.to_vec();
    rows.sort();
    rows
}

/// A field of a document that is text.
#[track_caller]
pub(super) fn text(document: &Value, field: &str) -> String {
    document[field].as_str().unwrap_or_else(|| panic!("`{field}` in {document:#}")).to_owned()
}
