//! The command line of merges.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use graphwrite_coordinator::MergeStrategy;
use graphwrite_protocol_types::BranchSelector;

use crate::command::{ForkOf, GraphPlace, OutputArgs, TermsArgs, WholeGraph};
use crate::size::Size;

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    #[command(flatten)]
    pub(crate) graph: WholeGraph,
    /// What is merged: a branch as it is when the command begins, or a commit
    #[arg(value_name = "BRANCH|COMMIT")]
    pub(crate) source: ForkOf,
    /// The branch that it is merged into
    #[arg(long, value_name = "BRANCH")]
    pub(crate) into: BranchSelector,
    /// Only say what the merge would do; exits with 1 if it would be refused
    #[arg(long, conflicts_with_all = ["expect_head", "operation_id", "message"])]
    pub(crate) preview: bool,
    /// What becomes of rows that both have changed differently
    #[arg(long, value_enum, default_value_t = Strategy::Fail)]
    pub(crate) strategy: Strategy,
    /// Then delete the source branch, if what was merged still is its head
    #[arg(long, conflicts_with = "preview")]
    pub(crate) delete_source: bool,
    /// How many conflicts of each table to list with their rows; all of them are counted
    #[arg(long, value_name = "N", default_value = "10")]
    pub(crate) max_conflicts: usize,
    /// Memory for the rows that are compared, as in `256MiB`; what does not fit goes to a temporary file
    #[arg(long, value_name = "SIZE", value_parser = Size::parse, default_value = "256MiB")]
    pub(crate) memory: Size,
    /// Directory of the temporary file [default: the system's]
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) temp_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) terms: TermsArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl MergeArgs {
    /// The branch that is written to.
    pub(crate) fn target(&self) -> GraphPlace {
        GraphPlace { whole: self.graph.clone(), branch: self.into.clone() }
    }
}

/// What becomes of rows that contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Strategy {
    /// Nothing is merged
    Fail,
    /// The row of the target stays
    Ours,
    /// The row of the source is taken over, or its deletion
    Theirs,
}

impl From<Strategy> for MergeStrategy {
    fn from(strategy: Strategy) -> Self {
        match strategy {
            Strategy::Fail => Self::Fail,
            Strategy::Ours => Self::Ours,
            Strategy::Theirs => Self::Theirs,
        }
    }
}
