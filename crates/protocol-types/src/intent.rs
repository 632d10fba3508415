//! The recovery records of an attempt (RFC 4.5): the intent that is durable before the first
//! effect, the confirm object of a multi-step adapter, and signs of progress.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{
    AttemptId, BranchToken, Effect, LineageIntent, ManifestDelta, OperationId, OwnerRecord, Pin,
    ReadSet, RecoveryPlan, RequestDigest, TableIdentity, WriterKind,
};

/// An armed attempt, complete: any process can finish it or take it back from this record alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The attempt.
    pub attempt: AttemptId,
    /// The caller's request.
    pub operation: OperationId,
    /// Digest of the request's content.
    pub request: RequestDigest,
    /// The adapter.
    pub writer: WriterKind,
    /// The branch that the attempt publishes on.
    pub branch: BranchToken,
    /// Manifest version at which the read set was found to hold.
    pub manifest: Pin,
    /// Everything that must still hold when the attempt is published.
    pub read_set: ReadSet,
    /// The physical effects.
    pub effects: Vec<Effect>,
    /// What is published.
    pub delta: ManifestDelta,
    /// The graph commit that is recorded.
    pub lineage: LineageIntent,
    /// Rules beyond the effects.
    pub recovery: RecoveryPlan,
    /// Who armed it.
    pub owner: OwnerRecord,
    /// When, in microseconds since the Unix epoch on the owner's clock. For display only.
    pub armed_at_unix_us: u64,
}

/// What a request reads and writes, for the judgement whether an intent concerns it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Footprint {
    /// Tables whose rows affect the result.
    pub probed: BTreeSet<TableIdentity>,
    /// Tables that change.
    pub written: BTreeSet<TableIdentity>,
    /// Whether the schema, and so every table, is changed.
    pub schema: bool,
}

impl Footprint {
    /// The footprint of a plan.
    pub fn of(read_set: &ReadSet, effects: &[Effect], delta: &ManifestDelta) -> Self {
        let written = effects.iter().map(|effect| effect.target.identity);
        let moved = delta.heads.iter().map(|change| change.identity);
        Self {
            probed: read_set.tables().map(|(identity, _)| identity).collect(),
            written: written.chain(moved).collect(),
            schema: delta.schema.is_some(),
        }
    }

    /// Whether two requests can disturb each other: one changes what the other reads or changes.
    /// Two requests that read the same tables do not.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.schema || other.schema || self.disturbs(other) || other.disturbs(self)
    }

    fn disturbs(&self, other: &Self) -> bool {
        !self.written.is_disjoint(&other.written) || !self.written.is_disjoint(&other.probed)
    }
}

impl Intent {
    /// What the attempt reads and writes.
    pub fn footprint(&self) -> Footprint {
        Footprint::of(&self.read_set, &self.effects, &self.delta)
    }

    /// The name that a table of the commit had when the attempt was armed.
    pub fn table_name(&self, identity: TableIdentity) -> Option<&str> {
        let named = self.lineage.tables.iter().find(|table| table.identity == identity);
        named.map(|table| table.name.as_str())
    }
}

/// The exact post-state of a multi-step adapter, durable before the manifest commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirm {
    /// The attempt.
    pub attempt: AttemptId,
    /// The achieved version of each effect, by index; none where the effect moves no version.
    pub achieved: Vec<Option<Pin>>,
}

/// A sign of progress of a long attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alive {
    /// The attempt.
    pub attempt: AttemptId,
    /// Number of the sign, counted from 1.
    pub beat: u32,
    /// When, in microseconds since the Unix epoch on the owner's clock. For display only.
    pub at_unix_us: u64,
}
