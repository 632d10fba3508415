//! The stages of a write as types that consume each other (RFC section 4), so that the compiler
//! refuses a skipped one: `Prepared`, `Gated`, `Revalidated`, `Armed`, `Applied`, `Published`.
//!
//! A stage cannot be made from anything but the one before it:
//!
//! ```compile_fail,E0451
//! use graphwrite_protocol_types::{Armed, Revalidated};
//! fn skip_arming(stage: Revalidated<(), ()>) -> Armed<(), ()> {
//!     Armed { write: todo!(), intent: todo!(), payload: (), gates: () }
//! }
//! ```
//!
//! A stage cannot be used twice:
//!
//! ```compile_fail,E0382
//! use graphwrite_protocol_types::{Armed, IntentDurable, Revalidated};
//! fn arm_twice(stage: Revalidated<(), ()>, a: IntentDurable, b: IntentDurable) {
//!     let _ = stage.arm(a);
//!     let _ = stage.arm(b);
//! }
//! ```
//!
//! There is no way from `Revalidated` to `Applied`: the permit to commit comes from `Armed` alone.
//!
//! ```compile_fail,E0599
//! use graphwrite_protocol_types::Revalidated;
//! fn act_unarmed(stage: &Revalidated<(), ()>) {
//!     let _ = stage.permit();
//! }
//! ```

use std::collections::BTreeMap;

use thiserror::Error;

use crate::{
    AttemptId, BaseView, CommitPermit, Effect, EffectKind, Intent, ManifestDelta, NextHead,
    OwnerRecord, Pin, PinSlot, PlanInvalid, PreState, PreparedWrite, Stale, TableIdentity,
};

/// Stage B is done: a complete plan and its staged payload `P`; no HEAD has moved.
#[must_use = "a prepared write does nothing until it is taken through the stages"]
#[derive(Debug)]
pub struct Prepared<P> {
    write: PreparedWrite,
    payload: P,
}

impl<P> Prepared<P> {
    /// Accepts a plan that is consistent in itself.
    ///
    /// # Errors
    /// The contradiction.
    pub fn new(write: PreparedWrite, payload: P) -> Result<Self, PlanInvalid> {
        write.check()?;
        Ok(Self { write, payload })
    }

    /// The plan.
    pub fn write(&self) -> &PreparedWrite {
        &self.write
    }

    /// Stage C: the ordered gates are held from here on.
    pub fn gated<G>(self, gates: G) -> Gated<P, G> {
        Gated { write: self.write, payload: self.payload, gates }
    }
}

/// Stage C is done: the gates `G` are held.
#[must_use = "gates are held"]
#[derive(Debug)]
pub struct Gated<P, G> {
    write: PreparedWrite,
    payload: P,
    gates: G,
}

/// What stage D found, read with all gates held.
#[derive(Debug, Clone)]
pub struct Observed {
    /// Fresh authority.
    pub authority: BaseView,
    /// The newest version of each existing ref that the plan will commit to.
    pub heads: BTreeMap<TableIdentity, Option<Pin>>,
    /// Intents that are armed and overlap the plan.
    pub pending: Vec<AttemptId>,
}

/// Stage D found that the plan no longer holds; nothing was armed and nothing has moved.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotValid {
    /// A member of the read set changed.
    #[error(transparent)]
    Stale(#[from] Stale),
    /// HEAD of a target is not the published pin.
    #[error("HEAD of table {identity} is not its published pin {pin}")]
    HeadMoved {
        /// The table.
        identity: TableIdentity,
        /// The published pin.
        pin: Pin,
        /// What was found.
        found: Option<Pin>,
    },
    /// An intent was armed since the barrier.
    #[error("attempt {attempt} was armed on the same tables since the barrier")]
    Pending {
        /// The other attempt.
        attempt: AttemptId,
    },
}

impl<P, G> Gated<P, G> {
    /// The plan.
    pub fn write(&self) -> &PreparedWrite {
        &self.write
    }

    /// Stage D: compares the whole read set and every target's HEAD with what was `observed`
    /// (RFC 4.4). On refusal the gates are released and the plan is gone: recompute, do not patch
    /// (RFC 3.4).
    ///
    /// # Errors
    /// The first thing that no longer holds.
    pub fn revalidate(self, observed: &Observed) -> Result<Revalidated<P, G>, NotValid> {
        if let Some(attempt) = observed.pending.first() {
            return Err(NotValid::Pending { attempt: *attempt });
        }
        self.write.read_set.check(&observed.authority)?;
        let effects = &self.write.effects;
        effects.iter().try_for_each(|effect| base_is_there(effect, &self.write, observed))?;
        let manifest = observed.authority.manifest.clone();
        let Self { write, payload, gates } = self;
        Ok(Revalidated { write, payload, gates, manifest })
    }
}

/// HEAD of an existing target is its pin; the version that a ref is to be made from is still there.
fn base_is_there(
    effect: &Effect,
    write: &PreparedWrite,
    observed: &Observed,
) -> Result<(), NotValid> {
    let identity = effect.target.identity;
    let pin = match (&effect.pre, effect.kind) {
        (PreState::At(pin), _) => pin,
        (PreState::Absent, EffectKind::CreateRef) => match write.base.head(identity).live() {
            Some(source) => &source.pin,
            None => return Ok(()),
        },
        (PreState::Absent, _) => return Ok(()),
    };
    let found = observed.heads.get(&identity).cloned().flatten();
    if found.as_ref() == Some(pin) {
        return Ok(());
    }
    Err(NotValid::HeadMoved { identity, pin: pin.clone(), found })
}

/// Stage D is done: authority equals the read set.
#[must_use = "gates are held"]
#[derive(Debug)]
pub struct Revalidated<P, G> {
    write: PreparedWrite,
    payload: P,
    gates: G,
    manifest: Pin,
}

/// Proof that an intent is durable. Only the substrate's intent store may name
/// [`IntentDurable::witness`]; `cargo xtask audit-entrypoints` enforces it.
#[derive(Debug)]
pub struct IntentDurable {
    intent: Intent,
}

impl IntentDurable {
    /// Attests that `intent` was created, durably and exclusively.
    pub fn witness(intent: Intent) -> Self {
        Self { intent }
    }
}

/// The durable intent is not the one of this attempt. Always a fault of ours.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the intent that was made durable is not the one of attempt {attempt}")]
pub struct WrongIntent {
    /// The attempt that was to be armed.
    pub attempt: AttemptId,
}

impl<P, G> Revalidated<P, G> {
    /// The plan.
    pub fn write(&self) -> &PreparedWrite {
        &self.write
    }

    /// The manifest version at which the read set holds.
    pub fn manifest(&self) -> &Pin {
        &self.manifest
    }

    /// The intent to make durable.
    pub fn intent(&self, owner: OwnerRecord, armed_at_unix_us: u64) -> Intent {
        self.write.intent(owner, armed_at_unix_us, self.manifest.clone())
    }

    /// Stage E: the intent is durable (RFC 4.5).
    ///
    /// # Errors
    /// When the witness is of another intent.
    pub fn arm(self, durable: IntentDurable) -> Result<Armed<P, G>, WrongIntent> {
        let intent = durable.intent;
        let same = intent.attempt == self.write.attempt && intent.effects == self.write.effects;
        if !same || intent.delta != self.write.delta {
            return Err(WrongIntent { attempt: self.write.attempt });
        }
        Ok(Armed { write: self.write, intent, payload: self.payload, gates: self.gates })
    }
}

/// Stage E is done: effects may be applied, and only the intent may take them back.
#[must_use = "an armed attempt must be published or resolved"]
#[derive(Debug)]
pub struct Armed<P, G> {
    write: PreparedWrite,
    intent: Intent,
    payload: P,
    gates: G,
}

/// Effects achieved something that the plan does not allow; the attempt goes to recovery (RFC 4.6).
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("effect {effect} achieved {achieved:?}, outside its plan")]
pub struct OutsideEnvelope {
    /// Index of the effect.
    pub effect: u32,
    /// What it achieved.
    pub achieved: Option<Pin>,
}

impl<P, G> Armed<P, G> {
    /// The plan.
    pub fn write(&self) -> &PreparedWrite {
        &self.write
    }

    /// The durable intent.
    pub fn intent(&self) -> &Intent {
        &self.intent
    }

    /// The staged payload.
    pub fn payload(&self) -> &P {
        &self.payload
    }

    /// The delta with every output slot bound, if all effects end as planned; none when a plan
    /// leaves open how an effect ends.
    pub fn foreseen(&self) -> Option<ManifestDelta> {
        let planned = self.write.effects.iter().map(|effect| match &effect.post {
            crate::PostState::Exact(pin) => Some(Some(pin.clone())),
            crate::PostState::Unmoved => Some(None),
            crate::PostState::Range { .. } => None,
        });
        Some(bind_outputs(&self.write.delta, &planned.collect::<Option<Vec<_>>>()?))
    }

    /// The right to apply this attempt's effects.
    pub fn permit(&self) -> CommitPermit<'_> {
        CommitPermit::effect(self.write.attempt)
    }

    /// Stage F: binds what every effect achieved to the output slots of the delta. Nothing may be
    /// wider than the plan (RFC 2.4).
    ///
    /// # Errors
    /// The first effect outside its plan, with the attempt for recovery.
    pub fn applied(
        self,
        achieved: &[Option<Pin>],
    ) -> Result<Applied<G>, (OutsideEnvelope, Box<Self>)> {
        let fits = |effect: &Effect, got: Option<&Pin>| achieves(effect, got);
        let outside = self
            .write
            .effects
            .iter()
            .enumerate()
            .find(|(at, effect)| !fits(effect, achieved.get(*at).and_then(Option::as_ref)));
        if let Some((at, _)) = outside {
            let got = achieved.get(at).cloned().flatten();
            return Err((OutsideEnvelope { effect: at as u32, achieved: got }, Box::new(self)));
        }
        let delta = bind_outputs(&self.write.delta, achieved);
        Ok(Applied { write: self.write, intent: self.intent, delta, gates: self.gates })
    }

    /// Gives the attempt to recovery, with the gates still held.
    pub fn into_recovery(self) -> (Intent, G) {
        (self.intent, self.gates)
    }
}

fn achieves(effect: &Effect, achieved: Option<&Pin>) -> bool {
    use crate::PostState::{Exact, Range, Unmoved};
    match (&effect.post, achieved) {
        (Exact(pin), Some(got)) => pin == got,
        (Range { first, last }, Some(got)) => (*first..=*last).contains(&got.version),
        (Unmoved, got) => got.is_none(),
        (Exact(_) | Range { .. }, None) => false,
    }
}

/// Binds the output slots of `delta` to what the effects `achieved`. A slot without a result stays
/// open.
pub fn bind_outputs(delta: &ManifestDelta, achieved: &[Option<Pin>]) -> ManifestDelta {
    let mut bound = delta.clone();
    for change in &mut bound.heads {
        let NextHead::Live { pin, .. } = &mut change.next else { continue };
        let PinSlot::Output { effect } = pin else { continue };
        if let Some(Some(got)) = achieved.get(*effect as usize) {
            *pin = PinSlot::Exact(got.clone());
        }
    }
    bound
}

/// Stage F is done: every effect is complete, nothing is visible.
#[must_use = "an applied attempt must be published or resolved"]
#[derive(Debug)]
pub struct Applied<G> {
    write: PreparedWrite,
    intent: Intent,
    delta: ManifestDelta,
    gates: G,
}

impl<G> Applied<G> {
    /// The plan.
    pub fn write(&self) -> &PreparedWrite {
        &self.write
    }

    /// The durable intent.
    pub fn intent(&self) -> &Intent {
        &self.intent
    }

    /// The delta with every output slot bound.
    pub fn delta(&self) -> &ManifestDelta {
        &self.delta
    }

    /// Stage G: the manifest commit `manifest` carries the whole delta and the `committed` row.
    pub fn published(self, manifest: Pin) -> Published<G> {
        Published { intent: self.intent, manifest, gates: self.gates }
    }

    /// Gives the attempt to recovery, with the gates still held.
    pub fn into_recovery(self) -> (Intent, G) {
        (self.intent, self.gates)
    }
}

/// Stage G is done: the commit is visible; what is left is tidying (RFC 4.8).
#[must_use = "a published attempt must be finalized"]
#[derive(Debug)]
pub struct Published<G> {
    intent: Intent,
    manifest: Pin,
    gates: G,
}

impl<G> Published<G> {
    /// Stage H: releases the gates and gives back what is to be deleted, and the manifest version
    /// that made the commit visible.
    pub fn finalize(self) -> (Intent, Pin) {
        drop(self.gates);
        (self.intent, self.manifest)
    }
}
