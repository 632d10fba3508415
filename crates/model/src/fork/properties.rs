//! What must hold of forks in every state.

use graphwrite_protocol_types::{NameState, Wholeness};
use stateright::Property;

use super::actors::{Cleaner, Creator, Decider, Next};
use super::records::{FORKS, Store, Verdict};
use super::{Forks, State};

/// Every property.
pub(crate) fn all() -> Vec<Property<Forks>> {
    vec![
        Property::always("what a branch was made of is there", |_: &Forks, state: &State| {
            state.store.version_exists || !live(&state.store).any(|_| true)
        }),
        Property::always("a live branch is whole", |_: &Forks, state: &State| {
            let store = &state.store;
            !forks().any(|it| store.looked_at(it).state() == NameState::Live(Wholeness::Damaged))
        }),
        Property::always(
            "one process alone settles names and plans",
            |model: &Forks, state: &State| settles(model, &state.store),
        ),
        Property::sometimes("a fork of the head is made", |_: &Forks, state: &State| {
            state.creators[0] == Creator::Made
        }),
        Property::sometimes("a fork of a commit is made", |_: &Forks, state: &State| {
            state.creators[1] == Creator::Made && !state.store.is_head
        }),
        Property::sometimes("a fork outlives its source", |_: &Forks, state: &State| {
            state.store.source_is_deleted && live(&state.store).any(|_| true)
        }),
        Property::sometimes("a fork gives way to a plan", |_: &Forks, state: &State| {
            let gave_way = state.store.forks[1].decided == Some(Verdict::Void);
            state.store.open_plan().is_some() && gave_way
        }),
        Property::sometimes("a version goes", |_: &Forks, state: &State| {
            !state.store.version_exists
        }),
        Property::sometimes("a plan keeps what a fork was made of", |_: &Forks, state: &State| {
            let kept = state.store.plans.iter().any(|it| it.is_done && it.verdict == Some(false));
            kept && live(&state.store).any(|_| true)
        }),
    ]
}

fn forks() -> impl Iterator<Item = u8> {
    0..FORKS as u8
}

fn live(store: &Store) -> impl Iterator<Item = u8> {
    forks().filter(|fork| store.facts(*fork).state().is_live())
}

/// A new process decides what is undecided and takes up the plan that is open; afterwards nobody has to
/// come back.
fn settles(model: &Forks, store: &Store) -> bool {
    let (mut store, mut decider, mut cleaner) = (store.clone(), Decider::Lists, Cleaner::Lists);
    for _ in 0..2 * FORKS {
        match decider.next(&store) {
            Next::Becomes(next) => decider = next,
            Next::Issues(put) => {
                store.perform(put);
                decider = Decider::Lists;
            }
            Next::Waits => break,
        }
    }
    for _ in 0..16 {
        if store.open_plan().is_none() {
            break;
        }
        match cleaner.next(model.defect, &store) {
            Next::Becomes(next) => cleaner = next,
            Next::Issues(put) => {
                store.perform(put);
                cleaner = cleaner.after(model.defect, true);
            }
            Next::Waits => break,
        }
    }
    let is_undecided = |fork| matches!(store.facts(fork).state(), NameState::Creating(_));
    store.open_plan().is_none() && !forks().any(is_undecided)
}
