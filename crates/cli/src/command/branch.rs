//! The command line of branches.

use clap::{Args, Subcommand};
use graphwrite_coordinator::BranchFrom;
use graphwrite_protocol_types::{BranchName, BranchSelector, CommitId, InvalidBranchName};

#[cfg(feature = "failpoints")]
use crate::command::FaultArgs;
use crate::command::{ExpectedHead, OutputArgs, WholeGraph};
use crate::waiting::WaitArgs;

/// Branches.
#[derive(Debug, Subcommand)]
pub(crate) enum BranchCommand {
    /// Make a branch of the whole graph, at a cost that does not depend on its size
    Create(BranchCreateArgs),
    /// List the branches
    List(BranchListArgs),
    /// Show one branch closely: incarnation, source, head, distance, tables of its own, state
    Status(BranchStatusArgs),
    /// Delete a branch at once, whatever state its data is in
    Delete(BranchDeleteArgs),
}

#[derive(Debug, Args)]
pub(crate) struct BranchCreateArgs {
    #[command(flatten)]
    pub(crate) graph: WholeGraph,
    /// Name of the new branch
    pub(crate) name: BranchName,
    /// What it starts with: the newest state of a branch, or a commit
    #[arg(long, value_name = "BRANCH|COMMIT", default_value = "main")]
    pub(crate) from: ForkOf,
    /// Who asks, for the records [default: the user's name]
    #[arg(long, env = "GRAPHWRITE_ACTOR", value_name = "NAME")]
    pub(crate) actor: Option<String>,
    #[command(flatten)]
    pub(crate) waits: WaitArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[cfg(feature = "failpoints")]
    #[command(flatten)]
    pub(crate) faults: FaultArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BranchListArgs {
    #[command(flatten)]
    pub(crate) graph: WholeGraph,
    /// List also names that mean no branch any more
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BranchStatusArgs {
    #[command(flatten)]
    pub(crate) graph: WholeGraph,
    /// The branch
    pub(crate) name: BranchSelector,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BranchDeleteArgs {
    #[command(flatten)]
    pub(crate) graph: WholeGraph,
    /// The branch
    pub(crate) name: BranchName,
    /// Delete only if this commit still is the head; `none` before the first commit
    #[arg(long, value_name = "COMMIT")]
    pub(crate) expect_head: Option<ExpectedHead>,
    /// Who asks, for the records [default: the user's name]
    #[arg(long, env = "GRAPHWRITE_ACTOR", value_name = "NAME")]
    pub(crate) actor: Option<String>,
    #[command(flatten)]
    pub(crate) waits: WaitArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[cfg(feature = "failpoints")]
    #[command(flatten)]
    pub(crate) faults: FaultArgs,
}

/// What a branch starts with, or what is merged. No name of a branch reads as a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ForkOf {
    Branch(BranchSelector),
    Commit(CommitId),
}

impl ForkOf {
    /// The same, as the library is asked for it.
    pub(crate) fn source(&self) -> BranchFrom {
        match self {
            Self::Branch(branch) => BranchFrom::Head(branch.clone()),
            Self::Commit(commit) => BranchFrom::Commit(*commit),
        }
    }
}

impl std::fmt::Display for ForkOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Branch(branch) => branch.fmt(f),
            Self::Commit(commit) => commit.fmt(f),
        }
    }
}

impl std::str::FromStr for ForkOf {
    type Err = InvalidBranchName;

    fn from_str(text: &str) -> Result<Self, InvalidBranchName> {
        match text.parse() {
            Ok(commit) => Ok(Self::Commit(commit)),
            Err(_) => text.parse().map(Self::Branch),
        }
    }
}
