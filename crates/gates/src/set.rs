//! Everything that one attempt needs, stated at once. Owns sorting and de-duplication; knows
//! nothing of who else wants the same.

use std::collections::BTreeMap;

use graphwrite_protocol_types::TableIdentity;

use crate::{GateKey, GateMode};

/// The gates of one attempt, always in the order of [`GateKey`], each at most once. A gate that is
/// added twice is kept in the stronger mode.
///
/// A table gate has no mode: a table is committed to, so its gate is always exclusive. There is no
/// way to ask for a shared one:
///
/// ```compile_fail,E0061
/// # use graphwrite_gates::{GateMode, GateSet};
/// # use graphwrite_protocol_types::TableIdentity;
/// # fn ask(person: TableIdentity) -> GateSet {
/// GateSet::new().with_table("main", person, GateMode::Shared)
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct GateSet {
    gates: BTreeMap<GateKey, GateMode>,
}

impl GateSet {
    /// A set that needs nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The set of a graph-visible write: schema and branch control shared, every
    /// `(physical ref, table)` exclusive.
    pub fn for_writer(
        native_branch: &str,
        tables: impl IntoIterator<Item = (String, TableIdentity)>,
    ) -> Self {
        let control =
            Self::new().with_schema(GateMode::Shared).with_branch(native_branch, GateMode::Shared);
        tables
            .into_iter()
            .fold(control, |set, (physical_ref, table)| set.with_table(&physical_ref, table))
    }

    /// Adds schema control.
    #[must_use]
    pub fn with_schema(self, mode: GateMode) -> Self {
        self.with(GateKey::SchemaControl, mode)
    }

    /// Adds the control of a native branch.
    #[must_use]
    pub fn with_branch(self, native_branch: &str, mode: GateMode) -> Self {
        self.with(GateKey::BranchControl { native_branch: native_branch.to_owned() }, mode)
    }

    /// Adds a table on a physical ref, exclusively.
    #[must_use]
    pub fn with_table(self, physical_ref: &str, table: TableIdentity) -> Self {
        let key = GateKey::Table { physical_ref: physical_ref.to_owned(), table };
        self.with(key, GateMode::Exclusive)
    }

    fn with(mut self, key: GateKey, mode: GateMode) -> Self {
        let held = self.gates.entry(key).or_insert(mode);
        *held = mode.max(*held);
        self
    }

    /// The gates in acquisition order.
    pub fn iter(&self) -> impl Iterator<Item = (&GateKey, GateMode)> {
        self.gates.iter().map(|(key, mode)| (key, *mode))
    }

    /// The mode in which the set holds a gate, if it does.
    pub fn mode_of(&self, key: &GateKey) -> Option<GateMode> {
        self.gates.get(key).copied()
    }

    /// How many gates the set names.
    pub fn len(&self) -> usize {
        self.gates.len()
    }

    /// Whether the set needs nothing; such a set is granted at once.
    pub fn is_empty(&self) -> bool {
        self.gates.is_empty()
    }
}
