//! Lance trusts what it has read: offsets, lengths, kinds of columns. Over those of a damaged file it
//! panics, in our task or in one of its own that ours waits for. This turns that panic into Lance's error
//! for damage, where the object is known that was read; it must not know what is read.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use futures::future::BoxFuture;
use futures::{FutureExt, Stream, StreamExt};

/// Reads, or stages, or commits. Nothing that the engine has touched is used after a panic: what it was
/// building is dropped with it, and caches are filled by complete values only.
pub(crate) async fn whole<T>(reading: BoxFuture<'_, lance::Result<T>>) -> lance::Result<T> {
    let ended = AssertUnwindSafe(reading).catch_unwind().await;
    ended.unwrap_or_else(|panic| Err(damaged(panic.as_ref())))
}

/// The same for a stream, which ends with the panic.
pub(crate) fn whole_stream<T>(
    stream: impl Stream<Item = lance::Result<T>>,
) -> impl Stream<Item = lance::Result<T>> {
    let items = AssertUnwindSafe(stream).catch_unwind();
    items.map(|item| item.unwrap_or_else(|panic| Err(damaged(panic.as_ref()))))
}

fn damaged(panic: &(dyn Any + Send)) -> lance::Error {
    let text = panic.downcast_ref::<&str>().copied();
    let said = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let said = said.unwrap_or("the reader stopped");
    lance::Error::corrupt_file_named("file", format!("damaged or cut off: {said}"))
}
