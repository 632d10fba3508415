//! The closed catalogue of places at which a test may stop, fail or kill a write.

use std::fmt;
use std::str::FromStr;

use crate::InvalidId;

macro_rules! failpoints {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A named place in the write path.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Failpoint { $($(#[$doc])* $variant,)* }

        impl Failpoint {
            /// Every failpoint, in the order in which a write meets them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name used on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

failpoints! {
    /// `init`: before the creating commit of `__manifest`.
    PreGenesis = "pre_genesis",
    /// `init`: after the creating commit of `__manifest`.
    PostGenesis = "post_genesis",
    /// Stage B is complete: files are staged, nothing is gated.
    PostPrepare = "post_prepare",
    /// Stage D is complete: the next step makes the intent durable.
    PreArm = "pre_arm",
    /// The intent is durable, no effect was issued.
    PostArm = "post_arm",
    /// One effect has landed; effects run one after the other while this failpoint is set.
    PostEffect = "post_effect",
    /// All effects have landed, the manifest commit was not issued.
    PrePublish = "pre_publish",
    /// The manifest commit has landed, nothing is cleaned up.
    PostPublish = "post_publish",
    /// The intent is about to be deleted.
    PreIntentDelete = "pre_intent_delete",
    /// Branch creation: the name is begun, nothing of its native branch is there.
    BranchPostBegin = "branch_post_begin",
    /// Branch creation: the native branch is cloned, its contents are missing.
    BranchPostClone = "branch_post_clone",
    /// Branch creation: the native branch is complete, the name is undecided.
    BranchPostContents = "branch_post_contents",
    /// Branch creation: the name is decided, nobody has been told.
    BranchPostDecide = "branch_post_decide",
    /// Recovery: the `aborted` row is durable, nothing is compensated.
    RecoveryPostAbort = "recovery_post_abort",
    /// Recovery: one effect has been compensated.
    RecoveryPostCompensation = "recovery_post_compensation",
    /// Recovery: the outcome is recorded, the intent still exists.
    RecoveryPreRetire = "recovery_pre_retire",
}

impl fmt::Display for Failpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Failpoint {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        Self::ALL.iter().copied().find(|point| point.name() == text).ok_or_else(|| InvalidId {
            what: "failpoint",
            text: text.to_owned(),
            rule: "one of the names in the catalogue of failpoints",
        })
    }
}
