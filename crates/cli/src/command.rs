//! The command line: every command, argument and default. It describes; it does nothing and knows
//! no graph.

mod branch;
mod merge;

use std::fmt;
use std::num::NonZeroUsize;
use std::ops::Deref;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use graphwrite_coordinator::DataForm;
use graphwrite_protocol_types::{AttemptId, BranchSelector, CommitId, InvalidId, OperationId};

use crate::exit::Exit;
#[cfg(feature = "failpoints")]
use crate::fault::FaultSpec;
use crate::size::Size;
use crate::waiting::WaitArgs;

pub(crate) use branch::{
    BranchCommand, BranchCreateArgs, BranchDeleteArgs, BranchListArgs, BranchStatusArgs, ForkOf,
};
pub(crate) use merge::{MergeArgs, Strategy};

/// Writes graphs of many tables, each write atomic and visible at once; looks into them and into
/// what an interrupted write left behind.
#[derive(Debug, Parser)]
#[command(
    name = "graphwrite",
    version,
    after_long_help = Exit::table(),
    after_help = "`--help` also lists the exit codes.",
    disable_help_subcommand = true
)]
pub(crate) struct Cli {
    /// When to use colour; `auto` means on a terminal, unless NO_COLOR or CLICOLOR_FORCE say otherwise
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub(crate) color: Color,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What the tool can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create a graph from a schema
    Init(InitArgs),
    /// Load rows into many tables in one commit
    Load(LoadArgs),
    /// Insert, update and delete in one commit
    Mutate(MutateArgs),
    /// Merge what another branch has changed into a branch, in one commit of both
    Merge(MergeArgs),
    /// Write the rows of the graph to standard output
    Export(ExportArgs),
    /// Show the graph on one screen: head, tables, pending intents, drift, garbage
    Status(GraphArgs),
    /// Read the history of the graph
    #[command(subcommand)]
    Commit(CommitCommand),
    /// Make, list, look at and delete branches
    #[command(subcommand)]
    Branch(BranchCommand),
    /// Look at writes that were interrupted, and resolve them
    #[command(subcommand)]
    Intent(IntentCommand),
    /// List what recovery and seals have decided, newest first
    Audit(AuditArgs),
    /// Say what became of a request, from its operation id: committed, aborted, pending or unknown
    Outcome(OutcomeArgs),
    /// Check everything, reading only; exits with 1 if something is wrong
    Verify(WholeArgs),
    /// Show the version of this tool and of the format that it writes
    Version(VersionArgs),
    /// Print the script with which a shell completes this tool's command line
    Completions(CompletionsArgs),
}

/// History.
#[derive(Debug, Subcommand)]
pub(crate) enum CommitCommand {
    /// List commits, newest first
    Log(LogArgs),
    /// Show one commit
    Show(CommitShowArgs),
    /// Show which rows differ between two commits
    Diff(CommitDiffArgs),
}

/// Interrupted writes.
#[derive(Debug, Subcommand)]
pub(crate) enum IntentCommand {
    /// List the pending intents
    List(GraphArgs),
    /// Show what an intent recorded before its first effect
    Show(IntentArgs),
    /// Explain what was found of an intent, which rule applies and what the next write will do
    Explain(IntentArgs),
    /// Finish or take back pending intents now, as the next write would
    Resolve(ResolveArgs),
}

/// How a result is written.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct OutputArgs {
    /// Form of the result; `table` on a terminal, else `plain`
    #[arg(long, value_enum, value_name = "FORM", help_heading = "Output")]
    pub(crate) format: Option<Format>,
    /// Short for `--format json`
    #[arg(long, conflicts_with = "format", help_heading = "Output")]
    pub(crate) json: bool,
}

/// The graph that a command is about; it reads as its text.
#[derive(Debug, Clone, Args)]
pub(crate) struct WholeGraph {
    /// Directory of the graph
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    graph: String,
}

impl Deref for WholeGraph {
    type Target = str;

    fn deref(&self) -> &str {
        &self.graph
    }
}

/// One branch of a graph; it reads as the graph's text.
#[derive(Debug, Clone, Args)]
pub(crate) struct GraphPlace {
    #[command(flatten)]
    pub(crate) whole: WholeGraph,
    /// The branch
    #[arg(long, value_name = "BRANCH", default_value = "main")]
    pub(crate) branch: BranchSelector,
}

impl Deref for GraphPlace {
    type Target = str;

    fn deref(&self) -> &str {
        &self.whole
    }
}

impl fmt::Display for GraphPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

#[derive(Debug, Args)]
pub(crate) struct WholeArgs {
    #[command(flatten)]
    pub(crate) graph: WholeGraph,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    #[command(flatten)]
    pub(crate) graph: GraphPlace,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Directory of the new graph; it is created if it is missing
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) graph: String,
    /// Schema of the graph, a TOML file
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: PathBuf,
    /// Who asks, for the history [default: the user's name]
    #[arg(long, env = "GRAPHWRITE_ACTOR", value_name = "NAME")]
    pub(crate) actor: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[cfg(feature = "failpoints")]
    #[command(flatten)]
    pub(crate) faults: FaultArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    #[command(flatten)]
    pub(crate) graph: GraphPlace,
    /// Rows as JSON lines, CSV or Parquet; `-` reads standard input. Given several times, all files
    /// make one commit
    #[arg(long, value_name = "FILE", required = true)]
    pub(crate) data: Vec<PathBuf>,
    /// Form of the rows [default: by the extension of the file, else jsonl]
    #[arg(long, value_enum, value_name = "FORM")]
    pub(crate) input_format: Option<RowForm>,
    /// Type of the rows of CSV and Parquet [default: the name of the file without its extension]
    #[arg(long, value_name = "TYPE")]
    pub(crate) table: Option<String>,
    /// What to do with a key that exists
    #[arg(long, value_enum, default_value_t = Mode::Append)]
    pub(crate) mode: Mode,
    /// Memory for the rows and the questions about them, as in `256MiB`; what does not fit goes to a
    /// temporary file
    #[arg(long, value_name = "SIZE", value_parser = Size::parse, default_value = "512MiB")]
    pub(crate) memory: Size,
    /// Directory of the temporary file [default: the system's]
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) temp_dir: Option<PathBuf>,
    /// How many faults of the input to list before giving up; nothing is written if there is one
    #[arg(long, value_name = "N", default_value = "10")]
    pub(crate) max_errors: NonZeroUsize,
    #[command(flatten)]
    pub(crate) terms: TermsArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The terms of a request that writes.
#[derive(Debug, Args)]
pub(crate) struct TermsArgs {
    /// Write only if this commit is still the head; `none` before the first commit
    #[arg(long, value_name = "COMMIT")]
    pub(crate) expect_head: Option<ExpectedHead>,
    /// Key of this request: with it, sending the request again cannot apply it twice
    #[arg(long, value_name = "KEY")]
    pub(crate) operation_id: Option<OperationId>,
    /// Message for the history
    #[arg(long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// Who asks, for the history [default: the user's name]
    #[arg(long, env = "GRAPHWRITE_ACTOR", value_name = "NAME")]
    pub(crate) actor: Option<String>,
    /// How often to prepare the request again when others were faster
    #[arg(long, value_name = "N", default_value = "32", help_heading = "Waiting")]
    pub(crate) retries: u32,
    #[command(flatten)]
    pub(crate) waits: WaitArgs,
    #[cfg(feature = "failpoints")]
    #[command(flatten)]
    pub(crate) faults: FaultArgs,
}

#[derive(Debug, Args)]
pub(crate) struct MutateArgs {
    #[command(flatten)]
    pub(crate) graph: GraphPlace,
    /// Statements, one JSON array; `-` reads standard input. All of it is one commit
    #[arg(long, value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// How many faults of the input to list before giving up; nothing is written if there is one
    #[arg(long, value_name = "N", default_value = "10")]
    pub(crate) max_errors: NonZeroUsize,
    #[command(flatten)]
    pub(crate) terms: TermsArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) graph: GraphPlace,
    /// The rows as this commit left them, instead of the newest ones
    #[arg(long, value_name = "COMMIT")]
    pub(crate) at: Option<CommitId>,
    /// Only the rows of this type
    #[arg(long, value_name = "TYPE")]
    pub(crate) table: Option<String>,
    /// Form of the rows, as `load` reads them; CSV and Parquet need `--table`. Given explicitly, errors
    /// are JSON too [default: jsonl]
    #[arg(long, value_enum, value_name = "FORM", help_heading = "Output")]
    pub(crate) format: Option<RowForm>,
    /// File to write; it appears when it is complete [default: standard output]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "output", help_heading = "Output")]
    pub(crate) force: bool,
    /// Memory for putting rows in order, as in `256MiB`; what does not fit goes to a temporary file
    #[arg(long, value_name = "SIZE", value_parser = Size::parse, default_value = "512MiB")]
    pub(crate) memory: Size,
    /// Directory of the temporary file [default: the system's]
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) temp_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    #[command(flatten)]
    pub(crate) graph: GraphPlace,
    /// How many commits to list
    #[arg(long, value_name = "N", default_value = "20")]
    pub(crate) limit: NonZeroUsize,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CommitShowArgs {
    #[command(flatten)]
    pub(crate) graph: GraphPlace,
    /// The commit
    pub(crate) commit: CommitId,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CommitDiffArgs {
    #[command(flatten)]
    pub(crate) graph: GraphPlace,
    /// The older commit; `none` is the graph before its first commit
    #[arg(value_name = "FROM")]
    pub(crate) from: ExpectedHead,
    /// The newer commit [default: the head]
    #[arg(value_name = "TO")]
    pub(crate) to: Option<CommitId>,
    /// List the first keys of each table and kind of change
    #[arg(long, value_name = "N", default_value = "0")]
    pub(crate) keys: usize,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    pub(crate) graph: GraphPlace,
    /// How many decisions to list
    #[arg(long, value_name = "N", default_value = "20")]
    pub(crate) limit: NonZeroUsize,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct IntentArgs {
    #[command(flatten)]
    pub(crate) graph: GraphPlace,
    /// The attempt that left the intent, as `intent list` shows it
    pub(crate) attempt: AttemptId,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResolveArgs {
    #[command(flatten)]
    pub(crate) graph: GraphPlace,
    /// The attempt to resolve; without it, all of them
    pub(crate) attempt: Option<AttemptId>,
    #[command(flatten)]
    pub(crate) how: ResolveMode,
    /// Do not wait for the owner: you know that it does not run any more
    #[arg(long, requires = "attempt")]
    pub(crate) owner_is_dead: bool,
    #[command(flatten)]
    pub(crate) waits: WaitArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[cfg(feature = "failpoints")]
    #[command(flatten)]
    pub(crate) faults: FaultArgs,
}

#[derive(Debug, Clone, Copy, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct ResolveMode {
    /// Only finish what can be finished; take nothing back
    #[arg(long)]
    pub(crate) roll_forward: bool,
    /// Finish what can be finished, take the rest back
    #[arg(long)]
    pub(crate) full: bool,
}

#[derive(Debug, Args)]
pub(crate) struct OutcomeArgs {
    #[command(flatten)]
    pub(crate) graph: GraphPlace,
    /// The request: the key that it was sent with, or the id that its receipt or error named
    #[arg(value_name = "OPERATION")]
    pub(crate) operation: OperationId,
    /// The incarnation of the branch that it was sent to, as its receipt names it [default: the newest]
    #[arg(long, value_name = "N")]
    pub(crate) incarnation: Option<u64>,
    /// If it has not committed, decide that it never will; whatever is left of it is then taken back
    #[arg(long)]
    pub(crate) seal: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct VersionArgs {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// Faults for tests of the protocol.
#[cfg(feature = "failpoints")]
#[derive(Debug, Clone, Args)]
pub(crate) struct FaultArgs {
    /// At this failpoint, `abort` the process, return an `error`, or `pause`
    #[arg(long = "fault", value_name = "FAILPOINT:ACTION", help_heading = "Faults")]
    pub(crate) faults: Vec<FaultSpec>,
    /// A paused process creates this path with `.reached` appended, and goes on when the path exists
    #[arg(long = "fault-release", value_name = "FILE", help_heading = "Faults")]
    pub(crate) release: Option<PathBuf>,
}

#[cfg(feature = "failpoints")]
impl FaultArgs {
    /// The hooks that carry the faults out.
    pub(crate) fn hooks(
        &self,
    ) -> Result<std::sync::Arc<dyn graphwrite_coordinator::Hooks>, crate::failure::Failure> {
        Ok(std::sync::Arc::new(crate::fault::Faults::new(self)?))
    }
}

/// Forms of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// One document
    Json,
    /// One document a line
    Jsonl,
    /// Fields separated by tabs, for scripts
    Plain,
}

/// Forms of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowForm {
    /// One JSON object a line, of any type
    Jsonl,
    /// Comma-separated values with a header, of one type
    Csv,
    /// Apache Parquet, of one type
    Parquet,
}

impl From<RowForm> for DataForm {
    fn from(form: RowForm) -> Self {
        match form {
            RowForm::Jsonl => Self::Jsonl,
            RowForm::Csv => Self::Csv,
            RowForm::Parquet => Self::Parquet,
        }
    }
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal
    Auto,
    /// Even in a file
    Always,
    /// Not at all
    Never,
}

/// A head that a caller insists on: a commit, or none at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExpectedHead(pub(crate) Option<CommitId>);

impl FromStr for ExpectedHead {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        if text == "none" { Ok(Self(None)) } else { text.parse().map(|commit| Self(Some(commit))) }
    }
}

/// What a load does with rows that exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Refuse: every key must be new
    Append,
    /// Replace the row
    Upsert,
    /// Replace all rows of every table that the data has rows for
    Overwrite,
}
