//! What a merge asks for, over all of its attempts: the source is captured once, everything that depends on
//! the target is computed anew for each head of it (RFC 3.4).

use std::sync::Arc;

use graphwrite_adapters::{
    CommitBounds, Discovery, MergeAdapter, MergeInput, MergeOptions, MergeReview, MergeRoute,
    PrepareContext, WritePlan,
};
use graphwrite_manifest::{ManifestState, MergeBase, MergeBases, PastState};
use graphwrite_protocol_types::{
    AttemptId, BaseView, Conflict, Defect, ReadSet, RequestDigest, WriteOutcome,
};
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use super::captured::Captured;
use super::report::{MergeRelation, MergeReport, MergedSource};
use crate::ReadError;
use crate::branch::BranchFrom;
use crate::core::Core;
use crate::error::WriteErrorKind;
use crate::operation::schema_of;

/// Separates these digests from every other hash over the same bytes.
const DOMAIN: &[u8] = b"graphwrite merge request 1\0";

/// A merge that was asked for.
#[derive(Debug)]
pub(crate) struct MergeWork {
    source: BranchFrom,
    options: MergeOptions,
    pub(crate) bounds: CommitBounds,
    captured: OnceCell<Arc<Captured>>,
    /// Of the attempt that came so far last, and which that was.
    report: Mutex<Option<(AttemptId, MergeReport)>>,
}

/// How both sides stand at one head of the target.
struct Compared {
    relation: MergeRelation,
    bases: Vec<BaseView>,
    /// What each base but the first is merged with those before it by.
    older: Vec<Option<Vec<BaseView>>>,
}

impl Compared {
    fn apart(bases: Vec<MergeBase>) -> Self {
        let view = |state: &ManifestState| state.base().clone();
        let all = |older: &Vec<ManifestState>| older.iter().map(view).collect();
        let older = bases.iter().skip(1).map(|base| base.older.as_ref().map(all)).collect();
        let bases = bases.iter().map(|base| view(&base.state)).collect();
        Self { relation: MergeRelation::Diverged, bases, older }
    }
}

impl MergeWork {
    pub(super) fn new(source: BranchFrom, options: MergeOptions, bounds: CommitBounds) -> Self {
        let (captured, report) = Default::default();
        Self { source, options, bounds, captured, report }
    }

    /// Of what was asked for, not of the commit that it meant then: the same request, sent again after
    /// the source has moved on, is answered with its first receipt.
    pub(crate) fn digest(&self) -> RequestDigest {
        let (kind, name) = match &self.source {
            BranchFrom::Head(branch) => ("branch", branch.to_string()),
            BranchFrom::Commit(commit) => ("commit", commit.to_string()),
        };
        let mut hasher = blake3::Hasher::new();
        hasher.update(DOMAIN).update(self.options.strategy.name().as_bytes());
        hasher.update(b"\0").update(kind.as_bytes()).update(b"\0").update(name.as_bytes());
        RequestDigest(*hasher.finalize().as_bytes())
    }

    /// What was compared in the attempt that decided. An answer that another attempt has given, or that
    /// was given before anything was compared, has nothing to do with it.
    pub(super) fn told_of(&self, outcome: &WriteOutcome) -> Option<MergeReport> {
        let (compared_in, report) = self.report.lock().take()?;
        let is_of = match outcome {
            WriteOutcome::Committed(receipt) | WriteOutcome::NoChange(receipt) => {
                receipt.attempt == compared_in
            }
            WriteOutcome::Conflict(conflict) => {
                matches!(conflict, Conflict::Merge { .. } | Conflict::RetriesExhausted { .. })
            }
            WriteOutcome::OutcomeUnknown(unknown) => unknown.attempt == compared_in,
            _ => false,
        };
        is_of.then_some(report)
    }

    /// The source, if an attempt has come so far.
    pub(crate) fn source(&self) -> Option<Arc<Captured>> {
        self.captured.get().cloned()
    }

    async fn captured(&self, core: &Arc<Core>) -> Result<Arc<Captured>, WriteErrorKind> {
        let capture = || async { Captured::of(core, &self.source).await.map(Arc::new) };
        let captured = self.captured.get_or_try_init(&capture).await?;
        if core.store.has(Defect::MergeSourceRecaptured) {
            return capture().await;
        }
        Ok(Arc::clone(captured))
    }

    /// [`Defect::MergeNotComparedAgain`]: the target of the attempt before, of those of `now`.
    async fn compared_before(&self, core: &Core, now: &ManifestState) -> Option<ManifestState> {
        if !core.store.has(Defect::MergeNotComparedAgain) {
            return None;
        }
        let before = self.report.lock().as_ref().and_then(|(_, report)| report.target)?;
        let row = now.commit(before).await.ok()??;
        match core.manifest.state_at(&row).await.ok()? {
            PastState::Found(state) => Some(state),
            _ => None,
        }
    }

    /// Stage B against one head of the target.
    pub(crate) async fn prepare(
        &self,
        core: &Arc<Core>,
        target: &ManifestState,
        context: &PrepareContext<'_>,
    ) -> Result<WritePlan, WriteErrorKind> {
        let captured = &self.captured(core).await?;
        let Compared { relation, bases, older } = compare(core, captured, target).await?;
        let new = captured.tip().filter(|_| relation != MergeRelation::Contained);
        let Some(tip) = new else {
            self.tell(
                context.attempt,
                self.report(captured, target, relation, &bases, MergeReview::default()),
            );
            let read_set = ReadSet::new(context.base);
            return Ok(WritePlan::NoChange { summaries: Vec::new(), read_set });
        };
        let parents = captured.parents(tip.clone(), target).await?;
        let before = Box::pin(self.compared_before(core, target)).await;
        let input = self.input(captured, before.as_ref().unwrap_or(target), (&bases, &older));
        let prepared = Box::pin(MergeAdapter.prepare(context, &input, parents)).await;
        let (plan, review) = prepared.map_err(WriteErrorKind::Prepare)?;
        let report = self.report(captured, target, relation, &bases, review);
        self.tell(context.attempt, report);
        Ok(plan)
    }

    /// The same without effects.
    pub(super) async fn preview(&self, core: &Arc<Core>) -> Result<MergeReport, WriteErrorKind> {
        let target =
            core.unless_deleted(async { Ok::<_, ReadError>(core.manifest.state().await?) });
        let target = target.await?;
        let captured = &self.captured(core).await?;
        let Compared { relation, bases, older } = compare(core, captured, &target).await?;
        if relation == MergeRelation::Contained {
            return Ok(self.report(captured, &target, relation, &bases, MergeReview::default()));
        }
        let schema = schema_of(&target)?;
        let input = self.input(captured, &target, (&bases, &older));
        let classifying = MergeAdapter.classify(&core.store, &schema, &input);
        let classified = Box::pin(classifying).await.map_err(WriteErrorKind::Prepare)?;
        Ok(self.report(captured, &target, relation, &bases, classified.review))
    }

    fn input<'a>(
        &'a self,
        captured: &'a Captured,
        target: &'a ManifestState,
        (bases, older): (&'a [BaseView], &'a [Option<Vec<BaseView>>]),
    ) -> MergeInput<'a> {
        let (request, options) = (self.digest(), &self.options);
        let (source, target) = (captured.state().base(), target.base());
        MergeInput { request, source, bases, older, target, options }
    }

    fn tell(&self, attempt: AttemptId, report: MergeReport) {
        let tables = report.review.tables.iter().map(|table| table.discovery);
        let is_ordered = |of: &Discovery| of.route == MergeRoute::Ordered;
        tracing::info!(
            %attempt,
            relation = report.relation.name(),
            bases = report.bases.len(),
            tables = report.review.tables.len(),
            tables_ordered = tables.clone().filter(is_ordered).count(),
            rows_read = tables.map(|of| of.rows_read).sum::<u64>(),
            rows_changed = report.review.rows_changed(),
            conflicts = report.review.row_conflicts() + report.review.constraints.total,
            "compared",
        );
        *self.report.lock() = Some((attempt, report));
    }

    fn report(
        &self,
        captured: &Captured,
        target: &ManifestState,
        relation: MergeRelation,
        bases: &[BaseView],
        review: MergeReview,
    ) -> MergeReport {
        let branch = &captured.state().base().branch;
        MergeReport {
            source: MergedSource {
                branch: branch.name.clone(),
                incarnation: branch.record,
                commit: captured.tip().map(|tip| tip.commit),
            },
            target: target.base().graph_head.0,
            relation,
            bases: bases.iter().filter_map(|base| base.graph_head.0).collect(),
            strategy: self.options.strategy,
            review,
        }
    }
}

async fn compare(
    core: &Core,
    captured: &Captured,
    target: &ManifestState,
) -> Result<Compared, WriteErrorKind> {
    let (relation, bases) = match captured.bases(core, target).await? {
        MergeBases::Contained => (MergeRelation::Contained, Vec::new()),
        MergeBases::FastForward => (MergeRelation::FastForward, vec![target.base().clone()]),
        MergeBases::Diverged(bases) => return Ok(Compared::apart(bases)),
        MergeBases::Unrelated => (MergeRelation::Unrelated, Vec::new()),
    };
    Ok(Compared { relation, bases, older: Vec::new() })
}
