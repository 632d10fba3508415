//! The model of a fork (design 01 sections 8 and 9): branches made of a head and of a commit, while the
//! head moves on, branches are deleted, others decide, and maintenance takes the version that both are
//! made of. What a name means, who may do what and what it roots is said by the production's `NameFacts`.

mod actors;
mod properties;
mod records;
#[cfg(test)]
mod tests;

use stateright::{Model, Property};

use crate::job::Job;
use actors::{Cleaner, Creator, Decider, Next};
use records::{FORKS, Put, Store};

/// One rule left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Defect {
    /// Every rule is kept.
    None,
    /// The source of a fork is what it was before the beginning was durable.
    SourceNotRevalidated,
    /// The plans are listed first, and the beginning comes afterwards.
    PlansBeforeBegin,
    /// The roots are scanned before the plan is durable, and not again.
    ScanBeforePlan,
    /// The name is decided live when the clone is there, and the contents come afterwards.
    DecidedBeforeContents,
    /// An undecided name roots nothing.
    UndecidedIsNoRoot,
}

const CONFIGURATION: &str = "a fork";

/// The configuration with all rules kept.
pub(crate) fn configurations() -> Vec<Job> {
    vec![Job::sound(CONFIGURATION, Forks { defect: Defect::None })]
}

/// Every defect.
pub(crate) fn defects() -> Vec<Job> {
    let planted = [
        ("source not read again after the beginning", Defect::SourceNotRevalidated),
        ("plans listed before the beginning", Defect::PlansBeforeBegin),
        ("roots scanned before the plan of a fork's source", Defect::ScanBeforePlan),
        ("decided before the contents", Defect::DecidedBeforeContents),
        ("an undecided name is no root", Defect::UndecidedIsNoRoot),
    ];
    planted.map(|(text, defect)| Job::defect(text, CONFIGURATION, Forks { defect })).into()
}

/// The model.
#[derive(Debug, Clone)]
pub(crate) struct Forks {
    pub(crate) defect: Defect,
}

/// A state of a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) store: Store,
    /// The first forks the head, the second the commit.
    pub(crate) creators: [Creator; FORKS],
    decider: Decider,
    cleaner: Cleaner,
    /// How many operations have gone unanswered.
    lost: u8,
}

/// Who acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    Creator(u8),
    Decider,
    Cleaner,
}

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    /// Its next read, or its next operation with the answer.
    Acts(Who),
    /// Its next operation goes unanswered, and arrives later or never.
    ActsUnanswered(Who),
    Arrives(u8),
    /// The process that cleans up stops, and another one begins.
    CleanerStops,
    /// A commit to the source: what is forked is its head no more.
    HeadMoves,
    SourceIsDeleted,
    ForkIsDeleted(u8),
}

/// How many operations of a run go unanswered at most.
const LOST_MAX: u8 = 1;

impl Forks {
    fn put(&self, state: &State, who: Who) -> Option<Put> {
        let store = &state.store;
        match who {
            Who::Creator(at) => {
                issued(&state.creators[usize::from(at)].next(self.defect, at, store))
            }
            Who::Decider => issued(&state.decider.next(store)),
            Who::Cleaner => issued(&state.cleaner.next(self.defect, store)),
        }
    }

    /// `who` reads and becomes what follows; false if it waits.
    fn read(&self, next: &mut State, who: Who) -> bool {
        let store = &next.store;
        match who {
            Who::Creator(at) => {
                let actor = &mut next.creators[usize::from(at)];
                become_next(actor, actor.next(self.defect, at, store))
            }
            Who::Decider => {
                let becomes = next.decider.next(store);
                become_next(&mut next.decider, becomes)
            }
            Who::Cleaner => {
                let becomes = next.cleaner.next(self.defect, store);
                become_next(&mut next.cleaner, becomes)
            }
        }
    }

    fn answered(&self, next: &mut State, who: Who, is_known: bool) {
        match who {
            Who::Creator(at) => {
                let actor = &mut next.creators[usize::from(at)];
                *actor = actor.after(self.defect, at, is_known);
            }
            Who::Decider => next.decider = Decider::Lists,
            Who::Cleaner => next.cleaner = next.cleaner.after(self.defect, is_known),
        }
    }

    fn act(&self, last: &State, who: Who) -> Option<State> {
        let mut next = last.clone();
        let Some(put) = self.put(last, who) else {
            return self.read(&mut next, who).then_some(next);
        };
        next.store.perform(put);
        self.answered(&mut next, who, true);
        Some(next)
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

impl Model for Forks {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            store: Store::new(),
            creators: [Creator::Captures; FORKS],
            decider: Decider::Lists,
            cleaner: Cleaner::Lists,
            lost: 0,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let creators = (0..FORKS as u8).map(Who::Creator);
        for who in creators.chain([Who::Decider, Who::Cleaner]) {
            actions.push(Action::Acts(who));
            if state.lost < LOST_MAX && self.put(state, who).is_some() {
                actions.push(Action::ActsUnanswered(who));
            }
        }
        actions.extend((0..state.store.late.len() as u8).map(Action::Arrives));
        actions.extend([Action::CleanerStops, Action::HeadMoves, Action::SourceIsDeleted]);
        actions.extend((0..FORKS as u8).map(Action::ForkIsDeleted));
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut next = last.clone();
        match action {
            Action::Acts(who) => return self.act(last, who),
            Action::ActsUnanswered(who) => {
                next.lost += 1;
                next.store.late.push(self.put(last, who)?);
                self.answered(&mut next, who, false);
            }
            Action::Arrives(at) => {
                let put = next.store.late.remove(usize::from(at));
                next.store.perform(put);
            }
            Action::CleanerStops => next.cleaner = Cleaner::Lists,
            Action::HeadMoves => next.store.is_head = false,
            Action::SourceIsDeleted => next.store.source_is_deleted = true,
            Action::ForkIsDeleted(at) => {
                let rights = next.store.facts(at).state().rights();
                next.store.forks[usize::from(at)].is_deleted |= rights.delete;
            }
        }
        (next != *last).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}
