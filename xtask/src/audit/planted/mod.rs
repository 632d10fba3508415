//! Planted defects: the sources of this workspace, each time with one way around the protocol put
//! in, and the finding that must come of it. What a plant marks with `HERE` is where it must be found.

mod disguises;
mod entry_points;
mod flows;
mod hidden;
mod registry;
mod substrate;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, OnceLock, mpsc};
use std::thread;

use super::table::{ENTRY_POINTS, EntryPoint};
use super::{ALL, Part};
use crate::finding::Finding;
use crate::process;
use crate::tree::{Source, Tree};

const MARK: &str = "// HERE";

/// One change of one file.
enum Edit {
    /// Text after the end of a file, or a new file.
    Append(&'static str, &'static str),
    /// Text in the place of other text, which must be there.
    Replace(&'static str, &'static str, &'static str),
}

use Edit::{Append, Replace};

/// The sources of the workspace, how much is found in them as they are, and what was found with the
/// plants that several tests share.
struct Workspace(Tree, Option<usize>, BTreeMap<&'static str, Planted>);

/// What was found, and the marked places.
type Planted = (Vec<Finding>, Vec<String>);

type Check = Box<dyn FnOnce(&mut Workspace) + Send>;
type Work = (Check, mpsc::Sender<thread::Result<()>>);

/// Lends the workspace to `check`. It is read once for all tests, in a thread of its own: syntax
/// does not go from one thread to another.
fn in_workspace(check: impl FnOnce(&mut Workspace) + Send + 'static) {
    static WORK: OnceLock<Mutex<mpsc::Sender<Work>>> = OnceLock::new();
    let work = WORK.get_or_init(|| {
        let (sender, receiver) = mpsc::channel::<Work>();
        thread::spawn(move || lend(receiver));
        Mutex::new(sender)
    });
    let (answer, answered) = mpsc::channel();
    work.lock().unwrap().send((Box::new(check), answer)).unwrap();
    if let Err(panic) = answered.recv().unwrap() {
        // What a thread prints while another test runs is not shown.
        panic!("{}", panic.downcast_ref::<String>().map_or("the check failed", String::as_str));
    }
}

fn lend(work: mpsc::Receiver<Work>) {
    let mut workspace = Workspace(
        Tree::read(&process::root()).unwrap().without(crate::audit::MODEL),
        None,
        BTreeMap::new(),
    );
    for (check, answer) in work {
        let ended = catch_unwind(AssertUnwindSafe(|| check(&mut workspace)));
        // The test waits for it.
        let _ = answer.send(ended);
    }
}

impl Workspace {
    /// Asserts that `edits` make a finding of `rule` at each mark.
    fn finds(&mut self, rule: &str, edits: &[Edit]) {
        self.finds_with(ENTRY_POINTS, rule, edits);
    }

    /// The same for each of `texts`, all of them at the end of one file.
    fn finds_each(&mut self, rule: &str, path: &'static str, texts: &[&str]) {
        let text: &'static str = texts.join("\n").leak();
        assert_eq!(text.matches(MARK).count(), texts.len());
        self.finds(rule, &[Append(path, text)]);
    }

    fn finds_with(&mut self, listed: &[EntryPoint], rule: &str, edits: &[Edit]) {
        let (found, marks) = self.planted(listed, edits, &[part_of(rule)]);
        assert!(!marks.is_empty(), "the plant marks no place");
        marks.iter().for_each(|mark| assert_at(&found, rule, mark));
    }

    /// What is found with plants that several tests share: audited once.
    fn shared(
        &mut self,
        key: &'static str,
        part: Part,
        plants: impl FnOnce() -> (Vec<EntryPoint>, Vec<Edit>),
    ) -> &Planted {
        if !self.2.contains_key(key) {
            let (rows, edits) = plants();
            let planted = self.planted(&rows, &edits, &[part]);
            self.2.insert(key, planted);
        }
        &self.2[key]
    }

    /// Asserts that `edits` make a finding of `rule` in `file` whose text has `text`.
    fn finds_in(
        &mut self,
        listed: &[EntryPoint],
        rule: &str,
        file: &str,
        text: &str,
        edits: &[Edit],
    ) {
        let (found, _) = self.planted(listed, edits, &[part_of(rule)]);
        let fits =
            |it: &Finding| it.rule == rule && it.place.starts_with(file) && it.text.contains(text);
        assert!(found.iter().any(fits), "no `{rule}` in {file} about {text} in {}", shown(&found));
    }

    /// Asserts that `edits` change nothing of what is found.
    fn allows(&mut self, listed: &[EntryPoint], edits: &[Edit]) {
        let before = *self.1.get_or_insert_with(|| super::audit(&self.0, ENTRY_POINTS, &ALL).len());
        let (found, _) = self.planted(listed, edits, &ALL);
        assert_eq!(found.len(), before, "{}", shown(&found));
    }

    /// What is found while the edits are in, and the marked places.
    fn planted(&mut self, listed: &[EntryPoint], edits: &[Edit], parts: &[Part]) -> Planted {
        let mut replaced: Vec<(&str, Option<Source>)> = Vec::new();
        for edit in edits {
            let (path, text) = self.edited(edit);
            replaced.push((path, self.0.put(path, text)));
        }
        let marks = replaced.iter().flat_map(|(path, _)| marks(path, &self.text(path))).collect();
        let found = super::audit(&self.0, listed, parts);
        for (path, source) in replaced.into_iter().rev() {
            self.0.put_back(path, source);
        }
        (found, marks)
    }

    fn edited<'a>(&self, edit: &'a Edit) -> (&'a str, String) {
        match edit {
            Append(path, more) => (path, format!("{}\n{more}\n", self.text(path))),
            Replace(path, from, to) => {
                let text = self.text(path);
                assert!(text.contains(from), "{path} has no `{from}`");
                (path, text.replacen(from, to, 1))
            }
        }
    }

    fn text(&self, path: &str) -> String {
        let source = self.0.sources.iter().find(|source| source.path == path);
        source.map(|source| source.text.clone()).unwrap_or_default()
    }
}

fn assert_at(found: &[Finding], rule: &str, mark: &str) {
    let here = |it: &Finding| it.rule == rule && it.place == mark;
    assert!(found.iter().any(here), "no `{rule}` at {mark} in {}", shown(found));
}

/// The part of the audit that finds a rule broken: the rest need not run.
fn part_of(rule: &str) -> Part {
    match rule {
        "acts" | "exemption" | "file-write" | "guarded" | "handle" | "physical-path"
        | "re-export" => Part::Names,
        "adapter" | "effects" | "registry" => Part::Adapters,
        "glob" | "hidden-source" | "implicit-call" | "macro" | "stored" | "task" => Part::Hidden,
        _ => Part::Flows,
    }
}

fn marks(path: &str, text: &str) -> Vec<String> {
    let lines = text.lines().enumerate().filter(|(_, line)| line.contains(MARK));
    lines.map(|(index, _)| format!("{path}:{}", index + 1)).collect()
}

fn shown(findings: &[Finding]) -> String {
    findings.iter().map(|finding| format!("\n  {finding}")).collect()
}

/// The table with one more row.
fn listed(row: EntryPoint) -> Vec<EntryPoint> {
    [ENTRY_POINTS, &[row]].concat()
}

const GRAPH: &str = "crates/coordinator/src/graph.rs";
