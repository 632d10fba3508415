//! What is told of a merge, beside its outcome.

use graphwrite_adapters::{MergeReview, MergeStrategy};
use graphwrite_protocol_types::{CommitId, WriteOutcome};

/// How a merge ended.
#[must_use = "the outcome says whether the merge happened"]
#[derive(Debug, Clone, PartialEq)]
pub struct MergeAnswer {
    /// As of every write.
    pub outcome: WriteOutcome,
    /// What was compared in the attempt that decided; none where none came so far, or the request was
    /// answered with the receipt that it had before.
    pub report: Option<MergeReport>,
}

/// What a merge compared, and what it comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeReport {
    /// What is merged.
    pub source: MergedSource,
    /// The head that it was computed against; none for a branch without commits.
    pub target: Option<CommitId>,
    /// How the two stand to each other.
    pub relation: MergeRelation,
    /// The commits that both sides were compared with: the best common ancestors. None where there is
    /// nothing to merge or nothing in common.
    pub bases: Vec<CommitId>,
    /// What becomes of contradicting rows.
    pub strategy: MergeStrategy,
    /// Rows and conflicts.
    pub review: MergeReview,
}

/// The commit that is merged, captured when the request began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedSource {
    /// The branch on which it was found.
    pub branch: String,
    /// The incarnation of that branch; 0 for main.
    pub incarnation: u64,
    /// The commit; none when the branch has none.
    pub commit: Option<CommitId>,
}

/// How the source of a merge stands to its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MergeRelation {
    /// The target has it already: there is nothing to merge.
    Contained,
    /// It descends from the target's head.
    FastForward,
    /// Both have commits of their own.
    Diverged,
    /// They have no commit in common.
    Unrelated,
}

impl MergeRelation {
    /// The name shown to people and programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Contained => "contained",
            Self::FastForward => "fast_forward",
            Self::Diverged => "diverged",
            Self::Unrelated => "unrelated",
        }
    }
}
