//! A graph of the product beside the model: sends random requests, and holds every answer, every
//! state and the whole history to what the model says.

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_coordinator::{
    BarrierOutcome, Graph, GraphOptions, MemoryStorage, RecoverMode, RecoverRequest, Store,
    SystemEnv,
};
use graphwrite_protocol_types::{CommitId, GraphHeadToken, OperationId};
use graphwrite_schema::{SchemaDocument, declare};
use graphwrite_substrate::FaultHandle;

use super::client::{Answer, Sent, send};
use super::request::{Judged, Request};
use super::row::Row;
use super::shape::Schema;
use super::state::{Refusal, State};
use super::steps::{Fate, Head, Operation, Step};
use crate::crash::at;
use crate::hooks::StopAt;
use crate::judge::{impatient, open_impatient};
use crate::world;

/// A commit that the model knows of.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) operation: OperationId,
    pub(super) commit: CommitId,
    pub(super) request: Request,
    pub(super) state: State,
}

/// What the model says of a request.
#[derive(Debug)]
enum Expected {
    Committed(State),
    NoChange,
    /// The answer that this entry of the history had.
    Earlier(usize),
    Refused(Refusal),
}

/// A graph and its model.
pub(super) struct Machine {
    pub(super) schema: &'static Schema,
    pub(super) store: Store,
    graph: Graph,
    state: State,
    pub(super) history: Vec<Entry>,
    late: Vec<FaultHandle>,
    tally: BTreeMap<String, usize>,
}

impl Machine {
    /// An empty graph in `storage`.
    pub(super) async fn on(schema: &'static Schema, storage: &MemoryStorage) -> Self {
        let document = SchemaDocument::parse(&schema.text()).expect("the model's schema");
        let declared = declare(&document, &SystemEnv::new()).expect("a valid schema");
        let store = Store::memory(storage);
        let graph = Graph::create(store.clone(), &declared, "model", impatient()).await;
        let (graph, state) = (graph.expect("a new graph"), State::default());
        let (history, late, tally) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { schema, store, graph, state, history, late, tally }
    }

    /// What became of the steps.
    pub(super) fn into_tally(self) -> BTreeMap<String, usize> {
        self.tally
    }

    fn count(&mut self, what: &str) {
        *self.tally.entry(what.to_owned()).or_default() += 1;
    }

    fn head(&self) -> Option<CommitId> {
        self.history.last().map(|entry| entry.commit)
    }

    pub(super) async fn step(&mut self, step: &Step) {
        if step.reopens {
            self.reopen().await;
        }
        let sent = self.sent(step);
        let expected = self.expected(&sent);
        match step.fate {
            Fate::None => {
                let answer = send(&self.graph, self.schema, &sent).await;
                self.hold(expected, sent, answer).await;
            }
            fate => self.disturbed(fate, expected, sent).await,
        }
        self.check_rows(&self.graph, "after the step").await;
    }

    /// Another process takes over; what was under way from dead ones arrives now.
    async fn reopen(&mut self) {
        self.release_late().await;
        self.graph = open_impatient(&self.store).await;
        self.check_rows(&self.graph, "after late operations of the dead").await;
    }

    pub(super) async fn release_late(&mut self) {
        for late in std::mem::take(&mut self.late) {
            late.release_late().await;
        }
    }

    fn sent(&self, step: &Step) -> Sent {
        let entry = |index: &proptest::sample::Index| {
            (!self.history.is_empty()).then(|| index.get(&self.history))
        };
        let grown = || step.request.grow(self.schema, &self.state);
        let (request, operation) = match &step.operation {
            Operation::Minted => (grown(), None),
            Operation::Fresh => (grown(), Some(OperationId::mint(&SystemEnv::new()))),
            Operation::Again(index) => match entry(index) {
                Some(entry) => (entry.request.clone(), Some(entry.operation.clone())),
                None => (grown(), None),
            },
            Operation::Taken(index) => (grown(), entry(index).map(|it| it.operation.clone())),
        };
        let expect_head = match &step.head {
            Head::Any => None,
            Head::Newest => Some(GraphHeadToken(self.head())),
            Head::NoCommit => Some(GraphHeadToken(None)),
            Head::Of(index) => entry(index).map(|entry| GraphHeadToken(Some(entry.commit))),
        };
        Sent { request, operation, expect_head }
    }

    fn expected(&self, sent: &Sent) -> Expected {
        let judged = sent.request.judge(self.schema, &self.state);
        if let Judged::Malformed(refusal) = judged {
            return Expected::Refused(refusal);
        }
        let is_of = |entry: &Entry| Some(&entry.operation) == sent.operation.as_ref();
        if let Some(place) = self.history.iter().position(is_of) {
            return match self.history[place].request.says_the_same(&sent.request) {
                true => Expected::Earlier(place),
                false => Expected::Refused(Refusal::of("operation_reused")),
            };
        }
        if sent.expect_head.is_some_and(|head| head != GraphHeadToken(self.head())) {
            return Expected::Refused(Refusal::of("expected_head"));
        }
        match judged {
            Judged::State(state) if state == self.state => Expected::NoChange,
            Judged::State(state) => Expected::Committed(state),
            Judged::Malformed(refusal) | Judged::Refused(refusal) => Expected::Refused(refusal),
        }
    }

    /// Holds an answer to what the model says.
    async fn hold(&mut self, expected: Expected, sent: Sent, answer: Answer) {
        match (expected, answer) {
            (Expected::Committed(state), Answer::Committed(receipt)) => {
                self.count(sent.request.kind());
                let commit = receipt.commit.expect("a commit has an id");
                self.commit(receipt.operation, commit, sent.request, state);
            }
            (Expected::NoChange, Answer::NoChange(receipt)) => {
                self.count("no change");
                assert_eq!(receipt.commit, self.head(), "the head that it was checked against");
            }
            (Expected::Earlier(place), Answer::Committed(receipt)) => {
                self.count("sent again");
                assert_eq!(receipt.commit, Some(self.history[place].commit));
            }
            (Expected::Refused(refusal), Answer::Faults(codes)) if refusal.explains(&codes) => {
                codes.iter().for_each(|code| self.count(code));
            }
            (expected, answer) => panic!(
                "the model says {expected:#?}, the graph {answer:#?}\n{sent:#?}\nover {:#?}",
                self.state
            ),
        }
    }

    fn commit(&mut self, operation: OperationId, commit: CommitId, request: Request, state: State) {
        self.state = state.clone();
        self.history.push(Entry { operation, commit, request, state });
    }

    /// Sends a request from a process that something befalls; a fresh one finds all of it or
    /// nothing, and what the caller was told is true.
    async fn disturbed(&mut self, fate: Fate, expected: Expected, sent: Sent) {
        let (graph, faults) = self.doomed(fate).await;
        let answer = send(&graph, self.schema, &sent).await;
        self.late.extend(faults);
        let fresh = open_impatient(&self.store).await;
        recover(&fresh).await;
        let log = fresh.log(usize::MAX).await.expect("a log");
        let is_there = log.len() > self.history.len();
        assert!(log.len() <= self.history.len() + 1, "one commit at most: {log:#?}");
        if let Some(told) = answer.is_committed() {
            let is_earlier = matches!(expected, Expected::Earlier(_));
            assert_eq!(told, is_there || is_earlier, "{fate:?}: {answer:#?}");
        }
        self.count(if is_there { "disturbed, after" } else { "disturbed, before" });
        if is_there {
            let Expected::Committed(state) = expected else {
                panic!("{fate:?}: the model says {expected:#?}, there is {:#?}", log[0]);
            };
            assert!(sent.operation.is_none_or(|operation| operation == log[0].operation));
            self.commit(log[0].operation.clone(), log[0].commit, sent.request, state);
        }
        self.check_rows(&fresh, &format!("after {fate:?}")).await;
    }

    async fn doomed(&self, fate: Fate) -> (Graph, Option<FaultHandle>) {
        let (store, options, faults) = match fate {
            Fate::None => (self.store.reopened(), impatient(), None),
            Fate::StopsAt(point, nth) => {
                let options = GraphOptions { hooks: StopAt::new(point, nth), ..impatient() };
                (self.store.reopened(), options, None)
            }
            Fate::Meets(nth, fault) => {
                let (client, faults) = self.store.reopened().faulty(at(nth.into(), fault));
                (client, impatient(), Some(faults))
            }
        };
        (Graph::open(store, options).await.expect("a graph"), faults)
    }

    pub(super) async fn check_rows(&self, graph: &Graph, when: &str) {
        assert_eq!(rows(graph).await, self.state.all(), "{when}");
    }
}

/// Resolves what dead processes left.
pub(super) async fn recover(graph: &Graph) {
    let request = RecoverRequest { attempt: None, mode: RecoverMode::Full, owner_is_dead: false };
    let report = graph.recover(request).await.expect("a report");
    assert_eq!(report.outcome, BarrierOutcome::Clean, "{report:#?}");
}

/// All rows that a reader sees, sorted. A row that is there twice is listed twice.
async fn rows(graph: &Graph) -> Vec<Row> {
    sorted(&world::rows(graph).await)
}

/// The rows of lines by type.
pub(super) fn sorted(lines: &BTreeMap<String, Vec<String>>) -> Vec<Row> {
    let mut rows: Vec<_> = lines.values().flatten().map(|line| Row::parse(line)).collect();
    rows.sort();
    rows
}

/// The codes of faults.
pub(super) type Found = BTreeSet<String>;
