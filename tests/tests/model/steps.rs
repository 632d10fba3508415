//! One step of a random history: a request, what the caller says with it, and what befalls it.

use graphwrite_protocol_types::Failpoint;
use graphwrite_substrate::Fault;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::seeds::{RequestSeed, request};

/// The head that the caller expects.
#[derive(Debug, Clone)]
pub(super) enum Head {
    Any,
    Newest,
    NoCommit,
    /// That of a commit of the history, by chance the newest.
    Of(Index),
}

/// The id under which the caller sends the request.
#[derive(Debug, Clone)]
pub(super) enum Operation {
    Minted,
    Fresh,
    /// A committed request is sent again, instead of the one of the step.
    Again(Index),
    /// The id of a committed request, with the request of the step.
    Taken(Index),
}

/// What befalls the process of the request. A fresh process follows.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fate {
    None,
    /// It stops at a failpoint, the n-th time it comes there.
    StopsAt(Failpoint, u8),
    /// Its n-th durable operation meets a fault.
    Meets(u8, Fault),
}

/// One step.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) request: RequestSeed,
    pub(super) head: Head,
    pub(super) operation: Operation,
    pub(super) fate: Fate,
    /// Whether another process takes over before.
    pub(super) reopens: bool,
}

const POINTS: [Failpoint; 7] = [
    Failpoint::PostPrepare,
    Failpoint::PreArm,
    Failpoint::PostArm,
    Failpoint::PostEffect,
    Failpoint::PrePublish,
    Failpoint::PostPublish,
    Failpoint::PreIntentDelete,
];

const FAULTS: [Fault; 5] =
    [Fault::Fail, Fault::DieBefore, Fault::DieAfter, Fault::LoseAck, Fault::LateDead];

pub(super) fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        20 => Just(Fate::None),
        3 => (select(&POINTS[..]), 1..3_u8).prop_map(|(point, nth)| Fate::StopsAt(point, nth)),
        3 => (1..12_u8, select(&FAULTS[..])).prop_map(|(nth, fault)| Fate::Meets(nth, fault)),
    ]
}

fn head() -> impl Strategy<Value = Head> {
    prop_oneof![
        20 => Just(Head::Any),
        2 => Just(Head::Newest),
        1 => Just(Head::NoCommit),
        1 => any::<Index>().prop_map(Head::Of),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        10 => Just(Operation::Minted),
        3 => Just(Operation::Fresh),
        1 => any::<Index>().prop_map(Operation::Again),
        1 => any::<Index>().prop_map(Operation::Taken),
    ]
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let parts = (request(), head(), operation(), fate(), prop::bool::weighted(0.1));
    parts.prop_map(|(request, head, operation, fate, reopens)| Step {
        request,
        head,
        operation,
        fate,
        reopens,
    })
}
