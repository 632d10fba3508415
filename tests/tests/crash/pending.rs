//! What an earlier write may have left pending, made by real writers and recoverers that died.

use graphwrite_coordinator::{Graph, MemoryStorage, RecoverMode, RecoverRequest, Store};
use graphwrite_protocol_types::{AttemptId, OperationId};
use graphwrite_substrate::{Fault, Operation};
use tokio::sync::watch;

use super::log::{dataset_of, is_arming, is_effect, is_manifest_commit, known};
use super::matrix::at_nth;
use super::place::Names;
use super::refs::{is_clone, is_contents, is_step, ref_of};
use super::scenario::{Scenario, Stage};
use crate::ground::open_on;
use crate::judge::impatient;
use crate::request::Terms;

/// How far a write came before its process died, and a recovery before its own did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pending {
    /// There was none.
    Nothing,
    /// Armed, without an effect.
    Armed,
    /// A clone of its first ref is there, and Lance does not know the ref.
    Cloned,
    /// Its first ref is complete, and nothing was committed to it.
    Forked,
    /// Its first effect has landed; it has more.
    Half,
    /// So many commits of its only effect have landed; it has more.
    Prefix(usize),
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
            Self::Armed
            | Self::Cloned
            | Self::Forked
            | Self::Half
            | Self::Prefix(_)
            | Self::Aborted
            | Self::Closed
            | Self::RolledBack => Some(false),
        }
    }

    /// Whether its abort is decided, or all of it is over.
    pub(super) fn is_aborted(self) -> bool {
        !matches!(
            self,
            Self::Armed | Self::Cloned | Self::Forked | Self::Half | Self::Prefix(_) | Self::Whole
        )
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
        let known = known(&storage).await;
        let is_step = || is_step(&known);
        match self {
            Self::Nothing | Self::Paused => return (storage, None),
            Self::Armed => writer_dies(stage, &store, 1, is_arming).await,
            Self::Cloned => writer_dies(stage, &store, 1, is_clone(&known)).await,
            Self::Forked => writer_dies(stage, &store, 1, is_contents).await,
            Self::Half => writer_dies(stage, &store, 1, is_step()).await,
            Self::Prefix(steps) => writer_dies(stage, &store, steps, is_step()).await,
            Self::Whole => writer_dies(stage, &store, stage.scenario.steps(), is_step()).await,
            Self::Published => writer_dies(stage, &store, 1, is_manifest_commit).await,
            Self::Aborted | Self::Closed | Self::RolledBack => {
                writer_dies(stage, &store, 1, is_step()).await;
                match self {
                    Self::Aborted => recoverer_dies(stage, &store, 1, is_manifest_commit).await,
                    Self::Closed => recoverer_dies(stage, &store, tables, is_effect).await,
                    _ => recoverer_dies(stage, &store, 2, is_manifest_commit).await,
                }
            }
        }
        let attempt = attempt_in(&stage.fresh(&store).await).await;
        (storage, Some(attempt))
    }
}

async fn writer_dies(
    stage: &Stage,
    store: &Store,
    nth: usize,
    at: impl Fn(&Operation) -> bool + Send + Sync + 'static,
) {
    let (died, mut has_died) = watch::channel(false);
    let dies = at_nth(nth, at, Fault::DieAfter);
    let (client, faults) = store.faulty(move |operation| {
        let fault = dies(operation);
        died.send_if_modified(|it| std::mem::replace(it, fault != Fault::Proceed) != *it);
        fault
    });
    let (is_of_others, is_half) = (of_others(stage, store).await, nth == 1);
    let (client, mut others) = client.holding(move |it| is_half && is_of_others(it));
    let holding = tokio::spawn(async move {
        let mut held = Vec::new();
        loop {
            tokio::select! {
                Some(next) = others.next() => held.push(next),
                _ = has_died.wait_for(|it| *it) => return,
            }
        }
    });
    let writer = stage.scenario.open(client).await;
    send(&writer, stage.scenario).await;
    assert!(faults.is_dead(), "the writer died");
    holding.await.expect("what was held has failed");
}

/// Picks what a writer on a branch does to new refs of tables that are not its first one. While that is
/// held, how far the others came does not depend on chance.
async fn of_others(
    stage: &Stage,
    store: &Store,
) -> impl Fn(&Operation) -> bool + Send + Sync + 'static {
    let (names, known) = (Names::of(store).await, known(&stage.base).await);
    let first = stage.scenario.tables[0];
    move |operation| {
        let of_other = dataset_of(&operation.path).and_then(|it| names.table(it));
        let is_new = ref_of(&operation.path).is_some_and(|it| !known.contains(&it));
        is_new && of_other.is_some_and(|it| it != first)
    }
}

/// Sends the write under its id.
pub(super) async fn send(graph: &Graph, scenario: Scenario) -> crate::judge::Heard {
    scenario.write_as(graph, Terms { operation: Some(operation()), expect_head: None }).await
}

async fn recoverer_dies(stage: &Stage, store: &Store, nth: usize, at: fn(&Operation) -> bool) {
    let (client, faults) = store.faulty(at_nth(nth, at, Fault::DieAfter));
    let recoverer = open_on(stage.ground.branch, client, impatient()).await;
    let _ = recoverer.recover(full()).await;
    assert!(faults.is_dead(), "the recoverer died");
}

async fn attempt_in(graph: &Graph) -> AttemptId {
    let pending = graph.pending_intents().await.expect("what is pending");
    let [intent] = &pending.intents[..] else { panic!("not one intent: {pending:?}") };
    intent.attempt.parse().expect("an attempt")
}
