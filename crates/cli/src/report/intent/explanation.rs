//! Why recovery decides what it decides about one intent.

use serde::Serialize;

use crate::render::{Block, Cell, Report, Rows, Tone};
use crate::report::Owner;
use crate::text;

/// What was planned and found of one effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct EffectFinding {
    pub(crate) index: u32,
    pub(crate) table: String,
    pub(crate) kind: String,
    pub(crate) path: String,
    pub(crate) physical_ref: String,
    /// The commits that were planned.
    pub(crate) planned: Vec<String>,
    /// The versions that are there.
    pub(crate) found: Vec<String>,
    /// What that proves.
    pub(crate) evidence: String,
    /// Where the effect stands under the current head.
    pub(crate) standing: String,
    /// Whether it is in nobody's way any more.
    pub(crate) settled: bool,
}

/// The explanation of one intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Explanation {
    pub(crate) attempt_id: String,
    pub(crate) operation_id: String,
    pub(crate) writer: String,
    pub(crate) branch: String,
    pub(crate) actor: String,
    pub(crate) armed_at: String,
    pub(crate) age_ms: u64,
    pub(crate) owner: Owner,
    pub(crate) effects: Vec<EffectFinding>,
    /// The attempt's row in the manifest.
    pub(crate) outcome: String,
    /// Number of the rule that matched first.
    pub(crate) rule: u8,
    /// The rule in words.
    pub(crate) rule_text: String,
    pub(crate) decision: String,
    /// What the next write that needs these tables will do.
    pub(crate) next_write: Vec<String>,
    /// The next command.
    pub(crate) next: String,
}

impl Explanation {
    pub(crate) fn of(intent: &graphwrite_coordinator::Explanation, graph: &str) -> Self {
        Self {
            attempt_id: intent.attempt.clone(),
            operation_id: intent.operation.clone(),
            writer: intent.writer.clone(),
            branch: intent.branch.clone(),
            actor: intent.actor.clone(),
            armed_at: text::moment(intent.armed_at_unix_us),
            age_ms: intent.age_ms,
            owner: Owner::of(intent),
            effects: intent.effects.iter().map(EffectFinding::of).collect(),
            outcome: intent.outcome.clone(),
            rule: intent.rule,
            rule_text: intent.rule_text.clone(),
            decision: intent.decision.clone(),
            next_write: intent.next.clone(),
            next: next_command(&intent.decision, &intent.attempt, graph),
        }
    }

    fn who(&self) -> Vec<(&'static str, Cell)> {
        vec![
            ("attempt", Cell::text(&self.attempt_id)),
            ("operation", Cell::text(&self.operation_id)),
            ("writer", Cell::text(&self.writer)),
            ("branch", Cell::text(&self.branch)),
            ("actor", Cell::text(&self.actor)),
            ("armed", Cell::text(&self.armed_at)),
            ("age", Cell::age(self.age_ms)),
            ("owner", self.owner.cell()),
        ]
    }

    fn verdict(&self) -> Vec<(&'static str, Cell)> {
        let tone = if self.decision == "refuse" { Tone::Bad } else { Tone::Even };
        vec![
            ("outcome", Cell::text(&self.outcome)),
            ("rule", Cell::number(self.rule.into())),
            ("because", Cell::text(&self.rule_text)),
            ("decision", Cell::text(&self.decision).toned(tone)),
        ]
    }

    fn versions(&self) -> Block {
        Block::Rows(Rows {
            kind: "version",
            title: "Versions".to_owned(),
            columns: vec!["#", "table", "what", "version"],
            rows: self.effects.iter().flat_map(version_rows).collect(),
        })
    }

    fn steps(&self) -> Block {
        let step = |(n, step): (u64, &String)| vec![Cell::number(n), Cell::text(step)];
        Block::Rows(Rows {
            kind: "step",
            title: "The next write that needs these tables will".to_owned(),
            columns: vec!["#", "step"],
            rows: (1..).zip(&self.next_write).map(step).collect(),
        })
    }
}

fn next_command(decision: &str, attempt: &str, graph: &str) -> String {
    match decision {
        "refuse" => format!("graphwrite verify {graph}"),
        "wait" => format!(
            "wait, or, if you know that its owner is dead, graphwrite intent resolve {graph} \
             {attempt} --full --owner-is-dead"
        ),
        // Nothing writes to a branch that is deleted.
        "discard orphan" => format!("graphwrite intent resolve {graph} {attempt} --full"),
        _ => format!(
            "graphwrite intent resolve {graph} {attempt} --full, or any write to its tables"
        ),
    }
}

impl EffectFinding {
    fn of(effect: &graphwrite_coordinator::ExplainedEffect) -> Self {
        Self {
            index: effect.index,
            table: effect.table.clone(),
            kind: effect.kind.clone(),
            path: effect.path.clone(),
            physical_ref: effect.physical_ref.clone(),
            planned: effect.planned.clone(),
            found: effect.found.clone(),
            evidence: effect.evidence.clone(),
            standing: effect.standing.clone(),
            settled: effect.settled,
        }
    }
}

fn effect_row(effect: &EffectFinding) -> Vec<Cell> {
    vec![
        Cell::number(effect.index.into()),
        Cell::text(&effect.table),
        Cell::text(&effect.kind),
        Cell::text(&effect.evidence),
        Cell::text(&effect.standing),
    ]
}

fn version_rows(effect: &EffectFinding) -> impl Iterator<Item = Vec<Cell>> {
    let planned = effect.planned.iter().map(|version| ("planned", version));
    let found = effect.found.iter().map(|version| ("found", version));
    planned.chain(found).map(|(what, version)| {
        let index = Cell::number(effect.index.into());
        vec![index, Cell::text(&effect.table), Cell::text(what), Cell::text(version)]
    })
}

impl Report for Explanation {
    fn blocks(&self) -> Vec<Block> {
        let effects = Rows {
            kind: "effect",
            title: "Effects".to_owned(),
            columns: vec!["#", "table", "kind", "evidence", "standing"],
            rows: self.effects.iter().map(effect_row).collect(),
        };
        vec![
            Block::Facts(self.who()),
            Block::Rows(effects),
            self.versions(),
            Block::Facts(self.verdict()),
            self.steps(),
            Block::Note(format!("Next: {}", self.next)),
        ]
    }
}
