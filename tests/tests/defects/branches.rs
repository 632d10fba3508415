//! Defects of branches: names that mean too much too early, refs that are not a branch's own, answers
//! without a look at the name.

use graphwrite_coordinator::{BranchError, Graph, Store};
use graphwrite_protocol_types::{Answer, Defect};
use graphwrite_substrate::{Fault, HoldHandle, Operation};

use super::{found_out, planted};
use crate::crash::at_nth;
use crate::crash::control::{
    NAME, Origin, SOURCE, begins_with, check_whole, create_branch, delete_branch, delete_named,
    fork, fresh, is_begun, live, older_of, upsert,
};
use crate::crash::log::{is_manifest_commit, known};
use crate::crash::on_branch::{BRANCH_COMPANY, BRANCH_ONE, FORKED};
use crate::crash::refs::{check_creation_of_branch, check_source};
use crate::crash::scenario::Stage;
use crate::ground::{Beside, Ground};
use crate::judge::{Case, Complaint, Heard, Promise, judge_on, open_impatient, which};
use crate::world::own_process;

/// What the protocol on the log says of a creation that nothing disturbs.
async fn logged_creation(stage: &Stage) -> Result<(), &'static str> {
    let (client, faults) = Store::memory(&stage.base.fork()).faulty(|_| Fault::Proceed);
    let graph = Graph::open(client, own_process()).await.unwrap();
    create_branch(&graph, NAME, SOURCE).await;
    check_creation_of_branch(&faults.log(), &known(&stage.base).await)
}

#[tokio::test]
async fn a_name_that_is_decided_early_is_found_out_on_the_log() {
    let stage = Stage::of(FORKED).await;
    assert_eq!(logged_creation(&stage).await, Ok(()));
    let planted = planted(stage, Defect::BranchDecidedEarly);
    assert_eq!(logged_creation(&planted).await, Err("decided before it is complete"));
}

/// The creator dies at its decision; if the name means a branch then, nothing is missing of it.
async fn creator_dies_at_its_decision(stage: &Stage) -> Result<(), Complaint> {
    let store = Store::memory(&stage.base.fork());
    let is_decision = |it: &Operation| it.kind.is_durable() && it.path.ends_with(".decided");
    let (client, faults) = store.faulty(at_nth(1, is_decision, Fault::DieAfter));
    let creator = Graph::open(client, own_process()).await.unwrap();
    let older = older_of(&creator).await;
    drop(fork(&creator, Origin::Branch, older).await);
    assert!(faults.is_dead(), "no cell passes because nothing happened");
    let graph = open_impatient(&store).await;
    assert!(live(&graph).await.is_some());
    check_whole(&graph).await
}

#[tokio::test]
async fn a_name_that_is_decided_early_is_found_out_by_a_crash() {
    let (promise, cell) = (Promise::Atomic, creator_dies_at_its_decision);
    found_out(FORKED, Defect::BranchDecidedEarly, promise, cell).await;
}

/// A handle of a process that is held at the first operation that is selected.
async fn held(store: &Store, selects: fn(&Operation) -> bool) -> (Graph, HoldHandle) {
    let (client, handle) = store.holding(selects);
    (Graph::open(client, own_process()).await.unwrap(), handle)
}

/// The source is deleted when the creator has looked at it and not yet begun.
async fn source_goes_before_the_beginning(stage: &Stage) -> Result<(), Complaint> {
    let store = Store::memory(&stage.base.fork());
    let (creator, mut handle) = held(&store, is_begun).await;
    let older = older_of(&creator).await;
    let creating = tokio::spawn(async move { fork(&creator, Origin::Branch, older).await });
    let begin = handle.next().await.expect("no cell passes because nothing was held");
    delete_named(&open_impatient(&store).await, SOURCE).await.expect("a deletion");
    begin.release();
    match creating.await.expect("the creator ends") {
        Err(error @ BranchError::NoSuchBranch { .. }) if error.had_no_effect() => Ok(()),
        other => Err(Promise::Refused.broken(other)),
    }
}

#[tokio::test]
async fn a_source_that_is_not_looked_at_again_is_found_out_by_its_deletion() {
    let (promise, cell) = (Promise::Refused, source_goes_before_the_beginning);
    found_out(FORKED, Defect::SourceNotRevalidated, promise, cell).await;
}

/// A branch is deleted and made again of the same source.
async fn is_made_again(stage: &Stage) -> Result<(), Complaint> {
    let store = Store::memory(&stage.base.fork());
    let graph = open_impatient(&store).await;
    for _ in 0..2 {
        create_branch(&graph, NAME, "main").await;
        let branch = fresh(&store).await;
        let (main, _) = begins_with(stage, Origin::Main);
        which(&branch, &main, &main).await?;
        upsert(&branch, &[r#"{"type":"Person","data":{"slug":"b1"}}"#]).await;
        delete_branch(&graph).await.expect("a deletion");
    }
    Ok(())
}

#[tokio::test]
async fn a_native_branch_that_is_used_again_is_found_out_by_the_rows_of_a_new_branch() {
    found_out(FORKED, Defect::NativeNameReused, Promise::Atomic, is_made_again).await;
}

/// The branch is deleted while its writer's publication is under way.
async fn goes_under_a_publication(stage: &Stage) -> Result<(), Complaint> {
    let store = Store::memory(&stage.base.fork());
    let (client, mut handle) = store.holding(is_manifest_commit);
    let (scenario, writer) = (stage.scenario, stage.scenario.open(client).await);
    let writing = tokio::spawn(async move { scenario.write_by(&writer).await });
    let publication = handle.next().await.expect("no cell passes because nothing was held");
    delete_branch(&open_impatient(&store).await).await.expect("a deletion");
    publication.release();
    let heard = writing.await.expect("the writer ends");
    if heard.receipt().is_some() { Err(Promise::Acknowledged.broken(heard)) } else { Ok(()) }
}

#[tokio::test]
async fn a_publication_without_a_look_at_the_name_is_found_out_by_a_deletion() {
    let (promise, cell) = (Promise::Acknowledged, goes_under_a_publication);
    found_out(BRANCH_ONE, Defect::BranchNotLookedAt, promise, cell).await;
}

/// What the protocol on the log says of where a write goes.
async fn logged_write(stage: &Stage) -> Result<(), &'static str> {
    let (client, faults) = Store::memory(&stage.base.fork()).faulty(|_| Fault::Proceed);
    stage.scenario.write(&client).await;
    check_source(&faults.log(), &known(&stage.base).await)
}

#[tokio::test]
async fn a_first_touch_of_the_parents_ref_is_found_out_on_the_log() {
    let stage = Stage::of(BRANCH_COMPANY).await;
    assert_eq!(logged_write(&stage).await, Ok(()));
    let planted = planted(stage, Defect::FirstTouchOnParent);
    assert_eq!(logged_write(&planted).await, Err("something is written to the source"));
}

/// When a branch has written, main goes on.
async fn main_goes_on(stage: &Stage) -> Result<(), Complaint> {
    let store = Store::memory(&stage.base.fork());
    stage.scenario.write(&store).await;
    let [main] = &stage.ground.beside[..] else { panic!("main alone is beside it") };
    let (state, next) = (main.rows.clone(), stage.scenario.next("next"));
    let case = Case { before: state.clone(), after: state, commits: main.commits, next };
    let branch = Beside {
        branch: stage.ground.branch,
        rows: stage.scenario.over(&stage.before),
        commits: stage.commits + 1,
    };
    let ground = Ground { branch: None, beside: vec![branch] };
    judge_on(&ground, &store, &case, &Heard::Nothing, &[]).await.map(drop)
}

#[tokio::test]
async fn a_first_touch_of_the_parents_ref_is_found_out_when_the_parent_goes_on() {
    let (defect, promise) = (Defect::FirstTouchOnParent, Promise::NoRestart);
    found_out(BRANCH_COMPANY, defect, promise, main_goes_on).await;
}
