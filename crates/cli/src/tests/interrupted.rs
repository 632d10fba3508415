//! Loads that stop in the middle, on a real graph: what the tool shows of them, and how they end.

use super::world::World;
use crate::exit::Exit;

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
    let status = world.run("status {g} --json").done().json();
    assert_eq!(status["pending_intents"], 1);
    assert!(status["pending"][0]["age_ms"].is_u64(), "{status}");
    assert_eq!(status["pending_age_ms_max"], status["pending"][0]["age_ms"]);
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
    let ran = world.run(&format!("intent resolve {{g}} {} --roll-forward --json", attempt(&world)));
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

#[test]
fn the_receipt_of_a_load_that_took_back_an_earlier_one_says_so() {
    let world = interrupted("post_effect");
    let attempt = attempt(&world);
    let receipt = world.run("load {g} --data {d}/more.jsonl --json").done().json();
    assert_eq!(receipt["recovered"][0]["attempt_id"], *attempt);
    assert_eq!(receipt["recovered"][0]["action"], "rolled_back");
    assert!(receipt["recovered"][0]["operation_id"].is_string());
}

#[test]
fn a_receipt_of_no_change_names_the_load_that_was_rolled_forward() {
    let world = interrupted("pre_publish");
    let attempt = attempt(&world);
    let load = "load {g} --data {d}/more.jsonl --mode upsert --format plain";
    let receipt = world.run(load).done().output;
    assert!(receipt.contains("outcome\tno_change\n"), "{receipt}");
    assert!(receipt.contains(&format!("\nrecovered\t{attempt}\trolled_forward\t")), "{receipt}");
    let again = world.run(load).done().output;
    assert!(!again.contains("recovered"), "{again}");
}

#[test]
fn the_record_shows_what_a_roll_forward_would_publish() {
    let world = World::loaded();
    let rows = "{\"edge\":\"Knows\",\"from\":\"bob\",\"to\":\"ada\"}\n";
    let load = "load {g} --data - --message why --fault pre_publish:error";
    assert_eq!(world.feed(load, rows).exit, Exit::Unknown);
    let attempt = attempt(&world);
    let show = format!("intent show {{g}} {attempt} --json");
    let record = world.run(&show).done().json();
    assert_eq!((&record["message"], &record["base_manifest_version"]), (&"why".into(), &2.into()));
    let mut members: Vec<_> = record["read_set"].as_array().unwrap().iter().collect();
    members.sort_by_key(|member| member["table"].to_string());
    let tables: Vec<_> = members.iter().map(|it| (&it["table"], &it["access"])).collect();
    assert_eq!(tables[0], (&"Knows".into(), &"written".into()));
    assert_eq!(tables[1], (&"Person".into(), &"probed".into()), "named by the schema");
    assert!(members.iter().all(|member| member["captured"].as_str().unwrap().starts_with("1 ")));
    assert_eq!(record["heads"][0]["head"], record["effects"][0]["planned"][0]);
    world.run("intent resolve {g} --roll-forward").done();
    let commit = record["commit_id"].as_str().unwrap();
    world.run(&format!("commit show {{g}} {commit}")).done();
    assert_eq!(world.run(&show).exit, Exit::Negative);
}
