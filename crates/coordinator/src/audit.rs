//! What recovery and seals have decided, as their outcome rows say it. Those rows are part of the
//! manifest commits that decided; there is no second record of them.

use graphwrite_manifest::{OutcomeKind, OutcomeRow};
use graphwrite_protocol_types::{
    AttemptId, BranchToken, CommitId, OperationId, ProcessInstanceId, WriterKind,
};

use crate::ReadError;
use crate::core::Core;

/// One decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// What was decided.
    pub decision: AuditedDecision,
    /// The attempt that it is about; for a seal an id of its own.
    pub attempt: AttemptId,
    /// The caller's request.
    pub operation: OperationId,
    /// The adapter of the commit that was made visible; a decision against an attempt does not keep it.
    pub writer: Option<WriterKind>,
    /// The process instance that decided; for `rolled_back` see the `aborted` before it.
    pub by: Option<ProcessInstanceId>,
    /// When, in microseconds since the Unix epoch on the clock of whoever decided.
    pub at_unix_us: u64,
    /// The manifest version that recorded it.
    pub manifest_version: u64,
}

/// What was decided about an attempt or an operation by somebody else than an owner that committed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuditedDecision {
    /// All of the attempt was there; its commit was made visible for its owner.
    RolledForward {
        /// The commit.
        commit: CommitId,
    },
    /// The attempt will never commit.
    Aborted {
        /// What kept it from being published.
        reason: String,
    },
    /// All that the aborted attempt had left is taken back.
    RolledBack,
    /// No attempt of the operation will ever commit.
    Sealed {
        /// Why, in the words of whoever sealed it.
        reason: String,
    },
    /// On main: the attempt was armed on a branch that is deleted; its intent was discarded.
    Discarded {
        /// The incarnation that is gone.
        branch: Box<BranchToken>,
    },
}

impl AuditedDecision {
    /// Stable name, for scripts.
    pub fn name(&self) -> &'static str {
        match self {
            Self::RolledForward { .. } => "rolled_forward",
            Self::Aborted { .. } => "aborted",
            Self::RolledBack => "rolled_back",
            Self::Sealed { .. } => "sealed",
            Self::Discarded { .. } => "discarded",
        }
    }

    /// Why it was decided so.
    pub fn reason(&self) -> &str {
        match self {
            Self::RolledForward { .. } => "all that it planned was there, and what it read held",
            Self::RolledBack => "all of its effects are settled",
            Self::Aborted { reason } | Self::Sealed { reason } => reason,
            Self::Discarded { .. } => "its branch was deleted",
        }
    }

    /// The commit that was made visible, if one was.
    pub fn commit(&self) -> Option<CommitId> {
        match self {
            Self::RolledForward { commit } => Some(*commit),
            Self::Aborted { .. }
            | Self::RolledBack
            | Self::Sealed { .. }
            | Self::Discarded { .. } => None,
        }
    }

    /// The branch that the attempt was armed on, where that is not the one of the audit.
    pub fn branch(&self) -> Option<&BranchToken> {
        match self {
            Self::Discarded { branch } => Some(branch),
            _ => None,
        }
    }
}

/// The newest decisions, newest first.
pub(crate) async fn audit(core: &Core, limit: usize) -> Result<Vec<AuditEntry>, ReadError> {
    let state = core.manifest.state().await?;
    let rows = state.audit(limit).await?;
    let mut entries: Vec<_> = rows.into_iter().filter_map(entry).collect();
    for entry in &mut entries {
        if let Some(commit) = entry.decision.commit() {
            entry.writer = state.commit(commit).await?.map(|commit| commit.writer);
        }
    }
    Ok(entries)
}

fn entry(row: OutcomeRow) -> Option<AuditEntry> {
    let (decision, by) = match row.kind {
        OutcomeKind::RolledForward { commit, by } => {
            (AuditedDecision::RolledForward { commit }, Some(by))
        }
        OutcomeKind::Aborted { by, reason } => (AuditedDecision::Aborted { reason }, Some(by)),
        OutcomeKind::Sealed { by, reason } => (AuditedDecision::Sealed { reason }, Some(by)),
        OutcomeKind::RolledBack => (AuditedDecision::RolledBack, None),
        OutcomeKind::Discarded { by, branch } => (AuditedDecision::Discarded { branch }, Some(by)),
        // An owner's own commit is history, not audit.
        _ => return None,
    };
    Some(AuditEntry {
        decision,
        attempt: row.attempt,
        operation: row.operation,
        writer: None,
        by,
        at_unix_us: row.recorded_at_unix_us,
        manifest_version: row.manifest_version,
    })
}
