//! Why recovery does what it does, as plain data for people: what was found per effect, the rule
//! that decides, the decision, and what is next. It performs nothing and formats no screen.

use graphwrite_protocol_types::{Effect, Intent, OwnerRecord, TableIdentity};
use serde::Serialize;

use crate::classify::{CompensationStep, Decision, Wait};
use crate::evidence::{Closing, Evidence};
use crate::facts::{AttemptOutcome, RefFacts, SlotFacts};
use crate::look::Look;
use crate::port::RecordSet;
use crate::standing::Standing;
use crate::wait::{DeathProof, Owner};

/// Everything about one pending intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The attempt.
    pub attempt: String,
    /// The caller's request.
    pub operation: String,
    /// The adapter.
    pub writer: String,
    /// The branch's name.
    pub branch: String,
    /// Who asked.
    pub actor: String,
    /// Who armed it.
    pub owner: OwnerRecord,
    /// What is known about the owner now.
    pub owner_state: String,
    /// When it was armed, in microseconds since the Unix epoch on the owner's clock.
    pub armed_at_unix_us: u64,
    /// Age of the last sign of progress, in milliseconds.
    pub age_ms: u64,
    /// The attempt's row in the manifest.
    pub outcome: String,
    /// Each effect, by index.
    pub effects: Vec<ExplainedEffect>,
    /// Number of the rule that decides.
    pub rule: u8,
    /// The rule in one sentence.
    pub rule_text: String,
    /// The decision in one word.
    pub decision: String,
    /// What would be done next, step by step.
    pub next: Vec<String>,
}

/// Everything about one effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedEffect {
    /// Its index.
    pub index: u32,
    /// The table's name at the time of the attempt.
    pub table: String,
    /// The dataset.
    pub path: String,
    /// The ref.
    pub physical_ref: String,
    /// Its protocol.
    pub kind: String,
    /// The commits that were planned, as `version transaction`.
    pub planned: Vec<String>,
    /// The versions found from the pre-state on, as `version transaction`.
    pub found: Vec<String>,
    /// What that proves.
    pub evidence: String,
    /// Where the effect stands under the current head.
    pub standing: String,
    /// Whether it can be in nobody's way any more.
    pub settled: bool,
}

/// The explanation of an intent from one look at it.
pub fn explain(intent: &Intent, records: &RecordSet, owner: &Owner, look: &Look) -> Explanation {
    let judgement = &look.judgement;
    Explanation {
        attempt: intent.attempt.to_string(),
        operation: intent.operation.to_string(),
        writer: intent.writer.name().to_owned(),
        branch: intent.branch.name.clone(),
        actor: intent.lineage.actor.clone(),
        owner: intent.owner.clone(),
        owner_state: owner_text(owner),
        armed_at_unix_us: intent.armed_at_unix_us,
        age_ms: records.age_ms,
        outcome: outcome_text(look.authority.outcome),
        effects: (0_u32..)
            .zip(&intent.effects)
            .map(|(index, effect)| explained(intent, index, effect, look))
            .collect(),
        rule: judgement.rule.number(),
        rule_text: judgement.rule.text().to_owned(),
        decision: decision_text(&judgement.decision).to_owned(),
        next: next_steps(intent, &judgement.decision),
    }
}

/// The name that the table had when the attempt was armed, else its identity.
pub(crate) fn table_name(intent: &Intent, identity: TableIdentity) -> String {
    intent.table_name(identity).map_or_else(|| identity.to_string(), str::to_owned)
}

fn explained(intent: &Intent, index: u32, effect: &Effect, look: &Look) -> ExplainedEffect {
    let at = index as usize;
    let standing = look.judgement.standings.get(at).copied();
    ExplainedEffect {
        index,
        table: table_name(intent, effect.target.identity),
        path: effect.target.path.to_string(),
        physical_ref: effect.target.physical_ref.to_string(),
        kind: format!("{:?}", effect.kind),
        planned: effect.steps.iter().map(|step| line(step.version(), &step.tx_uuid)).collect(),
        found: look.found.refs.get(at).map(found_text).unwrap_or_default(),
        evidence: look.found.evidence.get(at).map(|e| evidence_text(*e)).unwrap_or_default(),
        standing: standing.map_or("the branch is gone", standing_text).to_owned(),
        settled: standing.is_none_or(Standing::is_settled),
    }
}

fn line(version: u64, what: &dyn std::fmt::Display) -> String {
    format!("{version} {what}")
}

fn found_text(facts: &RefFacts) -> Vec<String> {
    match facts {
        RefFacts::Absent => vec!["absent".into()],
        RefFacts::Unreadable { reason } => vec![format!("unreadable: {reason}")],
        RefFacts::Present { head, slots } => {
            let mut lines: Vec<_> = slots.iter().map(|(at, slot)| slot_text(*at, slot)).collect();
            lines.push(format!("HEAD is {head}"));
            lines
        }
    }
}

fn slot_text(version: u64, slot: &SlotFacts) -> String {
    match slot {
        SlotFacts::Taken(tx) => line(version, tx),
        SlotFacts::Unreadable { reason } => line(version, &format_args!("unreadable: {reason}")),
    }
}

fn outcome_text(outcome: AttemptOutcome) -> String {
    match outcome {
        AttemptOutcome::None => "none".into(),
        AttemptOutcome::Committed { commit } => format!("committed {commit}"),
        AttemptOutcome::Aborted => "aborted".into(),
        AttemptOutcome::RolledBack => "rolled_back".into(),
    }
}

fn owner_text(owner: &Owner) -> String {
    match owner {
        Owner::OwnLive => "running in this process".into(),
        Owner::OwnStopped { .. } => "stopped in this process".into(),
        Owner::Dead { proof } => format!("dead: {}", proof_text(*proof)),
        Owner::MaybeAlive { age_ms } => format!("maybe alive, last sign {age_ms} ms ago"),
    }
}

fn proof_text(proof: DeathProof) -> &'static str {
    match proof {
        DeathProof::NotLiveHere => "this process armed it and does not run it",
        DeathProof::PidGone => "its process does not exist",
        DeathProof::PidReused => "its process id belongs to a younger process",
        DeathProof::Operator => "an operator says so",
    }
}

fn evidence_text(evidence: Evidence) -> String {
    match evidence {
        Evidence::Open(0) => "nothing landed, the slot is open".into(),
        Evidence::Open(landed) => format!("{landed} steps landed, the next slot is open"),
        Evidence::Complete => "complete".into(),
        Evidence::Closed { version, how: Closing::Fence } => format!("fenced at version {version}"),
        Evidence::Closed { version, how: Closing::Restore } => {
            format!("restored at version {version}")
        }
        Evidence::SlotForeign => "nothing landed, the slot belongs to another".into(),
        Evidence::Buried => "landed, and buried under a foreign commit".into(),
        Evidence::RefAbsent => "does not exist".into(),
        Evidence::RefUntouched => "exists, no step landed".into(),
        Evidence::Unreadable => "cannot be judged".into(),
    }
}

fn standing_text(standing: Standing) -> &'static str {
    match standing {
        Standing::Pointer => "settled: moves no version",
        Standing::Vacant => "a late step may still land; needs a fence",
        Standing::Partial => "partly landed; needs a restore",
        Standing::Complete | Standing::CompleteOneWay => "landed, not published",
        Standing::Closed => "closed; its pin must follow",
        Standing::Foreign => "settled: another took the slot",
        Standing::Settled => "settled: closed and followed, or nobody's target any more",
        Standing::Unmade => "settled: was never made",
        Standing::Made => "partly made; needs removal",
        Standing::MadeComplete => "made, not published",
        Standing::Outdated => "has moved while it was looked at",
        Standing::Refused(reason) => reason.text(),
    }
}

fn decision_text(decision: &Decision) -> &'static str {
    match decision {
        Decision::Finalize => "finalize",
        Decision::RollForward => "roll forward",
        Decision::Abort => "abort",
        Decision::Compensate(_) => "compensate",
        Decision::RetireEmpty => "retire empty",
        Decision::DiscardOrphan => "discard orphan",
        Decision::Wait(_) => "wait",
        Decision::Refuse { .. } => "refuse",
    }
}

fn next_steps(intent: &Intent, decision: &Decision) -> Vec<String> {
    match decision {
        Decision::Finalize | Decision::RetireEmpty => vec!["delete the attempt's records".into()],
        Decision::RollForward => vec![
            format!("publish commit {}", intent.lineage.commit),
            "delete the attempt's records".into(),
        ],
        Decision::Abort => vec![
            "record `aborted` in the manifest".into(),
            "take back what landed, close what did not".into(),
            "record `rolled_back` in the manifest".into(),
        ],
        Decision::Compensate(steps) => steps.iter().map(|step| step_text(intent, step)).collect(),
        Decision::DiscardOrphan => {
            vec!["record the discarded attempt on main".into(), "delete its record".into()]
        }
        Decision::Wait(wait) => vec![wait_text(*wait)],
        Decision::Refuse { effect, reason } => {
            let table = effect.map(|effect| effect_name(intent, effect));
            let place = table.map_or(String::new(), |table| format!("{table}: "));
            vec![format!("{place}{}; it has to be repaired", reason.text())]
        }
    }
}

fn wait_text(wait: Wait) -> String {
    match wait {
        Wait::Gates => "wait for its gates".into(),
        Wait::Owner { .. } => "wait for its owner, then look again".into(),
        Wait::Evidence => "look again".into(),
    }
}

fn step_text(intent: &Intent, step: &CompensationStep) -> String {
    let name = |effect: u32| effect_name(intent, effect);
    match step {
        CompensationStep::Fence { effect, read_version, .. } => {
            format!("{}: fence version {}", name(*effect), read_version + 1)
        }
        CompensationStep::Restore { effect, to, read_version, .. } => {
            format!("{}: restore version {} as {}", name(*effect), to.version, read_version + 1)
        }
        CompensationStep::DeleteDataset { effect } => {
            format!("{}: remove the dataset", name(*effect))
        }
        CompensationStep::DeleteRef { effect } => format!("{}: remove the ref", name(*effect)),
        CompensationStep::MovePins { moves, .. } if moves.is_empty() => {
            "record `rolled_back` in the manifest".into()
        }
        CompensationStep::MovePins { moves, complete } => {
            let last = if *complete { ", and record `rolled_back`" } else { "" };
            format!("move {} pins to content-equal versions{last}", moves.len())
        }
    }
}

fn effect_name(intent: &Intent, effect: u32) -> String {
    let found = intent.effects.get(effect as usize);
    found.map_or_else(|| format!("effect {effect}"), |e| table_name(intent, e.target.identity))
}
