//! What Ctrl-C means during a write. Until the intent is about to be durable the system's own
//! meaning holds: the process ends, and nothing of the write can have an effect. From then on the
//! attempt runs to its end, and the operator is told so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use graphwrite_coordinator::{Hooks, Injected};
use graphwrite_protocol_types::Failpoint;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Passes every failpoint on, and takes over the signals where the intent is next.
#[derive(Debug)]
pub(crate) struct RunsToItsEnd {
    inner: Arc<dyn Hooks>,
    signals: UnboundedSender<()>,
    listening: AtomicBool,
}

impl RunsToItsEnd {
    /// The hook, and a message for every signal that came too late.
    pub(crate) fn new(inner: Arc<dyn Hooks>) -> (Arc<Self>, UnboundedReceiver<()>) {
        let (signals, told) = unbounded_channel();
        (Arc::new(Self { inner, signals, listening: AtomicBool::new(false) }), told)
    }
}

#[async_trait]
impl Hooks for RunsToItsEnd {
    async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
        self.inner.reach(point).await?;
        if point == Failpoint::PreArm && !self.listening.swap(true, Ordering::SeqCst) {
            listen(&self.signals);
        }
        Ok(())
    }

    fn wants(&self, point: Failpoint) -> bool {
        point == Failpoint::PreArm || self.inner.wants(point)
    }
}

/// Takes over the signals that end a process. Where that is not possible they go on ending it,
/// which is safe: the next write settles what is left.
#[cfg(unix)]
fn listen(told: &UnboundedSender<()>) {
    use tokio::signal::unix::{SignalKind, signal};
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        let Ok(mut signals) = signal(kind) else { continue };
        let told = told.clone();
        tokio::spawn(
            async move { while signals.recv().await.is_some() && told.send(()).is_ok() {} },
        );
    }
}

/// Takes over Ctrl-C.
#[cfg(not(unix))]
fn listen(told: &UnboundedSender<()>) {
    let told = told.clone();
    tokio::spawn(
        async move { while tokio::signal::ctrl_c().await.is_ok() && told.send(()).is_ok() {} },
    );
}

#[cfg(test)]
mod tests {
    use graphwrite_coordinator::NoHooks;

    use super::*;

    #[tokio::test]
    async fn signals_are_taken_over_only_where_the_intent_is_next() {
        let (hook, _told) = RunsToItsEnd::new(Arc::new(NoHooks));
        hook.reach(Failpoint::PostPrepare).await.unwrap();
        assert!(!hook.listening.load(Ordering::SeqCst));
        hook.reach(Failpoint::PreArm).await.unwrap();
        assert!(hook.listening.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn a_fault_before_the_intent_leaves_the_signals_alone() {
        #[derive(Debug)]
        struct Fails;

        #[async_trait]
        impl Hooks for Fails {
            async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
                Err(Injected(point))
            }

            fn wants(&self, _: Failpoint) -> bool {
                true
            }
        }

        let (hook, _told) = RunsToItsEnd::new(Arc::new(Fails));
        assert!(hook.reach(Failpoint::PreArm).await.is_err());
        assert!(!hook.listening.load(Ordering::SeqCst));
    }

    #[test]
    fn faults_of_a_test_are_passed_on() {
        let (hook, _told) = RunsToItsEnd::new(Arc::new(NoHooks));
        assert!(hook.wants(Failpoint::PreArm) && !hook.wants(Failpoint::PostEffect));
    }
}
