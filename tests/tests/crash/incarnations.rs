//! Zombies of branches: whoever works with a name is held at each of its durable operations while another
//! process deletes the branch, makes it again of something else and writes to it; then it goes on. The new
//! incarnation is untouched, and the answer is true.

use futures::StreamExt;
use graphwrite_coordinator::{BranchError, Store};
use graphwrite_protocol_types::{Answer, WriteOutcome};

use super::cells::{Instants, guarded};
use super::control::{
    Earlier, NAME, Origin, begins_with, delete_branch, fork, fresh, incarnation, older_of, upsert,
};
use super::on_branch::{BRANCH_MIXED, FORKED};
use super::pending::Pending;
use super::place::Place;
use super::scenario::Scenario;
use super::subject::{Act, Said, Scene, Subject, perform, release_for_ever};
use crate::ground::Ground;
use crate::judge::{Case, Complaint, Heard, Promise, judge_on, open_impatient, tell};

/// Cells that wait for a held process leave the processor to others.
const CELLS_AT_ONCE: usize = 4;

fn subject(act: Act, scenario: Scenario) -> Subject {
    Subject { id: "incarnations", act, scenario, pending: Pending::Nothing, is_thin: false }
}

/// The places of an undisturbed run.
async fn places(scene: &Scene) -> Vec<Place> {
    let (client, faults, _) = Instants::of(&scene.start.fork());
    scene.perform(client).await;
    scene.names.places(&faults.log())
}

/// The other process: whatever the name means, afterwards it is a new branch of main with rows of its own.
async fn replaces(scene: &Scene, store: &Store) -> Result<(), Complaint> {
    let other = open_impatient(store).await;
    let older = older_of(&other).await;
    let made = match fork(&other, Origin::Main, older).await {
        Err(BranchError::Exists { .. }) => {
            delete_branch(&other).await.map_err(|error| Promise::NoRestart.broken(error))?;
            fork(&other, Origin::Main, older).await
        }
        made => made,
    };
    made.map_err(|error| Promise::NoRestart.broken(error))?;
    upsert(&fresh(store).await, &scene.stage.scenario.next("other")).await;
    Ok(())
}

/// What the zombie says, and whether the incarnation that it worked with was the other's first.
async fn held(scene: &Scene, store: &Store, place: &Place) -> Result<Said, Complaint> {
    let (client, mut handle) = store.holding(super::paused::from(scene.names.picks(place)));
    let mut running = tokio::spawn(perform(scene.subject, client, scene.ids));
    let first = tokio::select! {
        held = handle.next() => held,
        _ = &mut running => None,
    };
    let first = first.expect("no cell passes because nothing was held");
    Box::pin(replaces(scene, store)).await?;
    first.release();
    let releasing = release_for_ever(handle);
    let (_, said) = running.await.expect("the process ends");
    releasing.abort();
    Ok(said)
}

/// The new incarnation is what the other has made of it, and goes on.
async fn judged(scene: &Scene, store: &Store) -> Result<(), Complaint> {
    let (rows, commits) = begins_with(&scene.stage, Origin::Main);
    let state = rows.with(&scene.stage.scenario.next("other"));
    let next = scene.stage.scenario.next("next");
    let case = Case { before: state.clone(), after: state, commits: commits + 1, next };
    let beside = scene.stage.ground.beside.clone();
    let ground = Ground { branch: Some(NAME), beside };
    judge_on(&ground, store, &case, &Heard::Nothing, &[]).await.map(drop)
}

/// Runs a cell per place; `is_true` says whether what the zombie said there can be.
async fn run(
    subject: Subject,
    is_true: impl AsyncFn(&Store, &Place, &Said) -> bool,
) -> Vec<(String, String)> {
    let scene = &Box::pin(Scene::of(subject)).await;
    let places = places(scene).await;
    assert!(!places.is_empty());
    let is_true = &is_true;
    let cells = futures::stream::iter(places).map(|place| async move {
        let store = Store::memory(&scene.start.fork());
        let cell = async {
            let said = held(scene, &store, &place).await?;
            if !is_true(&store, &place, &said).await {
                return Err(Promise::Acknowledged.broken(said));
            }
            judged(scene, &store).await?;
            Ok(kind(&said))
        };
        let ended = guarded(Box::pin(cell)).await;
        (place.to_string(), ended.unwrap_or_else(|why| panic!("held at {place}: {why}")))
    });
    let ended: Vec<_> = cells.buffer_unordered(CELLS_AT_ONCE).collect().await;
    tell(&format!("zombies of {NAME}, {:?}: {ended:?}", subject.act));
    ended
}

fn kind(said: &Said) -> String {
    match said {
        Said::Forked(answer) => answer.as_ref().as_ref().err().map_or("made", Answer::code),
        Said::Wrote(heard) => match heard.answer() {
            Some(Ok(outcome)) => outcome.code(),
            Some(Err(error)) => error.code(),
            None => "nothing",
        },
        _ => "something else",
    }
    .to_owned()
}

#[tokio::test]
async fn a_creator_whose_branch_was_replaced_is_told_so() {
    let act = Act::Fork(Origin::Branch, Earlier::Free);
    let ended = run(subject(act, FORKED), async |_, _, said| {
        let Said::Forked(answer) = said else { return false };
        match answer.as_ref() {
            Err(error @ BranchError::DeletedMeanwhile { .. }) => !error.had_no_effect(),
            Err(error @ (BranchError::GivenUp { .. } | BranchError::Exists { .. })) => {
                error.had_no_effect()
            }
            _ => false,
        }
    })
    .await;
    for wanted in ["branch_exists", "given_up", "branch_deleted"] {
        assert!(
            ended.iter().any(|(_, kind)| kind == wanted),
            "no cell ends as {wanted}: {ended:?}"
        );
    }
}

#[tokio::test]
async fn a_writer_whose_branch_was_replaced_is_told_so_and_touches_nothing() {
    let ended = run(subject(Act::Write, BRANCH_MIXED), async |store, place, said| {
        let Said::Wrote(heard) = said else { return false };
        match heard.answer() {
            Some(Ok(outcome @ WriteOutcome::BranchDeleted(deleted))) => {
                outcome.had_no_effect() == deleted.landed.is_none()
                    && incarnation(&open_impatient(store).await).await.as_ref()
                        != Some(&deleted.branch)
            }
            // It was acknowledged while the branch was what it was.
            Some(Ok(WriteOutcome::Committed(_))) => {
                place.to_string().starts_with("delete:_recovery/")
            }
            _ => false,
        }
    })
    .await;
    let deleted = ended.iter().filter(|(_, kind)| kind == "branch_deleted").count();
    assert!(deleted + 1 >= ended.len() && deleted > 0, "{ended:?}");
}
