//! Taking aborted attempts back, several at once: the physical steps side by side, then one manifest
//! commit for all pins and all `rolled_back`. It decides nothing; the classifier has.

use std::collections::BTreeMap;

use graphwrite_protocol_types::{AttemptId, Failpoint, Full, Intent, Pin};

use crate::classify::{CompensationStep, Decision, PinMove};
use crate::interpreter::{Ended, Interpreter};
use crate::port::{Landing, RecoveryPort, RefName, Removal, TakenBack};
use crate::round::{After, Next, Seen, after_record, forbid, manifest_of, note_fault, untried};
use crate::rule::Verdict;
use crate::side_by_side::side_by_side;

/// What became of one physical step.
enum Stepped<E> {
    Next(Next),
    /// A fault of this step.
    Fault(E),
    /// A test stops the pass here.
    Stop(E),
}

/// What became of the physical steps of a round; none for a ref whose step met a fault.
struct Closing<E> {
    by_ref: BTreeMap<RefName, Option<Next>>,
    fault: Option<(AttemptId, E)>,
}

/// What the physical steps of one intent came to; whoever wanted the same slot has the same answer.
enum Physical {
    /// It has none.
    None,
    /// At least one changed something, or showed that somebody else had.
    Answered(Next),
    /// Nothing did.
    Unanswered(Next),
    /// One met a fault.
    Fault,
}

impl<P: RecoveryPort> Interpreter<'_, P> {
    /// Closes slots and removes what has a name of its own; when nothing of that is left that
    /// answers, lets all pins follow in one manifest commit, which also records `rolled_back`.
    pub(crate) async fn compensate<'t>(
        &self,
        to_compensate: Vec<Seen<'t>>,
        after: &mut After<'t>,
        ended: &mut Ended<P::Error>,
    ) -> Result<(), P::Error> {
        let Some((full, over)) = self.full().zip(common_manifest(&to_compensate)) else {
            to_compensate.into_iter().for_each(|seen| forbid(seen, Verdict::Compensate, ended));
            return Ok(());
        };
        let closing = self.close(full, &to_compensate).await?;
        let stepped = to_compensate.into_iter().map(|seen| {
            let physical = physical_of(&seen, &closing.by_ref);
            (seen, physical)
        });
        let stepped: Vec<_> = stepped.filter(|(_, of)| !matches!(of, Physical::Fault)).collect();
        note_fault(ended, closing.fault);
        // The evidence is read again before anything else is built on it.
        let progressed = |(seen, physical): &(Seen<'_>, Physical)| {
            matches!(physical, Physical::Answered(_)) && seen.track.idle_looks() == 0
        };
        if stepped.iter().any(progressed) {
            for (seen, physical) in stepped {
                match physical {
                    Physical::Answered(next) | Physical::Unanswered(next) => {
                        after.settle(seen.track, next);
                    }
                    Physical::None | Physical::Fault => after.again.push(untried(seen)),
                }
            }
            return Ok(());
        }
        self.move_pins(full, &over, stepped, after).await
    }

    /// Performs the physical steps, one per ref at most: of two that want one slot, the second would
    /// be refused, and what the first did decides what is left for the second.
    async fn close(
        &self,
        full: &Full,
        to_compensate: &[Seen<'_>],
    ) -> Result<Closing<P::Error>, P::Error> {
        let mut chosen: BTreeMap<RefName, (&Intent, &CompensationStep)> = BTreeMap::new();
        for seen in to_compensate {
            for (name, step) in physical_steps(seen) {
                chosen.entry(name).or_insert((seen.intent(), step));
            }
        }
        let steps = chosen.values().map(|(intent, step)| self.step(full, intent, step));
        let stepped = side_by_side(self.width, steps).await;
        let mut closing = Closing { by_ref: BTreeMap::new(), fault: None };
        for ((name, (intent, _)), stepped) in chosen.into_iter().zip(stepped) {
            let next = match stepped {
                Stepped::Next(next) => Some(next),
                Stepped::Fault(fault) => {
                    closing.fault.get_or_insert((intent.attempt, fault));
                    None
                }
                Stepped::Stop(fault) => return Err(fault),
            };
            closing.by_ref.insert(name, next);
        }
        Ok(closing)
    }

    async fn step(
        &self,
        full: &Full,
        intent: &Intent,
        step: &CompensationStep,
    ) -> Stepped<P::Error> {
        let next = match self.perform(full, intent, step).await {
            Ok(next) => next,
            Err(fault) => return Stepped::Fault(fault),
        };
        match self.port.reach(Failpoint::RecoveryPostCompensation).await {
            Ok(()) => Stepped::Next(next),
            Err(stop) => Stepped::Stop(stop),
        }
    }

    async fn perform(
        &self,
        full: &Full,
        intent: &Intent,
        step: &CompensationStep,
    ) -> Result<Next, P::Error> {
        let port = self.port;
        Ok(match step {
            CompensationStep::Fence { effect, read_version, tx_uuid } => {
                landing(port.fence(full, intent, *effect, *read_version, tx_uuid).await?)
            }
            CompensationStep::Restore { effect, to, read_version, tx_uuid } => {
                landing(port.restore(full, intent, *effect, to, *read_version, tx_uuid).await?)
            }
            CompensationStep::DeleteDataset { effect } => {
                removal(port.delete_dataset(full, intent, *effect).await?)
            }
            CompensationStep::DeleteRef { effect } => {
                removal(port.delete_ref(full, intent, *effect).await?)
            }
            // No physical step.
            CompensationStep::MovePins { .. } => Next::Look,
        })
    }

    async fn move_pins<'t>(
        &self,
        full: &Full,
        over: &Pin,
        stepped: Vec<(Seen<'t>, Physical)>,
        after: &mut After<'t>,
    ) -> Result<(), P::Error> {
        let taken_back: Vec<TakenBack<'_>> = stepped
            .iter()
            .filter_map(|(seen, _)| {
                let (moves, complete) = manifest_step(seen)?;
                Some(TakenBack { intent: seen.intent(), moves, complete })
            })
            .collect();
        let recorded = if taken_back.is_empty() {
            Next::Look
        } else {
            after_record(self.port.move_pins(full, &taken_back, over).await?)
        };
        for (seen, physical) in stepped {
            // What did not answer stays in trouble, whatever became of the pins of other tables.
            let next = match physical {
                Physical::Answered(Next::Pause(cause))
                | Physical::Unanswered(Next::Pause(cause)) => Next::Pause(cause),
                _ => recorded.clone(),
            };
            after.settle(seen.track, next);
        }
        Ok(())
    }
}

/// The manifest version on which all of a look was decided.
fn common_manifest(seen: &[Seen<'_>]) -> Option<Pin> {
    seen.first().and_then(|seen| manifest_of(&seen.look)).cloned()
}

fn steps_of<'s>(seen: &'s Seen<'_>) -> &'s [CompensationStep] {
    match &seen.look.judgement.decision {
        Decision::Compensate(steps) => steps,
        _ => &[],
    }
}

/// The physical steps that were decided for an intent, with the refs that they act on.
fn physical_steps<'s>(seen: &'s Seen<'_>) -> impl Iterator<Item = (RefName, &'s CompensationStep)> {
    let effects = &seen.intent().effects;
    steps_of(seen).iter().filter_map(|step| {
        let effect = match step {
            CompensationStep::Fence { effect, .. }
            | CompensationStep::Restore { effect, .. }
            | CompensationStep::DeleteDataset { effect }
            | CompensationStep::DeleteRef { effect } => *effect,
            CompensationStep::MovePins { .. } => return None,
        };
        Some((RefName::of(effects.get(effect as usize)?), step))
    })
}

/// The step that was decided for the manifest.
fn manifest_step<'s>(seen: &'s Seen<'_>) -> Option<(&'s [PinMove], bool)> {
    steps_of(seen).iter().find_map(|step| match step {
        CompensationStep::MovePins { moves, complete } => Some((moves.as_slice(), *complete)),
        _ => None,
    })
}

fn physical_of(seen: &Seen<'_>, by_ref: &BTreeMap<RefName, Option<Next>>) -> Physical {
    let (mut answered, mut next) = (false, None);
    for (name, _) in physical_steps(seen) {
        match by_ref.get(&name) {
            Some(Some(Next::Pause(cause))) => next = Some(Next::Pause(cause.clone())),
            Some(Some(Next::Look | Next::Lost)) => {
                answered = true;
                next.get_or_insert(Next::Look);
            }
            Some(None) | None => return Physical::Fault,
        }
    }
    match (next, answered) {
        (None, _) => Physical::None,
        (Some(next), true) => Physical::Answered(next),
        (Some(next), false) => Physical::Unanswered(next),
    }
}

/// A refused slot is as good as a landed one: the next look says whose it is.
fn landing(landing: Landing) -> Next {
    match landing {
        Landing::Landed | Landing::SlotTaken { .. } => Next::Look,
        Landing::Unknown { cause } => Next::Pause(cause),
    }
}

fn removal(removal: Removal) -> Next {
    match removal {
        Removal::Removed => Next::Look,
        Removal::Unknown { cause } => Next::Pause(cause),
    }
}
