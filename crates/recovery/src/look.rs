//! A look at intents: facts in the one order that is sound, and the judgement over them. Whatever
//! several intents share is read once: a ref and its slots, and the manifest. It performs nothing.

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_protocol_types::{
    AttemptId, Defect, Effect, EffectKind, Intent, ManifestDelta, Pin, Planted, bind_outputs,
};

use crate::classify::{Case, Judgement, classify};
use crate::evidence::{Evidence, evidence_of};
use crate::facts::{AuthorityFacts, ConfirmFacts, DataFiles, RefFacts, slots_to_observe};
use crate::planted::authority_first;
use crate::port::{RecoveryPort, RefName};
use crate::side_by_side::side_by_side;
use crate::wait::{Owner, WaitRules};

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

/// An intent, and what is known of its owner.
pub type Subject<'a> = (&'a Intent, &'a Owner);

/// What became of looking at several intents. What cannot be read of one of them does not keep the
/// others from being looked at.
#[derive(Debug)]
pub struct Looks<E> {
    /// In the order of the intents; none where there was a fault.
    pub looks: Vec<Option<Look>>,
    /// The first fault, with an attempt that met it.
    pub fault: Option<(AttemptId, E)>,
}

/// Looks at intents: **evidence first, authority last**. The other way round, a writer that
/// publishes in between, and others that build on it, make a healthy history look buried
/// (pitfall 80). This way round, an outcome row that is missing was missing after everything that
/// was seen in the tables, and stays missing until the slot that the decision takes. At most
/// `width` reads are under way at a time.
///
/// # Errors
/// A fault in reading the manifest: without it nothing can be judged.
pub async fn look_at<P: RecoveryPort>(
    port: &P,
    subjects: &[Subject<'_>],
    waits: &WaitRules,
    width: usize,
) -> Result<Looks<P::Error>, P::Error> {
    let planted = port.planted();
    if planted.has(Defect::AuthorityFirst) {
        return authority_first(port, subjects, waits, width).await;
    }
    let intents: Vec<&Intent> = subjects.iter().map(|(intent, _)| *intent).collect();
    let gathered = gather(port, &intents, width).await;
    let seen = subjects.iter().zip(&gathered.found).filter(|(_, found)| found.is_some());
    let seen: Vec<&Intent> = seen.map(|((intent, _), _)| *intent).collect();
    let authority = if seen.is_empty() { Vec::new() } else { port.authority(&seen).await? };
    Ok(judged(subjects, waits, gathered, authority).told_in(planted, subjects, waits))
}

/// Judges each intent of which everything was read; `authority` is that of these, in order.
pub(crate) fn judged<E>(
    subjects: &[Subject<'_>],
    waits: &WaitRules,
    gathered: Gathered<E>,
    authority: Vec<AuthorityFacts>,
) -> Looks<E> {
    let mut authority = authority.into_iter();
    let looks = subjects.iter().zip(gathered.found).map(|(subject, found)| {
        let (found, authority) = found.and_then(|found| Some((found, authority.next()?)))?;
        Some(judged_one(*subject, waits, found, authority))
    });
    Looks { looks: looks.collect(), fault: gathered.fault }
}

pub(crate) fn judged_one(
    (intent, owner): Subject<'_>,
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

/// What storage says about several intents.
pub(crate) struct Gathered<E> {
    /// In their order; none where there was a fault.
    pub(crate) found: Vec<Option<EvidenceFacts>>,
    fault: Option<(AttemptId, E)>,
}

impl<E> Gathered<E> {
    /// The value, or its fault noted.
    fn noting<T>(&mut self, attempt: AttemptId, result: Result<T, E>) -> Option<T> {
        result.map_err(|fault| self.fault.get_or_insert((attempt, fault))).ok()
    }
}

pub(crate) async fn gather<P: RecoveryPort>(
    port: &P,
    intents: &[&Intent],
    width: usize,
) -> Gathered<P::Error> {
    let mut gathered = Gathered { found: Vec::new(), fault: None };
    let confirms = side_by_side(width, intents.iter().map(|intent| confirm_of(port, intent))).await;
    let refs = observed(port, intents, width, &mut gathered).await;
    for (intent, confirm) in intents.iter().zip(confirms) {
        let confirm = gathered.noting(intent.attempt, confirm);
        gathered.found.push(
            confirm.and_then(|confirm| evidence_facts(intent, confirm, &refs, port.planted())),
        );
    }
    add_files(port, intents, width, &mut gathered).await;
    gathered
}

/// The refs that were read; a ref with a fault is not among them.
type Observed = BTreeMap<RefName, RefFacts>;

/// Reads HEAD and the slots of every ref that an intent names, each once, whoever names it.
async fn observed<P: RecoveryPort>(
    port: &P,
    intents: &[&Intent],
    width: usize,
    gathered: &mut Gathered<P::Error>,
) -> Observed {
    let mut wanted: BTreeMap<RefName, (AttemptId, BTreeSet<u64>)> = BTreeMap::new();
    for intent in intents {
        for effect in intent.effects.iter().filter(|effect| moves(effect)) {
            let new = || (intent.attempt, BTreeSet::new());
            let (_, slots) = wanted.entry(RefName::of(effect)).or_insert_with(new);
            slots.extend(slots_to_observe(effect).into_iter().flatten());
        }
    }
    let reads = wanted.iter().map(|(name, (_, slots))| port.observe(name, slots));
    let facts = side_by_side(width, reads).await;
    let read = wanted.iter().zip(facts).filter_map(|((name, (attempt, _)), facts)| {
        Some((name.clone(), gathered.noting(*attempt, facts)?))
    });
    read.collect()
}

/// None if a ref of the intent could not be read.
fn evidence_facts(
    intent: &Intent,
    confirm: ConfirmFacts,
    observed: &Observed,
    planted: Planted,
) -> Option<EvidenceFacts> {
    let (mut refs, mut evidence) = (Vec::new(), Vec::new());
    for (index, effect) in (0_u32..).zip(&intent.effects) {
        let facts = match moves(effect) {
            true => facts_for(effect, observed.get(&RefName::of(effect))?),
            false => RefFacts::Absent,
        };
        let achieved = confirm.achieved(index as usize);
        let seen = evidence_of(effect, index, intent.attempt, &facts, achieved);
        evidence.push(seen.seen_in(planted, effect));
        refs.push(facts);
    }
    Some(EvidenceFacts { confirm, refs, evidence, files: DataFiles::NotAsked })
}

/// Of what was read of a ref, what this effect asks for: the slots of others say nothing about it.
fn facts_for(effect: &Effect, observed: &RefFacts) -> RefFacts {
    let (RefFacts::Present { head, slots }, Some(own)) = (observed, slots_to_observe(effect))
    else {
        return observed.clone();
    };
    let own = slots.range(own).map(|(version, slot)| (*version, slot.clone()));
    RefFacts::Present { head: head.clone(), slots: own.collect() }
}

fn moves(effect: &Effect) -> bool {
    effect.kind != EffectKind::Pointer
}

async fn confirm_of<P: RecoveryPort>(port: &P, intent: &Intent) -> Result<ConfirmFacts, P::Error> {
    if ConfirmFacts::needed_by(intent) {
        port.load_confirm(intent).await
    } else {
        Ok(ConfirmFacts::NotNeeded)
    }
}

/// Only an attempt that is complete may be published, so only then do its files matter.
async fn add_files<P: RecoveryPort>(
    port: &P,
    intents: &[&Intent],
    width: usize,
    gathered: &mut Gathered<P::Error>,
) {
    let is_complete = |found: &Option<EvidenceFacts>| {
        let evidence = found.as_ref().map(|found| &found.evidence);
        evidence.is_some_and(|all| all.iter().all(|effect| *effect == Evidence::Complete))
    };
    let complete = gathered.found.iter().map(is_complete).enumerate();
    let complete: Vec<usize> = complete.filter(|(_, is)| *is).map(|(at, _)| at).collect();
    let reads = complete.iter().map(|at| files_of(port, intents[*at]));
    let files = side_by_side(width, reads).await;
    for (at, files) in complete.into_iter().zip(files) {
        let found = gathered.found[at].take();
        let files = gathered.noting(intents[at].attempt, files);
        gathered.found[at] =
            found.zip(files).map(|(found, files)| EvidenceFacts { files, ..found });
    }
}

async fn files_of<P: RecoveryPort>(port: &P, intent: &Intent) -> Result<DataFiles, P::Error> {
    for (index, effect) in (0_u32..).zip(&intent.effects) {
        if moves(effect) && !port.data_files_exist(intent, index).await? {
            return Ok(DataFiles::Missing);
        }
    }
    Ok(DataFiles::Present)
}
