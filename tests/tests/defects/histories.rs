//! Defects that random histories come upon, within what is always run of them.

use graphwrite_protocol_types::Defect;

use crate::judge::tell;
use crate::model::first_to_show;

fn shows(defect: Defect) {
    let first = first_to_show(defect);
    tell(&format!("{}: found out by history {first:?}", defect.name()));
    assert!(first.is_some(), "no history shows {}", defect.name());
}

#[test]
fn an_intent_after_the_first_effect_is_found_out_by_a_random_history() {
    shows(Defect::IntentAfterEffect);
}
