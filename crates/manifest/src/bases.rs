//! The bases of a merge: the best common ancestors of two commits, each with the state that it made,
//! opened wherever its line is. It must not know what a merge does with them (RFC 6.2).

use graphwrite_protocol_types::{Answer, BaseSearch, PhysicalRef, Reach, Tip};
use graphwrite_substrate::{SubstrateError, TableHandle, Version};
use thiserror::Error;

use crate::error::ManifestError;
use crate::manifest::Manifest;
use crate::past::PastState;
use crate::reading::{MANIFEST_PATH, ReadFault, read_state};
use crate::state::ManifestState;

/// Best common ancestors that a merge is judged by at most: branches that both sides have taken over, each by
/// merges of its own.
pub const MERGE_BASES_MAX: usize = 32;

/// How two commits stand to each other.
#[derive(Debug)]
pub enum MergeBases {
    /// The target descends from the source already: there is nothing to merge.
    Contained,
    /// The source descends from the target, which is the base.
    FastForward,
    /// Both have commits of their own since these, in descending order of generation. There is at least
    /// one; several when the two have merged each other crosswise, or both have taken over the same
    /// branches. Not one of them alone may then stand for the base, since what another has brought in would
    /// be taken for a change: the base is what they come to when they are merged.
    Diverged(Vec<MergeBase>),
    /// They have no commit in common; the base is the graph without rows.
    Unrelated,
}

/// A best common ancestor.
#[derive(Debug, Clone)]
pub struct MergeBase {
    /// The commit by its place.
    pub tip: Tip,
    /// The graph as it left it.
    pub state: ManifestState,
    /// The best common ancestors of this base and of all before it, taken together: what it is merged with
    /// those by. None for the first, and where one is gone or they are too many, so that nobody can say
    /// what the bases come to; empty where they have nothing in common.
    pub older: Option<Vec<ManifestState>>,
}

impl MergeBase {
    fn first((tip, state): (Tip, ManifestState)) -> Self {
        Self { tip, state, older: None }
    }
}

/// The bases of a merge are not known; nothing was written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BasesError {
    /// The state of a base is not there any more: its branch was deleted and its data removed, or its
    /// version was cleaned up. No other base is taken instead, since that could give another result.
    #[error("commit {} is a base of the merge, but its version {} on `{}` is gone", .tip.commit, .tip.version, .tip.line)]
    Gone {
        /// The base.
        tip: Tip,
    },
    /// Something else has the place of the base.
    #[error("commit {} is a base of the merge, but version {} on `{}` is another", .tip.commit, .tip.version, .tip.line)]
    Other {
        /// The base.
        tip: Tip,
    },
    /// More than [`MERGE_BASES_MAX`].
    #[error(
        "the two have more than {max} best common ancestors, as branches that each has taken over by merges of its own"
    )]
    TooMany {
        /// The limit.
        max: usize,
    },
    /// The manifest could not be read.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

impl Answer for BasesError {
    fn code(&self) -> &'static str {
        match self {
            Self::Gone { .. } => "merge_base_gone",
            Self::Other { .. } => "manifest_damaged",
            Self::TooMany { .. } => "too_many_merge_bases",
            Self::Manifest(error) => error.code(),
        }
    }

    fn may_retry(&self) -> bool {
        match self {
            Self::Manifest(error) => error.may_retry(),
            Self::Gone { .. } | Self::Other { .. } | Self::TooMany { .. } => false,
        }
    }

    fn had_no_effect(&self) -> bool {
        true
    }

    fn help(&self) -> String {
        match self {
            Self::Gone { .. } => {
                "the graph is unchanged; what the two have in common cannot be read any more: bring the \
                 rows over with `graphwrite export --branch <source> <graph>` and `graphwrite load`"
                    .into()
            }
            Self::Other { .. } => {
                "the graph is unchanged; files of it were replaced from outside: restore them from a copy, \
                 then run `graphwrite verify <graph>`"
                    .into()
            }
            Self::TooMany { .. } => {
                "the graph is unchanged; merge the branches that both have taken over into one of their own, \
                 that one into both, and then these"
                    .into()
            }
            Self::Manifest(error) => error.help(),
        }
    }
}

/// One side of a merge: a commit, and what it descends from.
#[derive(Debug, Clone, Copy)]
pub struct MergeSide<'a> {
    /// The commit; none before the first one.
    pub tip: Option<&'a Tip>,
    /// Its reach.
    pub reach: &'a Reach,
}

impl Manifest {
    /// The bases of a merge of `source` into `target`. No commit row is read: one state is opened for each
    /// base, and none when one side descends from the other.
    ///
    /// # Errors
    /// A base is not known, or not there.
    pub async fn merge_bases(
        &self,
        target: MergeSide<'_>,
        source: MergeSide<'_>,
    ) -> Result<MergeBases, BasesError> {
        if source.tip.is_none_or(|tip| target.reach.covers(tip)) {
            return Ok(MergeBases::Contained);
        }
        if target.tip.is_none_or(|tip| source.reach.covers(tip)) {
            return Ok(MergeBases::FastForward);
        }
        let found = self.best_common(target.reach, source.reach).await?;
        let mut bases: Vec<MergeBase> = found.into_iter().map(MergeBase::first).collect();
        Box::pin(self.add_older(&mut bases)).await?;
        Ok(if bases.is_empty() { MergeBases::Unrelated } else { MergeBases::Diverged(bases) })
    }

    async fn best_common(
        &self,
        one: &Reach,
        other: &Reach,
    ) -> Result<Vec<(Tip, ManifestState)>, BasesError> {
        let mut search = BaseSearch::between(one, other);
        let mut found = Vec::new();
        while let Some(tip) = search.next_found() {
            if found.len() == MERGE_BASES_MAX {
                return Err(BasesError::TooMany { max: MERGE_BASES_MAX });
            }
            let state = self.base_at(&tip).await?;
            if search.is_open() {
                search.exclude(&state.head_reach().await?);
            }
            found.push((tip, state));
        }
        Ok(found)
    }

    /// Says of every base but the first by what it is merged with those before it.
    async fn add_older(&self, bases: &mut [MergeBase]) -> Result<(), BasesError> {
        let [first, others @ ..] = bases else { return Ok(()) };
        if others.is_empty() {
            return Ok(());
        }
        let mut before = first.state.head_reach().await?;
        for base in others {
            let reach = base.state.head_reach().await?;
            base.older = match self.best_common(&before, &reach).await {
                Ok(older) => Some(older.into_iter().map(|(_, state)| state).collect()),
                Err(BasesError::Manifest(error)) => return Err(error.into()),
                Err(_) => None,
            };
            reach.tips().for_each(|tip| before.add(tip.clone()));
        }
        Ok(())
    }

    async fn base_at(&self, tip: &Tip) -> Result<ManifestState, BasesError> {
        match self.state_of_tip(tip).await? {
            PastState::Found(state) => Ok(state),
            PastState::Gone => Err(BasesError::Gone { tip: tip.clone() }),
            PastState::Other { .. } => Err(BasesError::Other { tip: tip.clone() }),
        }
    }

    /// The state that the commit at `tip` made, on whatever line it was published, that of a deleted
    /// branch included as long as its data is there. It is read as a state of this handle's branch.
    ///
    /// # Errors
    /// The storage failed, or what it holds is not a manifest that this build reads.
    pub async fn state_of_tip(&self, tip: &Tip) -> Result<PastState, ManifestError> {
        let known = self.known_state();
        if known.version() == tip.version && known.head_tip().as_ref() == Some(tip) {
            return Ok(PastState::Found(known));
        }
        let (line, version): (PhysicalRef, _) =
            (tip.line.physical_ref(), Version::Exact(tip.version));
        let opened = TableHandle::open(self.store(), MANIFEST_PATH, &line, version);
        let table = match Box::pin(opened).await {
            Err(SubstrateError::TableNotFound { .. }) => return Ok(PastState::Gone),
            opened => opened.map_err(ReadFault::from)?,
        };
        let state = read_state(table, self.purpose(), self.token()).await?;
        if state.head_tip().as_ref() == Some(tip) {
            return Ok(PastState::Found(state));
        }
        Ok(PastState::Other { found: state.base().manifest.clone() })
    }
}
