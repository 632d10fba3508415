//! Batches: several intents taken to their end together come to what they would have come to one by
//! one, whatever they share and whoever disturbs it, and cost what the tables cost, not the intents.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use graphwrite_protocol_types::*;

use super::actors::{
    Actor, Prefix, Said, barrier, block_on, changes_of, impatient, run, share, writer,
};
use super::defect::Defect;
use super::fixture::*;
use super::model_port::{Died, Fault, ModelPort, Shared};
use super::world::{Change, Content, Records, World, old_content};
use crate::*;

use EffectKind::{Chain, CreateDataset, Staged};

/// Tables 1 to 3 have rows, table 4 was never loaded.
const TABLES: u64 = 4;

fn base() -> BaseView {
    base_of(&[Staged, Staged, Staged, CreateDataset])
}

/// What of one attempt is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Left {
    /// How many of its changes, effect by effect; as far as their slots are open.
    changes: usize,
    /// Whether its outcome is decided: by its commit if all landed, else by `aborted`.
    decided: bool,
}

/// Intents of several attempts that were armed over one state, and what became of them.
#[derive(Debug, Clone)]
struct Scene {
    name: String,
    intents: Vec<Intent>,
    /// How far the first attempt got.
    prefix: Prefix,
    world: World,
}

type Plan = Vec<(EffectKind, u64)>;

fn layouts() -> Vec<(&'static str, [Plan; 3])> {
    let on = |tables: &[u64]| tables.iter().map(|number| (Staged, *number)).collect::<Plan>();
    vec![
        ("disjoint", [on(&[1]), on(&[2]), on(&[3])]),
        ("equal", [on(&[1, 2]), on(&[1, 2]), on(&[1, 2])]),
        ("overlapping", [on(&[1, 2]), on(&[2, 3]), on(&[3, 1])]),
        ("mixed", [vec![(Chain, 1)], vec![(Staged, 1), (CreateDataset, 4)], vec![(Chain, 2)]]),
    ]
}

fn armed(plans: &[Plan]) -> Scene {
    let base = base();
    let intents = (0_u128..).zip(plans).map(|(n, plan)| {
        let mut intent = intent_on(AttemptId::from_u128(0xb1 + n), plan, &base);
        intent.operation = format!("request-{n}").parse().expect("a valid key");
        intent.lineage.commit = CommitId::from_u128(0xc1 + n);
        intent
    });
    let intents: Vec<Intent> = intents.collect();
    let mut world = World::armed(&intent(&[Staged, Staged, Staged, CreateDataset]), &base);
    let records =
        |intent: &Intent| Records { intent: Some(intent.clone()), confirm: None, age_ms: 0 };
    world.records = intents.iter().map(|intent| (intent.attempt, records(intent))).collect();
    Scene { name: String::new(), intents, prefix: Prefix::new(), world }
}

fn all_changes(intent: &Intent) -> Vec<Change> {
    (0..intent.effects.len()).flat_map(|at| changes_of(intent, at)).collect()
}

/// The same, effect by effect.
fn prefix_of(intent: &Intent, mut changes: usize) -> Prefix {
    let of_effect = |at| {
        let landed = changes.min(changes_of(intent, at).len());
        changes -= landed;
        landed
    };
    (0..intent.effects.len()).map(of_effect).collect()
}

/// None if a slot is taken before all of these changes are there.
fn scene(layout: &(&str, [Plan; 3]), left: [Left; 3]) -> Option<Scene> {
    let mut scene = armed(&layout.1);
    scene.name = format!("{} {left:?}", layout.0);
    scene.prefix = prefix_of(&scene.intents[0], left[0].changes);
    for (intent, left) in scene.intents.iter().zip(left) {
        let changes = all_changes(intent);
        for change in changes.get(..left.changes)? {
            scene.world.apply(intent, change).ok()?;
        }
    }
    for (intent, left) in scene.intents.iter().zip(left).filter(|(_, left)| left.decided) {
        let (over, by) = (scene.world.view.manifest.version, tx("decided"));
        let is_whole = left.changes == all_changes(intent).len();
        let decided = if is_whole {
            Change::Publish { over, delta: intent.delta.clone(), by }
        } else {
            Change::Aborted { over, by, attempts: vec![intent.attempt] }
        };
        scene.world.apply(intent, &decided).ok()?;
    }
    Some(scene)
}

/// Every combination of what may be left of three attempts, in every layout.
fn scenes() -> Vec<Scene> {
    let lefts = (0..=3).flat_map(|changes| [false, true].map(|decided| Left { changes, decided }));
    let lefts: Vec<Left> = lefts.collect();
    let mut found = Vec::new();
    for layout in layouts() {
        for a in &lefts {
            for b in &lefts {
                found.extend(lefts.iter().filter_map(|c| scene(&layout, [*a, *b, *c])));
            }
        }
    }
    found
}

fn few_scenes() -> Vec<Scene> {
    scenes().into_iter().step_by(17).collect()
}

async fn resolve_all(
    port: &ModelPort,
    intents: &[Intent],
    width: usize,
) -> Result<Vec<(AttemptId, Resolution)>, Died> {
    let (mode, waits) = (full(), impatient());
    let mut interpreter = Interpreter::new(port, &mode, &waits);
    interpreter.width = width;
    let (records, owner) = (RecordSet::default(), dead());
    let pending = |intent| Pending { intent, records: &records, owner: &owner };
    let pending: Vec<_> = intents.iter().map(pending).collect();
    let ended = interpreter.resolve_all(&pending).await?;
    match ended.fault {
        Some((_, fault)) => Err(fault),
        None => Ok(ended.resolutions),
    }
}

/// A recoverer that met all intents in one barrier.
fn batcher<'a>(port: &'a ModelPort, scene: &'a Scene) -> Actor<'a> {
    Box::pin(async move {
        match resolve_all(port, &scene.intents, 1).await {
            Ok(ended) => {
                assert_eq!(ended.len(), scene.intents.len(), "{}", scene.name);
                let open = ended.into_iter().map(|(_, how)| how).find(|how| !how.is_over());
                Said::Resolved(open.unwrap_or(Resolution::Vanished))
            }
            Err(Died) => Said::Died,
        }
    })
}

/// The port of a recoverer that ended everything, wide as production is.
fn recovered(scene: &Scene, world: &Shared) -> ModelPort {
    let port = ModelPort::new(world, 1, Fault::None);
    let ended = block_on(resolve_all(&port, &scene.intents, WIDTH)).expect("nobody died");
    for (attempt, resolution) in ended {
        assert!(resolution.is_over(), "{} {attempt}: {resolution:?}", scene.name);
    }
    port
}

fn committed(world: &World) -> BTreeSet<AttemptId> {
    let is_committed = |row: &AttemptOutcome| matches!(row, AttemptOutcome::Committed { .. });
    world.outcome.iter().filter(|(_, row)| is_committed(row)).map(|(at, _)| *at).collect()
}

fn contents(world: &World) -> BTreeMap<u64, Option<Content>> {
    (1..=TABLES).map(|number| (number, world.visible(number).expect("a pin"))).collect()
}

/// What is visible if exactly these attempts have committed.
fn expected(scene: &Scene, committed: &BTreeSet<AttemptId>) -> BTreeMap<u64, Option<Content>> {
    let mut expected: BTreeMap<u64, Option<Content>> =
        (1..TABLES).map(|number| (number, Some(old_content(number)))).collect();
    expected.insert(TABLES, None);
    for intent in scene.intents.iter().filter(|intent| committed.contains(&intent.attempt)) {
        for effect in &intent.effects {
            let number = (1..=TABLES).find(|number| table(*number) == effect.target.identity);
            let rows = expected.get_mut(&number.expect("a table")).expect("a table");
            let steps = effect.steps.iter().map(|step| step.tx_uuid.to_string());
            rows.get_or_insert_default().extend(steps);
        }
    }
    expected
}

/// Nothing is left, nothing is between before and after, and every table takes the next write.
fn judge(scene: &Scene, world: &Shared, how: &str) {
    let place = format!("{} {how}", scene.name);
    let report = barrier(world).unwrap_or_else(|problem| panic!("{place}: {problem}"));
    assert_eq!(report.outcome, BarrierOutcome::Clean, "{place}");
    let mut world = world.lock().expect("not poisoned").clone();
    assert_eq!(world.violations, [""; 0], "{place}");
    assert!(world.records.is_empty(), "{place}: records are left");
    assert!(world.heads_are_pins(), "{place}: a HEAD is not its pin: {world:#?}");
    assert_eq!(contents(&world), expected(scene, &committed(&world)), "{place}");
    for number in 1..TABLES {
        world.foreign_write(number, "next");
    }
    assert_eq!(world.violations, [""; 0], "{place}, at the next write");
}

#[test]
fn a_batch_comes_to_what_its_intents_come_to_one_by_one() {
    let scenes = scenes();
    assert!(scenes.len() > 300, "only {} scenes", scenes.len());
    for scene in &scenes {
        let (together, one_by_one) = (share(&scene.world), share(&scene.world));
        recovered(scene, &together);
        judge(scene, &together, "together");
        for intent in &scene.intents {
            let port = ModelPort::new(&one_by_one, 2, Fault::None);
            block_on(resolve_all(&port, std::slice::from_ref(intent), 1)).expect("nobody died");
        }
        judge(scene, &one_by_one, "one by one");
        let (together, one_by_one) = (together.lock().unwrap(), one_by_one.lock().unwrap());
        assert_eq!(committed(&together), committed(&one_by_one), "{}", scene.name);
        assert_eq!(contents(&together), contents(&one_by_one), "{}", scene.name);
    }
}

#[test]
fn a_batch_needs_two_manifest_commits_and_one_for_each_attempt_that_it_publishes() {
    for scene in scenes() {
        let world = share(&scene.world);
        let before = committed(&scene.world).len();
        let port = recovered(&scene, &world);
        let published = committed(&world.lock().unwrap()).len() - before;
        let changes = port.manifest_changes.load(Ordering::Relaxed);
        assert!(changes <= 2 + published, "{}: {changes} changes", scene.name);
    }
}

/// As many attempts as there are, all over the same two tables.
fn crowd(count: usize) -> Scene {
    armed(&vec![vec![(Staged, 1), (Staged, 2)]; count])
}

#[test]
fn what_a_batch_reads_depends_on_its_tables_and_not_on_its_intents() {
    let reads = |count| {
        let scene = crowd(count);
        let world = share(&scene.world);
        let port = recovered(&scene, &world);
        judge(&scene, &world, "a crowd");
        let observed = port.observed.lock().unwrap().len();
        (observed, port.authorities.load(Ordering::Relaxed))
    };
    let (observed, authorities) = reads(2);
    assert!(observed <= 8 && authorities <= 4, "{observed} refs, {authorities} manifests");
    assert_eq!(reads(200), (observed, authorities));
}

#[test]
fn one_fence_closes_a_slot_that_many_attempts_planned() {
    let scene = crowd(50);
    let world = share(&scene.world);
    recovered(&scene, &world);
    let world = world.lock().unwrap();
    for number in [1, 2] {
        let pin = world.view.head(table(number)).live().unwrap().pin.clone();
        assert_eq!(pin.version, PRE + 1);
        assert_eq!(
            pin.tx_uuid.as_fence().map(|(attempt, _)| attempt),
            Some(scene.intents[0].attempt)
        );
    }
}

#[test]
fn a_batcher_that_dies_after_any_durable_change_is_taken_up() {
    let mut deaths = 0;
    for scene in few_scenes() {
        for at in 0.. {
            let world = share(&scene.world);
            let port = ModelPort::new(&world, 1, Fault::DieAfter(at));
            let (said, _) = run(vec![batcher(&port, &scene)], &[]);
            if said[0] != Said::Died {
                break;
            }
            deaths += 1;
            judge(&scene, &world, &format!("died after {at}"));
        }
    }
    assert!(deaths > 100, "only {deaths} deaths");
}

#[test]
fn a_lost_or_late_answer_to_any_change_of_a_batch_does_no_harm() {
    for scene in few_scenes() {
        for at in 1.. {
            let mut made = 0;
            for fault in [
                Fault::LoseAnswer(at),
                Fault::Late { change: at, turns: 3 },
                Fault::Late { change: at, turns: usize::MAX / 2 },
            ] {
                let world = share(&scene.world);
                let port = ModelPort::new(&world, 1, fault);
                run(vec![batcher(&port, &scene)], &[]);
                port.deliver(usize::MAX);
                made = made.max(port.changes.load(Ordering::Relaxed));
                judge(&scene, &world, &format!("{fault:?}"));
            }
            if made < at {
                break;
            }
        }
    }
}

/// Two actors, the second from call `i` of the first on, for `j` calls, then the first to its end.
fn switches(scene: &Scene, build: impl for<'a> Fn(&'a ModelPort, &'a Scene) -> Actor<'a>) -> usize {
    let mut played = 0;
    for i in (0..).step_by(2) {
        for j in [1, 2, 3, 5, 8, 13, 100] {
            let world = share(&scene.world);
            let (one, other) =
                (ModelPort::new(&world, 1, Fault::None), ModelPort::new(&world, 2, Fault::None));
            let cast = vec![batcher(&one, scene), build(&other, scene)];
            let schedule = [vec![0; i], vec![1; j], vec![0; 400]].concat();
            let (said, polls) = run(cast, &schedule);
            assert!(!said.contains(&Said::Died));
            played += 1;
            judge(scene, &world, &format!("switch at {i} for {j}"));
            let acknowledged = said[1] == Said::Committed;
            let is_committed =
                committed(&world.lock().unwrap()).contains(&scene.intents[0].attempt);
            assert!(!acknowledged || is_committed, "{}: lost at {i}, {j}", scene.name);
            if polls[0] < i {
                return played;
            }
        }
    }
    played
}

#[test]
fn two_batchers_side_by_side_agree() {
    let played: usize = few_scenes().iter().map(|scene| switches(scene, batcher)).sum();
    assert!(played > 500, "only {played} schedules");
}

/// The writer of the first intent goes on at any point: its late steps land, or find their slot
/// closed, and its commit comes first, or not at all.
#[test]
fn a_zombie_of_the_batch_may_wake_up_at_any_point() {
    let undecided = |scene: &Scene| !scene.world.outcome.contains_key(&scene.intents[0].attempt);
    let zombie: for<'a> fn(&'a ModelPort, &'a Scene) -> Actor<'a> =
        |port, scene| writer(port, &scene.intents[0], &scene.prefix);
    let scenes = few_scenes().into_iter().filter(undecided);
    let played: usize = scenes.map(|scene| switches(&scene, zombie)).sum();
    assert!(played > 300, "only {played} schedules");
}

fn run_barrier(world: &Shared, footprint: Option<u64>, waits: &WaitRules) -> BarrierReport {
    let port = ModelPort::new(world, 5, Fault::None);
    let footprint = footprint.map(|number| Footprint {
        written: BTreeSet::from([table(number)]),
        ..Footprint::default()
    });
    let (mode, local) = (full(), Elsewhere::default());
    block_on(crate::run(&port, &mode, footprint.as_ref(), &local, waits)).expect("nobody died")
}

#[test]
fn what_cannot_be_ended_does_not_hold_up_the_rest_of_its_batch() {
    let mut scene = armed(&layouts()[0].1);
    let [blocked, damaged, free] = [0, 1, 2].map(|at: usize| scene.intents[at].attempt);
    scene.world.unreadable.insert(old_path(1));
    scene.world.damaged.insert(damaged);
    let world = share(&scene.world);
    let report = run_barrier(&world, None, &impatient());
    assert!(matches!(report.outcome, BarrierOutcome::Blocked(_)), "{:?}", report.outcome);
    let resolved: BTreeMap<_, _> = report.resolved.into_iter().collect();
    assert!(matches!(resolved[&blocked], Resolution::Stopped(_)), "{resolved:?}");
    assert_eq!(resolved[&free], Resolution::RolledBack { retired: Retired::default() });
    world.lock().unwrap().damaged.clear();
    assert_eq!(run_barrier(&world, Some(3), &impatient()).outcome, BarrierOutcome::Clean);
    assert_eq!(run_barrier(&world, Some(2), &impatient()).outcome, BarrierOutcome::Clean);
    let outcome = run_barrier(&world, Some(1), &impatient()).outcome;
    assert!(matches!(outcome, BarrierOutcome::RecoveryRequired(_)), "{outcome:?}");
    world.lock().unwrap().unreadable.clear();
    judge(&scene, &world, "readable again");
}

#[test]
fn an_owner_that_may_be_alive_is_waited_for_while_the_rest_of_its_batch_is_ended() {
    let mut scene = armed(&layouts()[2].1);
    let young = scene.intents[1].attempt;
    for (attempt, records) in &mut scene.world.records {
        records.age_ms = if *attempt == young { 0 } else { 100_000 };
    }
    let world = share(&scene.world);
    let report = run_barrier(&world, None, &WaitRules::default());
    let BarrierOutcome::Contended(contention) = report.outcome else { panic!("{report:?}") };
    assert_eq!(contention.attempt, young);
    let left: Vec<_> = world.lock().unwrap().records.keys().copied().collect();
    assert_eq!(left, [young]);
    judge(&scene, &world, "given up by its owner");
}

#[test]
fn a_ref_that_fails_to_be_read_stops_only_the_intents_that_name_it() {
    let scene = armed(&layouts()[0].1);
    let world = share(&scene.world);
    let mut port = ModelPort::new(&world, 5, Fault::None);
    port.failing.insert(old_path(2));
    let (mode, local, waits) = (full(), Elsewhere::default(), impatient());
    let error = block_on(crate::run(&port, &mode, None, &local, &waits)).unwrap_err();
    assert_eq!(error.attempt, Some(scene.intents[1].attempt));
    let left: Vec<_> = world.lock().unwrap().records.keys().copied().collect();
    assert_eq!(left, [scene.intents[1].attempt]);
    judge(&scene, &world, "readable again");
}

#[test]
fn a_barrier_takes_more_intents_than_fit_a_batch() {
    let scene = crowd(2 * BATCH + 7);
    let world = share(&scene.world);
    let report = run_barrier(&world, None, &impatient());
    assert_eq!(report.resolved.len(), scene.intents.len());
    assert!(report.resolved.windows(2).all(|pair| pair[0].0 < pair[1].0), "in attempt order");
    judge(&scene, &world, "batch by batch");
}

#[test]
fn an_attempt_that_ended_while_its_batch_was_looked_at_gets_no_row() {
    let scene = crowd(3);
    let world = share(&scene.world);
    world.lock().unwrap().records.remove(&scene.intents[1].attempt);
    let port = ModelPort::new(&world, 1, Fault::None);
    let ended = block_on(resolve_all(&port, &scene.intents, WIDTH)).expect("nobody died");
    let ended: BTreeMap<_, _> = ended.into_iter().collect();
    assert_eq!(ended[&scene.intents[1].attempt], Resolution::Vanished);
    assert!(!world.lock().unwrap().outcome.contains_key(&scene.intents[1].attempt));
    judge(&scene, &world, "one vanished");
}

#[test]
fn a_batch_without_fences_is_caught() {
    let caught = std::panic::catch_unwind(|| {
        let scene = armed(&layouts()[0].1);
        let world = share(&scene.world);
        let port = ModelPort::new(&world, 1, Fault::None);
        let (mode, waits) = (full(), impatient());
        let mut interpreter = Interpreter::new(&port, &mode, &waits);
        interpreter.defect = Defect::NoFence;
        let (records, owner) = (RecordSet::default(), dead());
        let pending = |intent| Pending { intent, records: &records, owner: &owner };
        let pending: Vec<_> = scene.intents.iter().map(pending).collect();
        block_on(interpreter.resolve_all(&pending)).expect("nobody died");
        let late = all_changes(&scene.intents[0]).remove(0);
        let _ = world.lock().unwrap().apply(&scene.intents[0], &late);
        judge(&scene, &world, "without fences");
    });
    assert!(caught.is_err());
}
