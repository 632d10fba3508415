//! The first write of a branch to a table that it inherits: a ref of its own, and the rows on it. The
//! files of a ref lie below it, so they are staged when it is there: after the intent (RFC 4.2), the
//! only files that are.

use graphwrite_protocol_types::{CommitPermit, Intent};
use graphwrite_substrate::{
    Cloning, ForkCheck, Landing, PutOutcome, RefFork, Store, TableHandle, check_fork, clone_ref,
    strict_commit, write_ref_contents,
};
use tokio::sync::OnceCell;

use crate::chain::{Chain, Portion, stage_portions};
use crate::change::Added;
use crate::error::PerformError;

/// What will be committed to a ref that does not exist yet.
#[derive(Debug)]
pub(crate) struct Fork {
    /// Addresses of the version that the ref is made of: they are the same on the ref.
    portions: Vec<Portion>,
    made: OnceCell<TableHandle>,
    staged: OnceCell<Chain>,
}

/// A step of making the ref whose fate is open.
struct Open(Landing);

impl Fork {
    pub(crate) fn new(portions: Vec<Portion>) -> Self {
        Self { portions, made: OnceCell::new(), staged: OnceCell::new() }
    }

    pub(crate) fn rows(&self) -> u64 {
        self.portions.iter().filter_map(|portion| portion.adds.as_ref()).map(Added::rows).sum()
    }

    /// How many commits on the ref are known to have landed.
    pub(crate) fn landed(&self) -> usize {
        self.staged.get().map_or(0, Chain::landed)
    }

    /// Makes the ref, stages on it and commits. Every step lands at most once: again is safe (K1).
    pub(crate) async fn perform(
        &self,
        (intent, effect): (&Intent, u32),
        permit: &CommitPermit<'_>,
        store: &Store,
    ) -> Result<Landing, PerformError> {
        let no_effect = || PerformError::NoSuchEffect { attempt: intent.attempt, effect };
        let fork = RefFork::of_effect(intent, effect).ok_or_else(no_effect)?;
        let planned = intent.effects.get(effect as usize).ok_or_else(no_effect)?;
        let table = match self.made.get() {
            Some(table) => table.clone(),
            None => match make(&fork, permit, store).await? {
                Ok(table) => self.made.get_or_init(|| async { table }).await.clone(),
                Err(Open(landing)) => return Ok(landing),
            },
        };
        let staging = || Box::pin(stage_portions(&table, &self.portions, &planned.steps));
        let chain = self.staged.get_or_try_init(staging).await?;
        let first = |staged| async { Ok(strict_commit(permit, &table, staged).await?) };
        chain.perform(permit, first).await
    }
}

/// Both phases of a ref.
async fn make(
    fork: &RefFork,
    permit: &CommitPermit<'_>,
    store: &Store,
) -> Result<Result<TableHandle, Open>, PerformError> {
    let ready = match check_fork(store, fork).await? {
        ForkCheck::Ready(ready) => ready,
        // Nothing was written: no step of this effect can ever land.
        ForkCheck::SourceGone { found } => {
            return Ok(Err(Open(Landing::SlotTaken { winner: found })));
        }
    };
    let cloned = match Box::pin(clone_ref(permit, store, &ready)).await? {
        Cloning::Cloned(cloned) => cloned,
        Cloning::Unknown(cause) => return Ok(Err(Open(Landing::Unknown(cause)))),
    };
    match write_ref_contents(permit, store, &cloned).await? {
        PutOutcome::Created | PutOutcome::AlreadyExists => Ok(Ok(cloned.table().clone())),
        PutOutcome::Unknown(cause) => Ok(Err(Open(Landing::Unknown(cause.into())))),
    }
}
