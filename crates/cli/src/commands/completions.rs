//! `completions`: the script with which a shell completes this tool's command line.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::command::Cli;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::io::Io;

pub(super) fn completions(shell: Shell, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let mut command = Cli::command();
    let name = command.get_name().to_owned();
    // The generator takes a failed write for a bug, so it writes where none fails.
    let mut script = Vec::new();
    generate(shell, &mut command, name, &mut script);
    io.output.write_all(&script).map_err(|error| Failure::output(&error))?;
    Ok(Exit::Done)
}
