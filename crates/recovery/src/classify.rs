//! The classifier: pure, total, without I/O. It brings evidence, authority and owner into a
//! summary, lets the rules decide on that, and fills in the details from the intent.

use graphwrite_protocol_types::{
    AttemptId, BaseView, Effect, EffectKind, Intent, Pin, PreState, TableIdentity, TxUuid,
};

use crate::evidence::{Closing, Evidence};
use crate::facts::{Authority, AuthorityFacts, ConfirmFacts, DataFiles};
use crate::rule::{Rule, Verdict, decide};
use crate::standing::{RefusedBecause, Standing, standing_of};
use crate::summary::Summary;
use crate::wait::{Owner, WaitRules};

/// Everything that a decision may depend on.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The armed attempt.
    pub intent: &'a Intent,
    /// What storage proves about each effect, by index; gathered first.
    pub evidence: &'a [Evidence],
    /// Whether the landed data files are there.
    pub files: DataFiles,
    /// The confirm object.
    pub confirm: &'a ConfirmFacts,
    /// The manifest, read last.
    pub authority: &'a AuthorityFacts,
    /// The owner.
    pub owner: &'a Owner,
    /// How patient to be.
    pub waits: &'a WaitRules,
}

/// A decision and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The rule that decided.
    pub rule: Rule,
    /// What the rule saw.
    pub summary: Summary,
    /// Where each effect stands, by index; empty if the branch is gone.
    pub standings: Vec<Standing>,
    /// What is to be done.
    pub decision: Decision,
}

/// What is to be done about an intent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// Delete its records: its outcome is durable and complete.
    Finalize,
    /// Publish its fixed delta.
    RollForward,
    /// Make `aborted` durable.
    Abort,
    /// Take these steps, in order, then look again.
    Compensate(Vec<CompensationStep>),
    /// Delete its records: it had no effect and can have none.
    RetireEmpty,
    /// Audit on main, then delete its record: its branch is gone.
    DiscardOrphan,
    /// Do nothing now.
    Wait(Wait),
    /// Do nothing; somebody must `repair`.
    Refuse {
        /// The effect at fault, by index; none if it is the record.
        effect: Option<u32>,
        /// Why.
        reason: RefusedBecause,
    },
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// The attempt runs in this process: queue behind its gates.
    Gates,
    /// The owner may be alive.
    Owner {
        /// Age of its last sign of progress, in milliseconds.
        age_ms: u64,
    },
    /// Evidence that is not older than the authority.
    Evidence,
}

/// One durable step of a compensation. Each is strict and recognised by its derived transaction or
/// its unique name, so that it may be repeated by anybody (K3).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompensationStep {
    /// An empty commit directly above the pre-state.
    Fence {
        /// The effect.
        effect: u32,
        /// The version that the commit is over.
        read_version: u64,
        /// Its transaction.
        tx_uuid: TxUuid,
    },
    /// A restore of the pre-state above the landed prefix.
    Restore {
        /// The effect.
        effect: u32,
        /// The version whose content comes back; the pin that is published now.
        to: Pin,
        /// The version that the commit is over.
        read_version: u64,
        /// Its transaction.
        tx_uuid: TxUuid,
    },
    /// Removal of the dataset that the effect made.
    DeleteDataset {
        /// The effect.
        effect: u32,
    },
    /// Removal of the ref that the effect made.
    DeleteRef {
        /// The effect.
        effect: u32,
    },
    /// One manifest commit that moves pins to content-equal versions.
    MovePins {
        /// The pins to move, content kept. May be empty.
        moves: Vec<PinMove>,
        /// Whether everything is settled with it, so that the same commit records `rolled_back`.
        complete: bool,
    },
}

/// A pin that follows its closing version. Content, path and ref stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinMove {
    /// The table.
    pub identity: TableIdentity,
    /// The pin that must still be published: the intent's pre-state.
    pub from: Pin,
    /// The closing version.
    pub to: Pin,
}

/// Decides what to do about an armed intent.
pub fn classify(case: &Case<'_>) -> Judgement {
    let standings = standings(case);
    let summary = Summary::of(case, &standings);
    let (rule, verdict) = decide(&summary);
    let decision = match verdict {
        Verdict::Finalize => Decision::Finalize,
        Verdict::RollForward => Decision::RollForward,
        Verdict::Abort => Decision::Abort,
        Verdict::Compensate => Decision::Compensate(compensation(case, &standings)),
        Verdict::RetireEmpty => Decision::RetireEmpty,
        Verdict::DiscardOrphan => Decision::DiscardOrphan,
        Verdict::WaitForGates => Decision::Wait(Wait::Gates),
        Verdict::WaitForOwner => Decision::Wait(Wait::Owner { age_ms: age_ms(case.owner) }),
        Verdict::LookAgain => Decision::Wait(Wait::Evidence),
        Verdict::Refuse => refusal(rule, &standings),
    };
    Judgement { rule, summary, standings, decision }
}

fn age_ms(owner: &Owner) -> u64 {
    match owner {
        Owner::MaybeAlive { age_ms } => *age_ms,
        Owner::OwnLive | Owner::OwnStopped { .. } | Owner::Dead { .. } => 0,
    }
}

/// Where each effect stands; none when there is no manifest to see them under.
fn standings(case: &Case<'_>) -> Vec<Standing> {
    let Authority::Branch(view) = &case.authority.authority else { return Vec::new() };
    (0..)
        .zip(&case.intent.effects)
        .map(|(index, effect)| standing(case, index, effect, view))
        .collect()
}

fn standing(case: &Case<'_>, index: usize, effect: &Effect, view: &BaseView) -> Standing {
    // An effect without evidence is one that nobody looked at.
    let evidence = case.evidence.get(index).copied().unwrap_or(Evidence::Unreadable);
    let top = landed_top(effect, evidence, case.confirm.achieved(index));
    standing_of(effect, case.intent.attempt, evidence, top, view)
}

/// The highest version that the attempt is known to have landed, or the pre-state's.
fn landed_top(effect: &Effect, evidence: Evidence, confirmed: Option<&Pin>) -> u64 {
    let before = crate::facts::first_slot(effect).saturating_sub(1);
    match (evidence, effect.kind, confirmed) {
        (Evidence::Complete, EffectKind::Inline, Some(pin)) => pin.version,
        (Evidence::Complete, _, _) => before + effect.steps.len() as u64,
        (Evidence::Open(landed), _, _) => before + u64::from(landed),
        _ => before,
    }
}

/// Rule 8, effect by effect: first the physical steps, then one manifest commit for every pin that
/// can follow by now. With nothing physical left and nothing refused, that commit also says that
/// everything is taken back. A refused effect holds back only that word, and only its own table.
fn compensation(case: &Case<'_>, standings: &[Standing]) -> Vec<CompensationStep> {
    let effects = || (0_u32..).zip(&case.intent.effects).zip(standings);
    let mut steps: Vec<_> =
        effects().filter_map(|((index, effect), at)| physical(case, index, effect, *at)).collect();
    let moves: Vec<_> =
        effects().filter_map(|((index, effect), at)| pin_move(case, index, effect, *at)).collect();
    let at_rest = |at: &Standing| at.is_settled() || *at == Standing::Closed;
    let complete = standings.iter().all(at_rest);
    if complete || !moves.is_empty() {
        steps.push(CompensationStep::MovePins { moves, complete });
    }
    steps
}

fn physical(
    case: &Case<'_>,
    index: u32,
    effect: &Effect,
    standing: Standing,
) -> Option<CompensationStep> {
    let attempt = case.intent.attempt;
    match standing {
        Standing::Vacant => Some(fence(attempt, index, effect)),
        Standing::Partial | Standing::Complete => restore(case, index, effect),
        Standing::Made | Standing::MadeComplete => Some(removal(index, effect)),
        _ => None,
    }
}

fn fence(attempt: AttemptId, index: u32, effect: &Effect) -> CompensationStep {
    let read_version = crate::facts::first_slot(effect).saturating_sub(1);
    CompensationStep::Fence { effect: index, read_version, tx_uuid: TxUuid::fence(attempt, index) }
}

fn restore(case: &Case<'_>, index: u32, effect: &Effect) -> Option<CompensationStep> {
    let PreState::At(to) = effect.pre.clone() else { return None };
    let evidence = case.evidence.get(index as usize).copied()?;
    let read_version = landed_top(effect, evidence, case.confirm.achieved(index as usize));
    let tx_uuid = TxUuid::restore(case.intent.attempt, index);
    Some(CompensationStep::Restore { effect: index, to, read_version, tx_uuid })
}

fn removal(index: u32, effect: &Effect) -> CompensationStep {
    match effect.kind {
        EffectKind::CreateRef => CompensationStep::DeleteRef { effect: index },
        _ => CompensationStep::DeleteDataset { effect: index },
    }
}

fn pin_move(case: &Case<'_>, index: u32, effect: &Effect, standing: Standing) -> Option<PinMove> {
    let (Standing::Closed, PreState::At(from)) = (standing, effect.pre.clone()) else {
        return None;
    };
    let Some(Evidence::Closed { version, how }) = case.evidence.get(index as usize).copied() else {
        return None;
    };
    let attempt = case.intent.attempt;
    let tx_uuid = match how {
        Closing::Fence => TxUuid::fence(attempt, index),
        Closing::Restore => TxUuid::restore(attempt, index),
    };
    Some(PinMove { identity: effect.target.identity, from, to: Pin { version, tx_uuid } })
}

fn refusal(rule: Rule, standings: &[Standing]) -> Decision {
    if rule == Rule::ForeignBranch {
        return Decision::Refuse { effect: None, reason: RefusedBecause::ForeignBranch };
    }
    let found = (0_u32..).zip(standings).find_map(|(index, standing)| {
        refused_because(*standing).map(|reason| (Some(index), reason))
    });
    let (effect, reason) = found.unwrap_or((None, RefusedBecause::PlanContradicts));
    Decision::Refuse { effect, reason }
}

/// Why an effect that must be taken back cannot be.
pub(crate) fn refused_because(standing: Standing) -> Option<RefusedBecause> {
    match standing {
        Standing::Refused(reason) => Some(reason),
        Standing::CompleteOneWay => Some(RefusedBecause::NoCompensation),
        _ => None,
    }
}
