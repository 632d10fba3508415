//! A graph in memory, for tests, embedding and simulation. It owns the bytes and can copy a whole
//! world at any instant.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::TryStreamExt;
use graphwrite_protocol_types::Planted;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};
use url::Url;

use super::{Place, Store};
use crate::StoreError;

/// In-memory storage. Its content lives as long as a clone of it or a [`Store`] over it.
#[derive(Clone)]
pub struct MemoryStorage {
    objects: Arc<InMemory>,
    number: u64,
    planted: Planted,
}

/// Lance knows this scheme as an ordered, conditional in-memory store.
const URL: &str = "shared-memory://graph/";

impl Default for MemoryStorage {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStorage {
    /// An empty storage, unlike any other.
    pub fn new() -> Self {
        Self::over(InMemory::new(), Planted::default())
    }

    /// A copy of this instant that goes its own way. The bytes are shared, only the index is copied.
    pub fn fork(&self) -> Self {
        Self::over(self.objects.fork(), self.planted)
    }

    /// The same storage, opened from here on by builds that have `defect`: it, its forks and all of
    /// their clients (docs/defects.md).
    #[cfg(feature = "defects")]
    #[must_use]
    pub fn with_defect(&self, defect: graphwrite_protocol_types::Defect) -> Self {
        Self { planted: Planted::one(defect), ..self.clone() }
    }

    /// Hash of all paths and bytes: equal exactly when two storages hold the same content.
    pub async fn digest(&self) -> Result<[u8; 32], StoreError> {
        let mut hasher = blake3::Hasher::new();
        let failed = |error| StoreError::of("", error);
        let mut objects: Vec<_> = self.objects.list(None).try_collect().await.map_err(failed)?;
        objects.sort_by(|a, b| a.location.cmp(&b.location));
        for object in objects {
            let body = self.objects.get(&object.location).await.map_err(failed)?;
            let body = body.bytes().await.map_err(failed)?;
            for part in [object.location.as_ref().as_bytes(), &body] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        }
        Ok(*hasher.finalize().as_bytes())
    }

    fn over(objects: InMemory, planted: Planted) -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        Self { objects: Arc::new(objects), number, planted }
    }

    pub(super) fn client(&self) -> Store {
        let root = format!("memory:{}", self.number);
        let url = Url::parse(URL).expect("a constant URL");
        let objects: Arc<dyn ObjectStore> = Arc::clone(&self.objects) as _;
        Store::client(objects, Place { root, url, planted: self.planted })
    }
}

impl std::fmt::Debug for MemoryStorage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MemoryStorage({})", self.number)
    }
}
