//! From classified rows to a complete plan: one effect for each table that changes, its staged
//! files, and the delta and lineage of the one graph commit. It judges no row.

use std::sync::Arc;

use futures::future::try_join_all;
use graphwrite_protocol_types::{
    CommitId, Compensation, ContentId, DatasetPath, Effect, EffectKind, EffectTarget, HeadChange,
    LineageIntent, LiveHead, ManifestDelta, NextHead, Parents, PhysicalRef, Pin, PinSlot,
    PlannedStep, PostState, PreState, Prepared, PreparedWrite, ReadSet, RecoveryPlan,
    RefIdentifier, TxUuid, WriterKind,
};
use graphwrite_substrate::{
    BatchStream, StagedCommit, TableHandle, stage_append, stage_create, stage_upsert,
};
use tracing::debug;

use super::classify::{Changes, RowClass, changed_batches};
use super::payload::{StagedEffect, StagedPayload};
use super::{LoadError, LoadMode, PrepareContext, request_digest, summaries};
use crate::input::{LoadInput, TableInput};
use crate::probe::BaseTables;

pub(super) struct Plan<'a> {
    pub(super) context: &'a PrepareContext<'a>,
    pub(super) mode: LoadMode,
    pub(super) input: &'a LoadInput,
    pub(super) changes: &'a [Changes],
}

/// One effect with its staged files, and what it makes of the table's head.
struct Planned {
    effect: Effect,
    next: NextHead,
    staged: StagedEffect,
}

impl Plan<'_> {
    /// Stages all tables at once. Effects, heads and payload are in identity order, and only the
    /// tables that change have any.
    pub(super) async fn stage(
        &self,
        tables: &BaseTables<'_>,
        read_set: ReadSet,
    ) -> Result<Prepared<StagedPayload>, LoadError> {
        let rows = self.input.tables.iter().zip(self.changes);
        let changed = (0u32..).zip(rows.filter(|(_, changes)| changes.any()));
        let planned = changed.map(|(index, (table, changes))| {
            Box::pin(self.plan_table(index, table, changes, tables))
        });
        let planned = Box::pin(try_join_all(planned)).await?;
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
        debug!(attempt = %self.context.attempt, effects = payload.effects(), rows = payload.rows(), "staged a load");
        Ok(Prepared::new(write, payload)?)
    }

    /// The plan without effects.
    fn write(&self, read_set: ReadSet) -> PreparedWrite {
        let context = self.context;
        PreparedWrite {
            operation: context.operation.clone(),
            attempt: context.attempt,
            request: request_digest(self.mode, self.input),
            writer: WriterKind::Load,
            base: context.base.clone(),
            read_set,
            effects: Vec::new(),
            delta: ManifestDelta::default(),
            lineage: LineageIntent {
                commit: CommitId::mint(context.env),
                parents: self.parents(),
                actor: context.actor.to_owned(),
                message: context.message.map(str::to_owned),
                tables: summaries(self.input, self.changes),
            },
            recovery: RecoveryPlan::for_kinds([]),
        }
    }

    /// With an expected head the parent is that head; without one nothing depends on parentage.
    fn parents(&self) -> Parents {
        match self.context.expected_head {
            Some(head) => Parents::Exact(head.0.into_iter().collect()),
            None => Parents::HeadAtPublish,
        }
    }

    async fn plan_table(
        &self,
        index: u32,
        input: &TableInput,
        changes: &Changes,
        tables: &BaseTables<'_>,
    ) -> Result<Planned, LoadError> {
        let uuid = TxUuid::effect(self.context.attempt, index, 0);
        let batches = changed_batches(input, changes)?;
        let rows = BatchStream::of(Arc::clone(&input.schema), batches);
        let live = self.context.base.head(input.identity).live().zip(tables.get(input.identity));
        match live {
            Some((head, table)) => {
                let is_append = changes.count(RowClass::Update) == 0;
                let staged = stage_rows(input, table, is_append, rows, uuid.clone()).await?;
                Ok(self.existing(head, table, uuid, staged))
            }
            None => self.first_load(input, uuid, rows).await,
        }
    }

    fn existing(
        &self,
        head: &LiveHead,
        table: &TableHandle,
        uuid: TxUuid,
        staged: StagedCommit,
    ) -> Planned {
        let step = PlannedStep { read_version: head.pin.version, tx_uuid: uuid };
        let content = ContentId::mint(self.context.env);
        let post = step.pin();
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
            kind: EffectKind::Staged,
            steps: vec![step],
            post: PostState::Exact(post),
            compensation: Compensation::Restore,
            content,
        };
        Planned { effect, next, staged: StagedEffect::over(table.clone(), staged) }
    }

    /// The first rows of a table: its dataset is created with them, in one commit.
    async fn first_load(
        &self,
        input: &TableInput,
        uuid: TxUuid,
        rows: BatchStream,
    ) -> Result<Planned, LoadError> {
        let path = DatasetPath::of_first_load(input.identity, self.context.attempt);
        let created = stage_create(self.context.store, path.as_str(), rows, uuid.clone());
        let staged = Box::pin(created).await?;
        let step = PlannedStep { read_version: 0, tx_uuid: uuid };
        let effect = self.creation(input, path.clone(), step);
        let next = NextHead::Live {
            path: path.clone(),
            physical_ref: PhysicalRef::Main,
            ref_identifier: RefIdentifier::Main(self.context.domain),
            pin: PinSlot::Exact(first_pin(&effect)),
            content: effect.content,
            table_schema: self.context.base.schema.0,
        };
        Ok(Planned { effect, next, staged: StagedEffect::create(path, staged) })
    }

    fn creation(&self, input: &TableInput, path: DatasetPath, step: PlannedStep) -> Effect {
        Effect {
            target: EffectTarget {
                identity: input.identity,
                path,
                physical_ref: PhysicalRef::Main,
            },
            pre: PreState::Absent,
            kind: EffectKind::CreateDataset,
            post: PostState::Exact(step.pin()),
            steps: vec![step],
            compensation: Compensation::DeleteDataset,
            content: ContentId::mint(self.context.env),
        }
    }
}

fn first_pin(effect: &Effect) -> Pin {
    Pin { version: effect.first_version(), tx_uuid: effect.steps[0].tx_uuid.clone() }
}

/// Rows whose keys are all new are appended: the keys were probed on the version that the commit is
/// staged over, and a strict commit lands on no other (K1).
async fn stage_rows(
    input: &TableInput,
    table: &TableHandle,
    is_append: bool,
    rows: BatchStream,
    uuid: TxUuid,
) -> Result<StagedCommit, LoadError> {
    let staged = if is_append {
        Box::pin(stage_append(table, rows, uuid)).await?
    } else {
        Box::pin(stage_upsert(table, &[input.key_column.as_str()], rows, uuid)).await?
    };
    Ok(staged)
}
