//! The `outcome` row: what ended an attempt or a request (K2), and its three byte forms
//! (docs/format.md). It must not know who may write which row.

use graphwrite_protocol_types::{
    AttemptId, BranchToken, CommitId, OperationId, ProcessInstanceId, RequestDigest,
};
use serde::{Deserialize, Serialize};

/// The form of rows that say what the first form cannot.
pub(crate) const OUTCOME_VERSION_2: u16 = 2;

/// The form of rows about attempts on other branches. Its fields are those of the second.
pub(crate) const OUTCOME_VERSION_3: u16 = 3;

/// How an attempt ended, or that a request never will be carried out (K2). Rows are only ever
/// added: `rolled_back` follows `aborted`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutcomeRow {
    /// The attempt; for a seal an id that was minted for this row alone.
    pub attempt: AttemptId,
    /// The caller's request.
    pub operation: OperationId,
    /// Digest of the request's content; none for a seal, which names a request that it has not
    /// seen.
    pub request: Option<RequestDigest>,
    /// Number of the name record of the incarnation whose manifest has the row: the scope of
    /// `operation`, except in a `discarded` row, which names the incarnation itself.
    pub branch_record: u64,
    /// The manifest version that recorded it.
    pub manifest_version: u64,
    /// What happened.
    pub kind: OutcomeKind,
    /// When, in microseconds since the Unix epoch on the recorder's clock. For display only.
    pub recorded_at_unix_us: u64,
}

/// What an outcome row says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum OutcomeKind {
    /// The attempt's commit is part of the graph, and its owner published it.
    Committed {
        /// The commit.
        commit: CommitId,
    },
    /// The attempt will never commit; what it left behind is taken back (K3).
    Aborted {
        /// The process instance that decided.
        by: ProcessInstanceId,
        /// Why, for people.
        reason: String,
    },
    /// All that the attempt left behind has been taken back.
    RolledBack,
    /// No attempt of the operation will ever commit on this incarnation of the branch.
    Sealed {
        /// The process instance that decided.
        by: ProcessInstanceId,
        /// Why, for people.
        reason: String,
    },
    /// As `Committed`, but recovery found the attempt complete and published it for its owner.
    RolledForward {
        /// The commit.
        commit: CommitId,
        /// The process instance that published.
        by: ProcessInstanceId,
    },
    /// On main: the attempt was armed on a branch that is deleted, and its intent was discarded
    /// (RFC 7). Nothing that it made was touched; it says nothing of any request on main.
    Discarded {
        /// The process instance that discarded it.
        by: ProcessInstanceId,
        /// The incarnation that is gone.
        branch: Box<BranchToken>,
    },
}

impl OutcomeRow {
    /// The commit, if the attempt committed.
    pub fn commit(&self) -> Option<CommitId> {
        match self.kind {
            OutcomeKind::Committed { commit } | OutcomeKind::RolledForward { commit, .. } => {
                Some(commit)
            }
            OutcomeKind::Aborted { .. }
            | OutcomeKind::RolledBack
            | OutcomeKind::Sealed { .. }
            | OutcomeKind::Discarded { .. } => None,
        }
    }

    /// Why the operation will never commit, if it is sealed.
    pub fn sealed(&self) -> Option<&str> {
        match &self.kind {
            OutcomeKind::Sealed { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// Whether the row was written on this incarnation of a branch. What a branch has inherited from
    /// its fork is history and decides nothing on it: an incarnation's rows begin after its fork, and
    /// two branches may have the same record number.
    pub fn is_of(&self, branch: &BranchToken) -> bool {
        self.branch_record == branch.record && self.manifest_version > branch.identifier.forked_at()
    }

    /// Whether the row speaks of a request that was sent to this incarnation of a branch.
    pub(crate) fn is_of_request_to(&self, branch: &BranchToken) -> bool {
        self.is_of(branch) && !self.is_discarded()
    }

    /// Whether the row says that an intent of a deleted branch was discarded.
    pub fn is_discarded(&self) -> bool {
        matches!(self.kind, OutcomeKind::Discarded { .. })
    }

    /// Whether the row decides the operation for good, whatever its other attempts do: it has
    /// committed, or never will. At most one row of an operation on one branch incarnation does.
    pub fn decides_operation(&self) -> bool {
        self.commit().is_some() || self.sealed().is_some()
    }
}

/// The fields in the order of their bytes; the forms differ in what they say of the request.
#[derive(Serialize, Deserialize)]
struct Form<R> {
    attempt: AttemptId,
    operation: OperationId,
    request: R,
    branch_record: u64,
    manifest_version: u64,
    kind: OutcomeKind,
    recorded_at_unix_us: u64,
}

impl<R> Form<R> {
    fn of(row: &OutcomeRow, request: R) -> Self {
        Self {
            attempt: row.attempt,
            operation: row.operation.clone(),
            request,
            branch_record: row.branch_record,
            manifest_version: row.manifest_version,
            kind: row.kind.clone(),
            recorded_at_unix_us: row.recorded_at_unix_us,
        }
    }

    fn row(self, request: impl FnOnce(R) -> Option<RequestDigest>) -> OutcomeRow {
        OutcomeRow {
            attempt: self.attempt,
            operation: self.operation,
            request: request(self.request),
            branch_record: self.branch_record,
            manifest_version: self.manifest_version,
            kind: self.kind,
            recorded_at_unix_us: self.recorded_at_unix_us,
        }
    }
}

/// A row whose kind and request contradict each other.
#[derive(Debug)]
pub(crate) struct Contradicts;

impl OutcomeRow {
    /// The version of the form in which a row of its kind is written, and nothing else.
    fn version(&self) -> u16 {
        match self.kind {
            OutcomeKind::Committed { .. }
            | OutcomeKind::Aborted { .. }
            | OutcomeKind::RolledBack => crate::rows::ROW_VERSION,
            OutcomeKind::Sealed { .. } | OutcomeKind::RolledForward { .. } => OUTCOME_VERSION_2,
            OutcomeKind::Discarded { .. } => OUTCOME_VERSION_3,
        }
    }

    fn is_consistent(&self) -> bool {
        self.request.is_none() == self.sealed().is_some()
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>, postcard::Error> {
        let version = self.version();
        match self.request {
            Some(request) if version == crate::rows::ROW_VERSION => {
                postcard::to_stdvec(&(version, Form::of(self, request)))
            }
            request => {
                postcard::to_stdvec(&(version.max(OUTCOME_VERSION_2), Form::of(self, request)))
            }
        }
    }

    /// The row in `bytes`, which follow the `version`; none for a version that does not exist.
    pub(crate) fn decode(version: u16, bytes: &[u8]) -> Option<Result<Self, Contradicts>> {
        let decoded = match version {
            crate::rows::ROW_VERSION => whole(bytes).map(|form: Form<_>| form.row(Some)),
            OUTCOME_VERSION_2 | OUTCOME_VERSION_3 => {
                whole(bytes).map(|form: Form<_>| form.row(|request| request))
            }
            _ => return None,
        };
        let row = decoded.filter(|row| row.version() == version && row.is_consistent());
        Some(row.ok_or(Contradicts))
    }
}

fn whole<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    match postcard::take_from_bytes::<T>(bytes) {
        Ok((value, [])) => Some(value),
        _ => None,
    }
}
