//! Defects of merges: what is read, what is captured, what is asked, and where rows go.

use graphwrite_coordinator::{GraphOptions, Store};
use graphwrite_protocol_types::{Answer, AttemptId, Defect, Failpoint, WriteOutcome};
use graphwrite_substrate::{Fault, PutOutcome, RawObjects};

use super::{found_out, planted};
use crate::crash::at_nth;
use crate::crash::control::{SOURCE, upsert};
use crate::crash::log::{is_arming, known};
use crate::crash::merges::{MERGE_ADDED, MERGE_CHAIN, MERGE_NOTHING};
use crate::crash::refs::check_merge;
use crate::crash::scenario::Stage;
use crate::ground::{Ground, open_on};
use crate::hooks::Meanwhile;
use crate::judge::{Case, Complaint, Heard, Promise, Reference, impatient, judge_on};
use crate::world::own_process;

const PLAN: &str = "_control/cleanup/00000000000000000001.plan";
const LATER: &str = r#"{"type":"Person","data":{"slug":"later"}}"#;
const N1_IS_7: &str = r#"{"type":"Person","data":{"slug":"n1","age":7}}"#;
const MORE: &str = r#"{"type":"Person","data":{"slug":"m2"}}"#;

/// What the merge says; others act when it has been prepared for the first time.
async fn merged_while(
    stage: &Stage,
    client: Store,
    act: impl Future<Output = ()> + Send + 'static,
) -> Heard {
    let hooks = Meanwhile::at(Failpoint::PostPrepare, act);
    let target = open_on(None, client, GraphOptions { hooks, ..own_process() }).await;
    stage.scenario.write_by(&target).await
}

/// Rows on the source and on the target, of other processes.
async fn both_go_on(store: Store, on_source: Option<&str>, on_target: Option<&str>) {
    for (branch, row) in [(Some(SOURCE), on_source), (None, on_target)] {
        if let Some(row) = row {
            upsert(&open_on(branch, store.reopened(), impatient()).await, &[row]).await;
        }
    }
}

/// The target has these rows, after so many commits; `source` was added to the source.
async fn judged(
    stage: &Stage,
    store: &Store,
    (rows, commits): (Reference, usize),
    source: &[&str],
) -> Result<(), Complaint> {
    let next = stage.scenario.next("next");
    let case = Case { before: rows.clone(), after: rows, commits, next };
    let mut ground: Ground = stage.ground.clone();
    ground.beside[0].rows = ground.beside[0].rows.with(source);
    ground.beside[0].commits += source.len();
    judge_on(&ground, store, &case, &Heard::Nothing, &[]).await.map(drop)
}

/// Nothing happens beside it.
async fn is_merged(stage: &Stage) -> Result<(), Complaint> {
    let store = Store::memory(&stage.base.fork());
    let (_, heard) = stage.scenario.write(&store).await;
    if heard.receipt().is_none() {
        return Err(Promise::Acknowledged.broken(heard));
    }
    let rows = stage.scenario.over(&stage.before);
    judged(stage, &store, (rows, stage.commits + 1), &[]).await
}

#[tokio::test]
async fn a_merge_that_does_not_read_its_targets_head_is_refused_by_the_manifest() {
    let promise = Promise::Acknowledged;
    found_out(MERGE_ADDED, Defect::MergeHeadLeftOut, promise, is_merged).await;
}

#[tokio::test]
async fn a_chain_of_which_only_the_first_commit_is_made_is_found_out_by_the_rows() {
    found_out(MERGE_CHAIN, Defect::ChainCutShort, Promise::Atomic, is_merged).await;
}

/// The target comes to have a key of the source, with another value.
async fn target_gets_a_key_of_the_source(stage: &Stage) -> Result<(), Complaint> {
    let store = Store::memory(&stage.base.fork());
    let others = both_go_on(store.clone(), None, Some(N1_IS_7));
    merged_while(stage, store.clone(), others).await;
    judged(stage, &store, (stage.before.with(&[N1_IS_7]), stage.commits + 1), &[]).await
}

#[tokio::test]
async fn a_target_that_is_not_compared_again_is_found_out_by_a_key_that_is_there_twice() {
    let (promise, cell) = (Promise::Atomic, target_gets_a_key_of_the_source);
    found_out(MERGE_ADDED, Defect::MergeNotComparedAgain, promise, cell).await;
}

/// The merge has to be prepared again, and the source has moved on meanwhile.
async fn both_sides_go_on(stage: &Stage) -> Result<(), Complaint> {
    let store = Store::memory(&stage.base.fork());
    let others = both_go_on(store.clone(), Some(LATER), Some(MORE));
    merged_while(stage, store.clone(), others).await;
    let rows = stage.scenario.over(&stage.before.with(&[MORE]));
    judged(stage, &store, (rows, stage.commits + 2), &[LATER]).await
}

#[tokio::test]
async fn a_source_that_is_captured_again_is_found_out_by_rows_that_came_later() {
    let (promise, cell) = (Promise::Atomic, both_sides_go_on);
    found_out(MERGE_ADDED, Defect::MergeSourceRecaptured, promise, cell).await;
}

/// The captured commit is no head any more, and maintenance may be about to delete it.
async fn is_planned_to_go(store: Store) {
    both_go_on(store.clone(), Some(LATER), None).await;
    let put = store.put_if_absent(PLAN, b"a plan".to_vec().into(), AttemptId::from_u128(1)).await;
    assert!(matches!(put.unwrap(), PutOutcome::Created));
}

async fn source_is_planned_to_go(stage: &Stage) -> Result<(), Complaint> {
    let store = Store::memory(&stage.base.fork());
    let heard = merged_while(stage, store.clone(), is_planned_to_go(store.clone())).await;
    match heard.answer() {
        Some(Err(error)) if error.code() == "cleanup_pending" => Ok(()),
        _ => Err(Promise::Refused.broken(heard)),
    }
}

#[tokio::test]
async fn a_source_that_is_not_asked_for_is_found_out_by_a_plan_of_maintenance() {
    let (promise, cell) = (Promise::Refused, source_is_planned_to_go);
    found_out(MERGE_ADDED, Defect::MergeSourceNotAsked, promise, cell).await;
}

/// The process dies with its intent, before it could ask for its source.
async fn dies_before_it_asks(stage: &Stage) -> Result<(), Complaint> {
    let store = Store::memory(&stage.base.fork());
    let (client, faults) = store.faulty(at_nth(1, is_arming, Fault::DieAfter));
    let heard = merged_while(stage, client, is_planned_to_go(store.clone())).await;
    assert!(faults.is_dead(), "no cell passes because nothing happened");
    assert!(!matches!(heard.answer(), Some(Ok(WriteOutcome::Committed(_)))), "{heard:?}");
    // The judge knows no maintenance.
    store.delete(PLAN).await.unwrap();
    judged(stage, &store, (stage.before.clone(), stage.commits), &[LATER]).await
}

#[tokio::test]
async fn a_merge_without_effects_that_is_published_by_others_is_found_out_by_a_plan() {
    let (promise, cell) = (Promise::OneCommit, dies_before_it_asks);
    found_out(MERGE_NOTHING, Defect::NoEffectPublished, promise, cell).await;
}

/// What the protocol on the log says of where a merge writes.
async fn logged(stage: &Stage) -> Result<(), &'static str> {
    let (client, faults) = Store::memory(&stage.base.fork()).faulty(|_| Fault::Proceed);
    stage.scenario.write(&client).await;
    check_merge(&faults.log(), &known(&stage.base).await, None)
}

#[tokio::test]
async fn a_merge_that_commits_to_its_source_is_found_out_on_the_log() {
    let stage = Stage::of(MERGE_ADDED).await;
    assert_eq!(logged(&stage).await, Ok(()));
    let planted = planted(stage, Defect::MergeToSource);
    assert_eq!(logged(&planted).await, Err("a merge writes to what is not its target's"));
}
