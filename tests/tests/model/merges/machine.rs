//! A graph with branches beside the model: writes, forks, deletions and merges at random, each held to what
//! the model says.

use std::collections::BTreeMap;

use graphwrite_coordinator::{BranchFrom, Graph, GraphOptions, MemoryStorage, Store, SystemEnv};
use graphwrite_protocol_types::{Answer as _, CommitId, OperationId};
use graphwrite_schema::{SchemaDocument, declare};
use graphwrite_substrate::FaultHandle;
use proptest::sample::Index;

use super::dag::{Commit, Dag};
use super::steps::{From, NAMES, Step, What};
use crate::branches::scene::{delete, request as creation, selector};
use crate::crash;
use crate::ground::open_on;
use crate::hooks::StopAt;
use crate::judge::impatient;
use crate::model::client::{Answer, Sent, send};
use crate::model::machine::{recover, sorted};
use crate::model::request::{Judged, Mode, Request};
use crate::model::shape::Schema;
use crate::model::state::State;
use crate::model::steps::Fate;
use crate::world::rows_of;

/// A branch that is there.
pub(super) struct Branch {
    /// Of the process that goes on.
    pub(super) graph: Graph,
    pub(super) head: Option<CommitId>,
    /// The head whose rows this handle was asked for last.
    read: Option<Option<CommitId>>,
}

/// A graph and its model.
pub(super) struct Machine {
    pub(super) schema: &'static Schema,
    pub(super) store: Store,
    pub(super) branches: BTreeMap<&'static str, Branch>,
    pub(super) dag: Dag,
    last: Option<Request>,
    used: Vec<&'static str>,
    late: Vec<FaultHandle>,
    tally: BTreeMap<String, usize>,
}

/// A commit that is there after a process that something befell.
pub(super) struct Found {
    pub(super) operation: OperationId,
    pub(super) commit: CommitId,
    pub(super) parents: Vec<CommitId>,
}

impl Machine {
    /// An empty graph in `storage`.
    pub(super) async fn on(schema: &'static Schema, storage: &MemoryStorage) -> Self {
        let document = SchemaDocument::parse(&schema.text()).expect("the model's schema");
        let declared = declare(&document, &SystemEnv::new()).expect("a valid schema");
        let store = Store::memory(storage);
        let graph = Graph::create(store.clone(), &declared, "model", impatient()).await;
        let main = Branch { graph: graph.expect("a new graph"), head: None, read: None };
        let branches = BTreeMap::from([("main", main)]);
        let (dag, last, used, late, tally) = Default::default();
        Self { schema, store, branches, dag, last, used, late, tally }
    }

    /// What became of the steps.
    pub(super) fn into_tally(self) -> BTreeMap<String, usize> {
        self.tally
    }

    pub(super) fn count(&mut self, what: &str) {
        *self.tally.entry(what.to_owned()).or_default() += 1;
    }

    pub(super) fn at(&self, index: Index) -> &'static str {
        let names: Vec<_> = self.branches.keys().collect();
        names[index.index(names.len())]
    }

    pub(super) fn head(&self, name: &str) -> Option<CommitId> {
        self.branches[name].head
    }

    pub(super) async fn step(&mut self, step: &Step) {
        match step {
            Step::Write(at, what, fate) => self.write(self.at(*at), what, *fate).await,
            Step::Fork(name, from) => self.fork(NAMES[*name], from).await,
            Step::Delete(name) => self.delete(NAMES[*name]).await,
            Step::Merge(merging) => Box::pin(self.merge(merging)).await,
            Step::Reopen => self.reopen().await,
        }
        self.check_heads("after the step").await;
    }

    /// Every branch has its head, with the rows of it and no others: what a handle has read of a head it is
    /// not asked for again.
    pub(super) async fn check_heads(&mut self, when: &str) {
        for (name, branch) in &mut self.branches {
            let snapshot = branch.graph.snapshot().await.expect("a snapshot");
            assert_eq!(snapshot.commit(), branch.head, "{name} {when}");
            if branch.read.replace(branch.head) != Some(branch.head) {
                let seen = sorted(&rows_of(&snapshot).await);
                assert_eq!(seen, self.dag.state(branch.head).all(), "{name} {when}");
            }
        }
    }

    /// Another process takes over; what was under way from dead ones arrives now.
    pub(super) async fn reopen(&mut self) {
        for late in std::mem::take(&mut self.late) {
            late.release_late().await;
        }
        let main = open_on(None, self.store.reopened(), impatient()).await;
        for (name, branch) in &mut self.branches {
            branch.graph = main.branch(&selector(name)).await.expect("a branch");
            branch.read = None;
        }
    }

    async fn write(&mut self, at: &'static str, what: &What, fate: Fate) {
        let state = self.dag.state(self.head(at));
        // Refusals are the business of histories without branches.
        let changes = |request: Request| match request.judge(self.schema, &state) {
            Judged::State(after) if after != state => Some((request, after)),
            _ => None,
        };
        let found = match (what, self.last.clone()) {
            (What::Grown(seeds), _) => {
                seeds.iter().find_map(|seed| changes(seed.grow(self.schema, &state)))
            }
            (What::AsBefore, Some(Request::Load(_, rows))) => {
                changes(Request::Load(Mode::Upsert, rows))
            }
            (What::AsBefore, last) => last.and_then(changes),
        };
        let Some((request, after)) = found else { return };
        self.last = Some(request.clone());
        let operation = OperationId::mint(&SystemEnv::new());
        let sent = Sent { request, operation: Some(operation.clone()), expect_head: None };
        if let Fate::None = fate {
            let answer = send(&self.branches[at].graph, self.schema, &sent).await;
            let Answer::Committed(receipt) = answer else { panic!("{sent:#?}: {answer:#?}") };
            self.count("written");
            let commit = receipt.commit.expect("a commit has an id");
            self.commit(at, (commit, operation), None, after);
            return;
        }
        let doomed = self.doomed(at, fate).await;
        let answer = send(&doomed, self.schema, &sent).await;
        if let Some(found) = self.after(at, answer.is_committed()).await {
            assert_eq!(found.operation, operation);
            assert_eq!(found.parents, Vec::from_iter(self.head(at)));
            self.commit(at, (found.commit, operation), None, after);
        }
    }

    pub(super) fn commit(
        &mut self,
        at: &'static str,
        (id, operation): (CommitId, OperationId),
        merges: Option<CommitId>,
        state: State,
    ) {
        let branch = self.branches.get_mut(at).expect("a branch");
        let follows = branch.head.replace(id);
        self.dag.add(id, Commit { follows, merges, operation, state });
    }

    /// A process on a branch to which something will happen.
    pub(super) async fn doomed(&mut self, at: &str, fate: Fate) -> Graph {
        let client = self.store.reopened();
        match fate {
            Fate::None => open_on(Some(at), client, impatient()).await,
            Fate::StopsAt(point, nth) => {
                let options = GraphOptions { hooks: StopAt::new(point, nth), ..impatient() };
                open_on(Some(at), client, options).await
            }
            Fate::Meets(nth, fault) => {
                let (client, faults) = client.faulty(crash::at(nth.into(), fault));
                self.late.push(faults);
                open_on(Some(at), client, impatient()).await
            }
        }
    }

    /// What a fresh process finds after one that something befell, once what it left is resolved: a new
    /// commit, if there is one. What the caller was told is true.
    pub(super) async fn after(&mut self, at: &'static str, told: Option<bool>) -> Option<Found> {
        let fresh = open_on(Some(at), self.store.reopened(), impatient()).await;
        recover(&fresh).await;
        let newest = fresh.log(1).await.expect("a log").pop();
        let newest = newest.filter(|newest| Some(newest.commit) != self.head(at));
        assert_eq!(told.unwrap_or(newest.is_some()), newest.is_some(), "{at}: {newest:#?}");
        newest.map(|it| Found { operation: it.operation, commit: it.commit, parents: it.parents })
    }

    /// What a step means, and the commit that it is, if it is in the line of a branch.
    pub(super) fn source(&self, from: &From) -> (BranchFrom, Option<Option<CommitId>>) {
        match from {
            From::Commit(index) if !self.dag.ids().is_empty() => {
                let ids = self.dag.ids();
                let id = ids[index.index(ids.len())];
                let mut heads = self.branches.values().map(|branch| branch.head);
                let is_there = heads.any(|head| self.dag.line(head).contains(&id));
                (BranchFrom::Commit(id), is_there.then_some(Some(id)))
            }
            From::Head(index) | From::Commit(index) => {
                let name = self.at(*index);
                (BranchFrom::Head(selector(name)), Some(self.head(name)))
            }
        }
    }

    async fn fork(&mut self, name: &'static str, from: &From) {
        self.delete(name).await;
        let (from, head) = self.source(from);
        let main = &self.branches["main"].graph;
        let answer = main.create_branch(creation(name, from)).await;
        let Some(head) = head else {
            assert_eq!(answer.expect_err("no branch has it").code(), "no_such_commit");
            return;
        };
        answer.expect("a new branch");
        let graph = main.branch(&selector(name)).await.expect("a branch");
        self.branches.insert(name, Branch { graph, head, read: None });
        self.count(if self.used.contains(&name) { "branch made again" } else { "branch made" });
        self.used.push(name);
    }

    async fn delete(&mut self, name: &'static str) {
        if self.branches.remove(name).is_some() {
            delete(&self.branches["main"].graph, name).await.expect("a deletion");
        }
    }
}
