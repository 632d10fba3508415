//! Work that is done some at a time. It must not know what the work is.

use futures::{StreamExt, stream};

/// The results of the futures, in their order; `at_once` of them run together.
pub(crate) fn side_by_side<F: Future>(
    futures: impl IntoIterator<Item = F>,
    at_once: usize,
) -> impl Future<Output = Vec<F::Output>> {
    // Collected first: what makes them must not live in the future that runs them.
    let futures: Vec<F> = futures.into_iter().collect();
    stream::iter(futures).buffered(at_once).collect()
}
