//! An owner that resolves its own attempt under its gates, and what an explanation says.

use graphwrite_protocol_types::*;

use super::actors::{block_on, share};
use super::fixture::*;
use super::judge::start_named;
use super::model_port::{Fault, ModelPort, Shared};
use crate::*;

use EffectKind::{Chain, Staged};

fn resolve(world: &Shared, intent: &Intent, steps: Vec<OwnSteps>) -> (Resolution, Vec<Failpoint>) {
    let port = ModelPort::new(world, 5, Fault::None);
    let (mode, waits) = (full(), WaitRules::default());
    let owner = Owner::OwnStopped { steps };
    let interpreter = Interpreter::new(&port, &mode, &waits);
    let resolved = block_on(interpreter.resolve(intent, &RecordSet::default(), &owner));
    let reached = port.reached.lock().unwrap().clone();
    (resolved.unwrap(), reached)
}

#[test]
fn an_owner_with_nothing_landed_forgets_its_attempt_without_a_row() {
    let start = start_named(&[Staged, Staged], &[Some(0), None]);
    let world = share(&start.world);
    let none = vec![OwnSteps::NoneLanded; 2];
    let (resolution, _) = resolve(&world, &start.intent, none);
    assert_eq!(resolution, Resolution::Empty { retired: Retired::default() });
    let world = world.lock().unwrap();
    assert!(world.history.is_empty());
    assert!(world.records.is_empty());
}

#[test]
fn an_owner_with_an_unanswered_step_fences_it() {
    let start = start_named(&[Staged], &[Some(0)]);
    let world = share(&start.world);
    let (resolution, reached) = resolve(&world, &start.intent, vec![OwnSteps::Unknown]);
    assert_eq!(resolution, Resolution::RolledBack { retired: Retired::default() });
    let slot = {
        let world = world.lock().unwrap();
        world.view.head(table(1)).live().unwrap().pin.clone()
    };
    assert_eq!(slot, Pin { version: PRE + 1, tx_uuid: TxUuid::fence(attempt(), 0) });
    use Failpoint::{RecoveryPostAbort, RecoveryPostCompensation, RecoveryPreRetire};
    assert_eq!(reached, [RecoveryPostAbort, RecoveryPostCompensation, RecoveryPreRetire]);
}

#[test]
fn a_landed_prefix_is_restored_and_its_pin_keeps_the_content() {
    let start = start_named(&[Chain], &[Some(1)]);
    let world = share(&start.world);
    let before = world.lock().unwrap().visible(1);
    let content = |world: &Shared| {
        let world = world.lock().unwrap();
        world.view.head(table(1)).live().map(|head| head.content)
    };
    let content_before = content(&world);
    resolve(&world, &start.intent, vec![OwnSteps::SomeLanded]);
    assert_eq!(content(&world), content_before);
    let world = world.lock().unwrap();
    assert_eq!(world.visible(1), before);
    let pin = &world.view.head(table(1)).live().unwrap().pin;
    assert_eq!(*pin, Pin { version: PRE + 2, tx_uuid: TxUuid::restore(attempt(), 0) });
}

#[test]
fn a_stopped_owner_does_not_wait_for_itself() {
    let start = start_named(&[Staged], &[Some(1)]);
    let world = share(&start.world);
    let (resolution, _) = resolve(&world, &start.intent, vec![OwnSteps::SomeLanded]);
    assert!(matches!(resolution, Resolution::Committed { rolled_forward: true, .. }));
}

#[test]
fn an_explanation_says_what_was_found_and_what_is_next() {
    let start = start_named(&[Staged, Chain], &[Some(1), Some(1)]);
    let world = share(&start.world);
    let port = ModelPort::new(&world, 5, Fault::None);
    let waits = WaitRules::default();
    let owner = dead();
    let looks = block_on(look_at(&port, &[(&start.intent, &owner)], &waits, 1)).unwrap();
    let found = looks.looks.into_iter().flatten().next().unwrap();
    let records = RecordSet { intent: true, age_ms: 1_500, ..RecordSet::default() };
    insta::assert_debug_snapshot!(explain(&start.intent, &records, &dead(), &found));
}
