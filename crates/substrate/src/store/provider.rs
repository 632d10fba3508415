//! Hands our object store to Lance. It owns the session's registry, through which every request of
//! Lance for this storage comes back to us.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use graphwrite_protocol_types::Defect;
use lance::session::Session;
use lance_io::object_store::{
    ObjectStore as LanceObjectStore, ObjectStoreParams, ObjectStoreProvider, ObjectStoreRegistry,
};
use object_store::ObjectStore;
use object_store::path::Path;
use url::Url;

use super::Place;

const INDEX_CACHE_BYTES: usize = 64 * 1024 * 1024;
const METADATA_CACHE_BYTES: usize = 128 * 1024 * 1024;
/// Objects up to this size are read whole, in one request.
const BLOCK_BYTES: usize = 64 * 1024;
const IO_PARALLELISM: usize = 16;
const DOWNLOAD_RETRIES: usize = 3;

#[derive(Debug)]
struct Provider {
    store: LanceObjectStore,
}

#[async_trait]
impl ObjectStoreProvider for Provider {
    async fn new_store(&self, _: Url, _: &ObjectStoreParams) -> lance::Result<LanceObjectStore> {
        Ok(self.store.clone())
    }

    /// Paths are relative to the graph's root, so that a graph may be moved: what Lance stores of
    /// them in the base paths of a clone stays true wherever the root is.
    fn extract_path(&self, url: &Url) -> lance::Result<Path> {
        Path::from_url_path(url.path())
            .map_err(|error| lance::Error::invalid_input(format!("`{url}`: {error}")))
    }

    fn calculate_object_store_prefix(
        &self,
        url: &Url,
        _: Option<&HashMap<String, String>>,
    ) -> lance::Result<String> {
        Ok(format!("{}${}", url.scheme(), url.authority()))
    }
}

/// A session that knows no storage but `objects`.
pub(super) fn session_over(
    objects: Arc<dyn ObjectStore>,
    place: &Place,
) -> (Arc<Session>, Arc<LanceObjectStore>) {
    // Ordered listing is what makes "the newest version is the first entry" true, and it keeps
    // Lance away from `latest_version_hint.json` (design 01 section 3).
    let lists_in_order = !place.planted.has(Defect::HintTrusted);
    let store = LanceObjectStore::new(
        objects,
        place.url.clone(),
        Some(BLOCK_BYTES),
        None,
        false,
        lists_in_order,
        IO_PARALLELISM,
        DOWNLOAD_RETRIES,
        None,
    );
    let registry = ObjectStoreRegistry::empty();
    registry.insert(place.url.scheme(), Arc::new(Provider { store: store.clone() }));
    let session = Session::new(INDEX_CACHE_BYTES, METADATA_CACHE_BYTES, Arc::new(registry));
    (Arc::new(session), Arc::new(store))
}
