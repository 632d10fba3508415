//! What a plan has staged, and the one way to commit it: with the permit of the armed attempt
//! (RFC 3.2). It must not know what the rows mean.

use graphwrite_protocol_types::{AttemptId, CommitPermit, DatasetPath};
use graphwrite_substrate::{
    Landing, StagedCommit, Store, TableHandle, create_dataset, strict_commit,
};

use crate::error::PerformError;

/// The staged commits of one attempt, in the order of its effects.
#[derive(Debug)]
pub struct StagedPayload {
    attempt: AttemptId,
    effects: Vec<StagedEffect>,
}

/// One staged commit and where it goes.
#[derive(Debug)]
pub(crate) struct StagedEffect {
    target: Target,
    staged: StagedCommit,
}

#[derive(Debug)]
enum Target {
    Over(Box<TableHandle>),
    Create(DatasetPath),
}

impl StagedEffect {
    pub(crate) fn over(table: TableHandle, staged: StagedCommit) -> Self {
        Self { target: Target::Over(Box::new(table)), staged }
    }

    pub(crate) fn create(path: DatasetPath, staged: StagedCommit) -> Self {
        Self { target: Target::Create(path), staged }
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

    /// Rows in the staged files.
    pub fn rows(&self) -> u64 {
        self.effects.iter().map(|effect| effect.staged.rows()).sum()
    }

    /// The files that staging has written, by their paths below the graph's root: garbage if the
    /// attempt is given up.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.effects.iter().flat_map(|effect| effect.staged.new_files()).map(String::as_str)
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
    permit: &CommitPermit<'_>,
    store: &Store,
) -> Result<Landing, PerformError> {
    let attempt = payload.attempt;
    if permit.attempt() != attempt {
        return Err(PerformError::OtherAttempt { permit: permit.attempt(), payload: attempt });
    }
    let staged = payload.effects.get(effect as usize);
    let StagedEffect { target, staged } =
        staged.ok_or(PerformError::NoSuchEffect { attempt, effect })?;
    let staged = staged.clone();
    let landing = match target {
        Target::Over(table) => Box::pin(strict_commit(permit, table, staged)).await?,
        Target::Create(path) => {
            Box::pin(create_dataset(permit, store, path.as_str(), staged)).await?
        }
    };
    Ok(landing)
}
