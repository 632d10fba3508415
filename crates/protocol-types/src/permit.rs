//! Capabilities. A Lance commit needs a permit, and a permit comes from an armed attempt, from a
//! recovery mode, or from the manifest authority; nothing else can make one.

use std::marker::PhantomData;

use crate::AttemptId;

/// Why a commit is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitReason {
    /// A planned effect of an attempt whose intent is durable (RFC 3.2).
    Effect,
    /// A fence, a restore or a removal after `aborted` is durable (K3).
    Compensation,
    /// A commit of `__manifest` itself (K2).
    Authority,
}

/// The right to make one attempt's commits; required by every committing function of the
/// substrate. It borrows from what granted it, so it cannot outlive the armed attempt.
///
/// ```compile_fail,E0451
/// use graphwrite_protocol_types::{AttemptId, CommitPermit, CommitReason};
/// let attempt = AttemptId::from_u128(1);
/// let forged = CommitPermit { reason: CommitReason::Effect, attempt, granted_by: std::marker::PhantomData };
/// ```
#[derive(Debug)]
pub struct CommitPermit<'a> {
    reason: CommitReason,
    attempt: AttemptId,
    granted_by: PhantomData<&'a ()>,
}

impl CommitPermit<'_> {
    pub(crate) fn effect(attempt: AttemptId) -> Self {
        Self { reason: CommitReason::Effect, attempt, granted_by: PhantomData }
    }

    pub(crate) fn compensation(attempt: AttemptId) -> Self {
        Self { reason: CommitReason::Compensation, attempt, granted_by: PhantomData }
    }

    /// The permit of the manifest authority. Only the manifest crate may name this function;
    /// `cargo xtask audit-entrypoints` enforces it.
    pub fn authority(attempt: AttemptId) -> Self {
        Self { reason: CommitReason::Authority, attempt, granted_by: PhantomData }
    }

    /// Why the commit is allowed.
    pub fn reason(&self) -> CommitReason {
        self.reason
    }

    /// The attempt on whose behalf the commit is made.
    pub fn attempt(&self) -> AttemptId {
        self.attempt
    }
}

/// Recovery that may publish a complete attempt but compensates nothing.
#[derive(Debug, Clone, Copy)]
pub struct RollForward(());

/// Recovery that may also abort and compensate.
#[derive(Debug, Clone, Copy)]
pub struct Full(());

impl RollForward {
    /// Grants the mode. Only the coordinator's write and recovery entries may name this function;
    /// `cargo xtask audit-entrypoints` enforces it.
    pub fn granted() -> Self {
        Self(())
    }
}

impl Full {
    /// Grants the mode. Only the coordinator's write and recovery entries may name this function;
    /// `cargo xtask audit-entrypoints` enforces it.
    pub fn granted() -> Self {
        Self(())
    }

    /// The right to fence, restore and remove what `attempt` left behind.
    pub fn permit(&self, attempt: AttemptId) -> CommitPermit<'_> {
        CommitPermit::compensation(attempt)
    }
}

/// What a recovery pass may do (design 01 section 7).
#[derive(Debug, Clone, Copy)]
pub enum RecoveryMode {
    /// Reads only.
    Probe,
    /// Finalizes and rolls forward.
    RollForward(RollForward),
    /// Everything.
    Full(Full),
}
