//! What is crashed: a workflow over a graph in a given state, and what its caller gets to hear. It must
//! not know where or how it is crashed.

use std::collections::BTreeSet;

use graphwrite_coordinator::{
    BarrierReport, BranchError, BranchInfo, CreateError, Graph, MemoryStorage, OperationOutcome,
    OutcomeError, OutcomeRequest, RecoverError, RecoverMode, RecoverRequest, Store,
};
use graphwrite_protocol_types::{AttemptId, CommitId};
use graphwrite_substrate::HoldHandle;

use super::cells::Fate;
use super::control::{self, Alive, Earlier, Origin};
use super::log::{self, is_effect};
use super::pending::{self, Pending, operation};
use super::place::{Names, Place};
use super::scenario::{Scenario, Stage};
use crate::ground::open_on;
use crate::judge::{Heard, impatient};
use crate::world::{own_process, schema};

/// A workflow that has durable operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// `init`.
    Create,
    /// A load or a mutation.
    Write,
    /// The question after a request, with a seal.
    Seal,
    /// Recovery of all that is pending.
    Recover(RecoverMode),
    /// Recovery of one attempt, whose owner the operator declares dead.
    Resolve,
    /// A branch is made, of the name that meant this before.
    Fork(Origin, Earlier),
    /// A branch is deleted.
    Remove(Alive),
}

/// One scenario of the matrix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject {
    /// `<entry>/<scenario>`.
    pub(super) id: &'static str,
    pub(super) act: Act,
    pub(super) scenario: Scenario,
    pub(super) pending: Pending,
    /// Whether operations of one kind, on whichever table, are the same to whatever costs a run.
    pub(super) is_thin: bool,
}

/// What the caller of the workflow got to hear.
#[derive(Debug)]
pub(super) enum Said {
    /// Nothing: its process died.
    Nothing,
    Wrote(Heard),
    Created(Box<Result<(), CreateError>>),
    Sealed(Box<Result<OperationOutcome, OutcomeError>>),
    Recovered(Box<Result<BarrierReport, RecoverError>>),
    Forked(Box<Result<BranchInfo, BranchError>>),
    Removed(Box<Result<(), BranchError>>),
}

/// What a workflow names.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ids {
    /// What is pending.
    attempt: Option<AttemptId>,
    /// A commit of main that is not its head.
    pub(super) older: Option<CommitId>,
}

/// A subject, and the storage that it starts from.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) subject: Subject,
    pub(super) stage: Stage,
    pub(super) start: MemoryStorage,
    pub(super) ids: Ids,
    pub(super) names: Names,
    /// The datasets and refs that the graph had before it all.
    pub(super) existing: BTreeSet<String>,
}

impl Scene {
    pub(super) async fn of(subject: Subject) -> Self {
        let stage = Box::pin(Stage::of(subject.scenario)).await;
        let names = Names::of(&Store::memory(&stage.base)).await;
        let (start, ids) = match subject.act {
            Act::Create => (MemoryStorage::new(), Ids::default()),
            Act::Fork(_, earlier) => {
                let older = Some(control::older(&stage.base).await);
                let start = Box::pin(control::before_a_fork(&stage, earlier)).await;
                (start, Ids { older, ..Ids::default() })
            }
            Act::Remove(alive) => {
                let older = Some(control::older(&stage.base).await);
                let start =
                    Box::pin(control::before_a_removal(&stage, alive, subject.pending)).await;
                (start, Ids { older, ..Ids::default() })
            }
            _ => {
                let (start, attempt) = Box::pin(subject.pending.over(&stage)).await;
                (start, Ids { attempt, ..Ids::default() })
            }
        };
        let existing = match subject.act {
            Act::Fork(..) | Act::Remove(_) => log::known(&start).await,
            _ => log::known(&stage.base).await,
        };
        Self { subject, stage, start, ids, names, existing }
    }

    /// Performs the workflow through `client`, as a process of its own, until everything has settled.
    /// The handle is there if there is one.
    pub(super) async fn perform(&self, client: Store) -> (Option<Graph>, Said) {
        perform(self.subject, client, self.ids).await
    }

    pub(super) fn is_creation(&self) -> bool {
        self.subject.act == Act::Create
    }

    /// Whether the workflow is on a branch, and not about one.
    pub(super) fn is_on_branch(&self) -> bool {
        self.subject.scenario.branch.is_some() && !self.is_control()
    }

    /// The branch that the workflow is on; none for main.
    pub(super) fn branch(&self) -> Option<&'static str> {
        self.stage.ground.branch.filter(|_| !self.is_control())
    }

    /// Whether it makes or deletes a branch.
    pub(super) fn is_control(&self) -> bool {
        matches!(self.subject.act, Act::Fork(..) | Act::Remove(_))
    }

    /// Whether another process takes part already.
    fn has_another(&self) -> bool {
        self.subject.pending == Pending::Paused
    }

    /// What can happen at its operations. Where another process stands still already, none more does.
    pub(super) fn fates(&self) -> impl Iterator<Item = Fate> {
        let has_another = self.has_another();
        Fate::ALL.into_iter().filter(move |fate| *fate != Fate::Paused || !has_another)
    }

    /// The operations at which it happens.
    pub(super) fn met<'a>(
        &self,
        fate: Fate,
        places: &'a [Place],
    ) -> impl Iterator<Item = &'a Place> + use<'a> {
        let mut met = BTreeSet::new();
        let is_thinned = self.subject.is_thin && fate != Fate::Dead;
        places.iter().filter(move |place| !is_thinned || met.insert(place.kind()))
    }

    /// The writer that stands still beside the workflow, if the subject has one.
    pub(super) async fn beside(&self, store: &Store) -> Option<Live> {
        match self.subject.pending {
            Pending::Paused => Some(Live::armed(store, self.subject.scenario).await),
            _ => None,
        }
    }
}

/// The same, for a task of its own.
pub(super) async fn perform(subject: Subject, client: Store, ids: Ids) -> (Option<Graph>, Said) {
    match subject.act {
        Act::Create => {
            let created = Graph::create(client, &schema(), "ada", own_process()).await;
            match created {
                Ok(graph) => (Some(graph), Said::Created(Box::new(Ok(())))),
                Err(error) => (None, Said::Created(Box::new(Err(error)))),
            }
        }
        Act::Write => {
            let graph = subject.scenario.open(client).await;
            let heard = Box::pin(subject.scenario.write_by(&graph)).await;
            (Some(graph), Said::Wrote(heard))
        }
        Act::Seal => {
            let graph = subject.scenario.open(client).await;
            let request = OutcomeRequest { seal: true, ..OutcomeRequest::new(operation()) };
            let sealed = graph.outcome(request).await;
            graph.settled().await;
            (Some(graph), Said::Sealed(Box::new(sealed)))
        }
        Act::Recover(mode) => {
            let request = RecoverRequest { attempt: None, mode, owner_is_dead: false };
            recover(subject.scenario, client, request).await
        }
        Act::Resolve => {
            let mode = RecoverMode::Full;
            let request = RecoverRequest { attempt: ids.attempt, mode, owner_is_dead: true };
            recover(subject.scenario, client, request).await
        }
        Act::Fork(origin, _) => {
            let graph = Graph::open(client, impatient()).await.expect("a graph");
            let older = ids.older.expect("it has commits");
            let forked = Box::pin(control::fork(&graph, origin, older)).await;
            (Some(graph), Said::Forked(Box::new(forked)))
        }
        Act::Remove(_) => {
            let graph = Graph::open(client, impatient()).await.expect("a graph");
            let removed = control::delete_branch(&graph).await;
            (Some(graph), Said::Removed(Box::new(removed)))
        }
    }
}

async fn recover(
    scenario: Scenario,
    client: Store,
    request: RecoverRequest,
) -> (Option<Graph>, Said) {
    let graph = open_on(scenario.branch.map(|it| it.name), client, impatient()).await;
    let recovered = Box::pin(graph.recover(request)).await;
    graph.settled().await;
    (Some(graph), Said::Recovered(Box::new(recovered)))
}

/// A writer that is paused after arming, before its first effect.
#[derive(Debug)]
pub(super) struct Live {
    handle: HoldHandle,
    first: graphwrite_substrate::Held,
    writing: tokio::task::JoinHandle<Heard>,
    pub(super) graph: Graph,
}

impl Live {
    async fn armed(store: &Store, scenario: Scenario) -> Self {
        let is_stopped = std::sync::atomic::AtomicBool::new(false);
        let (client, mut handle) = store.holding(move |operation| {
            use std::sync::atomic::Ordering::SeqCst;
            is_effect(operation) && !is_stopped.swap(true, SeqCst) || is_stopped.load(SeqCst)
        });
        let graph = Graph::open(client, own_process()).await.expect("a graph");
        let writing = tokio::spawn({
            let graph = graph.clone();
            async move { pending::send(&graph, scenario).await }
        });
        let first = handle.next().await.expect("the writer comes to its first effect");
        Self { handle, first, writing, graph }
    }

    /// Lets the writer go on, to its end. Its handle can be used afterwards.
    pub(super) async fn resumed(self) -> (Graph, Heard) {
        assert!(!self.writing.is_finished(), "the writer is held");
        self.first.release();
        let releasing = release_for_ever(self.handle);
        let heard = self.writing.await.expect("the writer ends");
        drop(releasing);
        (self.graph, heard)
    }
}

/// Lets everything go on that is held from now on.
pub(super) fn release_for_ever(mut handle: HoldHandle) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        while let Some(held) = handle.next().await {
            held.release();
        }
    })
}
