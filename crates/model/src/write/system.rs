//! The whole of a run as one state, and every step from it: a writer's, a recoverer's, the arrival of
//! something that was late, an event of the environment. Nothing is fair: whoever could act may not.

use std::sync::Arc;

use stateright::{Model, Property};

use super::environment::{self, Occurrence};
use super::line::Landing;
use super::look::Asking;
use super::properties;
use super::recovery::Recovery;
use super::scenario::Losses;
use super::setting::Setting;
use super::store::{Operation, Store};
use super::writer::{Choice, Writer};

/// A state of a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct System {
    pub(crate) store: Store,
    pub(crate) writers: Vec<Writer>,
    pub(crate) recoverers: Vec<Option<Recovery>>,
    /// How many operations have gone unanswered.
    lost: u8,
}

/// Whether an issuer learns what became of its operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Answered {
    Yes,
    /// It was sent. It arrives later, or never.
    Never,
}

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    Writer(u8, Choice, Answered),
    /// A recoverer takes up the intent of an attempt.
    TakesUp(u8, u8),
    Recoverer(u8, Answered),
    /// The operation at this place among those on their way arrives.
    Arrives(u8),
    Occurs(Occurrence),
}

/// The model of a write.
#[derive(Debug, Clone)]
pub(crate) struct Write {
    pub(crate) setting: Arc<Setting>,
}

impl System {
    fn new(setting: &Setting) -> Self {
        let writers = 0..setting.scenario.requests.len() as u8;
        Self {
            store: Store::new(&setting.scenario),
            writers: writers.map(Writer::new).collect(),
            recoverers: vec![None; setting.scenario.recoverers],
            lost: 0,
        }
    }

    /// Somebody committed to the manifest of `incarnation`: whoever has read it before has lost its
    /// slot.
    pub(crate) fn manifest_moved(&mut self, setting: &Setting, incarnation: usize) {
        for writer in &mut self.writers {
            if usize::from(writer.request(setting).incarnation) == incarnation {
                writer.manifest_moved();
            }
        }
        for recovery in self.recoverers.iter_mut().flatten() {
            if setting.scenario.incarnation(recovery.attempt()) == incarnation {
                recovery.manifest_moved();
            }
        }
    }

    fn perform(&mut self, setting: &Setting, operation: Operation) -> Landing {
        if let Operation::Manifest(transition) = &operation {
            self.manifest_moved(setting, Store::manifest_of(setting, transition));
        }
        self.store.perform(setting, operation)
    }

    fn issue(
        &mut self,
        setting: &Setting,
        operation: Operation,
        answered: Answered,
    ) -> Option<Landing> {
        if answered == Answered::Yes {
            return Some(self.perform(setting, operation));
        }
        self.lost += 1;
        self.store.late.push(operation);
        self.store.late.sort_unstable();
        None
    }

    fn writer_acts(&mut self, setting: &Setting, at: usize, choice: Choice, answered: Answered) {
        let mut writer = self.writers[at];
        if let Some(operation) = writer.durable(setting, &self.store, choice) {
            let landing = self.issue(setting, operation, answered);
            // It may have been told of a manifest commit, if only of its own.
            writer = self.writers[at];
            writer.answered(setting, &self.store, choice, landing);
        } else {
            writer.read(setting, &self.store, choice);
        }
        self.writers[at] = writer;
    }

    fn recoverer_acts(&mut self, setting: &Setting, at: usize, answered: Answered) {
        let Some(mut recovery) = self.recoverers[at] else { return };
        let ended = if let Some(operation) = recovery.durable(setting, &self.store) {
            let landing = self.issue(setting, operation, answered);
            recovery.manifest_moved_if(operation);
            recovery.answered(setting, landing)
        } else {
            recovery.read(setting, &self.store)
        };
        self.recoverers[at] = ended.is_none().then_some(recovery);
    }

    pub(crate) fn arrive(&mut self, setting: &Setting, at: usize) {
        let operation = self.store.late.remove(at);
        if let Operation::Manifest(transition) = &operation {
            self.manifest_moved(setting, Store::manifest_of(setting, transition));
        }
        self.store.arrive(setting, operation);
    }
}

impl Losses {
    /// Whether an operation of this kind may go unanswered. One that the storage refuses at once is
    /// answered.
    fn may_take(&self, setting: &Setting, store: &Store, operation: &Operation) -> bool {
        match operation {
            Operation::Commit(put) => {
                let lands = || store.line(setting, put.line).clone().commit(*put);
                self.tables && lands() == Landing::Landed
            }
            Operation::Manifest(_) => self.manifest,
            Operation::Arm { .. } | Operation::Forget { .. } => self.records,
            Operation::Remove { .. } => self.removals,
        }
    }
}

impl Write {
    /// `Yes`, and `Never` where an operation may go unanswered.
    fn answers(&self, state: &System, operation: Option<Operation>) -> &'static [Answered] {
        let losses = &self.setting.scenario.losses;
        let may_be_lost = |it: &Operation| {
            state.lost < losses.most && losses.may_take(&self.setting, &state.store, it)
        };
        if operation.as_ref().is_some_and(may_be_lost) {
            &[Answered::Yes, Answered::Never]
        } else {
            &[Answered::Yes]
        }
    }

    fn recoverer_actions(&self, state: &System, at: u8, actions: &mut Vec<Action>) {
        let setting = &self.setting;
        if let Some(recovery) = &state.recoverers[usize::from(at)] {
            let operation = recovery.durable(setting, &state.store);
            let answers = self.answers(state, operation);
            actions.extend(answers.iter().map(|answered| Action::Recoverer(at, *answered)));
        } else {
            let pending =
                setting.scenario.attempts().filter(|it| state.store.intent(*it).is_some());
            actions.extend(pending.map(|attempt| Action::TakesUp(at, attempt)));
        }
    }
}

impl Model for Write {
    type State = System;
    type Action = Action;

    fn init_states(&self) -> Vec<System> {
        vec![System::new(&self.setting)]
    }

    fn actions(&self, state: &System, actions: &mut Vec<Action>) {
        let (setting, store) = (&*self.setting, &state.store);
        for (at, writer) in (0..).zip(&state.writers) {
            for choice in writer.choices(setting, store) {
                let operation = writer.durable(setting, store, choice);
                let answers = self.answers(state, operation);
                actions.extend(answers.iter().map(|it| Action::Writer(at, choice, *it)));
            }
        }
        for at in 0..state.recoverers.len() as u8 {
            self.recoverer_actions(state, at, actions);
        }
        actions.extend((0..store.late.len() as u8).map(Action::Arrives));
        let events = environment::possible(setting, store);
        actions.extend(events.into_iter().map(Action::Occurs));
    }

    fn next_state(&self, last: &System, action: Action) -> Option<System> {
        let setting = &*self.setting;
        let mut next = last.clone();
        match action {
            Action::Writer(at, choice, answered) => {
                next.writer_acts(setting, usize::from(at), choice, answered);
            }
            Action::TakesUp(at, attempt) => {
                let plan = last.store.intent(attempt)?;
                let recovery = Recovery::of(setting, attempt, plan, Asking::Anybody);
                next.recoverers[usize::from(at)] = Some(recovery);
            }
            Action::Recoverer(at, answered) => {
                next.recoverer_acts(setting, usize::from(at), answered);
            }
            Action::Arrives(at) => next.arrive(setting, usize::from(at)),
            Action::Occurs(occurrence) => environment::occur(setting, &mut next, occurrence),
        }
        (next != *last).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}
