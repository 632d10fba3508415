//! All objects below the graph's root as one listing showed them. It must not know what they are.

use graphwrite_substrate::{ObjectEntry, Store, StoreError};

/// The objects, in the order of their paths.
#[derive(Debug, Default)]
pub(crate) struct Listing(Vec<ObjectEntry>);

impl Listing {
    pub(crate) async fn of(store: &Store) -> Result<Self, StoreError> {
        let mut objects = store.list("").await?;
        objects.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self(objects))
    }

    pub(crate) fn objects(&self) -> &[ObjectEntry] {
        &self.0
    }

    pub(crate) fn contains(&self, path: &str) -> bool {
        self.0.binary_search_by(|object| object.path.as_str().cmp(path)).is_ok()
    }

    /// The objects whose paths start with `prefix`.
    pub(crate) fn below(&self, prefix: &str) -> &[ObjectEntry] {
        let first = self.0.partition_point(|object| object.path.as_str() < prefix);
        let rest = &self.0[first..];
        let count = rest.partition_point(|object| object.path.starts_with(prefix));
        &rest[..count]
    }
}
