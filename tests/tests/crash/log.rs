//! The protocol, read off the operation log: what a write and a recovery do, and in which order
//! (RFC-022 section 3: no effect without a durable intent, one commit, records go last).

use std::collections::BTreeSet;

use graphwrite_coordinator::{
    BarrierOutcome, Graph, LoadRequest, MemoryStorage, RecoverMode, RecoverRequest, Store,
};
use graphwrite_substrate::{Fault, Operation, OperationKind, OperationLog};

use super::matrix::at_nth;
use super::scenario::{
    MIXED_APPEND, MIXED_UPSERT, Stage, THREE_APPEND, THREE_UPSERT, TWO_EXISTING_APPEND,
    TWO_EXISTING_UPSERT, TWO_FIRST_APPEND, TWO_FIRST_UPSERT,
};
use crate::judge::{impatient, open_impatient};
use crate::world::{input, own_process};

#[tokio::test]
async fn a_load_arms_commits_each_table_once_publishes_once_and_tidies_last() {
    let scenarios = [
        TWO_EXISTING_APPEND,
        TWO_EXISTING_UPSERT,
        TWO_FIRST_APPEND,
        TWO_FIRST_UPSERT,
        MIXED_APPEND,
        MIXED_UPSERT,
        THREE_APPEND,
        THREE_UPSERT,
    ];
    for scenario in scenarios {
        let stage = Stage::of(scenario).await;
        let existing = datasets(&stage.base).await;
        let log = stage.operations().await;
        if let Err(broken) = check_write(&log, scenario.tables.len(), &existing) {
            panic!("{}: {broken}", scenario.name);
        }
    }
}

#[tokio::test]
async fn a_load_that_changes_nothing_writes_nothing() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let (client, faults) = Store::memory(&stage.base.fork()).faulty(|_| Fault::Proceed);
    let graph = Graph::open(client, own_process()).await.unwrap();
    let request = LoadRequest::new(input(&graph, stage.scenario.base).await, stage.scenario.mode);
    let outcome = graph.load(request).await.unwrap();
    assert!(matches!(outcome, graphwrite_protocol_types::WriteOutcome::NoChange(_)), "{outcome:?}");
    assert_eq!(faults.log(), OperationLog::default());
}

#[tokio::test]
async fn a_reader_writes_nothing_whatever_is_pending() {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let storage = armed_and_stopped(&stage, 1).await;
    let (client, faults) = Store::memory(&storage).faulty(|_| Fault::Proceed);
    let graph = Graph::open_read_only(client, impatient()).await.unwrap();
    assert_eq!(graph.pending_intents().await.unwrap().intents.len(), 1);
    crate::judge::seen_by(&graph).await;
    graph.verify().await.unwrap();
    graph.status().await.unwrap();
    assert_eq!(faults.log(), OperationLog::default());
}

#[tokio::test]
async fn a_recovery_decides_first_then_closes_then_moves_pins_and_deletes_the_intent_last() {
    for scenario in [TWO_EXISTING_UPSERT, MIXED_UPSERT, TWO_FIRST_APPEND] {
        let stage = Stage::of(scenario).await;
        for landed in 0..scenario.tables.len() {
            let storage = armed_and_stopped(&stage, landed).await;
            let log = recovery_of(&storage).await;
            if let Err(broken) = check_abort(&log, &datasets(&stage.base).await) {
                panic!("{}, {landed} landed: {broken}", scenario.name);
            }
        }
    }
}

#[tokio::test]
async fn a_recovery_of_a_complete_write_publishes_it_and_touches_no_table() {
    for scenario in [TWO_EXISTING_UPSERT, MIXED_UPSERT, TWO_FIRST_APPEND] {
        let stage = Stage::of(scenario).await;
        let storage = armed_and_stopped(&stage, scenario.tables.len()).await;
        let log = recovery_of(&storage).await;
        let steps = Steps(log.operations().collect());
        assert_eq!(steps.all(is_manifest_commit).len(), 1, "{log:#?}");
        assert!(steps.all(|it| it.path.starts_with("tables/")).is_empty(), "{log:#?}");
        assert_eq!(steps.all(is_retirement), [steps.0.len() - 1], "{log:#?}");
        assert_eq!(steps.all(is_delete).len(), 1, "{log:#?}");
    }
}

#[tokio::test]
async fn the_checks_of_the_log_notice_a_protocol_that_is_broken() {
    let stage = Stage::of(TWO_EXISTING_APPEND).await;
    let existing = datasets(&stage.base).await;
    let log = stage.operations().await;
    let tables = stage.scenario.tables.len();
    assert_eq!(check_write(&log, tables, &existing), Ok(()));
    let steps = Steps(log.operations().collect());
    let (armed, published) = (steps.all(is_arming)[0], steps.all(is_manifest_commit)[0]);
    let effect = steps.all(is_effect)[0];
    let swapped = |a: usize, b: usize| {
        let mut log = log.clone();
        log.0.swap(a, b);
        check_write(&log, tables, &existing)
    };
    assert_eq!(swapped(armed, effect), Err("an effect before the intent is durable"));
    assert_eq!(swapped(effect, published), Err("a publication before an effect has landed"));
    assert_eq!(swapped(published, log.0.len() - 1), Err("the intent goes before the publication"));
    let mut twice = log.clone();
    twice.0.insert(published, log.0[published].clone());
    assert_eq!(check_write(&twice, tables, &existing), Err("not exactly one publication"));
    let mut deletes = log.clone();
    deletes.0[armed + 1].operation.kind = OperationKind::Delete;
    assert_eq!(
        check_write(&deletes, tables, &existing),
        Err("a deletion while the intent is pending")
    );
}

/// The operations of a log, by their places in it.
struct Steps<'a>(Vec<&'a Operation>);

impl Steps<'_> {
    fn all(&self, selects: impl Fn(&Operation) -> bool) -> Vec<usize> {
        let places = self.0.iter().enumerate();
        places.filter(|(_, operation)| selects(operation)).map(|(place, _)| place).collect()
    }
}

fn is_delete(operation: &Operation) -> bool {
    operation.kind == OperationKind::Delete
}

pub(crate) fn is_arming(operation: &Operation) -> bool {
    operation.kind == OperationKind::PutIfAbsent && operation.path.ends_with(".intent")
}

pub(crate) fn is_retirement(operation: &Operation) -> bool {
    is_delete(operation) && operation.path.ends_with(".intent")
}

fn is_commit_below(operation: &Operation, place: &str) -> bool {
    operation.kind.is_durable()
        && !is_delete(operation)
        && operation.path.starts_with(place)
        && operation.path.contains("/_versions/")
        && operation.path.ends_with(".manifest")
}

pub(crate) fn is_effect(operation: &Operation) -> bool {
    is_commit_below(operation, "tables/")
}

pub(crate) fn is_manifest_commit(operation: &Operation) -> bool {
    is_commit_below(operation, "__manifest/")
}

fn dataset_of(path: &str) -> Option<&str> {
    path.strip_prefix("tables/")?.split('/').next()
}

/// The datasets that a storage has.
pub(crate) async fn datasets(storage: &MemoryStorage) -> BTreeSet<String> {
    let objects = Store::memory(storage).list("tables").await.unwrap();
    objects.iter().filter_map(|it| dataset_of(&it.path)).map(str::to_owned).collect()
}

/// What the log of an undisturbed write must be.
pub(crate) fn check_write(
    log: &OperationLog,
    tables: usize,
    existing: &BTreeSet<String>,
) -> Result<(), &'static str> {
    let steps = Steps(log.operations().collect());
    let effects = steps.all(is_effect);
    let [armed] = steps.all(is_arming)[..] else { return Err("not exactly one intent") };
    let [published] = steps.all(is_manifest_commit)[..] else {
        return Err("not exactly one publication");
    };
    let retirements = steps.all(is_retirement);
    let Some(&retired) = retirements.last() else { return Err("the intent stays") };
    if effects.iter().any(|effect| *effect < armed) {
        return Err("an effect before the intent is durable");
    }
    if effects.iter().any(|effect| *effect > published) {
        return Err("a publication before an effect has landed");
    }
    if retirements[0] < published {
        return Err("the intent goes before the publication");
    }
    if retired + 1 != steps.0.len() || steps.all(is_delete) != [retired] {
        return Err("a deletion while the intent is pending");
    }
    let touched: BTreeSet<_> =
        effects.iter().filter_map(|effect| dataset_of(&steps.0[*effect].path)).collect();
    if effects.len() != tables || touched.len() != tables {
        return Err("not one commit per table");
    }
    // Before the intent, existing tables get files that no version names; nothing else happens.
    let staged = |it: &&&Operation| {
        let inside = dataset_of(&it.path)
            .is_some_and(|dataset| existing.contains(dataset) || touched.contains(dataset));
        inside && (it.path.contains("/data/") || it.path.contains("/_deletions/"))
    };
    if steps.0[..armed].iter().filter(staged).count() != armed {
        return Err("more than staging before the intent");
    }
    Ok(())
}

/// What the log of a recovery must be that takes a write back.
fn check_abort(log: &OperationLog, existing: &BTreeSet<String>) -> Result<(), &'static str> {
    let steps = Steps(log.operations().collect());
    let [aborted, rolled_back] = steps.all(is_manifest_commit)[..] else {
        return Err("not one commit that aborts and one that moves the pins");
    };
    let [retired] = steps.all(is_retirement)[..] else { return Err("the intent stays") };
    if retired + 1 != steps.0.len() {
        return Err("something after the intent is gone");
    }
    let touches = steps.all(|it| it.path.starts_with("tables/"));
    if touches.iter().any(|step| *step < aborted || rolled_back < *step) {
        return Err("a table is touched outside the compensation");
    }
    let lost = |it: &Operation| {
        is_delete(it) && dataset_of(&it.path).is_some_and(|dataset| existing.contains(dataset))
    };
    if !steps.all(lost).is_empty() { Err("a file of a table is deleted") } else { Ok(()) }
}

/// A storage whose writer died when `landed` of its effects had landed. What it was staging beside
/// them may be there or not.
async fn armed_and_stopped(stage: &Stage, landed: usize) -> MemoryStorage {
    let storage = stage.base.fork();
    let last = move |operation: &Operation| match landed {
        0 => is_arming(operation),
        _ => is_effect(operation),
    };
    let dying = at_nth(landed.max(1), last, Fault::DieAfter);
    let (client, faults) = Store::memory(&storage).faulty(dying);
    stage.scenario.write(&client).await;
    assert!(faults.is_dead());
    let pending = open_impatient(&Store::memory(&storage)).await.pending_intents().await.unwrap();
    assert_eq!(pending.intents.len(), 1);
    storage
}

async fn recovery_of(storage: &MemoryStorage) -> OperationLog {
    let (client, faults) = Store::memory(storage).faulty(|_| Fault::Proceed);
    let graph = Graph::open(client, impatient()).await.unwrap();
    let request = RecoverRequest { attempt: None, mode: RecoverMode::Full, owner_is_dead: false };
    assert_eq!(graph.recover(request).await.unwrap().outcome, BarrierOutcome::Clean);
    faults.log()
}
