//! A table at one exact version. The handle hides Lance's dataset: it can be read and staged over,
//! and only the strict path can move the table.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use futures::{StreamExt, TryStreamExt, stream};
use graphwrite_protocol_types::{CommitPermit, PhysicalRef, Pin, Planted, TxUuid};
use lance::Dataset;
use lance::dataset::builder::DatasetBuilder;
use lance_table::io::commit::VERSIONS_DIR;
use tokio::sync::OnceCell;

use crate::handler::newest_manifest;
use crate::slot::{SlotAction, is_whole, ref_directory, ref_path, rightly_named};
use crate::unwinding::whole;
use crate::versions::RefFiles;
use crate::{RawObjects, Store, SubstrateError, TableVersion, read_slot};

/// Which version of a ref to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// This version.
    Exact(u64),
    /// The newest version that a listing shows.
    Latest,
}

/// The files of one fragment, by their paths below the graph's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FragmentFiles {
    /// The fragment's id within its ref.
    pub id: u64,
    /// Rows, deleted ones included; none for files of very old writers.
    pub physical_rows: Option<u64>,
    /// Its data files.
    pub data: Vec<String>,
    /// The file that names its deleted rows.
    pub deletion: Option<String>,
}

/// A table opened at one version of one ref. Clones share the open dataset.
#[derive(Clone)]
pub struct TableHandle {
    store: Store,
    path: String,
    physical_ref: PhysicalRef,
    dataset: Arc<Dataset>,
    schema: SchemaRef,
    identity: Arc<OnceCell<TableVersion>>,
}

const FILE_CHECKS_AT_ONCE: usize = 16;

impl TableHandle {
    /// Opens a table.
    ///
    /// # Errors
    ///
    /// [`SubstrateError::TableNotFound`] when the dataset, the ref or the version is absent,
    /// [`SubstrateError::Misnamed`] when what is there is another version than its name says.
    pub async fn open(
        store: &Store,
        path: &str,
        physical_ref: &PhysicalRef,
        version: Version,
    ) -> Result<Self, SubstrateError> {
        ref_path(path, physical_ref)?;
        let mut builder =
            DatasetBuilder::from_uri(store.uri_of(&ref_directory(path, physical_ref)))
                .with_session(store.session())
                .with_commit_handler(store.listing_handler());
        if let Version::Exact(version) = version {
            builder = builder.with_version(version);
        }
        let opened = whole(Box::pin(async {
            let dataset = builder.load().await?;
            let schema: SchemaRef = Arc::new(dataset.schema().into());
            Ok((dataset, schema))
        }));
        let (dataset, schema) = match opened.await {
            Ok(opened) => opened,
            Err(error) => {
                let error = open_error(error, path, physical_ref, version);
                return Err(damage_of_newest(store, error, path, physical_ref).await);
            }
        };
        let (location, found) = (dataset.manifest_location(), dataset.manifest().version);
        rightly_named(path, &ref_directory(path, physical_ref), location, found)?;
        Ok(Self {
            store: store.clone(),
            path: path.to_owned(),
            physical_ref: physical_ref.clone(),
            dataset: Arc::new(dataset),
            schema,
            identity: Arc::default(),
        })
    }

    /// Opens the version that a pin names, if it is that version: a number alone is no identity
    /// (BLOCKER-05). Costs no request more, since a version names its transaction.
    ///
    /// # Errors
    ///
    /// [`SubstrateError::TableNotFound`] as [`TableHandle::open`], and
    /// [`SubstrateError::VersionReplaced`] when another version has the number.
    pub async fn open_pin(
        store: &Store,
        path: &str,
        physical_ref: &PhysicalRef,
        pin: &Pin,
    ) -> Result<Self, SubstrateError> {
        let table = Self::open(store, path, physical_ref, Version::Exact(pin.version)).await?;
        let is_pinned = match table.dataset.manifest().transaction_file.as_deref() {
            Some(file) => file.ends_with(&format!("-{}.txn", pin.tx_uuid)),
            None => table.tx_uuid().await? == pin.tx_uuid,
        };
        if is_pinned {
            return Ok(table);
        }
        let (path, physical_ref) = (path.to_owned(), physical_ref.clone());
        Err(SubstrateError::VersionReplaced { path, physical_ref, version: pin.version })
    }

    pub(crate) fn at_landed(
        store: Store,
        path: String,
        physical_ref: PhysicalRef,
        dataset: Dataset,
        version: &TableVersion,
    ) -> Self {
        let identity = Arc::new(OnceCell::new_with(Some(version.clone())));
        let schema = Arc::new(dataset.schema().into());
        Self { store, path, physical_ref, dataset: Arc::new(dataset), schema, identity }
    }

    /// The version of the handle.
    pub fn version(&self) -> u64 {
        self.dataset.manifest().version
    }

    /// Path of the dataset below the graph's root.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The ref that the handle is on.
    pub fn physical_ref(&self) -> &PhysicalRef {
        &self.physical_ref
    }

    /// The handle's version with the transaction that made it, as storage has it. One read, once.
    pub async fn identity(&self) -> Result<&TableVersion, SubstrateError> {
        self.identity.get_or_try_init(|| self.read_identity()).await
    }

    async fn read_identity(&self) -> Result<TableVersion, SubstrateError> {
        let slot = read_slot(&self.store, &self.path, &self.physical_ref, self.version()).await?;
        slot.map(|slot| slot.version).ok_or_else(|| self.not_found(self.version()))
    }

    /// The transaction of the handle's version, as storage has it.
    pub async fn tx_uuid(&self) -> Result<TxUuid, SubstrateError> {
        Ok(self.identity().await?.tx_uuid.clone())
    }

    /// The transaction of another version of the same ref; none when there is no such version.
    pub async fn tx_uuid_at(&self, version: u64) -> Result<Option<TxUuid>, SubstrateError> {
        let slot = read_slot(&self.store, &self.path, &self.physical_ref, version).await?;
        Ok(slot.map(|slot| slot.version.tx_uuid))
    }

    /// Whether a version of the same ref is a fence: an append of no fragments (K3).
    pub async fn is_empty_append_at(&self, version: u64) -> Result<bool, SubstrateError> {
        let slot = read_slot(&self.store, &self.path, &self.physical_ref, version).await?;
        Ok(slot.is_some_and(|slot| slot.action == SlotAction::EmptyAppend))
    }

    /// The table's columns.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Key-value pairs beside the columns, as they were given when the table was created.
    pub fn schema_metadata(&self) -> &HashMap<String, String> {
        &self.dataset.schema().metadata
    }

    /// Live rows.
    pub async fn count_rows(&self) -> Result<u64, SubstrateError> {
        let rows = whole(Box::pin(self.dataset.count_rows(None))).await;
        rows.map(|rows| rows as u64).map_err(|error| self.engine("counting rows", error))
    }

    /// The fragments in the order of a scan.
    pub fn fragments(&self) -> Result<Vec<FragmentFiles>, SubstrateError> {
        let files = self.files();
        self.dataset.fragments().iter().map(|fragment| files.of(fragment)).collect()
    }

    pub(crate) fn files(&self) -> RefFiles<'_> {
        RefFiles {
            store: &self.store,
            path: &self.path,
            physical_ref: &self.physical_ref,
            manifest: self.dataset.manifest(),
        }
    }

    /// The files of this version that storage does not have. A commit never checks them, so
    /// recovery does before it publishes (design 01 section 7).
    pub async fn missing_files(&self) -> Result<Vec<String>, SubstrateError> {
        let fragments = self.fragments()?;
        let files = fragments.into_iter().flat_map(|f| f.data.into_iter().chain(f.deletion));
        missing_files(&self.store, files.collect()).await
    }

    /// What tests have planted in its storage.
    pub fn planted(&self) -> Planted {
        self.store.planted()
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn dataset(&self) -> &Arc<Dataset> {
        &self.dataset
    }

    pub(crate) fn engine(&self, operation: &'static str, error: lance::Error) -> SubstrateError {
        SubstrateError::engine(operation, &self.path, error)
    }

    fn not_found(&self, version: u64) -> SubstrateError {
        SubstrateError::TableNotFound {
            path: self.path.clone(),
            physical_ref: self.physical_ref.clone(),
            version: Some(version),
        }
    }
}

impl std::fmt::Debug for TableHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TableHandle({}@{}:{})", self.path, self.physical_ref, self.version())
    }
}

/// The engine does not say in a type that the newest version is cut off; the storage does.
async fn damage_of_newest(
    store: &Store,
    error: SubstrateError,
    path: &str,
    physical_ref: &PhysicalRef,
) -> SubstrateError {
    let newest = async {
        let base = ref_path(path, physical_ref).ok()?;
        let location = newest_manifest(&base, store.lance(), store.planted()).await;
        store.get(location.ok()??.path.as_ref()).await.ok()?
    };
    match (error, newest.await) {
        (SubstrateError::Engine { .. }, Some(bytes)) if !is_whole(&bytes) => {
            SubstrateError::cut_off("opening", path)
        }
        (error, _) => error,
    }
}

fn open_error(
    error: lance::Error,
    path: &str,
    physical_ref: &PhysicalRef,
    version: Version,
) -> SubstrateError {
    use lance::Error as Lance;
    match error {
        Lance::DatasetNotFound { .. } | Lance::NotFound { .. } | Lance::VersionNotFound { .. } => {
            SubstrateError::TableNotFound {
                path: path.to_owned(),
                physical_ref: physical_ref.clone(),
                version: match version {
                    Version::Exact(version) => Some(version),
                    Version::Latest => None,
                },
            }
        }
        other => SubstrateError::engine("opening", path, other),
    }
}

pub(crate) async fn missing_files(
    store: &Store,
    files: Vec<String>,
) -> Result<Vec<String>, SubstrateError> {
    let check = |file: String| async move {
        let found = store.head(&file).await?;
        Ok::<_, SubstrateError>(found.is_none().then_some(file))
    };
    let checked = stream::iter(files).map(check).buffered(FILE_CHECKS_AT_ONCE);
    checked.try_filter_map(|missing| async move { Ok(missing) }).try_collect().await
}

/// Removes a dataset and its refs: every object below `path`. Version manifests go first, those of
/// refs before those of main, so that a crash in between leaves a dataset that does not open rather
/// than one that opens over missing data. Idempotent; a repetition removes what is left.
pub async fn delete_dataset(
    permit: &CommitPermit<'_>,
    store: &Store,
    path: &str,
) -> Result<(), SubstrateError> {
    let (reason, attempt) = (permit.reason(), permit.attempt());
    tracing::debug!(?reason, %attempt, path, "dataset removal");
    let objects = store.list(path).await?.into_iter().map(|object| object.path);
    let (manifests, rest): (Vec<_>, Vec<_>) = objects.partition(|object| is_manifest(object));
    let main = format!("{path}/{VERSIONS_DIR}/");
    let (main, refs): (Vec<_>, Vec<_>) =
        manifests.into_iter().partition(|object| object.starts_with(&main));
    for group in [refs, main, rest] {
        let deletions =
            stream::iter(group).map(|object| async move { store.delete(&object).await });
        deletions.buffer_unordered(FILE_CHECKS_AT_ONCE).try_collect::<()>().await?;
    }
    Ok(())
}

fn is_manifest(object: &str) -> bool {
    object.contains(&format!("/{VERSIONS_DIR}/"))
}
