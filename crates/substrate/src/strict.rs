//! K1: a commit that lands at exactly the version after the one it was staged over, with its
//! pre-minted transaction uuid, or not at all. This file owns the verdict; nothing above may guess.

use std::sync::Arc;

use graphwrite_protocol_types::{CommitPermit, PhysicalRef, Pin, TxUuid};
use lance::Dataset;
use lance::dataset::CommitBuilder;
use lance::dataset::transaction::Transaction;
use lance_table::io::commit::{CommitHandler, ManifestLocation};
use tracing::debug;

use crate::handler::{SlotWrite, StrictHandler};
use crate::slot::{SlotRecord, ref_directory, ref_path, unquoted};
use crate::staging::StagedCommit;
use crate::tables::{TableHandle, Version};
use crate::unwinding::whole;
use crate::{Cause, Store, SubstrateError, TableVersion, read_slot};

/// What became of a strict commit.
#[derive(Debug)]
#[must_use = "a commit that is not known to have landed or to have lost must be resolved"]
pub enum Landing {
    /// The slot holds this commit.
    Landed {
        /// The version that the commit made.
        version: TableVersion,
        /// The table at that version.
        table: TableHandle,
    },
    /// The slot holds another commit: this one had no effect and never will.
    SlotTaken {
        /// Whose commit it is; none when newer versions exist and the slot itself is gone.
        winner: Option<TxUuid>,
    },
    /// Nobody knows. The commit may have landed, and may land late, until its slot is closed (K3).
    Unknown(Cause),
}

impl Landing {
    /// The version and the table, if the commit is known to have landed.
    pub fn landed(self) -> Option<(TableVersion, TableHandle)> {
        match self {
            Self::Landed { version, table } => Some((version, table)),
            Self::SlotTaken { .. } | Self::Unknown(_) => None,
        }
    }
}

/// Commits `staged` to the ref of `table`, at the version after `table`'s or not at all.
///
/// Committing the same staged commit again is safe: it lands at most once, and a repetition reports
/// the landing of the first.
///
/// # Errors
///
/// An error says that this call has sent no commit. It says nothing about an earlier call with the
/// same staged commit that ended in [`Landing::Unknown`].
pub async fn strict_commit(
    permit: &CommitPermit<'_>,
    table: &TableHandle,
    staged: StagedCommit,
) -> Result<Landing, SubstrateError> {
    if staged.read_version() != table.version() {
        return Err(SubstrateError::BaseMismatch {
            path: table.path().to_owned(),
            staged: staged.read_version(),
            handle: table.version(),
        });
    }
    announce(permit, table.path(), &staged);
    let slot = Slot::after(table, &staged);
    if let Some(found) = slot.found_by_repetition(&staged).await? {
        return slot.occupied(&found).await;
    }
    let handler = StrictHandler::at(slot.version, slot.store.planted());
    let strict: Arc<dyn CommitHandler> = handler.clone();
    let commit = CommitBuilder::new(Arc::clone(table.dataset()))
        .with_commit_handler(strict)
        .with_max_retries(0)
        .with_skip_auto_cleanup(true)
        .execute(staged.into_transaction());
    slot.judge(handler.slot_write_after(commit).await).await
}

/// Creates the dataset at `path` with `staged` as its version 1, unless a version 1 exists.
///
/// # Errors
///
/// As for [`strict_commit`].
pub async fn create_dataset(
    permit: &CommitPermit<'_>,
    store: &Store,
    path: &str,
    staged: StagedCommit,
) -> Result<Landing, SubstrateError> {
    announce(permit, path, &staged);
    let slot = Slot::first(store, path, &staged);
    if staged.read_version() != 0 {
        return Err(SubstrateError::BaseMismatch {
            path: path.to_owned(),
            staged: staged.read_version(),
            handle: 0,
        });
    }
    if let Some(found) = slot.found_by_repetition(&staged).await? {
        return slot.occupied(&found).await;
    }
    let handler = StrictHandler::at(slot.version, slot.store.planted());
    let strict: Arc<dyn CommitHandler> = handler.clone();
    let uri = store.uri_of(path);
    let commit = CommitBuilder::new(uri.as_str())
        .with_session(store.session())
        .with_commit_handler(strict)
        .with_max_retries(0)
        .with_skip_auto_cleanup(true)
        // Not part of a staged create; without it the flag would be lost.
        .use_stable_row_ids(true)
        .execute(staged.into_transaction());
    slot.judge(handler.slot_write_after(commit).await).await
}

/// Makes a ref out of the version at `source`: lands `transaction`, a clone, as the ref's first version
/// `clone`, which has the same number. The caller has seen that slot empty: Lance must not see a clone again that has landed.
///
/// # Errors
///
/// As for [`strict_commit`].
pub(crate) async fn create_ref(
    permit: &CommitPermit<'_>,
    store: &Store,
    (path, physical_ref): (&str, &PhysicalRef),
    clone: &Pin,
    source: ManifestLocation,
    transaction: Transaction,
) -> Result<Landing, SubstrateError> {
    let (reason, attempt) = (permit.reason(), permit.attempt());
    debug!(?reason, %attempt, path, %physical_ref, %clone, "strict clone");
    let slot = Slot::of_ref(store, (path, physical_ref), clone);
    let handler = StrictHandler::cloning(source, slot.store.planted());
    let strict: Arc<dyn CommitHandler> = handler.clone();
    ref_path(path, physical_ref)?;
    let uri = store.uri_of(&ref_directory(path, physical_ref));
    let commit = CommitBuilder::new(uri.as_str())
        .with_session(store.session())
        .with_commit_handler(strict)
        .with_max_retries(0)
        .with_skip_auto_cleanup(true)
        .use_stable_row_ids(true)
        .execute(transaction);
    slot.judge(handler.slot_write_after(commit).await).await
}

/// What a clone that is sent again comes to when its slot is found to be taken.
pub(crate) async fn found_ref(
    store: &Store,
    place: (&str, &PhysicalRef),
    clone: &Pin,
    found: &SlotRecord,
) -> Result<Landing, SubstrateError> {
    Slot::of_ref(store, place, clone).occupied(found).await
}

fn announce(permit: &CommitPermit<'_>, path: &str, staged: &StagedCommit) {
    let (reason, attempt) = (permit.reason(), permit.attempt());
    debug!(?reason, %attempt, path, uuid = %staged.uuid(), base = staged.read_version(), "strict commit");
}

/// How a commit ended: what Lance says, and what our handler saw.
struct Ending {
    result: lance::Result<Dataset>,
    write: SlotWrite,
}

impl StrictHandler {
    async fn slot_write_after(
        &self,
        commit: impl Future<Output = lance::Result<Dataset>> + Send,
    ) -> Ending {
        let result = whole(Box::pin(commit)).await;
        Ending { result, write: self.slot_write() }
    }
}

/// The slot that a commit wants, and the name it wants to see in it.
struct Slot {
    store: Store,
    path: String,
    physical_ref: PhysicalRef,
    version: u64,
    uuid: TxUuid,
}

impl Slot {
    fn after(table: &TableHandle, staged: &StagedCommit) -> Self {
        Self {
            store: table.store().clone(),
            path: table.path().to_owned(),
            physical_ref: table.physical_ref().clone(),
            version: staged.read_version() + 1,
            uuid: staged.uuid().clone(),
        }
    }

    fn first(store: &Store, path: &str, staged: &StagedCommit) -> Self {
        Self {
            store: store.clone(),
            path: path.to_owned(),
            physical_ref: PhysicalRef::Main,
            version: 1,
            uuid: staged.uuid().clone(),
        }
    }

    fn of_ref(store: &Store, (path, physical_ref): (&str, &PhysicalRef), clone: &Pin) -> Self {
        Self {
            store: store.clone(),
            path: path.to_owned(),
            physical_ref: physical_ref.clone(),
            version: clone.version,
            uuid: clone.tx_uuid.clone(),
        }
    }

    /// What a repetition finds in the slot. Lance must not see a commit again that has landed: it
    /// would take its refusal for a loss and delete the transaction file of the landed version.
    async fn found_by_repetition(
        &self,
        staged: &StagedCommit,
    ) -> Result<Option<SlotRecord>, SubstrateError> {
        if staged.is_first_attempt() { Ok(None) } else { self.read().await }
    }

    async fn judge(self, ending: Ending) -> Result<Landing, SubstrateError> {
        let cause = match ending.result {
            Ok(dataset) if ending.write != SlotWrite::NotReached => return Ok(self.landed(dataset)),
            // Unreachable with the handler in place; if it ever were, storage decides.
            Ok(_) => lance::Error::not_supported("a commit that passed by the strict handler"),
            Err(error) => error,
        };
        let found = self.read().await;
        if let Ok(Some(slot)) = &found {
            return self.occupied(slot).await;
        }
        match ending.write {
            SlotWrite::NotReached => Err(SubstrateError::engine("the commit", &self.path, cause)),
            // A newer version exists and ours was not sent, so it is not and will not be there.
            SlotWrite::Refused if found.is_ok() => Ok(Landing::SlotTaken { winner: None }),
            SlotWrite::Refused => Ok(Landing::Unknown(cause.into())),
            SlotWrite::Sent | SlotWrite::Taken | SlotWrite::Landed => {
                Ok(Landing::Unknown(cause.into()))
            }
        }
    }

    async fn read(&self) -> Result<Option<SlotRecord>, SubstrateError> {
        read_slot(&self.store, &self.path, &self.physical_ref, self.version).await
    }

    /// The storage has spoken: ours, or somebody else's.
    async fn occupied(self, slot: &SlotRecord) -> Result<Landing, SubstrateError> {
        if slot.version.tx_uuid != self.uuid {
            return Ok(Landing::SlotTaken { winner: Some(slot.version.tx_uuid.clone()) });
        }
        let version = Version::Exact(self.version);
        match TableHandle::open(&self.store, &self.path, &self.physical_ref, version).await {
            Ok(table) => Ok(Landing::Landed { version: slot.version.clone(), table }),
            // It has landed, but there is no handle to give: the caller reads again.
            Err(error) => Ok(Landing::Unknown(error.into())),
        }
    }

    fn landed(self, dataset: Dataset) -> Landing {
        let version = TableVersion {
            version: dataset.manifest().version,
            tx_uuid: self.uuid.clone(),
            e_tag: dataset.manifest_location().e_tag.as_deref().map(unquoted),
        };
        let table =
            TableHandle::at_landed(self.store, self.path, self.physical_ref, dataset, &version);
        Landing::Landed { version, table }
    }
}
