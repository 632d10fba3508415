//! What can go wrong at the handle: one enum per operation, each with a stable code, the two
//! questions of [`Answer`] and the next step. Outcomes of a write are values, not errors.

use arrow_schema::ArrowError;
use graphwrite_adapters::PrepareError;
use graphwrite_gates::GateTimeout;
use graphwrite_manifest::{BasesError, ManifestError};
use graphwrite_protocol_types::{
    Answer, AttemptId, BranchToken, CommitId, DatasetPath, OperationId, Pin, PlanInvalid,
    TableIdentity, WrongIntent,
};
use graphwrite_recovery::{BarrierError, BlockingObject};
use graphwrite_schema::SchemaDecodeError;
use graphwrite_substrate::{IntentError, NameError, StoreError, SubstrateError};
use thiserror::Error;

use crate::{BranchError, Injected, PortError};

pub use graphwrite_manifest::{InitError, OpenError, graph_around};

/// A graph was not created, or its creation was stopped by a test.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CreateError {
    /// There is no new graph.
    #[error(transparent)]
    Init(#[from] InitError),
    /// A failpoint was told to fail.
    #[error(transparent)]
    Injected(#[from] Injected),
}

impl Answer for CreateError {
    fn code(&self) -> &'static str {
        match self {
            Self::Init(error) => error.code(),
            Self::Injected(_) => "injected",
        }
    }

    fn may_retry(&self) -> bool {
        match self {
            Self::Init(error) => error.may_retry(),
            Self::Injected(_) => false,
        }
    }

    fn had_no_effect(&self) -> bool {
        match self {
            Self::Init(error) => error.had_no_effect(),
            Self::Injected(_) => false,
        }
    }

    fn help(&self) -> String {
        match self {
            Self::Init(error) => error.help(),
            Self::Injected(_) => "run `graphwrite init` again; this was a test".into(),
        }
    }
}

/// A read did not come to a result. Reads never change anything.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The type is not declared.
    #[error("the schema declares no type `{name}`")]
    NoSuchType {
        /// The name.
        name: String,
    },
    /// The branch that the handle is on is deleted; another of its name may have been made. Snapshots
    /// that were captured before go on.
    #[error("branch `{}`, incarnation {}, is deleted", .branch.name, .branch.record)]
    BranchDeleted {
        /// The incarnation.
        branch: Box<BranchToken>,
    },
    /// The branch has no such commit.
    #[error("the branch has no commit {commit}")]
    NoSuchCommit {
        /// The commit.
        commit: CommitId,
    },
    /// The manifest version of a commit is not there any more.
    #[error("commit {commit} can no longer be opened: version {version} of the manifest is gone")]
    VersionGone {
        /// The commit.
        commit: CommitId,
        /// The manifest version that its lineage names.
        version: u64,
    },
    /// Another version has the number that the lineage of a commit names.
    #[error(
        "commit {commit} cannot be opened: what has the number of its manifest version is {found}"
    )]
    OtherVersion {
        /// The commit.
        commit: CommitId,
        /// What has that number.
        found: Pin,
    },
    /// Rows do not have the columns that their schema declares.
    #[error("the rows of `{name}` cannot be compared: {cause}")]
    Incomparable {
        /// The type's name.
        name: String,
        /// What is wrong with them.
        cause: ArrowError,
    },
    /// A published version is not there, or is another version of that number.
    #[error("`{path}` does not have the published {pin}{}", found_instead(.found))]
    PinLost {
        /// The dataset.
        path: DatasetPath,
        /// What the manifest names.
        pin: Pin,
        /// What has that number instead.
        found: Option<Pin>,
    },
    /// The graph cannot be opened a second time.
    #[error(transparent)]
    Reopen(Box<OpenError>),
    /// The manifest cannot be read.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The accepted schema cannot be read.
    #[error("the accepted schema cannot be read: {0}")]
    Schema(#[from] SchemaDecodeError),
    /// A recovery record cannot be read.
    #[error(transparent)]
    Intent(#[from] IntentError),
    /// The records of branch names cannot be read.
    #[error(transparent)]
    Names(#[from] NameError),
    /// A table cannot be read.
    #[error(transparent)]
    Substrate(#[from] SubstrateError),
}

fn found_instead(found: &Option<Pin>) -> String {
    found.as_ref().map(|pin| format!("; it has {pin} instead")).unwrap_or_default()
}

impl From<StoreError> for ReadError {
    fn from(error: StoreError) -> Self {
        Self::Substrate(error.into())
    }
}

impl Answer for ReadError {
    fn code(&self) -> &'static str {
        match self {
            Self::BranchDeleted { .. } => "branch_deleted",
            Self::NoSuchType { .. } => "no_such_type",
            Self::NoSuchCommit { .. } => "no_such_commit",
            Self::VersionGone { .. } => "version_gone",
            Self::OtherVersion { .. } => "manifest_damaged",
            Self::Incomparable { .. } => "table_damaged",
            Self::PinLost { .. } => "pin_lost",
            Self::Reopen(error) => error.code(),
            Self::Manifest(error) => error.code(),
            Self::Schema(_) => "manifest_damaged",
            Self::Intent(_) | Self::Names(_) => "storage",
            Self::Substrate(error) => error.code(),
        }
    }

    fn may_retry(&self) -> bool {
        match self {
            Self::Reopen(error) => error.may_retry(),
            Self::Manifest(error) => error.may_retry(),
            Self::Intent(_) | Self::Names(_) => true,
            Self::Substrate(error) => error.may_retry(),
            Self::BranchDeleted { .. }
            | Self::NoSuchType { .. }
            | Self::NoSuchCommit { .. }
            | Self::VersionGone { .. }
            | Self::OtherVersion { .. }
            | Self::Incomparable { .. }
            | Self::PinLost { .. }
            | Self::Schema(_) => false,
        }
    }

    fn had_no_effect(&self) -> bool {
        true
    }

    fn help(&self) -> String {
        match self {
            Self::BranchDeleted { .. } => {
                "`graphwrite branch list <graph>` lists the branches; open one of them".into()
            }
            Self::NoSuchType { .. } => "`graphwrite status <graph>` lists the types".into(),
            Self::NoSuchCommit { .. } => "`graphwrite commit log <graph>` lists the commits".into(),
            Self::VersionGone { .. } => {
                "its history is kept, its rows are not; open a younger commit".into()
            }
            Self::PinLost { .. } | Self::OtherVersion { .. } | Self::Incomparable { .. } => {
                "files of the graph were removed or replaced from outside; restore them from a copy, \
                 then run `graphwrite verify <graph>`"
                    .into()
            }
            Self::Reopen(error) => error.help(),
            Self::Manifest(error) => error.help(),
            Self::Schema(_) => "use the build that wrote the schema".into(),
            Self::Substrate(error) => error.help(),
            Self::Intent(_) | Self::Names(_) => {
                "nothing was changed; correct what the message names and try again".into()
            }
        }
    }
}

/// A write was refused or failed before it had an effect, unless `had_no_effect` says otherwise.
#[derive(Debug, Error)]
#[error("{kind}")]
pub struct WriteError {
    /// The caller's request, where it had got an id.
    pub operation: Option<OperationId>,
    /// What went wrong.
    #[source]
    pub kind: WriteErrorKind,
}

/// Why a write was refused or failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteErrorKind {
    /// The handle was opened for reading.
    #[error("the graph was opened read-only")]
    ReadOnly,
    /// The input was refused, or could not be prepared.
    #[error(transparent)]
    Prepare(PrepareError),
    /// The commit that is to be merged could not be captured, or may be about to go.
    #[error(transparent)]
    Source(Box<BranchError>),
    /// What a merge is to be compared with is not known.
    #[error(transparent)]
    Bases(Box<BasesError>),
    /// A gate was not granted in time.
    #[error(transparent)]
    Gate(#[from] GateTimeout),
    /// An object among the recovery records cannot be understood; it stops writes to its branch.
    #[error(transparent)]
    Blocked(BlockingObject),
    /// HEAD of a table is not its published version, and neither an intent nor a fence explains it.
    #[error("HEAD of table {identity} is {}, but its published version is {pin}; no intent explains it", head_text(.found))]
    UnexplainedHead {
        /// The table.
        identity: TableIdentity,
        /// The published version.
        pin: Pin,
        /// HEAD.
        found: Option<Pin>,
    },
    /// The recovery barrier met a fault; whatever it had resolved stays resolved.
    #[error(transparent)]
    Barrier(Box<BarrierError<PortError>>),
    /// Reading before the attempt was armed failed.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The intent could not be made durable; it certainly does not exist.
    #[error("the intent of attempt {attempt} could not be written: {cause}")]
    Arm {
        /// The attempt.
        attempt: AttemptId,
        /// Why.
        #[source]
        cause: Box<IntentError>,
    },
    /// The intent may exist or come to exist; no effect was issued under it.
    #[error("whether the intent of attempt {attempt} was written is not known: {cause}")]
    ArmUnknown {
        /// The attempt.
        attempt: AttemptId,
        /// Why.
        #[source]
        cause: StoreError,
    },
    /// A plan contradicts itself, or an attempt met its own records. Always a fault of ours.
    #[error("internal fault: {reason}")]
    Internal {
        /// What is contradicted.
        reason: String,
    },
    /// A failpoint was told to fail.
    #[error(transparent)]
    Injected(#[from] Injected),
}

fn head_text(found: &Option<Pin>) -> String {
    found.as_ref().map_or_else(|| "missing".to_owned(), Pin::to_string)
}

impl WriteErrorKind {
    pub(crate) fn of(self, operation: &OperationId) -> WriteError {
        WriteError { operation: Some(operation.clone()), kind: self }
    }
}

impl From<BarrierError<PortError>> for WriteErrorKind {
    fn from(error: BarrierError<PortError>) -> Self {
        Self::Barrier(Box::new(error))
    }
}

impl From<BranchError> for WriteErrorKind {
    fn from(error: BranchError) -> Self {
        Self::Source(Box::new(error))
    }
}

impl From<BasesError> for WriteErrorKind {
    fn from(error: BasesError) -> Self {
        Self::Bases(Box::new(error))
    }
}

impl From<ManifestError> for WriteErrorKind {
    fn from(error: ManifestError) -> Self {
        Self::Read(error.into())
    }
}

impl From<SubstrateError> for WriteErrorKind {
    fn from(error: SubstrateError) -> Self {
        Self::Read(error.into())
    }
}

impl From<StoreError> for WriteErrorKind {
    fn from(error: StoreError) -> Self {
        Self::Read(error.into())
    }
}

impl From<PlanInvalid> for WriteErrorKind {
    fn from(invalid: PlanInvalid) -> Self {
        Self::Internal { reason: invalid.to_string() }
    }
}

impl From<WrongIntent> for WriteErrorKind {
    fn from(wrong: WrongIntent) -> Self {
        Self::Internal { reason: wrong.to_string() }
    }
}

impl WriteErrorKind {
    /// Stable code, for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Prepare(error) => error.code(),
            Self::Source(error) => error.code(),
            Self::Bases(error) => error.code(),
            Self::Gate(_) => "gate_timeout",
            Self::Blocked(_) => "recovery_blocked",
            Self::UnexplainedHead { .. } => "unexplained_head",
            Self::Barrier(_) => "storage",
            Self::Read(error) => error.code(),
            Self::Arm { .. } | Self::ArmUnknown { .. } => "storage",
            Self::Internal { .. } => "internal",
            Self::Injected(_) => "injected",
        }
    }
}

impl Answer for WriteError {
    fn code(&self) -> &'static str {
        self.kind.code()
    }

    fn may_retry(&self) -> bool {
        match &self.kind {
            WriteErrorKind::Prepare(error) => error.may_retry(),
            WriteErrorKind::Source(error) => error.may_retry(),
            WriteErrorKind::Bases(error) => error.may_retry(),
            WriteErrorKind::Read(error) => error.may_retry(),
            WriteErrorKind::Gate(_)
            | WriteErrorKind::Barrier(_)
            | WriteErrorKind::Arm { .. }
            | WriteErrorKind::ArmUnknown { .. } => true,
            WriteErrorKind::ReadOnly
            | WriteErrorKind::Blocked(_)
            | WriteErrorKind::UnexplainedHead { .. }
            | WriteErrorKind::Internal { .. }
            | WriteErrorKind::Injected(_) => false,
        }
    }

    /// No kind of this error is returned once an effect was issued: from then on the answer is an
    /// outcome.
    fn had_no_effect(&self) -> bool {
        true
    }

    fn help(&self) -> String {
        match &self.kind {
            WriteErrorKind::ReadOnly => "open the graph for writing".into(),
            WriteErrorKind::Prepare(error) => error.help(),
            WriteErrorKind::Source(error) => error.help(),
            WriteErrorKind::Bases(error) => error.help(),
            WriteErrorKind::Read(error) => error.help(),
            WriteErrorKind::Gate(_) => {
                "nothing was changed; try again when the named attempts are done".into()
            }
            WriteErrorKind::Blocked(object) => object.remedy.into(),
            WriteErrorKind::UnexplainedHead { .. } => {
                "the graph is unchanged and readable; something else than graphwrite committed to the \
                 table: find out what, then run `graphwrite verify <graph>`"
                    .into()
            }
            WriteErrorKind::Barrier(_)
            | WriteErrorKind::Arm { .. }
            | WriteErrorKind::ArmUnknown { .. } => {
                "the graph is unchanged; correct what the message names and send it again".into()
            }
            WriteErrorKind::Internal { .. } => {
                "the graph is unchanged; this is a fault of graphwrite, report it".into()
            }
            WriteErrorKind::Injected(_) => "the graph is unchanged; this was a test".into(),
        }
    }
}
