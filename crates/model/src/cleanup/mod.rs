//! The model of the cleanup handshake (design 01 section 9): maintenance that may delete one version,
//! forks that make it reachable and intents that plan over it.

mod actors;
mod properties;
mod records;
#[cfg(test)]
mod tests;

use stateright::{Model, Property};

use crate::job::Job;
use actors::{Cleaner, Reacher};
use records::{CLEANERS, Put, REACHERS, Store};

/// One rule left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Defect {
    /// Every rule is kept.
    None,
    /// The roots are scanned before the plan is durable, and not again.
    ScanBeforePlan,
    /// A plan that nothing came of is withdrawn.
    PlanWithdrawn,
    /// Whoever completes a plan goes by a scan of its own.
    NoVerdict,
    /// Who makes a version reachable lists the plans first and writes its record afterwards.
    ListBeforeRecord,
}

const CONFIGURATION: &str = "the cleanup handshake";

/// The configuration with all rules kept.
pub(crate) fn configurations() -> Vec<Job> {
    vec![Job::sound(CONFIGURATION, Cleanup { defect: Defect::None })]
}

/// Every defect.
pub(crate) fn defects() -> Vec<Job> {
    let planted = [
        ("roots scanned before the plan", Defect::ScanBeforePlan),
        ("a plan withdrawn", Defect::PlanWithdrawn),
        ("plan completed by a scan of one's own", Defect::NoVerdict),
        ("plans listed before the record", Defect::ListBeforeRecord),
    ];
    planted.map(|(text, defect)| Job::defect(text, CONFIGURATION, Cleanup { defect })).into()
}

/// The model.
#[derive(Debug, Clone)]
pub(crate) struct Cleanup {
    pub(crate) defect: Defect,
}

/// A state of a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) reachers: [Reacher; REACHERS],
    pub(crate) cleaners: [Cleaner; CLEANERS],
    /// How many operations have gone unanswered.
    lost: u8,
}

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    Reaches(u8),
    /// A fork's branch is deleted, an intent is finished.
    LetsGo(u8),
    Cleans(u8),
    /// The next operation of a cleaner goes unanswered, and arrives later or never.
    CleansUnanswered(u8),
    Arrives(u8),
}

/// How many operations of a run go unanswered at most.
const LOST_MAX: u8 = 1;

impl Model for Cleanup {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            store: Store::new(),
            reachers: [Reacher::Begins; REACHERS],
            cleaners: [Cleaner::Lists; CLEANERS],
            lost: 0,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for at in 0..REACHERS as u8 {
            actions.extend([Action::Reaches(at), Action::LetsGo(at)]);
        }
        for (at, cleaner) in (0..).zip(&state.cleaners) {
            actions.push(Action::Cleans(at));
            if state.lost < LOST_MAX && cleaner.put(self.defect).is_some() {
                actions.push(Action::CleansUnanswered(at));
            }
        }
        actions.extend((0..state.store.late.len() as u8).map(Action::Arrives));
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut next = last.clone();
        match action {
            Action::Reaches(at) => {
                let reacher = &mut next.reachers[usize::from(at)];
                *reacher = reacher.next(self.defect, at, &mut next.store);
            }
            Action::LetsGo(at) => {
                let reacher = &mut next.reachers[usize::from(at)];
                *reacher = reacher.lets_go(at, &mut next.store);
            }
            Action::Cleans(at) => {
                let cleaner = &mut next.cleaners[usize::from(at)];
                *cleaner = cleaner.next(self.defect, &mut next.store);
            }
            Action::CleansUnanswered(at) => {
                let cleaner = &mut next.cleaners[usize::from(at)];
                next.lost += 1;
                next.store.late.push(cleaner.put(self.defect)?);
                // What is not known is not built upon: it begins anew.
                *cleaner = Cleaner::Lists;
            }
            Action::Arrives(at) => {
                let put: Put = next.store.late.remove(usize::from(at));
                next.store.perform(put);
            }
        }
        (next != *last).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}
