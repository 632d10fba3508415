//! From slots to evidence.

use std::collections::BTreeMap;

use graphwrite_protocol_types::*;

use super::fixture::*;
use crate::*;

/// The slots of the ref of `effect` from its pre-state on; `-` is a slot that was collected, `?`
/// one that cannot be read.
fn facts(first: u64, slots: &[&str]) -> RefFacts {
    let numbered: Vec<(u64, &str)> = (first..).zip(slots.iter().copied()).collect();
    let slot = |text| match text {
        "?" => SlotFacts::Unreadable { reason: "bad bytes".into() },
        text => SlotFacts::Taken(tx(text)),
    };
    let taken = numbered.iter().filter(|(_, text)| *text != "-");
    let taken: BTreeMap<u64, SlotFacts> = taken.map(|(at, text)| (*at, slot(text))).collect();
    let (head, name) = numbered[numbered.len() - 1];
    RefFacts::Present { head: pin(head, name), slots: taken }
}

fn own(kind: EffectKind) -> Effect {
    effect(attempt(), 0, kind)
}

/// Evidence of an effect on an existing ref, from the slots above its pre-state.
fn above(kind: EffectKind, slots: &[&str]) -> Evidence {
    let pre = old_tx(1, PRE).to_string();
    let slots: Vec<&str> = [pre.as_str()].into_iter().chain(slots.iter().copied()).collect();
    evidence_of(&own(kind), 0, attempt(), &facts(PRE, &slots), None)
}

fn step(step: u32) -> String {
    TxUuid::effect(attempt(), 0, step).to_string()
}

fn fence() -> String {
    TxUuid::fence(attempt(), 0).to_string()
}

fn restore() -> String {
    TxUuid::restore(attempt(), 0).to_string()
}

#[test]
fn planned_steps_count_until_the_first_other_slot() {
    use EffectKind::{Chain, Staged};
    assert_eq!(above(Staged, &[]), Evidence::Open(0));
    assert_eq!(above(Staged, &[&step(0)]), Evidence::Complete);
    assert_eq!(above(Chain, &[&step(0)]), Evidence::Open(1));
    assert_eq!(above(Chain, &[&step(0), &step(1)]), Evidence::Complete);
}

#[test]
fn our_fence_and_our_restore_are_recognised_where_they_belong() {
    use EffectKind::{Chain, Staged};
    let fenced = Evidence::Closed { version: PRE + 1, how: Closing::Fence };
    assert_eq!(above(Staged, &[&fence()]), fenced);
    assert_eq!(above(Staged, &[&fence(), "later"]), fenced);
    let restored = |version| Evidence::Closed { version, how: Closing::Restore };
    assert_eq!(above(Staged, &[&step(0), &restore()]), restored(PRE + 2));
    assert_eq!(above(Chain, &[&step(0), &restore(), "later"]), restored(PRE + 2));
    assert_eq!(above(Chain, &[&step(0), &step(1), &restore()]), restored(PRE + 3));
}

#[test]
fn a_fence_of_another_effect_or_attempt_is_foreign() {
    let other_effect = TxUuid::fence(attempt(), 1).to_string();
    let other_attempt = TxUuid::fence(AttemptId::from_u128(7), 0).to_string();
    assert_eq!(above(EffectKind::Staged, &[&other_effect]), Evidence::SlotForeign);
    assert_eq!(above(EffectKind::Staged, &[&other_attempt]), Evidence::SlotForeign);
}

#[test]
fn a_foreign_commit_above_a_step_buries_it() {
    assert_eq!(above(EffectKind::Staged, &["other"]), Evidence::SlotForeign);
    assert_eq!(above(EffectKind::Staged, &[&step(0), "other"]), Evidence::Buried);
    assert_eq!(above(EffectKind::Chain, &[&step(0), "other"]), Evidence::Buried);
    assert_eq!(above(EffectKind::Chain, &["other", &step(1)]), Evidence::Buried);
    assert_eq!(above(EffectKind::Chain, &[&step(0), &fence()]), Evidence::Buried);
}

#[test]
fn a_higher_version_of_somebody_else_proves_nothing_about_ours() {
    assert_eq!(above(EffectKind::Staged, &["a", "b", "c"]), Evidence::SlotForeign);
}

#[test]
fn a_hole_an_unreadable_slot_or_another_pre_state_cannot_be_judged() {
    assert_eq!(above(EffectKind::Staged, &["-", "other"]), Evidence::Unreadable);
    assert_eq!(above(EffectKind::Staged, &["?"]), Evidence::Unreadable);
    assert_eq!(above(EffectKind::Chain, &[&step(0), "?"]), Evidence::Unreadable);
    let other_pre = facts(PRE, &["somebody"]);
    let found = evidence_of(&own(EffectKind::Staged), 0, attempt(), &other_pre, None);
    assert_eq!(found, Evidence::Unreadable);
}

#[test]
fn a_pre_state_that_was_collected_does_not_hide_what_is_above_it() {
    let found = facts(PRE, &["-", &step(0)]);
    let found = evidence_of(&own(EffectKind::Staged), 0, attempt(), &found, None);
    assert_eq!(found, Evidence::Complete);
}

#[test]
fn a_head_that_was_read_before_the_slots_does_not_hide_a_step() {
    let mut found = facts(PRE, &[old_tx(1, PRE).as_str(), &step(0)]);
    if let RefFacts::Present { head, .. } = &mut found {
        *head = pre_pin(1);
    }
    let found = evidence_of(&own(EffectKind::Staged), 0, attempt(), &found, None);
    assert_eq!(found, Evidence::Complete);
}

#[test]
fn a_uniquely_named_object_is_absent_untouched_partly_or_completely_made() {
    let judge = |kind, facts| evidence_of(&own(kind), 0, attempt(), &facts, None);
    assert_eq!(judge(EffectKind::CreateDataset, RefFacts::Absent), Evidence::RefAbsent);
    let created = facts(1, &[&step(0)]);
    assert_eq!(judge(EffectKind::CreateDataset, created), Evidence::Open(1));
    let loaded = facts(1, &[&step(0), &step(1)]);
    assert_eq!(judge(EffectKind::CreateDataset, loaded), Evidence::Complete);
    let cloned = facts(PRE, &["clone"]);
    assert_eq!(judge(EffectKind::CreateRef, cloned), Evidence::RefUntouched);
    let written = facts(PRE, &["clone", &step(0)]);
    assert_eq!(judge(EffectKind::CreateRef, written), Evidence::Complete);
}

#[test]
fn a_late_step_under_a_name_that_was_removed_can_be_removed_again() {
    let judge = |facts| evidence_of(&own(EffectKind::CreateDataset), 0, attempt(), &facts, None);
    assert_eq!(judge(facts(1, &["-", &step(1)])), Evidence::RefUntouched);
    assert_eq!(judge(facts(1, &["-", "other"])), Evidence::Unreadable);
    assert_eq!(judge(facts(1, &["-", "?"])), Evidence::Unreadable);
    assert_eq!(judge(facts(1, &["-", &step(1), "other"])), Evidence::Unreadable);
    assert_eq!(above(EffectKind::Chain, &["-", &step(1)]), Evidence::Unreadable);
}

#[test]
fn an_inline_effect_is_complete_only_at_its_confirmed_version() {
    let effect = own(EffectKind::Inline);
    let judge = |slots: &[&str], confirmed: Option<Pin>| {
        let pre = old_tx(1, PRE).to_string();
        let slots: Vec<&str> = [pre.as_str()].into_iter().chain(slots.iter().copied()).collect();
        evidence_of(&effect, 0, attempt(), &facts(PRE, &slots), confirmed.as_ref())
    };
    assert_eq!(judge(&[&step(0), &step(1)], None), Evidence::Open(2));
    assert_eq!(judge(&["inline"], Some(pin(PRE + 1, "inline"))), Evidence::Complete);
    assert_eq!(judge(&["inline", "x"], Some(pin(PRE + 1, "inline"))), Evidence::Buried);
    assert_eq!(judge(&["other"], Some(pin(PRE + 1, "inline"))), Evidence::SlotForeign);
}

#[test]
fn the_slots_to_observe_reach_from_the_pre_state_to_a_restore() {
    let slots = |kind| slots_to_observe(&own(kind));
    assert_eq!(slots(EffectKind::Staged), Some(PRE..=PRE + 2));
    assert_eq!(slots(EffectKind::Chain), Some(PRE..=PRE + 3));
    assert_eq!(slots(EffectKind::Inline), Some(PRE..=PRE + 3));
    assert_eq!(slots(EffectKind::CreateDataset), Some(1..=3));
    assert_eq!(slots(EffectKind::Pointer), None);
}

/// Every line of four slots above the pre-state, each vacant or one of six things.
fn every_line(check: impl Fn(&[&str], Evidence)) -> usize {
    let (zero, one, fence, restore) = (step(0), step(1), fence(), restore());
    let things = ["-", "?", "other", &zero, &one, &fence, &restore];
    let mut lines = 0;
    for number in 0..things.len().pow(4) {
        let digit = |at: u32| things[number / things.len().pow(at) % things.len()];
        let mut slots: Vec<&str> = (0..4).map(digit).collect();
        while slots.last() == Some(&"-") {
            slots.pop();
        }
        check(&slots, above(EffectKind::Chain, &slots));
        lines += 1;
    }
    lines
}

#[test]
fn no_line_of_slots_is_taken_for_more_than_it_proves() {
    let (zero, one) = (step(0), step(1));
    let lines = every_line(|slots, evidence| match evidence {
        Evidence::Complete => assert_eq!(slots, [&zero, &one]),
        Evidence::Open(0) => assert!(slots.is_empty()),
        Evidence::Open(landed) => assert_eq!((landed, slots), (1, &[zero.as_str()][..])),
        Evidence::Closed { version, how } => {
            let closing = slots[(version - PRE - 1) as usize];
            let expected = if how == Closing::Fence { fence() } else { restore() };
            assert_eq!(closing, expected);
        }
        Evidence::SlotForeign => {
            assert!(!slots[0].is_empty() && slots[0] != "?" && slots[0] != "-");
            assert!(slots[0] != zero && slots[0] != fence());
            assert_ne!(slots.get(1), Some(&one.as_str()), "a landed step is called harmless");
        }
        Evidence::Buried => assert!(slots.iter().any(|slot| *slot == zero || *slot == one)),
        Evidence::Unreadable => assert!(slots.contains(&"?") || slots.contains(&"-")),
        Evidence::RefAbsent | Evidence::RefUntouched => panic!("the ref is there: {slots:?}"),
    });
    assert_eq!(lines, 2401);
}
