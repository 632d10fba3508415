//! Graphs around and below the place of a new one: a graph has its directory for itself. It looks at
//! names alone.

use std::path::{Path, PathBuf};

use graphwrite_substrate::{Store, StoreError};

use crate::reading::MANIFEST_PATH;

const VERSIONS: &str = "_versions";
const VERSION: &str = ".manifest";

/// The nearest graph that `directory`, which need not exist, is inside of. What may not be looked into
/// counts as no graph.
pub fn graph_around(directory: &Path) -> Option<PathBuf> {
    let existing = directory.ancestors().find(|path| path.exists());
    // A relative path that does not exist at all is below the directory of the process.
    let canonical = existing.unwrap_or(Path::new(".")).canonicalize().ok()?;
    let itself = existing == Some(directory);
    canonical.ancestors().skip(usize::from(itself)).find(|path| is_graph(path)).map(Path::to_owned)
}

fn is_graph(directory: &Path) -> bool {
    let versions = std::fs::read_dir(directory.join(MANIFEST_PATH).join(VERSIONS));
    let is_version = |name: std::ffi::OsString| name.to_string_lossy().ends_with(VERSION);
    versions.is_ok_and(|entries| entries.flatten().any(|entry| is_version(entry.file_name())))
}

/// A graph in a directory that is directly below the root of `store`, by the directory's name. One
/// LIST, and one for each directory.
pub(crate) async fn graph_below(store: &Store) -> Result<Option<String>, StoreError> {
    store.directory_with(&format!("{MANIFEST_PATH}/{VERSIONS}"), VERSION).await
}
