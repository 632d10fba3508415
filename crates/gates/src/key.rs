//! What can be locked, in the order of RFC-022 section 4.3, and how. Knows nothing of requests.

use std::fmt;

use graphwrite_protocol_types::TableIdentity;

/// One gate of a graph. The derived order is the acquisition order of RFC-022 section 4.3, so the
/// order of the variants and of their fields is part of the meaning.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum GateKey {
    /// The accepted schema of the graph.
    SchemaControl,
    /// What a native branch is: its creation, deletion and incarnation.
    BranchControl {
        /// The native branch, one name for each incarnation (K4).
        native_branch: String,
    },
    /// The HEAD of one table on one physical ref.
    Table {
        /// The Lance ref that the commit would go to.
        physical_ref: String,
        /// The table that lives there.
        table: TableIdentity,
    },
}

impl GateKey {
    /// The kind of the gate, by which times are measured.
    pub fn kind(&self) -> GateKind {
        match self {
            Self::SchemaControl => GateKind::SchemaControl,
            Self::BranchControl { .. } => GateKind::BranchControl,
            Self::Table { .. } => GateKind::Table,
        }
    }
}

impl fmt::Display for GateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SchemaControl => f.write_str("schema control"),
            Self::BranchControl { native_branch } => {
                write!(f, "branch control of `{native_branch}`")
            }
            Self::Table { physical_ref, table } => {
                write!(f, "table {table} on ref `{physical_ref}`")
            }
        }
    }
}

/// The kinds of gates, in the order in which they are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum GateKind {
    /// See [`GateKey::SchemaControl`].
    SchemaControl,
    /// See [`GateKey::BranchControl`].
    BranchControl,
    /// See [`GateKey::Table`].
    Table,
}

/// How a gate is held. The order is by strength: a gate that is asked for twice is held in the
/// stronger mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GateMode {
    /// Beside others that share it.
    Shared,
    /// Alone.
    Exclusive,
}

impl GateMode {
    /// Whether two attempts may hold one gate in these modes at the same time.
    pub fn is_compatible_with(self, other: Self) -> bool {
        self == Self::Shared && other == Self::Shared
    }
}

impl fmt::Display for GateMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shared => "shared",
            Self::Exclusive => "exclusive",
        })
    }
}
