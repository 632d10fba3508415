//! The one generic list of physical effects (RFC 2.3, design 01 section 6). Adapters build it;
//! recovery reads it; nothing here performs it.

use serde::{Deserialize, Serialize};

use crate::{ContentId, DatasetPath, PhysicalRef, Pin, TableIdentity, TxUuid};

/// Where an effect acts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectTarget {
    /// The table.
    pub identity: TableIdentity,
    /// Its dataset, relative to the graph's root.
    pub path: DatasetPath,
    /// The ref that the effect commits to.
    pub physical_ref: PhysicalRef,
}

/// What must be there before the first step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PreState {
    /// The dataset or the ref does not exist; its name is unique to the attempt.
    Absent,
    /// HEAD of the ref is exactly this version.
    At(Pin),
}

/// Which protocol the effect follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EffectKind {
    /// One exact commit on an existing ref.
    Staged,
    /// Several exact commits on an existing ref, all known when the intent is armed.
    Chain,
    /// Creation of a dataset under a unique path; further steps may follow on it.
    CreateDataset,
    /// Creation of a ref under a unique name; further steps may follow on it.
    CreateRef,
    /// No commit: only the manifest changes.
    Pointer,
    /// Commits whose number is known only afterwards; the adapter confirms what it achieved.
    Inline,
}

impl EffectKind {
    /// Whether others could take the slot that the effect needs, so that closing it needs a fence.
    pub fn is_slot_bearing(self) -> bool {
        matches!(self, Self::Staged | Self::Chain | Self::Inline)
    }

    /// Whether the effect makes an object whose name nobody else can ever use (K4).
    pub fn has_unique_name(self) -> bool {
        matches!(self, Self::CreateDataset | Self::CreateRef)
    }
}

/// One strict commit: it lands at `read_version + 1` with this transaction, or not at all (K1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedStep {
    /// The version that the step is planned over.
    pub read_version: u64,
    /// The pre-minted transaction identity.
    pub tx_uuid: TxUuid,
}

impl PlannedStep {
    /// The version that the step makes.
    pub fn version(&self) -> u64 {
        self.read_version + 1
    }

    /// The pin that the step makes.
    pub fn pin(&self) -> Pin {
        Pin { version: self.version(), tx_uuid: self.tx_uuid.clone() }
    }
}

/// What the effect leaves when it is complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PostState {
    /// Exactly this version.
    Exact(Pin),
    /// Some version in this inclusive range; the confirm object says which.
    Range {
        /// Lowest possible version.
        first: u64,
        /// Highest possible version.
        last: u64,
    },
    /// No version moves.
    Unmoved,
}

/// How an effect is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compensation {
    /// Fence the slot, or restore the pin above the landed prefix (K3).
    Restore,
    /// Remove the ref that the attempt made.
    DeleteRef,
    /// Remove the dataset that the attempt made.
    DeleteDataset,
    /// Nothing to take back, and why.
    None {
        /// The reason.
        reason: String,
    },
}

/// One physical effect of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// Where it acts.
    pub target: EffectTarget,
    /// What must be there first.
    pub pre: PreState,
    /// Its protocol.
    pub kind: EffectKind,
    /// Its commits, in order.
    pub steps: Vec<PlannedStep>,
    /// What it leaves.
    pub post: PostState,
    /// How it is taken back.
    pub compensation: Compensation,
    /// Content identity of the rows that it leaves.
    pub content: ContentId,
}

impl Effect {
    /// The version slot that the effect takes first. A created ref starts at the version that it was
    /// made of, which only its steps say.
    pub fn first_version(&self) -> u64 {
        match &self.pre {
            PreState::Absent if self.kind == EffectKind::CreateRef => {
                self.steps.first().map_or(1, PlannedStep::version)
            }
            PreState::Absent => 1,
            PreState::At(pin) => pin.version + 1,
        }
    }

    /// The pin that the complete effect leaves, where it is known before the effect ran.
    pub fn exact_post(&self) -> Option<&Pin> {
        match &self.post {
            PostState::Exact(pin) => Some(pin),
            PostState::Range { .. } | PostState::Unmoved => None,
        }
    }
}
