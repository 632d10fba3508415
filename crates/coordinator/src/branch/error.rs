//! What can go wrong with a branch, each with the branch that is in the way and the remedy.

use graphwrite_gates::GateTimeout;
use graphwrite_manifest::ManifestError;
use graphwrite_protocol_types::{
    Answer, AttemptId, BranchName, BranchSelector, CommitId, OwnerRecord,
};
use graphwrite_recovery::{BarrierError, BlockingObject};
use graphwrite_substrate::{NameError, StoreError, SubstrateError};
use thiserror::Error;

use crate::{Injected, OpenError, PortError, ReadError};

/// A branch was not made, found or deleted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BranchError {
    /// The handle was opened for reading.
    #[error("the graph was opened read-only")]
    ReadOnly,
    /// The name means a branch.
    #[error("branch `{name}` exists, as incarnation {incarnation}")]
    Exists {
        /// The name.
        name: BranchName,
        /// Number of the record that made it live.
        incarnation: u64,
    },
    /// Another creation of the name is under way.
    #[error("branch `{name}` is being created, for {age_ms} ms, by process {} on {}", .owner.pid, .owner.host)]
    Creating {
        /// The name.
        name: BranchName,
        /// The attempt that creates it.
        attempt: AttemptId,
        /// Who does.
        owner: Box<OwnerRecord>,
        /// Age of its beginning, in milliseconds.
        age_ms: u64,
        /// When to try again, in milliseconds from now.
        retry_after_ms: u64,
    },
    /// The name means no branch.
    #[error("there is no branch `{name}`")]
    NoSuchBranch {
        /// The name.
        name: BranchSelector,
    },
    /// Neither main nor a branch has the commit.
    #[error("no branch has commit {commit}")]
    NoSuchCommit {
        /// The commit.
        commit: CommitId,
    },
    /// The version of the commit is not there any more, or is another one.
    #[error("the version that branch `{name}` was to be made of is gone")]
    SourceGone {
        /// The branch that was to be made.
        name: BranchName,
    },
    /// Maintenance has planned to delete versions and is not done; what may go is not made reachable
    /// again (design 01 section 9).
    #[error(
        "`{plan}` is not carried out yet, and may delete the version of the commit that was asked for"
    )]
    CleanupPending {
        /// The plan.
        plan: String,
    },
    /// The creation took so long that another process has decided that it will not be.
    #[error("the creation of branch `{name}` was given up by another process")]
    GivenUp {
        /// The name.
        name: BranchName,
    },
    /// The branch was deleted before its creation was answered.
    #[error("branch `{name}` was deleted as soon as it was made")]
    DeletedMeanwhile {
        /// The name.
        name: BranchName,
    },
    /// The head of the branch is another one than the caller expects; it was not deleted.
    #[error("the head of branch `{name}` is {}, not {} as expected", head_name(.found), head_name(.expected))]
    Moved {
        /// The name.
        name: BranchName,
        /// What the caller expects; none for a branch without commits.
        expected: Option<CommitId>,
        /// Its head.
        found: Option<CommitId>,
    },
    /// The record that says what the name means cannot be understood.
    #[error("what branch `{name}` is cannot be understood: {cause}")]
    Unusable {
        /// The name.
        name: BranchName,
        /// The object and what is wrong with it.
        cause: String,
    },
    /// Whether the name means the branch is not known.
    #[error("whether branch `{name}` was {doing} is not known: {cause}")]
    OutcomeUnknown {
        /// The name.
        name: BranchName,
        /// `created` or `deleted`.
        doing: &'static str,
        /// What stood in the way.
        cause: String,
    },
    /// Others kept creating and deleting the name.
    #[error("gave up on branch `{name}` after {attempts} attempts: others keep changing it")]
    RetriesExhausted {
        /// The name.
        name: BranchName,
        /// How many attempts were made.
        attempts: u32,
    },
    /// A record of the source branch stops every write to it.
    #[error("a pending record of the source branch cannot be understood: {0}")]
    Blocked(BlockingObject),
    /// Another operation of this process is in the way.
    #[error(transparent)]
    Gates(#[from] GateTimeout),
    /// The barrier of the source branch could not be passed.
    #[error(transparent)]
    Barrier(Box<BarrierError<PortError>>),
    /// A branch cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A branch cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The records of names cannot be read or written.
    #[error(transparent)]
    Names(NameError),
    /// A failpoint was told to fail.
    #[error(transparent)]
    Injected(#[from] Injected),
}

fn head_name(head: &Option<CommitId>) -> String {
    head.map_or_else(|| "none".to_owned(), |commit| commit.to_string())
}

impl BranchError {
    /// What a failed access to name records means.
    pub(crate) fn of_names(error: NameError, name: &BranchName) -> Self {
        match error {
            NameError::Unusable { .. } => {
                Self::Unusable { name: name.clone(), cause: error.to_string() }
            }
            error => Self::Names(error),
        }
    }
}

impl From<StoreError> for BranchError {
    fn from(error: StoreError) -> Self {
        Self::Names(NameError::Store(error))
    }
}

impl From<SubstrateError> for BranchError {
    fn from(error: SubstrateError) -> Self {
        Self::Read(error.into())
    }
}

impl From<ManifestError> for BranchError {
    fn from(error: ManifestError) -> Self {
        Self::Read(error.into())
    }
}

impl From<BarrierError<PortError>> for BranchError {
    fn from(error: BarrierError<PortError>) -> Self {
        Self::Barrier(Box::new(error))
    }
}

impl Answer for BranchError {
    fn code(&self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Exists { .. } => "branch_exists",
            Self::Creating { .. } => "contended",
            Self::NoSuchBranch { .. } => "no_such_branch",
            Self::NoSuchCommit { .. } => "no_such_commit",
            Self::SourceGone { .. } => "version_gone",
            Self::CleanupPending { .. } => "cleanup_pending",
            Self::GivenUp { .. } => "given_up",
            Self::DeletedMeanwhile { .. } => "branch_deleted",
            Self::Moved { .. } => "branch_moved",
            Self::Unusable { .. } | Self::Blocked(_) => "recovery_blocked",
            Self::OutcomeUnknown { .. } => "outcome_unknown",
            Self::RetriesExhausted { .. } => "retries_exhausted",
            Self::Gates(_) => "gate_timeout",
            Self::Barrier(_) | Self::Names(_) => "storage",
            Self::Open(error) => error.code(),
            Self::Read(error) => error.code(),
            Self::Injected(_) => "injected",
        }
    }

    fn may_retry(&self) -> bool {
        match self {
            Self::Creating { .. }
            | Self::CleanupPending { .. }
            | Self::GivenUp { .. }
            | Self::OutcomeUnknown { .. }
            | Self::RetriesExhausted { .. }
            | Self::Gates(_)
            | Self::Barrier(_)
            | Self::Names(_) => true,
            Self::Open(error) => error.may_retry(),
            Self::Read(error) => error.may_retry(),
            _ => false,
        }
    }

    fn had_no_effect(&self) -> bool {
        // A creation that was not decided live leaves objects that mean nothing (K4).
        !matches!(
            self,
            Self::OutcomeUnknown { .. } | Self::DeletedMeanwhile { .. } | Self::Injected(_)
        )
    }

    fn help(&self) -> String {
        match self {
            Self::ReadOnly => "open the graph for writing".into(),
            Self::Exists { name, .. } => {
                format!(
                    "choose another name, or delete it: `graphwrite branch delete <graph> {name}`"
                )
            }
            Self::Creating { retry_after_ms, .. } => format!(
                "try again in {retry_after_ms} ms; a creation whose owner is gone is then given up"
            ),
            Self::NoSuchBranch { .. } => {
                "`graphwrite branch list <graph>` lists the branches".into()
            }
            Self::NoSuchCommit { .. } => {
                "`graphwrite commit log <graph> --branch <branch>` lists the commits".into()
            }
            Self::SourceGone { .. } => "name a younger commit, or a branch".into(),
            Self::CleanupPending { .. } => {
                "run the maintenance that made the plan to its end, then try again".into()
            }
            Self::GivenUp { .. } | Self::RetriesExhausted { .. } => "try again".into(),
            Self::DeletedMeanwhile { .. } => "ask whoever deleted it".into(),
            Self::Moved { name, .. } => format!(
                "the branch is not deleted; `graphwrite commit log <graph> --branch {name}` shows what came \
                 to it: decide again, and name the head that it has now"
            ),
            Self::Unusable { name, .. } => format!(
                "if a newer build wrote it, use that build; if it is damaged, `graphwrite branch delete \
                 <graph> {name}` gives the name up"
            ),
            Self::Blocked(object) => object.remedy.into(),
            Self::OutcomeUnknown { name, .. } => {
                format!("ask `graphwrite branch status <graph> {name}`")
            }
            Self::Gates(_) => "try again".into(),
            Self::Barrier(_) | Self::Names(_) => {
                "correct what the message names and try again".into()
            }
            Self::Open(error) => error.help(),
            Self::Read(error) => error.help(),
            Self::Injected(_) => "try again; this was a test".into(),
        }
    }
}
