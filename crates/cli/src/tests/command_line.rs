//! The command line: what parses, what is refused, what the help says.

use std::ffi::OsString;

use clap::{CommandFactory, Parser, ValueEnum};

use crate::command::{Cli, Command, ForkOf, IntentCommand, Mode, Strategy};
use crate::exit::Exit;
use crate::io::{Io, Surroundings};

/// Exit, output, errors.
struct Ran {
    exit: Exit,
    output: String,
    errors: String,
}

fn ran(line: &str) -> Ran {
    let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
    let (mut input, mut output, mut errors) = (std::io::empty(), Vec::new(), Vec::new());
    let mut io = Io {
        input: &mut input,
        output: &mut output,
        errors: &mut errors,
        surroundings: Surroundings::default(),
    };
    let exit = crate::run(args, &mut io);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { exit, output: text(output), errors: text(errors) }
}

fn parsed(line: &str) -> Command {
    Cli::try_parse_from(line.split(' ')).unwrap().command
}

#[test]
fn the_definition_of_the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn a_load_has_safe_defaults() {
    let Command::Load(load) = parsed("graphwrite load g --data rows.jsonl") else { panic!() };
    assert_eq!((load.mode, load.max_errors.get()), (Mode::Append, 10));
    assert!(load.terms.expect_head.is_none() && load.terms.operation_id.is_none());
}

#[test]
fn an_expected_head_is_a_commit_or_none_at_all() {
    let head = |text: &str| {
        let line = format!("graphwrite load g --data d --expect-head {text}");
        let Command::Load(load) = parsed(&line) else { panic!() };
        load.terms.expect_head.unwrap().0
    };
    assert_eq!(head("none"), None);
    let commit = super::samples::commit(1);
    assert_eq!(head(&commit.to_string()), Some(commit));
}

#[test]
fn what_is_merged_is_a_branch_or_a_commit_and_nothing_is_decided_by_default() {
    let merge = |source: &str| {
        let Command::Merge(merge) = parsed(&format!("graphwrite merge g {source} --into a/b"))
        else {
            panic!()
        };
        merge
    };
    let commit = super::samples::commit(1);
    assert_eq!(merge(&commit.to_string()).source, ForkOf::Commit(commit));
    let of_branch = merge("main");
    assert_eq!(of_branch.source, ForkOf::Branch("main".parse().unwrap()));
    assert_eq!((of_branch.strategy, of_branch.into.to_string()), (Strategy::Fail, "a/b".into()));
    assert!(!of_branch.preview && !of_branch.delete_source);
}

#[test]
fn resolve_needs_exactly_one_mode() {
    let resolve = |flags: &str| {
        let line = format!("graphwrite intent resolve g{flags}");
        Cli::try_parse_from(line.split(' ')).map(|cli| cli.command)
    };
    assert!(resolve("").is_err());
    assert!(resolve(" --full --roll-forward").is_err());
    let Ok(Command::Intent(IntentCommand::Resolve(full))) =
        resolve(&format!(" {} --full --owner-is-dead", super::samples::attempt(1)))
    else {
        panic!()
    };
    assert!(full.how.full && !full.how.roll_forward && full.owner_is_dead);
    assert_eq!(full.attempt, Some(super::samples::attempt(1)));
    assert!(resolve(" --full --owner-is-dead").is_err(), "a word about an owner names the attempt");
    assert!(resolve(" --full").is_ok());
}

#[test]
fn what_cannot_be_parsed_is_a_usage_error_and_says_so_on_the_error_stream_only() {
    let lines = [
        "graphwrite",
        "graphwrite nonsense",
        "graphwrite init  --schema s",
        "graphwrite status ",
        "graphwrite load g",
        "graphwrite load g --data d --nonsense",
        "graphwrite load g --data d --mode merge",
        "graphwrite load g --data d --expect-head nonsense",
        "graphwrite load g --data d --max-errors 0",
        "graphwrite status g --json --format plain",
        "graphwrite export g --format csv",
        "graphwrite export g --json",
        "graphwrite commit show g nonsense",
        "graphwrite intent explain g",
        "graphwrite outcome g",
        "graphwrite commit diff g",
        "graphwrite commit diff g none none",
        "graphwrite export g --at none",
        "graphwrite audit g --limit 0",
        "graphwrite merge g a",
        "graphwrite merge g --into main",
        "graphwrite merge g a --into main --branch b",
        "graphwrite merge g a --into main --strategy both",
        "graphwrite merge g a --into main --preview --delete-source",
        "graphwrite merge g a --into main --preview --expect-head none",
        "graphwrite merge g a --into 01JDX1PQ000000000000000401",
        "graphwrite merge g _a --into main",
        "graphwrite branch delete g a --expect-head nonsense",
    ];
    for line in lines {
        let ran = ran(line);
        assert_eq!(ran.exit, Exit::Usage, "{line}");
        assert!(ran.output.is_empty() && !ran.errors.is_empty(), "{line}");
    }
}

#[test]
fn a_usage_error_is_json_where_json_was_asked_for() {
    let ran = ran("graphwrite status --json --nonsense");
    assert_eq!(ran.exit, Exit::Usage);
    let error: serde_json::Value = serde_json::from_str(&ran.errors).unwrap();
    assert_eq!((error["kind"].as_str(), error["code"].as_str()), (Some("usage"), Some("usage")));
}

#[test]
fn help_is_a_result_and_lists_every_exit_code() {
    let ran = ran("graphwrite --help");
    assert_eq!(ran.exit, Exit::Done);
    assert!(ran.errors.is_empty());
    for exit in Exit::ALL {
        assert!(ran.output.contains(exit.meaning()), "{exit:?}");
    }
}

#[test]
fn the_help_names_the_commands_that_exist() {
    let command = Cli::command();
    let names: Vec<_> = command.get_subcommands().map(|sub| sub.get_name()).collect();
    let all = [
        "init",
        "load",
        "mutate",
        "merge",
        "export",
        "status",
        "commit",
        "branch",
        "intent",
        "audit",
        "outcome",
        "verify",
        "version",
        "completions",
    ];
    assert_eq!(names, all);
}

fn names_below(command: &clap::Command) -> Vec<String> {
    let below = command.get_subcommands();
    below.flat_map(|sub| [vec![sub.get_name().to_owned()], names_below(sub)].concat()).collect()
}

#[test]
fn every_shell_is_told_every_command_on_standard_output() {
    let names = names_below(&Cli::command());
    assert!(names.len() > 12, "{names:?}");
    for shell in clap_complete::Shell::value_variants() {
        let ran = ran(&format!("graphwrite completions {shell}"));
        assert_eq!((ran.exit, ran.errors.as_str()), (Exit::Done, ""), "{shell}");
        for name in &names {
            assert!(ran.output.contains(name), "{shell}: {name}");
        }
        assert!(ran.output.contains("expect-head"), "{shell}: options are completed too");
    }
}

#[test]
fn an_unknown_shell_is_a_usage_error_that_lists_the_known_ones() {
    let ran = ran("graphwrite completions csh");
    assert_eq!(ran.exit, Exit::Usage);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(ran.errors.contains(shell), "{}", ran.errors);
    }
}

#[test]
#[cfg(not(feature = "failpoints"))]
fn faults_do_not_exist_in_a_production_build() {
    assert!(!ran("graphwrite load --help").output.contains("--fault"));
    assert_eq!(ran("graphwrite load g --data d --fault post_arm:abort").exit, Exit::Usage);
}

#[test]
#[cfg(feature = "failpoints")]
fn faults_can_be_given_several_times() {
    let line = "graphwrite load g --data d --fault post_arm:pause --fault post_effect@2:abort \
                --fault-release r";
    let Command::Load(load) = parsed(line) else { panic!() };
    assert_eq!(load.terms.faults.faults.len(), 2);
}

#[test]
fn the_version_is_machine_readable() {
    let ran = ran("graphwrite version --json");
    assert_eq!(ran.exit, Exit::Done);
    let version: serde_json::Value = serde_json::from_str(&ran.output).unwrap();
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn a_graph_that_is_not_there_is_refused_by_every_command_that_needs_one() {
    let scratch = tempfile::tempdir().unwrap();
    let graph = scratch.path().join("gone").display().to_string();
    let data = scratch.path().join("rows.jsonl");
    std::fs::write(&data, "").unwrap();
    let id = super::samples::attempt(1);
    let commands = [
        format!("load {graph} --data {}", data.display()),
        format!("export {graph}"),
        format!("merge {graph} a --into main"),
        format!("merge {graph} a --into main --preview"),
        format!("status {graph}"),
        format!("verify {graph}"),
        format!("commit log {graph}"),
        format!("commit show {graph} {id}"),
        format!("intent list {graph}"),
        format!("intent show {graph} {id}"),
        format!("intent explain {graph} {id}"),
        format!("intent resolve {graph} --full"),
        format!("commit diff {graph} none"),
        format!("audit {graph}"),
        format!("outcome {graph} nightly"),
        format!("outcome {graph} nightly --seal"),
    ];
    for command in commands {
        let ran = ran(&format!("graphwrite {command}"));
        assert_eq!(ran.exit, Exit::Refused, "{command}: {}", ran.errors);
        assert!(ran.errors.contains("graph_not_found"), "{command}: {}", ran.errors);
        assert!(ran.output.is_empty(), "{command}");
    }
    assert!(!std::path::Path::new(&graph).exists());
}

/// Every line of the manual that is a command must parse.
#[test]
fn the_manual_shows_commands_that_parse() {
    let manual = include_str!("../../../../docs/operations.md");
    let examples: Vec<_> = manual.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert!(examples.len() > 10, "the manual has examples");
    for example in examples {
        let command = example.split(['|', '>', '#']).next().unwrap_or_default();
        let parsed = Cli::try_parse_from(command.split_whitespace());
        if let Err(error) = parsed {
            panic!("{example}: {error}");
        }
    }
}
