//! Waiting for another process that may be alive: what the command line says about it is what happens.

use std::sync::Arc;

use async_trait::async_trait;
use graphwrite_coordinator::{
    Durability, Graph, GraphOptions, Hooks, Injected, LoadLimits, LoadMode, LoadRequest,
    ProcessContext, Store, SystemEnv, WaitRules,
};
use graphwrite_protocol_types::{Failpoint, WriteOutcome};

use super::world::World;
use crate::command::{Cli, Command};
use crate::exit::Exit;
use clap::Parser;

/// Stops a load once it is armed.
#[derive(Debug)]
struct Stalls;

#[async_trait]
impl Hooks for Stalls {
    async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
        if self.wants(point) { Err(Injected(point)) } else { Ok(()) }
    }

    fn wants(&self, point: Failpoint) -> bool {
        point == Failpoint::PostArm
    }
}

/// A graph with a load of another process in it that has stalled a moment ago.
fn stalled() -> World {
    let world = World::loaded();
    world.write("more.jsonl", "{\"type\":\"Person\",\"data\":{\"slug\":\"dan\"}}\n");
    let root = world.scratch.path().join("graph").display().to_string();
    let process = ProcessContext::isolated(&SystemEnv::new());
    let options = GraphOptions { process, hooks: Arc::new(Stalls), ..GraphOptions::default() };
    let stalls = async {
        let store = Store::open(&root, Durability::default()).unwrap();
        let graph = Graph::open(store, options).await.unwrap();
        let mut input = graph.input(LoadLimits::default()).await.unwrap();
        input.push_json_line(1, r#"{"type":"Person","data":{"slug":"cyd"}}"#).unwrap();
        let request = LoadRequest::new(input.finish().unwrap(), LoadMode::Append);
        graph.load(request).await.unwrap()
    };
    let outcome = tokio::runtime::Runtime::new().unwrap().block_on(stalls);
    assert!(matches!(outcome, WriteOutcome::OutcomeUnknown(_)), "{outcome:?}");
    world
}

#[test]
fn a_load_waits_no_longer_than_it_is_told_and_closes_an_owner_no_sooner() {
    let world = stalled();
    let ran = world.run("load {g} --data {d}/more.jsonl --contention-wait 0s --json");
    assert_eq!((ran.exit, &ran.error()["code"]), (Exit::Recovery, &"contended".into()));
    let line = "load {g} --data {d}/more.jsonl --contention-wait 0s --fence-after 0s --json";
    let receipt = world.run(line).done().json();
    assert_eq!(receipt["recovered"][0]["action"], "rolled_back", "{receipt}");
}

#[test]
fn an_intent_is_resolved_by_the_same_rules() {
    let world = stalled();
    let ran = world.run("intent resolve {g} --full --contention-wait 0s --json");
    assert_eq!(ran.exit, Exit::Recovery, "{}", ran.errors);
    world.run("intent resolve {g} --full --contention-wait 0s --fence-after 0s").done();
    assert_eq!(world.run("status {g} --json").done().json()["pending_intents"], 0);
}

#[test]
fn what_is_not_said_is_as_in_the_library() {
    let options = |line: &str| {
        let parsed = Cli::try_parse_from(format!("graphwrite load g --data d{line}").split(' '));
        let Command::Load(load) = parsed.unwrap().command else { panic!() };
        load.terms.options(GraphOptions::default().hooks)
    };
    let said = options(" --contention-wait 1m --fence-after 500ms --retries 0");
    assert_eq!((said.waits.contention_wait_ms, said.waits.fence_after_ms), (60_000, 500));
    assert_eq!(said.restarts_max, 0);
    let default = options("");
    assert_eq!(default.waits, WaitRules::default());
    assert_eq!(default.restarts_max, GraphOptions::default().restarts_max);
}
