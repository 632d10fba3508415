//! Gives every durable operation of a client the fate that a test has chosen for it, and writes
//! down what was asked.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt;
use futures::future::BoxFuture;
use object_store::{Error, Result};
use parking_lot::Mutex;

use super::tap::{Injected, Operation, OperationKind, Tap, Verdict};

/// The fate of a durable operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// None: it is performed and answered.
    Proceed,
    /// It fails and has no effect; the client lives on.
    Fail,
    /// The client dies before it: this operation and every later request of the client fail.
    DieBefore,
    /// It is performed, then the client dies without an answer.
    DieAfter,
    /// It is performed and its answer is lost; the client lives on and sees an error.
    LoseAck,
    /// It reaches the storage only when [`FaultHandle::release_late`] is called; the client waits
    /// for ever.
    LateHanging,
    /// It reaches the storage only when [`FaultHandle::release_late`] is called; the client dies.
    LateDead,
    /// It reaches the storage only when [`FaultHandle::release_late`] is called; the client lives on
    /// and sees an error.
    LateAlive,
}

/// One durable operation and its fate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedOperation {
    /// What was asked.
    pub operation: Operation,
    /// What became of it.
    pub fault: Fault,
}

/// The durable operations of a client, in the order in which they were asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperationLog(pub Vec<LoggedOperation>);

impl OperationLog {
    /// The first operation of `kind` whose path contains `part`.
    pub fn find(&self, kind: OperationKind, part: &str) -> Option<&Operation> {
        let matches =
            |operation: &&Operation| operation.kind == kind && operation.path.contains(part);
        self.operations().find(matches)
    }

    /// The operations without their fates.
    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.0.iter().map(|logged| &logged.operation)
    }
}

type Decide = dyn Fn(&Operation) -> Fault + Send + Sync;

/// Controls a faulty client. Clones control the same client.
#[derive(Clone)]
pub struct FaultHandle(Arc<Faults>);

struct Faults {
    decide: Box<Decide>,
    log: Mutex<OperationLog>,
    dead: AtomicBool,
    late: Mutex<Vec<BoxFuture<'static, ()>>>,
}

impl FaultHandle {
    pub(super) fn new(decide: impl Fn(&Operation) -> Fault + Send + Sync + 'static) -> Self {
        Self(Arc::new(Faults {
            decide: Box::new(decide),
            log: Mutex::default(),
            dead: AtomicBool::new(false),
            late: Mutex::default(),
        }))
    }

    /// The durable operations so far.
    pub fn log(&self) -> OperationLog {
        self.0.log.lock().clone()
    }

    /// How many durable operations were asked for so far.
    pub fn durable_operations(&self) -> u64 {
        self.0.log.lock().0.len() as u64
    }

    /// Kills the client: every later request of it fails.
    pub fn kill(&self) {
        self.0.dead.store(true, Ordering::SeqCst);
    }

    /// Whether the client is dead.
    pub fn is_dead(&self) -> bool {
        self.0.dead.load(Ordering::SeqCst)
    }

    /// Lets the late operations reach the storage, in their order. Returns how many there were.
    pub async fn release_late(&self) -> usize {
        let late = std::mem::take(&mut *self.0.late.lock());
        let count = late.len();
        for operation in late {
            operation.await;
        }
        count
    }

    fn number_and_decide(&self, mut operation: Operation) -> Fault {
        let mut log = self.0.log.lock();
        operation.number = log.0.len() as u64 + 1;
        let fault = (self.0.decide)(&operation);
        log.0.push(LoggedOperation { operation, fault });
        fault
    }

    fn verdict(&self, fault: Fault) -> Result<Verdict> {
        match fault {
            Fault::Proceed => Ok(Verdict::Proceed),
            Fault::Fail => Err(Injected::error("the request failed")),
            Fault::LoseAck => Ok(Verdict::LoseAnswer),
            Fault::DieBefore => {
                self.kill();
                Err(dead())
            }
            Fault::DieAfter => {
                self.kill();
                Ok(Verdict::LoseAnswer)
            }
            Fault::LateHanging => Ok(self.hand_over(|| futures::future::pending().boxed())),
            Fault::LateAlive => Ok(self.hand_over(|| futures::future::ready(lost()).boxed())),
            Fault::LateDead => {
                self.kill();
                Ok(self.hand_over(|| futures::future::ready(dead()).boxed()))
            }
        }
    }

    fn hand_over(&self, answer: fn() -> BoxFuture<'static, Error>) -> Verdict {
        let faults = Arc::clone(&self.0);
        Verdict::HandOver(Box::new(move |action| {
            faults.late.lock().push(action);
            answer()
        }))
    }
}

fn lost() -> Error {
    Injected::error("the answer was lost")
}

fn dead() -> Error {
    Injected::error("the client is dead")
}

impl fmt::Debug for FaultHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FaultHandle(dead: {})", self.is_dead())
    }
}

impl Tap for FaultHandle {
    fn admit(&self, operation: Operation) -> BoxFuture<'static, Result<Verdict>> {
        let verdict = if self.is_dead() {
            Err(dead())
        } else if operation.kind.is_durable() {
            let fault = self.number_and_decide(operation);
            self.verdict(fault)
        } else {
            Ok(Verdict::Proceed)
        };
        futures::future::ready(verdict).boxed()
    }

    fn received(&self, _: u64) {}
}
