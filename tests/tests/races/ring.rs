//! Where two writers meet: over one base, at one point of their attempts, in a given order. It knows
//! no rule of the graph.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use graphwrite_coordinator::{
    Graph, GraphOptions, Hooks, Injected, MemoryStorage, PrepareError, Rule, Store, WriteError,
    WriteErrorKind,
};
use graphwrite_protocol_types::{
    Conflict, Defect, Failpoint, GraphHeadToken, OperationId, WriteOutcome,
};
use tokio::sync::{Barrier, Semaphore};

use crate::judge::{
    Case, Complaint, Heard, Reference, check_answer, impatient, judge, open_impatient,
};
use crate::request::{Request, Terms};
use crate::world::{SCHEMA, append, create_with, own_process};

/// How two writers know each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Processes {
    /// One process: the gates are shared.
    One,
    /// Two, each of which waits for the other as long as it may be alive.
    Two,
    /// Two, each of which takes the other for dead at once.
    Hostile,
}

impl Processes {
    pub(crate) const ALL: [Self; 3] = [Self::One, Self::Two, Self::Hostile];

    pub(crate) fn options(self, count: usize) -> Vec<GraphOptions> {
        match self {
            Self::One => vec![own_process(); count],
            Self::Two => (0..count).map(|_| own_process()).collect(),
            Self::Hostile => (0..count).map(|_| impatient()).collect(),
        }
    }
}

/// How two writers meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meeting {
    pub(crate) processes: Processes,
    /// Where both wait for each other on their first attempt.
    point: Failpoint,
    /// The side that goes on alone, to its answer; both at once if none.
    pub(crate) first: Option<usize>,
}

impl Meeting {
    pub(crate) const fn new(processes: Processes, point: Failpoint, first: Option<usize>) -> Self {
        Self { processes, point, first }
    }

    /// Both have prepared over the same base, and go on at once.
    pub(crate) fn prepared() -> Vec<Self> {
        let at_once = |processes| Self::new(processes, Failpoint::PostPrepare, None);
        Processes::ALL.into_iter().map(at_once).collect()
    }

    /// Few that differ most: for races of many pairs.
    pub(crate) fn few() -> Vec<Self> {
        vec![
            Self::new(Processes::One, Failpoint::PostPrepare, None),
            Self::new(Processes::Two, Failpoint::PreArm, Some(0)),
            Self::new(Processes::Two, Failpoint::PreArm, Some(1)),
            Self::new(Processes::Hostile, Failpoint::PreArm, None),
        ]
    }

    /// Every kind, in both orders and at once.
    pub(crate) fn all() -> Vec<Self> {
        let orders = [None, Some(0), Some(1)];
        let meetings = |processes, point| {
            orders.into_iter().map(move |first| Self::new(processes, point, first))
        };
        let prepared = meetings(Processes::One, Failpoint::PostPrepare);
        let waiting = meetings(Processes::Two, Failpoint::PreArm);
        let hostile = meetings(Processes::Hostile, Failpoint::PreArm);
        let late = Self::new(Processes::Two, Failpoint::PostPrepare, Some(1));
        prepared.chain(waiting).chain(hostile).chain([late]).collect()
    }

    /// Both have made their effects, in every kind and order: only for sides that have nothing in common,
    /// or the intent of one would stand in the way of the other.
    pub(super) fn published() -> Vec<Self> {
        let orders = [None, Some(0), Some(1)];
        let of = |processes| orders.map(|first| Self::new(processes, Failpoint::PrePublish, first));
        Processes::ALL.into_iter().flat_map(of).collect()
    }

    /// Every kind of a race whose sides write no table in common: both can hold their gates, and meet
    /// just before their intents.
    pub(crate) fn all_disjoint() -> Vec<Self> {
        let orders = [None, Some(0), Some(1)];
        let gated = orders.map(|first| Self::new(Processes::One, Failpoint::PreArm, first));
        Self::all().into_iter().chain(gated).collect()
    }
}

/// Lets a writer past the meeting point of its first attempt when the other is there too, and it is
/// its turn.
#[derive(Debug)]
struct Meet {
    point: Failpoint,
    together: Arc<Barrier>,
    has_met: AtomicBool,
    /// Has a permit when the other is done; none for a writer that need not wait.
    turn: Option<Arc<Semaphore>>,
}

#[async_trait]
impl Hooks for Meet {
    async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
        if point == self.point && !self.has_met.swap(true, Ordering::SeqCst) {
            self.together.wait().await;
            if let Some(turn) = &self.turn {
                turn.acquire().await.expect("never closed").forget();
            }
        }
        Ok(())
    }

    fn wants(&self, point: Failpoint) -> bool {
        point == self.point
    }
}

pub(crate) type Answer = Result<WriteOutcome, WriteError>;

/// The graph that writers meet on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ring {
    pub(crate) schema: &'static str,
    pub(crate) base: &'static [&'static str],
    /// A later write that is legal whoever wins.
    pub(crate) next: &'static [&'static str],
    pub(crate) expects_head: bool,
    /// What the builds have that meet.
    pub(crate) planted: Option<Defect>,
}

/// Two persons, two companies, and no edges at all.
pub(crate) const RING: Ring = Ring {
    schema: SCHEMA,
    base: &[
        r#"{"type":"Person","data":{"slug":"p1","age":1}}"#,
        r#"{"type":"Person","data":{"slug":"p2","age":2}}"#,
        r#"{"type":"Company","data":{"slug":"c1"}}"#,
        r#"{"type":"Company","data":{"slug":"c2"}}"#,
    ],
    next: &[
        r#"{"type":"Person","data":{"slug":"next"}}"#,
        r#"{"type":"Company","data":{"slug":"next"}}"#,
    ],
    expects_head: false,
    planted: None,
};

/// A race that is over.
pub(crate) struct Raced {
    pub(crate) meeting: Meeting,
    pub(crate) store: Store,
    pub(crate) graphs: Vec<Graph>,
    pub(crate) answers: Vec<Answer>,
    ring: Ring,
    sides: [Request; 2],
}

impl Ring {
    /// A graph with the rows of the ring.
    pub(crate) async fn graph(&self) -> (Store, GraphHeadToken) {
        let storage = MemoryStorage::new();
        let storage = self.planted.map_or(storage.clone(), |defect| storage.with_defect(defect));
        let store = Store::memory(&storage);
        let head = append(&create_with(&store, self.schema).await, self.base).await.commit;
        (store, GraphHeadToken(head))
    }

    /// Lets two requests meet.
    pub(crate) async fn race(self, meeting: Meeting, sides: [Request; 2]) -> Raced {
        self.race_on(meeting, sides, [None, None]).await
    }

    /// The same, each under an operation id.
    pub(crate) async fn race_on(
        self,
        meeting: Meeting,
        sides: [Request; 2],
        operations: [Option<OperationId>; 2],
    ) -> Raced {
        let (store, head) = self.graph().await;
        let together = Arc::new(Barrier::new(sides.len()));
        let done = Arc::new(Semaphore::new(0));
        let mut graphs = Vec::new();
        let mut running = Vec::new();
        for (side, options) in meeting.processes.options(sides.len()).into_iter().enumerate() {
            let turn = meeting.first.is_some_and(|first| first != side).then(|| done.clone());
            let (point, together) = (meeting.point, together.clone());
            let hooks = Arc::new(Meet { point, together, has_met: AtomicBool::new(false), turn });
            let options = GraphOptions { hooks, ..options };
            let graph = Graph::open(store.reopened(), options).await.unwrap();
            graphs.push(graph.clone());
            let (request, done) = (sides[side], done.clone());
            let expect_head = self.expects_head.then_some(head);
            let terms = Terms { operation: operations[side].clone(), expect_head };
            running.push(tokio::spawn(async move {
                let answer = request.send(&graph, terms).await;
                graph.settled().await;
                done.add_permits(1);
                answer
            }));
        }
        let mut answers = Vec::new();
        for task in running {
            answers.push(task.await.expect("a writer ends"));
        }
        Raced { meeting, store, graphs, answers, ring: self, sides }
    }
}

impl Raced {
    /// The sides that committed, in the order of their commits.
    pub(crate) async fn order(&self) -> Vec<usize> {
        let log = open_impatient(&self.store).await.log(usize::MAX).await.unwrap();
        let side_of = |operation: &OperationId| {
            self.answers.iter().position(|answer| {
                matches!(answer, Ok(WriteOutcome::Committed(it)) if it.operation == *operation)
            })
        };
        let order: Vec<_> =
            log.iter().rev().filter_map(|commit| side_of(&commit.operation)).collect();
        if let Some(first) = self.meeting.first {
            assert_eq!(order.first(), Some(&first), "{:?}: {:?}", self.meeting, self.answers);
        }
        order
    }

    /// The rows are those of the sides that committed, one after the other, and of nobody else.
    pub(crate) async fn judge(self) {
        let meeting = self.meeting;
        self.judged().await.unwrap_or_else(|complaint| panic!("{meeting:?}: {complaint:?}"));
    }

    /// The same, with what is wrong.
    pub(crate) async fn judged(self) -> Result<(), Complaint> {
        let order = self.order().await;
        let mut state = Reference::default().with(self.ring.base);
        for side in &order {
            state = self.sides[*side].over(&state);
        }
        let fresh = open_impatient(&self.store).await;
        let graphs: Vec<_> = self.graphs.iter().collect();
        let case = Case {
            before: state.clone(),
            after: state,
            commits: 1 + order.len(),
            next: self.ring.next.iter().map(ToString::to_string).collect(),
        };
        for answer in self.answers {
            let heard = Heard::Answer(Box::new(answer));
            let is_committed = heard.receipt().is_some();
            check_answer(&fresh, &heard, is_committed).await?;
        }
        judge(&self.store, &case, &Heard::Nothing, &graphs).await.map(drop)
    }

    pub(crate) fn committed(&self) -> usize {
        let is_committed = |answer: &&Answer| matches!(answer, Ok(WriteOutcome::Committed(_)));
        self.answers.iter().filter(is_committed).count()
    }

    /// The side that did not commit.
    pub(crate) fn loser(&self) -> &Answer {
        assert_eq!(self.committed(), 1, "{:?}: {:?}", self.meeting, self.answers);
        let is_loser = |answer: &&Answer| !matches!(answer, Ok(WriteOutcome::Committed(_)));
        self.answers.iter().find(is_loser).expect("one of two")
    }

    /// Both committed; the order in which they did.
    pub(crate) async fn both(&self) -> Vec<usize> {
        assert_eq!(self.committed(), 2, "{:?}: {:?}", self.meeting, self.answers);
        self.order().await
    }

    /// One committed, and the other was refused by this rule.
    #[track_caller]
    pub(crate) fn loser_breaks(&self, rule: Rule) {
        let loser = self.loser();
        assert!(breaks(loser, rule), "{:?}: {rule:?}, not {loser:?}", self.meeting);
    }
}

fn breaks(answer: &Answer, rule: Rule) -> bool {
    match answer {
        Err(WriteError { kind: WriteErrorKind::Prepare(PrepareError::Invalid(found)), .. }) => {
            found.listed().iter().all(|violation| violation.rule == rule)
        }
        _ => false,
    }
}

/// The table and the key that a strict request met.
pub(crate) fn taken_key(answer: &Answer) -> Option<(&str, &str)> {
    match answer {
        Ok(WriteOutcome::Conflict(Conflict::KeyExists { table, key, .. })) => Some((table, key)),
        _ => None,
    }
}
