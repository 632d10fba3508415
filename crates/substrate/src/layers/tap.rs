//! The one wrapper that all layers share: it turns every method of an object store into an
//! operation that a tap may admit, delay, refuse or cut off from its answer.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt, TryFutureExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    CopyMode, CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    RenameOptions, RenameTargetMode, Result, UploadPart,
};

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum OperationKind {
    /// Reads an object or a part of it.
    Get,
    /// Reads what is known of an object.
    Head,
    /// Lists objects.
    List,
    /// Writes an object, replacing it if it exists.
    Put,
    /// Writes an object unless it exists.
    PutIfAbsent,
    /// Sends a part of a large object; nobody sees it before the completion.
    Part,
    /// Makes a large object out of its parts.
    Complete,
    /// Copies an object.
    Copy,
    /// Copies an object unless the target exists.
    CopyIfAbsent,
    /// Moves an object.
    Rename,
    /// Moves an object unless the target exists.
    RenameIfAbsent,
    /// Deletes an object.
    Delete,
}

impl OperationKind {
    /// Whether the operation changes what others see.
    pub fn is_durable(self) -> bool {
        !matches!(self, Self::Get | Self::Head | Self::List | Self::Part)
    }
}

/// One request of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// What it does.
    pub kind: OperationKind,
    /// The object, the target of a copy or move, or the prefix of a listing.
    pub path: String,
    /// Bytes that it carries to the storage.
    pub bytes: u64,
    /// Number among the client's durable operations, from 1; 0 where nobody numbers.
    pub number: u64,
}

impl Operation {
    fn new(kind: OperationKind, path: &Path, bytes: usize) -> Self {
        Self { kind, path: path.to_string(), bytes: bytes as u64, number: 0 }
    }
}

/// What happens to an admitted operation.
pub(super) enum Verdict {
    /// It is performed and answered.
    Proceed,
    /// It is performed and its answer is lost.
    LoseAnswer,
    /// It is handed over, to be performed whenever the receiver likes; the client waits for what
    /// the receiver returns.
    HandOver(Box<dyn FnOnce(BoxFuture<'static, ()>) -> BoxFuture<'static, Error> + Send>),
}

/// Decides about operations. Refusing one is an error; the operation is then not performed.
pub(super) trait Tap: fmt::Debug + Send + Sync + 'static {
    fn admit(&self, operation: Operation) -> BoxFuture<'static, Result<Verdict>>;

    /// The storage has answered a read with this many bytes.
    fn received(&self, bytes: u64);
}

/// An object store behind a tap.
#[derive(Debug, Clone)]
pub(super) struct Tapped {
    inner: Arc<dyn ObjectStore>,
    tap: Arc<dyn Tap>,
}

/// The error of an operation that a layer did not let through or whose answer it kept.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Injected(pub(super) &'static str);

impl Injected {
    pub(super) fn error(what: &'static str) -> Error {
        Error::Generic { store: "layer", source: Box::new(Self(what)) }
    }
}

impl Tapped {
    pub(super) fn new(inner: Arc<dyn ObjectStore>, tap: Arc<dyn Tap>) -> Self {
        Self { inner, tap }
    }

    /// Admits a read; a read is never handed over.
    async fn read(&self, kind: OperationKind, path: &Path) -> Result<()> {
        admit_read(self.tap.as_ref(), Operation::new(kind, path, 0)).await
    }

    async fn perform<T: Send + 'static>(
        &self,
        operation: Operation,
        action: BoxFuture<'static, Result<T>>,
    ) -> Result<T> {
        match self.tap.admit(operation).await? {
            Verdict::Proceed => action.await,
            Verdict::LoseAnswer => {
                drop(action.await);
                Err(Injected::error("the answer was lost"))
            }
            Verdict::HandOver(receiver) => Err(receiver(action.map(drop).boxed()).await),
        }
    }
}

async fn admit_read(tap: &dyn Tap, operation: Operation) -> Result<()> {
    match tap.admit(operation).await? {
        Verdict::Proceed => Ok(()),
        Verdict::LoseAnswer | Verdict::HandOver(_) => Err(Injected::error("the answer was lost")),
    }
}

impl fmt::Display for Tapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tapped({})", self.inner)
    }
}

#[async_trait]
impl ObjectStore for Tapped {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        opts: PutOptions,
    ) -> Result<PutResult> {
        let kind = match opts.mode {
            PutMode::Overwrite => OperationKind::Put,
            PutMode::Create | PutMode::Update(_) => OperationKind::PutIfAbsent,
        };
        let operation = Operation::new(kind, location, payload.content_length());
        let (inner, location) = (Arc::clone(&self.inner), location.clone());
        let action = async move { inner.put_opts(&location, payload, opts).await };
        self.perform(operation, action.boxed()).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let upload = self.inner.put_multipart_opts(location, opts).await?;
        Ok(Box::new(TappedUpload {
            store: self.clone(),
            location: location.clone(),
            upload: Some(upload),
        }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let head = options.head;
        self.read(if head { OperationKind::Head } else { OperationKind::Get }, location).await?;
        let result = self.inner.get_opts(location, options).await?;
        if !head {
            self.tap.received(result.range.end - result.range.start);
        }
        Ok(result)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let store = self.clone();
        let delete = move |location: Path| {
            let store = store.clone();
            async move {
                let operation = Operation::new(OperationKind::Delete, &location, 0);
                let (inner, target) = (Arc::clone(&store.inner), location.clone());
                let action = async move { inner.delete(&target).await };
                store.perform(operation, action.boxed()).await.map(|()| location)
            }
        };
        locations.and_then(delete).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.listing(prefix, |inner, prefix| inner.list(prefix))
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let offset = offset.clone();
        self.listing(prefix, move |inner, prefix| inner.list_with_offset(prefix, &offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.read(OperationKind::List, &prefix.cloned().unwrap_or_default()).await?;
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let kind = match options.mode {
            CopyMode::Overwrite => OperationKind::Copy,
            CopyMode::Create => OperationKind::CopyIfAbsent,
        };
        let (inner, from, target) = (Arc::clone(&self.inner), from.clone(), to.clone());
        let action = async move { inner.copy_opts(&from, &target, options).await };
        self.perform(Operation::new(kind, to, 0), action.boxed()).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        let kind = match options.target_mode {
            RenameTargetMode::Overwrite => OperationKind::Rename,
            RenameTargetMode::Create => OperationKind::RenameIfAbsent,
        };
        let (inner, from, target) = (Arc::clone(&self.inner), from.clone(), to.clone());
        let action = async move { inner.rename_opts(&from, &target, options).await };
        self.perform(Operation::new(kind, to, 0), action.boxed()).await
    }

    // `get_ranges` stays with its default: what a remote store would be asked is what is counted.
    async fn get_ranges(
        &self,
        location: &Path,
        ranges: &[Range<u64>],
    ) -> Result<Vec<bytes::Bytes>> {
        let fetch = |range| self.get_range(location, range);
        object_store::coalesce_ranges(ranges, fetch, object_store::OBJECT_STORE_COALESCE_DEFAULT)
            .await
    }
}

impl Tapped {
    /// The listing is taken from the storage when its admission has been granted, not before: the
    /// one in memory is complete as soon as it is asked for.
    fn listing(
        &self,
        prefix: Option<&Path>,
        list: impl FnOnce(&dyn ObjectStore, Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>>
        + Send
        + 'static,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let (tap, inner, prefix) =
            (Arc::clone(&self.tap), Arc::clone(&self.inner), prefix.cloned());
        let place = prefix.clone().unwrap_or_default();
        let operation = Operation::new(OperationKind::List, &place, 0);
        let admitted = async move {
            let admitted = admit_read(tap.as_ref(), operation).await;
            admitted.map(|()| list(inner.as_ref(), prefix.as_ref()))
        };
        stream::once(admitted).try_flatten().boxed()
    }
}

#[derive(Debug)]
struct TappedUpload {
    store: Tapped,
    location: Path,
    upload: Option<Box<dyn MultipartUpload>>,
}

#[async_trait]
impl MultipartUpload for TappedUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let operation = Operation::new(OperationKind::Part, &self.location, data.content_length());
        let tap = Arc::clone(&self.store.tap);
        let Some(upload) = self.upload.as_mut() else {
            return futures::future::err(Injected::error("the upload is over")).boxed();
        };
        let part = upload.put_part(data);
        async move { admit_read(tap.as_ref(), operation).await }.and_then(|()| part).boxed()
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let operation = Operation::new(OperationKind::Complete, &self.location, 0);
        let mut upload = self.upload.take().ok_or_else(|| Injected::error("the upload is over"))?;
        let action = async move { upload.complete().await };
        self.store.perform(operation, action.boxed()).await
    }

    async fn abort(&mut self) -> Result<()> {
        match self.upload.as_mut() {
            Some(upload) => upload.abort().await,
            None => Ok(()),
        }
    }
}
