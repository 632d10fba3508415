//! What happens beside writers and recoverers, as one step each: what cleanup, branch control, schema
//! changes, operators and failing disks do to the store.

use graphwrite_recovery::slots_to_observe;

use super::code::number;
use super::defect::Defect;
use super::scenario::Event;
use super::setting::Setting;
use super::store::{Branch, Operation, Store};
use super::system::System;
use super::view::{Head, Plan};

/// One occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Occurrence {
    Collects { table: u8, version: u8 },
    BranchDeleted,
    BranchRecreated,
    Dropped { table: u8 },
    GoesBad { table: u8 },
    Sealed { operation: u8 },
}

/// What can occur now.
pub(crate) fn possible(setting: &Setting, store: &Store) -> Vec<Occurrence> {
    let events = setting.scenario.events.iter();
    events.flat_map(|event| occurrences(setting, store, *event)).collect()
}

fn occurrences(setting: &Setting, store: &Store, event: Event) -> Vec<Occurrence> {
    let one = |is_possible: bool, it: Occurrence| if is_possible { vec![it] } else { Vec::new() };
    match event {
        Event::Cleanup { table } => collectable(setting, store, table),
        Event::BranchControl => match store.branch {
            Branch::First => vec![Occurrence::BranchDeleted],
            Branch::Deleted => vec![Occurrence::BranchRecreated],
            Branch::Second => Vec::new(),
        },
        Event::Tombstone { table } => {
            let head = store.views[0][usize::from(table)];
            one(head != Head::Tombstoned, Occurrence::Dropped { table })
        }
        Event::Unreadable { table } => {
            one(!store.unreadable[usize::from(table)], Occurrence::GoesBad { table })
        }
        Event::Seal { operation } => {
            let sealed = store.sealed[usize::from(operation)];
            let mut attempts = setting.scenario.attempts();
            let of_it = attempts.find(|it| setting.scenario.operation(*it) == Some(operation));
            let decided = of_it.and_then(|it| store.committed_attempt(setting, it));
            one(!sealed && decided.is_none(), Occurrence::Sealed { operation })
        }
    }
}

/// Cleanup leaves alone what a head pins, what is above it, and every slot that an intent plans. An
/// intent that is still on its way counts: its attempt is younger than the age floor. An attempt that
/// may yet arm an intent is handled where the version goes.
fn collectable(setting: &Setting, store: &Store, table: u8) -> Vec<Occurrence> {
    let Some((line, pin)) = store.views[0][usize::from(table)].live() else { return Vec::new() };
    let below = store.line(setting, line).present().filter(|version| *version < pin.version);
    let free = below.filter(|version| !is_planned(setting, store, table, *version));
    free.map(|version| Occurrence::Collects { table, version }).collect()
}

fn is_planned(setting: &Setting, store: &Store, table: u8, version: u8) -> bool {
    let pending = setting.scenario.attempts().filter_map(|it| Some((it, store.intent(it)?)));
    let late = store.late.iter().filter_map(|late| match late {
        Operation::Arm { attempt, plan } => Some((*attempt, *plan)),
        _ => None,
    });
    pending.chain(late).any(|(attempt, plan)| plans(setting, attempt, &plan, table, version))
}

fn plans(setting: &Setting, attempt: u8, plan: &Plan, table: u8, version: u8) -> bool {
    let Some(intent) = setting.intent(attempt, plan) else { return true };
    let on_table = |effect: &&graphwrite_protocol_types::Effect| {
        super::code::table_of(effect.target.identity) == table
    };
    let mut slots = intent.effects.iter().filter(on_table).filter_map(slots_to_observe);
    slots.any(|slots| (number(*slots.start())..=number(*slots.end())).contains(&version))
}

/// Lets it occur.
pub(crate) fn occur(setting: &Setting, system: &mut System, occurrence: Occurrence) {
    let store = &mut system.store;
    match occurrence {
        Occurrence::Collects { table, version } => {
            let Some((line, _)) = store.views[0][usize::from(table)].live() else { return };
            store.lines[setting.place_of(line)].collect(version);
            // What cleanup takes is older than the floor, so an attempt that names it is too old to
            // arm its intent (the fourth rule of design 01 section 9).
            for writer in &mut system.writers {
                let names = |at, plan: &Plan| plans(setting, at, plan, table, version);
                if setting.defect != Defect::NoAgeFloor {
                    writer.stops_if_too_old(setting, names);
                }
            }
        }
        Occurrence::BranchDeleted => store.branch = Branch::Deleted,
        Occurrence::BranchRecreated => store.branch = Branch::Second,
        Occurrence::Dropped { table } => {
            store.views[0][usize::from(table)] = Head::Tombstoned;
            store.take_slot(setting, 0);
            system.manifest_moved(setting, 0);
        }
        Occurrence::GoesBad { table } => store.unreadable[usize::from(table)] = true,
        Occurrence::Sealed { operation } => {
            store.sealed[usize::from(operation)] = true;
            store.take_slot(setting, 0);
            system.manifest_moved(setting, 0);
        }
    }
}
