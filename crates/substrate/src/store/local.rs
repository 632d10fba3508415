//! A graph in a directory. It owns the durability choice and the spelling of locations.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use graphwrite_protocol_types::Planted;
use object_store::local::LocalFileSystem;
use url::Url;

use super::ordered::Ordered;
use super::{Place, Store};
use crate::StoreError;

/// What a local storage promises of a write that it has acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// It survives a loss of power: files and their directories are synced (design 01 section 3).
    #[default]
    Fsync,
    /// It survives the death of the process. For bulk work that can be repeated.
    Relaxed,
}

/// Lance takes a short cut past the object store for `file://`, and this scheme does not.
pub(super) const SCHEME: &str = "file-object-store";

pub(super) fn open(root: &Path, durability: Durability) -> Result<Store, StoreError> {
    let unusable =
        |cause: crate::Cause| StoreError::RootUnusable { root: root.display().to_string(), cause };
    let canonical = root.canonicalize().map_err(|error| unusable(error.into()))?;
    let files = LocalFileSystem::new_with_prefix(&canonical)
        .map_err(|error| unusable(error.into()))?
        .with_fsync(durability == Durability::Fsync);
    let url = Url::parse(&format!("{SCHEME}:///")).map_err(|error| unusable(error.into()))?;
    let root = canonical.display().to_string();
    let place = Place { root, url, planted: Planted::default() };
    Ok(Store::client(Arc::new(Ordered::new(files)), place))
}

pub(super) fn create(root: &Path, durability: Durability) -> Result<Store, StoreError> {
    create_directory(root, durability).map_err(|error| StoreError::RootUnusable {
        root: root.display().to_string(),
        cause: error.into(),
    })?;
    open(root, durability)
}

/// Creates `root` and what is missing above it. Each new entry is synced in its parent, or a loss
/// of power could take away a graph whose content was durable.
fn create_directory(root: &Path, durability: Durability) -> io::Result<()> {
    let missing: Vec<&Path> = root
        .ancestors()
        .take_while(|path| !path.as_os_str().is_empty() && !path.exists())
        .collect();
    std::fs::create_dir_all(root)?;
    if durability == Durability::Fsync {
        for directory in missing {
            let parent = directory.parent().filter(|parent| !parent.as_os_str().is_empty());
            std::fs::File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
        }
    }
    Ok(())
}

/// The directory that a location names: a path, or a `file://` or `file-object-store://` URL.
pub(super) fn directory_of(location: &str) -> Result<PathBuf, StoreError> {
    let Some((scheme, rest)) = location.split_once("://") else {
        return Ok(PathBuf::from(location));
    };
    if scheme != "file" && scheme != SCHEME {
        return Err(unsupported(location, scheme));
    }
    let path = Url::parse(&format!("file://{rest}")).ok().and_then(|url| url.to_file_path().ok());
    path.ok_or_else(|| StoreError::InvalidPath {
        path: location.to_owned(),
        rule: "a file URL names an absolute path on this host",
    })
}

fn unsupported(location: &str, scheme: &str) -> StoreError {
    let remedy = match scheme {
        "s3" | "s3+ddb" | "gs" | "az" | "abfss" => {
            "object stores are not supported yet; give a directory or a `file://` URL"
        }
        "memory" | "shared-memory" => {
            "an in-memory graph lives inside one program and is opened there"
        }
        _ => "give a directory or a `file://` URL",
    };
    StoreError::UnsupportedScheme {
        location: location.to_owned(),
        scheme: scheme.to_owned(),
        remedy,
    }
}
