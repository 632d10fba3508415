//! A request that is sent again under its operation id while recovery works on its first attempt, and
//! what a question about it hears meanwhile, in both orders: never doubled, never lost, never
//! finalized away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures::StreamExt;
use graphwrite_coordinator::{
    Graph, MemoryStorage, OperationOutcome, OutcomeRequest, RecoverMode, RecoverRequest, Store,
};
use graphwrite_protocol_types::{AttemptId, OperationId};
use graphwrite_substrate::{Fault, HoldHandle, Operation, OperationKind};
use tokio::task::JoinHandle;

use crate::crash::at_nth;
use crate::crash::scenario::{Scenario, Stage, TWO_EXISTING_UPSERT, TWO_FIRST_UPSERT};
use crate::judge::{Case, Heard, check_answer, impatient, judge, open_impatient, tell};
use crate::request::Terms;
use crate::world::own_process;

const CELLS_AT_ONCE: usize = 4;

/// How far the first attempt got before its process died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Armed,
    Half,
    Complete,
    Published,
}

const LEFT: [Left; 4] = [Left::Armed, Left::Half, Left::Complete, Left::Published];

fn id() -> OperationId {
    "the-request".parse().unwrap()
}

async fn send(graph: &Graph, scenario: Scenario) -> Heard {
    let terms = Terms { operation: Some(id()), ..Terms::default() };
    scenario.write_as(graph, terms).await
}

async fn ask(graph: &Graph) -> OperationOutcome {
    graph.outcome(OutcomeRequest::new(id())).await.expect("an answer")
}

async fn recover(graph: &Graph) {
    let request = RecoverRequest { attempt: None, mode: RecoverMode::Full, owner_is_dead: false };
    let report = graph.recover(request).await.expect("a report");
    assert!(report.resolved.iter().all(|(_, how)| how.is_over()), "{report:?}");
}

/// A storage whose writer died there.
async fn crashed(stage: &Stage, left: Left) -> MemoryStorage {
    let tables = stage.scenario.tables.len();
    let is_last = move |it: &Operation| match left {
        Left::Armed => it.kind == OperationKind::PutIfAbsent && it.path.ends_with(".intent"),
        Left::Half | Left::Complete => {
            it.path.starts_with("tables/") && it.path.ends_with(".manifest")
        }
        Left::Published => it.path.starts_with("__manifest/") && it.path.ends_with(".manifest"),
    };
    let nth = if left == Left::Complete { tables } else { 1 };
    let storage = stage.base.fork();
    let (client, faults) = Store::memory(&storage).faulty(at_nth(nth, is_last, Fault::DieAfter));
    let graph = Graph::open(client, own_process()).await.unwrap();
    let _ = send(&graph, stage.scenario).await;
    assert!(faults.is_dead(), "{left:?}: no cell passes because nothing happened");
    storage
}

/// From the k-th durable operation on, everything of the client is held.
fn from_durable(k: u64) -> impl Fn(&Operation) -> bool {
    let asked = AtomicU64::new(0);
    move |operation| {
        let step = u64::from(operation.kind.is_durable());
        asked.fetch_add(step, Ordering::SeqCst) + step >= k
    }
}

async fn release_all(mut handle: HoldHandle) {
    while let Some(held) = handle.next().await {
        held.release();
    }
}

/// How many durable operations `act` has on a fork of `storage`.
async fn durable_operations<F: Future<Output = ()>>(
    storage: &MemoryStorage,
    act: impl FnOnce(Graph) -> F,
) -> u64 {
    let (client, faults) = Store::memory(&storage.fork()).faulty(|_| Fault::Proceed);
    act(Graph::open(client, impatient()).await.unwrap()).await;
    faults.durable_operations()
}

/// The request is there exactly once, as its answer says, and nothing is wrong.
async fn is_there_once(stage: &Stage, store: &Store, heard: &Heard, warm: &[&Graph]) {
    assert!(heard.receipt().is_some(), "{heard:?}");
    let case = stage.case();
    let case = Case { before: case.after.clone(), commits: case.commits + 1, ..case };
    check_answer(&open_impatient(store).await, heard, true).await.expect("an answer that is kept");
    judge(store, &case, &Heard::Nothing, warm).await.expect("a sound graph");
}

/// A recoverer that stands still at durable operation `k`, until it is let go.
struct Standing {
    recoverer: Graph,
    handle: HoldHandle,
    held: graphwrite_substrate::Held,
    working: JoinHandle<()>,
}

impl Standing {
    async fn at(store: &Store, k: u64) -> Self {
        let (client, mut handle) = store.holding(from_durable(k));
        let recoverer = Graph::open(client, impatient()).await.unwrap();
        let working = tokio::spawn({
            let recoverer = recoverer.clone();
            async move { recover(&recoverer).await }
        });
        let held = handle.next().await.expect("no cell passes because nothing was held");
        Self { recoverer, handle, held, working }
    }

    /// The rest of its work.
    async fn goes_on(self) -> (Graph, JoinHandle<()>) {
        self.held.release();
        let releasing = tokio::spawn(release_all(self.handle));
        self.working.await.expect("the recoverer ends");
        (self.recoverer, releasing)
    }
}

/// Recovery stands still at its durable operation `k`; the request is sent again and answered;
/// recovery goes on. Says whether the fate of the first attempt was decided before.
async fn sent_again_meanwhile(stage: &Stage, crashed: &MemoryStorage, k: u64) -> bool {
    let store = Store::memory(&crashed.fork());
    let standing = Standing::at(&store, k).await;
    let again = open_impatient(&store).await;
    let was_decided = !matches!(ask(&again).await, OperationOutcome::Pending { .. });
    let heard = send(&again, stage.scenario).await;
    let (recoverer, releasing) = standing.goes_on().await;
    is_there_once(stage, &store, &heard, &[&again, &recoverer]).await;
    releasing.abort();
    was_decided
}

#[tokio::test]
async fn a_request_sent_again_while_recovery_stands_still_anywhere_is_there_once() {
    for (scenario, left) in cells() {
        let stage = &Stage::of(scenario).await;
        let storage = &crashed(stage, left).await;
        let count = durable_operations(storage, |graph| async move { recover(&graph).await }).await;
        let decided: Vec<bool> = futures::stream::iter(1..=count)
            .map(|k| Box::pin(sent_again_meanwhile(stage, storage, k)))
            .buffer_unordered(CELLS_AT_ONCE)
            .collect()
            .await;
        let before = decided.iter().filter(|was_decided| **was_decided).count();
        tell(&format!(
            "sent again beside recovery, {}, {left:?}: {count} cells, {before} decided before",
            scenario.name
        ));
        let both = before > 0 && before < decided.len();
        assert!(both || left == Left::Published, "one order was not met: {decided:?}");
    }
}

/// The request is sent again and stands still at its durable operation `k`; recovery ends whatever is
/// pending, the second attempt too; the request goes on.
async fn recovered_meanwhile(stage: &Stage, crashed: &MemoryStorage, k: u64) {
    let store = Store::memory(&crashed.fork());
    let (client, mut handle) = store.holding(from_durable(k));
    let again = Graph::open(client, impatient()).await.unwrap();
    let sending = tokio::spawn({
        let (again, scenario) = (again.clone(), stage.scenario);
        async move { send(&again, scenario).await }
    });
    let held = handle.next().await.expect("no cell passes because nothing was held");
    let recoverer = open_impatient(&store).await;
    recover(&recoverer).await;
    held.release();
    let releasing = tokio::spawn(release_all(handle));
    let heard = sending.await.expect("the request ends");
    is_there_once(stage, &store, &heard, &[&again, &recoverer]).await;
    releasing.abort();
}

#[tokio::test]
async fn recovery_while_a_request_sent_again_stands_still_anywhere_does_not_lose_it() {
    for (scenario, left) in cells() {
        let stage = &Stage::of(scenario).await;
        let storage = &crashed(stage, left).await;
        let sent = |graph| async move { drop(send(&graph, scenario).await) };
        let count = durable_operations(storage, sent).await;
        futures::stream::iter(1..=count)
            .map(|k| Box::pin(recovered_meanwhile(stage, storage, k)))
            .buffer_unordered(CELLS_AT_ONCE)
            .collect::<Vec<()>>()
            .await;
        tell(&format!(
            "recovery beside a request sent again, {}, {left:?}: {count} cells",
            scenario.name
        ));
        assert!(count > 0);
    }
}

fn cells() -> impl Iterator<Item = (Scenario, Left)> {
    [TWO_EXISTING_UPSERT, TWO_FIRST_UPSERT]
        .into_iter()
        .flat_map(|scenario| LEFT.map(|left| (scenario, left)))
}

async fn attempt_of(graph: &Graph) -> AttemptId {
    let pending = graph.pending_intents().await.expect("what is pending");
    let [intent] = &pending.intents[..] else { panic!("{pending:?}") };
    intent.attempt.parse().unwrap()
}

fn is_final(outcome: &OperationOutcome) -> bool {
    matches!(outcome, OperationOutcome::Committed(_) | OperationOutcome::Aborted { .. })
}

/// While recovery stands still at `k`: the outcome and then the intent, and the intent and then the
/// outcome, and what they say together.
async fn asked_in_both_orders(crashed: &MemoryStorage, k: u64) {
    let store = Store::memory(&crashed.fork());
    let attempt = attempt_of(&open_impatient(&store).await).await;
    let standing = Standing::at(&store, k).await;
    let asker = open_impatient(&store).await;
    for outcome_first in [true, false] {
        let (outcome, intent) = if outcome_first {
            let outcome = ask(&asker).await;
            (outcome, asker.intent(attempt).await.expect("an answer"))
        } else {
            let intent = asker.intent(attempt).await.expect("an answer");
            (ask(&asker).await, intent)
        };
        assert_ne!(outcome, OperationOutcome::Unknown, "held at {k}");
        assert!(intent.is_some() || is_final(&outcome), "held at {k}: {outcome:?}, and no intent");
    }
    let before = ask(&asker).await;
    let (recoverer, releasing) = standing.goes_on().await;
    let after = ask(&asker).await;
    assert!(is_final(&after), "held at {k}: {after:?}");
    assert!(!is_final(&before) || before == after, "held at {k}: {before:?}, then {after:?}");
    assert_eq!(ask(&recoverer).await, after);
    assert_eq!(asker.intent(attempt).await.expect("an answer"), None);
    releasing.abort();
}

#[tokio::test]
async fn an_intent_and_its_outcome_agree_in_both_orders_wherever_recovery_stands() {
    let stage = &Stage::of(TWO_EXISTING_UPSERT).await;
    for left in LEFT {
        let storage = &crashed(stage, left).await;
        let count = durable_operations(storage, |graph| async move { recover(&graph).await }).await;
        futures::stream::iter(1..=count)
            .map(|k| Box::pin(asked_in_both_orders(storage, k)))
            .buffer_unordered(CELLS_AT_ONCE)
            .collect::<Vec<()>>()
            .await;
    }
}

/// A question stands still at its request `k`, so that what it has read before is older than all of
/// recovery, and what it reads afterwards is younger. None if it has fewer requests.
async fn recovered_within_a_question(crashed: &MemoryStorage, k: u64) -> Option<OperationOutcome> {
    let store = Store::memory(&crashed.fork());
    let (is_asked, requests) = (Arc::new(AtomicBool::new(false)), AtomicU64::new(1));
    let watched = Arc::clone(&is_asked);
    let (slow, mut handle) = store.holding(move |_| {
        watched.load(Ordering::SeqCst) && requests.fetch_add(1, Ordering::SeqCst) == k
    });
    let asker = Graph::open(slow, own_process()).await.unwrap();
    is_asked.store(true, Ordering::SeqCst);
    let mut asking = tokio::spawn(async move { ask(&asker).await });
    let held = tokio::select! {
        biased;
        held = handle.next() => held,
        answer = &mut asking => {
            assert_ne!(answer.expect("an answer"), OperationOutcome::Unknown);
            return None;
        }
    };
    // The asker is gone, and so is its storage: it had its answer before.
    let Some(held) = held else {
        assert_ne!(asking.await.expect("an answer"), OperationOutcome::Unknown);
        return None;
    };
    let recoverer = open_impatient(&store).await;
    recover(&recoverer).await;
    held.release();
    let answer = asking.await.expect("an answer");
    let after = ask(&recoverer).await;
    let pending = matches!(answer, OperationOutcome::Pending { .. });
    assert!(pending || answer == after, "held at {k}: {answer:?}, but {after:?}");
    Some(answer)
}

#[tokio::test]
async fn a_question_that_recovery_overtakes_anywhere_is_answered_as_before_or_as_after() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let mut answers = Vec::new();
    for left in LEFT {
        let storage = crashed(&stage, left).await;
        for k in 1.. {
            match recovered_within_a_question(&storage, k).await {
                Some(answer) => answers.push(answer),
                None => break,
            }
        }
    }
    let final_ = answers.iter().filter(|answer| is_final(answer)).count();
    assert!(final_ > 0 && answers.len() >= 2 * LEFT.len(), "{answers:?}");
}
