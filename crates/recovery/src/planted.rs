//! How a recovery looks at an intent with a defect that tests have planted (docs/defects.md). Nothing
//! comes here in a build without the feature `defects`.

use graphwrite_protocol_types::{Defect, Effect, Intent, Planted};

use crate::classify::Decision;
use crate::evidence::Evidence;
use crate::facts::AttemptOutcome;
use crate::look::{Look, gather, judged};
use crate::port::RecoveryPort;
use crate::wait::{Owner, WaitRules};

/// [`Defect::AuthorityFirst`]: the authority is older than the evidence.
pub(crate) async fn authority_first<P: RecoveryPort>(
    port: &P,
    intent: &Intent,
    owner: &Owner,
    waits: &WaitRules,
) -> Result<Look, P::Error> {
    let authority = port.authority(intent).await?;
    let found = gather(port, intent).await?;
    Ok(judged(intent, owner, waits, found, authority))
}

impl Look {
    /// [`Defect::NoAbortedRow`]: what would be aborted counts as aborted.
    pub(crate) fn told_in(
        mut self,
        planted: Planted,
        intent: &Intent,
        owner: &Owner,
        waits: &WaitRules,
    ) -> Self {
        if planted.has(Defect::NoAbortedRow) && self.judgement.decision == Decision::Abort {
            self.authority.outcome = AttemptOutcome::Aborted;
            return judged(intent, owner, waits, self.found, self.authority);
        }
        self
    }
}

impl Evidence {
    /// [`Defect::NoFence`]: a slot that nobody has taken counts as lost to somebody.
    pub(crate) fn seen_in(self, planted: Planted, effect: &Effect) -> Self {
        let untouched = self == Self::Open(0) && effect.kind.is_slot_bearing();
        if planted.has(Defect::NoFence) && untouched { Self::SlotForeign } else { self }
    }
}
