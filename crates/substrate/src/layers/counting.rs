//! Counts requests by kind, and bytes in both directions. It changes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use object_store::Result;
use parking_lot::Mutex;

use super::tap::{Operation, OperationKind, Tap, Verdict};

/// Requests of one client. Clones share the counts.
#[derive(Debug, Clone, Default)]
pub struct RequestCounter(Arc<Mutex<RequestCounts>>);

/// What a client has asked of its storage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// Requests by kind; a kind that did not occur is absent.
    pub by_kind: BTreeMap<OperationKind, u64>,
    /// Bytes that reads have returned.
    pub bytes_read: u64,
    /// Bytes that writes have carried.
    pub bytes_written: u64,
}

impl RequestCounts {
    /// Requests of one kind.
    pub fn of(&self, kind: OperationKind) -> u64 {
        self.by_kind.get(&kind).copied().unwrap_or_default()
    }

    /// Requests that change nothing.
    pub fn reads(&self) -> u64 {
        self.sum(|kind| !kind.is_durable())
    }

    /// Durable operations.
    pub fn durable(&self) -> u64 {
        self.sum(OperationKind::is_durable)
    }

    /// All requests.
    pub fn total(&self) -> u64 {
        self.sum(|_| true)
    }

    fn sum(&self, selects: impl Fn(OperationKind) -> bool) -> u64 {
        self.by_kind.iter().filter(|(kind, _)| selects(**kind)).map(|(_, count)| count).sum()
    }
}

impl RequestCounter {
    /// The counts so far.
    pub fn snapshot(&self) -> RequestCounts {
        self.0.lock().clone()
    }

    /// The counts so far; counting starts again at zero.
    pub fn take(&self) -> RequestCounts {
        std::mem::take(&mut *self.0.lock())
    }
}

impl Tap for RequestCounter {
    fn admit(&self, operation: Operation) -> BoxFuture<'static, Result<Verdict>> {
        let mut counts = self.0.lock();
        *counts.by_kind.entry(operation.kind).or_default() += 1;
        counts.bytes_written += operation.bytes;
        futures::future::ok(Verdict::Proceed).boxed()
    }

    fn received(&self, bytes: u64) {
        self.0.lock().bytes_read += bytes;
    }
}
