//! The stages of a write.

use super::fixture::{attempt, intent, observed, pin, revalidated, table, write};
use crate::*;

#[test]
fn a_plan_goes_through_every_stage_to_its_intent() {
    let stage = revalidated();
    let durable = IntentDurable::witness(intent());
    let armed = stage.arm(durable).unwrap();
    assert_eq!(armed.permit().reason(), CommitReason::Effect);
    let achieved =
        armed.intent().effects.iter().map(|e| e.exact_post().cloned()).collect::<Vec<_>>();
    let applied = armed.applied(&achieved).unwrap();
    assert_eq!(applied.delta(), &write().delta);
    let (resolved, manifest) = applied.published(pin(13, "m13")).finalize();
    assert_eq!((resolved.attempt, manifest.version), (attempt(), 13));
}

#[test]
fn an_unregistered_table_cannot_be_changed() {
    let mut plan = write();
    plan.read_set = ReadSet::new(&plan.base);
    let refused = Prepared::new(plan, ()).map(drop);
    assert_eq!(refused, Err(PlanInvalid::NotInReadSet { identity: table(1) }));
}

#[test]
fn a_table_that_is_only_probed_cannot_be_changed() {
    let mut plan = write();
    let mut read_set = ReadSet::new(&plan.base);
    read_set.add_table(&plan.base, table(1), Access::Probed);
    plan.read_set = read_set;
    let refused = Prepared::new(plan, ()).map(drop);
    assert_eq!(refused, Err(PlanInvalid::NotInReadSet { identity: table(1) }));
}

#[test]
fn an_effect_starts_at_the_captured_pin() {
    let mut plan = write();
    plan.effects[0].pre = PreState::At(pin(4, "another"));
    let refused = Prepared::new(plan, ()).map(drop);
    assert_eq!(refused, Err(PlanInvalid::PreStateNotPinned { effect: 0 }));
}

#[test]
fn steps_follow_each_other() {
    let mut plan = write();
    plan.effects[0].steps[0].read_version = 5;
    assert_eq!(Prepared::new(plan, ()).map(drop), Err(PlanInvalid::BrokenChain { effect: 0 }));
    let mut plan = write();
    plan.effects[0].steps.clear();
    assert_eq!(Prepared::new(plan, ()).map(drop), Err(PlanInvalid::BrokenChain { effect: 0 }));
}

#[test]
fn a_head_is_the_result_of_its_own_effect() {
    let mut plan = write();
    let NextHead::Live { pin: slot, .. } = &mut plan.delta.heads[0].next else { panic!("live") };
    *slot = PinSlot::Exact(pin(5, "elsewhere"));
    let refused = Prepared::new(plan, ()).map(drop);
    assert_eq!(refused, Err(PlanInvalid::UnboundHead { identity: table(1) }));
}

#[test]
fn a_table_changes_once() {
    let mut plan = write();
    let again = plan.effects[0].clone();
    plan.effects.push(again);
    let refused = Prepared::new(plan, ()).map(drop);
    assert_eq!(refused, Err(PlanInvalid::Twice { identity: table(1) }));
}

fn refusal(observed: &Observed) -> NotValid {
    let gated = Prepared::new(write(), ()).unwrap().gated(());
    gated.revalidate(observed).map(drop).unwrap_err()
}

#[test]
fn head_above_the_pin_is_refused_before_arm() {
    let mut moved = observed();
    moved.heads.insert(table(1), Some(pin(5, "drift")));
    let expected = NotValid::HeadMoved {
        identity: table(1),
        pin: pin(4, "t1v4"),
        found: Some(pin(5, "drift")),
    };
    assert_eq!(refusal(&moved), expected);
    moved.heads.clear();
    assert!(matches!(refusal(&moved), NotValid::HeadMoved { found: None, .. }));
}

#[test]
fn the_same_version_by_another_transaction_is_not_the_pin() {
    let mut recreated = observed();
    recreated.heads.insert(table(1), Some(pin(4, "recreated")));
    assert!(matches!(refusal(&recreated), NotValid::HeadMoved { .. }));
}

#[test]
fn an_intent_that_was_armed_since_the_barrier_is_refused() {
    let mut pending = observed();
    pending.pending = vec![AttemptId::from_u128(9)];
    assert_eq!(refusal(&pending), NotValid::Pending { attempt: AttemptId::from_u128(9) });
}

#[test]
fn a_foreign_witness_does_not_arm() {
    let mut other = intent();
    other.attempt = AttemptId::from_u128(9);
    let refused = revalidated().arm(IntentDurable::witness(other)).map(drop);
    assert_eq!(refused, Err(WrongIntent { attempt: attempt() }));
}

#[test]
fn an_achievement_outside_the_plan_goes_to_recovery() {
    let armed = revalidated().arm(IntentDurable::witness(intent())).unwrap();
    let (outside, armed) = armed.applied(&[Some(pin(6, "wide")), None]).map(drop).unwrap_err();
    assert_eq!(outside, OutsideEnvelope { effect: 0, achieved: Some(pin(6, "wide")) });
    assert_eq!(armed.into_recovery().0, intent());
}

#[test]
fn an_output_slot_is_bound_to_the_confirmed_version() {
    let mut delta = write().delta;
    let NextHead::Live { pin: slot, .. } = &mut delta.heads[1].next else { panic!("live") };
    *slot = PinSlot::Output { effect: 1 };
    let bound = bind_outputs(&delta, &[None, Some(pin(3, "inline"))]);
    let NextHead::Live { pin: slot, .. } = &bound.heads[1].next else { panic!("live") };
    assert_eq!(*slot, PinSlot::Exact(pin(3, "inline")));
}

/// The first write of a branch to table 1: its ref is made of the captured version 4.
fn first_write() -> PreparedWrite {
    let mut plan = write();
    plan.effects.truncate(1);
    plan.delta.heads.truncate(1);
    let effect = &mut plan.effects[0];
    effect.target.physical_ref = PhysicalRef::of_first_write(plan.attempt);
    (effect.pre, effect.kind) = (PreState::Absent, EffectKind::CreateRef);
    plan
}

#[test]
fn a_created_ref_starts_at_the_captured_version() {
    assert_eq!(first_write().effects[0].first_version(), 5);
    assert!(Prepared::new(first_write(), ()).is_ok());
    let mut plan = first_write();
    plan.effects[0].steps[0].read_version = 3;
    let refused = Prepared::new(plan, ()).map(drop);
    assert_eq!(refused, Err(PlanInvalid::PreStateNotPinned { effect: 0 }));
}

#[test]
fn a_ref_cannot_be_made_of_a_table_that_was_never_loaded() {
    let mut plan = write();
    plan.effects[1].kind = EffectKind::CreateRef;
    let refused = Prepared::new(plan, ()).map(drop);
    assert_eq!(refused, Err(PlanInvalid::PreStateNotPinned { effect: 1 }));
}
