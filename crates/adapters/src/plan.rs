//! From net changes to a complete plan: one effect for each table that changes, its staged files,
//! and the delta and lineage of the one graph commit. It judges no row and knows no writer.

use graphwrite_protocol_types::{
    CommitId, Compensation, ContentId, DatasetPath, Defect, Effect, EffectKind, EffectTarget,
    HeadChange, LineageIntent, LiveHead, ManifestDelta, NextHead, Parents, PhysicalRef, Pin,
    PinSlot, PlannedStep, PostState, PreState, Prepared, PreparedWrite, ReadSet, RecoveryPlan,
    RefIdentifier, TableIdentity, TxUuid,
};
use graphwrite_substrate::TableHandle;
use tracing::debug;

use crate::chain::{Chain, Portion, portions, stage_creation, stage_portions, steps};
use crate::change::TableChange;
use crate::error::PrepareError;
use crate::fork::Fork;
use crate::payload::{StagedEffect, StagedPayload};
use crate::prepare::{PrepareContext, Signature};
use crate::probe::{BaseTables, all};

pub(crate) struct Plan<'a> {
    pub(crate) context: &'a PrepareContext<'a>,
    pub(crate) signature: Signature,
    /// In identity order.
    pub(crate) tables: &'a [TableChange<'a>],
}

/// One effect with its staged files, and what it makes of the table's head.
struct Planned {
    effect: Effect,
    next: NextHead,
    staged: StagedEffect,
}

impl Plan<'_> {
    /// Stages all tables at once, or one after another where their rows are not in memory: each writer
    /// holds pages of every column. Effects, heads and payload are in identity order, and only the
    /// tables that change have any.
    pub(crate) async fn stage(
        &self,
        tables: &BaseTables<'_>,
        read_set: ReadSet,
    ) -> Result<Prepared<StagedPayload>, PrepareError> {
        let changed = self.tables.iter().filter(|table| table.changes.any());
        let is_spilled = self.tables.iter().any(|table| table.rows.parts().is_spilled());
        let planned = (0u32..)
            .zip(changed)
            .map(|(index, change)| Box::pin(self.plan_table(index, change, tables)));
        let planned = Box::pin(all(planned.collect(), !is_spilled)).await?;
        let mut write = self.write(read_set);
        let mut staged = Vec::with_capacity(planned.len());
        for table in planned {
            let identity = table.effect.target.identity;
            write.delta.heads.push(HeadChange { identity, next: table.next });
            write.effects.push(table.effect);
            staged.push(table.staged);
        }
        write.recovery = RecoveryPlan::for_kinds(write.effects.iter().map(|effect| effect.kind));
        let payload = StagedPayload::new(self.context.attempt, staged);
        debug!(attempt = %self.context.attempt, effects = payload.effects(), rows = payload.rows(), "staged the plan");
        Ok(Prepared::new(write, payload)?)
    }

    /// The plan without effects.
    fn write(&self, read_set: ReadSet) -> PreparedWrite {
        let context = self.context;
        PreparedWrite {
            operation: context.operation.clone(),
            attempt: context.attempt,
            request: self.signature.request,
            writer: self.signature.writer,
            base: context.base.clone(),
            read_set,
            effects: Vec::new(),
            delta: ManifestDelta::default(),
            lineage: LineageIntent {
                commit: CommitId::mint(context.env),
                parents: self.parents(),
                actor: context.actor.to_owned(),
                message: context.message.map(str::to_owned),
                tables: self.tables.iter().map(TableChange::summary).collect(),
            },
            recovery: RecoveryPlan::for_kinds([]),
        }
    }

    /// What a merge descends from is said by whoever knows the lineage. With an expected head the parent is that head; without one nothing depends on parentage.
    fn parents(&self) -> Parents {
        if let Some(merge) = &self.signature.merges {
            return Parents::Merge(Box::new(merge.clone()));
        }
        match self.context.expected_head {
            Some(head) => Parents::Exact(head.0.into_iter().collect()),
            None => Parents::HeadAtPublish,
        }
    }

    async fn plan_table(
        &self,
        index: u32,
        change: &TableChange<'_>,
        tables: &BaseTables<'_>,
    ) -> Result<Planned, PrepareError> {
        let identity = change.identity();
        let adds = change.changes.puts().then(|| change.added());
        let mut portions = portions(&change.changes.replaced, adds, self.context.bounds);
        if self.context.store.has(Defect::ChainCutShort) {
            portions.truncate(1);
        }
        match self.context.base.head(identity).live().zip(tables.get(identity)) {
            Some((head, _)) if self.is_first_touch(identity) => {
                let steps = self.steps(index, head.pin.version, &portions);
                Ok(self.forked(head, steps, portions))
            }
            Some((head, table)) => {
                let steps = self.steps(index, head.pin.version, &portions);
                // The addresses are those of the version that the commits are staged over, and a
                // strict commit lands on no other (K1).
                let staged = Box::pin(stage_portions(table, &portions, &steps)).await?;
                Ok(self.existing(head, table, steps, staged))
            }
            None => {
                let steps = self.steps(index, 0, &portions);
                self.first_load(change, steps, &portions).await
            }
        }
    }

    fn steps(&self, effect: u32, base: u64, portions: &[Portion]) -> Vec<PlannedStep> {
        let uuid = |(step, _)| TxUuid::effect(self.context.attempt, effect, step);
        steps(base, (0..).zip(portions).map(uuid).collect())
    }

    /// Whether the branch has no ref of its own of the table, and needs one.
    fn is_first_touch(&self, identity: TableIdentity) -> bool {
        self.context.inherited.contains(&identity)
            && !self.context.store.has(Defect::FirstTouchOnParent)
    }

    /// The branch's first rows of a table that it inherits go to a ref of its own: others may go on
    /// with the one that it was forked from.
    fn forked(&self, head: &LiveHead, steps: Vec<PlannedStep>, portions: Vec<Portion>) -> Planned {
        let physical_ref = PhysicalRef::of_first_write(self.context.attempt);
        let (post, content) = (last_pin(&steps), ContentId::mint(self.context.env));
        let next = NextHead::Live {
            path: head.path.clone(),
            physical_ref: physical_ref.clone(),
            ref_identifier: head.ref_identifier.forked(head.pin.version, self.context.attempt),
            pin: PinSlot::Exact(post.clone()),
            content,
            table_schema: head.table_schema,
        };
        let effect = Effect {
            target: EffectTarget { identity: head.identity, path: head.path.clone(), physical_ref },
            pre: PreState::Absent,
            kind: EffectKind::CreateRef,
            steps,
            post: PostState::Exact(post),
            compensation: Compensation::DeleteRef,
            content,
        };
        Planned { effect, next, staged: StagedEffect::Fork(Box::new(Fork::new(portions))) }
    }

    fn existing(
        &self,
        head: &LiveHead,
        table: &TableHandle,
        steps: Vec<PlannedStep>,
        staged: Chain,
    ) -> Planned {
        let (post, content) = (last_pin(&steps), ContentId::mint(self.context.env));
        let next = NextHead::Live {
            path: head.path.clone(),
            physical_ref: head.physical_ref.clone(),
            ref_identifier: head.ref_identifier.clone(),
            pin: PinSlot::Exact(post.clone()),
            content,
            table_schema: head.table_schema,
        };
        let effect = Effect {
            target: EffectTarget {
                identity: head.identity,
                path: head.path.clone(),
                physical_ref: head.physical_ref.clone(),
            },
            pre: PreState::At(head.pin.clone()),
            kind: if steps.len() > 1 { EffectKind::Chain } else { EffectKind::Staged },
            steps,
            post: PostState::Exact(post),
            compensation: Compensation::Restore,
            content,
        };
        Planned { effect, next, staged: StagedEffect::Over(Box::new(table.clone()), staged) }
    }

    /// The first rows of a table: its dataset is created with them.
    async fn first_load(
        &self,
        change: &TableChange<'_>,
        steps: Vec<PlannedStep>,
        portions: &[Portion],
    ) -> Result<Planned, PrepareError> {
        let path = DatasetPath::of_first_load(change.identity(), self.context.attempt);
        let (place, none) = ((self.context.store, path.as_str()), || change.added().stream());
        let staged = Box::pin(stage_creation(place, portions, &steps, none)).await?;
        let effect = self.creation(change.identity(), path.clone(), steps);
        let next = NextHead::Live {
            path: path.clone(),
            physical_ref: PhysicalRef::Main,
            ref_identifier: RefIdentifier::Main(self.context.domain),
            pin: PinSlot::Exact(last_pin(&effect.steps)),
            content: effect.content,
            table_schema: self.context.base.schema.0,
        };
        Ok(Planned { effect, next, staged: StagedEffect::Create(path, staged) })
    }

    fn creation(
        &self,
        identity: TableIdentity,
        path: DatasetPath,
        steps: Vec<PlannedStep>,
    ) -> Effect {
        Effect {
            target: EffectTarget { identity, path, physical_ref: PhysicalRef::Main },
            pre: PreState::Absent,
            kind: EffectKind::CreateDataset,
            post: PostState::Exact(last_pin(&steps)),
            steps,
            compensation: Compensation::DeleteDataset,
            content: ContentId::mint(self.context.env),
        }
    }
}

/// What the last of an effect's steps, of which there is one at least, leaves.
fn last_pin(steps: &[PlannedStep]) -> Pin {
    steps[steps.len() - 1].pin()
}
