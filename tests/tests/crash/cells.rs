//! The cells of one subject: every durable operation meets every fate. It must not know what the
//! workflow is, nor what is demanded of it.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::{FutureExt, StreamExt};
use graphwrite_coordinator::{Graph, MemoryStorage, Store};
use graphwrite_substrate::{Fault, FaultHandle, Operation};

use super::deep;
use super::log;
use super::memo::{Memo, State};
use super::paused;
use super::place::Place;
use super::report::{Row, Wanted};
use super::subject::{Said, Scene, Subject};
use crate::judge::{Complaint, Heard, Verdict, seen_by};
use crate::world::reopen;

/// Cells that sleep, because their storage does not answer, leave the processor to others.
pub(super) const CELLS_AT_ONCE: usize = 8;

/// A cell that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(300);

/// What happens at a durable operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fate {
    /// It is applied, and the process dies.
    Dead,
    /// It is applied, its answer is lost, and the process lives.
    Lost,
    /// The process dies, and it is applied only after somebody else has recovered and written.
    Late,
    /// The process stands still before it, somebody else recovers and writes, and it goes on.
    Paused,
}

impl Fate {
    pub(super) const ALL: [Self; 4] = [Self::Dead, Self::Lost, Self::Late, Self::Paused];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Dead => "dead",
            Self::Lost => "lost",
            Self::Late => "late",
            Self::Paused => "paused",
        }
    }

    fn fault(self) -> Fault {
        match self {
            Self::Dead => Fault::DieAfter,
            Self::Lost => Fault::LoseAck,
            Self::Late => Fault::LateDead,
            Self::Paused => Fault::Proceed,
        }
    }
}

/// Copies of a storage, one for the moment before each durable operation of a client, and one after
/// all of them. A client that stopped there for good has left exactly that.
#[derive(Debug, Clone, Default)]
pub(super) struct Instants(Arc<Mutex<Vec<MemoryStorage>>>);

impl Instants {
    /// A client of `storage` that leaves a copy before each of its durable operations.
    pub(super) fn of(storage: &MemoryStorage) -> (Store, FaultHandle, Self) {
        let instants = Self::default();
        let (kept, source) = (instants.clone(), storage.clone());
        let (client, faults) = Store::memory(storage).faulty(move |_| {
            kept.0.lock().unwrap().push(source.fork());
            Fault::Proceed
        });
        (client, faults, instants)
    }

    /// The copies, the last one of `storage` as it is now.
    pub(super) fn take(&self, storage: &MemoryStorage) -> Vec<MemoryStorage> {
        let mut instants = std::mem::take(&mut *self.0.lock().unwrap());
        instants.push(storage.fork());
        instants
    }
}

/// What an undisturbed run does and leaves.
#[derive(Debug)]
pub(super) struct Calm {
    pub(super) places: Vec<Place>,
    /// What is left when the process stops after so many operations; none where the run cannot be
    /// forked, because another process takes part in it.
    pub(super) left: Vec<MemoryStorage>,
}

/// Runs the cells of a subject that are wanted.
pub(super) async fn run(subject: Subject, wanted: &Wanted) -> Row {
    let began = Instant::now();
    let scene = Arc::new(Box::pin(Scene::of(subject)).await);
    let mut row = Row::new(subject.id);
    let calm = match guarded(Box::pin(calm(&scene))).await {
        Ok(calm) => calm,
        Err(why) => {
            row.fail(format!("{}/calm", subject.id), why);
            return row;
        }
    };
    row.calm = 1;
    row.operations = calm.places.len();
    if wanted.plan {
        scene.fates().for_each(|fate| row.planned(fate, scene.met(fate, &calm.places).count()));
        return row;
    }
    let memo = Memo::default();
    let dead = died(&scene, &calm, wanted, &memo, &mut row).await;
    others(&scene, &calm, wanted, &mut row).await;
    if wanted.is_deep(subject.id) {
        Box::pin(deep::run(&scene, dead, wanted, &memo, &mut row)).await;
    }
    row.memoised = memo.hits();
    row.seconds = began.elapsed().as_secs_f64();
    row
}

/// Runs a cell to its end, whatever that is.
pub(super) async fn guarded<T>(
    cell: Pin<Box<impl Future<Output = Result<T, Complaint>>>>,
) -> Result<T, String> {
    let caught = AssertUnwindSafe(cell).catch_unwind();
    match tokio::time::timeout(PATIENCE, caught).await {
        Ok(Ok(Ok(done))) => Ok(done),
        Ok(Ok(Err(complaint))) => Err(format!("{complaint:?}")),
        Ok(Err(panic)) => Err(format!("it panicked: {}", what(panic.as_ref()))),
        Err(_) => Err(format!("it hangs: no end within {} s", PATIENCE.as_secs())),
    }
}

fn what(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned())).unwrap_or_default()
}

/// Nothing goes wrong: the log keeps the protocol, and the judge is content.
pub(super) async fn calm(scene: &Scene) -> Result<Calm, Complaint> {
    let storage = scene.start.fork();
    let store = Store::memory(&storage);
    let beside = scene.beside(&store).await;
    let (client, faults, instants) = Instants::of(&storage);
    let (graph, said) = scene.perform(client).await;
    let mut left = instants.take(&storage);
    let log = faults.log();
    log::undisturbed(scene, &log)?;
    let (beside, heard) = match beside {
        Some(live) => {
            left.clear();
            let (graph, heard) = live.resumed().await;
            (Some(graph), Some(heard))
        }
        None => (None, None),
    };
    let witnesses: Vec<_> = graph.iter().chain(&beside).collect();
    scene.judged(&store, &said, heard.as_ref(), &witnesses).await?;
    Ok(Calm { places: scene.names.places(&log), left })
}

/// A place at which a process died, with what it left.
pub(super) struct Aftermath {
    pub(super) id: String,
    pub(super) storage: MemoryStorage,
    pub(super) verdict: Arc<Verdict>,
}

/// The process is dead: what it left is judged, once for equal storages.
async fn died(
    scene: &Scene,
    calm: &Calm,
    wanted: &Wanted,
    memo: &Memo,
    row: &mut Row,
) -> Vec<Aftermath> {
    let states = calm.places.iter().zip(calm.left.iter().skip(1));
    let states = states.map(|(place, storage)| State {
        id: id(scene, place, Fate::Dead),
        storage: storage.clone(),
    });
    let states: Vec<_> = states.filter(|it| wanted.concerns(&it.id)).collect();
    let mut aftermaths = Vec::new();
    for (state, judged) in memo.judge_all(scene, states).await {
        row.cell(Fate::Dead, &state.id, &judged);
        if let Ok(verdict) = judged {
            aftermaths.push(Aftermath { id: state.id, storage: state.storage, verdict });
        }
    }
    aftermaths
}

/// The cells that need a run of their own.
async fn others(scene: &Arc<Scene>, calm: &Calm, wanted: &Wanted, row: &mut Row) {
    let fates = scene.fates().filter(|fate| *fate != Fate::Dead || calm.left.is_empty());
    let cells =
        fates.flat_map(|fate| scene.met(fate, &calm.places).map(move |place| (place, fate)));
    let cells = cells.filter(|(place, fate)| wanted.concerns(&id(scene, place, *fate)));
    let mut judged = futures::stream::iter(cells)
        .map(|(place, fate)| async move {
            let judged = match fate {
                Fate::Paused => guarded(Box::pin(paused::cell(scene, place))).await,
                _ => guarded(Box::pin(cell(scene, place, fate))).await,
            };
            (place, fate, judged.map(Arc::new))
        })
        .buffer_unordered(CELLS_AT_ONCE);
    while let Some((place, fate, judged)) = judged.next().await {
        row.cell(fate, &id(scene, place, fate), &judged);
    }
}

pub(super) fn id(scene: &Scene, place: &Place, fate: Fate) -> String {
    format!("{}/{place}/{}", scene.subject.id, fate.name())
}

/// Gives `fault` to the operation that `picks` picks.
pub(super) fn meets(
    picks: impl Fn(&Operation) -> bool + Send + Sync + 'static,
    fault: Fault,
) -> impl Fn(&Operation) -> Fault + Send + Sync + 'static {
    move |operation| if picks(operation) { fault } else { Fault::Proceed }
}

pub(super) async fn cell(scene: &Scene, place: &Place, fate: Fate) -> Result<Verdict, Complaint> {
    let store = Store::memory(&scene.start.fork());
    let warm = warm(scene, &store).await;
    let beside = scene.beside(&store).await;
    let (client, faults) = store.faulty(meets(scene.names.picks(place), fate.fault()));
    let (graph, said) = scene.perform(client).await;
    assert_fired(&faults, fate.fault());
    log::disturbed(scene, &faults.log())?;
    let (beside, heard) = match beside {
        Some(live) => Some(live.resumed().await).unzip(),
        None => (None, None),
    };
    // A process that cannot reach its storage is no witness, and hears nothing that counts.
    let is_dead = faults.is_dead();
    let said = if is_dead { quiet(said) } else { said };
    let alive = graph.iter().filter(|_| !is_dead);
    let witnesses: Vec<&Graph> = alive.chain(&warm).chain(&beside).collect();
    let verdict = scene.judged(&store, &said, heard.as_ref(), &witnesses).await?;
    if fate == Fate::Late {
        assert_eq!(faults.release_late().await, 1, "one operation is late");
        scene.unchanged(&store, &verdict, &witnesses).await?;
    }
    Ok(verdict)
}

/// A write's answer must be true even where its process can do nothing any more.
fn quiet(said: Said) -> Said {
    match said {
        Said::Wrote(Heard::Answer(answer)) => Said::Wrote(Heard::Answer(answer)),
        _ => Said::Nothing,
    }
}

/// A handle that has seen the graph before it all.
pub(super) async fn warm(scene: &Scene, store: &Store) -> Option<Graph> {
    if scene.is_creation() {
        return None;
    }
    let warm = match scene.is_control() {
        true => reopen(store).await,
        false => scene.stage.scenario.open(store.reopened()).await,
    };
    seen_by(&warm).await;
    Some(warm)
}

pub(super) fn assert_fired(faults: &FaultHandle, fault: Fault) {
    let fired = faults.log().0.iter().filter(|logged| logged.fault == fault).count();
    assert_eq!(fired, 1, "no cell passes because nothing happened");
}
