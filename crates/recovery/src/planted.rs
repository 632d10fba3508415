//! How a recovery looks at an intent with a defect that tests have planted (docs/defects.md). Nothing
//! comes here in a build without the feature `defects`.

use graphwrite_protocol_types::{Defect, Effect, Intent, Planted};

use crate::classify::Decision;
use crate::evidence::Evidence;
use crate::facts::AttemptOutcome;
use crate::look::{Look, Looks, Subject, gather, judged, judged_one};
use crate::port::RecoveryPort;
use crate::wait::WaitRules;

/// [`Defect::AuthorityFirst`]: the authority is older than the evidence.
pub(crate) async fn authority_first<P: RecoveryPort>(
    port: &P,
    subjects: &[Subject<'_>],
    waits: &WaitRules,
    width: usize,
) -> Result<Looks<P::Error>, P::Error> {
    let intents: Vec<&Intent> = subjects.iter().map(|(intent, _)| *intent).collect();
    let authority = port.authority(&intents).await?;
    let gathered = gather(port, &intents, width).await;
    let seen = authority.into_iter().zip(&gathered.found).filter(|(_, found)| found.is_some());
    let authority = seen.map(|(authority, _)| authority).collect();
    Ok(judged(subjects, waits, gathered, authority))
}

impl<E> Looks<E> {
    /// [`Defect::NoAbortedRow`]: what would be aborted counts as aborted. [`Defect::NoEffectPublished`]: what
    /// has no effect is complete.
    pub(crate) fn told_in(
        mut self,
        planted: Planted,
        subjects: &[Subject<'_>],
        waits: &WaitRules,
    ) -> Self {
        for (subject, look) in subjects.iter().zip(&mut self.looks) {
            if planted.has(Defect::NoAbortedRow) {
                *look = look.take().map(|look| as_aborted(look, *subject, waits));
            }
            if planted.has(Defect::NoEffectPublished) {
                *look = look.take().map(|look| as_complete(look, *subject));
            }
        }
        self
    }
}

fn as_aborted(mut look: Look, subject: Subject<'_>, waits: &WaitRules) -> Look {
    if look.judgement.decision == Decision::Abort {
        look.authority.outcome = AttemptOutcome::Aborted;
        return judged_one(subject, waits, look.found, look.authority);
    }
    look
}

fn as_complete(mut look: Look, (intent, _): Subject<'_>) -> Look {
    if intent.effects.is_empty() && look.judgement.decision == Decision::Abort {
        look.judgement.decision = Decision::RollForward;
    }
    look
}

impl Evidence {
    /// [`Defect::NoFence`]: a slot that nobody has taken counts as lost to somebody.
    pub(crate) fn seen_in(self, planted: Planted, effect: &Effect) -> Self {
        let untouched = self == Self::Open(0) && effect.kind.is_slot_bearing();
        if planted.has(Defect::NoFence) && untouched { Self::SlotForeign } else { self }
    }
}
