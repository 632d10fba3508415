//! Where a graph is stored: one seam for Lance tables, refs, manifests and our own control objects
//! alike, so that whatever decorates or counts or kills a client sees every request of it. It must
//! not know what the objects mean.

mod local;
mod memory;
mod ordered;
mod provider;

use std::path::Path as FsPath;
use std::sync::Arc;

use graphwrite_protocol_types::{Defect, Planted};
use lance::session::Session;
use lance_io::object_store::ObjectStore as LanceObjectStore;
use object_store::ObjectStore;
use object_store::path::Path;

use crate::StoreError;
use crate::handler::ListingHandler;

pub use local::Durability;
pub use memory::MemoryStorage;

/// A client of a graph's storage: the storage, the layers around it, and one session's caches.
/// Clones share all three. Paths are relative to the graph's root.
#[derive(Clone)]
pub struct Store(Arc<Client>);

struct Client {
    /// What the client sees: the storage with its layers.
    objects: Arc<dyn ObjectStore>,
    place: Place,
    session: Arc<Session>,
    lance: Arc<LanceObjectStore>,
    listing: Arc<ListingHandler>,
}

/// What identifies a storage, apart from its content.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) root: String,
    pub(crate) url: url::Url,
    /// What tests have planted in every client of it.
    pub(crate) planted: Planted,
}

impl Store {
    /// The storage below the existing directory `root`, named by its canonical path.
    pub fn local(root: &FsPath, durability: Durability) -> Result<Self, StoreError> {
        local::open(root, durability)
    }

    /// Like [`Store::local`], and creates the directory first. For `init` only: a mistyped root
    /// must be an error everywhere else.
    pub fn create_local(root: &FsPath, durability: Durability) -> Result<Self, StoreError> {
        local::create(root, durability)
    }

    /// A client of an in-memory storage.
    pub fn memory(storage: &MemoryStorage) -> Self {
        storage.client()
    }

    /// The storage at a directory path or a `file://` or `file-object-store://` URL.
    pub fn open(location: &str, durability: Durability) -> Result<Self, StoreError> {
        Self::local(&local::directory_of(location)?, durability)
    }

    /// Like [`Store::open`], and creates the directory first. For `init` only.
    pub fn create(location: &str, durability: Durability) -> Result<Self, StoreError> {
        Self::create_local(&local::directory_of(location)?, durability)
    }

    /// The same storage through the same layers, with nothing remembered: what a fresh process
    /// would see.
    pub fn reopened(&self) -> Self {
        Self::client(Arc::clone(&self.0.objects), self.0.place.clone())
    }

    /// Names the storage: equal for two clients exactly when they reach the same graph.
    pub fn canonical_root(&self) -> &str {
        &self.0.place.root
    }

    /// The directory that the storage is; none for storage of another kind.
    pub fn directory(&self) -> Option<&FsPath> {
        (self.0.place.url.scheme() == local::SCHEME).then(|| FsPath::new(&self.0.place.root))
    }

    /// The directory that a location names, which need not exist.
    ///
    /// # Errors
    ///
    /// The location is on storage that this build does not reach.
    pub fn directory_named(location: &str) -> Result<std::path::PathBuf, StoreError> {
        local::directory_of(location)
    }

    /// What the storage is made of, for diagnosis.
    pub fn description(&self) -> String {
        format!("{:?}", self.0.objects)
    }

    /// Whether tests have planted `defect` in clients of this storage; never in a build without them.
    pub fn has(&self, defect: Defect) -> bool {
        self.planted().has(defect)
    }

    /// What tests have planted, for those who cannot ask the store.
    pub fn planted(&self) -> Planted {
        self.0.place.planted
    }

    pub(crate) fn client(objects: Arc<dyn ObjectStore>, place: Place) -> Self {
        let (session, lance) = provider::session_over(Arc::clone(&objects), &place);
        let listing = Arc::new(ListingHandler { planted: place.planted });
        Self(Arc::new(Client { objects, place, session, lance, listing }))
    }

    /// A client of the same storage whose requests pass through one more layer. Its caches start
    /// empty, since what it reads must be seen by the layer.
    pub(crate) fn layered(
        &self,
        layer: impl FnOnce(Arc<dyn ObjectStore>) -> Arc<dyn ObjectStore>,
    ) -> Self {
        Self::client(layer(Arc::clone(&self.0.objects)), self.0.place.clone())
    }

    pub(crate) fn objects(&self) -> &Arc<dyn ObjectStore> {
        &self.0.objects
    }

    pub(crate) fn session(&self) -> Arc<Session> {
        Arc::clone(&self.0.session)
    }

    pub(crate) fn lance(&self) -> &LanceObjectStore {
        &self.0.lance
    }

    /// The handler of every open: it resolves by listing and commits nothing.
    pub(crate) fn listing_handler(&self) -> Arc<ListingHandler> {
        Arc::clone(&self.0.listing)
    }

    /// The URI under which Lance reaches the object or dataset at `path`.
    pub(crate) fn uri_of(&self, path: &str) -> String {
        let mut url = self.0.place.url.clone();
        url.set_path(path);
        url.into()
    }

    /// The path below the root of a URI that Lance has stored.
    pub(crate) fn path_of_uri(&self, uri: &str) -> Result<Path, lance::Error> {
        LanceObjectStore::extract_path_from_uri(self.0.session.store_registry(), uri)
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("place", &self.0.place)
            .field("objects", &self.0.objects)
            .finish()
    }
}

/// A path of a dataset or control object below the root. The alphabet is small on purpose: names
/// need no escaping in a URI, a directory or an object key.
pub(crate) fn object_path(path: &str) -> Result<Path, StoreError> {
    let rule = "segments of letters, digits, `-`, `_`, `.`, `%`, `~`, none empty, `.` or `..`";
    let invalid = || StoreError::InvalidPath { path: path.to_owned(), rule };
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.%~".contains(c);
    let valid = |segment: &str| {
        !segment.is_empty() && segment != "." && segment != ".." && segment.chars().all(allowed)
    };
    if !path.split('/').all(valid) {
        return Err(invalid());
    }
    Path::parse(path).map_err(|_| invalid())
}
