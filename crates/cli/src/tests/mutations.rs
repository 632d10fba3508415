//! `mutate` on a graph.

use super::world::World;
use crate::exit::Exit;

fn mutate(world: &World, statements: &str) -> super::world::Ran {
    world.write("changes.json", statements);
    world.run("mutate {g} --file {d}/changes.json --json")
}

#[test]
fn statements_of_many_kinds_are_one_commit() {
    let world = World::loaded();
    let ran = mutate(
        &world,
        r#"[{"insert":{"type":"Person","data":{"slug":"cyd"}}},
            {"insert":{"edge":"Knows","from":"cyd","to":"ada"}},
            {"update":{"type":"Person","key":"cyd","set":{"age":7}}},
            {"delete":{"type":"Person","where":"age > 30","cascade":true}}]"#,
    )
    .done();
    let receipt = ran.json();
    assert_eq!(
        (&receipt["outcome"], &receipt["writer"]),
        (&"committed".into(), &"mutation".into())
    );
    let export = world.run("export {g}").done().output;
    assert_eq!(
        export,
        "{\"type\":\"Person\",\"data\":{\"slug\":\"bob\"}}\n\
         {\"type\":\"Person\",\"data\":{\"slug\":\"cyd\",\"age\":7}}\n"
    );
    let log = world.run("commit log {g} --json").done().json();
    assert_eq!(log["commits"].as_array().unwrap().len(), 2);
}

#[test]
fn a_node_that_an_edge_names_is_not_deleted_and_the_statement_is_named() {
    let world = World::loaded();
    let before = world.run("export {g}").output;
    let ran = mutate(&world, r#"[{"delete":{"type":"Person","key":"bob"}}]"#);
    assert_eq!(ran.exit, Exit::Refused);
    let error = ran.error();
    assert_eq!(error["details"][0]["place"], "statement 1");
    assert_eq!(error["details"][0]["rule"], "referenced");
    assert_eq!(error["effect"], "none");
    assert_eq!(world.run("export {g}").output, before);
}

#[test]
fn an_update_of_a_key_that_is_not_there_is_a_conflict() {
    let world = World::loaded();
    let ran = mutate(&world, r#"[{"update":{"type":"Person","key":"nobody","set":{"age":1}}}]"#);
    assert_eq!((ran.exit, &ran.error()["code"]), (Exit::Conflict, &"key_missing".into()));
}

#[test]
fn a_condition_that_cannot_be_read_is_refused_with_its_statement() {
    let world = World::loaded();
    for condition in ["size < 3", "age <", "age + 1"] {
        let statements =
            format!(r#"[{{"delete":{{"type":"Person","where":"{condition}","cascade":true}}}}]"#);
        let ran = mutate(&world, &statements);
        assert_eq!(ran.exit, Exit::Refused, "{condition}");
        assert_eq!(ran.error()["details"][0]["place"], "statement 1", "{condition}");
    }
}

#[test]
fn the_same_operation_is_applied_once() {
    let world = World::loaded();
    world.write("changes.json", r#"[{"insert":{"type":"Person","data":{"slug":"cyd"}}}]"#);
    let line = "mutate {g} --file {d}/changes.json --operation-id once --json";
    let first = world.run(line).done().json();
    let again = world.run(line).done().json();
    assert_eq!(first["commit_id"], again["commit_id"]);
    world.write("changes.json", r#"[{"insert":{"type":"Person","data":{"slug":"dan"}}}]"#);
    let other = world.run(line);
    assert_eq!((other.exit, &other.error()["code"]), (Exit::Conflict, &"operation_reused".into()));
}

#[test]
fn statements_come_from_standard_input_too() {
    let world = World::loaded();
    let statements = r#"[{"upsert":{"type":"Person","data":{"slug":"ada","age":37}}}]"#;
    let ran = world.feed("mutate {g} --file - --json", statements).done();
    assert_eq!(ran.json()["tables"][0]["updated"], 1);
}

#[test]
fn a_file_that_is_no_list_of_statements_is_refused() {
    let world = World::loaded();
    for text in ["", "{}", "[1]", "[{}]", "[{\"drop\":{}}]", "[", "\u{0}"] {
        let ran = mutate(&world, text);
        assert_eq!(ran.exit, Exit::Refused, "{text:?}: {}", ran.errors);
    }
    world.write("latin.json", "");
    std::fs::write(world.scratch.path().join("latin.json"), [b'[', 0xe9, b']']).unwrap();
    let ran = world.run("mutate {g} --file {d}/latin.json --json");
    assert_eq!((ran.exit, &ran.error()["code"]), (Exit::Refused, &"file_unreadable".into()));
}
