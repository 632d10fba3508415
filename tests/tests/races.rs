//! Races: writers that have prepared over the same base, in one process whose gates they share, in
//! processes that know nothing of each other, and in such that close each other's intents at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use graphwrite_coordinator::{
    CreateError, Graph, GraphOptions, Hooks, InitError, Injected, LoadMode, LoadRequest,
    MemoryStorage, PrepareError, Rule, Store, SystemEnv, WriteError, WriteErrorKind,
};
use graphwrite_protocol_types::{Conflict, Failpoint, GraphHeadToken, OperationId, WriteOutcome};
use tokio::sync::{Barrier, Notify};

use crate::judge::{Case, Heard, Reference, check_answer, impatient, judge, open_impatient, tell};
use crate::world::{append, create, input, own_process, schema};

/// How two writers know each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Processes {
    /// One process: the gates are shared.
    One,
    /// Two, each of which waits for the other as long as it may be alive.
    Two,
    /// Two, each of which takes the other for dead at once.
    Hostile,
}

const ALL: [Processes; 3] = [Processes::One, Processes::Two, Processes::Hostile];

impl Processes {
    fn options(self, count: usize) -> Vec<GraphOptions> {
        match self {
            Self::One => vec![own_process(); count],
            Self::Two => (0..count).map(|_| own_process()).collect(),
            Self::Hostile => (0..count).map(|_| impatient()).collect(),
        }
    }
}

/// Lets no writer past its first preparation before all of them have prepared.
#[derive(Debug)]
struct Meet {
    together: Arc<Barrier>,
    has_met: AtomicBool,
}

#[async_trait]
impl Hooks for Meet {
    async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
        if point == Failpoint::PostPrepare && !self.has_met.swap(true, Ordering::SeqCst) {
            self.together.wait().await;
        }
        Ok(())
    }

    fn wants(&self, point: Failpoint) -> bool {
        point == Failpoint::PostPrepare
    }
}

/// One side of a race.
#[derive(Debug, Clone, Copy)]
struct Load {
    mode: LoadMode,
    rows: &'static [&'static str],
}

const fn upsert(rows: &'static [&'static str]) -> Load {
    Load { mode: LoadMode::Upsert, rows }
}

const fn append_of(rows: &'static [&'static str]) -> Load {
    Load { mode: LoadMode::Append, rows }
}

type Answer = Result<WriteOutcome, WriteError>;

/// A race that is over.
struct Raced {
    store: Store,
    graphs: Vec<Graph>,
    answers: Vec<Answer>,
    before: Reference,
    loads: Vec<Load>,
}

const BASE: &[&str] = &[
    r#"{"type":"Person","data":{"slug":"p1","age":1}}"#,
    r#"{"type":"Person","data":{"slug":"p2","age":2}}"#,
    r#"{"type":"Company","data":{"slug":"c1"}}"#,
    r#"{"type":"Company","data":{"slug":"c2"}}"#,
];

/// Lets `loads` race over one base; `expect_head` gives all of them the head of the base.
async fn race(processes: Processes, loads: &[Load], expect_head: bool) -> Raced {
    let store = Store::memory(&MemoryStorage::new());
    let head = append(&create(&store).await, BASE).await.commit;
    let together = Arc::new(Barrier::new(loads.len()));
    let mut graphs = Vec::new();
    let mut running = Vec::new();
    for (load, options) in loads.iter().zip(processes.options(loads.len())) {
        let hooks = Arc::new(Meet { together: together.clone(), has_met: AtomicBool::new(false) });
        let graph = Graph::open(store.reopened(), GraphOptions { hooks, ..options }).await.unwrap();
        let mut request = LoadRequest::new(input(&graph, load.rows).await, load.mode);
        request.expect_head = expect_head.then_some(GraphHeadToken(head));
        graphs.push(graph.clone());
        running.push(tokio::spawn(async move {
            let answer = graph.load(request).await;
            graph.settled().await;
            answer
        }));
    }
    let mut answers = Vec::new();
    for task in running {
        answers.push(task.await.expect("a writer ends"));
    }
    let before = Reference::default().with(BASE);
    Raced { store, graphs, answers, before, loads: loads.to_vec() }
}

impl Raced {
    /// The sides that committed, in the order of their commits.
    async fn order(&self) -> Vec<usize> {
        let log = open_impatient(&self.store).await.log(usize::MAX).await.unwrap();
        let side_of = |operation: &OperationId| {
            self.answers.iter().position(|answer| {
                matches!(answer, Ok(WriteOutcome::Committed(it)) if it.operation == *operation)
            })
        };
        log.iter().rev().filter_map(|commit| side_of(&commit.operation)).collect()
    }

    /// The rows are those of the sides that committed, one after the other, and of nobody else.
    async fn judge(self) {
        let order = self.order().await;
        let mut state = self.before.clone();
        for side in &order {
            state = state.with(self.loads[*side].rows);
        }
        let fresh = open_impatient(&self.store).await;
        let graphs: Vec<_> = self.graphs.iter().collect();
        let case = Case {
            before: state.clone(),
            after: state,
            commits: 1 + order.len(),
            next: crate::crash::scenario::TWO_EXISTING_APPEND.next("next"),
        };
        for (side, answer) in self.answers.into_iter().enumerate() {
            let heard = Heard::Answer(Box::new(answer));
            let is_committed = order.contains(&side);
            check_answer(&fresh, &heard, is_committed).await.expect("a truthful answer");
        }
        judge(&self.store, &case, &Heard::Nothing, &graphs).await.expect("a sound graph");
    }

    fn committed(&self) -> usize {
        let is_committed = |answer: &&Answer| matches!(answer, Ok(WriteOutcome::Committed(_)));
        self.answers.iter().filter(is_committed).count()
    }

    /// The side that did not commit.
    fn loser(&self) -> &Answer {
        assert_eq!(self.committed(), 1, "{:?}", self.answers);
        let is_loser = |answer: &&Answer| !matches!(answer, Ok(WriteOutcome::Committed(_)));
        self.answers.iter().find(is_loser).expect("one of two")
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

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn upserts_of_the_same_new_keys_leave_one_row_per_key() {
    let one = upsert(&[
        r#"{"type":"Person","data":{"slug":"k1","age":11}}"#,
        r#"{"type":"Person","data":{"slug":"k2","age":12}}"#,
    ]);
    let other = upsert(&[
        r#"{"type":"Person","data":{"slug":"k2","age":22}}"#,
        r#"{"type":"Person","data":{"slug":"k3","age":23}}"#,
    ]);
    for processes in ALL {
        let raced = race(processes, &[one, other], false).await;
        assert_eq!(raced.committed(), 2, "{processes:?}: {:?}", raced.answers);
        let order = raced.order().await;
        let Ok(WriteOutcome::Committed(second)) = &raced.answers[order[1]] else { panic!() };
        let counts = (second.tables[0].inserted, second.tables[0].updated);
        assert_eq!(counts, (1, 1), "{processes:?}: the second found the first's key");
        assert!(second.restarts > 0, "{processes:?}: it was prepared again");
        raced.judge().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn equal_upserts_of_new_keys_commit_once_and_change_nothing_once() {
    let load = upsert(&[r#"{"type":"Person","data":{"slug":"k1","age":11}}"#]);
    for processes in ALL {
        let raced = race(processes, &[load, load], false).await;
        let loser = raced.loser();
        assert!(matches!(loser, Ok(WriteOutcome::NoChange(_))), "{processes:?}: {loser:?}");
        raced.judge().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn strict_inserts_of_the_same_key_commit_once_and_conflict_once() {
    let one = append_of(&[
        r#"{"type":"Person","data":{"slug":"k1","age":1}}"#,
        r#"{"type":"Company","data":{"slug":"d1"}}"#,
    ]);
    let other = append_of(&[
        r#"{"type":"Person","data":{"slug":"k1","age":2}}"#,
        r#"{"type":"Company","data":{"slug":"d2"}}"#,
    ]);
    for processes in ALL {
        let raced = race(processes, &[one, other], false).await;
        let loser = raced.loser();
        let Ok(WriteOutcome::Conflict(Conflict::KeyExists { table, key, total, .. })) = loser
        else {
            panic!("{processes:?}: {loser:?}");
        };
        assert_eq!((table.as_str(), key.as_str(), *total), ("Person", "k1", 1));
        raced.judge().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writes_to_disjoint_tables_both_commit_in_one_line() {
    let one = append_of(&[r#"{"type":"Person","data":{"slug":"k1"}}"#]);
    let other = append_of(&[r#"{"type":"Company","data":{"slug":"d1"}}"#]);
    for processes in ALL {
        let raced = race(processes, &[one, other], false).await;
        assert_eq!(raced.committed(), 2, "{processes:?}: {:?}", raced.answers);
        let log = raced.graphs[0].log(3).await.unwrap();
        assert_eq!(log[0].parents, [log[1].commit], "{processes:?}");
        assert_eq!(log[1].parents, [log[2].commit], "{processes:?}");
        raced.judge().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_edge_races_a_change_of_its_endpoints_table() {
    let edge = append_of(&[r#"{"edge":"Knows","from":"p1","to":"p2"}"#]);
    let change = upsert(&[
        r#"{"type":"Person","data":{"slug":"p1","age":50}}"#,
        r#"{"type":"Person","data":{"slug":"k1"}}"#,
    ]);
    for processes in ALL {
        let raced = race(processes, &[edge, change], false).await;
        assert_eq!(raced.committed(), 2, "{processes:?}: {:?}", raced.answers);
        let order = raced.order().await;
        let Ok(WriteOutcome::Committed(receipt)) = &raced.answers[0] else { panic!() };
        let prepared_again = receipt.restarts > 0;
        assert_eq!(prepared_again, order == [1, 0], "{processes:?}: what it probed has changed");
        raced.judge().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_edges_from_a_source_that_may_have_one_are_never_both_there() {
    let one = append_of(&[r#"{"edge":"WorksAt","from":"p1","to":"c1"}"#]);
    let other = append_of(&[r#"{"edge":"WorksAt","from":"p1","to":"c2"}"#]);
    for processes in ALL {
        let raced = race(processes, &[one, other], false).await;
        let loser = raced.loser();
        assert!(breaks(loser, Rule::Cardinality), "{processes:?}: {loser:?}");
        raced.judge().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_rows_with_one_unique_value_are_never_both_there() {
    let one = append_of(&[r#"{"type":"Person","data":{"slug":"k1","email":"k@x"}}"#]);
    let other = append_of(&[r#"{"type":"Person","data":{"slug":"k2","email":"k@x"}}"#]);
    for processes in ALL {
        let raced = race(processes, &[one, other], false).await;
        let loser = raced.loser();
        assert!(breaks(loser, Rule::Unique), "{processes:?}: {loser:?}");
        raced.judge().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_writes_that_expect_the_same_head_one_commits() {
    // Different tables, so that nothing but the head stands between them.
    let one = append_of(&[r#"{"type":"Person","data":{"slug":"k1"}}"#]);
    let other = append_of(&[r#"{"type":"Company","data":{"slug":"d1"}}"#]);
    for processes in ALL {
        let raced = race(processes, &[one, other], true).await;
        let loser = raced.loser();
        let Ok(WriteOutcome::Conflict(Conflict::ExpectedHead { expected, actual })) = loser else {
            panic!("{processes:?}: {loser:?}");
        };
        let log = raced.graphs[0].log(2).await.unwrap();
        assert_eq!((*expected, *actual), (Some(log[1].commit), Some(log[0].commit)));
        raced.judge().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_creations_of_one_graph_one_succeeds() {
    for _ in 0..4 {
        let store = Store::memory(&MemoryStorage::new());
        let make = |store: Store| async move {
            Graph::create(store, &schema(), "ada", own_process()).await
        };
        let (one, other) = (store.reopened(), store.reopened());
        let (one, other) = tokio::join!(tokio::spawn(make(one)), tokio::spawn(make(other)));
        let answers = [one.unwrap(), other.unwrap()];
        let made: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().ok()).collect();
        assert_eq!(made.len(), 1, "{answers:?}");
        let refused = answers.iter().filter_map(|answer| answer.as_ref().err());
        for error in refused {
            assert!(matches!(error, CreateError::Init(InitError::AlreadyExists { .. })), "{error}");
        }
        let domain = made[0].status().await.unwrap().domain;
        assert_eq!(open_impatient(&store).await.status().await.unwrap().domain, domain);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_operation_that_is_sent_twice_at_once_commits_once() {
    for processes in ALL {
        let store = Store::memory(&MemoryStorage::new());
        append(&create(&store).await, BASE).await;
        let operation = OperationId::mint(&SystemEnv::new());
        let rows = [r#"{"type":"Person","data":{"slug":"k1"}}"#];
        let together = Arc::new(Barrier::new(2));
        let mut running = Vec::new();
        for options in processes.options(2) {
            let hooks =
                Arc::new(Meet { together: together.clone(), has_met: AtomicBool::new(false) });
            let options = GraphOptions { hooks, ..options };
            let graph = Graph::open(store.reopened(), options).await.unwrap();
            let mut request = LoadRequest::new(input(&graph, &rows).await, LoadMode::Append);
            request.operation = Some(operation.clone());
            running.push(tokio::spawn(async move {
                let answer = graph.load(request).await;
                graph.settled().await;
                answer
            }));
        }
        let mut commits = Vec::new();
        for task in running {
            let answer = task.await.unwrap();
            let Ok(WriteOutcome::Committed(receipt)) = answer else {
                panic!("{processes:?}: {answer:?}");
            };
            commits.push(receipt.commit);
        }
        assert_eq!(commits[0], commits[1], "{processes:?}: both have the one receipt");
        let state = Reference::default().with(BASE).with(&rows);
        let next = crate::crash::scenario::TWO_EXISTING_APPEND.next("next");
        let case = Case { before: state.clone(), after: state, commits: 2, next };
        judge(&store, &case, &Heard::Nothing, &[]).await.expect("a sound graph");
    }
}

const WRITERS: usize = 8;
const LOADS: usize = 5;

/// What became of the loads of many writers.
#[derive(Debug, Default)]
struct Crowd {
    kept: Vec<String>,
    /// Loads that ended with a typed answer and had no effect.
    given_up: usize,
    restarts_max: u32,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_writers_of_one_process_all_commit_and_none_is_starved() {
    let crowd = many(Processes::One).await;
    assert_eq!(crowd.given_up, 0, "the writers of one process queue");
    assert!(crowd.restarts_max < WRITERS as u32, "{}", crowd.restarts_max);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_writers_of_many_processes_lose_nothing_that_they_acknowledged() {
    many(Processes::Two).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_writers_that_close_each_others_intents_lose_nothing_that_they_acknowledged() {
    many(Processes::Hostile).await;
}

/// Many writers append to one table; every load commits or has a typed answer without effect.
async fn many(processes: Processes) -> Crowd {
    let store = Store::memory(&MemoryStorage::new());
    append(&create(&store).await, BASE).await;
    let mut running = Vec::new();
    for (writer, options) in processes.options(WRITERS).into_iter().enumerate() {
        let graph = Graph::open(store.reopened(), options).await.unwrap();
        running.push(tokio::spawn(one_of_many(graph, writer)));
    }
    let mut crowd = Crowd::default();
    for task in running {
        crowd.add(task.await.expect("a writer ends"));
    }
    let (kept, given_up, restarts) = (crowd.kept.len(), crowd.given_up, crowd.restarts_max);
    let what = format!("{kept} committed, {given_up} given up, at most {restarts} restarts");
    tell(&format!("{WRITERS} writers, {processes:?}: {what}"));
    assert_eq!(kept + given_up, WRITERS * LOADS);
    assert!(kept >= LOADS, "somebody always gets on");
    let state = Reference::default().with(BASE).with(&crowd.kept);
    let next = crate::crash::scenario::TWO_EXISTING_APPEND.next("next");
    let case = Case { before: state.clone(), after: state, commits: 1 + kept, next };
    judge(&store, &case, &Heard::Nothing, &[]).await.expect("a sound graph");
    crowd
}

async fn one_of_many(graph: Graph, writer: usize) -> Crowd {
    let mut crowd = Crowd::default();
    for number in 0..LOADS {
        let row = format!(r#"{{"type":"Person","data":{{"slug":"w{writer}-{number}"}}}}"#);
        let request = LoadRequest::new(input(&graph, &[&row]).await, LoadMode::Append);
        match graph.load(request).await {
            Ok(WriteOutcome::Committed(receipt)) => {
                crowd.kept.push(row);
                crowd.restarts_max = crowd.restarts_max.max(receipt.restarts);
            }
            Ok(WriteOutcome::Conflict(Conflict::RetriesExhausted { .. }))
            | Ok(WriteOutcome::Contended(_)) => crowd.given_up += 1,
            other => panic!("{other:?}"),
        }
    }
    graph.settled().await;
    crowd
}

impl Crowd {
    fn add(&mut self, other: Self) {
        self.kept.extend(other.kept);
        self.given_up += other.given_up;
        self.restarts_max = self.restarts_max.max(other.restarts_max);
    }
}

/// Says that a write has come to a point, and lets it go on.
#[derive(Debug)]
struct Signal {
    point: Failpoint,
    reached: Notify,
}

#[async_trait]
impl Hooks for Signal {
    async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
        if point == self.point {
            self.reached.notify_one();
            // The caller goes away before the write comes any further.
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    fn wants(&self, point: Failpoint) -> bool {
        point == self.point
    }
}

/// Drops the future of a load as soon as it has come to `point`; returns what the graph is then.
async fn goes_away_at(point: Failpoint) -> (Store, Graph) {
    let store = Store::memory(&MemoryStorage::new());
    append(&create(&store).await, BASE).await;
    let hooks = Arc::new(Signal { point, reached: Notify::new() });
    let options = GraphOptions { hooks: hooks.clone(), ..own_process() };
    let graph = Graph::open(store.reopened(), options).await.unwrap();
    let request = LoadRequest::new(input(&graph, GONE).await, LoadMode::Append);
    tokio::select! {
        biased;
        () = hooks.reached.notified() => {}
        answer = graph.load(request) => panic!("the load was faster: {answer:?}"),
    }
    graph.settled().await;
    (store, graph)
}

const GONE: &[&str] =
    &[r#"{"type":"Person","data":{"slug":"k1"}}"#, r#"{"type":"Company","data":{"slug":"d1"}}"#];

#[tokio::test]
async fn a_caller_that_goes_away_after_the_intent_does_not_stop_the_write() {
    for point in [Failpoint::PreArm, Failpoint::PostArm, Failpoint::PrePublish] {
        let (store, graph) = goes_away_at(point).await;
        let state = Reference::default().with(BASE).with(GONE);
        let next = crate::crash::scenario::TWO_EXISTING_APPEND.next("next");
        let case = Case { before: state.clone(), after: state, commits: 2, next };
        judge(&store, &case, &Heard::Nothing, &[&graph]).await.expect("the write was finished");
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_before_the_intent_leaves_nothing() {
    let (store, graph) = goes_away_at(Failpoint::PostPrepare).await;
    assert!(graph.pending_intents().await.unwrap().intents.is_empty());
    let state = Reference::default().with(BASE);
    let next = crate::crash::scenario::TWO_EXISTING_APPEND.next("next");
    let case = Case { before: state.clone(), after: state, commits: 1, next };
    judge(&store, &case, &Heard::Nothing, &[&graph]).await.expect("nothing has happened");
}
