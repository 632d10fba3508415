//! The plan of one attempt (RFC section 2), and the check that it does not contradict itself. It knows
//! no stage.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::{
    Access, AttemptId, BaseView, Effect, EffectKind, Intent, LineageIntent, ManifestDelta,
    NextHead, OperationId, OwnerRecord, Pin, PinSlot, PreState, ReadSet, RecoveryPlan,
    RequestDigest, TableIdentity, WriterKind,
};

/// The plan of one attempt: immutable from here to its end (RFC section 2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedWrite {
    /// The caller's request.
    pub operation: OperationId,
    /// This attempt at it.
    pub attempt: AttemptId,
    /// Digest of the request's content.
    pub request: RequestDigest,
    /// The adapter that made the plan.
    pub writer: WriterKind,
    /// The state that the plan was computed against.
    pub base: BaseView,
    /// What of it must still hold.
    pub read_set: ReadSet,
    /// The physical effects.
    pub effects: Vec<Effect>,
    /// The logical result.
    pub delta: ManifestDelta,
    /// The graph commit to record.
    pub lineage: LineageIntent,
    /// Rules for recovery beyond the effects.
    pub recovery: RecoveryPlan,
}

/// A plan contradicts itself; it is refused before anything is armed. Always a fault of ours.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PlanInvalid {
    /// An effect changes a table that the read set does not hold as written.
    #[error("table {identity} is changed but is not in the read set as written")]
    NotInReadSet {
        /// The table.
        identity: TableIdentity,
    },
    /// The steps of an effect do not follow each other from its pre-state.
    #[error("the steps of effect {effect} are not contiguous")]
    BrokenChain {
        /// Index of the effect.
        effect: u32,
    },
    /// Two effects share a ref, or a table's head changes twice.
    #[error("table {identity} is changed twice")]
    Twice {
        /// The table.
        identity: TableIdentity,
    },
    /// An output slot or a pin does not belong to an effect.
    #[error("the head of table {identity} is not the result of an effect")]
    UnboundHead {
        /// The table.
        identity: TableIdentity,
    },
    /// The pre-state is not the head that was captured.
    #[error("effect {effect} does not start at the captured pin")]
    PreStateNotPinned {
        /// Index of the effect.
        effect: u32,
    },
}

impl PreparedWrite {
    pub(crate) fn check(&self) -> Result<(), PlanInvalid> {
        let mut seen = BTreeSet::new();
        for (index, effect) in (0..).zip(&self.effects) {
            let identity = effect.target.identity;
            if !seen.insert(identity) {
                return Err(PlanInvalid::Twice { identity });
            }
            self.check_effect(index, effect)?;
        }
        self.check_heads()
    }

    fn check_effect(&self, index: u32, effect: &Effect) -> Result<(), PlanInvalid> {
        let identity = effect.target.identity;
        let member = self.read_set.table(identity).filter(|m| m.access == Access::Written);
        let member = member.ok_or(PlanInvalid::NotInReadSet { identity })?;
        let captured = member.head.live().map(|head| &head.pin);
        let pinned = match &effect.pre {
            // The ref is made of the captured version, so that is where its steps start.
            PreState::Absent if effect.kind == EffectKind::CreateRef => {
                let made_of = effect.steps.first().map(|step| step.read_version);
                made_of.is_some() && captured.map(|pin| pin.version) == made_of
            }
            PreState::Absent => effect.kind.has_unique_name(),
            PreState::At(pin) => captured == Some(pin),
        };
        if !pinned {
            return Err(PlanInvalid::PreStateNotPinned { effect: index });
        }
        let contiguous = (effect.first_version()..)
            .zip(&effect.steps)
            .all(|(version, step)| step.version() == version);
        let planned = effect.kind == EffectKind::Pointer || !effect.steps.is_empty();
        if contiguous && planned { Ok(()) } else { Err(PlanInvalid::BrokenChain { effect: index }) }
    }

    fn check_heads(&self) -> Result<(), PlanInvalid> {
        let mut seen = BTreeSet::new();
        self.delta.heads.iter().try_for_each(|change| {
            let identity = change.identity;
            if !seen.insert(identity) {
                return Err(PlanInvalid::Twice { identity });
            }
            self.is_bound(identity, &change.next)
                .then_some(())
                .ok_or(PlanInvalid::UnboundHead { identity })
        })
    }

    fn is_bound(&self, identity: TableIdentity, next: &NextHead) -> bool {
        let NextHead::Live { pin, .. } = next else { return true };
        let effect = self.effects.iter().position(|effect| effect.target.identity == identity);
        match (pin, effect) {
            (PinSlot::Exact(pin), Some(at)) => self.effects[at].exact_post() == Some(pin),
            (PinSlot::Output { effect }, Some(at)) => *effect as usize == at,
            (_, None) => false,
        }
    }

    pub(crate) fn intent(
        &self,
        owner: OwnerRecord,
        armed_at_unix_us: u64,
        manifest: Pin,
    ) -> Intent {
        Intent {
            attempt: self.attempt,
            operation: self.operation.clone(),
            request: self.request,
            writer: self.writer,
            branch: self.base.branch.clone(),
            manifest,
            read_set: self.read_set.clone(),
            effects: self.effects.clone(),
            delta: self.delta.clone(),
            lineage: self.lineage.clone(),
            recovery: self.recovery,
            owner,
            armed_at_unix_us,
        }
    }
}
