//! The build system of the workspace: it checks, tests and shows the project by running cargo and
//! by reading the sources. It knows no type of any crate it builds.

// With the operator tool, the only place that talks to a terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod audit;
mod bench;
mod crash_matrix;
mod demo;
mod failure;
mod finding;
mod layers;
mod memory;
mod model;
mod process;
mod protoc;
#[cfg(test)]
mod scratch;
mod suite;
mod tidy;
mod tree;
mod words;

use std::process::ExitCode;

use failure::Failure;
use process::Workspace;

const HELP: &str = "\
The build system of this workspace. Each command works in a fresh clone, with no other set-up.

usage: cargo xtask <command>

  demo                 a graph written, killed in the middle of a write, and healed by the next one
  demo --branches      two hundred branches, each written, half of them deleted; the graph is clean, and
                       its state is one screen; prints times
  test [--fast]        every check and every test, in order, stopping at the first failure;
                       --fast leaves out clippy and the documentation
  tidy                 the house rules that a program can check (docs/STYLE.md)
  audit-entrypoints [--check] [--format md|json]
                       every way into the library and the tool with its protocol; exits with 1 if
                       there is a way around; --check also compares docs/entrypoints.md
  model [--json]       every interleaving of the protocol in small configurations, and defects that must
                       be found; exits with 1 if one is not, or if docs/model.md has other numbers
  bench --counts [--waves]
                       what the common operations ask of the storage, as docs/costs.md has it: requests,
                       bytes, round trips; --waves lists every request of every round trip instead
  bench --recovery     a thousand attempts of dead owners ended by one recovery: commits, requests,
                       round trips, and time for each
  bench --memory       a million rows loaded in 256 MiB: prints the peak of the process and the seconds
  bench --merge        a hundred rows merged into 10,000, 100,000 and 1,000,000, and a hundred thousand that
                       are new beside a plain append of them: times, requests, peaks
  crash-matrix [--entry <name>] [--full] [--json]
                       every durable operation of every entry point crashed, cut off from its answer,
                       late, and paused; --full also crashes the recoveries of every scenario
  crash-matrix --cell <id>
                       one cell of it again
  crash-matrix --page  its cells counted, not run; the counts go into docs/crash-matrix.md
  cargo <arguments>    cargo itself, with the same protoc (and so the same artifacts) as above
  help                 this text";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            failure.exit_code()
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Failure> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        ["test"] => suite::run(&Workspace::open()?, suite::Scope::Everything),
        ["test", "--fast"] => suite::run(&Workspace::open()?, suite::Scope::Fast),
        ["demo"] => demo::run(&Workspace::open()?),
        ["demo", "--branches"] => demo::branches::run(&Workspace::open()?),
        ["bench", "--memory"] => memory::load(&Workspace::open()?),
        ["bench", "--merge"] => memory::merges(&Workspace::open()?),
        ["tidy"] => tidy::run(&Workspace::open()?),
        ["model"] => model::run(&Workspace::open()?, model::Shown::Rows),
        ["model", "--json"] => model::run(&Workspace::open()?, model::Shown::Json),
        ["audit-entrypoints", rest @ ..] => audit_entrypoints(rest),
        ["bench", "--counts"] => bench::run(&Workspace::open()?, bench::Shown::Page),
        ["bench", "--counts", "--waves"] => bench::run(&Workspace::open()?, bench::Shown::Waves),
        ["bench", "--recovery"] => bench::run(&Workspace::open()?, bench::Shown::Recovery),
        ["crash-matrix", rest @ ..] => {
            let options = crash_matrix::Options::parse(rest)?;
            crash_matrix::run(&Workspace::open()?, &options)
        }
        ["cargo", rest @ ..] => Workspace::open()?.cargo(rest),
        other => Err(Failure::Usage(other.join(" "))),
    }
}

fn audit_entrypoints(options: &[&str]) -> Result<(), Failure> {
    let (format, check) = match options {
        [] | ["--format", "md"] => (Some(audit::Format::Markdown), false),
        ["--format", "json"] => (Some(audit::Format::Json), false),
        ["--check"] => (None, true),
        ["--check", "--format", "json"] | ["--format", "json", "--check"] => {
            (Some(audit::Format::Json), true)
        }
        other => return Err(Failure::Usage(format!("audit-entrypoints {}", other.join(" ")))),
    };
    audit::run(&process::root(), format, check)
}
