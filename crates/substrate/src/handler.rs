//! K1, the half that Lance calls: commit handlers that let a manifest land at one version or not at
//! all, and that find the newest version by listing. They must not know what is committed.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use futures::TryStreamExt;
use futures::stream::BoxStream;
use graphwrite_protocol_types::{Defect, Planted};
use lance::Result;
use lance_io::object_store::ObjectStore;
use lance_table::format::{IndexMetadata, Manifest, Transaction};
use lance_table::io::commit::{
    CommitError, CommitHandler, ConditionalPutCommitHandler, ManifestLocation,
    ManifestNamingScheme, ManifestWriter, PredecessorIdentity, VERSIONS_DIR,
};
use object_store::ObjectStore as Objects;
use object_store::path::Path;
use parking_lot::Mutex;

/// The handler of every open. It commits nothing, so that a table opened through this crate cannot
/// be moved but by [`crate::strict_commit`].
#[derive(Debug, Default)]
pub(crate) struct ListingHandler {
    pub(crate) planted: Planted,
}

impl ListingHandler {
    fn known(&self, _: &Path, _: u64) -> Option<ManifestLocation> {
        None
    }
}

/// What became of the one manifest that a strict commit may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotWrite {
    /// Lance failed before it came to the manifest.
    NotReached,
    /// Lance came with another version than the one expected; nothing was written.
    Refused,
    /// The conditional put was sent and no answer was seen, or one that proves nothing.
    Sent,
    /// The storage says that the slot is taken.
    Taken,
    /// The manifest is in its slot.
    Landed,
}

/// Lets exactly one manifest through, and only at the expected version.
#[derive(Debug)]
pub(crate) struct StrictHandler {
    expected: u64,
    source: Option<ManifestLocation>,
    write: Mutex<SlotWrite>,
    planted: Planted,
}

#[derive(Debug, thiserror::Error)]
enum RefusedCommit {
    #[error("this table handle cannot commit; commits go through the strict path")]
    NotStrict,
    #[error("a strict commit was expected at version {expected}, not {offered}")]
    OtherVersion { expected: u64, offered: u64 },
    #[error("a strict commit has been attempted already")]
    Twice,
}

impl From<RefusedCommit> for CommitError {
    fn from(refused: RefusedCommit) -> Self {
        Self::OtherError(lance::Error::not_supported_source(Box::new(refused)))
    }
}

impl StrictHandler {
    pub(crate) fn at(expected: u64, planted: Planted) -> Arc<Self> {
        let write = Mutex::new(SlotWrite::NotReached);
        Arc::new(Self { expected, source: None, write, planted })
    }

    /// For a clone of the version at `source`, which its caller has just read: Lance need not ask for
    /// it again before it reads it.
    pub(crate) fn cloning(source: ManifestLocation, planted: Planted) -> Arc<Self> {
        let write = Mutex::new(SlotWrite::NotReached);
        Arc::new(Self { expected: source.version, source: Some(source), write, planted })
    }

    fn known(&self, base: &Path, version: u64) -> Option<ManifestLocation> {
        let path = ManifestNamingScheme::V2.manifest_path(base, version);
        self.source.clone().filter(|source| source.path == path)
    }

    pub(crate) fn slot_write(&self) -> SlotWrite {
        *self.write.lock()
    }

    /// Passes one manifest of the expected version; from here on the put counts as sent.
    fn admit(&self, offered: u64) -> std::result::Result<(), RefusedCommit> {
        let mut write = self.write.lock();
        if *write != SlotWrite::NotReached {
            return Err(RefusedCommit::Twice);
        }
        if offered != self.expected && !self.planted.has(Defect::NoStrictCommit) {
            *write = SlotWrite::Refused;
            return Err(RefusedCommit::OtherVersion { expected: self.expected, offered });
        }
        *write = SlotWrite::Sent;
        Ok(())
    }

    fn settle<T>(&self, outcome: &std::result::Result<T, CommitError>) {
        *self.write.lock() = match outcome {
            Ok(_) => SlotWrite::Landed,
            Err(CommitError::CommitConflict) => SlotWrite::Taken,
            Err(CommitError::OtherError(_)) => SlotWrite::Sent,
        };
    }
}

/// The newest version by listing `_versions`. The version hint beside the manifests is never read:
/// it goes wrong over sparse versions (design 01 section 3).
pub(crate) async fn newest_manifest(
    base: &Path,
    store: &ObjectStore,
    planted: Planted,
) -> Result<Option<ManifestLocation>> {
    if planted.has(Defect::HintTrusted) {
        return Ok(ConditionalPutCommitHandler.resolve_latest_location(base, store).await.ok());
    }
    let mut newest: Option<ManifestLocation> = None;
    let mut listing = store.list(Some(base.clone().join(VERSIONS_DIR)));
    while let Some(meta) = listing.try_next().await? {
        let Some(location) = attached_manifest(meta) else { continue };
        if newest.as_ref().is_none_or(|found| found.version < location.version) {
            newest = Some(location);
        }
        // Names count down, so where listings are ordered the first is the newest.
        if store.list_is_lexically_ordered {
            break;
        }
    }
    Ok(newest)
}

/// Whether the object at `location` is named as `version`, which is in it. A copy under another name
/// would be taken for a version that nobody made, and what is committed over it lands where no reader
/// looks.
pub(crate) fn is_named_as(location: &ManifestLocation, version: u64) -> bool {
    location.version == version
        && location.path.filename().is_some_and(|name| is_name_of(name, version))
}

/// Whether `name` is the one name that a version has.
pub(crate) fn is_name_of(name: &str, version: u64) -> bool {
    let path = ManifestNamingScheme::V2.manifest_path(&Path::default(), version);
    path.filename() == Some(name)
}

fn attached_manifest(meta: object_store::ObjectMeta) -> Option<ManifestLocation> {
    let location = ManifestLocation::try_from(meta).ok()?;
    (location.naming_scheme == ManifestNamingScheme::V2).then_some(location)
}

async fn resolve_newest(
    base: &Path,
    store: &ObjectStore,
    planted: Planted,
) -> Result<ManifestLocation> {
    let newest = newest_manifest(base, store, planted).await?;
    newest.ok_or_else(|| lance::Error::not_found(base.clone().join(VERSIONS_DIR).to_string()))
}

/// Everything but resolution and commit is Lance's conditional-put handler. Each method is
/// delegated by name: a default of the trait left in place would turn refusals into retries.
macro_rules! commit_handler {
    ($handler:ty { $($commit:tt)* }) => {
#[async_trait]
impl CommitHandler for $handler {
        fn is_version_not_found_definitive(&self) -> bool {
            ConditionalPutCommitHandler.is_version_not_found_definitive()
        }

        fn propagate_commit_error_after_success(&self) -> bool {
            ConditionalPutCommitHandler.propagate_commit_error_after_success()
        }

        async fn resolve_latest_location(
            &self,
            base: &Path,
            store: &ObjectStore,
        ) -> Result<ManifestLocation> {
            resolve_newest(base, store, self.planted).await
        }

        async fn resolve_version_location(
            &self,
            base: &Path,
            version: u64,
            store: &dyn Objects,
        ) -> Result<ManifestLocation> {
            match self.known(base, version) {
                Some(location) => Ok(location),
                None => {
                    ConditionalPutCommitHandler.resolve_version_location(base, version, store).await
                }
            }
        }

        async fn version_exists(
            &self,
            base: &Path,
            version: u64,
            store: &dyn Objects,
            scheme: ManifestNamingScheme,
        ) -> Result<bool> {
            ConditionalPutCommitHandler.version_exists(base, version, store, scheme).await
        }

        fn list_detached_manifest_locations<'a>(
            &self,
            base: &Path,
            store: &'a ObjectStore,
        ) -> BoxStream<'a, Result<ManifestLocation>> {
            ConditionalPutCommitHandler.list_detached_manifest_locations(base, store)
        }

        fn list_manifest_locations<'a>(
            &self,
            base: &Path,
            store: &'a ObjectStore,
            descending: bool,
        ) -> BoxStream<'a, Result<ManifestLocation>> {
            ConditionalPutCommitHandler.list_manifest_locations(base, store, descending)
        }

        fn list_manifest_locations_since<'a>(
            &self,
            base: &Path,
            store: &'a ObjectStore,
            since: u64,
        ) -> BoxStream<'a, Result<ManifestLocation>> {
            ConditionalPutCommitHandler.list_manifest_locations_since(base, store, since)
        }

        fn supports_predecessor_condition(&self) -> bool {
            ConditionalPutCommitHandler.supports_predecessor_condition()
        }

        async fn resolve_latest_identity(
            &self,
            base: &Path,
            store: &ObjectStore,
        ) -> Result<Option<PredecessorIdentity>> {
            ConditionalPutCommitHandler.resolve_latest_identity(base, store).await
        }

        async fn resolve_identity(
            &self,
            base: &Path,
            store: &ObjectStore,
            version: u64,
        ) -> Result<Option<PredecessorIdentity>> {
            ConditionalPutCommitHandler.resolve_identity(base, store, version).await
        }

        async fn forget_version(&self, base: &Path, version: u64, identity: &str) -> Result<()> {
            ConditionalPutCommitHandler.forget_version(base, version, identity).await
        }

        async fn delete(&self, base: &Path) -> Result<()> {
            ConditionalPutCommitHandler.delete(base).await
        }

        $($commit)*
}
    };
}

commit_handler! { ListingHandler {
    async fn commit(
        &self,
        _: &mut Manifest,
        _: Option<Vec<IndexMetadata>>,
        _: &Path,
        _: &ObjectStore,
        _: ManifestWriter,
        _: ManifestNamingScheme,
        _: Option<Transaction>,
    ) -> std::result::Result<ManifestLocation, CommitError> {
        Err(RefusedCommit::NotStrict.into())
    }

    async fn commit_after(
        &self,
        _: &mut Manifest,
        _: Option<Vec<IndexMetadata>>,
        _: &Path,
        _: &ObjectStore,
        _: ManifestWriter,
        _: ManifestNamingScheme,
        _: Option<Transaction>,
        _: &PredecessorIdentity,
    ) -> std::result::Result<ManifestLocation, CommitError> {
        Err(RefusedCommit::NotStrict.into())
    }
}}

commit_handler! { StrictHandler {
    async fn commit(
        &self,
        manifest: &mut Manifest,
        indices: Option<Vec<IndexMetadata>>,
        base: &Path,
        store: &ObjectStore,
        writer: ManifestWriter,
        scheme: ManifestNamingScheme,
        transaction: Option<Transaction>,
    ) -> std::result::Result<ManifestLocation, CommitError> {
        self.admit(manifest.version)?;
        let put = ConditionalPutCommitHandler
            .commit(manifest, indices, base, store, writer, scheme, transaction)
            .await;
        self.settle(&put);
        put
    }

    async fn commit_after(
        &self,
        manifest: &mut Manifest,
        indices: Option<Vec<IndexMetadata>>,
        base: &Path,
        store: &ObjectStore,
        writer: ManifestWriter,
        scheme: ManifestNamingScheme,
        transaction: Option<Transaction>,
        predecessor: &PredecessorIdentity,
    ) -> std::result::Result<ManifestLocation, CommitError> {
        self.admit(manifest.version)?;
        let put = ConditionalPutCommitHandler
            .commit_after(manifest, indices, base, store, writer, scheme, transaction, predecessor)
            .await;
        self.settle(&put);
        put
    }
}}
