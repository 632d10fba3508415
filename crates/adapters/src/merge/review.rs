//! What a merge comes to, for whoever decides about it: rows by what is done with them, every conflict, and
//! how rows were found. The rows that are written are not in it.

use graphwrite_protocol_types::{Conflict, TableIdentity};

use super::conflict::RowConflicts;
use super::constraints::MergedConstraints;
use super::discovery::Discovery;
use super::rule::MergeStrategy;
use super::table::{MergeCounts, MergedTable};

/// What a merge comes to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MergeReview {
    /// The tables that were compared, in the order of the schema: those that the source has changed and
    /// that the target does not have the same.
    pub tables: Vec<MergeTableReview>,
    /// Constraints that the merged graph breaks.
    pub constraints: MergedConstraints,
    /// Whether the sides have different schemas. No row was compared then.
    pub schema_diverges: bool,
}

/// What a merge comes to in one table.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeTableReview {
    /// The table.
    pub identity: TableIdentity,
    /// The type's name.
    pub name: String,
    /// Rows by what the merge does with them.
    pub counts: MergeCounts,
    /// Rows that contradict each other.
    pub conflicts: RowConflicts,
    /// How the rows were found that were compared.
    pub discovery: Discovery,
}

impl MergeReview {
    /// Rows that contradict each other, in all tables, listed or not.
    pub fn row_conflicts(&self) -> u64 {
        self.tables.iter().map(|table| table.conflicts.counts().total()).sum()
    }

    /// Rows of the target that change.
    pub fn rows_changed(&self) -> u64 {
        self.tables.iter().map(|table| table.counts.changed()).sum()
    }

    /// What keeps the merge from being carried out under `strategy`: contradicting rows unless it decides
    /// about them, and whatever no strategy decides about.
    pub fn conflict(&self, strategy: MergeStrategy) -> Option<Conflict> {
        let rows = match strategy {
            MergeStrategy::Fail => self.row_conflicts(),
            MergeStrategy::Ours | MergeStrategy::Theirs => 0,
        };
        let (constraints, schema) = (self.constraints.total, self.schema_diverges);
        let is_any = rows + constraints > 0 || schema;
        is_any.then(|| Conflict::Merge { rows, constraints, schema, first: self.first(rows > 0) })
    }

    /// The first conflict, for people.
    fn first(&self, with_rows: bool) -> Option<String> {
        let of_rows = || {
            let listed = |table: &MergeTableReview| {
                let conflict = table.conflicts.listed().first()?;
                Some(format!("{} `{}`: {}", table.name, conflict.key, conflict.kind.name()))
            };
            self.tables.iter().find_map(listed)
        };
        let of_constraints = || {
            let conflict = self.constraints.listed.first()?;
            Some(format!("{}: {}", conflict.kind.name(), conflict.violation))
        };
        with_rows.then(of_rows).flatten().or_else(of_constraints)
    }
}

impl MergedTable {
    pub(super) fn review(&self) -> MergeTableReview {
        MergeTableReview {
            identity: self.input.identity,
            name: self.input.name.clone(),
            counts: self.counts,
            conflicts: self.conflicts.clone(),
            discovery: self.discovery,
        }
    }
}
