//! Defects planted in the model of a write, each of which takes one rule out.

/// One rule left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Defect {
    /// Every rule is kept.
    None,
    /// A commit goes on top of whatever came between (K1).
    NotStrict,
    /// Compensation begins without a durable `aborted` (K2).
    NoAbortRow,
    /// A vacant slot counts as closed (K3).
    NoFence,
    /// Only the tables that are written are in the read set.
    TouchedTablesOnly,
    /// The effects start from the HEAD that was found, published or not.
    ArmOverDrift,
    /// A roll-forward records a commit and a request of its own.
    IdsMintedAtRecovery,
    /// A restarted request goes on under the identity of its first attempt.
    OneIdForAll,
    /// Recovery reads the manifest before the tables.
    AuthorityFirst,
    /// Attempts share the name of the dataset or ref that they make (K4).
    NamesReused,
    /// The intent is armed after the effects.
    IntentAfterEffects,
    /// Cleanup also takes what an attempt that is not yet armed may name.
    NoAgeFloor,
    /// A conflict is answered before the attempt is taken back.
    AnswerBeforeTakingBack,
}
