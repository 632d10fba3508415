//! Ways in that the table does not have, and rows that lead nowhere.

use super::*;
use crate::audit::table::Protocol;

const COMMAND: &str = "crates/cli/src/command.rs";
const COMMANDS: &str = "crates/cli/src/commands.rs";

#[test]
fn an_unlisted_way_into_the_library_is_found() {
    in_workspace(|workspace| {
        let texts = [
            "impl Graph { pub async fn shortcut(&self) {} // HERE\n}",
            "impl Graph { pub fn shortcut(&self) -> BoxFuture<'_, ()> { todo() } // HERE\n}",
            "pub async fn shortcut() {} // HERE",
            "pub struct Shortcut; impl std::future::IntoFuture for Shortcut {} // HERE",
            "pub mod inner { impl super::Graph { pub async fn shortcut(&self) {} // HERE\n} }",
        ];
        workspace.finds_each("entry-point", GRAPH, &texts);
    });
}

#[test]
fn an_unlisted_function_of_a_re_exported_type_is_found() {
    in_workspace(|workspace| {
        let text = "impl Store { pub async fn wipe(&self) {} // HERE\n}";
        workspace.finds("entry-point", &[Append("crates/substrate/src/store.rs", text)]);
    });
}

#[test]
fn an_unlisted_function_of_a_type_that_a_signature_shows_is_found() {
    in_workspace(|workspace| {
        let shows =
            "impl Graph { pub fn table(&self) -> graphwrite_substrate::TableHandle { self.t() } }";
        let (found, _) = workspace.planted(ENTRY_POINTS, &[Append(GRAPH, shows)], &[Part::Flows]);
        let rule = "`TableHandle::open` is an entry point";
        assert!(found.iter().any(|it| it.rule == "entry-point" && it.text.starts_with(rule)));
    });
}

#[test]
fn a_public_function_that_acts_without_being_awaited_is_found() {
    in_workspace(|workspace| {
        let text = "impl Graph {
        pub fn shortcut(&self, request: LoadRequest) { // HERE
            let core = std::sync::Arc::clone(&self.core);
            executor::block_on(async move { drop(write(&core, request).await) });
        }
    }";
        workspace.finds("entry-point", &[Append(GRAPH, text)]);
    });
}

#[test]
fn an_unlisted_command_is_found() {
    in_workspace(|workspace| {
        let enums = ["pub(crate) enum Command {", "pub(crate) enum CommitCommand {"];
        for from in enums {
            let to: &'static str = format!("{from} Shortcut, // HERE\n").leak();
            workspace.finds("entry-point", &[Replace(COMMAND, from, to)]);
        }
    });
}

#[test]
fn a_command_that_nothing_carries_out_is_found() {
    in_workspace(|workspace| {
        let row =
            EntryPoint { name: "graphwrite shortcut", protocol: Protocol::ReadOnly, says: "" };
        let variant = Replace(
            COMMAND,
            "pub(crate) enum Command {",
            "pub(crate) enum Command { Shortcut, // HERE\n",
        );
        workspace.finds_with(&listed(row), "no-code", &[variant]);
    });
}

#[test]
fn a_listed_command_that_is_gone_is_found() {
    in_workspace(|workspace| {
        let row = EntryPoint { name: "graphwrite gone", protocol: Protocol::ReadOnly, says: "" };
        let place = "xtask/src/audit/table.rs";
        workspace.finds_in(&listed(row), "entry-point", place, "`graphwrite gone`", &[]);
    });
}

#[test]
fn a_listed_function_that_is_gone_is_found() {
    in_workspace(|workspace| {
        let row = EntryPoint { name: "Graph::gone", protocol: Protocol::ReadOnly, says: "" };
        let place = "xtask/src/audit/table.rs";
        workspace.finds_in(&listed(row), "entry-point", place, "`Graph::gone`", &[]);
    });
}

#[test]
fn a_command_that_writes_through_another_function_is_found() {
    in_workspace(|workspace| {
        let arm = "Command::Status(args) => look::status(&args.graph, style, io).await,";
        let to = "Command::Status(args) => { // HERE
        let graph: graphwrite_coordinator::Graph = look::graph(&args);
        graph.load(args).await }";
        workspace.finds("beyond-protocol", &[Replace(COMMANDS, arm, to)]);
    });
}

#[test]
fn the_tool_that_writes_outside_of_its_commands_is_found() {
    in_workspace(|workspace| {
        let text = "async fn first(graph: &graphwrite_coordinator::Graph, request: LoadRequest) {
        graph.load(request).await; }";
        let from = "    let runtime = runtime()?;";
        let edits = [
            Append(COMMANDS, text),
            Replace(COMMANDS, from, "    let runtime = runtime()?; first(x, y);"),
        ];
        workspace.finds_in(ENTRY_POINTS, "outside-commands", "crates/cli/src", "attempt", &edits);
    });
}
