//! Did it land? What became of a caller's request, from its operation id alone (RFC 2.5, K2), and the
//! seal that makes "it did not" final. It must not know what a request writes.

use std::sync::Arc;

use graphwrite_manifest::{
    ManifestError, ManifestState, OutcomeKind, OutcomeRow, PublishOutcome, Transition,
};
use graphwrite_protocol_types::{
    Answer, AttemptId, BranchName, BranchToken, Intent, NameDecided, OperationId, OwnerRecord,
    Purpose, Receipt,
};
use graphwrite_recovery::{BlockingObject, Listing, LoadedIntent, RecoveryPort};
use graphwrite_substrate::NameError;
use thiserror::Error;

use crate::core::Core;
use crate::port::Port;
use crate::receipt::receipt_of_commit;
use crate::{PortError, ReadError};

/// Which request is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutcomeRequest {
    /// The caller's request.
    pub operation: OperationId,
    /// The incarnation of the branch that the request was sent to, as a receipt or an unknown
    /// outcome carries it; without it, the branch as it is now.
    pub branch: Option<BranchToken>,
    /// Whether to decide, if it has not committed, that it never will. Needs a handle for writing.
    pub seal: bool,
}

impl OutcomeRequest {
    /// A question that changes nothing.
    pub fn new(operation: OperationId) -> Self {
        Self { operation, branch: None, seal: false }
    }
}

/// What became of a request on one incarnation of a branch.
#[must_use = "only `Committed` says that the request was carried out"]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperationOutcome {
    /// Its commit is visible.
    Committed(Box<Receipt>),
    /// Its newest attempt that the manifest knows of was given up.
    Aborted {
        /// That attempt; for a sealed operation the id of the seal.
        attempt: AttemptId,
        /// Whether the operation is sealed, so that no attempt will ever commit. If not, an attempt
        /// that nobody sees yet still may.
        is_final: bool,
    },
    /// An attempt is armed and nobody has decided.
    Pending {
        /// The attempt.
        attempt: AttemptId,
        /// Who armed it.
        owner: OwnerRecord,
        /// Age of its last sign of progress, in milliseconds.
        age_ms: u64,
    },
    /// The branch incarnation that it was sent to is deleted. What it did there is gone with it, except
    /// for what a branch that was forked in time has inherited.
    BranchDeleted {
        /// The branch's name.
        branch: String,
        /// Number of the incarnation.
        incarnation: u64,
    },
    /// The graph has neither a row nor an intent of it. It may still be on its way; a request that
    /// changed nothing leaves no row either.
    Unknown,
}

/// What became of a request was not established; no answer is claimed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OutcomeError {
    /// A seal needs a handle for writing.
    #[error("the graph was opened read-only, and a seal is a write")]
    ReadOnly,
    /// The token is of another incarnation, whose operation ids say nothing here.
    #[error("`{}` of the question is not the branch `{}` of this graph", .asked.name, .found.name)]
    OtherIncarnation {
        /// The token of the question.
        asked: Box<BranchToken>,
        /// The branch that this handle has open.
        found: Box<BranchToken>,
    },
    /// The incarnation is deleted: nothing commits on it that anybody finds, and nothing is sealed.
    #[error("branch `{branch}`, incarnation {incarnation}, is deleted; there is nothing to seal")]
    BranchDeleted {
        /// The branch's name.
        branch: String,
        /// Number of the incarnation.
        incarnation: u64,
    },
    /// Nothing decides the operation, and a record that may be its intent cannot be understood.
    #[error("a pending intent may be the operation's: {0}")]
    Blocked(BlockingObject),
    /// Whether the seal landed is not known.
    #[error("whether operation {operation} was sealed is not known: {cause}")]
    SealUnknown {
        /// The operation.
        operation: OperationId,
        /// What stood in the way.
        cause: String,
    },
    /// The manifest contradicts itself; always a fault of ours.
    #[error("internal fault: {reason}")]
    Internal {
        /// What is contradicted.
        reason: String,
    },
    /// The storage or the manifest failed.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The records of attempts cannot be read.
    #[error(transparent)]
    Records(#[from] PortError),
}

impl From<ManifestError> for OutcomeError {
    fn from(error: ManifestError) -> Self {
        Self::Read(error.into())
    }
}

impl Answer for OutcomeError {
    fn code(&self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::OtherIncarnation { .. } => "other_incarnation",
            Self::BranchDeleted { .. } => "branch_deleted",
            Self::Blocked(_) => "recovery_blocked",
            Self::SealUnknown { .. } => "outcome_unknown",
            Self::Internal { .. } => "internal",
            Self::Read(error) => error.code(),
            Self::Records(_) => "storage",
        }
    }

    fn may_retry(&self) -> bool {
        match self {
            Self::SealUnknown { .. } | Self::Records(_) => true,
            Self::Read(error) => error.may_retry(),
            Self::ReadOnly
            | Self::OtherIncarnation { .. }
            | Self::BranchDeleted { .. }
            | Self::Blocked(_)
            | Self::Internal { .. } => false,
        }
    }

    fn had_no_effect(&self) -> bool {
        !matches!(self, Self::SealUnknown { .. })
    }

    fn help(&self) -> String {
        match self {
            Self::ReadOnly => "open the graph for writing, or ask without a seal".into(),
            Self::OtherIncarnation { .. } => {
                "an operation id is scoped to one incarnation of its branch; ask the graph and the \
                 branch that the request was sent to"
                    .into()
            }
            Self::BranchDeleted { .. } => {
                "send the request to a branch that lives; under the same id nothing of it is there"
                    .into()
            }
            Self::Blocked(object) => object.remedy.into(),
            Self::SealUnknown { .. } => {
                "seal it again: a second seal finds the first one, or the commit".into()
            }
            Self::Internal { .. } => {
                "the graph is unchanged; this is a fault of graphwrite, report it".into()
            }
            Self::Read(error) => error.help(),
            Self::Records(_) => {
                "nothing was changed; correct what the message names and ask again".into()
            }
        }
    }
}

/// Answers from the intents and the manifest, or seals.
pub(crate) async fn outcome(
    core: &Arc<Core>,
    request: OutcomeRequest,
) -> Result<OperationOutcome, OutcomeError> {
    let found = core.branch();
    if let Some(asked) = request.branch.filter(|asked| *asked != found) {
        return match was_deleted(core, &asked).await? {
            true => deleted(request.seal, asked),
            false => {
                let (asked, found) = (Box::new(asked), Box::new(found));
                Err(OutcomeError::OtherIncarnation { asked, found })
            }
        };
    }
    let answer = match (request.seal, core.purpose) {
        (true, Purpose::Read) => return Err(OutcomeError::ReadOnly),
        (true, Purpose::Write) if !is_current(core).await? => {
            return deleted(true, found);
        }
        (true, Purpose::Write) => seal(core, request.operation).await,
        (false, _) => ask(core, &request.operation).await,
    };
    // The name last, as for a commit: what lands on a branch after its deletion says nothing.
    if is_current(core).await? { answer } else { deleted(request.seal, found) }
}

async fn is_current(core: &Core) -> Result<bool, ReadError> {
    Ok(core.is_current().await?)
}

/// What is said of a request to an incarnation that is deleted.
fn deleted(seal: bool, branch: BranchToken) -> Result<OperationOutcome, OutcomeError> {
    let (branch, incarnation) = (branch.name, branch.record);
    match seal {
        true => Err(OutcomeError::BranchDeleted { branch, incarnation }),
        false => Ok(OperationOutcome::BranchDeleted { branch, incarnation }),
    }
}

/// Whether `asked` is an incarnation of this graph that is deleted, as far as records of it are left.
async fn was_deleted(core: &Core, asked: &BranchToken) -> Result<bool, OutcomeError> {
    let Ok(name) = asked.name.parse::<BranchName>() else { return Ok(false) };
    let listing = core.names.list(&name).await.map_err(ReadError::from)?;
    if !listing.is_over(asked.record) {
        return Ok(false);
    }
    match core.names.read::<NameDecided>(&name, asked.record).await {
        Ok(Some(decided)) => Ok(decided.live().is_some_and(|live| live.token == *asked)),
        // A record of a dead number may have been tidied away, or be damaged: its number says enough.
        Ok(None) | Err(NameError::Unusable { .. }) => Ok(true),
        Err(error) => Err(OutcomeError::Records(error.into())),
    }
}

/// Intents first, the manifest last: an attempt that ends in between is found in the manifest. Read
/// the other way round, one that has just committed would be taken for unknown.
async fn ask(core: &Arc<Core>, operation: &OperationId) -> Result<OperationOutcome, OutcomeError> {
    let armed = Armed::of(core, operation).await?;
    let state = core.manifest.state().await?;
    let row = state.outcome_of_operation(operation).await?;
    if let Some(decided) = row.as_ref().filter(|row| row.decides_operation()) {
        return answer_of(&state, decided).await;
    }
    if let Some(pending) = armed.undecided(&state).await? {
        return Ok(pending);
    }
    match row {
        Some(row) => answer_of(&state, &row).await,
        None => Ok(OperationOutcome::Unknown),
    }
}

async fn answer_of(
    state: &ManifestState,
    row: &OutcomeRow,
) -> Result<OperationOutcome, OutcomeError> {
    let Some(commit) = row.commit() else {
        let is_final = matches!(row.kind, OutcomeKind::Sealed { .. });
        return Ok(OperationOutcome::Aborted { attempt: row.attempt, is_final });
    };
    let commit = state.commit(commit).await?.ok_or_else(|| OutcomeError::Internal {
        reason: format!("commit {commit} has an outcome row but no lineage row"),
    })?;
    let receipt = receipt_of_commit(&commit, &state.base().branch, 0);
    Ok(OperationOutcome::Committed(Box::new(receipt)))
}

/// The armed intents of one operation.
struct Armed {
    /// In attempt order.
    intents: Vec<(Intent, u64)>,
    /// A record that cannot be understood, and so may be one of them.
    unreadable: Option<BlockingObject>,
}

impl Armed {
    async fn of(core: &Arc<Core>, operation: &OperationId) -> Result<Self, PortError> {
        let port = Port::new(core);
        let Listing { records, .. } = port.list_records().await?;
        let mut armed = Self { intents: Vec::new(), unreadable: None };
        for (attempt, records) in records.into_iter().filter(|(_, records)| records.intent) {
            match port.load_intent(attempt).await? {
                LoadedIntent::Found(intent) if intent.operation == *operation => {
                    armed.intents.push((*intent, records.age_ms));
                }
                LoadedIntent::Found(_) | LoadedIntent::Vanished => {}
                LoadedIntent::Unreadable { object, cause } => {
                    armed.unreadable = Some(BlockingObject::unreadable(object, attempt, &cause));
                }
            }
        }
        Ok(armed)
    }

    /// The newest attempt that no row has decided.
    async fn undecided(
        self,
        state: &ManifestState,
    ) -> Result<Option<OperationOutcome>, OutcomeError> {
        for (intent, age_ms) in self.intents.into_iter().rev() {
            let attempt = intent.attempt;
            if state.outcome_of_attempt(attempt).await?.is_none() {
                return Ok(Some(OperationOutcome::Pending {
                    attempt,
                    owner: intent.owner,
                    age_ms,
                }));
            }
        }
        self.unreadable.map_or(Ok(None), |object| Err(OutcomeError::Blocked(object)))
    }
}

/// One strict commit, or the answer that excludes it.
async fn seal(core: &Arc<Core>, operation: OperationId) -> Result<OperationOutcome, OutcomeError> {
    let state = core.manifest.state().await?;
    let transition = Transition::Seal {
        operation: operation.clone(),
        attempt: AttemptId::mint(core.options.env.as_ref()),
        by: core.options.process.instance(),
        reason: "sealed on request".to_owned(),
    };
    match core.manifest.publish(transition, &state).await {
        Ok(
            PublishOutcome::Sealed { state, outcome }
            | PublishOutcome::OperationTaken { state, outcome },
        ) => answer_of(&state, &outcome).await,
        Ok(other) => {
            Err(OutcomeError::Internal { reason: format!("the manifest answered {other:?}") })
        }
        Err(ManifestError::Unknown { cause, .. }) => {
            Err(OutcomeError::SealUnknown { operation, cause: cause.to_string() })
        }
        Err(error) => Err(error.into()),
    }
}
