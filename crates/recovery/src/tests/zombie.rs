//! Recovery beside others: a writer that wakes up at any point, a second recoverer, and somebody
//! who uses the graph meanwhile. Every schedule with two switches is run.

use super::actors::{
    Actor, Said, careful_writer, later_writer, recoverer, run, sealer, share, writer,
};
use super::defect::Defect;
use super::judge::{Start, judge, plans, start_named, starts};
use super::model_port::{Fault, ModelPort};
use graphwrite_protocol_types::EffectKind;

type Build = for<'a> fn(&'a ModelPort, &'a Start, Defect) -> Actor<'a>;

fn a_recoverer<'a>(port: &'a ModelPort, start: &'a Start, defect: Defect) -> Actor<'a> {
    recoverer(port, &start.intent, defect)
}

fn a_writer<'a>(port: &'a ModelPort, start: &'a Start, _: Defect) -> Actor<'a> {
    writer(port, &start.intent, &start.prefix)
}

fn a_careful_writer<'a>(port: &'a ModelPort, start: &'a Start, _: Defect) -> Actor<'a> {
    careful_writer(port, &start.intent, &start.prefix)
}

fn somebody_else<'a>(port: &'a ModelPort, start: &'a Start, _: Defect) -> Actor<'a> {
    later_writer(port, &start.intent)
}

fn a_sealer<'a>(port: &'a ModelPort, _: &'a Start, _: Defect) -> Actor<'a> {
    sealer(port)
}

/// Runs `cast` from `start` under `schedule` and judges; also says how often each was polled.
fn play(
    start: &Start,
    cast: &[Build],
    schedule: &[usize],
    defect: Defect,
) -> (Result<(), String>, Vec<usize>) {
    let world = share(&start.world);
    let ports: Vec<ModelPort> =
        (1..).zip(cast).map(|(actor, _)| ModelPort::new(&world, actor, Fault::None)).collect();
    let actors = cast.iter().zip(&ports).map(|(build, port)| build(port, start, defect)).collect();
    let (said, polls) = run(actors, schedule);
    let dead = said.contains(&Said::Died);
    let verdict = if dead { Err("somebody died".into()) } else { judge(start, &world, &said) };
    (verdict, polls)
}

/// Every schedule in which `a` makes i calls, `b` makes j, then `a` ends, then everybody else.
fn schedules(start: &Start, cast: &[Build], a: usize, b: usize) -> Vec<Vec<usize>> {
    let alone = |first: usize| {
        let (_, polls) = play(start, cast, &vec![first; 400], Defect::None);
        polls[first].min(80)
    };
    let (a_calls, b_calls) = (alone(a), alone(b));
    let one = |i: usize, j: usize| [vec![a; i], vec![b; j], vec![a; 400]].concat();
    (0..=a_calls).flat_map(|i| (0..=b_calls).map(move |j| one(i, j))).collect()
}

fn every_schedule(start: &Start, cast: &[Build], defect: Defect) -> Result<usize, String> {
    let mut played = 0;
    for (a, b) in [(0, 1), (1, 0)] {
        for schedule in schedules(start, cast, a, b) {
            played += 1;
            play(start, cast, &schedule, defect).0.map_err(|problem| {
                let switch: Vec<usize> = schedule.chunk_by(|a, b| a == b).map(<[_]>::len).collect();
                format!("{} ({a}, {b}) {switch:?}: {problem}", start.name)
            })?;
        }
    }
    Ok(played)
}

fn small_starts() -> Vec<Start> {
    let small = plans().into_iter().filter(|kinds| kinds.len() <= 2);
    small.flat_map(|kinds| starts(&kinds)).collect()
}

/// Both ends are met, or the schedules would prove little.
#[test]
fn a_zombie_wins_in_some_schedules_and_loses_in_others() {
    let start = start_named(&[EffectKind::Staged], &[Some(0)]);
    let wins = |calls: usize| {
        let world = share(&start.world);
        let (one, other) =
            (ModelPort::new(&world, 1, Fault::None), ModelPort::new(&world, 2, Fault::None));
        let cast =
            vec![a_recoverer(&one, &start, Defect::None), a_writer(&other, &start, Defect::None)];
        let schedule = [vec![0; calls], vec![1; 40]].concat();
        run(cast, &schedule).0[1] == Said::Committed
    };
    let outcomes: Vec<bool> = (0..20).map(wins).collect();
    assert!(outcomes[0], "an undisturbed writer loses");
    assert!(!outcomes[19], "a writer wins after its attempt is taken back");
}

fn never_fails(starts: &[Start], cast: &[Build], at_least: usize) {
    let played: Result<Vec<usize>, String> =
        starts.iter().map(|start| every_schedule(start, cast, Defect::None)).collect();
    let played: usize = played.unwrap_or_else(|problem| panic!("{problem}")).iter().sum();
    assert!(played >= at_least, "only {played} schedules");
}

/// With three actors the schedules are many, so the plans are few.
fn few_starts() -> Vec<Start> {
    let few = |start: &Start| {
        let kinds: Vec<EffectKind> = start.intent.effects.iter().map(|e| e.kind).collect();
        kinds.len() == 1 || kinds == [EffectKind::Staged, EffectKind::CreateDataset]
    };
    small_starts().into_iter().filter(few).collect()
}

#[test]
fn a_zombie_writer_may_wake_up_at_any_point() {
    never_fails(&small_starts(), &[a_recoverer, a_writer], 10_000);
}

#[test]
fn an_owner_that_resolves_its_own_attempt_and_a_recoverer_agree() {
    never_fails(&small_starts(), &[a_recoverer, a_careful_writer], 10_000);
}

#[test]
fn two_recoverers_agree() {
    never_fails(&small_starts(), &[a_recoverer, a_recoverer], 10_000);
}

#[test]
fn a_zombie_wakes_up_beside_two_recoverers() {
    never_fails(&few_starts(), &[a_recoverer, a_writer, a_recoverer], 3_000);
}

#[test]
fn a_seal_may_come_at_any_point_of_a_write() {
    never_fails(&small_starts(), &[a_writer, a_sealer], 500);
    never_fails(&small_starts(), &[a_careful_writer, a_sealer], 1_000);
}

#[test]
fn a_seal_may_come_at_any_point_of_a_recovery() {
    never_fails(&small_starts(), &[a_recoverer, a_sealer], 1_000);
    never_fails(&few_starts(), &[a_sealer, a_recoverer, a_writer], 500);
    never_fails(&few_starts(), &[a_recoverer, a_writer, a_sealer], 3_000);
}

/// Both ends are met, or the schedules would prove little.
#[test]
fn a_seal_wins_over_a_complete_attempt_and_loses_to_its_commit() {
    let start = start_named(&[EffectKind::Staged], &[Some(1)]);
    let wins = |calls: usize| {
        let world = share(&start.world);
        let (one, other) =
            (ModelPort::new(&world, 1, Fault::None), ModelPort::new(&world, 2, Fault::None));
        let cast = vec![a_recoverer(&one, &start, Defect::None), sealer(&other)];
        let said = run(cast, &[vec![0; calls], vec![1; 4]].concat()).0;
        matches!(said[0], Said::Resolved(crate::Resolution::RolledBack { .. }))
    };
    let outcomes: Vec<bool> = (0..30).map(wins).collect();
    assert!(outcomes[0], "a sealed attempt is published");
    assert!(!outcomes[29], "a committed attempt is taken back");
}

#[test]
fn the_graph_may_be_used_while_a_zombie_and_a_recoverer_disagree() {
    never_fails(&few_starts(), &[a_writer, a_recoverer, somebody_else], 3_000);
    never_fails(&few_starts(), &[somebody_else, a_recoverer, a_writer], 1_500);
}

/// What the judge says about the first schedule that goes wrong.
fn caught(defect: Defect) -> Option<String> {
    let casts: [&[Build]; 2] = [&[a_recoverer, a_writer], &[somebody_else, a_recoverer, a_writer]];
    let fails =
        |start: &Start| casts.iter().find_map(|cast| every_schedule(start, cast, defect).err());
    small_starts().iter().find_map(fails)
}

#[test]
fn recovery_without_fences_is_caught() {
    let problem = caught(Defect::NoFence).expect("caught");
    assert!(problem.contains("HEAD of a published ref is not its pin"), "{problem}");
}

#[test]
fn recovery_without_an_aborted_row_is_caught() {
    let problem = caught(Defect::NoAbortedRow).expect("caught");
    assert!(problem.contains("HEAD of a published ref is not its pin"), "{problem}");
}

#[test]
fn a_staged_writer_that_lost_nothing_still_commits_first() {
    let start = start_named(&[EffectKind::Staged], &[Some(1)]);
    let (verdict, _) = play(&start, &[a_writer, a_recoverer], &[], Defect::None);
    assert_eq!(verdict, Ok(()));
}
