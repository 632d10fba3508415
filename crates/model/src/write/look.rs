//! One look at an intent: what the storage shows of each effect, what the manifest says, and what the
//! production decides about it. `graphwrite_recovery` judges; this file asks it.

use std::collections::BTreeMap;

use graphwrite_recovery::{
    AttemptOutcome, Authority, AuthorityFacts, Case, CompensationStep, ConfirmFacts, DataFiles,
    DeathProof, Decision, Evidence, Judgement, OperationOutcome, OwnSteps, Owner, RefFacts,
    SlotFacts, Standing, WaitRules, classify, evidence_of, slots_to_observe,
};

use super::code::{EFFECTS, Pin, TABLES, Tx, number, table_of};
use super::defect::Defect;
use super::scenario::Kind;
use super::setting::Setting;
use super::store::{Move, Moves, Store};
use super::view::{Elsewhere, Plan, Row, Sight};

/// More slots than any effect has.
const SLOTS: usize = 8;

/// The evidence about each effect; what is not looked at yet is not readable.
pub(crate) type Seen = [Evidence; EFFECTS];
/// What the manifest says, and who asks.
pub(crate) type Sighting = (Sight, Asking);

/// Nothing is looked at yet.
pub(crate) const UNSEEN: Seen = [Evidence::Unreadable; EFFECTS];

/// Who resolves an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Asking {
    /// Another process, which knows that the owner is dead, or is tired of waiting.
    Anybody,
    /// Its owner, which stopped and says what became of the steps of each effect.
    Owner([OwnSteps; EFFECTS]),
}

/// What the slots of one effect hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Slots {
    Absent,
    Unreadable,
    /// HEAD, and the transaction in each slot from `first` on.
    Present {
        head: Pin,
        first: u8,
        taken: [Option<Tx>; SLOTS],
    },
}

/// One step of a compensation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Step {
    Fence { effect: u8, over: u8 },
    Restore { effect: u8, to: Pin, over: u8 },
    Remove { effect: u8 },
    MovePins { moves: Moves, complete: bool },
}

/// The steps of one compensation: one per effect, and the pins.
pub(crate) type Steps = [Option<Step>; EFFECTS + 1];

/// A pass that ends before its intent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Stopped {
    pub(crate) aborted: bool,
    /// The tables whose effects are not settled.
    pub(crate) unsettled: [bool; TABLES],
}

/// What the production decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Judged {
    /// Delete the records: committed, or taken back.
    Finalize {
        committed: bool,
    },
    RollForward,
    Abort,
    Compensate(Steps),
    RetireEmpty,
    DiscardOrphan,
    LookAgain,
    Stop(Stopped),
}

impl Setting {
    /// What the storage proves about one effect of an attempt.
    pub(crate) fn evidence(&self, store: &Store, attempt: u8, plan: &Plan, effect: u8) -> Evidence {
        let slots = self.slots(store, attempt, plan, effect).unwrap_or(Slots::Unreadable);
        self.evidence.get((attempt, *plan, effect, slots), |_| {
            let intent = self.intent(attempt, plan);
            let found = intent.as_ref().and_then(|it| it.effects.get(usize::from(effect)));
            let Some((intent, found)) = intent.as_ref().zip(found) else {
                return Evidence::Unreadable;
            };
            evidence_of(found, u32::from(effect), intent.attempt, &facts(&slots), None)
        })
    }

    fn slots(&self, store: &Store, attempt: u8, plan: &Plan, effect: u8) -> Option<Slots> {
        let touch = *self.scenario.request(attempt)?.touches.get(usize::from(effect))?;
        if store.unreadable[usize::from(touch.table)] {
            return Some(Slots::Unreadable);
        }
        let kind = self.scenario.kind_over(attempt, plan, touch);
        let line = store.line(self, kind.line(attempt, effect));
        let Some(head) = line.head() else { return Some(Slots::Absent) };
        let intent = self.intent(attempt, plan)?;
        let wanted = slots_to_observe(intent.effects.get(usize::from(effect))?)?;
        let first = number(*wanted.start());
        let mut taken = [None; SLOTS];
        for (version, slot) in (first..=number(*wanted.end())).zip(&mut taken) {
            *slot = line.get(version).map(|found| found.tx);
        }
        Some(Slots::Present { head, first, taken })
    }

    /// What is to be done about an attempt of which this is seen.
    pub(crate) fn judge(&self, attempt: u8, plan: &Plan, seen: &Seen, by: Sighting) -> Judged {
        self.judgements.get((attempt, *plan, *seen, by), |_| {
            let judgement = self.judgement(attempt, plan, seen, by);
            judgement
                .map_or(Judged::LookAgain, |judgement| self.judged(attempt, plan, &judgement, by.0))
        })
    }

    /// Where recovery of an aborted attempt stops, if it does: an effect that cannot be judged.
    pub(crate) fn stopped_at(&self, store: &Store, attempt: u8, plan: &Plan) -> Option<Stopped> {
        let effects = self.scenario.request(attempt)?.touches.len();
        let mut seen = UNSEEN;
        for (effect, place) in (0..).zip(seen.iter_mut().take(effects)) {
            *place = self.evidence(store, attempt, plan, effect);
        }
        let sight = store.sight(self, attempt);
        match self.judge(attempt, plan, &seen, (sight, Asking::Anybody)) {
            Judged::Stop(stopped) if sight.row == Row::Aborted => Some(stopped),
            _ => None,
        }
    }

    fn judgement(&self, attempt: u8, plan: &Plan, seen: &Seen, by: Sighting) -> Option<Judgement> {
        let found = self.classified(attempt, plan, seen, by)?;
        let skips_abort = self.defect == Defect::NoAbortRow && found.decision == Decision::Abort;
        if !skips_abort {
            return Some(found);
        }
        let (mut sight, asking) = by;
        sight.row = Row::Aborted;
        self.classified(attempt, plan, seen, (sight, asking))
    }

    /// The decision function of the production, over the production's own types.
    fn classified(&self, attempt: u8, plan: &Plan, seen: &Seen, by: Sighting) -> Option<Judgement> {
        let intent = self.intent(attempt, plan)?;
        let evidence = &seen[..intent.effects.len()];
        let whole = evidence.iter().all(|effect| *effect == Evidence::Complete);
        let (sight, asking) = by;
        Some(classify(&Case {
            intent: &intent,
            evidence,
            files: if whole { DataFiles::Present } else { DataFiles::NotAsked },
            confirm: &ConfirmFacts::NotNeeded,
            authority: &self.authority(attempt, plan, &sight),
            owner: &asking.owner(evidence.len()),
            waits: &WaitRules { fence_after_ms: 0, ..WaitRules::default() },
        }))
    }

    fn authority(&self, attempt: u8, plan: &Plan, sight: &Sight) -> AuthorityFacts {
        let incarnation = self.scenario.incarnation(attempt);
        let authority = if sight.is_gone {
            Authority::BranchGone
        } else {
            Authority::Branch(Box::new(self.real().view(incarnation, &sight.view)))
        };
        let commit = self.intent(attempt, plan).map(|intent| intent.lineage.commit);
        let outcome = match (sight.row, commit) {
            (Row::Committed, Some(commit)) => AttemptOutcome::Committed { commit },
            (Row::Aborted, _) => AttemptOutcome::Aborted,
            (Row::RolledBack, _) => AttemptOutcome::RolledBack,
            (Row::None | Row::Committed, _) => AttemptOutcome::None,
        };
        let operation = match sight.elsewhere {
            Elsewhere::Nothing => OperationOutcome::None,
            Elsewhere::Committed => OperationOutcome::CommittedElsewhere,
            Elsewhere::Sealed => OperationOutcome::Sealed,
        };
        AuthorityFacts { authority, outcome, operation }
    }

    fn judged(&self, attempt: u8, plan: &Plan, found: &Judgement, sight: Sight) -> Judged {
        match &found.decision {
            Decision::Finalize => Judged::Finalize { committed: sight.row == Row::Committed },
            Decision::RollForward => Judged::RollForward,
            Decision::Abort => Judged::Abort,
            Decision::Compensate(steps) => {
                let steps = steps.iter().map(|step| self.step(attempt, plan, step));
                self.compensation(steps, &found.standings)
            }
            Decision::RetireEmpty => Judged::RetireEmpty,
            Decision::DiscardOrphan => Judged::DiscardOrphan,
            Decision::Refuse { .. } => self.stopped(attempt, &found.standings, sight.row),
            // Owners never count as alive here: waiting is courtesy, and a model is impatient.
            _ => Judged::LookAgain,
        }
    }

    fn stopped(&self, attempt: u8, standings: &[Standing], row: Row) -> Judged {
        let mut unsettled = [false; TABLES];
        let touches = self.scenario.request(attempt).into_iter().flat_map(|it| &it.touches);
        for (touch, _) in touches.zip(standings).filter(|(_, at)| !at.is_settled()) {
            unsettled[usize::from(touch.table)] = true;
        }
        Judged::Stop(Stopped { aborted: row == Row::Aborted, unsettled })
    }

    fn step(&self, attempt: u8, plan: &Plan, step: &CompensationStep) -> Option<Step> {
        match step {
            CompensationStep::Fence { effect, read_version, .. } => {
                Some(Step::Fence { effect: *effect as u8, over: number(*read_version) })
            }
            CompensationStep::Restore { effect, to, read_version, .. } => Some(Step::Restore {
                effect: *effect as u8,
                to: Pin::read(to),
                over: number(*read_version),
            }),
            CompensationStep::DeleteDataset { effect } | CompensationStep::DeleteRef { effect } => {
                let touch = self.scenario.request(attempt)?.touches.get(*effect as usize)?;
                let kind = self.scenario.kind_over(attempt, plan, *touch);
                let own = !matches!(kind, Kind::Commits { .. });
                own.then_some(Step::Remove { effect: *effect as u8 })
            }
            CompensationStep::MovePins { moves, complete } => {
                let mut found = Moves::default();
                for (place, moved) in found.iter_mut().zip(moves) {
                    let (from, to) = (Pin::read(&moved.from), Pin::read(&moved.to));
                    *place = Some(Move { table: table_of(moved.identity), from, to });
                }
                Some(Step::MovePins { moves: found, complete: *complete })
            }
            _ => None,
        }
    }

    fn compensation(
        &self,
        found: impl Iterator<Item = Option<Step>>,
        standings: &[Standing],
    ) -> Judged {
        let mut found: Vec<Step> = found.flatten().collect();
        if self.defect == Defect::NoFence {
            leave_fences_out(&mut found, standings);
        }
        let mut steps = Steps::default();
        steps.iter_mut().zip(found).for_each(|(place, step)| *place = Some(step));
        Judged::Compensate(steps)
    }
}

/// The defect: a vacant slot counts as closed.
fn leave_fences_out(steps: &mut Vec<Step>, standings: &[Standing]) {
    let closed = |at: &Standing| at.is_settled() || *at == Standing::Closed;
    let done = standings.iter().all(|at| closed(at) || *at == Standing::Vacant);
    steps.retain(|step| !matches!(step, Step::Fence { .. }));
    match steps.last_mut() {
        Some(Step::MovePins { complete, .. }) => *complete |= done,
        _ if done => steps.push(Step::MovePins { moves: Moves::default(), complete: true }),
        _ => {}
    }
}

impl Asking {
    fn owner(self, effects: usize) -> Owner {
        match self {
            Self::Anybody => Owner::Dead { proof: DeathProof::PidGone },
            Self::Owner(steps) => Owner::OwnStopped { steps: steps[..effects].to_vec() },
        }
    }
}

fn facts(slots: &Slots) -> RefFacts {
    match slots {
        Slots::Absent => RefFacts::Absent,
        Slots::Unreadable => RefFacts::Unreadable { reason: "input/output error".to_owned() },
        Slots::Present { head, first, taken } => {
            let slots: BTreeMap<u64, SlotFacts> = (u64::from(*first)..)
                .zip(taken)
                .filter_map(|(version, tx)| Some((version, SlotFacts::Taken((*tx)?.uuid()))))
                .collect();
            RefFacts::Present { head: head.real(), slots }
        }
    }
}
