//! Depth 2: from every distinct aftermath of a subject somebody recovers, and that recovery is itself
//! crashed at every durable operation; each may also come late, after a third process has recovered
//! and written.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::StreamExt;
use graphwrite_coordinator::{BarrierOutcome, MemoryStorage, Store};
use graphwrite_substrate::{Fault, Operation};

use super::cells::{Aftermath, CELLS_AT_ONCE, Fate, Instants, assert_fired, guarded, meets};
use super::log::{self, is_delete};
use super::memo::{Memo, State};
use super::pending::full;
use super::place::Place;
use super::refs::ref_of;
use super::report::{Row, Wanted};
use super::subject::{Said, Scene};
use crate::ground::open_on;
use crate::judge::{Complaint, Promise, Verdict, impatient};

pub(super) async fn run(
    scene: &Scene,
    dead: Vec<Aftermath>,
    wanted: &Wanted,
    memo: &Memo,
    row: &mut Row,
) {
    let (mut met, mut kinds) = (BTreeSet::new(), BTreeSet::new());
    for crashed in dead.iter().filter(|it| met.insert(it.verdict.aftermath.clone())) {
        let recovered = match guarded(Box::pin(recovery(scene, &crashed.storage))).await {
            Ok(recovered) => recovered,
            Err(why) => {
                row.fail(format!("{}/recovery", crashed.id), why);
                continue;
            }
        };
        died(scene, crashed, &recovered, wanted, memo, row).await;
        let is_new = |place: &&Place| !scene.subject.is_thin || kinds.insert(place.kind());
        let places: Vec<_> = recovered.places.iter().filter(is_new).collect();
        late(scene, crashed, &places, wanted, row).await;
    }
}

/// Whether nobody can see that it has happened: a file goes from a ref that has no version any more.
fn is_mute(operation: &Operation) -> bool {
    is_delete(operation)
        && ref_of(&operation.path).is_some()
        && !["/_versions/", "/_refs/"].iter().any(|part| operation.path.contains(part))
}

/// An undisturbed recovery: its operations that tell, and what is left after each of them.
struct Recovery {
    places: Vec<Place>,
    left: Vec<MemoryStorage>,
}

async fn recovery(scene: &Scene, crashed: &MemoryStorage) -> Result<Recovery, Complaint> {
    let storage = crashed.fork();
    let (client, faults, instants) = Instants::of(&storage);
    let graph = open_on(scene.branch(), client, impatient()).await;
    let report = Box::pin(graph.recover(full())).await;
    let is_clean = report.as_ref().is_ok_and(|it| it.outcome == BarrierOutcome::Clean);
    if !is_clean || !graph.pending_intents().await.expect("a listing").is_empty() {
        return Err(Promise::NothingPending.broken(report));
    }
    log::recovery(scene, &faults.log())?;
    let (log, left) = (faults.log(), instants.take(&storage));
    let steps = scene.names.places(&log).into_iter().zip(left.into_iter().skip(1));
    let telling = steps.zip(log.operations()).filter(|(_, operation)| !is_mute(operation));
    let (places, left) = telling.map(|(step, _)| step).unzip();
    Ok(Recovery { places, left })
}

fn id(crashed: &Aftermath, place: &Place, fate: Fate) -> String {
    format!("{}/recovery/{place}/{}", crashed.id, fate.name())
}

async fn died(
    scene: &Scene,
    crashed: &Aftermath,
    recovered: &Recovery,
    wanted: &Wanted,
    memo: &Memo,
    row: &mut Row,
) {
    let states = recovered.places.iter().zip(&recovered.left);
    let states = states
        .map(|(place, left)| State { id: id(crashed, place, Fate::Dead), storage: left.clone() });
    let states = states.filter(|it| wanted.concerns(&it.id)).collect();
    for (state, judged) in memo.judge_all(scene, states).await {
        row.deep_cell(&state.id, &judged);
    }
}

async fn late(
    scene: &Scene,
    crashed: &Aftermath,
    places: &[&Place],
    wanted: &Wanted,
    row: &mut Row,
) {
    let cells = places.iter().map(|place| (*place, id(crashed, place, Fate::Late)));
    let cells: Vec<_> = cells.filter(|(_, id)| wanted.concerns(id)).collect();
    let mut judged = futures::stream::iter(cells)
        .map(|(place, id)| async move {
            let judged = guarded(Box::pin(late_cell(scene, &crashed.storage, place))).await;
            (id, judged.map(Arc::new))
        })
        .buffer_unordered(CELLS_AT_ONCE);
    while let Some((id, judged)) = judged.next().await {
        row.deep_cell(&id, &judged);
    }
}

async fn late_cell(
    scene: &Scene,
    crashed: &MemoryStorage,
    place: &Place,
) -> Result<Verdict, Complaint> {
    let store = Store::memory(&crashed.fork());
    let (client, faults) = store.faulty(meets(scene.names.picks(place), Fault::LateDead));
    let graph = open_on(scene.branch(), client, impatient()).await;
    let _ = Box::pin(graph.recover(full())).await;
    assert_fired(&faults, Fault::LateDead);
    let verdict = scene.judged(&store, &Said::Nothing, None, &[]).await?;
    assert_eq!(faults.release_late().await, 1, "one operation is late");
    scene.unchanged(&store, &verdict, &[]).await?;
    Ok(verdict)
}
