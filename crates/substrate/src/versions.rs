//! One version of a ref as its manifest object has it: who made it and which files it names. Read past
//! every cache, and without opening the table; it must not know which versions matter.

use graphwrite_protocol_types::PhysicalRef;
use lance_table::format::{DataFile, DeletionFile, Fragment, Manifest};
use lance_table::io::commit::{ManifestLocation, ManifestNamingScheme};
use lance_table::io::deletion::deletion_file_path;
use lance_table::io::manifest::read_manifest_indexes;
use object_store::path::Path;

use crate::handler::is_name_of;
use crate::slot::{SlotObject, read_object, ref_path, scratch, slot_location};
use crate::unwinding::whole;
use crate::{FragmentFiles, SlotRecord, Store, SubstrateError};

/// A version with all that it names, by paths below the graph's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRecord {
    /// The version and the transaction that made it.
    pub slot: SlotRecord,
    /// Its fragments.
    pub fragments: Vec<FragmentFiles>,
    /// The directories of its indices.
    pub indices: Vec<String>,
    /// The file that its transaction is in as well, where there is one.
    pub transaction: Option<String>,
}

impl VersionRecord {
    /// The data files and the files of deleted rows.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let files = self.fragments.iter();
        files.flat_map(|files| files.data.iter().chain(&files.deletion)).map(String::as_str)
    }
}

/// The version `version` of a ref; none when there is no such version. One read.
///
/// # Errors
///
/// The storage failed, or the object is no version that the engine can read.
pub async fn read_version(
    store: &Store,
    path: &str,
    physical_ref: &PhysicalRef,
    version: u64,
) -> Result<Option<VersionRecord>, SubstrateError> {
    let base = ref_path(path, physical_ref)?;
    let location = slot_location(&base, version);
    let Some(object) = read_object(store, path, &base, &location).await? else { return Ok(None) };
    let files = RefFiles { store, path, physical_ref, manifest: &object.manifest };
    let fragments = object.manifest.fragments.iter().map(|fragment| files.of(fragment));
    let fragments = fragments.collect::<Result<Vec<_>, _>>()?;
    let transaction = object.manifest.transaction_file.as_ref();
    let transaction =
        transaction.map(|file| base.clone().join("_transactions").join(file.as_str()).to_string());
    let indices = whole(Box::pin(index_directories(&object, &base))).await;
    let indices =
        indices.map_err(|error| SubstrateError::engine("reading indices", path, error))?;
    Ok(Some(VersionRecord { slot: object.slot, fragments, indices, transaction }))
}

async fn index_directories(object: &SlotObject, base: &Path) -> lance::Result<Vec<String>> {
    if object.manifest.index_section.is_none() {
        return Ok(Vec::new());
    }
    let (scratch, path) = scratch(object.bytes.clone()).await?;
    let location = ManifestLocation {
        version: object.manifest.version,
        path,
        size: Some(object.bytes.len() as u64),
        naming_scheme: ManifestNamingScheme::V2,
        e_tag: None,
        identity: None,
    };
    let indices = read_manifest_indexes(&scratch, &location, &object.manifest).await?;
    let directory = |uuid: String| base.clone().join("_indices").join(uuid).to_string();
    Ok(indices.into_iter().map(|index| directory(index.uuid.to_string())).collect())
}

/// The version whose manifest the object `name` is, by its last segment; none for another object.
pub fn version_of_object(name: &str) -> Option<u64> {
    let name = name.rsplit('/').next()?;
    let version = ManifestNamingScheme::V2.parse_version(name)?;
    is_name_of(name, version).then_some(version)
}

/// The files that one version of a ref names.
pub(crate) struct RefFiles<'a> {
    pub(crate) store: &'a Store,
    pub(crate) path: &'a str,
    pub(crate) physical_ref: &'a PhysicalRef,
    pub(crate) manifest: &'a Manifest,
}

impl RefFiles<'_> {
    pub(crate) fn of(&self, fragment: &Fragment) -> Result<FragmentFiles, SubstrateError> {
        let data = fragment.files.iter().map(|file| self.data_path(file));
        let deletion = fragment.deletion_file.as_ref();
        Ok(FragmentFiles {
            id: fragment.id,
            physical_rows: fragment.physical_rows.map(|rows| rows as u64),
            data: data.collect::<Result<_, _>>()?,
            deletion: deletion.map(|file| self.deletion_path(fragment.id, file)).transpose()?,
        })
    }

    pub(crate) fn data_path(&self, file: &DataFile) -> Result<String, SubstrateError> {
        let (root, is_dataset) = self.base(file.base_id)?;
        let directory = if is_dataset { root.join("data") } else { root };
        Ok(directory.join(file.path.as_str()).to_string())
    }

    pub(crate) fn deletion_path(
        &self,
        fragment: u64,
        file: &DeletionFile,
    ) -> Result<String, SubstrateError> {
        let (root, _) = self.base(file.base_id)?;
        Ok(deletion_file_path(&root, fragment, file).to_string())
    }

    /// The directory that a file is relative to: the ref's own, or one that a ref was made from.
    fn base(&self, id: Option<u32>) -> Result<(Path, bool), SubstrateError> {
        let Some(id) = id else {
            return Ok((ref_path(self.path, self.physical_ref)?, true));
        };
        let base = self.manifest.base_paths.get(&id).ok_or_else(|| {
            SubstrateError::invalid(self.path, format!("a file is relative to unknown base {id}"))
        })?;
        let path = self.store.path_of_uri(&base.path);
        let path = path
            .map_err(|error| SubstrateError::engine("resolving a base path", self.path, error))?;
        Ok((path, base.is_dataset_root))
    }
}
