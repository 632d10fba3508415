//! One pass of recovery over one intent, as one durable operation or one read at a time. It goes the
//! way of `graphwrite_recovery::Interpreter`: it looks, performs what was decided, and looks again.

use super::code::{Made, Rows, Tx};
use super::defect::Defect;
use super::line::{Landing, Put};
use super::look::{Asking, Judged, Seen, Step, Steps, Stopped, UNSEEN};
use super::setting::Setting;
use super::store::{Operation, Store, Transition};
use super::view::{Plan, Row, Sight};

/// How a pass ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Ended {
    /// The commit is visible.
    Committed,
    /// It is taken back, or had nothing to take back.
    WithoutEffect,
    /// Its branch is gone.
    Discarded,
    /// Somebody else ended it meanwhile.
    Vanished,
    /// An effect cannot be judged.
    Stopped(Stopped),
}

/// What is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Stage {
    /// Read the versions of effect `next`. The manifest comes last; with a defect, it came first.
    Observe {
        seen: Seen,
        next: u8,
        sight: Option<Sight>,
    },
    /// Read the manifest.
    Authority {
        seen: Seen,
    },
    /// Before `aborted`: is the intent still there?
    Recheck,
    Publish,
    Abort,
    Compensate {
        steps: Steps,
        next: u8,
    },
    Forget(Ended),
}

/// A pass over one intent. It keeps nothing from one look to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Recovery {
    attempt: u8,
    plan: Plan,
    asking: Asking,
    /// Whether the manifest is still as it was read.
    is_fresh: bool,
    /// Whether it went against an outcome that was durable when it decided.
    is_misjudged: bool,
    stage: Stage,
}

impl Recovery {
    pub(crate) fn of(setting: &Setting, attempt: u8, plan: Plan, asking: Asking) -> Self {
        Self {
            attempt,
            plan,
            asking,
            is_fresh: false,
            is_misjudged: false,
            stage: Stage::first(setting),
        }
    }

    pub(crate) fn is_misjudged(&self) -> bool {
        self.is_misjudged
    }

    pub(crate) fn attempt(&self) -> u8 {
        self.attempt
    }

    /// Somebody committed to the manifest.
    pub(crate) fn manifest_moved(&mut self) {
        self.is_fresh = false;
    }

    /// Its own commit to the manifest is one that others make too.
    pub(crate) fn manifest_moved_if(&mut self, operation: Operation) {
        self.is_fresh &= !matches!(operation, Operation::Manifest(_));
    }

    /// The durable operation that is next; none if a read is.
    pub(crate) fn durable(&self, setting: &Setting, store: &Store) -> Option<Operation> {
        let (attempt, plan) = (self.attempt, self.plan);
        match self.stage {
            Stage::Observe { .. } | Stage::Authority { .. } | Stage::Recheck => None,
            Stage::Forget(_) => Some(Operation::Forget { attempt }),
            Stage::Compensate { steps, next } => match steps.get(usize::from(next))?.as_ref()? {
                Step::MovePins { .. } => self.transition().map(Operation::Manifest),
                Step::Remove { effect } => {
                    Some(Operation::Remove { line: line(setting, attempt, &plan, *effect)? })
                }
                step => closing(setting, store, (attempt, &plan), *step).map(Operation::Commit),
            },
            Stage::Publish | Stage::Abort => self.transition().map(Operation::Manifest),
        }
        .filter(|operation| self.is_fresh || !matches!(operation, Operation::Manifest(_)))
    }

    /// The manifest commit that is next.
    fn transition(&self) -> Option<Transition> {
        let (attempt, plan) = (self.attempt, self.plan);
        match self.stage {
            Stage::Publish => Some(Transition::Commit { attempt, plan, by_recovery: true }),
            Stage::Abort => Some(Transition::Abort { attempt }),
            Stage::Compensate { steps, next } => match steps.get(usize::from(next))?.as_ref()? {
                Step::MovePins { moves, complete } => {
                    Some(Transition::MovePins { attempt, moves: *moves, complete: *complete })
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The durable operation was issued. Without an answer nothing is known; the next look sees.
    pub(crate) fn answered(
        &mut self,
        setting: &Setting,
        landing: Option<Landing>,
    ) -> Option<Ended> {
        match (self.stage, landing) {
            (Stage::Forget(ended), _) => return Some(ended),
            (Stage::Compensate { steps, next }, Some(_)) => self.go_on(setting, steps, next + 1),
            _ => self.stage = Stage::first(setting),
        }
        None
    }

    fn go_on(&mut self, setting: &Setting, steps: Steps, next: u8) {
        let more = steps.get(usize::from(next)).is_some_and(Option::is_some);
        self.stage = if more { Stage::Compensate { steps, next } } else { Stage::first(setting) };
    }

    /// Performs the read that is next.
    pub(crate) fn read(&mut self, setting: &Setting, store: &Store) -> Option<Ended> {
        match self.stage {
            Stage::Observe { mut seen, next, sight } => {
                let found = setting.evidence(store, self.attempt, &self.plan, next);
                seen[usize::from(next)] = found;
                let request = setting.scenario.request(self.attempt)?;
                if usize::from(next) + 1 < request.touches.len() {
                    self.stage = Stage::Observe { seen, next: next + 1, sight };
                    return None;
                }
                let Some(sight) = sight else {
                    self.stage = Stage::Authority { seen };
                    return None;
                };
                self.decide(setting, store, &seen, sight)
            }
            Stage::Authority { seen } => {
                let sight = store.sight(setting, self.attempt);
                self.is_fresh = true;
                if setting.defect == Defect::AuthorityFirst {
                    self.stage = Stage::Observe { seen, next: 0, sight: Some(sight) };
                    return None;
                }
                self.decide(setting, store, &seen, sight)
            }
            Stage::Recheck => {
                self.stage = Stage::Abort;
                store.intent(self.attempt).is_none().then_some(Ended::Vanished)
            }
            Stage::Publish | Stage::Abort | Stage::Compensate { .. } | Stage::Forget(_) => {
                self.ask_again(setting, store);
                None
            }
        }
    }

    /// The slot of the manifest went to another: the same transition over the winner's state, if it
    /// may follow that one.
    fn ask_again(&mut self, setting: &Setting, store: &Store) {
        if self.transition().is_some_and(|it| store.may_follow(setting, &it)) {
            self.is_fresh = true;
            return;
        }
        match self.stage {
            Stage::Compensate { steps, next } => self.go_on(setting, steps, next + 1),
            _ => self.stage = Stage::first(setting),
        }
    }

    fn decide(
        &mut self,
        setting: &Setting,
        store: &Store,
        seen: &Seen,
        sight: Sight,
    ) -> Option<Ended> {
        let judged = setting.judge(self.attempt, &self.plan, seen, (sight, self.asking));
        let against = matches!(judged, Judged::Abort | Judged::Compensate(_) | Judged::Stop(_));
        self.is_misjudged = against && store.row(self.attempt) == Row::Committed;
        self.stage = match judged {
            Judged::Finalize { committed: true } => Stage::Forget(Ended::Committed),
            Judged::Finalize { committed: false } | Judged::RetireEmpty => {
                Stage::Forget(Ended::WithoutEffect)
            }
            Judged::DiscardOrphan => Stage::Forget(Ended::Discarded),
            Judged::RollForward => Stage::Publish,
            Judged::Abort => Stage::Recheck,
            Judged::Compensate(steps) if steps[0].is_some() => Stage::Compensate { steps, next: 0 },
            Judged::Compensate(_) | Judged::LookAgain => Stage::first(setting),
            Judged::Stop(stopped) => return Some(Ended::Stopped(stopped)),
        };
        None
    }
}

impl Stage {
    /// Evidence first, authority last (pitfall 80).
    fn first(setting: &Setting) -> Self {
        if setting.defect == Defect::AuthorityFirst {
            Self::Authority { seen: UNSEEN }
        } else {
            Self::Observe { seen: UNSEEN, next: 0, sight: None }
        }
    }
}

fn line(setting: &Setting, attempt: u8, plan: &Plan, effect: u8) -> Option<u8> {
    let touch = *setting.scenario.request(attempt)?.touches.get(usize::from(effect))?;
    Some(setting.scenario.kind_over(attempt, plan, touch).line(attempt, effect))
}

/// K3: a fence keeps the rows of the version that it is over, a restore brings back the pre-state's.
fn closing(
    setting: &Setting,
    store: &Store,
    (attempt, plan): (u8, &Plan),
    step: Step,
) -> Option<Put> {
    let (effect, over, to, made) = match step {
        Step::Fence { effect, over } => (effect, over, over, Made::Fence),
        Step::Restore { effect, to, over } => (effect, over, to.version, Made::Restore),
        Step::Remove { .. } | Step::MovePins { .. } => return None,
    };
    let line = line(setting, attempt, plan, effect)?;
    let rows = store.line(setting, line).get(to).map_or(Rows::NONE, |found| found.rows);
    let tx = Tx::of(attempt, effect, made);
    Some(Put { line, version: over + 1, tx, rows, adds: Rows::NONE, creates: false })
}
