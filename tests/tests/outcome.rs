//! Did it land? What a caller learns from an operation id alone, in every state of its request, and
//! the seal that ends it: before, during and after a write, in one process and against another.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use async_trait::async_trait;
use futures::StreamExt;
use graphwrite_coordinator::{
    Graph, GraphOptions, Hooks, Injected, LoadMode, LoadRequest, MemoryStorage, OperationOutcome,
    OutcomeError, OutcomeRequest, RecoverMode, RecoverRequest, Resolution, Store,
};
use graphwrite_protocol_types::{
    Answer, BranchToken, Conflict, Failpoint, IdentityDomain, OperationId, Receipt, WriteOutcome,
};
use graphwrite_substrate::{Fault, HoldHandle, RawObjects};
use tokio::sync::Semaphore;

use crate::crash::at;
use crate::crash::scenario::{MIXED_UPSERT, Scenario, Stage, TWO_EXISTING_UPSERT};
use crate::judge::{Case, Heard, Promise, impatient, judge, open_impatient, seen_by, tell, which};
use crate::world::{BASE, append, assert_clean, create, input, own_process, reopen, rows};

const CELLS_AT_ONCE: usize = 4;

fn id() -> OperationId {
    "the-request".parse().unwrap()
}

async fn ask(graph: &Graph) -> OperationOutcome {
    graph.outcome(OutcomeRequest::new(id())).await.expect("an answer")
}

async fn seal(graph: &Graph) -> OperationOutcome {
    let request = OutcomeRequest { seal: true, ..OutcomeRequest::new(id()) };
    graph.outcome(request).await.expect("an answer")
}

fn is_sealed(outcome: &OperationOutcome) -> bool {
    matches!(outcome, OperationOutcome::Aborted { is_final: true, .. })
}

async fn send(graph: &Graph, scenario: Scenario, id: &OperationId) -> Heard {
    let mut request = LoadRequest::new(input(graph, scenario.rows).await, scenario.mode);
    request.operation = Some(id.clone());
    let answer = graph.load(request).await;
    graph.settled().await;
    Heard::Answer(Box::new(answer))
}

fn receipt(heard: &Heard) -> &Receipt {
    heard.receipt().unwrap_or_else(|| panic!("not committed: {heard:?}"))
}

fn is_refused_as_sealed(heard: &Heard) -> bool {
    match heard.answer() {
        Some(Ok(outcome @ WriteOutcome::Conflict(Conflict::OperationSealed { .. }))) => {
            outcome.had_no_effect() && !outcome.may_retry()
        }
        _ => false,
    }
}

/// The graph is as before the scenario, whole, and takes the next write.
async fn is_as_before(stage: &Stage, store: &Store, warm: &[&Graph]) {
    let case = Case { after: stage.before.clone(), ..stage.case() };
    judge(store, &case, &Heard::Nothing, warm).await.expect("a sound graph");
}

/// The scenario's write is there once, and the graph takes the next one.
async fn is_committed_once(stage: &Stage, store: &Store, warm: &[&Graph]) {
    let case = stage.case();
    let case = Case { before: case.after.clone(), commits: case.commits + 1, ..case };
    judge(store, &case, &Heard::Nothing, warm).await.expect("a sound graph");
}

#[tokio::test]
async fn an_operation_that_nobody_sent_is_unknown() {
    let store = Store::memory(&MemoryStorage::new());
    append(&create(&store).await, BASE).await;
    let reader = Graph::open_read_only(store.reopened(), own_process()).await.unwrap();
    assert_eq!(ask(&reader).await, OperationOutcome::Unknown);
}

#[tokio::test]
async fn a_committed_operation_is_answered_with_its_receipt_in_any_process_and_at_any_depth() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let store = Store::memory(&stage.base.fork());
    let graph = reopen(&store).await;
    let heard = send(&graph, stage.scenario, &id()).await;
    let reader = Graph::open_read_only(store.reopened(), own_process()).await.unwrap();
    for depth in [0, 70] {
        for number in 0..depth {
            append(&graph, &[format!(r#"{{"type":"Person","data":{{"slug":"d{number}"}}}}"#)])
                .await;
        }
        let OperationOutcome::Committed(found) = ask(&reader).await else { panic!() };
        assert_eq!(*found, *receipt(&heard), "{depth} commits later");
        let OperationOutcome::Committed(found) = seal(&graph).await else { panic!() };
        assert_eq!(*found, *receipt(&heard), "a commit is not sealed");
    }
}

#[tokio::test]
async fn a_question_about_another_incarnation_is_refused_and_a_receipts_own_token_is_taken() {
    let store = Store::memory(&MemoryStorage::new());
    let graph = create(&store).await;
    let receipt = append(&graph, BASE).await;
    let own = OutcomeRequest {
        branch: Some(receipt.branch.clone()),
        ..OutcomeRequest::new(receipt.operation.clone())
    };
    let OperationOutcome::Committed(found) = graph.outcome(own).await.unwrap() else { panic!() };
    assert_eq!(found.commit, receipt.commit);
    let elsewhere = BranchToken::main(IdentityDomain::from_u128(1));
    for seal in [false, true] {
        let branch = Some(elsewhere.clone());
        let request = OutcomeRequest { operation: receipt.operation.clone(), branch, seal };
        let error = graph.outcome(request).await.unwrap_err();
        assert!(matches!(error, OutcomeError::OtherIncarnation { .. }), "{error}");
        assert!(error.had_no_effect() && !error.may_retry());
    }
}

#[tokio::test]
async fn a_read_only_handle_does_not_seal() {
    let store = Store::memory(&MemoryStorage::new());
    create(&store).await;
    let reader = Graph::open_read_only(store.reopened(), own_process()).await.unwrap();
    let request = OutcomeRequest { seal: true, ..OutcomeRequest::new(id()) };
    let error = reader.outcome(request).await.unwrap_err();
    assert!(matches!(error, OutcomeError::ReadOnly), "{error}");
    assert_eq!(ask(&reader).await, OperationOutcome::Unknown);
}

#[tokio::test]
async fn a_sealed_operation_never_commits_and_the_request_goes_under_another_id() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let store = Store::memory(&stage.base.fork());
    let graph = reopen(&store).await;
    let sealed = seal(&graph).await;
    assert!(is_sealed(&sealed), "{sealed:?}");
    assert_eq!(seal(&reopen(&store).await).await, sealed, "a second seal finds the first");
    for handle in [&graph, &reopen(&store).await] {
        assert!(is_refused_as_sealed(&send(handle, stage.scenario, &id()).await));
        assert_eq!(ask(handle).await, sealed);
    }
    let other = "another-request".parse().unwrap();
    receipt(&send(&graph, stage.scenario, &other).await);
    assert!(is_refused_as_sealed(&send(&graph, stage.scenario, &id()).await), "though no change");
    is_committed_once(&stage, &store, &[&graph]).await;
}

#[tokio::test]
async fn a_seal_makes_no_history() {
    let store = Store::memory(&MemoryStorage::new());
    let graph = create(&store).await;
    append(&graph, BASE).await;
    let (before, log) = (rows(&graph).await, graph.log(10).await.unwrap());
    assert!(is_sealed(&seal(&graph).await));
    assert_eq!(rows(&graph).await, before);
    assert_eq!(graph.log(10).await.unwrap().len(), log.len());
    assert_eq!(graph.snapshot().await.unwrap().commit(), log[0].commit.into());
    assert_clean(&graph).await;
}

/// Holds a write where it reaches a point for the n-th time.
#[derive(Debug)]
struct Pause {
    point: Failpoint,
    number: u32,
    count: AtomicU32,
    reached: Semaphore,
    release: Semaphore,
}

impl Pause {
    fn at(point: Failpoint, number: u32) -> Arc<Self> {
        let closed = || Semaphore::new(0);
        let (reached, release) = (closed(), closed());
        Arc::new(Self { point, number, count: AtomicU32::new(0), reached, release })
    }

    async fn reached(&self) {
        self.reached.acquire().await.expect("open").forget();
    }
}

#[async_trait]
impl Hooks for Pause {
    async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
        if point == self.point && self.count.fetch_add(1, Ordering::SeqCst) + 1 == self.number {
            self.reached.add_permits(1);
            self.release.acquire().await.expect("open").forget();
        }
        Ok(())
    }

    fn wants(&self, point: Failpoint) -> bool {
        point == self.point
    }
}

/// The places of a write at which it can be held, in the order in which it comes to them.
const PLACES: [(Failpoint, u32); 8] = [
    (Failpoint::PostPrepare, 1),
    (Failpoint::PreArm, 1),
    (Failpoint::PostArm, 1),
    (Failpoint::PostEffect, 1),
    (Failpoint::PostEffect, 2),
    (Failpoint::PrePublish, 1),
    (Failpoint::PostPublish, 1),
    (Failpoint::PreIntentDelete, 1),
];

/// Who seals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// The process that writes.
    Itself,
    /// Another one, which only seals.
    Another,
    /// Another one, which then also takes the writer for dead and ends its attempt.
    AnotherThatRecovers,
}

async fn sealed_while_held(stage: &Stage, (point, number): (Failpoint, u32), by: By) {
    let place = format!("{} by {by:?} at {point} {number}", stage.scenario.name);
    let store = Store::memory(&stage.base.fork());
    let (hooks, process) = (Pause::at(point, number), own_process());
    let options = GraphOptions { hooks: hooks.clone(), ..process.clone() };
    let writer = Graph::open(store.reopened(), options).await.unwrap();
    let sending = tokio::spawn({
        let (writer, scenario) = (writer.clone(), stage.scenario);
        async move { send(&writer, scenario, &id()).await }
    });
    hooks.reached().await;
    let other = match by {
        By::Itself => Graph::open(store.reopened(), process).await.unwrap(),
        By::Another | By::AnotherThatRecovers => open_impatient(&store).await,
    };
    let is_visible = matches!(point, Failpoint::PostPublish | Failpoint::PreIntentDelete);
    let is_armed = !matches!(point, Failpoint::PostPrepare | Failpoint::PreArm);
    match ask(&other).await {
        OperationOutcome::Committed(_) => assert!(is_visible, "{place}"),
        OperationOutcome::Pending { .. } => assert!(is_armed && !is_visible, "{place}"),
        OperationOutcome::Unknown => assert!(!is_armed, "{place}"),
        other => panic!("{place}: {other:?}"),
    }
    let answer = seal(&other).await;
    assert_eq!(is_sealed(&answer), !is_visible, "{place}: {answer:?}");
    assert_eq!(ask(&other).await, answer, "{place}: pending, but decided");
    if by == By::AnotherThatRecovers {
        recovered(&other, is_armed, is_visible, &place).await;
    }
    assert!(!sending.is_finished(), "{place}");
    hooks.release.add_permits(1);
    let heard = sending.await.expect("the writer ends");
    if is_visible {
        let OperationOutcome::Committed(found) = answer else { panic!("{place}") };
        assert_eq!(*found, *receipt(&heard), "{place}");
        return is_committed_once(stage, &store, &[&writer, &other]).await;
    }
    assert!(is_refused_as_sealed(&heard), "{place}: {heard:?}");
    assert_eq!(ask(&other).await, answer, "{place}");
    is_as_before(stage, &store, &[&writer, &other]).await;
}

async fn recovered(other: &Graph, is_armed: bool, is_visible: bool, place: &str) {
    let full = RecoverRequest { attempt: None, mode: RecoverMode::Full, owner_is_dead: false };
    let report = other.recover(full).await.unwrap();
    assert_eq!(report.resolved.len(), usize::from(is_armed), "{place}");
    for (_, end) in report.resolved {
        match end {
            Resolution::Committed { rolled_forward: false, .. } => assert!(is_visible, "{place}"),
            Resolution::RolledBack { .. } => assert!(!is_visible, "{place}"),
            other => panic!("{place}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_seal_meets_a_write_that_is_held_anywhere() {
    for scenario in [TWO_EXISTING_UPSERT, MIXED_UPSERT] {
        let stage = Stage::of(scenario).await;
        for place in PLACES {
            for by in [By::Itself, By::Another, By::AnotherThatRecovers] {
                Box::pin(sealed_while_held(&stage, place, by)).await;
            }
        }
    }
}

/// As the places above, but at every single durable operation of the write.
#[tokio::test]
async fn a_seal_meets_a_write_that_is_held_at_any_of_its_requests() {
    let stage = &Stage::of(TWO_EXISTING_UPSERT).await;
    let count = stage.operations().await.0.len() as u64;
    let ends: Vec<bool> = futures::stream::iter(1..=count)
        .map(|k| Box::pin(sealed_at_request(stage, k)))
        .buffer_unordered(CELLS_AT_ONCE)
        .collect()
        .await;
    let sealed = ends.iter().filter(|is_sealed| **is_sealed).count();
    tell(&format!("seals beside a held write: {count} places, {sealed} sealed"));
    assert!(sealed > 0 && sealed < ends.len(), "{sealed} of {count}");
}

async fn sealed_at_request(stage: &Stage, k: u64) -> bool {
    let store = Store::memory(&stage.base.fork());
    let asked = AtomicU64::new(0);
    let (client, mut handle) = store.holding(move |operation| {
        let step = u64::from(operation.kind.is_durable());
        asked.fetch_add(step, Ordering::SeqCst) + step >= k
    });
    let zombie = Graph::open(client, own_process()).await.unwrap();
    let sending = tokio::spawn({
        let (zombie, scenario) = (zombie.clone(), stage.scenario);
        async move { send(&zombie, scenario, &id()).await }
    });
    let first = handle.next().await.expect("no cell passes because nothing was held");
    let other = open_impatient(&store).await;
    let answer = seal(&other).await;
    first.release();
    let releasing = tokio::spawn(release_all(handle));
    let heard = sending.await.expect("the writer ends");
    if is_sealed(&answer) {
        assert!(is_refused_as_sealed(&heard), "held at {k}: {heard:?}");
        is_as_before(stage, &store, &[&zombie, &other]).await;
    } else {
        let OperationOutcome::Committed(found) = &answer else { panic!("held at {k}: {answer:?}") };
        assert_eq!(found.commit, receipt(&heard).commit);
        is_committed_once(stage, &store, &[&zombie, &other]).await;
    }
    releasing.abort();
    is_sealed(&answer)
}

async fn release_all(mut handle: HoldHandle) {
    while let Some(held) = handle.next().await {
        held.release();
    }
}

/// A seal over an attempt whose writer died, wherever it died: the next write takes it back even if
/// all of it was there.
#[tokio::test]
async fn a_dead_attempt_of_a_sealed_operation_is_taken_back_however_far_it_came() {
    let stage = &Stage::of(TWO_EXISTING_UPSERT).await;
    let count = stage.operations().await.0.len() as u64;
    let ends: Vec<bool> = futures::stream::iter(1..=count)
        .map(|k| Box::pin(sealed_after_death(stage, k)))
        .buffer_unordered(CELLS_AT_ONCE)
        .collect()
        .await;
    let sealed = ends.iter().filter(|is_sealed| **is_sealed).count();
    assert!(sealed > 0 && sealed < ends.len(), "{sealed} of {count}");
}

async fn sealed_after_death(stage: &Stage, k: u64) -> bool {
    let store = Store::memory(&stage.base.fork());
    let (client, faults) = store.faulty(at(k, Fault::DieAfter));
    let dead = Graph::open(client, own_process()).await.unwrap();
    let _ = send(&dead, stage.scenario, &id()).await;
    assert!(faults.is_dead(), "no cell passes because nothing happened");
    let other = open_impatient(&store).await;
    let before_it = ask(&other).await;
    let answer = seal(&other).await;
    if let OperationOutcome::Committed(_) = &answer {
        assert_eq!(before_it, answer);
        is_committed_once(stage, &store, &[&other]).await;
        return false;
    }
    assert!(is_sealed(&answer), "died after {k}: {answer:?}");
    let armed = !other.pending_intents().await.unwrap().is_empty();
    assert_eq!(matches!(before_it, OperationOutcome::Pending { .. }), armed, "{before_it:?}");
    assert!(is_refused_as_sealed(&send(&other, stage.scenario, &id()).await), "died after {k}");
    is_as_before(stage, &store, &[&other]).await;
    true
}

/// How two handles know each other.
const PROCESSES: [fn() -> [GraphOptions; 2]; 3] = [
    || {
        let one = own_process();
        [one.clone(), one]
    },
    || [own_process(), own_process()],
    || [impatient(), impatient()],
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_a_seal_and_a_write_that_race_exactly_one_wins_and_both_say_so() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let (mut seals, mut commits) = (0, 0);
    let points = [Failpoint::PostPrepare, Failpoint::PostArm, Failpoint::PrePublish];
    for (round, options) in (0..36).zip(PROCESSES.iter().cycle()) {
        let store = Store::memory(&stage.base.fork());
        let [writing, sealing] = options();
        // The writer says where it is, and goes on.
        let hooks = Pause::at(points[round / 3 % 3], 1);
        hooks.release.add_permits(1);
        let writing = GraphOptions { hooks: hooks.clone(), ..writing };
        let writer = Graph::open(store.reopened(), writing).await.unwrap();
        let sealer = Graph::open(store.reopened(), sealing).await.unwrap();
        let sending = tokio::spawn({
            let (writer, scenario) = (writer.clone(), stage.scenario);
            async move { send(&writer, scenario, &id()).await }
        });
        hooks.reached().await;
        for _ in 0..round * 2 {
            tokio::task::yield_now().await;
        }
        let answer = seal(&sealer).await;
        let heard = sending.await.expect("the writer ends");
        if is_sealed(&answer) {
            seals += 1;
            assert!(is_refused_as_sealed(&heard), "{heard:?}");
            is_as_before(&stage, &store, &[&writer, &sealer]).await;
        } else {
            commits += 1;
            let OperationOutcome::Committed(found) = &answer else { panic!("{answer:?}") };
            assert_eq!(found.commit, receipt(&heard).commit);
            is_committed_once(&stage, &store, &[&writer, &sealer]).await;
        }
    }
    tell(&format!("seals racing writes: {seals} sealed, {commits} committed"));
    assert!(seals > 0 && commits > 0, "both orders were met");
}

#[tokio::test]
async fn an_attempt_that_was_given_up_is_aborted_and_not_final() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let store = Store::memory(&stage.base.fork());
    let hooks = Pause::at(Failpoint::PostArm, 1);
    let options = GraphOptions { hooks: hooks.clone(), ..own_process() };
    let writer = Graph::open(store.reopened(), options).await.unwrap();
    let sending = tokio::spawn({
        let (writer, scenario) = (writer.clone(), stage.scenario);
        async move { send(&writer, scenario, &id()).await }
    });
    hooks.reached().await;
    let other = open_impatient(&store).await;
    let OperationOutcome::Pending { attempt, owner, .. } = ask(&other).await else { panic!() };
    let full = RecoverRequest { attempt: None, mode: RecoverMode::Full, owner_is_dead: false };
    other.recover(full).await.unwrap();
    let given_up = OperationOutcome::Aborted { attempt, is_final: false };
    assert_eq!(ask(&other).await, given_up);
    assert_eq!(owner.pid, std::process::id());
    hooks.release.add_permits(1);
    let heard = sending.await.expect("the writer ends");
    let OperationOutcome::Committed(found) = ask(&other).await else { panic!("not final") };
    assert_eq!(found.commit, receipt(&heard).commit, "a later attempt has committed");
    assert_ne!(found.attempt, attempt);
}

/// The intents are read before the manifest: whatever ends between the two is found in the manifest.
#[tokio::test]
async fn a_commit_that_ends_while_the_question_is_asked_is_not_taken_for_unknown() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let store = Store::memory(&stage.base.fork());
    let hooks = Pause::at(Failpoint::PrePublish, 1);
    let options = GraphOptions { hooks: hooks.clone(), ..own_process() };
    let writer = Graph::open(store.reopened(), options).await.unwrap();
    let sending = tokio::spawn({
        let (writer, scenario) = (writer.clone(), stage.scenario);
        async move { send(&writer, scenario, &id()).await }
    });
    hooks.reached().await;
    let (is_asked, requests) = (Arc::new(AtomicBool::new(false)), AtomicU64::new(0));
    let watched = Arc::clone(&is_asked);
    let (slow, mut handle) = store.holding(move |_| {
        watched.load(Ordering::SeqCst) && requests.fetch_add(1, Ordering::SeqCst) == 1
    });
    let asker = Graph::open(slow, own_process()).await.unwrap();
    is_asked.store(true, Ordering::SeqCst);
    let asking = tokio::spawn(async move { ask(&asker).await });
    let second = handle.next().await.expect("a question has two requests at least");
    hooks.release.add_permits(1);
    let heard = sending.await.expect("the writer ends");
    assert!(reopen(&store).await.pending_intents().await.unwrap().is_empty());
    second.release();
    let answer = asking.await.expect("an answer");
    let OperationOutcome::Committed(found) = answer else { panic!("{answer:?}") };
    assert_eq!(*found, *receipt(&heard));
}

/// Fails where it is told to.
#[derive(Debug)]
struct FailAt(Failpoint);

#[async_trait]
impl Hooks for FailAt {
    async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
        if point == self.0 { Err(Injected(point)) } else { Ok(()) }
    }

    fn wants(&self, point: Failpoint) -> bool {
        point == self.0
    }
}

/// A handle whose writes end with an unknown outcome once all effects have landed.
async fn doubtful(store: &Store) -> Graph {
    let hooks = Arc::new(FailAt(Failpoint::PrePublish));
    let options = GraphOptions { hooks, ..own_process() };
    Graph::open(store.reopened(), options).await.unwrap()
}

#[tokio::test]
async fn an_unknown_outcome_under_the_callers_id_may_be_sent_again_as_it_is() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let store = Store::memory(&stage.base.fork());
    let heard = send(&doubtful(&store).await, stage.scenario, &id()).await;
    let Some(Ok(outcome @ WriteOutcome::OutcomeUnknown(_))) = heard.answer() else {
        panic!("{heard:?}")
    };
    assert!(outcome.may_retry() && !outcome.had_no_effect());
    let other = open_impatient(&store).await;
    let first = send(&other, stage.scenario, &id()).await;
    let again = send(&other, stage.scenario, &id()).await;
    assert_eq!(receipt(&first).commit, receipt(&again).commit);
    is_committed_once(&stage, &store, &[&other]).await;
}

#[tokio::test]
async fn an_unknown_outcome_under_a_minted_id_may_be_sent_again_only_under_that_id() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let store = Store::memory(&stage.base.fork());
    let writer = doubtful(&store).await;
    let request = LoadRequest::new(input(&writer, stage.scenario.rows).await, LoadMode::Upsert);
    let outcome = writer.load(request).await.unwrap();
    let WriteOutcome::OutcomeUnknown(unknown) = &outcome else { panic!("{outcome:?}") };
    assert!(!outcome.may_retry() && !outcome.had_no_effect());
    let minted = unknown.operation.to_string();
    assert!(outcome.help().contains(&format!("graphwrite outcome <graph> {minted}")));
    assert!(outcome.help().contains(&format!("--operation-id {minted}")));
    let other = open_impatient(&store).await;
    receipt(&send(&other, stage.scenario, &unknown.operation).await);
    is_committed_once(&stage, &store, &[&other]).await;
}

#[tokio::test]
async fn a_record_that_cannot_be_understood_keeps_unknown_from_being_claimed_but_not_a_commit() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let storage = stage.base.fork();
    let store = Store::memory(&storage);
    let graph = reopen(&store).await;
    let heard = send(&graph, stage.scenario, &id()).await;
    let damaged = "_recovery/main/00000000000000000000000001.intent";
    let by = graphwrite_protocol_types::AttemptId::from_u128(1);
    let _ = store.put_if_absent(damaged, b"damaged".as_slice().into(), by).await.unwrap();
    let OperationOutcome::Committed(found) = ask(&graph).await else { panic!() };
    assert_eq!(found.commit, receipt(&heard).commit);
    let other = OutcomeRequest::new("another-request".parse().unwrap());
    let error = graph.outcome(other).await.unwrap_err();
    assert!(matches!(&error, OutcomeError::Blocked(object) if object.object == damaged), "{error}");
}

/// A hit and a miss in the hot rows, and both once they have to be looked for in older ones.
#[tokio::test]
async fn the_requests_of_a_question_do_not_grow_with_history() {
    let (store, counter) = Store::memory(&MemoryStorage::new()).counting();
    let graph = create(&store).await;
    append(&graph, BASE).await;
    let mut first = None;
    let mut costs = Vec::new();
    for depth in 0..=100 {
        let row = format!(r#"{{"type":"Company","data":{{"slug":"x{depth}"}}}}"#);
        let operation = append(&graph, &[row]).await.operation;
        graph.settled().await;
        let oldest = first.get_or_insert(operation.clone()).clone();
        counter.take();
        let mut requests = Vec::new();
        for (asked, is_there) in [(operation, true), (oldest, true), (id(), false)] {
            let outcome = graph.outcome(OutcomeRequest::new(asked)).await.unwrap();
            assert_eq!(matches!(outcome, OperationOutcome::Committed(_)), is_there);
            requests.push(counter.take().total());
        }
        costs.push(requests);
    }
    tell(&format!("requests of a question: {:?} at depth 1, {:?} at 100", costs[0], costs[100]));
    assert_eq!(costs[0], [2, 2, 2], "one listing of the records, one of the manifest");
    let deepest = |at: usize| costs.iter().map(|cost| cost[at]).max().unwrap();
    assert_eq!(deepest(0), 2, "what is young stays hot");
    assert!(deepest(1) <= 6 && deepest(2) <= 4, "{} {}", deepest(1), deepest(2));
}

#[tokio::test]
async fn the_judge_of_these_tests_sees_a_sealed_write_that_committed() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let store = Store::memory(&stage.base.fork());
    let graph = reopen(&store).await;
    receipt(&send(&graph, stage.scenario, &id()).await);
    let seen = seen_by(&graph).await;
    assert!(!seen.is_empty());
    let case = Case { after: stage.before.clone(), ..stage.case() };
    let judged = judge(&store, &case, &Heard::Nothing, &[]).await;
    assert_eq!(judged.expect_err("a complaint").promise, Promise::Atomic);
    assert!(which(&graph, &stage.before, &stage.before.with(stage.scenario.rows)).await.unwrap());
}
