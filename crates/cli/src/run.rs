//! One run of the tool, from the command line to the exit code. It must not know what a command
//! does.

use std::any::Any;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use clap::Parser;
use clap::error::ErrorKind;

use crate::command::{Cli, Format};
use crate::commands;
use crate::exit::Exit;
use crate::failure::{Effect, Failure};
use crate::io::Io;
use crate::render::render_failure;
use crate::style::{Style, asks_for_json};

/// Runs the tool with `args`, the name of the program first. Results go to the output of `io`,
/// everything else to its errors.
pub fn run(args: impl IntoIterator<Item = OsString>, io: &mut Io<'_>) -> Exit {
    let args: Vec<OsString> = args.into_iter().collect();
    match Cli::try_parse_from(&args) {
        Ok(cli) => carry_out(cli, io),
        Err(error) => answer_parser(&error, &args, io),
    }
}

fn carry_out(cli: Cli, io: &mut Io<'_>) -> Exit {
    let style = commands::style(&cli, &io.surroundings);
    let ended = catch_unwind(AssertUnwindSafe(|| commands::run(cli, style, io)));
    match ended.unwrap_or_else(|panic| Err(bug(panic.as_ref()))) {
        Ok(exit) => exit,
        Err(failure) => fail(&failure, style, io),
    }
}

fn fail(failure: &Failure, style: Style, io: &mut Io<'_>) -> Exit {
    if failure.reader_left {
        return Exit::Done;
    }
    // If nobody can be told, the exit code still says it.
    let _ = io.errors.write_all(render_failure(failure, style).as_bytes());
    failure.exit
}

/// Help and the version are results; everything else that the parser says is a usage error.
fn answer_parser(error: &clap::Error, args: &[OsString], io: &mut Io<'_>) -> Exit {
    let color = crate::command::Color::Auto;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let style = Style::with(Format::Plain, color, &io.surroundings);
            let text = rendered(error, style.color_output);
            let written = io.output.write_all(text.as_bytes());
            match written.map_err(|error| Failure::output(&error)) {
                Ok(()) => Exit::Done,
                Err(failure) => fail(&failure, style, io),
            }
        }
        _ => usage(error, args, io),
    }
}

fn usage(error: &clap::Error, args: &[OsString], io: &mut Io<'_>) -> Exit {
    let words: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let format = if asks_for_json(&words) { Format::Json } else { Format::Plain };
    let style = Style::with(format, crate::command::Color::Auto, &io.surroundings);
    if style.is_json() {
        let text = rendered(error, false);
        let failure = Failure::new(Exit::Usage, "usage", text.trim_end())
            .help("nothing was done; see `graphwrite --help`");
        return fail(&failure, style, io);
    }
    // If nobody can be told, the exit code still says it.
    let _ = io.errors.write_all(rendered(error, style.color_errors).as_bytes());
    Exit::Usage
}

fn rendered(error: &clap::Error, color: bool) -> String {
    let text = error.render();
    if color { text.ansi().to_string() } else { text.to_string() }
}

/// A panic is a bug, and leaves the graph in a state that recovery knows.
fn bug(panic: &(dyn Any + Send)) -> Failure {
    let words = panic.downcast_ref::<String>().map(String::as_str);
    let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    Failure::new(Exit::Bug, "bug", format!("the tool failed: {words}"))
        .help(
            "please report this; if the command was a write, it may or may not have happened, and \
             `graphwrite status` and `graphwrite verify` tell",
        )
        .effect(Effect::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_bug_that_claims_nothing_about_the_graph() {
        for panic in [Box::new("boom") as Box<dyn Any + Send>, Box::new("boom".to_owned())] {
            let failure = bug(panic.as_ref());
            assert_eq!((failure.exit, failure.effect), (Exit::Bug, Effect::Unknown));
            assert!(failure.message.contains("boom"));
        }
    }
}
