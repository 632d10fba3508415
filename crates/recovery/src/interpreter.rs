//! The one recovery interpreter: it takes one intent to its end, for a barrier that met it and for
//! an owner whose own attempt failed. It looks, decides, performs one decision, and looks again; it
//! remembers nothing between two looks, so that any process can go on where another one died.
//!
//! A step that was refused or never answered is not judged here: the next look sees what it did. An
//! `Unknown` is never taken for a proof. The pass ends when looks stop showing progress.

use graphwrite_protocol_types::{Failpoint, Full, Intent, Pin, RecoveryMode};
use tracing::Instrument;

use crate::classify::{CompensationStep, Decision, Wait};
use crate::facts::{AttemptOutcome, Authority};
use crate::look::{Look, look};
use crate::port::{Landing, LoadedIntent, Publishing, RecordSet, Recorded, RecoveryPort, Removal};
use crate::resolution::{Resolution, StopReason, stopped};
use crate::rule::{Rule, Verdict};
use crate::span;
use crate::standing::Standing;
use crate::wait::{Owner, WaitRules};

/// How many looks in a row may show the same before the pass gives up.
const IDLE_LOOKS_MAX: u32 = 6;

/// How many looks a pass may take in all: ample for every step of the largest plan, and a bound
/// on a manifest that is always busy.
const LOOKS_MAX: u32 = 256;

/// Takes intents of one branch to their end.
#[derive(Debug)]
pub struct Interpreter<'a, P> {
    port: &'a P,
    mode: &'a RecoveryMode,
    waits: &'a WaitRules,
    #[cfg(test)]
    pub(crate) defect: crate::tests::defect::Defect,
}

/// What one performed decision leads to.
enum Next {
    /// Look again at once.
    Look,
    /// Look again at once: somebody else took the manifest slot, which is progress, but theirs.
    Lost,
    /// Look again after a pause: something did not answer.
    Pause(String),
    /// The end.
    End(Resolution),
}

/// What looks have shown so far.
#[derive(Default)]
struct Progress {
    last_seen: Option<(AttemptOutcome, Vec<Standing>)>,
    idle_looks: u32,
    looks: u32,
    published: bool,
    /// The rules that decided, in order, without repetitions.
    rules: Vec<Rule>,
}

impl Progress {
    fn note(&mut self, look: &Look) {
        let seen = (look.authority.outcome, look.judgement.standings.clone());
        let idle = self.last_seen.as_ref() == Some(&seen);
        self.idle_looks = if idle { self.idle_looks + 1 } else { 0 };
        self.looks += 1;
        if self.rules.last() != Some(&look.judgement.rule) {
            self.rules.push(look.judgement.rule);
        }
        self.last_seen = Some(seen);
    }

    fn is_exhausted(&self) -> bool {
        self.idle_looks >= IDLE_LOOKS_MAX || self.looks >= LOOKS_MAX
    }
}

impl<'a, P: RecoveryPort> Interpreter<'a, P> {
    /// An interpreter over `port` that performs what `mode` allows.
    pub fn new(port: &'a P, mode: &'a RecoveryMode, waits: &'a WaitRules) -> Self {
        Self {
            port,
            mode,
            waits,
            #[cfg(test)]
            defect: crate::tests::defect::Defect::None,
        }
    }

    /// Takes `intent` to its end, or as far as it goes. `records` are its control records as last
    /// listed; an owner that resolves its own attempt passes what it created.
    ///
    /// # Errors
    /// A fault of the port. The intent is as it was or further; the pass can be repeated.
    pub async fn resolve(
        &self,
        intent: &Intent,
        records: &RecordSet,
        owner: &Owner,
    ) -> Result<Resolution, P::Error> {
        let mut progress = Progress::default();
        let span = span::of(intent, owner);
        let resolved = self.to_the_end(intent, records, owner, &mut progress);
        let resolved = resolved.instrument(span.clone()).await;
        span::ended(&span, &progress.rules, resolved.as_ref().ok());
        resolved
    }

    async fn to_the_end(
        &self,
        intent: &Intent,
        records: &RecordSet,
        owner: &Owner,
        progress: &mut Progress,
    ) -> Result<Resolution, P::Error> {
        let mut trouble = String::from("every manifest slot went to somebody else");
        loop {
            let look = self.look(intent, owner).await?;
            progress.note(&look);
            tracing::debug!(attempt = %intent.attempt, rule = ?look.judgement.rule,
                decision = ?look.judgement.decision, "recovery decision");
            if progress.is_exhausted() {
                return Ok(stopped(intent, &look, None, StopReason::NoProgress { last: trouble }));
            }
            match self.perform(intent, records, &look, progress).await? {
                Next::Look => {}
                Next::Lost => progress.last_seen = None,
                Next::Pause(cause) => {
                    trouble = cause;
                    self.port.pause(self.waits.backoff_ms(progress.idle_looks)).await;
                }
                Next::End(resolution) => return Ok(resolution),
            }
        }
    }

    #[cfg(not(test))]
    async fn look(&self, intent: &Intent, owner: &Owner) -> Result<Look, P::Error> {
        look(self.port, intent, owner, self.waits).await
    }

    #[cfg(test)]
    async fn look(&self, intent: &Intent, owner: &Owner) -> Result<Look, P::Error> {
        match self.defect {
            crate::tests::defect::Defect::None => look(self.port, intent, owner, self.waits).await,
            defect => defect.look(self.port, intent, owner, self.waits).await,
        }
    }

    async fn perform(
        &self,
        intent: &Intent,
        records: &RecordSet,
        look: &Look,
        progress: &mut Progress,
    ) -> Result<Next, P::Error> {
        match &look.judgement.decision {
            Decision::Finalize => self.finalize(intent, records, look, progress).await,
            Decision::RollForward => self.roll_forward(intent, look, progress).await,
            Decision::Abort => self.abort(intent, look).await,
            Decision::Compensate(steps) => self.compensate(intent, look, steps).await,
            Decision::RetireEmpty => self.retire_empty(intent, records, look).await,
            Decision::DiscardOrphan => self.discard(intent, records, look).await,
            Decision::Wait(Wait::Evidence) => {
                Ok(Next::Pause("the evidence stays older than the authority".into()))
            }
            Decision::Wait(wait) => Ok(Next::End(Resolution::Waiting(*wait))),
            Decision::Refuse { effect, reason } => {
                Ok(Next::End(stopped(intent, look, *effect, StopReason::Refused(*reason))))
            }
        }
    }

    async fn finalize(
        &self,
        intent: &Intent,
        records: &RecordSet,
        look: &Look,
        progress: &Progress,
    ) -> Result<Next, P::Error> {
        let Some(right) = Publishing::of(self.mode) else {
            return Ok(forbidden(intent, look, Verdict::Finalize));
        };
        self.port.reach(Failpoint::RecoveryPreRetire).await?;
        let retired = self.port.retire(right, intent.attempt, records).await;
        let rolled_forward = progress.published;
        Ok(Next::End(match look.authority.outcome {
            AttemptOutcome::Committed { commit } => {
                Resolution::Committed { commit, rolled_forward, retired }
            }
            _ => Resolution::RolledBack { retired },
        }))
    }

    async fn roll_forward(
        &self,
        intent: &Intent,
        look: &Look,
        progress: &mut Progress,
    ) -> Result<Next, P::Error> {
        let right = Publishing::of(self.mode);
        let (Some(right), Some(over)) = (right, manifest_of(look)) else {
            return Ok(forbidden(intent, look, Verdict::RollForward));
        };
        let delta = look.delta(intent);
        let recorded = self.port.publish(right, intent, over, &delta).await?;
        progress.published |= matches!(recorded, Recorded::Landed(_));
        Ok(after_record(recorded))
    }

    async fn abort(&self, intent: &Intent, look: &Look) -> Result<Next, P::Error> {
        let (Some(full), Some(over)) = (self.full(), manifest_of(look)) else {
            return Ok(forbidden(intent, look, Verdict::Abort));
        };
        // An attempt that was retired as empty since it was listed needs no row.
        if self.port.load_intent(intent.attempt).await? == LoadedIntent::Vanished {
            return Ok(Next::End(Resolution::Vanished));
        }
        let reason = look.judgement.summary.obstacle();
        let recorded = self.port.record_aborted(full, intent, over, reason).await?;
        if matches!(recorded, Recorded::Landed(_)) {
            self.port.reach(Failpoint::RecoveryPostAbort).await?;
        }
        Ok(after_record(recorded))
    }

    async fn compensate(
        &self,
        intent: &Intent,
        look: &Look,
        steps: &[CompensationStep],
    ) -> Result<Next, P::Error> {
        let (Some(full), Some(over)) = (self.full(), manifest_of(look)) else {
            return Ok(forbidden(intent, look, Verdict::Compensate));
        };
        let mut next = Next::Look;
        for step in steps {
            // One table's trouble does not keep another one blocked.
            match self.step(full, intent, over, step).await? {
                Next::Pause(cause) => next = Next::Pause(cause),
                Next::Lost if matches!(next, Next::Look) => next = Next::Lost,
                Next::Lost | Next::Look | Next::End(_) => {}
            }
        }
        Ok(next)
    }

    async fn step(
        &self,
        full: &Full,
        intent: &Intent,
        over: &Pin,
        step: &CompensationStep,
    ) -> Result<Next, P::Error> {
        let port = self.port;
        let next = match step {
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
            CompensationStep::MovePins { moves, complete } => {
                let recorded = port.move_pins(full, intent, over, moves, *complete).await?;
                return Ok(after_record(recorded));
            }
        };
        port.reach(Failpoint::RecoveryPostCompensation).await?;
        Ok(next)
    }

    async fn retire_empty(
        &self,
        intent: &Intent,
        records: &RecordSet,
        look: &Look,
    ) -> Result<Next, P::Error> {
        let Some(right) = Publishing::of(self.mode) else {
            return Ok(forbidden(intent, look, Verdict::RetireEmpty));
        };
        let retired = self.port.retire(right, intent.attempt, records).await;
        Ok(Next::End(Resolution::Empty { retired }))
    }

    async fn discard(
        &self,
        intent: &Intent,
        records: &RecordSet,
        look: &Look,
    ) -> Result<Next, P::Error> {
        let Some(full) = self.full() else {
            return Ok(forbidden(intent, look, Verdict::DiscardOrphan));
        };
        match self.port.audit_orphan(full, intent).await? {
            Recorded::Landed(_) => {
                let retired = self.port.retire(full.into(), intent.attempt, records).await;
                Ok(Next::End(Resolution::Discarded { retired }))
            }
            recorded => Ok(after_record(recorded)),
        }
    }

    fn full(&self) -> Option<&'a Full> {
        match self.mode {
            RecoveryMode::Full(full) => Some(full),
            RecoveryMode::Probe | RecoveryMode::RollForward(_) => None,
        }
    }
}

fn manifest_of(look: &Look) -> Option<&Pin> {
    match &look.authority.authority {
        Authority::Branch(view) => Some(&view.manifest),
        Authority::BranchGone => None,
    }
}

fn after_record(recorded: Recorded) -> Next {
    match recorded {
        Recorded::Landed(_) => Next::Look,
        Recorded::Lost => Next::Lost,
        Recorded::Unknown { cause } => Next::Pause(cause),
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

fn forbidden(intent: &Intent, look: &Look, verdict: Verdict) -> Next {
    Next::End(stopped(intent, look, None, StopReason::ModeForbids(verdict)))
}
