//! Zombies of merges: a merge is held at each kind of its durable operations while another process lets the
//! source move on, deletes it, or merges it; then it goes on. What it merges is what it has captured, once,
//! and nothing is written to the source.

use futures::StreamExt;
use graphwrite_coordinator::{Graph, MergeRelation, Store};
use graphwrite_protocol_types::{Answer, Receipt, WriteOutcome};

use super::cells::{Fate, Instants, guarded};
use super::control::{SOURCE, delete_named, upsert};
use super::log;
use super::merges::{MERGE_CHAIN, MERGE_INHERITED, MERGE_NOTHING};
use super::pending::Pending;
use super::place::Place;
use super::scenario::Scenario;
use super::subject::{Act, Scene, Subject, release_for_ever};
use crate::ground::{Ground, open_on};
use crate::judge::{Case, Complaint, Heard, Promise, impatient, judge_on, open_impatient, tell};
use crate::request::{Merge, Request, Terms};

/// Cells that wait for a held process leave the processor to others.
const CELLS_AT_ONCE: usize = 4;

/// What another process does while the merge stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meanwhile {
    /// The source gets rows.
    MovesOn,
    /// The source is deleted.
    Deleted,
    /// The source is merged.
    Merged,
}

const LATER: &str = r#"{"type":"Person","data":{"slug":"later"}}"#;

fn merge_of(scene: &Scene) -> Merge {
    match scene.stage.scenario.request() {
        Request::Merge(merge) => merge,
        other => panic!("no merge: {other:?}"),
    }
}

async fn places(scene: &Scene) -> Vec<Place> {
    let (client, faults, _) = Instants::of(&scene.start.fork());
    scene.perform(client).await;
    let all = scene.names.places(&faults.log());
    scene.met(Fate::Paused, &all).cloned().collect()
}

/// What the other process did to the source.
async fn happens(
    scene: &Scene,
    store: &Store,
    meanwhile: Meanwhile,
) -> Result<Option<Receipt>, Complaint> {
    let source = scene.stage.ground.beside[0].branch;
    match meanwhile {
        Meanwhile::MovesOn => {
            let source = open_on(source, store.reopened(), impatient()).await;
            upsert(&source, &[LATER]).await;
            Ok(None)
        }
        Meanwhile::Deleted => {
            let deleted = delete_named(&open_impatient(store).await, SOURCE).await;
            deleted.map(|()| None).map_err(|error| Promise::NoRestart.broken(error))
        }
        Meanwhile::Merged => {
            let target = scene.stage.fresh(store).await;
            let merged = target.merge(merge_of(scene).request(Terms::default())).await;
            target.settled().await;
            match merged.map(|answer| answer.outcome) {
                Ok(WriteOutcome::Committed(receipt)) => Ok(Some(receipt)),
                // The one that stands still has come so far that it was published for it.
                Ok(WriteOutcome::NoChange(_)) => Ok(None),
                other => Err(Promise::NoRestart.broken(other)),
            }
        }
    }
}

/// The merge is held at `place`, and what it says in the end.
async fn held(
    scene: &Scene,
    place: &Place,
    meanwhile: Meanwhile,
) -> Result<(Store, Option<Receipt>, WriteOutcome), Complaint> {
    let store = Store::memory(&scene.start.fork());
    let (logged, faults) = store.faulty(|_| graphwrite_substrate::Fault::Proceed);
    let (client, mut handle) = logged.holding(super::paused::from(scene.names.picks(place)));
    let (scenario, merge) = (scene.stage.scenario, merge_of(scene));
    let mut running = tokio::spawn(async move {
        let graph = scenario.open(client).await;
        let answer = graph.merge(merge.request(Terms::default())).await;
        graph.settled().await;
        answer
    });
    let first = tokio::select! {
        held = handle.next() => held,
        _ = &mut running => None,
    };
    let first = first.expect("no cell passes because nothing was held");
    let theirs = Box::pin(happens(scene, &store, meanwhile)).await?;
    first.release();
    let releasing = release_for_ever(handle);
    let answer = running.await.expect("the process ends");
    releasing.abort();
    log::beside_others(scene, &faults.log())?;
    let answer = answer.map_err(|error| Promise::NoRestart.broken(error))?;
    let relation = answer.report.as_ref().map(|report| report.relation);
    let is_told = match &answer.outcome {
        WriteOutcome::Committed(_) => relation != Some(MergeRelation::Contained),
        WriteOutcome::NoChange(_) => relation == Some(MergeRelation::Contained),
        _ => false,
    };
    if is_told {
        Ok((store, theirs, answer.outcome))
    } else {
        Err(Promise::Acknowledged.broken((theirs, answer)))
    }
}

/// One commit took the captured rows over, whoever made it; the source is what it was made to be.
async fn cell(
    scene: &Scene,
    place: &Place,
    meanwhile: Meanwhile,
) -> Result<&'static str, Complaint> {
    let (store, theirs, outcome) = Box::pin(held(scene, place, meanwhile)).await?;
    let is_true = match (&outcome, &theirs) {
        (WriteOutcome::Committed(_), None) => true,
        (WriteOutcome::NoChange(own), Some(theirs)) => own.commit == theirs.commit,
        _ => false,
    };
    if !is_true {
        return Err(Promise::OneCommit.broken((theirs, outcome)));
    }
    let stage = &scene.stage;
    let after = stage.scenario.over(&stage.before);
    let next = stage.scenario.next("next");
    let case = Case { before: after.clone(), after, commits: stage.commits + 1, next };
    let mut ground = stage.ground.clone();
    match meanwhile {
        Meanwhile::MovesOn => {
            let source = &mut ground.beside[0];
            source.rows = source.rows.with(&[LATER]);
            source.commits += 1;
        }
        // What is left of the branch waits to be reclaimed, and so the graph is not one of main alone.
        Meanwhile::Deleted => ground = Ground { branch: Some("main"), beside: Vec::new() },
        Meanwhile::Merged => {}
    }
    judge_on(&ground, &store, &case, &Heard::Nothing, &[]).await?;
    is_merged_later(scene, &ground, &store, meanwhile).await?;
    Ok(outcome.code())
}

/// What came to the source later was not merged, and is by the next one.
async fn is_merged_later(
    scene: &Scene,
    ground: &Ground,
    store: &Store,
    meanwhile: Meanwhile,
) -> Result<(), Complaint> {
    if meanwhile != Meanwhile::MovesOn {
        return Ok(());
    }
    let target: Graph = ground.fresh(store).await;
    let again = target.merge(merge_of(scene).request(Terms::default())).await;
    target.settled().await;
    let rows: Vec<_> = match &again {
        Ok(answer) => answer.report.iter().flat_map(|it| &it.review.tables).collect(),
        Err(_) => Vec::new(),
    };
    match rows[..] {
        [table] if table.counts.changed() == 1 => Ok(()),
        _ => Err(Promise::Atomic.broken(again)),
    }
}

async fn run(scenario: Scenario, meanwhile: Meanwhile) -> Vec<(String, &'static str)> {
    let (id, pending) = ("merged", Pending::Nothing);
    let subject = Subject { id, act: Act::Write, scenario, pending, is_thin: true };
    let scene = &Box::pin(Scene::of(subject)).await;
    let places = places(scene).await;
    let cells = futures::stream::iter(places).map(|place| async move {
        let ended = guarded(Box::pin(cell(scene, &place, meanwhile))).await;
        (place.to_string(), ended.unwrap_or_else(|why| panic!("{meanwhile:?} at {place}: {why}")))
    });
    let ended: Vec<_> = cells.buffer_unordered(CELLS_AT_ONCE).collect().await;
    tell(&format!("{}, {meanwhile:?}: {ended:?}", scenario.name));
    assert!(ended.iter().any(|(_, code)| *code == "committed"), "{ended:?}");
    ended
}

#[tokio::test]
async fn a_source_that_moves_on_under_a_merge_is_merged_as_it_was_captured() {
    run(MERGE_CHAIN, Meanwhile::MovesOn).await;
}

#[tokio::test]
async fn a_source_that_is_deleted_under_a_merge_is_merged_all_the_same() {
    run(MERGE_CHAIN, Meanwhile::Deleted).await;
}

#[tokio::test]
async fn a_source_that_moves_on_under_a_first_touch_is_merged_as_it_was_captured() {
    run(MERGE_INHERITED, Meanwhile::MovesOn).await;
}

#[tokio::test]
async fn two_merges_of_one_branch_make_one_commit() {
    for scenario in [MERGE_CHAIN, MERGE_NOTHING] {
        let ended = run(scenario, Meanwhile::Merged).await;
        assert!(ended.iter().any(|(_, code)| *code == "no_change"), "{ended:?}");
    }
}

#[tokio::test]
async fn a_merge_without_a_change_goes_on_when_its_source_is_gone() {
    run(MERGE_NOTHING, Meanwhile::Deleted).await;
}
