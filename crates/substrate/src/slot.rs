//! Evidence: which transaction took a version slot, read from storage and from nowhere else. A
//! session's cache is keyed by version number alone and is no evidence (BLOCKER-05).

use bytes::Bytes;
use graphwrite_protocol_types::{PhysicalRef, Pin, TxUuid};
use lance::dataset::transaction::{Operation, Transaction};
use lance_io::object_store::ObjectStore as LanceObjectStore;
use lance_io::utils::read_message;
use lance_table::format::{MAGIC, Manifest, pb};
use lance_table::io::commit::{ManifestLocation, ManifestNamingScheme, VERSIONS_DIR};
use lance_table::io::manifest::read_manifest;
use object_store::ObjectStoreExt;
use object_store::path::Path;

use crate::handler::{is_named_as, newest_manifest};
use crate::store::object_path;
use crate::unwinding::whole;
use crate::{Store, StoreError, SubstrateError};

/// A version of a table and who made it. Version numbers alone are no identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableVersion {
    /// The version number.
    pub version: u64,
    /// The transaction that made it.
    pub tx_uuid: TxUuid,
    /// The storage's tag of the manifest object, without quotes, where it has one.
    pub e_tag: Option<String>,
}

impl TableVersion {
    /// The version as the protocol pins it.
    pub fn pin(&self) -> Pin {
        Pin { version: self.version, tx_uuid: self.tx_uuid.clone() }
    }
}

/// What the transaction in a slot does, as far as the protocol asks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SlotAction {
    /// Appends no fragments: a fence (K3).
    EmptyAppend,
    /// Returns to an earlier version.
    Restore {
        /// The version whose content it brings back.
        to: u64,
    },
    /// Makes a ref out of a version of another ref.
    Clone,
    /// Anything else, by Lance's name.
    Other(String),
}

/// The transaction that took a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotRecord {
    /// The slot and its owner.
    pub version: TableVersion,
    /// The version that the transaction was staged over.
    pub read_version: u64,
    /// What it does.
    pub action: SlotAction,
    /// Size of the version's manifest in bytes.
    pub manifest_bytes: u64,
}

/// The newest version of a ref; none when the dataset or the ref is absent. One listing, one read.
pub async fn head(
    store: &Store,
    path: &str,
    physical_ref: &PhysicalRef,
) -> Result<Option<TableVersion>, SubstrateError> {
    let base = ref_path(path, physical_ref)?;
    let newest = newest_manifest(&base, store.lance(), store.planted()).await;
    let newest = newest.map_err(|error| SubstrateError::engine("finding the head", path, error))?;
    match newest {
        None => Ok(None),
        // A version that vanishes between listing and read is on its way out with its dataset.
        Some(location) => {
            Ok(read_at(store, path, &base, &location).await?.map(|slot| slot.version))
        }
    }
}

/// Like [`head`], for one who expects the newest version to be `likely`: that slot is read beside the
/// listing. One round trip if it is, one read more if it is not.
pub async fn head_expected(
    store: &Store,
    path: &str,
    physical_ref: &PhysicalRef,
    likely: u64,
) -> Result<Option<TableVersion>, SubstrateError> {
    let base = ref_path(path, physical_ref)?;
    let listing = newest_manifest(&base, store.lance(), store.planted());
    let (newest, expected) = tokio::join!(listing, read_slot(store, path, physical_ref, likely));
    let newest = newest.map_err(|error| SubstrateError::engine("finding the head", path, error))?;
    let slot = match newest {
        None => None,
        Some(location) if location.path == slot_location(&base, likely).path => expected?,
        Some(location) => read_at(store, path, &base, &location).await?,
    };
    Ok(slot.map(|slot| slot.version))
}

/// The transaction in the slot `version` of a ref; none when the slot is free. One read.
pub async fn read_slot(
    store: &Store,
    path: &str,
    physical_ref: &PhysicalRef,
    version: u64,
) -> Result<Option<SlotRecord>, SubstrateError> {
    let base = ref_path(path, physical_ref)?;
    read_at(store, path, &base, &slot_location(&base, version)).await
}

/// Where the manifest of a version is.
pub(crate) fn slot_location(base: &Path, version: u64) -> ManifestLocation {
    let naming_scheme = ManifestNamingScheme::V2;
    ManifestLocation {
        version,
        path: naming_scheme.manifest_path(base, version),
        size: None,
        naming_scheme,
        e_tag: None,
        identity: None,
    }
}

/// Where the files of a ref are.
pub(crate) fn ref_path(path: &str, physical_ref: &PhysicalRef) -> Result<Path, StoreError> {
    object_path(&ref_directory(path, physical_ref))
}

pub(crate) fn ref_directory(path: &str, physical_ref: &PhysicalRef) -> String {
    match physical_ref {
        PhysicalRef::Main => path.to_owned(),
        PhysicalRef::Named(name) => format!("{path}/tree/{name}"),
    }
}

/// Whether a version's manifest has its end. A version is put whole or not at all, so one that has
/// not was cut off later.
pub(crate) fn is_whole(manifest: &[u8]) -> bool {
    manifest.ends_with(MAGIC)
}

async fn read_at(
    store: &Store,
    path: &str,
    base: &Path,
    location: &ManifestLocation,
) -> Result<Option<SlotRecord>, SubstrateError> {
    let object = read_object(store, path, base, location).await?;
    Ok(object.map(|object| object.slot))
}

/// The manifest object of a version, decoded.
pub(crate) struct SlotObject {
    pub(crate) slot: SlotRecord,
    pub(crate) manifest: Manifest,
    pub(crate) bytes: Bytes,
}

pub(crate) async fn read_object(
    store: &Store,
    path: &str,
    base: &Path,
    location: &ManifestLocation,
) -> Result<Option<SlotObject>, SubstrateError> {
    let object = location.path.as_ref();
    let failed = |error| SubstrateError::from(StoreError::of(object, error));
    let result = match store.objects().get(&location.path).await {
        Err(object_store::Error::NotFound { .. }) => return Ok(None),
        result => result.map_err(failed)?,
    };
    let e_tag = result.meta.e_tag.as_deref().map(unquoted);
    let bytes = result.bytes().await.map_err(failed)?;
    if !is_whole(&bytes) {
        return Err(SubstrateError::cut_off("reading a slot", path));
    }
    let manifest_bytes = bytes.len() as u64;
    let decoded = whole(Box::pin(decoded(store, base, bytes.clone()))).await;
    let (manifest, transaction) =
        decoded.map_err(|error| SubstrateError::engine("reading a slot", path, error))?;
    rightly_named(path, base.as_ref(), location, manifest.version)?;
    let slot = SlotRecord {
        version: TableVersion {
            version: location.version,
            tx_uuid: TxUuid::observed(transaction.uuid),
            e_tag,
        },
        read_version: transaction.read_version,
        action: action_of(&transaction.operation),
        manifest_bytes,
    };
    Ok(Some(SlotObject { slot, manifest, bytes }))
}

/// The object at `location` is named as the version that is in it.
pub(crate) fn rightly_named(
    path: &str,
    directory: &str,
    location: &ManifestLocation,
    found: u64,
) -> Result<(), SubstrateError> {
    if is_named_as(location, found) {
        return Ok(());
    }
    let name = location.path.filename().unwrap_or_default();
    Err(SubstrateError::Misnamed {
        path: path.to_owned(),
        object: format!("{directory}/{VERSIONS_DIR}/{name}"),
        named: location.version,
        found,
    })
}

/// Lance's readers want a store to read from, so bytes that are here already get one of their own.
pub(crate) async fn scratch(bytes: Bytes) -> lance::Result<(LanceObjectStore, Path)> {
    let (store, name) = (LanceObjectStore::memory(), Path::from("scratch"));
    store.inner.put(&name, bytes.into()).await?;
    Ok((store, name))
}

/// The manifest in these bytes and the transaction inside it; a large one is in a file of its own.
async fn decoded(
    store: &Store,
    base: &Path,
    bytes: Bytes,
) -> lance::Result<(Manifest, Transaction)> {
    let size = bytes.len();
    let (scratch, name) = scratch(bytes).await?;
    let manifest = read_manifest(&scratch, &name, Some(size as u64)).await?;
    if let Some(position) = manifest.transaction_section {
        let reader = scratch.open_with_size(&name, size).await?;
        let message: pb::Transaction = read_message(reader.as_ref(), position).await?;
        return Ok((manifest, Transaction::try_from(message)?));
    }
    let Some(file) = &manifest.transaction_file else {
        return Err(lance::Error::not_supported("a version without a transaction"));
    };
    let file = base.clone().join("_transactions").join(file.as_str());
    let transaction = transaction_in_file(store, &file).await?;
    Ok((manifest, transaction))
}

async fn transaction_in_file(store: &Store, file: &Path) -> lance::Result<Transaction> {
    let bytes = store.lance().read_one_all(file).await?;
    // A transaction file is the bare message; the reader wants its length before it.
    let mut framed = (bytes.len() as u32).to_le_bytes().to_vec();
    framed.extend_from_slice(&bytes);
    let size = framed.len();
    let (scratch, name) = scratch(framed.into()).await?;
    let reader = scratch.open_with_size(&name, size).await?;
    Transaction::try_from(read_message::<pb::Transaction>(reader.as_ref(), 0).await?)
}

fn action_of(operation: &Operation) -> SlotAction {
    match operation {
        Operation::Append { fragments } if fragments.is_empty() => SlotAction::EmptyAppend,
        Operation::Restore { version } => SlotAction::Restore { to: *version },
        Operation::Clone { .. } => SlotAction::Clone,
        other => SlotAction::Other(other.name().to_owned()),
    }
}

/// Lance spells one tag with quotes after a commit and without them after an open.
pub(crate) fn unquoted(e_tag: &str) -> String {
    e_tag.trim_matches('"').to_owned()
}
