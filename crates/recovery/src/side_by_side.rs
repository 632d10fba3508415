//! Calls of a port side by side, a bounded number at a time. It knows nothing of what they do.

use std::future::Future;

use futures::StreamExt;
use futures::stream;

/// How many calls one pass has under way at most: many, because each is a round trip that waits for
/// nothing else, and not so many that they crowd out everybody else's.
pub const WIDTH: usize = 64;

/// The results in the order of the calls.
pub(crate) async fn side_by_side<F: Future>(
    width: usize,
    calls: impl IntoIterator<Item = F>,
) -> Vec<F::Output> {
    // Collected first: a stream over a borrowing iterator is not `Send` for all lifetimes.
    let calls: Vec<F> = calls.into_iter().collect();
    stream::iter(calls).buffered(width.max(1)).collect().await
}
