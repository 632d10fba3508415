//! What a plan has staged, and the one way to commit it: with the permit of the armed attempt
//! (RFC 3.2). It must not know what the rows mean.

use graphwrite_protocol_types::{AttemptId, CommitPermit, DatasetPath, Intent};
use graphwrite_substrate::{Landing, Store, TableHandle, create_dataset, strict_commit};

use crate::chain::Chain;
use crate::error::PerformError;
use crate::fork::Fork;

/// The staged commits of one attempt, in the order of its effects.
#[derive(Debug)]
pub struct StagedPayload {
    attempt: AttemptId,
    effects: Vec<StagedEffect>,
}

/// Commits and where they go.
#[derive(Debug)]
pub(crate) enum StagedEffect {
    /// To a ref that is there.
    Over(Box<TableHandle>, Chain),
    /// To a dataset that it makes.
    Create(DatasetPath, Chain),
    /// To a ref that is made first.
    Fork(Box<Fork>),
}

impl StagedEffect {
    fn rows(&self) -> u64 {
        match self {
            Self::Over(_, chain) | Self::Create(_, chain) => chain.rows(),
            Self::Fork(fork) => fork.rows(),
        }
    }

    fn files(&self) -> impl Iterator<Item = &String> {
        let chain = match self {
            Self::Over(_, chain) | Self::Create(_, chain) => Some(chain),
            Self::Fork(_) => None,
        };
        chain.into_iter().flat_map(Chain::files)
    }

    fn landed(&self) -> usize {
        match self {
            Self::Over(_, chain) | Self::Create(_, chain) => chain.landed(),
            Self::Fork(fork) => fork.landed(),
        }
    }
}

impl StagedPayload {
    pub(crate) fn new(attempt: AttemptId, effects: Vec<StagedEffect>) -> Self {
        Self { attempt, effects }
    }

    /// How many effects there are.
    pub fn effects(&self) -> u32 {
        self.effects.len() as u32
    }

    /// How many commits of an effect are known to have landed.
    pub fn landed(&self, effect: u32) -> usize {
        self.effects.get(effect as usize).map_or(0, StagedEffect::landed)
    }

    /// Rows to be added.
    pub fn rows(&self) -> u64 {
        self.effects.iter().map(StagedEffect::rows).sum()
    }

    /// The files that staging has written, by their paths below the graph's root: garbage if the
    /// attempt is given up.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.effects.iter().flat_map(StagedEffect::files).map(String::as_str)
    }
}

/// Stage F: performs effect `effect` with the permit that arming produced, all of its commits in order.
/// Performing it again is safe: each lands at most once (K1), and it goes on from the last that is known
/// to have landed.
///
/// Whatever is answered but [`Landing::Landed`] is about the first commit that has not landed;
/// [`StagedPayload::landed`] says how many have.
///
/// # Errors
/// The commit that was next was not issued. One whose fate is open is [`Landing::Unknown`].
pub async fn perform(
    effect: u32,
    payload: &StagedPayload,
    intent: &Intent,
    permit: &CommitPermit<'_>,
    store: &Store,
) -> Result<Landing, PerformError> {
    let attempt = payload.attempt;
    if permit.attempt() != attempt {
        return Err(PerformError::OtherAttempt { permit: permit.attempt(), payload: attempt });
    }
    let staged = payload.effects.get(effect as usize);
    let landing = match staged.ok_or(PerformError::NoSuchEffect { attempt, effect })? {
        StagedEffect::Over(table, chain) => {
            let first = |staged| async { Ok(strict_commit(permit, table, staged).await?) };
            Box::pin(chain.perform(permit, first)).await?
        }
        StagedEffect::Create(path, chain) => {
            let create =
                |staged| async { Ok(create_dataset(permit, store, path.as_str(), staged).await?) };
            Box::pin(chain.perform(permit, create)).await?
        }
        StagedEffect::Fork(fork) => Box::pin(fork.perform((intent, effect), permit, store)).await?,
    };
    Ok(landing)
}
