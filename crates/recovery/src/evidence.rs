//! From raw facts to evidence: what became of one effect, judged by exact transaction identity and
//! by nothing else (RFC 4.1). It knows no authority, no owner and no clock.
//!
//! The slots above the pre-state are judged upwards. K1 makes this complete: every commit is strict,
//! so the versions of a ref are one unbroken line, and the first slot that does not hold the next
//! planned step says who closed the line.
//!
//! | at the pre-state's next slots | evidence |
//! |---|---|
//! | k planned steps, then nothing | [`Evidence::Open`] (k), or [`Evidence::Complete`] if those are all |
//! | nothing of ours, then our fence | [`Evidence::Closed`] by a fence |
//! | k > 0 planned steps, then our restore | [`Evidence::Closed`] by a restore |
//! | nothing of ours, then a foreign transaction | [`Evidence::SlotForeign`] |
//! | k > 0 planned steps, then a foreign transaction | [`Evidence::Buried`] |
//! | own steps above a hole, under a unique name | [`Evidence::RefUntouched`]: it was removed before |
//! | any other hole below HEAD, a slot that cannot be read, another pre-state | [`Evidence::Unreadable`] |

use graphwrite_protocol_types::{AttemptId, Effect, EffectKind, Pin, PreState, TxUuid};
use serde::Serialize;

use crate::facts::{RefFacts, SlotFacts, first_slot};

/// How an attempt's slot was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Closing {
    /// An empty commit where the first step would have gone.
    Fence,
    /// A restore above the landed prefix.
    Restore,
}

/// What storage proves about one effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Evidence {
    /// This many planned steps landed, and the next slot is vacant: a late step may still land.
    Open(u32),
    /// Every planned step landed and the last one is HEAD.
    Complete,
    /// Closed on behalf of this attempt: no step can land any more (K3).
    Closed {
        /// The closing version, content-equal to the pre-state.
        version: u64,
        /// With what.
        how: Closing,
    },
    /// Nothing landed and nothing ever can: the first slot belongs to another transaction (K1).
    SlotForeign,
    /// Something landed and a foreign transaction is above it.
    Buried,
    /// The dataset or the ref does not exist.
    RefAbsent,
    /// The uniquely named ref exists and holds none of the steps, or not the first ones: what a late
    /// step makes of an object that was removed already.
    RefUntouched,
    /// It cannot be judged.
    Unreadable,
}

impl Evidence {
    /// Whether a step of the attempt is known to have landed and not to be taken back.
    pub fn has_landed(self) -> bool {
        matches!(self, Self::Open(1..) | Self::Complete | Self::Buried)
    }
}

/// The evidence about effect `index` of `attempt`. `confirmed` is the version that the confirm
/// object names for it; only an inline effect, whose commits are not known beforehand, looks at it.
pub fn evidence_of(
    effect: &Effect,
    index: u32,
    attempt: AttemptId,
    facts: &RefFacts,
    confirmed: Option<&Pin>,
) -> Evidence {
    if effect.kind == EffectKind::Pointer {
        return Evidence::Complete;
    }
    match facts {
        RefFacts::Absent => Evidence::RefAbsent,
        RefFacts::Unreadable { .. } => Evidence::Unreadable,
        RefFacts::Present { head, slots } => {
            let line = Line { effect, index, attempt, head: head.version, slots };
            line.evidence(confirmed).unwrap_or(Evidence::Unreadable)
        }
    }
}

/// A slot, once it could be read.
enum Slot<'a> {
    Vacant,
    Taken(&'a TxUuid),
}

/// The versions of one ref, seen from one effect. `None` from a method means "cannot be judged".
struct Line<'a> {
    effect: &'a Effect,
    index: u32,
    attempt: AttemptId,
    head: u64,
    slots: &'a std::collections::BTreeMap<u64, SlotFacts>,
}

impl<'a> Line<'a> {
    fn evidence(&self, confirmed: Option<&Pin>) -> Option<Evidence> {
        self.check_pre_state()?;
        if self.was_removed_before() {
            return Some(Evidence::RefUntouched);
        }
        let confirmed = confirmed.filter(|_| self.effect.kind == EffectKind::Inline);
        let landed = match confirmed.filter(|pin| self.holds(pin)) {
            Some(pin) => pin.version + 1 - first_slot(self.effect),
            None => self.landed_prefix()?,
        };
        let next = first_slot(self.effect) + landed;
        match self.slot(next)? {
            Slot::Vacant => Some(self.unclosed(landed, confirmed)),
            Slot::Taken(tx) => Some(self.closed_by(tx, landed, next)),
        }
    }

    /// The pre-state must be the one that was armed on, where it still can be seen.
    fn check_pre_state(&self) -> Option<()> {
        let PreState::At(pin) = &self.effect.pre else { return Some(()) };
        match self.slots.get(&pin.version) {
            Some(SlotFacts::Taken(tx)) if *tx != pin.tx_uuid => None,
            Some(SlotFacts::Unreadable { .. }) => None,
            Some(SlotFacts::Taken(_)) | None => Some(()),
        }
    }

    /// Nobody else writes under a unique name (K4), so own steps above a hole are what came after a
    /// removal, or what a removal that broke off has left. They can be removed like any beginning.
    fn was_removed_before(&self) -> bool {
        let own = |version: &u64, found: &SlotFacts| {
            self.effect.steps.iter().any(|step| {
                step.version() == *version
                    && matches!(found, SlotFacts::Taken(tx) if *tx == step.tx_uuid)
            })
        };
        let first = first_slot(self.effect);
        self.effect.kind.has_unique_name()
            && !self.slots.is_empty()
            && !self.slots.contains_key(&first)
            && self.slots.iter().all(|(version, found)| own(version, found))
    }

    fn holds(&self, pin: &Pin) -> bool {
        let above_pre = pin.version >= first_slot(self.effect);
        let found = self.slots.get(&pin.version);
        above_pre && matches!(found, Some(SlotFacts::Taken(tx)) if *tx == pin.tx_uuid)
    }

    /// How many planned steps landed, from the first one without a gap.
    fn landed_prefix(&self) -> Option<u64> {
        let mut landed = 0;
        for step in &self.effect.steps {
            match self.slot(step.version())? {
                Slot::Taken(tx) if *tx == step.tx_uuid => landed += 1,
                Slot::Taken(_) | Slot::Vacant => break,
            }
        }
        Some(landed)
    }

    /// A slot that is vacant below something taken was collected by a cleanup that should have
    /// spared it: nobody can say what it held.
    fn slot(&self, version: u64) -> Option<Slot<'a>> {
        match self.slots.get(&version) {
            Some(SlotFacts::Taken(tx)) => Some(Slot::Taken(tx)),
            Some(SlotFacts::Unreadable { .. }) => None,
            None => (version > self.highest()).then_some(Slot::Vacant),
        }
    }

    /// HEAD is read first and may be older than the slots.
    fn highest(&self) -> u64 {
        let highest_slot = self.slots.last_key_value().map_or(0, |(version, _)| *version);
        self.head.max(highest_slot)
    }

    fn unclosed(&self, landed: u64, confirmed: Option<&Pin>) -> Evidence {
        let complete = match self.effect.kind {
            EffectKind::Inline => confirmed.is_some_and(|pin| self.is_confirmed(pin, landed)),
            _ => landed == self.effect.steps.len() as u64,
        };
        match (complete, landed) {
            (true, _) => Evidence::Complete,
            (false, 0) if self.effect.kind.has_unique_name() => Evidence::RefUntouched,
            (false, landed) => Evidence::Open(u32::try_from(landed).unwrap_or(u32::MAX)),
        }
    }

    fn is_confirmed(&self, pin: &Pin, landed: u64) -> bool {
        use graphwrite_protocol_types::PostState::{Exact, Range, Unmoved};
        let inside = match &self.effect.post {
            Range { first, last } => (*first..=*last).contains(&pin.version),
            Exact(exact) => exact == pin,
            Unmoved => false,
        };
        inside && pin.version + 1 == first_slot(self.effect) + landed
    }

    fn closed_by(&self, tx: &TxUuid, landed: u64, version: u64) -> Evidence {
        let fence = TxUuid::fence(self.attempt, self.index);
        let restore = TxUuid::restore(self.attempt, self.index);
        if landed == 0 && *tx == fence {
            Evidence::Closed { version, how: Closing::Fence }
        } else if landed > 0 && *tx == restore {
            Evidence::Closed { version, how: Closing::Restore }
        } else if landed == 0 && !self.has_step_above(version) {
            Evidence::SlotForeign
        } else {
            Evidence::Buried
        }
    }

    /// A step that landed above a foreign transaction breaks K1; it is never called harmless.
    fn has_step_above(&self, version: u64) -> bool {
        self.effect.steps.iter().any(|step| {
            let found = self.slots.get(&step.version());
            step.version() > version
                && matches!(found, Some(SlotFacts::Taken(tx)) if *tx == step.tx_uuid)
        })
    }
}
