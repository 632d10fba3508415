//! The closed registry of adapters (RFC section 6): which writer kinds exist, which protocol each
//! follows, which effects it may plan, which gates it needs. It performs nothing.

use graphwrite_protocol_types::{EffectKind, WriterKind};

use crate::load::LoadAdapter;
use crate::merge::MergeAdapter;
use crate::mutation::MutationAdapter;

/// An adapter of this crate. Closed: adding one means deciding everything below for it.
// Exhaustive by intent: whatever handles adapters must handle a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Writer {
    /// Bulk load, see [`LoadAdapter`].
    Load,
    /// Statements in one commit, see [`MutationAdapter`].
    Mutation,
    /// What another branch has changed, see [`MergeAdapter`].
    Merge,
}

/// Which order a writer's durable steps have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// Intent, effects on tables, then the manifest commit (RFC section 4).
    EffectsFirst,
}

/// How a gate is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateUse {
    /// Beside other writers.
    Shared,
    /// Alone.
    Exclusive,
}

/// What an adapter does, for the audit of entry points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdapterEntry {
    /// The adapter.
    pub writer: Writer,
    /// How its commits are recorded in the lineage.
    pub kind: WriterKind,
    /// The order of its durable steps.
    pub protocol: Protocol,
    /// The kinds of effects that it may plan.
    pub effects: &'static [EffectKind],
    /// How it holds the schema gate.
    pub schema_gate: GateUse,
    /// How it holds the branch-control gate.
    pub branch_gate: GateUse,
    /// How it holds the gate of each table that it writes.
    pub table_gates: GateUse,
    /// The public functions that run it.
    pub entry_points: &'static [&'static str],
}

const LOAD: AdapterEntry = AdapterEntry {
    writer: Writer::Load,
    kind: WriterKind::Load,
    protocol: Protocol::EffectsFirst,
    effects: &[
        EffectKind::Staged,
        EffectKind::Chain,
        EffectKind::CreateDataset,
        EffectKind::CreateRef,
    ],
    schema_gate: GateUse::Shared,
    branch_gate: GateUse::Shared,
    table_gates: GateUse::Exclusive,
    entry_points: &["Graph::load"],
};

const MUTATION: AdapterEntry = AdapterEntry {
    writer: Writer::Mutation,
    kind: WriterKind::Mutation,
    protocol: Protocol::EffectsFirst,
    effects: &[
        EffectKind::Staged,
        EffectKind::Chain,
        EffectKind::CreateDataset,
        EffectKind::CreateRef,
    ],
    schema_gate: GateUse::Shared,
    branch_gate: GateUse::Shared,
    table_gates: GateUse::Exclusive,
    entry_points: &["Graph::mutate"],
};

const MERGE: AdapterEntry = AdapterEntry {
    writer: Writer::Merge,
    kind: WriterKind::Merge,
    protocol: Protocol::EffectsFirst,
    effects: &[
        EffectKind::Staged,
        EffectKind::Chain,
        EffectKind::CreateDataset,
        EffectKind::CreateRef,
    ],
    schema_gate: GateUse::Shared,
    branch_gate: GateUse::Shared,
    table_gates: GateUse::Exclusive,
    entry_points: &["Graph::merge"],
};

impl Writer {
    /// Every adapter that exists.
    pub const ALL: [Self; 3] = [Self::Load, Self::Mutation, Self::Merge];

    /// What the adapter does.
    pub fn entry(self) -> &'static AdapterEntry {
        match self {
            Self::Load => &LOAD,
            Self::Mutation => &MUTATION,
            Self::Merge => &MERGE,
        }
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::LoadAdapter {}
    impl Sealed for super::MutationAdapter {}
    impl Sealed for super::MergeAdapter {}
}

/// A registered adapter. Sealed: a writer that is not in the registry does not exist.
///
/// ```compile_fail,E0277
/// use graphwrite_adapters::{Adapter, Writer};
/// struct Shortcut;
/// impl Adapter for Shortcut {
///     const WRITER: Writer = Writer::Load;
/// }
/// ```
pub trait Adapter: sealed::Sealed {
    /// Which one it is.
    const WRITER: Writer;

    /// What it does.
    fn entry(&self) -> &'static AdapterEntry {
        Self::WRITER.entry()
    }
}

impl Adapter for LoadAdapter {
    const WRITER: Writer = Writer::Load;
}

impl Adapter for MutationAdapter {
    const WRITER: Writer = Writer::Mutation;
}

impl Adapter for MergeAdapter {
    const WRITER: Writer = Writer::Merge;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_describes_its_own_adapter() {
        for writer in Writer::ALL {
            let entry = writer.entry();
            assert_eq!(entry.writer, writer);
            assert!(!entry.effects.is_empty() && !entry.entry_points.is_empty());
        }
    }
}
