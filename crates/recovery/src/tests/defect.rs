//! Defects planted in the interpreter, to show that the tests over the simulated store can fail.

use std::collections::BTreeSet;

use graphwrite_protocol_types::Intent;

use crate::facts::AttemptOutcome;
use crate::look::{Look, gather, judged, look};
use crate::port::RecoveryPort;
use crate::wait::{Owner, WaitRules};
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
    pub(crate) async fn look<P: RecoveryPort>(
        self,
        port: &P,
        intent: &Intent,
        owner: &Owner,
        waits: &WaitRules,
    ) -> Result<Look, P::Error> {
        match self {
            Self::None => look(port, intent, owner, waits).await,
            Self::NoFence => Ok(without_fences(look(port, intent, owner, waits).await?, intent)),
            Self::AuthorityFirst => {
                let authority = port.authority(intent).await?;
                let found = gather(port, intent).await?;
                Ok(judged(intent, owner, waits, found, authority))
            }
            Self::NoAbortedRow => {
                let mut seen = look(port, intent, owner, waits).await?;
                if seen.judgement.decision == Decision::Abort {
                    seen.authority.outcome = AttemptOutcome::Aborted;
                    seen = judged(intent, owner, waits, seen.found, seen.authority);
                }
                Ok(seen)
            }
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
