//! Merges by the names of branches.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use graphwrite_coordinator::{
    BranchFrom, Graph, Hooks, Injected, MergeAnswer, MergeReport, MergeRequest,
};
use graphwrite_protocol_types::{Failpoint, Receipt, WriteOutcome};
use tokio::sync::Semaphore;

use crate::branches::scene::selector;

pub(crate) fn request(source: &str) -> MergeRequest {
    MergeRequest::new(BranchFrom::Head(selector(source)))
}

pub(crate) async fn try_merge(target: &Graph, request: MergeRequest) -> MergeAnswer {
    let answer = target.merge(request).await.expect("an outcome");
    target.settled().await;
    answer
}

/// Merges a branch into that of `target`, which must make a commit.
pub(crate) async fn merge(target: &Graph, source: &str) -> (Receipt, MergeReport) {
    let MergeAnswer { outcome, report } = try_merge(target, request(source)).await;
    match (outcome, report) {
        (WriteOutcome::Committed(receipt), Some(report)) => (receipt, report),
        (outcome, report) => panic!("no commit: {outcome:?}, {report:?}"),
    }
}

/// Stands still at a failpoint, the first time that it is reached, until it is let go.
#[derive(Debug)]
pub(crate) struct Pause {
    point: Failpoint,
    was_there: AtomicBool,
    arrived: Semaphore,
    released: Semaphore,
}

impl Pause {
    pub(crate) fn at(point: Failpoint) -> Arc<Self> {
        let (arrived, released) = (Semaphore::new(0), Semaphore::new(0));
        Arc::new(Self { point, was_there: AtomicBool::new(false), arrived, released })
    }

    /// Waits until the write stands there.
    pub(crate) async fn arrived(&self) {
        self.arrived.acquire().await.expect("it is never closed").forget();
    }

    pub(crate) fn release(&self) {
        self.released.add_permits(1);
    }
}

#[async_trait]
impl Hooks for Pause {
    async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
        if point == self.point && !self.was_there.swap(true, Ordering::SeqCst) {
            self.arrived.add_permits(1);
            self.released.acquire().await.expect("it is never closed").forget();
        }
        Ok(())
    }

    fn wants(&self, point: Failpoint) -> bool {
        point == self.point
    }
}
