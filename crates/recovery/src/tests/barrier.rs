//! The barrier: what it takes up, what it leaves alone, and what it answers.

use std::collections::BTreeSet;

use graphwrite_protocol_types::*;

use super::actors::{block_on, share};
use super::fixture::*;
use super::judge::{Start, start_named};
use super::model_port::{Fault, ModelPort, Shared};
use super::world::{Change, Records};
use crate::*;

use EffectKind::{CreateDataset, Staged};

/// One of two tables has landed.
fn half_landed() -> Start {
    start_named(&[Staged, Staged], &[Some(1), Some(0)])
}

fn writes(number: u64) -> Footprint {
    Footprint { written: BTreeSet::from([table(number)]), ..Footprint::default() }
}

struct Run<'a> {
    world: &'a Shared,
    mode: RecoveryMode,
    footprint: Option<Footprint>,
    waits: WaitRules,
    local: Elsewhere,
}

impl<'a> Run<'a> {
    /// A patient barrier of another process, for every table.
    fn new(world: &'a Shared) -> Self {
        let (waits, local) = (WaitRules::default(), Elsewhere::default());
        Self { world, mode: full(), footprint: None, waits, local }
    }

    fn silent_owner(mut self) -> Self {
        self.waits.fence_after_ms = 0;
        self
    }

    fn run(&self) -> BarrierReport {
        let port = ModelPort::new(self.world, 5, Fault::None);
        let barrier =
            crate::run(&port, &self.mode, self.footprint.as_ref(), &self.local, &self.waits);
        block_on(barrier).expect("nobody died")
    }
}

fn has_records(world: &Shared) -> bool {
    !world.lock().unwrap().records.is_empty()
}

#[test]
fn a_silent_owners_intent_is_taken_back_in_place() {
    let world = share(&half_landed().world);
    let report = Run::new(&world).silent_owner().run();
    assert_eq!(report.outcome, BarrierOutcome::Clean);
    let rolled_back = Resolution::RolledBack { retired: Retired::default() };
    assert_eq!(report.resolved, [(attempt(), rolled_back)]);
    assert!(report.has_changed_anything());
    assert!(!has_records(&world));
}

#[test]
fn a_complete_attempt_is_published_and_says_so() {
    let start = start_named(&[Staged, CreateDataset], &[Some(1), Some(2)]);
    let world = share(&start.world);
    let report = Run::new(&world).silent_owner().run();
    let commit = start.intent.lineage.commit;
    let committed =
        Resolution::Committed { commit, rolled_forward: true, retired: Retired::default() };
    assert_eq!(report.resolved, [(attempt(), committed)]);
}

#[test]
fn an_intent_that_does_not_concern_the_request_is_left_alone() {
    let world = share(&half_landed().world);
    let mut barrier = Run::new(&world).silent_owner();
    barrier.footprint = Some(writes(9));
    let report = barrier.run();
    assert_eq!(report.outcome, BarrierOutcome::Clean);
    assert_eq!(report.left_alone, [attempt()]);
    assert!(!report.has_changed_anything());
    assert!(has_records(&world));
}

#[test]
fn a_young_owner_is_waited_for_and_then_named() {
    let start = half_landed();
    let world = share(&start.world);
    let mut barrier = Run::new(&world);
    barrier.footprint = Some(writes(2));
    let BarrierOutcome::Contended(contention) = barrier.run().outcome else {
        panic!("not contended");
    };
    assert_eq!(contention.attempt, attempt());
    assert_eq!(contention.owner, start.intent.owner);
    assert!(contention.age_ms >= 9_000, "gave up after {} ms", contention.age_ms);
    assert!(contention.retry_after_ms <= 10_000);
    assert!(has_records(&world));
}

#[test]
fn patience_ends_when_the_owner_has_been_silent_for_too_long() {
    let world = share(&half_landed().world);
    world.lock().unwrap().records.get_mut(&attempt()).unwrap().age_ms = 55_000;
    let report = Run::new(&world).run();
    assert_eq!(report.outcome, BarrierOutcome::Clean);
    assert!(world.lock().unwrap().history.contains(&"aborted"));
}

#[test]
fn an_aborted_attempt_is_taken_back_without_waiting_for_its_owner() {
    let start = half_landed();
    let world = share(&start.world);
    let aborted = Change::Aborted { over: 12, by: tx("abort"), attempts: vec![attempt()] };
    world.lock().unwrap().apply(&start.intent, &aborted).unwrap();
    let port = ModelPort::new(&world, 5, Fault::None);
    let (mode, local, waits) = (full(), Elsewhere::default(), WaitRules::default());
    let report = block_on(crate::run(&port, &mode, None, &local, &waits)).unwrap();
    assert_eq!(report.outcome, BarrierOutcome::Clean);
    assert_eq!(port.now_ms(), 0);
}

#[test]
fn an_attempt_that_runs_in_this_process_is_no_recovery_case() {
    let world = share(&half_landed().world);
    let mut barrier = Run::new(&world).silent_owner();
    barrier.local.live.insert(attempt());
    let report = barrier.run();
    assert_eq!(report.outcome, BarrierOutcome::Clean);
    assert_eq!(report.live, [attempt()]);
    assert!(has_records(&world));
}

#[test]
fn a_probe_explains_and_changes_nothing() {
    let world = share(&half_landed().world);
    let before = world.lock().unwrap().clone();
    let mut barrier = Run::new(&world).silent_owner();
    barrier.mode = RecoveryMode::Probe;
    let report = barrier.run();
    assert_eq!(report.outcome, BarrierOutcome::Probed);
    assert_eq!(report.pending.len(), 1);
    assert_eq!(report.pending[0].decision, "abort");
    assert_eq!(*world.lock().unwrap(), before);
}

#[test]
fn roll_forward_mode_publishes_but_takes_nothing_back() {
    let mode = || RecoveryMode::RollForward(RollForward::granted());
    let world = share(&start_named(&[Staged], &[Some(1)]).world);
    let barrier = Run { mode: mode(), ..Run::new(&world).silent_owner() };
    assert_eq!(barrier.run().outcome, BarrierOutcome::Clean);
    let world = share(&half_landed().world);
    let before = world.lock().unwrap().clone();
    let barrier = Run { mode: mode(), ..Run::new(&world).silent_owner() };
    let BarrierOutcome::RecoveryRequired(unresolved) = barrier.run().outcome else {
        panic!("resolved");
    };
    assert!(unresolved.reason.contains("mode"), "{}", unresolved.reason);
    assert_eq!(*world.lock().unwrap(), before);
}

#[test]
fn leftovers_without_an_intent_are_swept() {
    let start = half_landed();
    let world = share(&start.world);
    let records = Records { intent: None, confirm: None, age_ms: 0 };
    world.lock().unwrap().records = [(attempt(), records)].into();
    let report = Run::new(&world).run();
    assert_eq!(report.outcome, BarrierOutcome::Clean);
    assert_eq!(report.swept, [attempt()]);
    assert!(!has_records(&world));
}

#[test]
fn a_damaged_intent_blocks_every_write_by_name_and_stays() {
    let world = share(&half_landed().world);
    world.lock().unwrap().damaged.insert(attempt());
    let mut barrier = Run::new(&world).silent_owner();
    barrier.footprint = Some(writes(9));
    let BarrierOutcome::Blocked(object) = barrier.run().outcome else { panic!("not blocked") };
    assert!(object.to_string().contains(&format!("{}.intent", attempt())));
    assert!(object.to_string().contains("checksum does not match"));
    assert!(has_records(&world));
}

#[test]
fn a_stranger_among_the_records_blocks_writes_after_the_rest_is_resolved() {
    let world = share(&half_landed().world);
    world.lock().unwrap().strangers.push("_recovery/main/notes.txt".into());
    let report = Run::new(&world).silent_owner().run();
    let BarrierOutcome::Blocked(object) = &report.outcome else { panic!("not blocked") };
    assert_eq!(object.object, "_recovery/main/notes.txt");
    assert!(!has_records(&world));
}

#[test]
fn a_damaged_intent_is_only_reported_by_a_probe() {
    let world = share(&half_landed().world);
    world.lock().unwrap().damaged.insert(attempt());
    let mut barrier = Run::new(&world);
    barrier.mode = RecoveryMode::Probe;
    let report = barrier.run();
    assert_eq!(report.outcome, BarrierOutcome::Probed);
    assert_eq!(report.blocking.len(), 1);
}

/// The other table of an attempt is freed, and only the unreadable one stays blocked.
#[test]
fn an_unreadable_table_blocks_only_itself() {
    let start = half_landed();
    let world = share(&start.world);
    world.lock().unwrap().unreadable.insert(old_path(2));
    let mut barrier = Run::new(&world).silent_owner();
    barrier.footprint = Some(writes(1));
    assert_eq!(barrier.run().outcome, BarrierOutcome::Clean);
    assert!(world.lock().unwrap().head_is_pin(1));
    barrier.footprint = Some(writes(2));
    let BarrierOutcome::RecoveryRequired(unresolved) = barrier.run().outcome else {
        panic!("resolved");
    };
    assert_eq!(unresolved.table, Some(table(2).to_string()));
    world.lock().unwrap().unreadable.clear();
    assert_eq!(barrier.run().outcome, BarrierOutcome::Clean);
    assert!(!has_records(&world));
}

#[test]
fn a_deleted_branchs_intent_is_audited_and_discarded_without_touching_tables() {
    let world = share(&half_landed().world);
    world.lock().unwrap().branch_gone = true;
    let lines = world.lock().unwrap().lines.clone();
    let report = Run::new(&world).run();
    assert_eq!(report.outcome, BarrierOutcome::Clean);
    assert!(matches!(report.resolved[0].1, Resolution::Discarded { .. }));
    let world = world.lock().unwrap();
    assert!(world.audited);
    assert_eq!(world.lines, lines);
}

#[test]
fn a_request_that_committed_under_another_attempt_is_not_published_again() {
    for operation in [OperationOutcome::CommittedElsewhere, OperationOutcome::Sealed] {
        let world = share(&start_named(&[Staged], &[Some(1)]).world);
        world.lock().unwrap().operation = operation;
        let report = Run::new(&world).silent_owner().run();
        assert!(matches!(report.resolved[0].1, Resolution::RolledBack { .. }));
        assert!(world.lock().unwrap().head_is_pin(1));
    }
}

#[test]
fn a_complete_attempt_whose_files_are_gone_is_taken_back() {
    let world = share(&start_named(&[Staged], &[Some(1)]).world);
    world.lock().unwrap().files_missing = true;
    let report = Run::new(&world).silent_owner().run();
    assert!(matches!(report.resolved[0].1, Resolution::RolledBack { .. }));
}

#[test]
fn an_operator_may_speak_for_a_dead_owner() {
    let world = share(&half_landed().world);
    let (mode, local, waits) = (full(), Elsewhere::default(), WaitRules::default());
    let resolve = |dead| {
        let port = ModelPort::new(&world, 5, Fault::None);
        let resolved = resolve_attempt(&port, &mode, attempt(), dead, &local, &waits);
        block_on(resolved).unwrap().outcome
    };
    assert!(matches!(resolve(false), BarrierOutcome::Contended(_)));
    assert_eq!(resolve(true), BarrierOutcome::Clean);
}

#[test]
fn intents_are_taken_up_in_attempt_order() {
    let start = half_landed();
    let later = AttemptId::from_u128(0xa2);
    let world = share(&start.world);
    let second = intent_of(later, &[Staged, Staged], &start.world.view);
    let records = Records { intent: Some(second), confirm: None, age_ms: 0 };
    world.lock().unwrap().records.insert(later, records);
    let report = Run::new(&world).silent_owner().run();
    assert_eq!(report.outcome, BarrierOutcome::Clean);
    let order: Vec<AttemptId> = report.resolved.iter().map(|(attempt, _)| *attempt).collect();
    assert_eq!(order, [attempt(), later]);
    assert!(world.lock().unwrap().heads_are_pins());
}
