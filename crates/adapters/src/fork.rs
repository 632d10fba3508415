//! The first write of a branch to a table that it inherits: a ref of its own, and the rows on it. The
//! files of a ref lie below it, so they are staged when it is there: after the intent (RFC 4.2), the
//! only files that are.

use graphwrite_protocol_types::{CommitPermit, Intent, TxUuid};
use graphwrite_substrate::{
    Cloning, ForkCheck, Landing, PutOutcome, RefFork, RowAddresses, StagedCommit, Store,
    SubstrateError, TableHandle, check_fork, clone_ref, stage_change, strict_commit,
    write_ref_contents,
};
use tokio::sync::OnceCell;

use crate::change::Added;
use crate::error::PerformError;

/// What will be committed to a ref that does not exist yet.
#[derive(Debug)]
pub(crate) struct Fork {
    removes: RowAddresses,
    adds: Option<Added>,
    uuid: TxUuid,
    made: OnceCell<TableHandle>,
    staged: OnceCell<StagedCommit>,
}

/// A step of making the ref whose fate is open.
struct Open(Landing);

impl Fork {
    /// `removes` are addresses of the version that the ref is made of: they are the same on the ref.
    pub(crate) fn new(removes: RowAddresses, adds: Option<Added>, uuid: TxUuid) -> Self {
        Self { removes, adds, uuid, made: OnceCell::new(), staged: OnceCell::new() }
    }

    pub(crate) fn rows(&self) -> u64 {
        self.adds.as_ref().map_or(0, Added::rows)
    }

    /// Makes the ref, stages on it and commits. Every step lands at most once: again is safe (K1).
    pub(crate) async fn perform(
        &self,
        (intent, effect): (&Intent, u32),
        permit: &CommitPermit<'_>,
        store: &Store,
    ) -> Result<Landing, PerformError> {
        let no_fork = PerformError::NoSuchEffect { attempt: intent.attempt, effect };
        let fork = RefFork::of_effect(intent, effect).ok_or(no_fork)?;
        let table = match self.made.get() {
            Some(table) => table.clone(),
            None => match make(&fork, permit, store).await? {
                Ok(table) => self.made.get_or_init(|| async { table }).await.clone(),
                Err(Open(landing)) => return Ok(landing),
            },
        };
        let staged = self.staged.get_or_try_init(|| Box::pin(self.stage(&table))).await?;
        Ok(Box::pin(strict_commit(permit, &table, staged.clone())).await?)
    }

    async fn stage(&self, table: &TableHandle) -> Result<StagedCommit, SubstrateError> {
        let adds = self.adds.as_ref().map(Added::stream);
        stage_change(table, &self.removes, adds, self.uuid.clone()).await
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
