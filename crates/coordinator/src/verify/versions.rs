//! Every version of the manifest and of each published ref, read once: who made it and which files it
//! names. It must not know which of them are right.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::{join_all, try_join_all};
use graphwrite_manifest::MANIFEST_PATH;
use graphwrite_protocol_types::{NativeBranch, PhysicalRef};
use graphwrite_substrate::{
    SlotRecord, Store, StoreError, SubstrateError, VersionRecord, read_version, version_of_object,
};

use super::chain::RefFacts;
use super::kinds;
use super::listing::Listing;
use crate::report::Finding;

const READ_AT_ONCE: usize = 16;

/// Which ref's versions are read.
#[derive(Debug, Clone)]
pub(crate) struct VersionsOf {
    /// What it is called in messages.
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) physical_ref: PhysicalRef,
    /// The newest version that was published.
    pub(crate) newest: u64,
}

impl VersionsOf {
    /// A native branch of the manifest.
    pub(crate) fn manifest(native: &NativeBranch, newest: u64) -> Self {
        let (path, physical_ref) = (MANIFEST_PATH.to_owned(), native.physical_ref());
        let name = match &physical_ref {
            PhysicalRef::Main => path.clone(),
            PhysicalRef::Named(name) => format!("{path}/tree/{name}"),
        };
        Self { name, path, physical_ref, newest }
    }

    pub(crate) fn of(facts: &RefFacts) -> Self {
        Self {
            name: facts.name.clone(),
            path: facts.path.to_string(),
            physical_ref: facts.physical_ref.clone(),
            newest: facts.newest_pin(),
        }
    }

    /// The directory of the ref.
    pub(crate) fn directory(&self) -> String {
        match &self.physical_ref {
            PhysicalRef::Main => self.path.clone(),
            PhysicalRef::Named(name) => format!("{}/tree/{name}", self.path),
        }
    }

    /// The versions that a listing shows, and those that were published since.
    fn wanted(&self, listing: &Listing) -> BTreeSet<u64> {
        let prefix = format!("{}/_versions/", self.directory());
        let listed = listing.below(&prefix).iter();
        let mut wanted: BTreeSet<u64> =
            listed.filter_map(|object| version_of_object(&object.path)).collect();
        let since = wanted.last().map_or(self.newest, |last| last.saturating_add(1));
        wanted.extend(since..=self.newest);
        wanted
    }
}

/// What the versions of one ref say.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    pub(crate) slots: BTreeMap<u64, SlotRecord>,
    pub(crate) findings: Vec<Finding>,
}

/// What all versions that were read name.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// Files by path, each with the first version that names it.
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) indices: BTreeSet<String>,
    pub(crate) transactions: BTreeSet<String>,
    /// The directories of the refs.
    pub(crate) refs: BTreeSet<String>,
}

impl Named {
    fn add(&mut self, name: &str, record: VersionRecord) {
        let version = record.slot.version.version;
        for file in record.files() {
            if !self.files.contains_key(file) {
                self.files.insert(file.to_owned(), format!("{name} version {version}"));
            }
        }
        self.indices.extend(record.indices);
        self.transactions.extend(record.transaction);
    }
}

/// Reads the versions of one ref.
pub(crate) async fn read_versions(
    store: &Store,
    of: &VersionsOf,
    listing: &Listing,
    named: &mut Named,
) -> Versions {
    named.refs.insert(of.directory());
    let wanted: Vec<u64> = of.wanted(listing).into_iter().collect();
    let mut versions = Versions::default();
    for some in wanted.chunks(READ_AT_ONCE) {
        let read = |version: &u64| read_version(store, &of.path, &of.physical_ref, *version);
        let reads = join_all(some.iter().map(read)).await;
        some.iter().zip(reads).for_each(|(version, read)| versions.add(of, *version, read, named));
    }
    versions
}

impl Versions {
    fn add(
        &mut self,
        of: &VersionsOf,
        version: u64,
        read: Result<Option<VersionRecord>, SubstrateError>,
        named: &mut Named,
    ) {
        match read {
            Ok(Some(record)) => {
                self.slots.insert(version, record.slot.clone());
                named.add(&of.name, record);
            }
            // It is missed where it is needed.
            Ok(None) => {}
            Err(error) => {
                let place = format!("{} version {version}", of.name);
                self.findings.push(kinds::UNREADABLE_VERSION.at(place, error.to_string()));
            }
        }
    }
}

/// The files that versions name and storage does not have. A file of a version that came after the
/// listing is asked for by itself.
pub(crate) async fn missing_files(
    store: &Store,
    listing: &Listing,
    named: &Named,
) -> Result<Vec<Finding>, StoreError> {
    let unlisted = named.files.iter().filter(|(file, _)| !listing.contains(file));
    let unlisted: Vec<_> = unlisted.collect();
    let mut missing = Vec::new();
    for files in unlisted.chunks(READ_AT_ONCE) {
        let found = try_join_all(files.iter().map(|(file, _)| is_there(store, file))).await?;
        for ((file, version), found) in files.iter().zip(found) {
            if !found {
                let message = format!("`{file}` is named but not there");
                missing.push(kinds::MISSING_FILE.at(*version, message));
            }
        }
    }
    Ok(missing)
}

/// A damaged version may name what no file can be called.
async fn is_there(store: &Store, file: &str) -> Result<bool, StoreError> {
    match store.head(file).await {
        Err(StoreError::InvalidPath { .. }) => Ok(false),
        found => Ok(found?.is_some()),
    }
}
