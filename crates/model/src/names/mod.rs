//! The model of a branch name (design 01 section 8): creators who race, deciders, deleters, a name made
//! again, reclaim, and writers who publish and then list the records. What a name means and who may do
//! what is said by the production's `NameFacts` and `NameState::rights`.

mod actors;
mod properties;
mod records;
#[cfg(test)]
mod tests;

use stateright::{Model, Property};

use crate::job::Job;
use actors::{Creator, Decider, Deleter, Next, Writer};
use records::{NUMBERS, Put, Store, WRITERS};

/// One rule left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Defect {
    /// Every rule is kept.
    None,
    /// A later decision replaces an earlier one.
    LastDecisionWins,
    /// A publish is acknowledged without a LIST of the records after it.
    NoListAfterPublish,
    /// The native branches of a name share one name (K4).
    NativeNameReused,
}

const CONFIGURATION: &str = "a branch name";

/// The configuration with all rules kept.
pub(crate) fn configurations() -> Vec<Job> {
    vec![Job::sound(CONFIGURATION, Names { defect: Defect::None })]
}

/// Every defect.
pub(crate) fn defects() -> Vec<Job> {
    let planted = [
        ("a later decision wins", Defect::LastDecisionWins),
        ("no list after the publish", Defect::NoListAfterPublish),
        ("native branch name used again", Defect::NativeNameReused),
    ];
    planted.map(|(text, defect)| Job::defect(text, CONFIGURATION, Names { defect })).into()
}

/// The model.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    pub(crate) defect: Defect,
}

/// A state of a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) creators: [Creator; NUMBERS],
    decider: Decider,
    deleter: Deleter,
    pub(crate) writers: [Writer; WRITERS],
    /// How many operations have gone unanswered.
    lost: u8,
}

/// Who acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    Creator(u8),
    Decider,
    Deleter,
    Writer(u8),
}

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    /// Its next read, or its next operation with the answer.
    Acts(Who),
    /// Its next operation goes unanswered, and arrives later or never.
    ActsUnanswered(Who),
    GivesUp(u8),
    Arrives(u8),
    Reclaims(u8),
}

/// How many operations of a run go unanswered at most.
const LOST_MAX: u8 = 1;

impl Names {
    /// The operation that is next for `who`, if one is.
    fn put(&self, state: &State, who: Who) -> Option<Put> {
        let store = &state.store;
        match who {
            Who::Creator(at) => issued(&state.creators[usize::from(at)].next(at, store)),
            Who::Decider => issued(&state.decider.next(self.defect, store)),
            Who::Deleter => issued(&state.deleter.next(store)),
            Who::Writer(at) => issued(&state.writers[usize::from(at)].next(self.defect, at, store)),
        }
    }

    /// `who` reads and becomes what follows; false if it waits.
    fn read(&self, next: &mut State, who: Who) -> bool {
        let store = &next.store;
        match who {
            Who::Creator(at) => {
                let actor = &mut next.creators[usize::from(at)];
                become_next(actor, actor.next(at, store))
            }
            Who::Decider => {
                let becomes = next.decider.next(self.defect, store);
                become_next(&mut next.decider, becomes)
            }
            Who::Deleter => {
                let becomes = next.deleter.next(store);
                become_next(&mut next.deleter, becomes)
            }
            Who::Writer(at) => {
                let actor = &mut next.writers[usize::from(at)];
                become_next(actor, actor.next(self.defect, at, store))
            }
        }
    }

    fn answered(next: &mut State, who: Who, took_effect: Option<bool>) {
        match who {
            Who::Creator(at) => {
                let actor = &mut next.creators[usize::from(at)];
                *actor = actor.after(took_effect);
            }
            Who::Decider => next.decider = Decider::Lists,
            Who::Deleter => next.deleter = Deleter::Over,
            Who::Writer(at) => {
                let actor = &mut next.writers[usize::from(at)];
                *actor = actor.after(&next.store, took_effect);
            }
        }
    }
}

fn issued<A>(next: &Next<A>) -> Option<Put> {
    match next {
        Next::Issues(put) => Some(*put),
        Next::Becomes(_) | Next::Waits => None,
    }
}

fn become_next<A>(actor: &mut A, next: Next<A>) -> bool {
    let Next::Becomes(becomes) = next else { return false };
    *actor = becomes;
    true
}

fn everybody() -> impl Iterator<Item = Who> {
    let creators = (0..NUMBERS as u8).map(Who::Creator);
    let writers = (0..WRITERS as u8).map(Who::Writer);
    creators.chain(writers).chain([Who::Decider, Who::Deleter])
}

impl Model for Names {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            store: Store::default(),
            creators: [Creator::Lists; NUMBERS],
            decider: Decider::Lists,
            deleter: Deleter::Lists,
            writers: [Writer::Opens; WRITERS],
            lost: 0,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for who in everybody() {
            actions.push(Action::Acts(who));
            if state.lost < LOST_MAX && self.put(state, who).is_some() {
                actions.push(Action::ActsUnanswered(who));
            }
        }
        actions.extend((0..NUMBERS as u8).map(Action::GivesUp));
        actions.extend((0..state.store.late.len() as u8).map(Action::Arrives));
        actions.extend(state.store.reclaimable(self.defect).map(Action::Reclaims));
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut next = last.clone();
        match action {
            Action::Acts(who) => match self.put(last, who) {
                Some(put) => {
                    let took_effect = next.store.perform(self.defect, put);
                    Self::answered(&mut next, who, Some(took_effect));
                }
                None => return self.read(&mut next, who).then_some(next),
            },
            Action::ActsUnanswered(who) => {
                next.lost += 1;
                next.store.late.push(self.put(last, who)?);
                Self::answered(&mut next, who, None);
            }
            Action::GivesUp(at) => {
                let actor = &mut next.creators[usize::from(at)];
                *actor = actor.gives_up()?;
            }
            Action::Arrives(at) => {
                let put = next.store.late.remove(usize::from(at));
                next.store.perform(self.defect, put);
            }
            Action::Reclaims(number) => next.store.reclaim(self.defect, number),
        }
        (next != *last).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}
