//! Stage B as all writers have it in common (RFC 4.2): what an attempt is planned against, and the way
//! from net changes over the complete validators to a plan. It knows no writer.

use std::collections::BTreeSet;

use graphwrite_protocol_types::{
    Access, AttemptId, BaseView, Conflict, Defect, Env, GraphHeadToken, IdentityDomain,
    MergeParents, OperationId, Prepared, ReadSet, RequestDigest, SchemaHash, TableHeadToken,
    TableIdentity, TableSummary, WriterKind,
};
use graphwrite_schema::GraphSchema;
use graphwrite_substrate::Store;

use crate::chain::CommitBounds;
use crate::change::TableChange;
use crate::error::PrepareError;
use crate::payload::StagedPayload;
use crate::plan::Plan;
use crate::probe::BaseTables;
use crate::validate::{PostImage, Review};

/// What one attempt is planned against, and on whose behalf.
#[derive(Debug, Clone, Copy)]
pub struct PrepareContext<'a> {
    /// Where the graph is stored.
    pub store: &'a Store,
    /// The state that the plan is computed against.
    pub base: &'a BaseView,
    /// The accepted schema of that state.
    pub schema: &'a GraphSchema,
    /// The tables whose head is on a ref that the branch does not own: its first write to one makes a
    /// ref of its own.
    pub inherited: &'a BTreeSet<TableIdentity>,
    /// The graph's identity.
    pub domain: IdentityDomain,
    /// This attempt. Every physical name of the plan carries it (K4).
    pub attempt: AttemptId,
    /// The caller's request.
    pub operation: &'a OperationId,
    /// Who asks.
    pub actor: &'a str,
    /// The caller's message.
    pub message: Option<&'a str>,
    /// The head that the caller demands, which makes the grain coarse.
    pub expected_head: Option<GraphHeadToken>,
    /// How much one commit to a table carries.
    pub bounds: CommitBounds,
    /// Clock and randomness.
    pub env: &'a dyn Env,
}

/// What preparing a write came to.
#[must_use = "a plan does nothing until it is taken through the stages"]
#[derive(Debug)]
pub enum WritePlan {
    /// There is something to write; its files are staged and no HEAD has moved.
    Write(Box<Prepared<StagedPayload>>),
    /// The graph already says what the request says.
    NoChange {
        /// Row counts, all of them unchanged.
        summaries: Vec<TableSummary>,
        /// What the answer depends on.
        read_set: ReadSet,
    },
    /// Something else came first; nothing was staged.
    Conflict(Conflict),
}

/// What a commit says of its request beside what it changes.
#[derive(Debug, Clone)]
pub(crate) struct Signature {
    pub(crate) request: RequestDigest,
    pub(crate) writer: WriterKind,
    /// What the commit descends from beside the head, where it merges something.
    pub(crate) merges: Option<MergeParents>,
}

impl PrepareContext<'_> {
    /// The conflict of a caller whose expected head is not the head.
    pub(crate) fn unexpected_head(&self) -> Option<Conflict> {
        let (expected, actual) = (self.expected_head?, self.base.graph_head);
        (expected != actual)
            .then_some(Conflict::ExpectedHead { expected: expected.0, actual: actual.0 })
    }

    /// The read set before any table is in it.
    pub(crate) fn read_set(&self) -> ReadSet {
        let mut read_set = ReadSet::new(self.base);
        if let Some(head) = self.expected_head {
            read_set.add_graph_head(head);
        }
        read_set
    }

    /// Refuses a request that was decoded by another schema than the base's, or names a type that the
    /// branch has no head for.
    pub(crate) fn check_schema<'t>(
        &self,
        decoded: SchemaHash,
        tables: impl IntoIterator<Item = (TableIdentity, &'t str)>,
    ) -> Result<(), PrepareError> {
        let accepted = self.base.schema.0;
        let decoded = if self.schema.hash() == accepted { decoded } else { self.schema.hash() };
        if decoded != accepted {
            return Err(PrepareError::SchemaMoved { decoded, accepted });
        }
        let is_headless = |identity| matches!(self.base.head(identity), TableHeadToken::Tombstoned);
        match tables.into_iter().find(|(identity, _)| is_headless(*identity)) {
            Some((_, name)) => Err(PrepareError::Headless { table: name.to_owned() }),
            None => Ok(()),
        }
    }
}

/// Opens tables and makes them members of the read set, the absent ones too: a row that appears there
/// may change the answer.
pub(crate) async fn probed(
    asked: impl IntoIterator<Item = TableIdentity>,
    context: &PrepareContext<'_>,
    tables: &mut BaseTables<'_>,
    read_set: &mut ReadSet,
) -> Result<(), PrepareError> {
    let asked: BTreeSet<_> = asked.into_iter().collect();
    let members = asked.iter().filter(|_| !context.store.has(Defect::ProbesLeftOut));
    for identity in members {
        read_set.add_table(context.base, *identity, Access::Probed);
    }
    Ok(Box::pin(tables.open(asked)).await?)
}

/// Judges the post-image of `changes` by every constraint that it may break.
pub(crate) async fn judge(
    context: &PrepareContext<'_>,
    changes: &[TableChange<'_>],
    errors_max: usize,
    tables: &mut BaseTables<'_>,
    read_set: &mut ReadSet,
) -> Result<(), PrepareError> {
    let review = Review::of(PostImage { schema: context.schema, tables: changes, errors_max })?;
    probed(review.tables(), context, tables, read_set).await?;
    Ok(Box::pin(review.faults(tables)).await?.into_result()?)
}

/// The plan of changes that were found right.
pub(crate) async fn plan(
    context: &PrepareContext<'_>,
    signature: Signature,
    changes: &[TableChange<'_>],
    tables: &BaseTables<'_>,
    mut read_set: ReadSet,
) -> Result<WritePlan, PrepareError> {
    if changes.iter().any(|change| change.changes.any()) {
        return stage(context, signature, changes, tables, read_set).await;
    }
    add_members(context, changes, &mut read_set);
    let summaries = changes.iter().map(TableChange::summary).collect();
    Ok(WritePlan::NoChange { summaries, read_set })
}

fn add_members(context: &PrepareContext<'_>, changes: &[TableChange<'_>], read_set: &mut ReadSet) {
    for change in changes {
        let access = if change.changes.any() { Access::Written } else { Access::Probed };
        read_set.add_table(context.base, change.identity(), access);
    }
}

/// The same for what is a commit even if it changes no row.
pub(crate) async fn stage(
    context: &PrepareContext<'_>,
    signature: Signature,
    changes: &[TableChange<'_>],
    tables: &BaseTables<'_>,
    mut read_set: ReadSet,
) -> Result<WritePlan, PrepareError> {
    add_members(context, changes, &mut read_set);
    let planned = Plan { context, signature, tables: changes };
    Box::pin(planned.stage(tables, read_set)).await.map(Box::new).map(WritePlan::Write)
}
