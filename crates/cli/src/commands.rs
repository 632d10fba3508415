//! Which function carries out which command, and the runtime under it.

mod branch;
mod completions;
mod export;
mod history;
mod init;
mod intents;
mod load;
mod look;
mod merge;
mod mutate;
mod open;
mod outcome;
mod write;

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::command::{
    BranchCommand, Cli, Command, CommitCommand, Format, IntentCommand, OutputArgs,
};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::io::{Io, Surroundings};
use crate::remedy;
use crate::render::{Report, write_report};
use crate::report::Version;
use crate::style::Style;

/// The form of what a command writes.
pub(crate) fn style(cli: &Cli, around: &Surroundings) -> Style {
    let output = match &cli.command {
        Command::Export(args) => {
            OutputArgs { format: args.format.map(|_| Format::Jsonl), json: false }
        }
        Command::Init(args) => args.output,
        Command::Load(args) => args.output,
        Command::Mutate(args) => args.output,
        Command::Merge(args) => args.output,
        Command::Status(args) => args.output,
        Command::Verify(args) => args.output,
        Command::Commit(CommitCommand::Log(args)) => args.output,
        Command::Commit(CommitCommand::Show(args)) => args.output,
        Command::Commit(CommitCommand::Diff(args)) => args.output,
        Command::Intent(IntentCommand::List(args)) => args.output,
        Command::Intent(IntentCommand::Show(args) | IntentCommand::Explain(args)) => args.output,
        Command::Intent(IntentCommand::Resolve(args)) => args.output,
        Command::Branch(BranchCommand::Create(args)) => args.output,
        Command::Branch(BranchCommand::List(args)) => args.output,
        Command::Branch(BranchCommand::Status(args)) => args.output,
        Command::Branch(BranchCommand::Delete(args)) => args.output,
        Command::Audit(args) => args.output,
        Command::Outcome(args) => args.output,
        Command::Version(args) => args.output,
        Command::Completions(_) => OutputArgs { format: None, json: false },
    };
    Style::of(output, cli.color, around)
}

/// Carries out one command.
pub(crate) fn run(cli: Cli, style: Style, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let runtime = runtime()?;
    let ended = runtime.block_on(Box::pin(async {
        survive_file_limits();
        let place = remedy::place(&cli.command);
        let ended = dispatch(cli.command, style, io).await;
        ended.map_err(|failure| failure.at(place.as_ref()))
    }));
    // Work behind the answers was waited for where there is some; what is left owes nobody anything.
    runtime.shutdown_timeout(Duration::ZERO);
    ended
}

fn runtime() -> Result<Runtime, Failure> {
    let built = Builder::new_multi_thread().enable_all().build();
    built.map_err(|error| {
        Failure::new(Exit::Storage, "no_threads", format!("threads cannot be started: {error}"))
            .help("nothing was done; raise the limits of this user and run the command again")
    })
}

/// A write beyond a limit on the size of files is to fail like any other, with a name and a remedy;
/// by default the system kills the process for it, without a word. Where the signal cannot be taken
/// over it goes on doing so, which is as safe as any other death.
#[cfg(unix)]
fn survive_file_limits() {
    use tokio::signal::unix::{SignalKind, signal};
    /// SIGXFSZ has one number on all systems that this tool is built for but MIPS.
    const FILE_TOO_LARGE: i32 = 25;
    // The signal stays taken over when its stream is gone.
    drop(signal(SignalKind::from_raw(FILE_TOO_LARGE)));
}

/// Elsewhere there is no such signal.
#[cfg(not(unix))]
fn survive_file_limits() {}

async fn dispatch(command: Command, style: Style, io: &mut Io<'_>) -> Result<Exit, Failure> {
    match command {
        Command::Init(args) => init::init(args, style, io).await,
        Command::Load(args) => load::load(args, style, io).await,
        Command::Mutate(args) => mutate::mutate(args, style, io).await,
        Command::Merge(args) => merge::merge(args, style, io).await,
        Command::Export(args) => export::export(&args, io).await,
        Command::Status(args) => look::status(&args.graph, style, io).await,
        Command::Verify(args) => look::verify(&args.graph, style, io).await,
        Command::Commit(CommitCommand::Log(args)) => history::log(&args, style, io).await,
        Command::Commit(CommitCommand::Show(args)) => history::show(&args, style, io).await,
        Command::Commit(CommitCommand::Diff(args)) => history::diff(&args, style, io).await,
        Command::Intent(IntentCommand::List(args)) => intents::list(&args.graph, style, io).await,
        Command::Intent(IntentCommand::Show(args)) => intents::show(&args, style, io).await,
        Command::Intent(IntentCommand::Explain(args)) => intents::explain(&args, style, io).await,
        Command::Intent(IntentCommand::Resolve(args)) => intents::resolve(&args, style, io).await,
        Command::Branch(command) => branch::branch(&command, style, io).await,
        Command::Audit(args) => history::audit(&args, style, io).await,
        Command::Outcome(args) => outcome::outcome(&args, style, io).await,
        Command::Completions(args) => completions::completions(args.shell, io),
        Command::Version(_) => answer(&Version::of_this_build(), style, io),
    }
}

/// Writes a report that answers the command.
fn answer(report: &impl Report, style: Style, io: &mut Io<'_>) -> Result<Exit, Failure> {
    write_report(report, style, io.output).map(|()| Exit::Done)
}
