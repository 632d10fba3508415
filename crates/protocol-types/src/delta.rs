//! The complete logical result that a write publishes (RFC 2.4): immutable for one attempt. Only
//! declared output slots may be bound later, and only to confirmed results.

use serde::{Deserialize, Serialize};

use crate::{
    CommitId, ContentId, DatasetPath, EffectKind, MergeParents, PhysicalRef, Pin, RefIdentifier,
    SchemaHash, TableIdentity,
};

/// The version that a head change publishes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PinSlot {
    /// Known when the plan was made.
    Exact(Pin),
    /// Bound to the confirmed result of the effect with this index.
    Output {
        /// Index into the attempt's effects.
        effect: u32,
    },
}

/// What a table's head becomes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum NextHead {
    /// Rows in a dataset.
    Live {
        /// The dataset.
        path: DatasetPath,
        /// The ref.
        physical_ref: PhysicalRef,
        /// Lance's identity of the ref.
        ref_identifier: RefIdentifier,
        /// The version.
        pin: PinSlot,
        /// The content's identity.
        content: ContentId,
        /// Schema under which the columns were last changed.
        table_schema: SchemaHash,
    },
    /// Dropped for good.
    Tombstoned,
}

/// The change of one table's head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadChange {
    /// The table.
    pub identity: TableIdentity,
    /// Its head after the commit.
    pub next: NextHead,
}

/// The accepted schema after the commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaChange {
    /// Hash of the canonical bytes.
    pub hash: SchemaHash,
    /// The canonical bytes.
    pub canonical: Vec<u8>,
}

/// Everything that one graph commit changes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ManifestDelta {
    /// Heads, in identity order, each table at most once.
    pub heads: Vec<HeadChange>,
    /// The schema, if it changes.
    pub schema: Option<SchemaChange>,
}

impl ManifestDelta {
    /// Whether there is anything to publish. Decided before arm (design 01 section 5).
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty() && self.schema.is_none()
    }
}

/// The kind of writer that an adapter serves. Closed: one variant per adapter that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum WriterKind {
    /// The commit that creates the graph.
    Init,
    /// Bulk load.
    Load,
    /// Statements in one commit.
    Mutation,
    /// What another branch has changed.
    Merge,
}

impl WriterKind {
    /// The name shown to people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Load => "load",
            Self::Mutation => "mutation",
            Self::Merge => "merge",
        }
    }
}

/// Row counts of one table in one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSummary {
    /// The table.
    pub identity: TableIdentity,
    /// Its name at the time of the commit.
    pub name: String,
    /// Rows added.
    pub inserted: u64,
    /// Rows replaced by other values.
    pub updated: u64,
    /// Rows removed.
    pub deleted: u64,
    /// Rows of the request that were there already with the same values.
    pub unchanged: u64,
}

/// Which commits a new commit descends from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Parents {
    /// The branch's head at the moment of the manifest commit. Allowed only where the result does
    /// not depend on parentage: every dependency is in the read set by table.
    HeadAtPublish,
    /// Exactly these; the head is a member of the read set.
    Exact(Vec<CommitId>),
    /// The head, which is a member of the read set, and the commit that was merged into it.
    Merge(Box<MergeParents>),
}

/// The lineage that a graph commit will record; its commit id is minted before arm, so that every
/// roll-forward publishes the same commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineageIntent {
    /// The commit.
    pub commit: CommitId,
    /// Its parents.
    pub parents: Parents,
    /// Who asked.
    pub actor: String,
    /// The caller's message.
    pub message: Option<String>,
    /// What changed, per table.
    pub tables: Vec<TableSummary>,
}

/// How an attempt is recovered, beyond what its effects say (RFC 2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryPlan {
    /// Whether a complete attempt needs a confirm object before it may be rolled forward.
    pub confirmation: Confirmation,
}

/// Whether effects say for themselves that they are complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Confirmation {
    /// Every effect has an exact post-state.
    NotNeeded,
    /// The adapter writes a confirm object after its last effect.
    Required,
}

impl RecoveryPlan {
    /// The plan that a list of effects needs: inline effects must be confirmed.
    pub fn for_kinds(kinds: impl IntoIterator<Item = EffectKind>) -> Self {
        let inline = kinds.into_iter().any(|kind| kind == EffectKind::Inline);
        let confirmation = if inline { Confirmation::Required } else { Confirmation::NotNeeded };
        Self { confirmation }
    }
}
