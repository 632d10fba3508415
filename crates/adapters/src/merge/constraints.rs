//! The constraints of a merge, judged on its post-image: the target with what is taken over from the
//! source. Each side keeps them by itself, and both together may not. It asks the same questions as every
//! other writer does.

use std::collections::BTreeSet;

use graphwrite_protocol_types::TableIdentity;
use graphwrite_schema::GraphSchema;

use super::doubts::{AllAlone, Raised};
use super::table::MergedTable;
use crate::change::TableChange;
use crate::error::PrepareError;
use crate::input::{Place, Rule, Violation};
use crate::probe::BaseTables;
use crate::validate::{Doubts, PostImage, Review};

/// How rows of both sides contradict each other that have different keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ConstraintKind {
    /// An edge of one side names a node that the other side has deleted.
    OrphanEdge,
    /// Two rows have a value that must be unique.
    Unique,
    /// A source has too few or too many edges.
    Cardinality,
    /// Another rule; each side has kept it, so this is a fault of its content.
    Other(Rule),
}

impl ConstraintKind {
    /// The name shown to people and programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::OrphanEdge => "orphan_edge",
            Self::Unique => "unique",
            Self::Cardinality => "cardinality",
            Self::Other(rule) => rule.code(),
        }
    }

    fn of(rule: Rule) -> Self {
        match rule {
            Rule::Endpoint | Rule::Referenced => Self::OrphanEdge,
            Rule::Unique => Self::Unique,
            Rule::Cardinality => Self::Cardinality,
            rule => Self::Other(rule),
        }
    }
}

/// A constraint that the merged graph breaks.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstraintConflict {
    /// Which.
    pub kind: ConstraintKind,
    /// The row that the merge takes over or removes, and what stands against it.
    pub violation: Violation,
}

/// What the merged graph comes to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MergedConstraints {
    /// The tables whose rows in the target decided, without those that are merged: members of the read set
    /// (RFC 2.2), rows or no rows.
    pub probed: BTreeSet<TableIdentity>,
    /// How many constraints are broken, listed or not.
    pub total: u64,
    /// The first of them.
    pub listed: Vec<ConstraintConflict>,
}

/// Judges what a merge makes of the target, whose tables are opened as they are asked. Those that are merged
/// are all that the merge changes, each against its head there. With the tables of the source, which must
/// be those that were merged, only rows are read that one side has alone; the result is the same as
/// without them.
///
/// # Errors
/// The target could not be read, or the source.
pub(crate) async fn check_merged(
    schema: &GraphSchema,
    merged: &[MergedTable],
    listed_max: usize,
    (source, target): (Option<&mut BaseTables<'_>>, &mut BaseTables<'_>),
) -> Result<MergedConstraints, PrepareError> {
    let change = |of: &'_ MergedTable| of.changes.any();
    let changes: Vec<_> = merged.iter().filter(|of| change(of)).map(MergedTable::change).collect();
    // Of a state that was judged by another schema it is not known what it keeps.
    let source = source.filter(|source| source.has_schema_of(target));
    let raised = Raised::by(schema, merged);
    let doubts = match source {
        Some(source) => Box::pin(doubts(schema, &raised, (source, target), merged)).await?,
        None => Doubts::default(),
    };
    let post = PostImage { schema, tables: &changes, errors_max: listed_max };
    let review = Review::where_in_doubt(post, &doubts)?;
    Box::pin(target.open(review.tables())).await?;
    let faults = Box::pin(review.faults(target)).await?;
    let own = |identity: &TableIdentity| merged.iter().any(|of| of.input.identity == *identity);
    let probed = raised.tables().into_iter().filter(|identity| !own(identity)).collect();
    let Err(violations) = faults.into_result() else {
        return Ok(MergedConstraints { probed, ..MergedConstraints::default() });
    };
    let conflict = |violation: &Violation| {
        let place = named(&violation.place, merged)?;
        let violation = Violation { place, ..violation.clone() };
        Ok(ConstraintConflict { kind: ConstraintKind::of(violation.rule), violation })
    };
    let listed = violations.listed().iter().map(conflict).collect::<Result<_, PrepareError>>()?;
    Ok(MergedConstraints { probed, total: violations.total(), listed })
}

async fn doubts(
    schema: &GraphSchema,
    raised: &Raised<'_>,
    (source, target): (&mut BaseTables<'_>, &mut BaseTables<'_>),
    merged: &[MergedTable],
) -> Result<Doubts, PrepareError> {
    // A table with one head on both sides has no row that one of them has alone.
    let differs = |identity: &TableIdentity| source.head(*identity) != target.head(*identity);
    let differing: Vec<_> = raised.compared().into_iter().filter(differs).collect();
    Box::pin(source.open(differing.iter().copied())).await?;
    Box::pin(target.open(differing.iter().copied())).await?;
    let share = merged.iter().map(|of| of.input.index_share()).min().unwrap_or_default();
    let read = AllAlone::read((schema, raised), (source, target), merged, share / 4);
    Ok(raised.doubts(&Box::pin(read).await?)?)
}

/// A row of the source has no number that anybody knows it by, but a key.
fn named(place: &Place, merged: &[MergedTable]) -> Result<Place, PrepareError> {
    let Place::Row { table, row } = place else { return Ok(place.clone()) };
    let of = merged.iter().map(|of| &of.input).find(|of| of.name == *table);
    let key = match (of, usize::try_from(*row)) {
        (Some(of), Ok(row)) => Some(of.key_text(row)?),
        _ => None,
    };
    Ok(Place::Merged { table: table.clone(), key })
}

impl MergedTable {
    pub(super) fn change(&self) -> TableChange<'_> {
        TableChange { rows: &self.input, changes: self.changes.clone() }
    }
}
