//! Work that goes on after the caller has its answer, so that a process can wait for it before it
//! ends.

use std::sync::Arc;

use tokio::sync::watch;

/// Counts the tasks that are still at work.
#[derive(Debug, Clone)]
pub(crate) struct Background {
    running: Arc<watch::Sender<usize>>,
}

/// A task is at work for as long as this exists.
#[derive(Debug)]
pub(crate) struct AtWork(Background);

impl Default for Background {
    fn default() -> Self {
        Self { running: Arc::new(watch::Sender::new(0)) }
    }
}

impl Background {
    pub(crate) fn enter(&self) -> AtWork {
        self.running.send_modify(|running| *running += 1);
        AtWork(self.clone())
    }

    /// Returns when no task is at work.
    pub(crate) async fn idle(&self) {
        let mut running = self.running.subscribe();
        // The sender lives as long as `self`, so the wait cannot fail.
        let _ = running.wait_for(|running| *running == 0).await;
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.running.send_modify(|running| *running -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn idle_waits_for_every_task() {
        let background = Background::default();
        background.idle().await;
        let work = background.enter();
        let waiter = tokio::spawn({
            let background = background.clone();
            async move { background.idle().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiter.is_finished());
        drop(work);
        waiter.await.expect("the waiter ends");
    }
}
