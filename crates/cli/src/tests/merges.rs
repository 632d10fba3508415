//! Merges on a real graph: every ending in its words and forms, and what is left to do. Ids differ in every
//! run, so a snapshot has a word in their place; how many rows a merge reads is not what is tested here.

use insta::assert_snapshot;

use super::world::{Ran, World};
use crate::exit::Exit;

const P: [&str; 4] = [
    r#"{"type":"Person","data":{"slug":"ada","age":37}}"#,
    r#"{"type":"Person","data":{"slug":"cyd","age":1}}"#,
    r#"{"type":"Person","data":{"slug":"ada","age":38}}"#,
    r#"{"type":"Person","data":{"slug":"dan"}}"#,
];

impl World {
    /// A graph with the branch `b` of it.
    fn forked() -> Self {
        let world = Self::loaded();
        world.run("branch create {g} b").done();
        world
    }

    fn upsert(&self, branch: &str, rows: &[&str]) {
        let line = format!("load {{g}} --data - --mode upsert --branch {branch}");
        self.feed(&line, &rows.join("\n")).done();
    }

    fn mutate(&self, branch: &str, statements: &str) {
        self.feed(&format!("mutate {{g}} --file - --branch {branch}"), statements).done();
    }

    /// Both sides have changed the same rows.
    fn contradicting() -> Self {
        let world = Self::forked();
        let deletion = r#"{"delete":{"type":"Person","key":"bob","cascade":true}}"#;
        world.upsert("b", &[P[0], P[3]]);
        world.mutate("b", &format!("[{deletion}]"));
        world.upsert("main", &[P[2], r#"{"type":"Person","data":{"slug":"bob","age":9}}"#]);
        world
    }

    /// What was written, with words for what differs in every run.
    fn redacted(&self, text: &str) -> String {
        let is_id = |word: &str| {
            word.len() == 26 && word.bytes().all(|c| c.is_ascii_digit() || c.is_ascii_uppercase())
        };
        let mut out = String::new();
        let text = text.replace(&self.scratch.path().display().to_string(), "D");
        for part in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
            let end = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).len();
            let (word, rest) = part.split_at(end);
            out.push_str(if is_id(word) { "ID" } else { word });
            out.push_str(rest);
        }
        let lines = out.lines().filter_map(without_reads);
        lines.map(|line| line.trim_end().to_owned() + "\n").collect()
    }

    fn shown(&self, ran: &Ran) -> String {
        let (exit, errors) = (ran.exit.code(), self.redacted(&ran.errors));
        format!("{}-- errors\n{errors}-- exit {exit}\n", self.redacted(&ran.output))
    }
}

/// A line without its columns of how rows were found; none if it has nothing else.
fn without_reads(line: &str) -> Option<&str> {
    if ["\"route\"", "\"shared_fragments\"", "\"rows_read\""].iter().any(|it| line.contains(it)) {
        return None;
    }
    let columns = ["provenance", "ordered", "route "].iter().filter_map(|it| line.find(it));
    Some(&line[..columns.min().unwrap_or(line.len())])
}

#[test]
fn contradictions_are_on_one_screen_in_every_form() {
    let world = World::contradicting();
    let preview =
        |format| world.run(&format!("merge {{g}} b --into main --preview --format {format}"));
    let forms = ["table", "plain", "json"]
        .map(|format| format!("== {format}\n{}", world.shown(&preview(format))));
    assert_eq!(preview("jsonl").json(), preview("json").json());
    assert_eq!(preview("jsonl").output.lines().count(), 1);
    assert_snapshot!("a_preview_of_contradictions", forms.join("\n"));
    let ran = world.run("merge {g} b --into main --format table");
    assert_snapshot!("a_merge_that_is_refused", world.shown(&ran));
    let one = world.run("merge {g} b --into main --max-conflicts 1 --json");
    assert_eq!((one.exit, &one.error()["code"]), (Exit::Conflict, &"merge_conflict".into()));
    let conflicts = &one.json()["merge"]["conflicts"];
    assert_eq!(
        (&conflicts["total"], &conflicts["listed"].as_array().unwrap().len()),
        (&2.into(), &1)
    );
    assert!(one.json()["next"].to_string().contains("--max-conflicts 2"));
    world.run("merge {g} b --into main --preview --strategy ours").done();
    let decided = world.run("merge {g} b --into main --strategy theirs --format table").done();
    let sentence = "Where both contradict each other, in 2 rows, `b` was followed.";
    assert!(decided.output.contains(sentence), "{}", decided.output);
}

#[test]
fn every_ending_has_its_sentence() {
    let world = World::forked();
    world.upsert("b", &[P[0]]);
    let mut shown = String::new();
    let mut run = |line: &str| {
        let ran = world.run(&format!("merge {{g}} {line} --format table")).done();
        shown.push_str(&format!("== {line}\n{}\n", world.redacted(&ran.output)));
    };
    run("b --into main --preview");
    run("b --into main --operation-id first");
    run("b --into main");
    run("b --into main --preview");
    world.upsert("b", &[P[1]]);
    run("b --into main --operation-id first");
    world.upsert("main", &[P[3]]);
    run("b --into main --delete-source");
    world.run("branch create {g} c").done();
    world.upsert("c", &[P[2]]);
    world.upsert("main", &[P[2]]);
    run("c --into main --preview");
    run("c --into main");
    assert_snapshot!("the_endings_of_merges", shown);
    let log = world.run("commit log {g} --format jsonl").done().output;
    let merge: serde_json::Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&merge["writer"], merge["parents"].as_array().unwrap().len()),
        (&"merge".into(), 2)
    );
    let plain = world.run("commit log {g} --limit 1 --format plain").done().output;
    assert_eq!(plain.trim_end().rsplit('\t').next(), merge["parents"][1].as_str());
    let of_branch = merge["parents"][1].as_str().unwrap();
    let elsewhere = world.run(&format!("commit show {{g}} {of_branch} --json"));
    let error = elsewhere.error();
    assert_eq!((elsewhere.exit, &error["code"]), (Exit::Negative, &"no_such_commit".into()));
    assert!(error["message"].as_str().unwrap().contains("branch `main`"), "{error}");
    assert!(error["help"].as_str().unwrap().contains("--branch"), "{error}");
    world.run(&format!("commit show {{g}} {of_branch} --branch c")).done();
    world.run("verify {g}").done();
}

#[test]
fn constraints_that_both_break_are_listed_and_no_strategy_is_proposed() {
    let world = World::forked();
    world.mutate("b", r#"[{"delete":{"type":"Person","key":"bob","cascade":true}}]"#);
    world.upsert("main", &[P[3], r#"{"edge":"Knows","from":"dan","to":"bob"}"#]);
    let ran = world.run("merge {g} b --into main --format table");
    assert_eq!(ran.exit, Exit::Conflict);
    assert_snapshot!("a_merge_that_breaks_a_constraint", world.shown(&ran));
}

#[test]
fn a_branch_is_deleted_only_with_the_head_that_is_named() {
    let world = World::forked();
    let head = world.run("status {g} --branch b --json").done().json()["head"].clone();
    world.upsert("b", &[P[1]]);
    for old in [head.as_str().unwrap(), "none"] {
        let ran = world.run(&format!("branch delete {{g}} b --expect-head {old} --json"));
        let error = ran.error();
        assert_eq!((ran.exit, &error["code"]), (Exit::Conflict, &"branch_moved".into()), "{error}");
        assert_eq!(error["effect"], "none");
    }
    let head = world.run("status {g} --branch b --json").done().json()["head"].clone();
    let head = head.as_str().unwrap();
    world.run(&format!("branch delete {{g}} b --expect-head {head}")).done();
    assert_eq!(world.run("branch list {g} --format plain").done().output, "main\n");
    assert_eq!(world.run("branch list {g} --all --format plain").done().output, "main\nb\tgone\n");
}

#[test]
fn what_cannot_be_meant_is_a_usage_error_before_anything_is_looked_at() {
    let world = World::new();
    let lines = [
        "b --into b",
        "main --into main --preview",
        "main --into b --delete-source",
        "01JDX1PQ000000000000000401 --into b --delete-source",
    ];
    for line in lines {
        let ran = world.run(&format!("merge {{g}}-not-there {line} --json"));
        assert_eq!((ran.exit, &ran.error()["code"]), (Exit::Usage, &"usage".into()), "{line}");
    }
    let nobody = "01JDX1PQ000000000000000401";
    let refused = [("x --into main", "no_such_branch"), ("main --into x", "no_such_branch")];
    for (line, code) in
        refused.into_iter().chain([(&*format!("{nobody} --into main"), "no_such_commit")])
    {
        let ran = world.run(&format!("merge {{g}} {line} --json"));
        assert_eq!(ran.error()["code"], code, "{line}");
    }
}

/// Parallel edges are told apart by their ids, so that their ends can differ, and nothing else.
#[test]
fn edges_that_differ_in_their_ends_only_are_shown_with_their_ends() {
    let world = World::new();
    let schema = "[node.Person]\nkey = \"slug\"\n[node.Person.properties]\nslug = { type = \"string\" }\n\
                  [edge.Visits]\nfrom = \"Person\"\nto = \"Person\"\nmulti = true\n";
    world.write("multi.toml", schema);
    world.run("init {d}/multi --schema {d}/multi.toml").done();
    let edge = |from: &str| {
        format!(r#"{{"edge":"Visits","from":"{from}","to":"bob","data":{{"id":"v1"}}}}"#)
    };
    let people = r#"{"type":"Person","data":{"slug":"ada"}}
{"type":"Person","data":{"slug":"bob"}}"#;
    world.feed("load {d}/multi --data -", people).done();
    world.run("branch create {d}/multi b").done();
    world.feed("load {d}/multi --data - --branch b", &edge("ada")).done();
    world.feed("load {d}/multi --data -", &edge("bob")).done();
    let ran = world.run("merge {d}/multi b --into main --format plain");
    assert_eq!(ran.exit, Exit::Conflict);
    let shown = "conflict\tVisits\tv1\tdivergent_insert\tfrom\tada\tbob\n";
    assert!(ran.output.contains(shown), "{}", ran.output);
}
