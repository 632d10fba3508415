//! One look at an intent: facts in the one order that is sound, and the judgement over them. It
//! performs nothing.

use graphwrite_protocol_types::{Defect, Intent, ManifestDelta, Pin, bind_outputs};

use crate::classify::{Case, Judgement, classify};
use crate::evidence::{Evidence, evidence_of};
use crate::facts::{AuthorityFacts, ConfirmFacts, DataFiles, RefFacts};
use crate::planted::authority_first;
use crate::port::RecoveryPort;
use crate::wait::{Owner, WaitRules};
use graphwrite_protocol_types::EffectKind;

/// What storage says about the effects, before any authority is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceFacts {
    /// The confirm object.
    pub confirm: ConfirmFacts,
    /// Each effect's ref, by index.
    pub refs: Vec<RefFacts>,
    /// What that proves, by index.
    pub evidence: Vec<Evidence>,
    /// The data files of the landed steps.
    pub files: DataFiles,
}

/// Everything that one look found, and what follows from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// Read first.
    pub found: EvidenceFacts,
    /// Read last.
    pub authority: AuthorityFacts,
    /// What follows.
    pub judgement: Judgement,
}

impl Look {
    /// The delta that a roll-forward publishes: the recorded one, with its outputs bound to what
    /// the effects achieved.
    pub fn delta(&self, intent: &Intent) -> ManifestDelta {
        let achieved: Vec<Option<Pin>> = (0..)
            .zip(&intent.effects)
            .map(|(index, effect)| match effect.kind {
                EffectKind::Inline => self.found.confirm.achieved(index).cloned(),
                _ => effect.exact_post().cloned(),
            })
            .collect();
        bind_outputs(&intent.delta, &achieved)
    }
}

/// Looks at an intent: **evidence first, authority last**. The other way round, a writer that
/// publishes in between, and others that build on it, make a healthy history look buried
/// (pitfall 80). This way round, an outcome row that is missing was missing after everything that
/// was seen in the tables, and stays missing until the slot that the decision takes.
pub async fn look<P: RecoveryPort>(
    port: &P,
    intent: &Intent,
    owner: &Owner,
    waits: &WaitRules,
) -> Result<Look, P::Error> {
    let planted = port.planted();
    if planted.has(Defect::AuthorityFirst) {
        return authority_first(port, intent, owner, waits).await;
    }
    let found = gather(port, intent).await?;
    let authority = port.authority(intent).await?;
    Ok(judged(intent, owner, waits, found, authority).told_in(planted, intent, owner, waits))
}

pub(crate) fn judged(
    intent: &Intent,
    owner: &Owner,
    waits: &WaitRules,
    found: EvidenceFacts,
    authority: AuthorityFacts,
) -> Look {
    let judgement = classify(&Case {
        intent,
        evidence: &found.evidence,
        files: found.files,
        confirm: &found.confirm,
        authority: &authority,
        owner,
        waits,
    });
    Look { found, authority, judgement }
}

pub(crate) async fn gather<P: RecoveryPort>(
    port: &P,
    intent: &Intent,
) -> Result<EvidenceFacts, P::Error> {
    let confirm = confirm_of(port, intent).await?;
    let (mut refs, mut evidence) = (Vec::new(), Vec::new());
    for (index, effect) in (0_u32..).zip(&intent.effects) {
        let facts = match effect.kind {
            EffectKind::Pointer => RefFacts::Absent,
            _ => port.observe(intent, index).await?,
        };
        let achieved = confirm.achieved(index as usize);
        let seen = evidence_of(effect, index, intent.attempt, &facts, achieved);
        evidence.push(seen.seen_in(port.planted(), effect));
        refs.push(facts);
    }
    let files = files_of(port, intent, &evidence).await?;
    Ok(EvidenceFacts { confirm, refs, evidence, files })
}

async fn confirm_of<P: RecoveryPort>(port: &P, intent: &Intent) -> Result<ConfirmFacts, P::Error> {
    if ConfirmFacts::needed_by(intent) {
        port.load_confirm(intent).await
    } else {
        Ok(ConfirmFacts::NotNeeded)
    }
}

/// Only an attempt that is complete may be published, so only then do its files matter.
async fn files_of<P: RecoveryPort>(
    port: &P,
    intent: &Intent,
    evidence: &[Evidence],
) -> Result<DataFiles, P::Error> {
    if evidence.iter().any(|effect| *effect != Evidence::Complete) {
        return Ok(DataFiles::NotAsked);
    }
    for (index, effect) in (0_u32..).zip(&intent.effects) {
        let moves = effect.kind != EffectKind::Pointer;
        if moves && !port.data_files_exist(intent, index).await? {
            return Ok(DataFiles::Missing);
        }
    }
    Ok(DataFiles::Present)
}
