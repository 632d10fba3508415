//! Defects of what a write compares before it arms and before it publishes.

use std::collections::BTreeSet;

use graphwrite_coordinator::{
    Graph, GraphOptions, LoadMode, MemoryStorage, Store, WriteError, WriteErrorKind,
};
use graphwrite_protocol_types::{Defect, Failpoint, OperationId, WriteOutcome};
use graphwrite_substrate::{Fault, OperationLog, RawObjects};

use super::{found_out, planted};
use crate::crash::at_nth;
use crate::crash::log::{is_arming, is_effect};
use crate::crash::scenario::{Stage, TWO_EXISTING_UPSERT};
use crate::judge::{Case, Complaint, Heard, Promise, judge};
use crate::races::constraints::{TO_P3, UNKNOWN, WITHOUT_P3};
use crate::races::ring::{Meeting, Processes, Ring};
use crate::request::{Terms, upsert};
use crate::world::{append, own_process, reopen};

/// Of an edge and the removal of its end, both have come to `point`; then one after the other goes on.
async fn both_are_there(defect: Defect, point: Failpoint) {
    for first in [0, 1] {
        let meeting = Meeting::new(Processes::Two, point, Some(first));
        let raced = UNKNOWN.race(meeting, [WITHOUT_P3, TO_P3]).await;
        assert_eq!(raced.committed(), 1);
        raced.judge().await;
        let ring = Ring { planted: Some(defect), ..UNKNOWN };
        let raced = ring.race(meeting, [WITHOUT_P3, TO_P3]).await;
        assert_eq!(raced.committed(), 2, "the reference says one");
        let broken = raced.judged().await.expect_err("an edge without its end");
        assert_eq!(broken.promise, Promise::Clean, "{broken:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tables_that_are_only_asked_and_left_out_are_found_out_by_a_race() {
    both_are_there(Defect::ProbesLeftOut, Failpoint::PostPrepare).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_read_set_that_is_compared_once_is_found_out_by_a_race() {
    both_are_there(Defect::ArbitratedOnce, Failpoint::PreArm).await;
}

/// A storage with a version that no intent and no fence explains, in one of the tables.
async fn drifted(stage: &Stage) -> MemoryStorage {
    let storage = stage.base.fork();
    let store = Store::memory(&storage);
    let (client, faults) = store.faulty(at_nth(1, is_effect, Fault::DieAfter));
    stage.scenario.write(&client).await;
    assert!(faults.is_dead());
    for record in store.list("_recovery").await.unwrap() {
        store.delete(&record.path).await.unwrap();
    }
    storage
}

/// The answer of a write over drift, and what it did.
async fn over_drift(stage: &Stage, options: GraphOptions) -> (Heard, OperationLog) {
    let (client, faults) = Store::memory(&drifted(stage).await).faulty(|_| Fault::Proceed);
    let writer = Graph::open(client, options).await.unwrap();
    let heard = stage.scenario.write_by(&writer).await;
    (heard, faults.log())
}

fn check_unarmed(log: &OperationLog) -> Result<(), &'static str> {
    if log.operations().any(is_arming) { Err("an intent over drift") } else { Ok(()) }
}

#[tokio::test]
async fn an_intent_over_drift_is_found_out_on_the_log() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let (heard, log) = over_drift(&stage, own_process()).await;
    let unexplained =
        |error: &WriteError| matches!(error.kind, WriteErrorKind::UnexplainedHead { .. });
    assert!(matches!(heard.answer(), Some(Err(error)) if unexplained(error)), "{heard:?}");
    assert_eq!(check_unarmed(&log), Ok(()));
    let staged = log.operations().map(|operation| operation.path.as_str());
    let staged = staged.filter(|path| path.starts_with("tables/") && path.contains("/data/"));
    let staged: BTreeSet<&str> = staged.collect();
    assert_eq!(staged.len(), 2, "one file for each of the two tables: {staged:?}");
    let once = GraphOptions { restarts_max: 1, ..own_process() };
    let (heard, log) = over_drift(&planted(stage, Defect::ArmedOverDrift), once).await;
    assert!(matches!(heard.answer(), Some(Ok(WriteOutcome::Conflict(_)))), "{heard:?}");
    assert_eq!(check_unarmed(&log), Err("an intent over drift"));
}

/// Commits after which the first outcome is no longer among the newest rows.
const COMMITS: usize = 70;

/// A request is sent again, under its id, when others have long gone on.
async fn sent_again_much_later(stage: &Stage) -> Result<(), Complaint> {
    const LATER: &str = r#"{"type":"Person","data":{"slug":"p1","age":7}}"#;
    let store = Store::memory(&stage.base.fork());
    let graph = reopen(&store).await;
    let operation: OperationId = "the-request".parse().unwrap();
    let terms = || Terms { operation: Some(operation.clone()), expect_head: None };
    assert!(stage.scenario.write_as(&graph, terms()).await.receipt().is_some());
    let later = upsert(&[LATER]).send(&graph, Terms::default()).await;
    assert!(matches!(later, Ok(WriteOutcome::Committed(_))), "{later:?}");
    let rows = (1..COMMITS).map(|n| format!(r#"{{"type":"Company","data":{{"slug":"d{n}"}}}}"#));
    let rows: Vec<_> = rows.collect();
    for row in &rows {
        append(&graph, &[row]).await;
    }
    let state = stage.scenario.over(&stage.before).with(&[LATER]).with(&rows);
    let heard = stage.scenario.write_as(&graph, terms()).await;
    let commits = stage.commits + 1 + COMMITS;
    let case = Case { before: state.clone(), after: state, commits, ..stage.case() };
    judge(&store, &case, &Heard::Nothing, &[]).await?;
    if heard.receipt().is_some() { Ok(()) } else { Err(Promise::Acknowledged.broken(heard)) }
}

#[tokio::test]
async fn outcomes_that_are_searched_among_the_newest_only_are_found_out_by_a_late_repetition() {
    assert_eq!(TWO_EXISTING_UPSERT.mode, LoadMode::Upsert);
    let (promise, cell) = (Promise::Atomic, sent_again_much_later);
    found_out(TWO_EXISTING_UPSERT, Defect::ColdNotSearched, promise, cell).await;
}
