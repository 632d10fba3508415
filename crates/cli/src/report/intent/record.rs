//! An intent as it was armed: what a recoverer has to go by.

use serde::Serialize;

use crate::render::{Block, Cell, Report, Rows};
use crate::report::Owner;
use crate::text;

/// One effect as it was planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct EffectRecord {
    pub(crate) index: u32,
    pub(crate) table: String,
    pub(crate) kind: String,
    pub(crate) path: String,
    pub(crate) physical_ref: String,
    /// The commits that it consists of, each a version and a transaction.
    pub(crate) planned: Vec<String>,
}

/// The record of an intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct IntentRecord {
    pub(crate) attempt_id: String,
    pub(crate) operation_id: String,
    pub(crate) writer: String,
    pub(crate) branch: String,
    pub(crate) actor: String,
    pub(crate) armed_at: String,
    pub(crate) owner: Owner,
    pub(crate) effects: Vec<EffectRecord>,
}

impl IntentRecord {
    pub(crate) fn of(intent: &graphwrite_coordinator::Explanation) -> Self {
        Self {
            attempt_id: intent.attempt.clone(),
            operation_id: intent.operation.clone(),
            writer: intent.writer.clone(),
            branch: intent.branch.clone(),
            actor: intent.actor.clone(),
            armed_at: text::moment(intent.armed_at_unix_us),
            owner: Owner::of(intent),
            effects: intent.effects.iter().map(EffectRecord::of).collect(),
        }
    }
}

impl EffectRecord {
    fn of(effect: &graphwrite_coordinator::ExplainedEffect) -> Self {
        Self {
            index: effect.index,
            table: effect.table.clone(),
            kind: effect.kind.clone(),
            path: effect.path.clone(),
            physical_ref: effect.physical_ref.clone(),
            planned: effect.planned.clone(),
        }
    }

    fn row(&self) -> Vec<Cell> {
        vec![
            Cell::number(self.index.into()),
            Cell::text(&self.table),
            Cell::text(&self.kind),
            Cell::text(self.planned.join("; ")),
            Cell::text(&self.path),
            Cell::text(&self.physical_ref),
        ]
    }
}

impl Report for IntentRecord {
    fn blocks(&self) -> Vec<Block> {
        let facts = vec![
            ("attempt", Cell::text(&self.attempt_id)),
            ("operation", Cell::text(&self.operation_id)),
            ("writer", Cell::text(&self.writer)),
            ("branch", Cell::text(&self.branch)),
            ("actor", Cell::text(&self.actor)),
            ("armed", Cell::text(&self.armed_at)),
            ("owner", self.owner.cell()),
        ];
        let effects = Rows {
            kind: "effect",
            title: "Planned effects".to_owned(),
            columns: vec!["#", "table", "kind", "versions", "path", "ref"],
            rows: self.effects.iter().map(EffectRecord::row).collect(),
        };
        vec![Block::Facts(facts), Block::Rows(effects)]
    }
}
