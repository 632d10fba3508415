//! The graph's own control objects: create-only, listed, deleted. It owns what an answer of the
//! storage proves; it must not know what the objects say.

use bytes::Bytes;
use futures::TryStreamExt;
use graphwrite_protocol_types::AttemptId;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt, PutMode};

use crate::store::object_path;
use crate::{Store, StoreError};

/// What became of a create-only write.
#[derive(Debug)]
#[must_use]
pub enum PutOutcome {
    /// The object exists with these bytes and this call's writer made it.
    Created,
    /// The object exists, made by another or with other bytes.
    AlreadyExists,
    /// Nobody knows: it may exist, or come to exist later.
    Unknown(StoreError),
}

/// An object as a listing shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectEntry {
    /// Path below the graph's root.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// The storage's own time of the last write, microseconds since the Unix epoch.
    pub modified_unix_us: i64,
}

impl ObjectEntry {
    /// Its age in milliseconds. A clock that went back must not keep it young for ever.
    pub fn age_ms(&self, now_unix_us: u64) -> u64 {
        let modified_us = u64::try_from(self.modified_unix_us).unwrap_or(0);
        now_unix_us.abs_diff(modified_us) / 1_000
    }
}

impl From<ObjectMeta> for ObjectEntry {
    fn from(meta: ObjectMeta) -> Self {
        Self {
            path: meta.location.to_string(),
            size: meta.size,
            modified_unix_us: meta.last_modified.timestamp_micros(),
        }
    }
}

/// Changing objects by name. Kept apart from [`Store`]'s own methods, so that whoever passes a store
/// on does not pass this on with it: a graph's objects change only through the protocol.
pub trait RawObjects {
    /// Creates an object unless its path is taken. A path that carries the id of `attempt` belongs
    /// to that attempt alone (K4), so there an equal object that is found after a lost answer is
    /// the writer's own; under any other name it proves nothing about who wrote it.
    ///
    /// # Errors
    ///
    /// Only for a path that cannot be, or that the storage refuses to write.
    fn put_if_absent(
        &self,
        path: &str,
        bytes: Bytes,
        attempt: AttemptId,
    ) -> impl Future<Output = Result<PutOutcome, StoreError>> + Send;

    /// Deletes an object; one that does not exist is deleted already.
    fn delete(&self, path: &str) -> impl Future<Output = Result<(), StoreError>> + Send;
}

impl RawObjects for Store {
    async fn put_if_absent(
        &self,
        path: &str,
        bytes: Bytes,
        attempt: AttemptId,
    ) -> Result<PutOutcome, StoreError> {
        let location = object_path(path)?;
        let put = self.objects().put_opts(&location, bytes.clone().into(), PutMode::Create.into());
        let doubt = match put.await.map_err(|error| StoreError::of(path, error)) {
            Ok(_) => return Ok(PutOutcome::Created),
            Err(refused @ StoreError::Refused { .. }) => return Err(refused),
            Err(error) => error,
        };
        let own_name = path.contains(&attempt.to_string());
        if own_name && self.reads_back_as(path, &bytes).await {
            return Ok(PutOutcome::Created);
        }
        match doubt {
            StoreError::AlreadyExists { .. } => Ok(PutOutcome::AlreadyExists),
            unknown => Ok(PutOutcome::Unknown(unknown)),
        }
    }

    async fn delete(&self, path: &str) -> Result<(), StoreError> {
        let deleted = self.objects().delete(&object_path(path)?).await;
        absent_is_none(deleted.map_err(|error| StoreError::of(path, error))).map(|_| ())
    }
}

impl Store {
    /// Creates an object whose bytes nobody else writes unless they mean the same, so that an equal
    /// object that is found is as good as the writer's own, whatever its path says.
    pub(crate) async fn put_own(&self, path: &str, bytes: Bytes) -> Result<PutOutcome, StoreError> {
        let location = object_path(path)?;
        let put = self.objects().put_opts(&location, bytes.clone().into(), PutMode::Create.into());
        let doubt = match put.await.map_err(|error| StoreError::of(path, error)) {
            Ok(_) => return Ok(PutOutcome::Created),
            Err(refused @ StoreError::Refused { .. }) => return Err(refused),
            Err(error) => error,
        };
        match self.get(path).await {
            Ok(Some(found)) if found == bytes => Ok(PutOutcome::Created),
            // Objects are created whole and never replaced, so other bytes prove the loss.
            Ok(Some(_)) => Ok(PutOutcome::AlreadyExists),
            _ => match doubt {
                StoreError::AlreadyExists { .. } => Ok(PutOutcome::AlreadyExists),
                unknown => Ok(PutOutcome::Unknown(unknown)),
            },
        }
    }

    async fn reads_back_as(&self, path: &str, bytes: &Bytes) -> bool {
        matches!(self.get(path).await, Ok(Some(found)) if found == *bytes)
    }

    /// The bytes of an object; none when it does not exist.
    pub async fn get(&self, path: &str) -> Result<Option<Bytes>, StoreError> {
        let location = object_path(path)?;
        let read = async { self.objects().get(&location).await?.bytes().await };
        absent_is_none(read.await.map_err(|error| StoreError::of(path, error)))
    }

    /// What a listing would show of one object; none when it does not exist.
    pub async fn head(&self, path: &str) -> Result<Option<ObjectEntry>, StoreError> {
        let head = self.objects().head(&object_path(path)?).await.map(ObjectEntry::from);
        absent_is_none(head.map_err(|error| StoreError::of(path, error)))
    }

    /// The objects below `prefix`, in the order of their paths, all objects if it is empty; none
    /// when there is no such directory. An upload that is not finished is not an object.
    pub async fn list(&self, prefix: &str) -> Result<Vec<ObjectEntry>, StoreError> {
        let location = if prefix.is_empty() { None } else { Some(object_path(prefix)?) };
        let listing = self.objects().list(location.as_ref()).map_ok(ObjectEntry::from);
        let listed = listing.try_collect().await.map_err(|error| StoreError::of(prefix, error));
        absent_is_none(listed).map(Option::unwrap_or_default)
    }

    /// The first directory at the top in which an object below `inside` has a name that ends so. Its
    /// own name may be any that the storage has.
    pub async fn directory_with(
        &self,
        inside: &str,
        ending: &str,
    ) -> Result<Option<String>, StoreError> {
        let inside = object_path(inside)?;
        let top = self.objects().list_with_delimiter(None).await;
        let top = absent_is_none(top.map_err(|error| StoreError::of("", error)))?;
        for directory in top.into_iter().flat_map(|top| top.common_prefixes) {
            let place = inside.parts().fold(directory.clone(), |path, part| path.join(part));
            let mut objects = self.objects().list(Some(&place));
            // What cannot be looked into is not known to be anything.
            while let Ok(Some(object)) = objects.try_next().await {
                if object.location.as_ref().ends_with(ending) {
                    return Ok(Some(directory.to_string()));
                }
            }
        }
        Ok(None)
    }
}

fn absent_is_none<T>(result: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
