//! Clocks that are wrong, differ from process to process, or go backwards: nothing but ages and dates
//! depends on them. What is waited for is waited for on a clock that cannot go back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use graphwrite_coordinator::{
    Graph, GraphOptions, MemoryStorage, OperationOutcome, OutcomeRequest, Store, SystemEnv,
    WaitRules,
};
use graphwrite_protocol_types::{Env, Failpoint, WriteOutcome};

use crate::hooks::StopAt;
use crate::judge::{Reference, open_impatient, seen_by};
use crate::request::{Request, Terms, append, mutation};
use crate::world::{BASE, append as load, assert_clean, create, own_process};

const DAY_US: u64 = 24 * 3_600 * 1_000_000;

/// A calendar that somebody sets. What runs evenly, and what is random, is the system's.
#[derive(Debug)]
struct Calendar {
    system: SystemEnv,
    now_us: AtomicU64,
    /// Every look at it is so much earlier than the one before.
    back_us: u64,
}

impl Calendar {
    fn at(now_us: u64) -> Arc<Self> {
        Self::going_back(now_us, 0)
    }

    fn going_back(now_us: u64, back_us: u64) -> Arc<Self> {
        Arc::new(Self { system: SystemEnv::new(), now_us: AtomicU64::new(now_us), back_us })
    }
}

impl Env for Calendar {
    fn unix_micros(&self) -> u64 {
        let earlier = |now: u64| Some(now.saturating_sub(self.back_us));
        let now = self.now_us.fetch_update(Ordering::SeqCst, Ordering::SeqCst, earlier);
        now.unwrap_or_else(|now| now)
    }

    fn monotonic_micros(&self) -> u64 {
        self.system.monotonic_micros()
    }

    fn random_u128(&self) -> u128 {
        self.system.random_u128()
    }
}

fn today_us() -> u64 {
    SystemEnv::new().unix_micros()
}

/// A process of its own with this calendar.
async fn process(store: &Store, calendar: Arc<Calendar>, options: GraphOptions) -> Graph {
    let options = GraphOptions { env: calendar, ..options };
    Graph::open(store.reopened(), options).await.expect("a graph")
}

async fn with_base() -> Store {
    let store = Store::memory(&MemoryStorage::new());
    load(&create(&store).await, BASE).await;
    store
}

/// Waits for nobody; closes those who show nothing for a minute.
fn without_patience() -> GraphOptions {
    let waits = WaitRules { contention_wait_ms: 0, ..WaitRules::default() };
    GraphOptions { waits, ..own_process() }
}

#[tokio::test]
async fn commits_follow_each_other_whatever_the_calendars_of_their_writers_say() {
    let store = with_base().await;
    let today = today_us();
    let calendars = [today + 400 * DAY_US, today - 400 * DAY_US, today, 0, u64::MAX / 2];
    let mut lines = Vec::new();
    let mut parent = open_impatient(&store).await.log(1).await.unwrap()[0].commit;
    for (number, calendar) in calendars.into_iter().enumerate() {
        let graph = process(&store, Calendar::at(calendar), without_patience()).await;
        let line = format!(r#"{{"type":"Person","data":{{"slug":"n{number}"}}}}"#);
        let receipt = load(&graph, &[&line]).await;
        graph.settled().await;
        lines.push(line);
        let fresh = open_impatient(&store).await;
        let newest = fresh.log(1).await.unwrap().remove(0);
        assert_eq!((Some(newest.commit), &*newest.parents), (receipt.commit, &[parent][..]));
        parent = newest.commit;
        let request = OutcomeRequest::new(receipt.operation);
        let outcome = fresh.outcome(request).await.unwrap();
        assert!(matches!(outcome, OperationOutcome::Committed(_)), "{outcome:?}");
    }
    let fresh = open_impatient(&store).await;
    Reference::default().with(BASE).with(&lines).assert_seen(&seen_by(&fresh).await);
    assert_clean(&fresh).await;
}

/// Three tables, one of them new.
const WRITE: Request = append(&[
    r#"{"type":"Person","data":{"slug":"n1"}}"#,
    r#"{"edge":"Knows","from":"p2","to":"n1"}"#,
    r#"{"edge":"WorksAt","from":"p1","to":"c1"}"#,
]);

const LATER: &str = r#"{"type":"Person","data":{"slug":"later"}}"#;

#[tokio::test]
async fn a_calendar_that_goes_back_at_every_look_does_not_disturb_a_write_or_a_recovery() {
    let mutate = mutation(&[r#"{"delete":{"type":"Person","key":"n1","cascade":true}}"#], |it| {
        it.without(&[r#"{"type":"Person","data":{"slug":"n1"}}"#]).without_edges_of("n1")
    });
    for point in [Failpoint::PostArm, Failpoint::PostEffect, Failpoint::PrePublish] {
        let store = with_base().await;
        let calendar = || Calendar::going_back(today_us(), 3_600_000_000);
        let hooks = StopAt::new(point, 1);
        let stops = GraphOptions { hooks, ..own_process() };
        let stopped = process(&store, calendar(), stops).await;
        let answer = WRITE.send(&stopped, Terms::default()).await.unwrap();
        assert!(matches!(answer, WriteOutcome::OutcomeUnknown(_)), "{answer:?}");
        // The same process goes on, so that the owner is known to be dead.
        let receipt = load(&stopped, &[LATER]).await;
        assert_eq!(receipt.recovered.len(), 1, "{point:?}");
        let mut state = Reference::default().with(BASE).with(&[LATER]);
        if point == Failpoint::PrePublish {
            state = mutate.over(&WRITE.over(&state));
            let answer = mutate.send(&stopped, Terms::default()).await.unwrap();
            assert!(matches!(answer, WriteOutcome::Committed(_)), "{answer:?}");
        }
        let fresh = open_impatient(&store).await;
        state.assert_seen(&seen_by(&fresh).await);
        assert_clean(&fresh).await;
    }
}

/// A write that was interrupted, under an owner that may be alive.
async fn interrupted() -> Store {
    let store = with_base().await;
    let hooks = StopAt::new(Failpoint::PostEffect, 1);
    let graph =
        Graph::open(store.reopened(), GraphOptions { hooks, ..own_process() }).await.unwrap();
    let answer = WRITE.send(&graph, Terms::default()).await.unwrap();
    assert!(matches!(answer, WriteOutcome::OutcomeUnknown(_)), "{answer:?}");
    store
}

const NEXT: Request = append(&[LATER]);

#[tokio::test]
async fn an_owner_that_may_live_is_waited_for_while_the_calendars_agree() {
    let store = interrupted().await;
    let graph = process(&store, Calendar::at(today_us()), without_patience()).await;
    let answer = NEXT.send(&graph, Terms::default()).await.unwrap();
    assert!(matches!(answer, WriteOutcome::Contended(_)), "{answer:?}");
}

#[tokio::test]
async fn a_calendar_that_is_far_ahead_or_far_behind_closes_an_owner_that_may_live_and_no_harm_is_done()
 {
    for calendar in [today_us() + DAY_US, today_us() - DAY_US, 0] {
        let store = interrupted().await;
        let graph = process(&store, Calendar::at(calendar), without_patience()).await;
        let answer = NEXT.send(&graph, Terms::default()).await.unwrap();
        assert!(matches!(answer, WriteOutcome::Committed(_)), "{calendar}: {answer:?}");
        let state = Reference::default().with(BASE).with(&[LATER]);
        state.assert_seen(&seen_by(&graph).await);
        assert_clean(&graph).await;
    }
}

#[tokio::test]
async fn patience_is_measured_on_a_clock_that_cannot_go_back() {
    let store = interrupted().await;
    let waits = WaitRules { contention_wait_ms: 40, backoff_max_ms: 5, ..WaitRules::default() };
    // Each look takes a second off the calendar: by it, the wait would never end.
    let calendar = Calendar::going_back(today_us(), 1_000_000);
    let graph = process(&store, calendar, GraphOptions { waits, ..own_process() }).await;
    let answer = NEXT.send(&graph, Terms::default()).await.unwrap();
    assert!(matches!(answer, WriteOutcome::Contended(_)), "{answer:?}");
}
