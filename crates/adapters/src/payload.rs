//! What a plan has staged, and the one way to commit it: with the permit of the armed attempt
//! (RFC 3.2). It must not know what the rows mean.

use graphwrite_protocol_types::{AttemptId, CommitPermit, DatasetPath, Intent};
use graphwrite_substrate::{
    Landing, StagedCommit, Store, TableHandle, create_dataset, strict_commit,
};

use crate::error::PerformError;
use crate::fork::Fork;

/// The staged commits of one attempt, in the order of its effects.
#[derive(Debug)]
pub struct StagedPayload {
    attempt: AttemptId,
    effects: Vec<StagedEffect>,
}

/// One commit and where it goes.
#[derive(Debug)]
pub(crate) enum StagedEffect {
    /// To a ref that is there.
    Over(Box<TableHandle>, StagedCommit),
    /// To a dataset that it makes.
    Create(DatasetPath, StagedCommit),
    /// To a ref that is made first.
    Fork(Box<Fork>),
}

impl StagedEffect {
    fn rows(&self) -> u64 {
        match self {
            Self::Over(_, staged) | Self::Create(_, staged) => staged.rows(),
            Self::Fork(fork) => fork.rows(),
        }
    }

    fn files(&self) -> &[String] {
        match self {
            Self::Over(_, staged) | Self::Create(_, staged) => staged.new_files(),
            Self::Fork(_) => &[],
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

/// Stage F: performs effect `effect` with the permit that arming produced. Performing it again is
/// safe: it lands at most once (K1).
///
/// # Errors
/// This call has issued no commit. A commit whose fate is open is [`Landing::Unknown`].
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
        StagedEffect::Over(table, staged) => {
            Box::pin(strict_commit(permit, table, staged.clone())).await?
        }
        StagedEffect::Create(path, staged) => {
            Box::pin(create_dataset(permit, store, path.as_str(), staged.clone())).await?
        }
        StagedEffect::Fork(fork) => Box::pin(fork.perform((intent, effect), permit, store)).await?,
    };
    Ok(landing)
}
