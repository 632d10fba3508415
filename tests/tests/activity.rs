//! The counters of a process: what a monitor reads from the handle agrees with what happened.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use graphwrite_coordinator::{
    Activity, Graph, GraphOptions, Hooks, Injected, LoadMode, LoadRequest, MemoryStorage,
    RestartReason, Store,
};
use graphwrite_protocol_types::{Failpoint, WriteOutcome};
use parking_lot::Mutex;

use crate::judge::impatient;
use crate::world::{BASE, append, assert_clean, create, input, load, own_process, reopen};

const PERSON: [&str; 1] = [r#"{"type":"Person","data":{"slug":"new"}}"#];

async fn world() -> Store {
    let store = Store::memory(&MemoryStorage::new());
    append(&create(&store).await, BASE).await;
    store
}

fn counts<const N: usize>(all: [(&'static str, u64); N]) -> BTreeMap<&'static str, u64> {
    all.into_iter().collect()
}

fn answered(activity: &Activity, code: &'static str) -> u64 {
    activity.requests.get(&("load", code)).copied().unwrap_or(0)
}

#[tokio::test]
async fn handles_of_one_process_count_together_and_another_process_counts_for_itself() {
    let store = world().await;
    let options = own_process();
    let open = || Graph::open(store.reopened(), options.clone());
    let (one, two) = (open().await.unwrap(), open().await.unwrap());
    assert!(one.activity().is_idle());
    append(&one, &PERSON).await;
    assert!(matches!(load(&two, LoadMode::Append, &PERSON).await, WriteOutcome::Conflict(_)));
    assert!(matches!(load(&two, LoadMode::Upsert, &PERSON).await, WriteOutcome::NoChange(_)));
    assert_eq!(one.activity(), two.activity());
    drop((one, two));
    let activity = open().await.unwrap().activity();
    let codes = ["committed", "key_conflict", "no_change"].map(|code| answered(&activity, code));
    assert_eq!((codes, activity.attempts), ([1, 1, 1], 3));
    assert_eq!(activity.conflicts, counts([("key_conflict", 1)]));
    assert_eq!((activity.gate_wait.count, activity.gate_hold.count), (1, 1));
    assert!(
        activity.gate_hold.us_max > 0 && activity.gate_hold.us_p99 <= activity.gate_hold.us_max
    );
    assert!(reopen(&store).await.activity().is_idle());
}

/// Fails at one failpoint, or commits a load of another process there, once.
#[derive(Debug)]
enum Disturbs {
    By(Failpoint),
    With(Failpoint, Graph, Mutex<Option<Box<LoadRequest>>>),
}

#[async_trait]
impl Hooks for Disturbs {
    async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
        if !self.wants(point) {
            return Ok(());
        }
        let Self::With(_, graph, load) = self else { return Err(Injected(point)) };
        let load = load.lock().take();
        if let Some(load) = load {
            let outcome = graph.load(*load).await.expect("an outcome");
            assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
        }
        Ok(())
    }

    fn wants(&self, point: Failpoint) -> bool {
        let (Self::By(at) | Self::With(at, ..)) = self;
        *at == point
    }
}

async fn intruder(store: &Store, options: GraphOptions, at: Failpoint, rows: &[&str]) -> Disturbs {
    let graph = Graph::open(store.reopened(), options).await.unwrap();
    let load = LoadRequest::new(input(&graph, rows).await, LoadMode::Append);
    Disturbs::With(at, graph, Mutex::new(Some(Box::new(load))))
}

async fn open_with(store: &Store, hooks: Disturbs) -> Graph {
    let options = GraphOptions { hooks: Arc::new(hooks), ..own_process() };
    Graph::open(store.reopened(), options).await.unwrap()
}

#[tokio::test]
async fn a_restart_is_counted_by_what_came_first() {
    let company = [r#"{"type":"Company","data":{"slug":"new"}}"#];
    let knows = [r#"{"edge":"Knows","from":"p2","to":"p1"}"#];
    let person = [r#"{"type":"Person","data":{"slug":"other"}}"#];
    for (at, rows, theirs, options, reason) in [
        (Failpoint::PostPrepare, PERSON, person, own_process(), "stale_table"),
        (Failpoint::PostPrepare, knows, person, own_process(), "stale_probe"),
        // Another process takes the armed attempt for dead, closes it and commits.
        (Failpoint::PostArm, PERSON, person, impatient(), "slot_taken"),
    ] {
        let store = world().await;
        let graph = open_with(&store, intruder(&store, options, at, &theirs).await).await;
        append(&graph, &rows).await;
        let activity = graph.activity();
        assert_eq!(activity.restarts, counts([(reason, 1)]), "{at} {rows:?}");
        assert_eq!((activity.attempts, answered(&activity, "committed")), (2, 1));
        append(&graph, &company).await;
        assert_clean(&graph).await;
    }
}

#[tokio::test]
async fn what_recovery_ends_is_counted_where_it_was_ended() {
    for (at, resolution) in
        [(Failpoint::PostArm, "rolled_back"), (Failpoint::PrePublish, "rolled_forward")]
    {
        let store = world().await;
        let died = open_with(&store, Disturbs::By(at)).await;
        let outcome = load(&died, LoadMode::Append, &PERSON).await;
        assert!(matches!(outcome, WriteOutcome::OutcomeUnknown(_)), "{outcome:?}");
        assert_eq!(answered(&died.activity(), "outcome_unknown"), 1);
        let graph = Graph::open(store.reopened(), impatient()).await.unwrap();
        append(&graph, &[r#"{"type":"Person","data":{"slug":"next"}}"#]).await;
        assert_eq!(graph.activity().recoveries, counts([(resolution, 1)]), "{at}");
        assert!(died.activity().recoveries.is_empty());
    }
}

#[tokio::test]
async fn the_status_tells_each_pending_intent_with_its_age_and_what_the_process_did() {
    let store = world().await;
    let died = open_with(&store, Disturbs::By(Failpoint::PostArm)).await;
    let WriteOutcome::OutcomeUnknown(unknown) = load(&died, LoadMode::Append, &PERSON).await else {
        panic!("the attempt was not stopped")
    };
    let status = died.status().await.unwrap();
    let [pending] = status.pending[..] else { panic!("{:?}", status.pending) };
    assert_eq!(pending.attempt, unknown.attempt);
    assert_eq!(status.pending_age_ms_max(), pending.age_ms);
    assert!(pending.age_ms.is_some_and(|age_ms| age_ms < 60_000), "{pending:?}");
    assert_eq!(status.activity, died.activity());
    let fresh = reopen(&store).await.status().await.unwrap();
    assert_eq!(fresh.pending.len(), 1);
    assert!(fresh.activity.is_idle());
}

/// The names between backticks in the first column of the table below `head`.
fn first_column(head: &str) -> Vec<&'static str> {
    let page = include_str!("../../docs/operations.md");
    let table = page.split(head).nth(1).expect("the table");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.split('|').nth(1).expect("a cell"));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn the_page_for_operators_names_every_reason_and_every_counter() {
    let reasons = RestartReason::ALL.map(RestartReason::name);
    assert_eq!(first_column("| reason | what came first |"), reasons);
    let mut names: Vec<_> = Activity::default().samples().iter().map(|it| it.name).collect();
    names.dedup();
    let mut documented = first_column("| name | labels | counts |");
    documented.retain(|name| !["requests", "restarts", "conflicts", "recoveries"].contains(name));
    assert_eq!(documented, names, "those without labels are there from the start");
}

#[tokio::test]
async fn samples_name_every_number_that_is_not_zero() {
    let store = world().await;
    let graph = reopen(&store).await;
    append(&graph, &PERSON).await;
    let samples = graph.activity().samples();
    let value = |name: &str, labels: [&str; 2]| {
        let found = samples.iter().find(|it| it.name == name && it.labels == labels);
        found.map(|sample| sample.value)
    };
    assert_eq!(value("requests", ["load", "committed"]), Some(1));
    assert_eq!(value("attempts", ["", ""]), Some(1));
    assert_eq!(value("gate_hold", ["count", ""]), Some(1));
    assert_eq!(value("progress_signs", ["", ""]), Some(0));
}
