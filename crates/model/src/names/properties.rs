//! What must hold of a branch name in every state.

use graphwrite_protocol_types::NameState;
use stateright::Property;

use super::actors::{Creator, Decider, Next, Writer};
use super::records::{Verdict, place};
use super::{Defect, Names, State};

/// Every property.
pub(crate) fn all() -> Vec<Property<Names>> {
    vec![
        Property::always(
            "a branch that was made stays until it is deleted",
            |model: &Names, state: &State| {
                made(state).all(|(number, creator)| stays(model.defect, state, number, creator))
            },
        ),
        Property::always("a name means one branch at a time", |_: &Names, state: &State| {
            let mut pairs =
                made(state).flat_map(|one| made(state).map(move |other| (one.0, other.0)));
            pairs.all(|(one, other)| one >= other || is_deleted(state, one))
        }),
        Property::always(
            "no commit is acknowledged on a deleted branch",
            |_: &Names, state: &State| {
                !state
                    .writers
                    .iter()
                    .any(|it| matches!(it, Writer::Committed { was_deleted: true, .. }))
            },
        ),
        Property::always(
            "an acknowledged commit is on its branch",
            |model: &Names, state: &State| acknowledged_is_there(model.defect, state),
        ),
        Property::always(
            "a branch has no commit of an earlier one",
            |model: &Names, state: &State| has_own_commits_only(model.defect, state),
        ),
        Property::always("one process alone settles the name", |model: &Names, state: &State| {
            settles(model.defect, state)
        }),
        Property::sometimes("a name is used again", |_: &Names, state: &State| {
            made(state).count() > 1
        }),
        Property::sometimes("a commit is acknowledged", |_: &Names, state: &State| {
            state.writers.iter().any(|writer| matches!(writer, Writer::Committed { .. }))
        }),
        Property::sometimes("another decides", |_: &Names, state: &State| {
            let void = |it: &super::records::Records| it.decided == Some(Verdict::Void);
            state.store.numbers.iter().any(void)
        }),
    ]
}

/// The numbers of which somebody was told that they are branches, with their creators.
fn made(state: &State) -> impl Iterator<Item = (u8, u8)> {
    (0..).zip(&state.creators).filter_map(|(at, creator)| match creator {
        Creator::Made(number) => Some((*number, at)),
        _ => None,
    })
}

fn is_deleted(state: &State, number: u8) -> bool {
    state.store.numbers[usize::from(number)].is_deleted
}

fn stays(defect: Defect, state: &State, number: u8, creator: u8) -> bool {
    let native = state.store.natives[place(defect, creator)];
    let live = state.store.numbers[usize::from(number)].decided == Some(Verdict::Live);
    is_deleted(state, number) || (live && native.has_clone && native.has_contents)
}

fn acknowledged_is_there(defect: Defect, state: &State) -> bool {
    (0..).zip(&state.writers).all(|(at, writer): (usize, _)| {
        let Writer::Committed { number, .. } = writer else { return true };
        let creator = state.store.numbers[usize::from(*number)].begun;
        let native = creator.map(|it| state.store.natives[place(defect, it)]);
        let there = native.is_some_and(|native| native.published[at] == Some(*number));
        there || is_deleted(state, *number)
    })
}

fn has_own_commits_only(defect: Defect, state: &State) -> bool {
    let Some(number) = state.store.highest().filter(|it| state.store.means(*it)) else {
        return true;
    };
    let creator = state.store.numbers[usize::from(number)].begun;
    let native = creator.map(|it| state.store.natives[place(defect, it)]).unwrap_or_default();
    native.published.iter().flatten().all(|published| *published == number)
}

/// One process alone: it lists, looks, decides. Nobody has to come back for the name to be usable.
fn settles(defect: Defect, state: &State) -> bool {
    let (mut store, mut decider) = (state.store.clone(), Decider::Lists);
    for _ in 0..4 {
        match decider.next(defect, &store) {
            Next::Becomes(next) => decider = next,
            Next::Issues(put) => {
                store.perform(defect, put);
                decider = Decider::Lists;
            }
            Next::Waits => break,
        }
    }
    !matches!(store.listed().state(), NameState::Creating(_) | NameState::Unusable)
}
