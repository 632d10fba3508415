//! The classifier of names over every combination of what it can be told.

use crate::*;

const BEGUN: [BegunFact; 3] = [BegunFact::Absent, BegunFact::Present, BegunFact::Unusable];
const DECIDED: [DecidedFact; 4] =
    [DecidedFact::Absent, DecidedFact::Live, DecidedFact::Void, DecidedFact::Unusable];
const PHYSICAL: [PhysicalFact; 4] =
    [PhysicalFact::NotAsked, PhysicalFact::Absent, PhysicalFact::Own, PhysicalFact::Foreign];

fn all() -> Vec<NameFacts> {
    let mut all = Vec::new();
    for begun in BEGUN {
        for decided in DECIDED {
            for deleted in [false, true] {
                for clone in PHYSICAL {
                    for contents in PHYSICAL {
                        all.push(NameFacts { begun, decided, deleted, clone, contents });
                    }
                }
            }
        }
    }
    all
}

fn row(facts: &NameFacts) -> String {
    let NameFacts { begun, decided, deleted, clone, contents } = facts;
    let records = format!("{begun:?} {decided:?} {}", if *deleted { "deleted" } else { "-" });
    format!("{records} | {clone:?} {contents:?} | {:?}", facts.state())
}

#[test]
fn every_combination_has_the_state_of_the_truth_table() {
    let rows: Vec<String> = all().iter().map(row).collect();
    assert_eq!(rows.len(), 384);
    insta::assert_snapshot!(rows.join("\n"));
}

#[test]
fn every_state_has_the_rights_of_the_table() {
    let mut states: Vec<NameState> = all().iter().map(NameFacts::state).collect();
    states.sort();
    states.dedup();
    let row = |state: &NameState| format!("{state:?}\n    {:?}", state.rights());
    insta::assert_snapshot!(states.iter().map(row).collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_name_is_begun_again_only_when_its_highest_number_is_dead() {
    for facts in all() {
        let dead = facts.deleted || facts.decided == DecidedFact::Void;
        let free = facts.begun == BegunFact::Absent && facts.decided == DecidedFact::Absent;
        assert_eq!(facts.state().rights().begin, dead || free, "{}", row(&facts));
    }
}

#[test]
fn nobody_decides_what_is_decided_or_deleted() {
    for facts in all() {
        let rights = facts.state().rights();
        let decides = rights.owner_decides_live
            || rights.owner_decides_void
            || rights.others != OthersMay::Nothing;
        let open = facts.begun == BegunFact::Present
            && facts.decided == DecidedFact::Absent
            && !facts.deleted;
        assert_eq!(decides, open, "{}", row(&facts));
    }
}

#[test]
fn an_incarnation_is_decided_live_only_over_its_own_clone_and_contents() {
    let whole =
        |facts: &NameFacts| facts.clone == PhysicalFact::Own && facts.contents == PhysicalFact::Own;
    for facts in all() {
        let rights = facts.state().rights();
        if rights.owner_decides_live || rights.others == OthersMay::DecideLive {
            assert!(whole(&facts), "{}", row(&facts));
        }
        if rights.others == OthersMay::DecideVoidAfterWaiting {
            assert!(!whole(&facts), "{}", row(&facts));
        }
    }
}

#[test]
fn what_is_used_is_decided_live_and_not_deleted_and_keeps_maintenance_away() {
    for facts in all() {
        let rights = facts.state().rights();
        let live = facts.decided == DecidedFact::Live && !facts.deleted;
        assert!(!rights.use_it || live, "{}", row(&facts));
        assert_eq!(rights.roots == RootedBy::Branch, live, "{}", row(&facts));
        assert!(!rights.reclaim || rights.roots == RootedBy::Nothing, "{}", row(&facts));
    }
}

#[test]
fn nothing_foreign_is_reclaimed() {
    for facts in all() {
        let foreign = [facts.clone, facts.contents].contains(&PhysicalFact::Foreign);
        assert!(!(foreign && facts.state().rights().reclaim), "{}", row(&facts));
    }
}

#[test]
fn every_name_can_be_freed_by_somebody() {
    for facts in all() {
        let rights = facts.state().rights();
        let frees = rights.begin
            || rights.delete
            || matches!(rights.others, OthersMay::DecideLive | OthersMay::DecideVoidAfterWaiting)
            || rights.others == OthersMay::Look;
        assert!(frees, "{}", row(&facts));
    }
}
