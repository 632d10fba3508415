//! Actors over the simulated store: the writer, which may be a zombie, recoverers, and others who
//! use the graph meanwhile. A scheduler runs them one port call at a time.

use std::future::Future;
use std::pin::Pin as Pinned;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use graphwrite_protocol_types::*;

use super::defect::Defect;
use super::fixture::{Elsewhere, dead, full};
use super::model_port::{Answer, Died, Fault, ModelPort, Shared};
use super::world::{Change, World};
use crate::*;

/// What an actor says at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// The writer acknowledged.
    Committed,
    /// The writer knows or fears that it failed.
    Failed,
    /// A recoverer's result.
    Resolved(Resolution),
    /// It died.
    Died,
    /// Somebody else is done.
    Done,
}

pub(crate) type Actor<'a> = Pinned<Box<dyn Future<Output = Said> + Send + 'a>>;

/// Polls actor `schedule[0]`, then `schedule[1]`.., then each to its end in order. One poll is one
/// port call. Also says how often each was polled.
pub(crate) fn run(mut actors: Vec<Actor<'_>>, schedule: &[usize]) -> (Vec<Said>, Vec<usize>) {
    let mut said: Vec<Option<Said>> = actors.iter().map(|_| None).collect();
    let mut polls = vec![0; actors.len()];
    let mut poll = |at: usize, said: &mut Vec<Option<Said>>| {
        if said[at].is_some() {
            return;
        }
        polls[at] += 1;
        assert!(polls[at] < 10_000, "actor {at} never ends");
        if let Poll::Ready(end) = actors[at].as_mut().poll(&mut Context::from_waker(Waker::noop()))
        {
            said[at] = Some(end);
        }
    };
    schedule.iter().for_each(|at| poll(*at, &mut said));
    for at in 0..said.len() {
        while said[at].is_none() {
            poll(at, &mut said);
        }
    }
    (said.into_iter().flatten().collect(), polls)
}

pub(crate) fn share(world: &World) -> Shared {
    Arc::new(Mutex::new(world.clone()))
}

pub(crate) fn impatient() -> WaitRules {
    WaitRules { fence_after_ms: 0, ..WaitRules::default() }
}

/// A recoverer that met the intent in a barrier.
pub(crate) fn recoverer<'a>(port: &'a ModelPort, intent: &'a Intent, defect: Defect) -> Actor<'a> {
    Box::pin(async move {
        let (mode, waits) = (full(), impatient());
        let mut interpreter = Interpreter::new(port, &mode, &waits);
        interpreter.defect = defect;
        // One call at a time, so that a schedule may switch after each.
        interpreter.width = 1;
        match interpreter.resolve(intent, &RecordSet::default(), &dead()).await {
            Ok(resolution) => Said::Resolved(resolution),
            Err(Died) => Said::Died,
        }
    })
}

/// How far the writer got: landed steps of each effect (a created ref counts as one).
pub(crate) type Prefix = Vec<usize>;

/// The changes of effect `at`, in order.
pub(crate) fn changes_of(intent: &Intent, at: usize) -> Vec<Change> {
    let effect = &intent.effects[at];
    let created = effect.kind == EffectKind::CreateRef;
    let create = created.then_some(Change::CreateRef { effect: at });
    let steps = (0..effect.steps.len()).map(|step| Change::Step { effect: at, step });
    create.into_iter().chain(steps).collect()
}

pub(crate) fn confirm_of(intent: &Intent) -> Confirm {
    let achieved = |effect: &Effect| effect.steps.last().map(PlannedStep::pin);
    Confirm { attempt: intent.attempt, achieved: intent.effects.iter().map(achieved).collect() }
}

/// The writer from stage F on, `prefix` already landed.
pub(crate) fn writer<'a>(port: &'a ModelPort, intent: &'a Intent, prefix: &'a Prefix) -> Actor<'a> {
    Box::pin(async move {
        match write(port, intent, prefix).await {
            Ok(Ok(())) => Said::Committed,
            Ok(Err(_)) => Said::Failed,
            Err(Died) => Said::Died,
        }
    })
}

/// The writer, which resolves its own attempt when it fails.
pub(crate) fn careful_writer<'a>(
    port: &'a ModelPort,
    intent: &'a Intent,
    prefix: &'a Prefix,
) -> Actor<'a> {
    Box::pin(async move {
        let steps = match write(port, intent, prefix).await {
            Ok(Ok(())) => return Said::Committed,
            Ok(Err(steps)) => steps,
            Err(Died) => return Said::Died,
        };
        let (mode, waits) = (full(), WaitRules::default());
        let mut interpreter = Interpreter::new(port, &mode, &waits);
        interpreter.width = 1;
        let owner = Owner::OwnStopped { steps };
        match interpreter.resolve(intent, &RecordSet::default(), &owner).await {
            Ok(resolution) => Said::Resolved(resolution),
            Err(Died) => Said::Died,
        }
    })
}

/// `Err` says what the writer knows of its steps.
async fn write(
    port: &ModelPort,
    intent: &Intent,
    prefix: &Prefix,
) -> Result<Result<(), Vec<OwnSteps>>, Died> {
    let known = |landed: &usize| {
        if *landed > 0 { OwnSteps::SomeLanded } else { OwnSteps::NoneLanded }
    };
    let mut own: Vec<OwnSteps> = prefix.iter().map(known).collect();
    for (at, landed) in prefix.iter().enumerate() {
        for change in changes_of(intent, at).into_iter().skip(*landed) {
            match port.durable(intent, change).await? {
                Answer::Landed => own[at] = OwnSteps::SomeLanded,
                Answer::Refused(_) => return Ok(Err(own)),
                Answer::Unknown => {
                    own[at] = OwnSteps::Unknown;
                    return Ok(Err(own));
                }
            }
        }
    }
    if ConfirmFacts::needed_by(intent) {
        port.durable(intent, Change::Confirm(confirm_of(intent))).await?;
    }
    if !publish(port, intent).await? {
        return Ok(Err(own));
    }
    port.durable(intent, Change::Delete(intent.attempt)).await?;
    Ok(Ok(()))
}

/// Stage G: first over the state of stage D, then, after a lost slot, over a newer state in which
/// everything was arbitrated again.
async fn publish(port: &ModelPort, intent: &Intent) -> Result<bool, Died> {
    let delta = bind_outputs(&intent.delta, &confirm_of(intent).achieved);
    let mut over = intent.manifest.version;
    loop {
        let by = TxUuid::authority(intent.attempt, u128::from(over));
        let change = Change::Publish { over, delta: delta.clone(), by };
        match port.durable(intent, change).await? {
            Answer::Landed => return Ok(true),
            Answer::Unknown => return Ok(false),
            Answer::Refused(_) => {}
        }
        port.turn().await?;
        let world = port.lock();
        match world.outcome.get(&intent.attempt) {
            Some(AttemptOutcome::Committed { .. }) => return Ok(true),
            Some(_) => return Ok(false),
            None => {}
        }
        if intent.read_set.check(&world.view).is_err() || world.operation != OperationOutcome::None
        {
            return Ok(false);
        }
        over = world.view.manifest.version;
    }
}

/// Somebody who writes every live table of the plan once, as soon as HEAD is its pin.
pub(crate) fn later_writer<'a>(port: &'a ModelPort, intent: &'a Intent) -> Actor<'a> {
    Box::pin(async move {
        for number in 1..=intent.effects.len() as u64 {
            if port.turn().await.is_err() {
                return Said::Died;
            }
            let mut world = port.lock();
            world.adopt_fences(number);
            let identity = super::fixture::table(number);
            let live = world.view.head(identity).live().is_some();
            if live && world.head_is_pin(number) {
                world.foreign_write(number, &format!("later-{number}"));
            }
        }
        Said::Done
    })
}

/// Somebody who seals the operation.
pub(crate) fn sealer<'a>(port: &'a ModelPort) -> Actor<'a> {
    Box::pin(async move {
        if port.turn().await.is_err() {
            return Said::Died;
        }
        port.lock().seal();
        Said::Done
    })
}

/// A barrier of a fresh process that waits for nobody.
pub(crate) fn barrier(world: &Shared) -> Result<BarrierReport, String> {
    let port = ModelPort::new(world, 90, Fault::None);
    let (mode, waits, local) = (full(), impatient(), Elsewhere::default());
    let future = run_barrier(&port, &mode, &local, &waits);
    block_on(future).map_err(|error| error.to_string())
}

async fn run_barrier(
    port: &ModelPort,
    mode: &RecoveryMode,
    local: &Elsewhere,
    waits: &WaitRules,
) -> Result<BarrierReport, BarrierError<Died>> {
    crate::run(port, mode, None, local, waits).await
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    for _ in 0..100_000 {
        let context = &mut Context::from_waker(Waker::noop());
        if let Poll::Ready(value) = future.as_mut().poll(context) {
            return value;
        }
    }
    panic!("the future never ends")
}
