//! What can be asked of the manifest, and what it answers. Values only; deciding and storing are
//! elsewhere.

use graphwrite_protocol_types::{
    AttemptId, BranchToken, Intent, ManifestDelta, OperationId, Pin, ProcessInstanceId,
    RequestDigest, Stale, TableIdentity,
};
use thiserror::Error;

use crate::declared::SchemaFault;
use crate::outcome_row::OutcomeRow;
use crate::rows::CommitRow;
use crate::state::ManifestState;

/// One change of the manifest (K2): each is one strict commit, or none.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Transition<'a> {
    /// Stage G: the graph commit of an attempt whose effects are complete, with its `committed`
    /// row. Arbitrates the complete read set of `intent` at every try.
    Commit {
        /// The armed attempt.
        intent: &'a Intent,
        /// Its delta with every output slot bound.
        delta: &'a ManifestDelta,
    },
    /// The same commit, published by recovery. Its row names who published, unless that is the
    /// attempt's own owner.
    RollForward {
        /// The armed attempt.
        intent: &'a Intent,
        /// Its delta with every output slot bound.
        delta: &'a ManifestDelta,
        /// Who publishes.
        by: ProcessInstanceId,
    },
    /// Decides that attempts will never commit: all of them, or, if one of them has been decided
    /// before, none.
    Abort {
        /// The attempts.
        attempts: Vec<AbortedAttempt>,
        /// Who decides.
        by: ProcessInstanceId,
    },
    /// Decides that no attempt of an operation will ever commit on this incarnation of the branch.
    /// Authority-first: it has no intent, no effect, and changes no head. An attempt that is under
    /// way can then only be aborted.
    Seal {
        /// The operation.
        operation: OperationId,
        /// An id minted for this row alone; a try whose answer was lost is recognised by it.
        attempt: AttemptId,
        /// Who decides.
        by: ProcessInstanceId,
        /// Why, for people.
        reason: String,
    },
    /// Moves pins to the content-equal versions that compensation made (K3). A pin that is no
    /// longer where the move starts is left alone.
    MovePins {
        /// The aborted attempts. No two of them move one pin.
        attempts: Vec<CompensatedAttempt>,
    },
    /// On main: says of attempts on deleted branches that their intents are discarded (RFC 7). Those
    /// of which it is said already are left out; it changes no head and decides no request.
    Discard {
        /// The attempts.
        attempts: Vec<DiscardedAttempt>,
        /// Who discards.
        by: ProcessInstanceId,
    },
    /// Moves a pin to the fence directly above it, which anybody may do at any time.
    AdoptFence(PinMove),
}

/// An attempt that will never commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbortedAttempt {
    /// The attempt.
    pub attempt: AttemptId,
    /// Its request.
    pub operation: OperationId,
    /// Digest of the request's content.
    pub request: RequestDigest,
    /// Why, for people.
    pub reason: String,
}

/// An attempt on a branch that is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscardedAttempt {
    /// The attempt.
    pub attempt: AttemptId,
    /// Its request.
    pub operation: OperationId,
    /// Digest of the request's content.
    pub request: RequestDigest,
    /// The incarnation that is gone.
    pub branch: BranchToken,
}

/// What the manifest follows of the compensation of one aborted attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompensatedAttempt {
    /// The attempt.
    pub attempt: AttemptId,
    /// The moves.
    pub moves: Vec<PinMove>,
    /// Whether every effect is settled, so that the attempt is `rolled_back`.
    pub rolled_back: bool,
}

/// One pin that moves; content and lineage stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinMove {
    /// The table.
    pub identity: TableIdentity,
    /// Where the pin is.
    pub from: Pin,
    /// Where it goes.
    pub to: Pin,
}

/// What became of a pin's move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinFate {
    /// The pin moved.
    Moved,
    /// It was there already.
    AlreadyThere,
    /// It is neither where the move starts nor where it ends, or its table has no rows.
    Elsewhere,
}

/// How a transition ended. Every variant carries the state that it was judged by or that it made.
#[must_use = "only `Committed` says that the commit is visible"]
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum PublishOutcome {
    /// The graph commit is visible: made by this call, or found to be made by an earlier one.
    Committed {
        /// The newest state.
        state: ManifestState,
        /// The commit.
        commit: Box<CommitRow>,
    },
    /// This call has decided that the attempts will never commit.
    Aborted {
        /// The newest state.
        state: ManifestState,
        /// Their rows, in the order of the request.
        outcomes: Vec<OutcomeRow>,
    },
    /// The operation will never commit: sealed by this call, or found to be sealed by an earlier
    /// one.
    Sealed {
        /// The newest state.
        state: ManifestState,
        /// The row.
        outcome: Box<OutcomeRow>,
    },
    /// Pins were moved, as far as they were where they should be.
    PinsMoved {
        /// The newest state.
        state: ManifestState,
        /// What became of each, in the order of the request.
        fates: Vec<(TableIdentity, PinFate)>,
    },
    /// Every attempt of the request has a `discarded` row: of this call, or of an earlier one.
    Discarded {
        /// The newest state.
        state: ManifestState,
    },
    /// A member of the read set has changed; nothing was written.
    Stale {
        /// The state that was compared.
        state: ManifestState,
        /// The member.
        stale: Stale,
    },
    /// The outcome of the attempt, or of one of the attempts, was decided before; nothing was
    /// written.
    AlreadyDecided {
        /// The state in which the row was found.
        state: ManifestState,
        /// The first such row.
        outcome: Box<OutcomeRow>,
    },
    /// Another attempt of the same operation, or for a seal any attempt of it, has committed;
    /// nothing was written.
    OperationTaken {
        /// The state in which the row was found.
        state: ManifestState,
        /// The row.
        outcome: Box<OutcomeRow>,
    },
    /// The operation of the attempt was sealed; nothing was written.
    OperationSealed {
        /// The state in which the row was found.
        state: ManifestState,
        /// The row.
        outcome: Box<OutcomeRow>,
    },
}

impl PublishOutcome {
    /// The newest state that the call has seen.
    pub fn state(&self) -> &ManifestState {
        match self {
            Self::Committed { state, .. }
            | Self::Aborted { state, .. }
            | Self::Sealed { state, .. }
            | Self::PinsMoved { state, .. }
            | Self::Discarded { state }
            | Self::Stale { state, .. }
            | Self::AlreadyDecided { state, .. }
            | Self::OperationTaken { state, .. }
            | Self::OperationSealed { state, .. } => state,
        }
    }
}

/// A transition contradicts itself or the state; nothing was written. Always a fault of ours.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidTransition {
    /// A head of a table that the schema does not declare.
    #[error("table {identity} is not declared by the accepted schema")]
    Undeclared {
        /// The table.
        identity: TableIdentity,
    },
    /// A table that was dropped for good.
    #[error("table {identity} was dropped and can never come back")]
    Tombstoned {
        /// The table.
        identity: TableIdentity,
    },
    /// A delta that is not the one that was armed with its output slots bound (RFC 2.4).
    #[error("the delta is not the one that attempt {attempt} was armed with")]
    OtherDelta {
        /// The attempt.
        attempt: AttemptId,
    },
    /// A delta that names a table twice.
    #[error("table {identity} changes twice")]
    Twice {
        /// The table.
        identity: TableIdentity,
    },
    /// An output slot that is not bound to a version.
    #[error("the new head of table {identity} is not bound to a version")]
    Unbound {
        /// The table.
        identity: TableIdentity,
    },
    /// A head on a ref that the branch has inherited and may not commit to.
    #[error(
        "table {identity} is on a ref that the branch has inherited; its first write makes one of its own"
    )]
    InheritedRef {
        /// The table.
        identity: TableIdentity,
    },
    /// A stable id or an incarnation id that another table has.
    #[error("table {identity} shares an id with table {other}")]
    SharedIdentity {
        /// The table.
        identity: TableIdentity,
        /// The table that has the id.
        other: TableIdentity,
    },
    /// A schema that takes a declaration away while the table still has a head.
    #[error("table {identity} is no longer declared but not dropped")]
    NotDropped {
        /// The table.
        identity: TableIdentity,
    },
    /// The new schema is not what it says.
    #[error("the new schema is refused: {0}")]
    Schema(#[from] SchemaFault),
    /// Exact parents without the head in the read set.
    #[error("the commit names its parents, but the branch head is not in its read set")]
    ParentsNotRead,
    /// Parents of which the first is not the head, or a merge that was not counted on from the head.
    #[error("the commit's parents do not follow from the branch head")]
    ForeignParents,
    /// A pin that would not move to a fence directly above it.
    #[error("{to} is not a fence directly above {from}")]
    NotAFence {
        /// Where the pin is.
        from: Pin,
        /// Where it should go.
        to: Pin,
    },
    /// A transition of attempts that names none.
    #[error("the transition names no attempt")]
    NoAttempt,
    /// A transition that names an attempt twice.
    #[error("attempt {attempt} is named twice")]
    AttemptTwice {
        /// The attempt.
        attempt: AttemptId,
    },
    /// Intents are discarded on main, which is never deleted.
    #[error("attempt {attempt} cannot be recorded as discarded on a branch")]
    DiscardedOnBranch {
        /// The attempt.
        attempt: AttemptId,
    },
    /// Compensation of an attempt that was not aborted.
    #[error("attempt {attempt} has no `aborted` row, so nothing of it may be taken back")]
    NotAborted {
        /// The attempt.
        attempt: AttemptId,
    },
}
