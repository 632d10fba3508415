//! What a merge compared, as programs and people read it: both sides, their bases, rows by what becomes of
//! them, and what contradicts.

use std::collections::BTreeMap;

use graphwrite_coordinator::{
    ConflictKind, ConstraintConflict, MergeReport, MergeReview, MergeStrategy, MergeTableReview,
    Place, RowConflict, RowRenderer,
};
use graphwrite_schema::GraphSchema;
use serde::Serialize;

use super::rows::ShownRow;
use crate::text;

/// One side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Side {
    pub(super) branch: String,
    pub(super) incarnation: u64,
    /// The commit; none where the branch has none.
    pub(super) commit_id: Option<String>,
}

/// Rows of one table by what becomes of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct TableEntry {
    pub(super) table: String,
    pub(super) adopted: u64,
    pub(super) rewritten: u64,
    pub(super) removed: u64,
    pub(super) converged: u64,
    pub(super) conflicts: u64,
    /// How rows were found: `provenance` or `ordered`.
    pub(super) route: &'static str,
    pub(super) shared_fragments: u64,
    pub(super) rows_read: u64,
}

impl From<&MergeTableReview> for TableEntry {
    fn from(review: &MergeTableReview) -> Self {
        let (counts, discovery) = (&review.counts, &review.discovery);
        Self {
            table: review.name.clone(),
            adopted: counts.adopted,
            rewritten: counts.rewritten,
            removed: counts.removed,
            converged: counts.converged,
            conflicts: review.conflicts.counts().total(),
            route: discovery.route.name(),
            shared_fragments: discovery.shared_fragments,
            rows_read: discovery.rows_read,
        }
    }
}

/// Rows of one key that contradict each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct ConflictEntry {
    pub(super) table: String,
    pub(super) key: String,
    pub(super) kind: &'static str,
    /// The names of the properties that differ; none where one side has deleted the row.
    pub(super) differs: Vec<String>,
    /// None where the side has deleted it.
    pub(super) source: Option<ShownRow>,
    pub(super) target: Option<ShownRow>,
}

impl ConflictEntry {
    fn of(table: &str, renderer: Option<&RowRenderer>, conflict: &RowConflict) -> Self {
        let shown = |row: &Option<_>| row.as_ref().and_then(|row| ShownRow::of(renderer, row));
        let (source, target) = (shown(&conflict.source), shown(&conflict.target));
        let differing = source.iter().zip(&target).flat_map(|(one, other)| one.differing(other));
        Self {
            table: table.to_owned(),
            key: conflict.key.clone(),
            kind: conflict.kind.name(),
            differs: differing.map(|(name, ..)| name).collect(),
            source,
            target,
        }
    }
}

/// Rows that contradict each other, in all tables.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Conflicts {
    pub(super) total: u64,
    /// How many there are of each kind.
    pub(super) kinds: BTreeMap<&'static str, u64>,
    /// The first of them.
    pub(super) listed: Vec<ConflictEntry>,
}

impl Conflicts {
    fn of(review: &MergeReview, schema: Option<&GraphSchema>) -> Self {
        let of_kind = |kind| review.tables.iter().map(|of| of.conflicts.counts().of(kind)).sum();
        let kinds = ConflictKind::ALL.into_iter().map(|kind| (kind.name(), of_kind(kind)));
        let listed = |of: &MergeTableReview| {
            let renderer = schema.and_then(|schema| RowRenderer::new(schema, of.identity));
            let entry = |conflict| ConflictEntry::of(&of.name, renderer.as_ref(), conflict);
            of.conflicts.listed().iter().map(entry).collect::<Vec<_>>()
        };
        Self {
            total: review.row_conflicts(),
            kinds: kinds.filter(|(_, count)| *count > 0).collect(),
            listed: by_name(&review.tables).flat_map(listed).collect(),
        }
    }
}

/// A constraint that both sides break together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ConstraintEntry {
    pub(super) kind: &'static str,
    pub(super) table: Option<String>,
    /// The row that the merge takes over; none for rows that it removes.
    pub(super) key: Option<String>,
    pub(super) field: Option<String>,
    pub(super) message: String,
}

impl From<&ConstraintConflict> for ConstraintEntry {
    fn from(conflict: &ConstraintConflict) -> Self {
        let violation = &conflict.violation;
        let key = match &violation.place {
            Place::Merged { key, .. } => key.clone(),
            _ => None,
        };
        Self {
            kind: conflict.kind.name(),
            table: violation.table.clone(),
            key,
            field: violation.field.clone(),
            message: violation.message.clone(),
        }
    }
}

/// Constraints that both sides break together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Constraints {
    pub(super) total: u64,
    /// The first of them.
    pub(super) listed: Vec<ConstraintEntry>,
}

/// As in every receipt; the order of the schema is another one in every graph.
fn by_name(tables: &[MergeTableReview]) -> impl Iterator<Item = &MergeTableReview> {
    let mut tables: Vec<_> = tables.iter().collect();
    tables.sort_by(|one, other| one.name.cmp(&other.name));
    tables.into_iter()
}

fn sorted(entries: impl Iterator<Item = ConstraintEntry>) -> Vec<ConstraintEntry> {
    let mut entries: Vec<_> = entries.collect();
    entries.sort_by(|one, other| one.table.cmp(&other.table));
    entries
}

/// What was compared, and what it comes to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Comparison {
    pub(super) source: Side,
    pub(super) target: Side,
    /// `contained`, `fast_forward`, `diverged` or `unrelated`.
    pub(super) relation: &'static str,
    pub(super) bases: Vec<String>,
    pub(super) strategy: &'static str,
    /// Whether the sides have different schemas; no row was compared then.
    pub(super) schema_diverges: bool,
    /// Rows of the target that change.
    pub(super) rows_changed: u64,
    pub(super) tables: Vec<TableEntry>,
    pub(super) conflicts: Conflicts,
    pub(super) constraints: Constraints,
}

/// A merge that was compared, with what its report does not say of the target.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compared<'a> {
    pub(crate) report: &'a MergeReport,
    /// What rows are called by; without it they are left out.
    pub(crate) schema: Option<&'a GraphSchema>,
    /// The target's name and incarnation.
    pub(crate) into: (&'a str, u64),
}

impl Comparison {
    pub(crate) fn of(compared: Compared<'_>) -> Self {
        let Compared { report, schema, into } = compared;
        let MergeReport { source, target, relation, bases, strategy, review } = report;
        let name = |commit: &Option<_>| commit.as_ref().map(ToString::to_string);
        let constraints = &review.constraints;
        Self {
            source: Side {
                branch: source.branch.clone(),
                incarnation: source.incarnation,
                commit_id: name(&source.commit),
            },
            target: Side {
                branch: into.0.to_owned(),
                incarnation: into.1,
                commit_id: name(target),
            },
            relation: relation.name(),
            bases: bases.iter().map(ToString::to_string).collect(),
            strategy: strategy.name(),
            schema_diverges: review.schema_diverges,
            rows_changed: review.rows_changed(),
            tables: by_name(&review.tables).map(TableEntry::from).collect(),
            conflicts: Conflicts::of(review, schema),
            constraints: Constraints {
                total: constraints.total,
                listed: sorted(constraints.listed.iter().map(ConstraintEntry::from)),
            },
        }
    }

    /// Whether rows contradict each other and no strategy decides about them.
    pub(super) fn has_undecided_rows(&self) -> bool {
        self.conflicts.total > 0 && self.strategy == MergeStrategy::Fail.name()
    }

    /// Whether another strategy would let the merge go through.
    pub(crate) fn is_decided_by_a_strategy(&self) -> bool {
        self.has_undecided_rows() && self.constraints.total == 0 && !self.schema_diverges
    }

    /// How many conflicts of a table must be listed so that all are; none when they are now.
    pub(crate) fn conflicts_max_for_all(&self, listed_max: usize) -> Option<u64> {
        let most = self.tables.iter().map(|table| table.conflicts).chain([self.constraints.total]);
        most.max().filter(|most| *most > listed_max as u64)
    }

    /// What stands against the merge, in words; none when nothing does.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let schema = "the branches have different schemas, so no row was compared";
        let rows = || {
            let (count, kinds) = (text::count(self.conflicts.total, "row"), &self.conflicts.kinds);
            let kinds: Vec<_> = kinds.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
            format!("the branches contradict each other in {count} ({})", kinds.join(", "))
        };
        let constraints = || {
            let count = text::count(self.constraints.total, "constraint");
            format!("both together break {count}{}", self.constraint_kinds())
        };
        let parts: Vec<_> = (self.schema_diverges.then(|| schema.to_owned()).into_iter())
            .chain(self.has_undecided_rows().then(rows))
            .chain((self.constraints.total > 0).then(constraints))
            .collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// The kinds of the broken constraints, where all of them are listed.
    fn constraint_kinds(&self) -> String {
        let listed = &self.constraints.listed;
        if (listed.len() as u64) < self.constraints.total {
            return String::new();
        }
        let mut kinds = BTreeMap::<_, u64>::new();
        listed.iter().for_each(|entry| *kinds.entry(entry.kind).or_default() += 1);
        let kinds: Vec<_> = kinds.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
        format!(" ({})", kinds.join(", "))
    }

    /// How many conflicts are counted and not listed.
    pub(super) fn unlisted(&self) -> u64 {
        let listed = self.conflicts.listed.len() + self.constraints.listed.len();
        (self.conflicts.total + self.constraints.total).saturating_sub(listed as u64)
    }
}
