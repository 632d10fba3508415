//! The tool on a real graph in a temporary directory: what each command answers and how it exits.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::Value;

use crate::exit::Exit;
use crate::io::{Io, Surroundings};

const SCHEMA: &str = r#"
[node.Person]
key = "slug"
[node.Person.properties]
slug = { type = "string" }
age = { type = "i32", nullable = true }
[edge.Knows]
from = "Person"
to = "Person"
"#;

const ROWS: &str = r#"{"type":"Person","data":{"slug":"bob"}}
{"type":"Person","data":{"slug":"ada","age":36}}
{"edge":"Knows","from":"ada","to":"bob"}
"#;

/// A scratch directory with a schema, rows and, after `new`, a graph.
struct World {
    scratch: tempfile::TempDir,
}

/// What one run gave.
struct Ran {
    exit: Exit,
    output: String,
    errors: String,
}

impl Ran {
    fn json(&self) -> Value {
        serde_json::from_str(&self.output).unwrap_or_else(|_| panic!("{}", self.errors))
    }

    fn error(&self) -> Value {
        serde_json::from_str(self.errors.lines().last().unwrap()).unwrap()
    }

    fn done(self) -> Self {
        assert_eq!(self.exit, Exit::Done, "{}", self.errors);
        self
    }
}

impl World {
    fn new() -> Self {
        let world = Self { scratch: tempfile::tempdir().unwrap() };
        world.write("schema.toml", SCHEMA);
        world.write("rows.jsonl", ROWS);
        world.run("init {g} --schema {d}/schema.toml").done();
        world
    }

    fn loaded() -> Self {
        let world = Self::new();
        world.run("load {g} --data {d}/rows.jsonl").done();
        world
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.scratch.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// `{g}` stands for the graph and `{d}` for the directory.
    fn args(&self, line: &str) -> Vec<OsString> {
        let directory = self.scratch.path().display().to_string();
        let line = line.replace("{g}", "{d}/graph").replace("{d}", &directory);
        ["graphwrite"].into_iter().chain(line.split(' ')).map(OsString::from).collect()
    }

    fn run(&self, line: &str) -> Ran {
        self.feed(line, "")
    }

    fn feed(&self, line: &str, input: &str) -> Ran {
        let mut output = Vec::new();
        let (exit, errors) = self.run_into(line, input, &mut output);
        Ran { exit, output: String::from_utf8(output).unwrap(), errors }
    }

    fn run_into(&self, line: &str, input: &str, output: &mut (dyn Write + Send)) -> (Exit, String) {
        let (mut errors, mut input) = (Vec::new(), input.as_bytes());
        let surroundings = Surroundings::default();
        let mut io = Io { input: &mut input, output, errors: &mut errors, surroundings };
        let exit = crate::run(self.args(line), &mut io);
        (exit, String::from_utf8(errors).unwrap())
    }
}

/// An output that fails with an error of this kind.
struct Fails(io::ErrorKind);

impl Write for Fails {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(self.0.into())
    }
}

#[test]
fn a_receipt_names_operation_commit_branch_and_rows() {
    let world = World::new();
    let ran = world.run("load {g} --data {d}/rows.jsonl --operation-id first --json").done();
    let receipt = ran.json();
    assert_eq!(receipt["outcome"], "committed");
    assert_eq!((&receipt["operation_id"], &receipt["branch"]), (&"first".into(), &"main".into()));
    assert!(receipt["commit_id"].is_string());
    assert_eq!(receipt["tables"][0]["name"], "Knows");
    assert_eq!(receipt["tables"][1]["inserted"], 2);
    assert!(ran.errors.is_empty());
}

#[test]
fn the_same_file_again_is_a_key_conflict_that_names_line_and_key() {
    let world = World::loaded();
    let ran = world.run("load {g} --data {d}/rows.jsonl --json");
    assert_eq!(ran.exit, Exit::Conflict);
    let error = ran.error();
    assert_eq!((&error["code"], &error["effect"]), (&"key_conflict".into(), &"none".into()));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("line ") && message.contains('`'), "{message}");
    assert!(ran.output.is_empty());
}

#[test]
fn the_same_file_as_upsert_changes_nothing_and_makes_no_commit() {
    let world = World::loaded();
    let log = |world: &World| world.run("commit log {g} --json").done().json();
    let before = log(&world);
    let ran = world.run("load {g} --data {d}/rows.jsonl --mode upsert --json").done();
    assert_eq!(ran.json()["outcome"], "no_change");
    assert_eq!(log(&world), before);
}

#[test]
fn rows_come_back_in_a_stable_order_and_load_again_as_the_same() {
    let world = World::loaded();
    let first = world.run("export {g}").done().output;
    let kinds: Vec<_> = first.lines().map(|line| line.contains("\"ada\"")).collect();
    assert_eq!(kinds, [true, false, true], "nodes by key, then edges: {first}");
    let other = World::new();
    other.feed("load {g} --data -", &first).done();
    assert_eq!(other.run("export {g}").done().output, first);
}

#[test]
fn one_table_can_be_exported_and_an_unknown_one_is_refused() {
    let world = World::loaded();
    assert_eq!(world.run("export {g} --table Knows").done().output.lines().count(), 1);
    let ran = world.run("export {g} --table Nobody --format jsonl");
    assert_eq!((ran.exit, &ran.error()["code"]), (Exit::Refused, &"no_such_type".into()));
}

#[test]
fn bad_rows_are_listed_and_change_nothing() {
    let world = World::loaded();
    let before = world.run("export {g}").output;
    let rows = "{\"type\":\"Person\",\"data\":{\"slug\":\"cyd\",\"age\":\"old\"}}\n\
                {\"type\":\"Person\",\"data\":{}}\n{\"edge\":\"Knows\",\"from\":\"x\"}\n";
    let ran = world.feed("load {g} --data - --max-errors 2 --json", rows);
    assert_eq!(ran.exit, Exit::Refused);
    let error = ran.error();
    assert_eq!(error["details"].as_array().unwrap().len(), 2);
    assert_eq!(error["details"][0]["place"], "line 1");
    assert_eq!(error["details"][0]["field"], "Person.age");
    assert_eq!(error["details"][0]["rule"], "type");
    assert_eq!(world.run("export {g}").output, before);
}

#[test]
fn an_edge_to_nobody_is_refused_with_its_line() {
    let world = World::loaded();
    let row = "{\"edge\":\"Knows\",\"from\":\"ada\",\"to\":\"nobody\"}\n";
    let ran = world.feed("load {g} --data - --json", row);
    assert_eq!(ran.exit, Exit::Refused);
    assert_eq!(ran.error()["details"][0]["rule"], "endpoint");
    assert_eq!(ran.error()["details"][0]["place"], "line 1");
}

#[test]
fn a_head_that_is_not_the_expected_one_is_a_conflict() {
    let world = World::loaded();
    let row = "{\"type\":\"Person\",\"data\":{\"slug\":\"cyd\"}}\n";
    let ran = world.feed("load {g} --data - --expect-head none --json", row);
    assert_eq!((ran.exit, &ran.error()["code"]), (Exit::Conflict, &"expected_head".into()));
    let head = world.run("status {g} --json").done().json()["head"].clone();
    let line = format!("load {{g}} --data - --expect-head {}", head.as_str().unwrap());
    world.feed(&line, row).done();
}

#[test]
fn an_operation_is_applied_once_and_its_id_is_not_taken_for_other_rows() {
    let world = World::new();
    let load = "load {g} --data {d}/rows.jsonl --operation-id once --json";
    let first = world.run(load).done().json();
    let again = world.run(load).done().json();
    assert_eq!(first["commit_id"], again["commit_id"]);
    let row = "{\"type\":\"Person\",\"data\":{\"slug\":\"cyd\"}}\n";
    let other = world.feed("load {g} --data - --operation-id once --json", row);
    assert_eq!((other.exit, &other.error()["code"]), (Exit::Conflict, &"operation_reused".into()));
    assert_eq!(other.error()["operation_id"], "once");
}

#[test]
fn history_shows_who_and_why() {
    let world = World::new();
    world.run("load {g} --data {d}/rows.jsonl --actor ada --message nightly").done();
    let commit = world.run("commit log {g} --format jsonl").done().json();
    assert_eq!((&commit["actor"], &commit["message"]), (&"ada".into(), &"nightly".into()));
    let id = commit["commit_id"].as_str().unwrap();
    let shown = world.run(&format!("commit show {{g}} {id} --json")).done().json();
    assert_eq!(shown, commit);
}

#[test]
fn what_is_not_there_is_a_negative_answer() {
    let world = World::loaded();
    let id = super::samples::commit(1);
    let commit = world.run(&format!("commit show {{g}} {id} --json"));
    assert_eq!((commit.exit, &commit.error()["code"]), (Exit::Negative, &"no_such_commit".into()));
    for command in ["show {g} ID", "explain {g} ID", "resolve {g} ID --full"] {
        let line = format!("intent {} --json", command.replace("ID", &id.to_string()));
        let intent = world.run(&line);
        assert_eq!(intent.exit, Exit::Negative, "{line}");
        assert_eq!(intent.error()["code"], "no_such_intent", "{line}");
    }
}

#[test]
fn a_healthy_graph_verifies_and_has_nothing_pending() {
    let world = World::loaded();
    assert_eq!(world.run("verify {g} --json").done().json()["clean"], true);
    assert!(world.run("intent list {g} --format plain").done().output.is_empty());
    let resolved = world.run("intent resolve {g} --full --json").done().json();
    assert_eq!((&resolved["resolved"], &resolved["pending"]), (&0.into(), &0.into()));
}

#[test]
fn verify_finds_a_lost_table_and_answers_no() {
    let world = World::loaded();
    let tables = world.scratch.path().join("graph/tables");
    let lost = std::fs::read_dir(&tables).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_dir_all(lost).unwrap();
    let ran = world.run("verify {g} --json");
    assert_eq!(ran.exit, Exit::Negative, "{}", ran.errors);
    assert_eq!(ran.json()["clean"], false);
    assert!(ran.json()["next"].is_string());
}

#[test]
fn a_second_init_is_refused_and_leaves_the_graph_alone() {
    let world = World::loaded();
    let ran = world.run("init {g} --schema {d}/schema.toml --json");
    assert_eq!((ran.exit, &ran.error()["code"]), (Exit::Refused, &"graph_exists".into()));
    assert_eq!(world.run("export {g}").done().output.lines().count(), 3);
}

#[test]
fn a_directory_that_is_no_graph_is_refused() {
    let world = World::new();
    let ran = world.run("status {d} --json");
    assert_eq!((ran.exit, &ran.error()["code"]), (Exit::Refused, &"not_a_graph".into()));
}

#[test]
fn a_schema_that_breaks_a_rule_creates_nothing() {
    let world = World::new();
    world.write(
        "bad.toml",
        "[node.A]\nkey = \"gone\"\n[node.A.properties]\nk = { type = \"i32\" }\n",
    );
    let ran = world.run("init {d}/other --schema {d}/bad.toml --json");
    assert_eq!((ran.exit, &ran.error()["code"]), (Exit::Refused, &"invalid_schema".into()));
    assert!(!world.scratch.path().join("other").exists());
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let world = World::loaded();
    let mut gone = Fails(io::ErrorKind::BrokenPipe);
    let (exit, errors) = world.run_into("export {g}", "", &mut gone);
    assert_eq!((exit, &*errors), (Exit::Done, ""));
}

#[test]
fn a_receipt_that_cannot_be_written_is_told_from_a_write_that_did_not_happen() {
    let world = World::new();
    let mut full = Fails(io::ErrorKind::StorageFull);
    let (exit, errors) = world.run_into("load {g} --data {d}/rows.jsonl --json", "", &mut full);
    assert_eq!(exit, Exit::Storage);
    let error: Value = serde_json::from_str(&errors).unwrap();
    assert_eq!(error["effect"], "committed");
    assert_eq!(world.run("export {g}").done().output.lines().count(), 3);
}

#[cfg(feature = "failpoints")]
mod faults {
    use super::*;

    /// The `error` at this failpoint leaves the load in the middle.
    fn interrupted(point: &str) -> World {
        let world = World::loaded();
        let rows = "{\"type\":\"Person\",\"data\":{\"slug\":\"cyd\"}}\n\
                    {\"edge\":\"Knows\",\"from\":\"cyd\",\"to\":\"bob\"}\n";
        world.write("more.jsonl", rows);
        let line = format!("load {{g}} --data {{d}}/more.jsonl --fault {point}:error --json");
        let ran = world.run(&line);
        assert_eq!((ran.exit, &ran.error()["effect"]), (Exit::Unknown, &"unknown".into()));
        world
    }

    fn attempt(world: &World) -> String {
        let list = world.run("intent list {g} --json").done().json();
        list["intents"][0]["attempt_id"].as_str().unwrap().to_owned()
    }

    #[test]
    fn an_interrupted_load_is_explained_without_being_touched() {
        let world = interrupted("post_effect");
        let line = format!("intent explain {{g}} {} --json", attempt(&world));
        let explained = world.run(&line).done().json();
        assert_eq!(explained["effects"].as_array().unwrap().len(), 2);
        for effect in explained["effects"].as_array().unwrap() {
            assert!(!effect["evidence"].as_str().unwrap().is_empty());
        }
        assert!(!explained["next_write"].as_array().unwrap().is_empty());
        assert_eq!(world.run(&line).done().json()["decision"], explained["decision"]);
        assert_eq!(world.run("status {g} --json").done().json()["pending_intents"], 1);
    }

    #[test]
    fn rolling_forward_takes_nothing_back_and_says_what_would() {
        let world = interrupted("post_effect");
        let ran = world.run("intent resolve {g} --roll-forward --json");
        assert_eq!(ran.exit, Exit::Recovery);
        assert!(ran.json()["next"].as_str().unwrap().contains("--full"));
        world.run("intent resolve {g} --full").done();
        assert_eq!(world.run("export {g}").done().output.lines().count(), 3);
        assert_eq!(world.run("verify {g} --json").done().json()["clean"], true);
    }

    #[test]
    fn a_complete_load_is_rolled_forward_on_request() {
        let world = interrupted("pre_publish");
        let ran =
            world.run(&format!("intent resolve {{g}} {} --roll-forward --json", attempt(&world)));
        assert_eq!(ran.done().json()["intents"][0]["action"], "rolled_forward");
        assert_eq!(world.run("export {g}").done().output.lines().count(), 5);
    }

    #[test]
    fn the_next_load_heals_and_is_carried_out() {
        let world = interrupted("post_effect");
        world.run("load {g} --data {d}/more.jsonl").done();
        assert_eq!(world.run("export {g}").done().output.lines().count(), 5);
        assert!(world.run("intent list {g} --format plain").done().output.is_empty());
    }
}
