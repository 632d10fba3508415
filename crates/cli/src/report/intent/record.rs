//! An intent as it was armed: what a recoverer has to go by. Nothing here depends on what has
//! happened since, except what is known of the owner.

use graphwrite_protocol_types::{
    Access, Effect, HeadChange, Intent, NextHead, Parents, PinSlot, TableHeadToken, TableIdentity,
    TableMember,
};
use graphwrite_schema::GraphSchema;
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

/// One table whose stability the result needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct MemberRecord {
    pub(crate) table: String,
    /// `probed` or `written`.
    pub(crate) access: &'static str,
    /// The version and transaction that were captured, `absent`, or `dropped`.
    pub(crate) captured: String,
}

/// The head that one table gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct HeadRecord {
    pub(crate) table: String,
    /// The version and transaction, the effect whose result it will be, or `dropped`.
    pub(crate) head: String,
    /// The dataset; none for a table that is dropped.
    pub(crate) path: Option<String>,
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
    /// The manifest version at which the read set was found to hold.
    pub(crate) base_manifest_version: u64,
    /// The commit that a roll-forward would publish.
    pub(crate) commit_id: String,
    /// The commit of another branch that it merges; none for any other write.
    pub(crate) merges: Option<String>,
    pub(crate) message: Option<String>,
    /// Digest of the request's content, in hexadecimal.
    pub(crate) request_digest: String,
    pub(crate) read_set: Vec<MemberRecord>,
    pub(crate) heads: Vec<HeadRecord>,
}

impl IntentRecord {
    /// `found` tells of the owner; `schema` names the tables that were only read.
    pub(crate) fn of(
        intent: &Intent,
        found: &graphwrite_coordinator::Explanation,
        schema: &GraphSchema,
    ) -> Self {
        let names = Names { intent, schema };
        let effects = (0..).zip(&intent.effects);
        Self {
            attempt_id: intent.attempt.to_string(),
            operation_id: intent.operation.to_string(),
            writer: intent.writer.name().to_owned(),
            branch: intent.branch.name.clone(),
            actor: intent.lineage.actor.clone(),
            armed_at: text::moment(intent.armed_at_unix_us),
            owner: Owner::of(found),
            effects: effects.map(|(at, effect)| EffectRecord::of(at, effect, &names)).collect(),
            base_manifest_version: intent.manifest.version,
            commit_id: intent.lineage.commit.to_string(),
            merges: merges(&intent.lineage.parents),
            message: intent.lineage.message.clone(),
            request_digest: text::hex(&intent.request.0),
            read_set: intent.read_set.tables().map(|it| MemberRecord::of(it, &names)).collect(),
            heads: intent.delta.heads.iter().map(|it| HeadRecord::of(it, &names)).collect(),
        }
    }

    fn facts(&self) -> Vec<(&'static str, Cell)> {
        vec![
            ("attempt", Cell::text(&self.attempt_id)),
            ("operation", Cell::text(&self.operation_id)),
            ("writer", Cell::text(&self.writer)),
            ("branch", Cell::text(&self.branch)),
            ("actor", Cell::text(&self.actor)),
            ("armed", Cell::text(&self.armed_at)),
            ("owner", self.owner.cell()),
            ("base", Cell::number(self.base_manifest_version)),
            ("commit", Cell::text(&self.commit_id)),
            ("merges", Cell::optional(self.merges.as_ref())),
            ("message", Cell::optional(self.message.as_ref())),
            ("request", Cell::text(&self.request_digest)),
        ]
    }
}

/// The names of tables: as the intent knew them, else as the schema has them now.
struct Names<'a> {
    intent: &'a Intent,
    schema: &'a GraphSchema,
}

impl Names<'_> {
    fn of(&self, identity: TableIdentity) -> String {
        let armed = self.intent.table_name(identity);
        let now = || self.schema.by_identity(identity).map(|declared| declared.name.as_str());
        armed.or_else(now).map_or_else(|| identity.to_string(), str::to_owned)
    }
}

impl EffectRecord {
    fn of(index: u32, effect: &Effect, names: &Names<'_>) -> Self {
        let planned = effect.steps.iter().map(|step| version(step.version(), &step.tx_uuid));
        Self {
            index,
            table: names.of(effect.target.identity),
            kind: format!("{:?}", effect.kind),
            path: effect.target.path.to_string(),
            physical_ref: effect.target.physical_ref.to_string(),
            planned: planned.collect(),
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

impl MemberRecord {
    fn of((identity, member): (TableIdentity, &TableMember), names: &Names<'_>) -> Self {
        let access = match member.access {
            Access::Probed => "probed",
            Access::Written => "written",
        };
        Self { table: names.of(identity), access, captured: captured(&member.head) }
    }

    fn row(&self) -> Vec<Cell> {
        vec![Cell::text(&self.table), Cell::text(self.access), Cell::text(&self.captured)]
    }
}

impl HeadRecord {
    fn of(change: &HeadChange, names: &Names<'_>) -> Self {
        let (head, path) = match &change.next {
            NextHead::Live { pin, path, .. } => (slot(pin), Some(path.to_string())),
            NextHead::Tombstoned => ("dropped".to_owned(), None),
        };
        Self { table: names.of(change.identity), head, path }
    }

    fn row(&self) -> Vec<Cell> {
        let path = Cell::optional(self.path.as_ref());
        vec![Cell::text(&self.table), Cell::text(&self.head), path]
    }
}

fn merges(parents: &Parents) -> Option<String> {
    match parents {
        Parents::Merge(merge) => Some(merge.merged.commit.to_string()),
        Parents::HeadAtPublish | Parents::Exact(_) => None,
    }
}

fn version(number: u64, transaction: &dyn std::fmt::Display) -> String {
    format!("{number} {transaction}")
}

fn captured(head: &TableHeadToken) -> String {
    match head {
        TableHeadToken::Live(live) => version(live.pin.version, &live.pin.tx_uuid),
        TableHeadToken::Absent => "absent".to_owned(),
        TableHeadToken::Tombstoned => "dropped".to_owned(),
    }
}

fn slot(pin: &PinSlot) -> String {
    match pin {
        PinSlot::Exact(pin) => version(pin.version, &pin.tx_uuid),
        PinSlot::Output { effect } => format!("result of effect {effect}"),
    }
}

fn list(
    (kind, title): (&'static str, &str),
    columns: &[&'static str],
    rows: impl Iterator<Item = Vec<Cell>>,
) -> Block {
    let (title, columns) = (title.to_owned(), columns.to_vec());
    Block::Rows(Rows { kind, title, columns, rows: rows.collect() })
}

impl Report for IntentRecord {
    fn blocks(&self) -> Vec<Block> {
        let effects = ["#", "table", "kind", "versions", "path", "ref"];
        let effect = self.effects.iter().map(EffectRecord::row);
        let member = self.read_set.iter().map(MemberRecord::row);
        let head = self.heads.iter().map(HeadRecord::row);
        vec![
            Block::Facts(self.facts()),
            list(("effect", "Planned effects"), &effects, effect),
            list(("member", "Read set"), &["table", "access", "captured"], member),
            list(("head", "Heads that its commit publishes"), &["table", "head", "path"], head),
        ]
    }
}
