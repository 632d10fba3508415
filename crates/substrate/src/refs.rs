//! Refs beside main (K4): made in Lance's two phases, probed, and removed only when they are exactly
//! what one attempt made. It must not know what a branch is, nor when a ref may go.

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use graphwrite_protocol_types::{
    AttemptId, CommitPermit, EffectKind, ForkPoint, Intent, LiveHead, NativeBranch, PhysicalFact,
    PhysicalRef, Pin, RefIdentifier, TxUuid,
};
use lance::dataset::refs::{BranchContents, BranchIdentifier};
use lance::dataset::transaction::{Operation, Transaction};
use lance_table::io::commit::{ManifestNamingScheme, VERSIONS_DIR};

use crate::slot::ref_directory;
use crate::strict::{create_ref, found_ref};
use crate::{
    Cause, Landing, ObjectEntry, PutOutcome, RawObjects, Store, SubstrateError, TableHandle,
    read_slot,
};

const AT_ONCE: usize = 16;
const MICROS: u64 = 1_000_000;

/// A ref as one attempt makes it out of a version of another ref: everything about it follows from
/// here, so that each phase can be sent again and what is found can be told from anything foreign.
#[derive(Debug, Clone)]
pub struct RefFork {
    path: String,
    from: PhysicalRef,
    at: Pin,
    to: PhysicalRef,
    attempt: AttemptId,
    clone: TxUuid,
    identifier: RefIdentifier,
    at_unix_us: u64,
}

/// What became of the first phase.
#[derive(Debug)]
#[must_use]
pub enum Cloning {
    /// The clone is there; it lacks its contents.
    Cloned(ClonedRef),
    /// The version to be cloned is not there, or is another one; nothing was written.
    SourceGone {
        /// The transaction that has the version's number.
        found: Option<TxUuid>,
    },
    /// Nobody knows whether the clone is there, or will be. Sending it again is safe.
    Unknown(Cause),
}

/// A ref after its first phase.
#[derive(Debug, Clone)]
pub struct ClonedRef {
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

impl RefFork {
    /// The native branch `native` that `attempt` makes, of the dataset at `path`.
    pub fn of_branch(
        path: &str,
        native: &NativeBranch,
        attempt: AttemptId,
        fork: &ForkPoint,
        begun_at_unix_us: u64,
    ) -> Self {
        Self {
            path: path.to_owned(),
            from: fork.cloned_from().physical_ref(),
            at: fork.manifest.clone(),
            to: native.physical_ref(),
            attempt,
            clone: TxUuid::native_branch(attempt),
            identifier: fork.identifier_for(attempt),
            at_unix_us: begun_at_unix_us,
        }
    }

    /// The ref that effect `effect` of `attempt` makes of the head that its branch has inherited.
    pub fn of_first_write(
        attempt: AttemptId,
        effect: u32,
        inherited: &LiveHead,
        armed_at_unix_us: u64,
    ) -> Self {
        Self {
            path: inherited.path.as_str().to_owned(),
            from: inherited.physical_ref.clone(),
            at: inherited.pin.clone(),
            to: PhysicalRef::of_first_write(attempt),
            attempt,
            clone: TxUuid::fork(attempt, effect),
            identifier: inherited.ref_identifier.forked(inherited.pin.version, attempt),
            at_unix_us: armed_at_unix_us,
        }
    }

    /// The ref that effect `effect` of an armed attempt makes; none when that is not what it does.
    pub fn of_effect(intent: &Intent, effect: u32) -> Option<Self> {
        let planned = intent.effects.get(effect as usize)?;
        let inherited = intent.read_set.table(planned.target.identity)?.head.live()?;
        let fork = Self::of_first_write(intent.attempt, effect, inherited, intent.armed_at_unix_us);
        let is_planned = planned.kind == EffectKind::CreateRef
            && planned.target.path.as_str() == fork.path
            && planned.target.physical_ref == fork.to;
        is_planned.then_some(fork)
    }

    /// The same making on the dataset of a test.
    #[cfg(test)]
    pub(crate) fn at_path(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    /// The ref.
    pub fn physical_ref(&self) -> &PhysicalRef {
        &self.to
    }

    /// Lance's identity of the ref, known before the ref is there.
    pub fn identifier(&self) -> &RefIdentifier {
        &self.identifier
    }

    /// The first version of the ref, which is the clone.
    pub fn clone_pin(&self) -> Pin {
        Pin { version: self.at.version, tx_uuid: self.clone.clone() }
    }

    fn transaction(&self, store: &Store) -> Transaction {
        let source_name = match &self.from {
            PhysicalRef::Main => None,
            PhysicalRef::Named(name) => Some(name.clone()),
        };
        Transaction {
            read_version: self.at.version,
            uuid: self.clone.as_str().to_owned(),
            operation: Operation::Clone {
                is_shallow: true,
                ref_name: source_name,
                ref_version: self.at.version,
                ref_path: store.uri_of(&ref_directory(&self.path, &self.from)),
                branch_name: Some(self.to.to_string()),
            },
            tag: None,
            transaction_properties: None,
        }
    }

    fn contents_path(&self) -> String {
        format!("{}/{}.json", contents_directory(&self.path), self.to)
    }

    fn contents(&self, source_bytes: u64) -> BranchContents {
        BranchContents {
            parent_branch: match &self.from {
                PhysicalRef::Main => None,
                PhysicalRef::Named(name) => Some(name.clone()),
            },
            identifier: lance_identifier(&self.identifier),
            parent_version: self.at.version,
            create_at: self.at_unix_us / MICROS,
            manifest_size: usize::try_from(source_bytes).unwrap_or(usize::MAX),
            metadata: Default::default(),
        }
    }

    fn is_contents(&self, bytes: &[u8]) -> bool {
        let own = self.contents(0);
        let found = serde_json::from_slice::<BranchContents>(bytes);
        found.is_ok_and(|found| {
            found.identifier == own.identifier
                && found.parent_branch == own.parent_branch
                && found.parent_version == own.parent_version
        })
    }
}

impl ClonedRef {
    /// The ref at its first version.
    pub fn table(&self) -> &TableHandle {
        &self.table
    }
}

fn lance_identifier(identifier: &RefIdentifier) -> BranchIdentifier {
    let version_mapping = match identifier {
        RefIdentifier::Main(_) => Vec::new(),
        RefIdentifier::Native(mapping) => mapping.clone(),
    };
    BranchIdentifier { version_mapping }
}

fn contents_directory(path: &str) -> String {
    format!("{path}/_refs/branches")
}

/// The first phase: the clone, one strict commit as the ref's first version. The version that is
/// cloned is proven to be the one that was meant.
///
/// # Errors
/// This call has sent no commit.
pub async fn clone_ref(
    permit: &CommitPermit<'_>,
    store: &Store,
    fork: &RefFork,
) -> Result<Cloning, SubstrateError> {
    let source = read_slot(store, &fork.path, &fork.from, fork.at.version);
    let present = read_slot(store, &fork.path, &fork.to, fork.at.version);
    let (source, present) = tokio::try_join!(source, present)?;
    let source_bytes = match source {
        Some(slot) if slot.version.tx_uuid == fork.at.tx_uuid => slot.manifest_bytes,
        other => return Ok(Cloning::SourceGone { found: other.map(|slot| slot.version.tx_uuid) }),
    };
    let (place, clone) = ((fork.path.as_str(), &fork.to), fork.clone_pin());
    let landing = match present {
        Some(found) => found_ref(store, place, &clone, &found).await?,
        None => create_ref(permit, store, place, &clone, fork.transaction(store)).await?,
    };
    Ok(match landing {
        Landing::Landed { table, .. } => Cloning::Cloned(ClonedRef { table, source_bytes }),
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
    fork: &RefFork,
    cloned: &ClonedRef,
) -> Result<PutOutcome, SubstrateError> {
    let (reason, attempt) = (permit.reason(), permit.attempt());
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
        Ok(Some(_)) | Err(SubstrateError::Damaged { .. }) => PhysicalFact::Foreign,
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
