//! Refs beside main (K4): made in Lance's two phases, probed, and removed only when they are exactly
//! what one attempt made. It must not know what a branch is, nor when a ref may go.

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use graphwrite_protocol_types::{CommitPermit, PhysicalFact, TxUuid};
use lance_table::io::commit::{ManifestNamingScheme, VERSIONS_DIR};

use crate::ref_fork::{RefFork, contents_directory};
use crate::slot::ref_directory;
use crate::strict::{create_ref, found_ref};
use crate::{
    Cause, Landing, ObjectEntry, PutOutcome, RawObjects, SlotRecord, Store, SubstrateError,
    TableHandle, read_slot,
};

const AT_ONCE: usize = 16;

/// What a look at the version to be cloned comes to.
#[derive(Debug)]
#[must_use]
pub enum ForkCheck {
    /// It is the version that was meant.
    Ready(Box<ReadyFork>),
    /// It is not there, or is another one.
    SourceGone {
        /// The transaction that has the version's number.
        found: Option<TxUuid>,
    },
}

/// A ref whose source was proven, and may be cloned.
#[derive(Debug, Clone)]
pub struct ReadyFork {
    fork: RefFork,
    source_bytes: u64,
    present: Option<SlotRecord>,
}

/// What became of the first phase.
#[derive(Debug)]
#[must_use]
pub enum Cloning {
    /// The clone is there; it lacks its contents.
    Cloned(Box<ClonedRef>),
    /// Nobody knows whether the clone is there, or will be. Checking and sending it again is safe.
    Unknown(Cause),
}

/// A ref after its first phase.
#[derive(Debug, Clone)]
pub struct ClonedRef {
    fork: RefFork,
    table: TableHandle,
    source_bytes: u64,
}

/// What is there of a ref.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefProbe {
    /// The first phase.
    pub clone: PhysicalFact,
    /// The second phase.
    pub contents: PhysicalFact,
}

/// What became of the removal of a ref.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum RefRemoval {
    /// Nothing of it is there any more.
    Removed,
    /// It holds a version that its attempt did not make; nothing was removed.
    NotOurs {
        /// The version.
        version: u64,
        /// The transaction that made it.
        found: TxUuid,
    },
    /// Its contents are not what its attempt writes; nothing was removed.
    ForeignContents,
}

impl ClonedRef {
    /// The ref at its first version.
    pub fn table(&self) -> &TableHandle {
        &self.table
    }
}

/// Whether the version to be cloned is the one that was meant, and whether the clone is there
/// already: two reads side by side, past every cache. For a native branch it follows the beginning's
/// record, so that whoever could take the version away has seen that record.
pub async fn check_fork(store: &Store, fork: &RefFork) -> Result<ForkCheck, SubstrateError> {
    let version = fork.at.version;
    let source = read_slot(store, &fork.path, &fork.from, version);
    let present = read_slot(store, &fork.path, &fork.to, version);
    let (source, present) = tokio::try_join!(source, present)?;
    match source {
        Some(slot) if slot.version.tx_uuid == fork.at.tx_uuid => {
            let (fork, source_bytes) = (fork.clone(), slot.manifest_bytes);
            Ok(ForkCheck::Ready(Box::new(ReadyFork { fork, source_bytes, present })))
        }
        other => Ok(ForkCheck::SourceGone { found: other.map(|slot| slot.version.tx_uuid) }),
    }
}

/// The first phase: the clone, one strict commit as the ref's first version.
///
/// # Errors
/// This call has sent no commit.
pub async fn clone_ref(
    permit: &CommitPermit<'_>,
    store: &Store,
    ready: &ReadyFork,
) -> Result<Cloning, SubstrateError> {
    let ReadyFork { fork, source_bytes, present } = ready;
    let (place, clone) = ((fork.path.as_str(), &fork.to), fork.clone_pin());
    let landing = match present {
        Some(found) => found_ref(store, place, &clone, found).await?,
        None => {
            let (source, transaction) = (fork.source(*source_bytes)?, fork.transaction(store));
            create_ref(permit, store, place, &clone, source, transaction).await?
        }
    };
    Ok(match landing {
        Landing::Landed { table, .. } => {
            let (fork, source_bytes) = (fork.clone(), *source_bytes);
            Cloning::Cloned(Box::new(ClonedRef { fork, table, source_bytes }))
        }
        // The ref's name is the attempt's own: no other can have been there first (K4).
        Landing::SlotTaken { winner } => Cloning::Unknown(
            format!("version {} of {} belongs to {winner:?}", fork.at.version, fork.to).into(),
        ),
        Landing::Unknown(cause) => Cloning::Unknown(cause),
    })
}

/// The second phase: Lance's `BranchContents`, which makes the ref known to Lance and keeps Lance
/// from removing what it is made of. Sending it again is safe.
///
/// # Errors
/// The contents certainly do not exist: refused by the storage.
pub async fn write_ref_contents(
    permit: &CommitPermit<'_>,
    store: &Store,
    cloned: &ClonedRef,
) -> Result<PutOutcome, SubstrateError> {
    let (fork, reason, attempt) = (&cloned.fork, permit.reason(), permit.attempt());
    tracing::debug!(?reason, %attempt, path = fork.path, name = %fork.to, "contents of a ref");
    let bytes =
        serde_json::to_vec_pretty(&fork.contents(cloned.source_bytes)).map_err(|error| {
            SubstrateError::invalid(&fork.path, format!("the contents of a ref: {error}"))
        })?;
    Ok(store.put_if_absent(&fork.contents_path(), Bytes::from(bytes), fork.attempt).await?)
}

/// What is there of a ref, past every cache: two reads side by side.
pub async fn probe_ref(store: &Store, fork: &RefFork) -> Result<RefProbe, SubstrateError> {
    let clone = read_slot(store, &fork.path, &fork.to, fork.at.version);
    let contents_path = fork.contents_path();
    let (clone, contents) = tokio::join!(clone, store.get(&contents_path));
    let clone = match clone {
        Ok(None) => PhysicalFact::Absent,
        Ok(Some(slot)) if slot.version.tx_uuid == fork.clone => PhysicalFact::Own,
        Ok(Some(_)) | Err(SubstrateError::Damaged { .. } | SubstrateError::Misnamed { .. }) => {
            PhysicalFact::Foreign
        }
        Err(error) => return Err(error),
    };
    let contents = match contents? {
        None => PhysicalFact::Absent,
        Some(bytes) if fork.is_contents(&bytes) => PhysicalFact::Own,
        Some(_) => PhysicalFact::Foreign,
    };
    Ok(RefProbe { clone, contents })
}

/// As [`probe_ref`], for a ref that is to go: files of a clone that never got a version count, too.
/// One LIST more, side by side.
pub async fn probe_remains(store: &Store, fork: &RefFork) -> Result<RefProbe, SubstrateError> {
    let directory = ref_directory(&fork.path, &fork.to);
    let (probe, objects) = tokio::join!(probe_ref(store, fork), store.list(&directory));
    let (mut probe, objects) = (probe?, objects?);
    if probe.clone == PhysicalFact::Absent && !objects.is_empty() {
        probe.clone = PhysicalFact::Own;
    }
    Ok(probe)
}

/// The names of the refs of a dataset that have contents: one LIST.
pub async fn refs_with_contents(store: &Store, path: &str) -> Result<Vec<String>, SubstrateError> {
    let directory = contents_directory(path);
    let name = |object: ObjectEntry| {
        let file = object.path.strip_prefix(&directory)?.strip_prefix('/')?;
        Some(file.strip_suffix(".json")?.to_owned())
    };
    Ok(store.list(&directory).await?.into_iter().filter_map(name).collect())
}

/// Removes a ref that nobody can have published, if it is exactly what its attempt made: every one of
/// its versions is named after the attempt, and its contents are the attempt's (pitfalls 28, 29).
/// Contents go first, as in Lance, then versions, newest first, then files. Idempotent; a repetition
/// removes what is left.
///
/// # Errors
/// The storage failed; some of the ref may be removed.
pub async fn delete_ref(
    permit: &CommitPermit<'_>,
    store: &Store,
    fork: &RefFork,
) -> Result<RefRemoval, SubstrateError> {
    let (reason, attempt) = (permit.reason(), permit.attempt());
    tracing::debug!(?reason, %attempt, path = fork.path, name = %fork.to, "ref removal");
    let directory = ref_directory(&fork.path, &fork.to);
    let (objects, contents_path) = (store.list(&directory).await?, fork.contents_path());
    let versions = format!("{directory}/{VERSIONS_DIR}/");
    let (manifests, rest): (Vec<_>, Vec<_>) = objects
        .into_iter()
        .map(|object| object.path)
        .partition(|object| object.starts_with(&versions));
    if let Some(foreign) = first_foreign(store, fork, &manifests).await? {
        return Ok(foreign);
    }
    match store.get(&contents_path).await? {
        Some(bytes) if !fork.is_contents(&bytes) => return Ok(RefRemoval::ForeignContents),
        Some(_) => store.delete(&contents_path).await?,
        None => {}
    }
    // Names count down, so the newest version is the first in order.
    for manifest in manifests {
        store.delete(&manifest).await?;
    }
    let deletions = stream::iter(rest).map(|object| async move { store.delete(&object).await });
    deletions.buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    Ok(RefRemoval::Removed)
}

/// The proof of position: whose the versions are.
async fn first_foreign(
    store: &Store,
    fork: &RefFork,
    manifests: &[String],
) -> Result<Option<RefRemoval>, SubstrateError> {
    let own = format!("{}-", fork.attempt);
    for manifest in manifests {
        let file = manifest.rsplit('/').next().unwrap_or_default();
        let scheme = ManifestNamingScheme::V2;
        let version = scheme.parse_version(file).ok_or_else(|| {
            SubstrateError::invalid(&fork.path, format!("`{manifest}` is no version"))
        })?;
        let slot = read_slot(store, &fork.path, &fork.to, version).await?;
        // One that has gone since the listing was removed by another who does the same.
        let Some(found) = slot.map(|slot| slot.version.tx_uuid) else { continue };
        if !found.as_str().starts_with(&own) {
            return Ok(Some(RefRemoval::NotOurs { version, found }));
        }
    }
    Ok(None)
}
