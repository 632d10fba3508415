//! The closed catalogue of defects that the tests plant in the real code, to show that they can fail
//! (docs/defects.md). Without the feature `defects` none can be planted, and every question for one
//! is the constant `false`. It must not know where a switch is.

macro_rules! defects {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A rule of the protocol that a build of the tests can be told to break.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Defect { $($(#[$doc])* $variant,)* }

        impl Defect {
            /// Every defect.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in docs/defects.md.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

defects! {
    /// A commit lands at whatever version comes next, rebased over what came between (against K1).
    NoStrictCommit = "no_strict_commit",
    /// The newest version is looked up through Lance's hint, which assumes that no version is
    /// missing (design 01 section 3).
    HintTrusted = "hint_trusted",
    /// The intent becomes durable after the first effect (against RFC 3.2).
    IntentAfterEffect = "intent_after_effect",
    /// The intent goes before the publication (against RFC 4.8).
    IntentDeletedEarly = "intent_deleted_early",
    /// HEAD of a target is not compared with its pin before arming (against RFC 4.4).
    ArmedOverDrift = "armed_over_drift",
    /// Tables that were only asked are no members of the read set (against RFC 2.2).
    ProbesLeftOut = "probes_left_out",
    /// After a lost manifest slot the read set is not compared again (against RFC 4.7).
    ArbitratedOnce = "arbitrated_once",
    /// The attempt's id is the request's, for every attempt of it (against K2).
    OneIdForAttempts = "one_id_for_attempts",
    /// Outcomes are searched among the newest rows only (against K2).
    ColdNotSearched = "cold_not_searched",
    /// A step without an answer counts as one without effect (against K3).
    UnknownTakenForNone = "unknown_taken_for_none",
    /// Recovery compensates before `aborted` is durable (against K2).
    NoAbortedRow = "no_aborted_row",
    /// A slot in which nothing is counts as closed (against K3).
    NoFence = "no_fence",
    /// Recovery reads the manifest before the tables (design 01 section 7).
    AuthorityFirst = "authority_first",
    /// A roll-forward publishes under an id of its own (design 01 section 7).
    IdsMintedAtRecovery = "ids_minted_at_recovery",
    /// A name is decided live before its native branch is complete (design 01 section 8).
    BranchDecidedEarly = "branch_decided_early",
    /// A branch is made of a source that nobody has looked at since the beginning (design 01
    /// section 8).
    SourceNotRevalidated = "source_not_revalidated",
    /// Every incarnation of every name lives on a native branch of one name (against K4).
    NativeNameReused = "native_name_reused",
    /// A commit to a branch is acknowledged without a look at the branch's name (design 01 section 5).
    BranchNotLookedAt = "branch_not_looked_at",
    /// The first write of a branch to a table goes to the ref that the branch has inherited (design 01
    /// section 6).
    FirstTouchOnParent = "first_touch_on_parent",
    /// A merge does not read the head of its target (against RFC 2.2).
    MergeHeadLeftOut = "merge_head_left_out",
    /// A merge that is prepared again keeps what it has found out about its target (against RFC 3.4).
    MergeNotComparedAgain = "merge_not_compared_again",
    /// Every attempt of a merge captures its source anew (against RFC 6.2).
    MergeSourceRecaptured = "merge_source_recaptured",
    /// A merge does not ask whether its source stays (design 01 sections 4 and 9).
    MergeSourceNotAsked = "merge_source_not_asked",
    /// A merge commits to the refs and datasets of its source and publishes them (design 01 section 6).
    MergeToSource = "merge_to_source",
    /// Of the commits that one table needs only the first is made (design 01 section 6).
    ChainCutShort = "chain_cut_short",
    /// An attempt without effects counts as complete (against RFC 4.8 and BLOCKER-10).
    NoEffectPublished = "no_effect_published",
}

/// The defect that was planted in a storage, if any. Whatever build opens the storage has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Planted {
    #[cfg(feature = "defects")]
    defect: Option<Defect>,
}

impl Planted {
    /// Plants `defect`.
    #[cfg(feature = "defects")]
    pub const fn one(defect: Defect) -> Self {
        Self { defect: Some(defect) }
    }

    /// Whether `defect` was planted.
    #[inline]
    pub const fn has(self, defect: Defect) -> bool {
        #[cfg(feature = "defects")]
        if let Some(planted) = self.defect {
            return planted as u8 == defect as u8;
        }
        // Read in both builds.
        let _ = defect;
        false
    }
}

/// Nothing can be planted, so nothing is carried and every question is answered when it is compiled.
#[cfg(not(feature = "defects"))]
const _: () = {
    assert!(size_of::<Planted>() == 0);
    assert!(!Planted {}.has(Defect::NoStrictCommit));
};
