//! The writer kind `merge`: what a captured commit has changed since the bases, taken over into a branch in
//! one graph commit (RFC 6.2). It must not know branches or the lineage: the caller says which states are
//! compared, and what the commit descends from.

use std::collections::BTreeMap;

use futures::stream::{self, StreamExt, TryStreamExt};
use graphwrite_protocol_types::{
    Access, BaseView, Defect, LiveHead, MergeParents, PhysicalRef, ReadSet, RequestDigest,
    WriterKind,
};
use graphwrite_schema::{GraphSchema, TypeDef};
use graphwrite_substrate::{Store, TableHandle};

use super::constraints::{MergedConstraints, check_merged};
use super::discovery::{MergeTables, merge_table};
use super::review::MergeReview;
use super::table::{MergeError, MergeOptions, MergedTable};
use crate::change::TableChange;
use crate::error::PrepareError;
use crate::prepare::{PrepareContext, Signature, WritePlan, stage};
use crate::probe::BaseTables;

/// Tables that are compared at the same time.
const TABLES_AT_ONCE: usize = 8;
/// What one table may take at least, whatever the budget is and however many tables share it.
const TABLE_BYTES_MIN: u64 = 1 << 20;

/// What a merge is computed from.
#[derive(Debug, Clone, Copy)]
pub struct MergeInput<'a> {
    /// The digest of the request.
    pub request: RequestDigest,
    /// The graph as the merged commit left it.
    pub source: &'a BaseView,
    /// The graph as each base left it. Without a base all rows of the source are new.
    pub bases: &'a [BaseView],
    /// For each base but the first: the graph as each of the best common ancestors left it of that base and of
    /// all before it, taken together; nothing where they are not known.
    pub older: &'a [Option<Vec<BaseView>>],
    /// The graph as the target has it.
    pub target: &'a BaseView,
    /// How it is done.
    pub options: &'a MergeOptions,
}

/// A merge that was classified: what it would write, and what stands against it.
pub struct Classified<'a> {
    /// What is told of it.
    pub review: MergeReview,
    merged: Vec<MergedTable>,
    tables: BaseTables<'a>,
}

/// The adapter of merges.
#[derive(Debug, Clone, Copy, Default)]
pub struct MergeAdapter;

impl MergeAdapter {
    /// Compares the sides row by row and judges the merged graph by every constraint. Nothing is staged.
    ///
    /// Tables that the source has as every base has them are not looked at: nothing of them is merged.
    ///
    /// # Errors
    /// A side cannot be read, or there is more than the limits of the request allow.
    pub async fn classify<'a>(
        &self,
        store: &'a Store,
        schema: &GraphSchema,
        input: &MergeInput<'a>,
    ) -> Result<Classified<'a>, PrepareError> {
        let target = input.target;
        let mut tables = BaseTables::new(store, target);
        if input.source.schema != target.schema {
            let review = MergeReview { schema_diverges: true, ..MergeReview::default() };
            return Ok(Classified { review, merged: Vec::new(), tables });
        }
        let sides = Sides(input);
        let concerned: Vec<_> = schema.types().iter().filter(|def| sides.concern(def)).collect();
        let opened = Opened::all(store, concerned.iter().flat_map(|def| sides.heads(def))).await?;
        let options = share(input.options, concerned.len());
        let (sides, opened, options) = (&sides, &opened, &options);
        let merging = concerned.iter().map(|def| async move {
            let tables = sides.tables(def, opened);
            Box::pin(merge_table(schema, def, &tables, options)).await
        });
        let merged = stream::iter(merging.collect::<Vec<_>>()).buffered(TABLES_AT_ONCE);
        let merged: Vec<MergedTable> = merged.try_collect().await?;
        within_limits(&merged, input.options)?;
        let mut of_source = BaseTables::new(store, input.source);
        for def in &concerned {
            let MergeTables { source, target, .. } = sides.tables(def, opened);
            of_source.hold(def.identity, source);
            tables.hold(def.identity, target);
        }
        let listed_max = input.options.conflicts_listed_max;
        let constraints =
            check_merged(schema, &merged, listed_max, (Some(&mut of_source), &mut tables)).await?;
        Ok(Classified { review: review(&merged, constraints), merged, tables })
    }

    /// Stage B (RFC 4.2). Every table that was compared or asked is a member of the read set, and so is
    /// the head of the branch: whatever moves it makes this plan void, and the merge is classified anew.
    ///
    /// What changes no row is a commit as well: it says that the source is merged.
    ///
    /// # Errors
    /// As for [`MergeAdapter::classify`], or rows cannot be staged. No HEAD has moved.
    pub async fn prepare(
        &self,
        context: &PrepareContext<'_>,
        input: &MergeInput<'_>,
        parents: MergeParents,
    ) -> Result<(WritePlan, MergeReview), PrepareError> {
        let classifying = self.classify(context.store, context.schema, input);
        let Classified { review, merged, tables } = Box::pin(classifying).await?;
        if let Some(conflict) = review.conflict(input.options.strategy) {
            return Ok((WritePlan::Conflict(conflict), review));
        }
        let mut read_set = context.read_set();
        if !context.store.has(Defect::MergeHeadLeftOut) {
            read_set.add_graph_head(context.base.graph_head);
        }
        for identity in &review.constraints.probed {
            read_set.add_table(context.base, *identity, Access::Probed);
        }
        let changes: Vec<_> = merged.iter().map(MergedTable::change).collect();
        if !changes.iter().any(|change| change.changes.any()) {
            // Without effects nothing else says whom its intent concerns.
            for def in context.schema.types() {
                read_set.add_table(context.base, def.identity, Access::Probed);
            }
        }
        let planted = planted_base(context, input, &changes, &mut read_set);
        let context =
            &PrepareContext { base: planted.as_ref().unwrap_or(context.base), ..*context };
        let tables = match &planted {
            Some(_) => Box::pin(opened(context, &changes)).await?,
            None => tables,
        };
        let signature =
            Signature { request: input.request, writer: WriterKind::Merge, merges: Some(parents) };
        let plan = stage(context, signature, &changes, &tables, read_set).await?;
        Ok((plan, review))
    }
}

/// What the plan is made over instead of the target: with [`Defect::MergeToSource`] a target whose changed
/// tables are where those of the source are, with [`Defect::MergeNotComparedAgain`] another than was compared.
fn planted_base(
    context: &PrepareContext<'_>,
    input: &MergeInput<'_>,
    changes: &[TableChange<'_>],
    read_set: &mut ReadSet,
) -> Option<BaseView> {
    let is_to_source = context.store.has(Defect::MergeToSource);
    if !is_to_source && !context.store.has(Defect::MergeNotComparedAgain) {
        return None;
    }
    let mut base = context.base.clone();
    for change in changes.iter().filter(|_| is_to_source) {
        let identity = change.identity();
        read_set.add_table(context.base, identity, Access::Written);
        base.heads.insert(identity, input.source.head(identity).clone());
    }
    Some(base)
}

async fn opened<'c>(
    context: &PrepareContext<'c>,
    changes: &[TableChange<'_>],
) -> Result<BaseTables<'c>, PrepareError> {
    let mut tables = BaseTables::new(context.store, context.base);
    Box::pin(tables.open(changes.iter().map(TableChange::identity))).await?;
    Ok(tables)
}

/// The states that are compared.
struct Sides<'a>(&'a MergeInput<'a>);

impl<'a> Sides<'a> {
    /// Whether the source has changed the table since some base, and not to what the target has.
    fn concern(&self, def: &TypeDef) -> bool {
        let of = |view: &'a BaseView| view.head(def.identity).live();
        let source = of(self.0.source);
        let is_as = |view: &'a BaseView| LiveHead::have_same_rows(source, of(view));
        let unchanged = match self.0.bases {
            [] => source.is_none(),
            bases => bases.iter().all(is_as),
        };
        !unchanged && !is_as(self.0.target)
    }

    fn heads(&self, def: &TypeDef) -> impl Iterator<Item = &'a LiveHead> + use<'a> {
        let identity = def.identity;
        let older = self.0.older.iter().flatten().flatten();
        let views = [self.0.target, self.0.source].into_iter().chain(self.0.bases);
        let views = views.chain(older);
        views.filter_map(move |view| view.head(identity).live())
    }

    fn tables<'o>(&self, def: &TypeDef, opened: &'o Opened) -> MergeTables<'o> {
        let of = |view: &BaseView| view.head(def.identity).live().and_then(|head| opened.get(head));
        MergeTables {
            bases: self.0.bases.iter().map(of).collect(),
            older: self
                .0
                .older
                .iter()
                .map(|older| older.as_ref().map(|older| older.iter().map(of).collect()))
                .collect(),
            source: of(self.0.source),
            target: of(self.0.target),
        }
    }
}

/// A version by its place and its transaction: a number alone is no identity (BLOCKER-05).
type VersionKey = (String, PhysicalRef, u64, String);

fn key(head: &LiveHead) -> VersionKey {
    let (path, pin) = (head.path.as_str().to_owned(), &head.pin);
    (path, head.physical_ref.clone(), pin.version, pin.tx_uuid.to_string())
}

/// The versions of all sides, each opened once, on whatever branch's ref it is.
struct Opened(BTreeMap<VersionKey, TableHandle>);

impl Opened {
    async fn all<'h>(
        store: &Store,
        heads: impl Iterator<Item = &'h LiveHead>,
    ) -> Result<Self, PrepareError> {
        let wanted: BTreeMap<_, _> = heads.map(|head| (key(head), head)).collect();
        let opening = wanted.into_iter().map(|(key, head)| async move {
            let (path, of) = (head.path.as_str(), &head.physical_ref);
            let table = Box::pin(TableHandle::open_pin(store, path, of, &head.pin)).await?;
            Ok::<_, PrepareError>((key, table))
        });
        let opened = stream::iter(opening.collect::<Vec<_>>()).buffered(4 * TABLES_AT_ONCE);
        Ok(Self(opened.try_collect().await?))
    }

    fn get(&self, head: &LiveHead) -> Option<&TableHandle> {
        self.0.get(&key(head))
    }
}

/// What each of so many tables may take.
fn share(options: &MergeOptions, tables: usize) -> MergeOptions {
    let bytes_max = options.bytes_max / tables.max(1) as u64;
    MergeOptions { bytes_max: bytes_max.max(TABLE_BYTES_MIN), ..options.clone() }
}

/// Refuses more than is allowed, before anything is staged.
fn within_limits(merged: &[MergedTable], options: &MergeOptions) -> Result<(), MergeError> {
    let rows = merged.iter().map(|of| of.counts().changed()).sum();
    if rows > options.rows_max {
        return Err(MergeError::TooManyRows { rows, max: options.rows_max });
    }
    Ok(())
}

fn review(merged: &[MergedTable], constraints: MergedConstraints) -> MergeReview {
    let tables = merged.iter().map(MergedTable::review).collect();
    MergeReview { tables, constraints, schema_diverges: false }
}
