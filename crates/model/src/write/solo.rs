//! One recoverer alone. From a store, a new process takes up one intent after the other and ends it,
//! then touches every table as the next write does; everybody else stands still for ever, and what is
//! on its way arrives at any point of this, or never.
//!
//! The check is exact, not a sample. The recoverer alone is deterministic, so that a run branches only
//! where something arrives; each arrival leaves one operation less on its way, so that the runs are a
//! finite tree, which is walked in full. What everybody else was doing does not matter, because a new
//! process finds nothing but the store: the answer is kept by the store's fingerprint.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::code::TABLES;
use super::line::Landing;
use super::look::{Asking, Stopped};
use super::properties::{heads_are_above_pins, visible_is_committed};
use super::recovery::{Ended, Recovery};
use super::setting::Setting;
use super::store::{Move, Operation, Store, Transition};
use super::writer::is_fence_above;

/// No run of the largest plan comes near it.
const STEPS_MAX: u32 = 200;

/// Whether one recoverer alone, from this store, empties `_recovery` and brings every HEAD to its
/// pin, whatever arrives meanwhile. What cannot be read stays, and blocks itself only.
pub(crate) fn ends_everything_alone(setting: &Setting, store: &Store) -> bool {
    setting.endings.get(fingerprint(store), |_| Solo::new(store.clone()).ends(setting, STEPS_MAX))
}

/// The same 64 bits of trust that the checker itself puts into a state.
fn fingerprint(store: &Store) -> u64 {
    let mut hasher = DefaultHasher::new();
    store.hash(&mut hasher);
    hasher.finish()
}

/// A store and the recoverer that is alone with it.
#[derive(Clone)]
struct Solo {
    store: Store,
    recovery: Option<Recovery>,
    /// The next attempt of this pass.
    next: u8,
    /// Where a pass over an intent stopped.
    stopped: Vec<(u8, Stopped)>,
}

impl Solo {
    fn new(store: Store) -> Self {
        Self { store, recovery: None, next: 0, stopped: Vec::new() }
    }

    fn ends(mut self, setting: &Setting, steps: u32) -> bool {
        for _ in 0..steps {
            if !self.ends_after_arrivals(setting) {
                return false;
            }
            if !self.step(setting) {
                return self.has_ended(setting);
            }
        }
        false
    }

    fn ends_after_arrivals(&self, setting: &Setting) -> bool {
        (0..self.store.late.len()).all(|at| {
            let mut after = self.clone();
            let operation = after.store.late.remove(at);
            after.store.arrive(setting, operation);
            if matches!(operation, Operation::Manifest(_))
                && let Some(recovery) = &mut after.recovery
            {
                recovery.manifest_moved();
            }
            let at_rest = after.recovery.is_none() && after.next == 0;
            if at_rest {
                ends_everything_alone(setting, &after.store)
            } else {
                // An intent that arrives may belong to an attempt that this pass is beyond.
                after.next = 0;
                after.stopped.clear();
                after.ends(setting, STEPS_MAX)
            }
        })
    }

    /// One step; false at the end.
    fn step(&mut self, setting: &Setting) -> bool {
        let Some(mut recovery) = self.recovery.take() else { return self.take_up(setting) };
        let ended = if let Some(operation) = recovery.durable(setting, &self.store) {
            let landing: Landing = self.store.perform(setting, operation);
            recovery.manifest_moved_if(operation);
            recovery.answered(setting, Some(landing))
        } else {
            recovery.read(setting, &self.store)
        };
        match ended {
            None => self.recovery = Some(recovery),
            Some(Ended::Stopped(stopped)) => self.stopped.push((recovery.attempt(), stopped)),
            Some(_) => {}
        }
        true
    }

    fn take_up(&mut self, setting: &Setting) -> bool {
        let next = self.next;
        let mut attempts = setting.scenario.attempts();
        let found = attempts.find(|it| *it >= next && self.store.intent(*it).is_some());
        let Some((attempt, plan)) = found.and_then(|it| Some((it, self.store.intent(it)?))) else {
            return self.adopt(setting);
        };
        self.next = attempt + 1;
        self.recovery = Some(Recovery::of(setting, attempt, plan, Asking::Anybody));
        true
    }

    /// Stage D of the next write: a fence directly above a pin is adopted.
    fn adopt(&mut self, setting: &Setting) -> bool {
        let Some(incarnation) = self.store.live_incarnation() else { return false };
        for table in 0..TABLES as u8 {
            let head = self.store.views[incarnation][usize::from(table)];
            let Some((line, from)) = head.live() else { continue };
            let to = self.store.line(setting, line).head().unwrap_or_default();
            if is_fence_above(to, from) && !self.store.unreadable[usize::from(table)] {
                let moved = Move { table, from, to };
                let incarnation = incarnation as u8;
                let adoption = Transition::AdoptFence { incarnation, moved };
                self.store.perform(setting, Operation::Manifest(adoption));
                return true;
            }
        }
        false
    }

    fn has_ended(&self, setting: &Setting) -> bool {
        let intents = setting.scenario.attempts().filter(|it| self.store.intent(*it).is_some());
        intents.into_iter().all(|attempt| self.is_blocked_by_bad_tables_only(attempt))
            && self.heads_are_pins(setting)
            && heads_are_above_pins(setting, &self.store)
            && visible_is_committed(setting, &self.store)
    }

    /// What is left of an attempt is aborted, and lies in tables that cannot be read.
    fn is_blocked_by_bad_tables_only(&self, attempt: u8) -> bool {
        let stopped = self.stopped.iter().find(|(other, _)| *other == attempt);
        stopped.is_some_and(|(_, stopped)| {
            let bad = |at: usize| self.store.unreadable[at];
            let only_bad = (0..TABLES).all(|at| !stopped.unsettled[at] || bad(at));
            stopped.aborted && only_bad && stopped.unsettled.contains(&true)
        })
    }

    fn heads_are_pins(&self, setting: &Setting) -> bool {
        let Some(incarnation) = self.store.live_incarnation() else { return true };
        (0..).zip(&self.store.views[incarnation]).all(|(table, head): (usize, _)| {
            let Some((line, pin)) = head.live() else { return true };
            let inherited = !setting.scenario.owns(incarnation, line);
            let is_pin = self.store.line(setting, line).head() == Some(pin);
            is_pin || inherited || self.store.unreadable[table]
        })
    }
}
