//! What an earlier write may have left pending, made by real writers and recoverers that died.

use graphwrite_coordinator::{Graph, MemoryStorage, RecoverMode, RecoverRequest, Store};
use graphwrite_protocol_types::{AttemptId, OperationId};
use graphwrite_substrate::{Fault, Operation};

use super::log::{is_arming, is_effect, is_manifest_commit};
use super::matrix::at_nth;
use super::scenario::{Scenario, Stage};
use crate::judge::{impatient, open_impatient};
use crate::request::Terms;
use crate::world::own_process;

/// How far a write came before its process died, and a recovery before its own did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pending {
    /// There was none.
    Nothing,
    /// Armed, without an effect.
    Armed,
    /// Its first effect has landed; it has more.
    Half,
    /// All of its effects have landed.
    Whole,
    /// It is committed, and its intent is still there.
    Published,
    /// As half, and then aborted by a recoverer that took nothing back.
    Aborted,
    /// As aborted, with all slots closed and the pins not moved.
    Closed,
    /// As closed, with the pins moved and the intent still there.
    RolledBack,
    /// Armed by a writer that is paused and goes on later.
    Paused,
}

/// The id of the request whose write is pending.
pub(super) fn operation() -> OperationId {
    "the-request".parse().expect("an id")
}

pub(super) fn full() -> RecoverRequest {
    RecoverRequest { attempt: None, mode: RecoverMode::Full, owner_is_dead: false }
}

impl Pending {
    /// What the rows are in the end, if nobody seals the request: with the write, or as before it.
    /// None where both are right.
    pub(super) fn is_decided(self) -> Option<bool> {
        match self {
            Self::Nothing | Self::Paused => None,
            Self::Whole | Self::Published => Some(true),
            Self::Armed | Self::Half | Self::Aborted | Self::Closed | Self::RolledBack => {
                Some(false)
            }
        }
    }

    /// Whether the commit of the write is visible already.
    pub(super) fn is_visible(self) -> bool {
        self == Self::Published
    }

    /// A copy of the stage's storage with this in it, and the attempt.
    pub(super) async fn over(self, stage: &Stage) -> (MemoryStorage, Option<AttemptId>) {
        let storage = stage.base.fork();
        let store = Store::memory(&storage);
        let tables = stage.scenario.tables.len();
        match self {
            Self::Nothing | Self::Paused => return (storage, None),
            Self::Armed => writer_dies(stage, &store, 1, is_arming).await,
            Self::Half => writer_dies(stage, &store, 1, is_effect).await,
            Self::Whole => writer_dies(stage, &store, tables, is_effect).await,
            Self::Published => writer_dies(stage, &store, 1, is_manifest_commit).await,
            Self::Aborted | Self::Closed | Self::RolledBack => {
                writer_dies(stage, &store, 1, is_effect).await;
                match self {
                    Self::Aborted => recoverer_dies(&store, 1, is_manifest_commit).await,
                    Self::Closed => recoverer_dies(&store, tables, is_effect).await,
                    _ => recoverer_dies(&store, 2, is_manifest_commit).await,
                }
            }
        }
        let attempt = attempt_in(&store).await;
        (storage, Some(attempt))
    }
}

async fn writer_dies(stage: &Stage, store: &Store, nth: usize, at: fn(&Operation) -> bool) {
    let (client, faults) = store.faulty(at_nth(nth, at, Fault::DieAfter));
    let writer = Graph::open(client, own_process()).await.expect("a graph");
    send(&writer, stage.scenario).await;
    assert!(faults.is_dead(), "the writer died");
}

/// Sends the write under its id.
pub(super) async fn send(graph: &Graph, scenario: Scenario) -> crate::judge::Heard {
    scenario.write_as(graph, Terms { operation: Some(operation()), expect_head: None }).await
}

async fn recoverer_dies(store: &Store, nth: usize, at: fn(&Operation) -> bool) {
    let (client, faults) = store.faulty(at_nth(nth, at, Fault::DieAfter));
    let recoverer = Graph::open(client, impatient()).await.expect("a graph");
    let _ = recoverer.recover(full()).await;
    assert!(faults.is_dead(), "the recoverer died");
}

async fn attempt_in(store: &Store) -> AttemptId {
    let pending = open_impatient(store).await.pending_intents().await.expect("what is pending");
    let [intent] = &pending.intents[..] else { panic!("not one intent: {pending:?}") };
    intent.attempt.parse().expect("an attempt")
}
