//! Defects planted in the interpreter, to show that the tests over the simulated store can fail.

use std::collections::BTreeSet;

use graphwrite_protocol_types::Intent;

use crate::facts::AttemptOutcome;
use crate::look::{Look, Looks, Subject, gather, judged, judged_one, look_at};
use crate::port::RecoveryPort;
use crate::wait::WaitRules;
use crate::{CompensationStep, Decision, Standing};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Defect {
    None,
    /// A vacant slot counts as settled.
    NoFence,
    /// The manifest is read before the tables.
    AuthorityFirst,
    /// Compensation starts without a durable `aborted`.
    NoAbortedRow,
}

impl Defect {
    pub(crate) async fn look_at<P: RecoveryPort>(
        self,
        port: &P,
        subjects: &[Subject<'_>],
        waits: &WaitRules,
        width: usize,
    ) -> Result<Looks<P::Error>, P::Error> {
        if self == Self::AuthorityFirst {
            let intents: Vec<&Intent> = subjects.iter().map(|(intent, _)| *intent).collect();
            let authority = port.authority(&intents).await?;
            let gathered = gather(port, &intents, width).await;
            return Ok(judged(subjects, waits, gathered, authority));
        }
        let mut looks = look_at(port, subjects, waits, width).await?;
        for (subject, look) in subjects.iter().zip(&mut looks.looks) {
            *look = look.take().map(|look| self.distorted(*subject, waits, look));
        }
        Ok(looks)
    }

    fn distorted(self, subject: Subject<'_>, waits: &WaitRules, mut seen: Look) -> Look {
        match self {
            Self::NoFence => without_fences(seen, subject.0),
            Self::NoAbortedRow if seen.judgement.decision == Decision::Abort => {
                seen.authority.outcome = AttemptOutcome::Aborted;
                judged_one(subject, waits, seen.found, seen.authority)
            }
            Self::None | Self::AuthorityFirst | Self::NoAbortedRow => seen,
        }
    }
}

fn without_fences(mut seen: Look, intent: &Intent) -> Look {
    let Decision::Compensate(steps) = &mut seen.judgement.decision else { return seen };
    steps.retain(|step| !matches!(step, CompensationStep::Fence { .. }));
    let settled = |at: &Standing| at.is_settled() || *at == Standing::Vacant;
    let standings: BTreeSet<bool> = seen.judgement.standings.iter().map(settled).collect();
    if steps.is_empty() && standings == BTreeSet::from([true]) && !intent.effects.is_empty() {
        steps.push(CompensationStep::MovePins { moves: Vec::new(), complete: true });
    } else if let Some(CompensationStep::MovePins { complete, .. }) = steps.last_mut() {
        *complete =
            seen.judgement.standings.iter().all(|at| settled(at) || *at == Standing::Closed);
    }
    seen
}
