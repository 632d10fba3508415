//! Lance trusts the offsets in a version's footer and panics over those of a damaged one. This turns
//! that panic into its error; it must not know what is read.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;

/// Reads a version's manifest. Nothing that the reader has touched is used after a panic: what it was
/// building is dropped with it, and caches are filled by complete values only.
pub(crate) async fn whole<T>(reading: impl Future<Output = lance::Result<T>>) -> lance::Result<T> {
    let ended = AssertUnwindSafe(reading).catch_unwind().await;
    ended.unwrap_or_else(|panic| Err(damaged(panic.as_ref())))
}

fn damaged(panic: &(dyn Any + Send)) -> lance::Error {
    let text = panic.downcast_ref::<&str>().copied();
    let said = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let said = said.unwrap_or("the reader stopped");
    lance::Error::corrupt_file_named("manifest", format!("damaged or cut off: {said}"))
}
