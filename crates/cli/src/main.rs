//! The process around the operator tool: its streams, its terminal, its environment. It must not
//! know any command.

use std::ffi::OsStr;
use std::io::{BufReader, IsTerminal, stderr, stdin, stdout};
use std::process::ExitCode;

use graphwrite_cli::{Io, Surroundings, run};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;

/// Which events of the libraries are logged to standard error, e.g. `graphwrite_coordinator=debug`.
const LOG: &str = "GRAPHWRITE_LOG";

fn main() -> ExitCode {
    log_if_asked();
    let (mut input, mut output, mut errors) = (BufReader::new(stdin()), stdout(), stderr());
    let surroundings = surroundings();
    let mut io = Io { input: &mut input, output: &mut output, errors: &mut errors, surroundings };
    run(std::env::args_os(), &mut io).into()
}

fn log_if_asked() {
    if let Ok(filter) = EnvFilter::try_from_env(LOG) {
        let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(stderr);
        // A span says how long it took, and its results, when it ends.
        log.with_span_events(FmtSpan::CLOSE).init();
    }
}

fn surroundings() -> Surroundings {
    Surroundings {
        output_is_terminal: stdout().is_terminal(),
        errors_are_terminal: stderr().is_terminal(),
        no_color: is_set("NO_COLOR"),
        force_color: is_set("CLICOLOR_FORCE")
            && std::env::var_os("CLICOLOR_FORCE").as_deref() != Some(OsStr::new("0")),
        width: comfy_table::Table::new().width(),
        user: std::env::var("USER").ok().filter(|user| !user.is_empty()),
    }
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}
