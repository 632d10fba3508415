//! The tool on a real graph in a temporary directory: what each command answers and how it exits.

use std::io;

use serde_json::Value;

use super::world::{Fails, World};
use crate::exit::Exit;

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
fn a_shell_that_takes_no_completions_is_told_apart_from_one_that_left() {
    let world = World::new();
    let (exit, errors) =
        world.run_into("completions fish", "", &mut Fails(io::ErrorKind::StorageFull));
    assert_eq!(exit, Exit::Storage, "{errors}");
    let (exit, errors) =
        world.run_into("completions fish", "", &mut Fails(io::ErrorKind::BrokenPipe));
    assert_eq!((exit, errors.as_str()), (Exit::Done, ""));
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
fn an_operation_is_asked_about_by_its_id_alone() {
    let world = World::new();
    let load = "load {g} --data {d}/rows.jsonl --operation-id once --json";
    let ask = "outcome {g} once --json";
    let unknown = world.run(ask);
    assert_eq!((unknown.exit, &unknown.json()["outcome"]), (Exit::Negative, &"unknown".into()));
    let first = world.run(load).done().json();
    for line in [ask, "outcome {g} once --branch main --seal --json"] {
        let landed = world.run(line).done().json();
        assert_eq!((&landed["outcome"], &landed["final"]), (&"committed".into(), &true.into()));
        assert_eq!(landed["receipt"]["commit_id"], first["commit_id"]);
        assert_eq!(landed["receipt"]["tables"], first["tables"]);
    }
    let elsewhere = world.run("outcome {g} once --branch other --json");
    assert_eq!(elsewhere.exit, Exit::Refused);
    assert_eq!(elsewhere.error()["code"], "no_such_branch");
}

#[test]
fn a_sealed_operation_is_refused_for_good() {
    let world = World::new();
    let sealed = world.run("outcome {g} once --seal --json");
    assert_eq!((sealed.exit, &sealed.json()["outcome"]), (Exit::Negative, &"aborted".into()));
    assert_eq!(sealed.json()["final"], true);
    let again = world.run("outcome {g} once --json");
    assert_eq!((again.exit, again.json()), (Exit::Negative, sealed.json()));
    let refused = world.run("load {g} --data {d}/rows.jsonl --operation-id once --json");
    let error = refused.error();
    assert_eq!((refused.exit, &error["code"]), (Exit::Conflict, &"operation_sealed".into()));
    assert_eq!((&error["effect"], &error["may_retry"]), (&"none".into(), &false.into()));
    world.run("load {g} --data {d}/rows.jsonl --operation-id twice").done();
    assert_eq!(world.run("verify {g} --json").done().json()["commits"], 1);
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
fn the_rows_of_an_earlier_commit_are_exported_and_compared() {
    let world = World::loaded();
    let head = |world: &World| world.run("status {g} --json").done().json()["head"].clone();
    let first = head(&world);
    let first = first.as_str().unwrap();
    let before = world.run("export {g}").done().output;
    let rows = "{\"type\":\"Person\",\"data\":{\"slug\":\"ada\",\"age\":37}}\n\
                {\"type\":\"Person\",\"data\":{\"slug\":\"cyd\"}}\n";
    world.feed("load {g} --data - --mode upsert", rows).done();
    assert_eq!(world.run(&format!("export {{g}} --at {first}")).done().output, before);
    assert_ne!(world.run("export {g}").done().output, before);
    let line = format!("commit diff {{g}} {first} --keys 5 --json");
    let diff = world.run(&line).done().json();
    let person = &diff["tables"][0];
    assert_eq!((&person["table"], &person["added"]), (&"Person".into(), &1.into()));
    assert_eq!((&person["changed"], &person["removed"]), (&1.into(), &0.into()));
    assert_eq!(person["added_keys"][0], "cyd");
    assert_eq!(person["changed_keys"][0], "ada");
    let newest = head(&world);
    let none = world.run(&format!("commit diff {{g}} none {} --json", newest.as_str().unwrap()));
    assert_eq!(none.done().json()["tables"].as_array().unwrap().len(), 2);
    let same = world.run(&format!("commit diff {{g}} {0} {0} --json", newest.as_str().unwrap()));
    assert_eq!(same.done().json()["tables"].as_array().unwrap().len(), 0);
}

#[test]
fn seals_are_audited() {
    let world = World::loaded();
    assert!(world.run("audit {g} --format plain").done().output.is_empty());
    world.run("outcome {g} first --seal");
    world.run("outcome {g} second --seal");
    let audit = world.run("audit {g} --limit 1 --json").done().json();
    let [entry] = &audit["decisions"].as_array().unwrap()[..] else { panic!("{audit}") };
    assert_eq!((&entry["decision"], &entry["operation_id"]), (&"sealed".into(), &"second".into()));
    assert!(entry["by"].is_string() && entry["at"].is_string());
}

#[test]
fn what_is_not_there_is_a_negative_answer() {
    let world = World::loaded();
    let id = super::samples::commit(1);
    let commit = world.run(&format!("commit show {{g}} {id} --json"));
    assert_eq!((commit.exit, &commit.error()["code"]), (Exit::Negative, &"no_such_commit".into()));
    for command in ["export {g} --at ID --format jsonl", "commit diff {g} ID --json"] {
        let ran = world.run(&command.replace("ID", &id.to_string()));
        assert_eq!(ran.exit, Exit::Negative, "{command}");
        assert_eq!(ran.error()["code"], "no_such_commit", "{command}");
    }
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

/// A record whose bytes nobody can read, named like one of this attempt.
fn damaged_record(world: &World) -> String {
    let attempt = super::samples::attempt(1).to_string();
    let records = world.scratch.path().join("graph/_recovery/main");
    std::fs::create_dir_all(&records).unwrap();
    std::fs::write(records.join(format!("{attempt}.intent")), "{").unwrap();
    attempt
}

#[test]
fn a_record_that_cannot_be_read_is_listed_and_named_by_every_command_about_it() {
    let world = World::loaded();
    let attempt = damaged_record(&world);
    let object = format!("_recovery/main/{attempt}.intent");
    let list = world.run("intent list {g} --json").done().json();
    assert_eq!(list["intents"].as_array().unwrap().len(), 0);
    assert_eq!(list["blocking"][0]["object"], *object);
    assert_eq!(list["blocking"][0]["attempt_id"], *attempt);
    for command in ["show", "explain"] {
        let ran = world.run(&format!("intent {command} {{g}} {attempt} --json"));
        assert_eq!(ran.exit, Exit::Recovery, "{command}");
        let error = ran.error();
        assert_eq!(error["code"], "recovery_blocked", "{command}");
        assert!(error["message"].as_str().unwrap().contains(&object), "{command}");
        assert_eq!(error["help"], list["blocking"][0]["remedy"], "{command}");
    }
}

#[test]
fn an_object_with_a_foreign_name_is_listed() {
    let world = World::loaded();
    let records = world.scratch.path().join("graph/_recovery/main");
    std::fs::create_dir_all(&records).unwrap();
    std::fs::write(records.join("notes.txt"), "").unwrap();
    let list = world.run("intent list {g} --format plain").done().output;
    assert!(list.starts_with("blocking\t_recovery/main/notes.txt\t-\t"), "{list}");
}

#[test]
fn files_of_several_forms_make_one_commit() {
    let world = World::new();
    world.write("Person.csv", "slug,age\nada,36\nbob,\n");
    world.write("links.csv", "from,to\nada,bob\n");
    world.write("more.jsonl", r#"{"edge":"Knows","from":"bob","to":"ada"}"#);
    let ran = world.run(
        "load {g} --data {d}/Person.csv --data {d}/links.csv --data {d}/more.jsonl --table Knows",
    );
    assert_eq!(ran.exit, Exit::Refused, "`--table` is the type of every CSV file");
    let ran = world.run("load {g} --data {d}/Person.csv --data {d}/more.jsonl --json").done();
    assert_eq!(ran.json()["tables"].as_array().unwrap().len(), 2);
    let links = "load {g} --data {d}/links.csv --table Knows --json";
    assert_eq!(world.run(links).done().json()["tables"][0]["inserted"], 1);
    let rows = world.run("export {g}").done().output;
    assert_eq!(rows.lines().count(), 4, "{rows}");
}

#[test]
fn a_fault_in_one_of_several_files_names_the_file() {
    let world = World::new();
    world.write("Person.csv", "slug,age\nada,old\n");
    let ran = world.run("load {g} --data {d}/rows.jsonl --data {d}/Person.csv --json");
    assert_eq!(ran.exit, Exit::Refused);
    let place = ran.error()["details"][0]["place"].as_str().unwrap().to_owned();
    assert!(place.ends_with("Person.csv, line 2"), "{place}");
    let ran = world.run("load {g} --data {d}/Person.csv --json");
    assert_eq!(ran.error()["details"][0]["place"], "line 2");
}

#[test]
fn standard_input_may_be_csv_when_it_is_said() {
    let world = World::new();
    let load = "load {g} --data - --input-format csv --table Person --json";
    let ran = world.feed(load, "slug\nada\n").done();
    assert_eq!(ran.json()["tables"][0]["inserted"], 1);
    let unnamed = world.feed("load {g} --data - --input-format csv --json", "slug\nb\n");
    assert_eq!((unnamed.exit, &unnamed.error()["code"]), (Exit::Refused, &"type_not_named".into()));
    let useless = world.feed("load {g} --data - --table Person --json", "");
    assert_eq!(useless.exit, Exit::Usage);
}

#[test]
fn a_load_beyond_its_memory_needs_a_directory_for_the_rest() {
    let world = World::new();
    let rows: Vec<_> =
        (0..2_000).map(|n| format!(r#"{{"type":"Person","data":{{"slug":"{n}"}}}}"#)).collect();
    world.write("many.jsonl", &rows.join("\n"));
    let load = "load {g} --data {d}/many.jsonl --memory 64KiB --json";
    let ran = world.run(&format!("{load} --temp-dir {{d}}/nowhere"));
    let error = ran.error();
    assert_eq!((ran.exit, &error["code"]), (Exit::Storage, &"temp_storage".into()));
    assert_eq!(error["effect"], "none");
    assert!(error["message"].as_str().unwrap().contains("nowhere"), "{error}");
    let receipt = world.run(&format!("{load} --temp-dir {{d}}")).done().json();
    assert_eq!(receipt["tables"][0]["inserted"], 2_000);
    let left: Vec<_> = std::fs::read_dir(world.scratch.path()).unwrap().collect();
    assert_eq!(left.len(), 4, "schema, rows, more rows, the graph: {left:?}");
}

#[test]
fn every_form_that_is_exported_loads_again_as_the_same() {
    let world = World::loaded();
    let rows = world.run("export {g}").done().output;
    for form in ["csv", "parquet"] {
        let other = World::new();
        for table in ["Person", "Knows"] {
            let file = format!("{}/{table}.{form}", other.scratch.path().display());
            let export = format!("export {{g}} --table {table} --format {form} --output {file}");
            assert!(world.run(&export).done().output.is_empty());
        }
        let load = format!("load {{g}} --data {{d}}/Person.{form} --data {{d}}/Knows.{form}");
        other.run(&load).done();
        assert_eq!(other.run("export {g}").done().output, rows, "{form}");
    }
}

#[test]
fn csv_goes_to_standard_output_with_its_header() {
    let world = World::loaded();
    let ran = world.run("export {g} --table Person --format csv").done();
    assert_eq!(ran.output, "slug,age\nada,36\nbob,\n");
}

#[test]
fn a_form_of_one_type_needs_its_name_and_a_file_is_not_replaced_unasked() {
    let world = World::loaded();
    let unnamed = world.run("export {g} --format csv");
    assert_eq!((unnamed.exit, &unnamed.error()["code"]), (Exit::Usage, &"usage".into()));
    let path = world.write("out.jsonl", "mine");
    let again = world.run("export {g} --output {d}/out.jsonl --format jsonl");
    assert_eq!((again.exit, &again.error()["code"]), (Exit::Refused, &"file_exists".into()));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    world.run("export {g} --output {d}/out.jsonl --force").done();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), world.run("export {g}").done().output);
}

#[test]
fn an_export_beyond_its_memory_has_the_same_order() {
    let world = World::new();
    let rows: Vec<_> = (0..3_000)
        .map(|n| format!(r#"{{"type":"Person","data":{{"slug":"{}"}}}}"#, n * 7 % 3_000))
        .collect();
    world.write("many.jsonl", &rows.join("\n"));
    world.run("load {g} --data {d}/many.jsonl").done();
    let sorted = world.run("export {g}").done().output;
    assert_eq!(world.run("export {g} --memory 64KiB --temp-dir {d}").done().output, sorted);
    let ran = world.run("export {g} --memory 64KiB --temp-dir {d}/nowhere --format jsonl");
    assert_eq!((ran.exit, &ran.error()["code"]), (Exit::Storage, &"temp_storage".into()));
}

#[test]
fn an_operation_on_a_deleted_branch_is_answered_as_that_and_cannot_be_sealed() {
    let world = World::loaded();
    world.write("more.jsonl", r#"{"type":"Person","data":{"slug":"cyd"}}"#);
    world.run("branch create {g} a").done();
    let load = "load {g} --branch a --data {d}/more.jsonl --operation-id once --json";
    let receipt = world.run(load).done().json();
    assert_eq!((&receipt["branch"], &receipt["incarnation"]), (&"a".into(), &1.into()));
    world.run("branch delete {g} a").done();
    let is_gone = |line: &str| {
        let ran = world.run(line);
        assert_eq!(ran.exit, Exit::Negative, "{line}: {}", ran.errors);
        let answer = ran.json();
        assert_eq!(
            (&answer["outcome"], &answer["incarnation"]),
            (&"branch_deleted".into(), &1.into())
        );
        assert_eq!((&answer["final"], &answer["next"]), (&true.into(), &Value::Null));
    };
    is_gone("outcome {g} once --branch a --json");
    let refused = world.run("outcome {g} once --branch a --seal --json");
    assert_eq!(
        (refused.exit, &refused.error()["code"]),
        (Exit::Conflict, &"branch_deleted".into())
    );
    world.run("branch create {g} a").done();
    is_gone("outcome {g} once --branch a --incarnation 1 --json");
    let now = world.run("outcome {g} once --branch a --json").json();
    assert_eq!(now["outcome"], "unknown");
    let never = world.run("outcome {g} once --branch a --incarnation 3 --json");
    assert_eq!((never.exit, &never.error()["code"]), (Exit::Refused, &"no_such_branch".into()));
}
