//! From the codes of a scenario to the production's own values: views, plans and intents are built
//! as an adapter builds them, and what recovery decides about is nothing else.

use std::collections::BTreeMap;

use graphwrite_protocol_types::*;

use super::code::{Made, Pin as Code, TABLES, Tx, attempt_id, identity, maker_of};
use super::defect::Defect;
use super::scenario::{Kind, Scenario, Start, Touch};
use super::view::{Head, Plan, View};

const SCHEMA: SchemaHash = SchemaHash([7; 32]);

fn domain() -> IdentityDomain {
    IdentityDomain::from_u128(0xd0)
}

/// The attempt that loaded a table before the scenario.
fn loader() -> AttemptId {
    AttemptId::from_u128(0xf1)
}

/// A scenario with the production values of everything in it.
#[derive(Debug)]
pub(crate) struct Real<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) defect: Defect,
}

/// What an attempt's plan consists of.
struct Parts {
    base: BaseView,
    read_set: ReadSet,
    effects: Vec<Effect>,
    delta: ManifestDelta,
    lineage: LineageIntent,
}

impl Real<'_> {
    fn branch(&self, incarnation: usize) -> BranchToken {
        if !self.scenario.has_branch_control() {
            return BranchToken::main(domain());
        }
        let made_by = AttemptId::from_u128(0xb0 + incarnation as u128);
        BranchToken {
            name: "b".to_owned(),
            record: incarnation as u64 + 1,
            native: NativeBranch::of_incarnation("b", made_by),
            identifier: RefIdentifier::Native(vec![(1, format!("fork {incarnation}"))]),
        }
    }

    fn manifest() -> Pin {
        Pin { version: 12, tx_uuid: TxUuid::observed("m12") }
    }

    /// One consistent view of an incarnation's manifest.
    pub(crate) fn view(&self, incarnation: usize, view: &View) -> BaseView {
        let heads = (0..).zip(view).map(|(at, head)| (identity(at), self.head(at, *head)));
        BaseView {
            branch: self.branch(incarnation),
            manifest: Self::manifest(),
            schema: SchemaToken(SCHEMA),
            heads: heads.collect(),
            graph_head: GraphHeadToken(None),
        }
    }

    fn head(&self, at: u8, head: Head) -> TableHeadToken {
        let Head::Live { line, pin, content } = head else {
            return if head == Head::Absent {
                TableHeadToken::Absent
            } else {
                TableHeadToken::Tombstoned
            };
        };
        let (path, physical_ref) = self.place(at, line);
        TableHeadToken::Live(Box::new(LiveHead {
            identity: identity(at),
            path,
            physical_ref,
            ref_identifier: RefIdentifier::Main(domain()),
            pin: pin.real(),
            e_tag: None,
            content: ContentId::from_u128(u128::from(content)),
            table_schema: SCHEMA,
        }))
    }

    /// Where the ref `line` of table `at` is.
    fn place(&self, at: u8, line: u8) -> (DatasetPath, PhysicalRef) {
        let first = DatasetPath::of_first_load(identity(at), loader());
        let Some(attempt) = maker_of(line).map(attempt_id) else {
            return (first, PhysicalRef::Main);
        };
        if self.scenario.starts[usize::from(at)] == Start::Declared {
            (DatasetPath::of_first_load(identity(at), attempt), PhysicalRef::Main)
        } else {
            (first, PhysicalRef::Named(format!("t-{attempt}")))
        }
    }

    fn effect(&self, attempt: u8, index: u8, plan: &Plan, touch: Touch) -> Effect {
        let kind = self.scenario.kind_over(attempt, plan, touch);
        let line = kind.line(attempt, index);
        let (path, physical_ref) = self.place(touch.table, line);
        let over = plan.over[usize::from(touch.table)];
        let steps: Vec<PlannedStep> = (0..touch.steps)
            .map(|step| PlannedStep {
                read_version: u64::from(over.version + step),
                tx_uuid: Tx::of(attempt, index, Made::Step(step)).uuid(),
            })
            .collect();
        let last = steps.last().map(PlannedStep::pin);
        Effect {
            target: EffectTarget { identity: identity(touch.table), path, physical_ref },
            pre: pre_state(kind, over),
            kind: effect_kind(kind, touch),
            steps,
            post: last.map_or(PostState::Unmoved, PostState::Exact),
            compensation: compensation(kind),
            content: ContentId::from_u128(u128::from(attempt) + 1),
        }
    }

    fn parts(&self, attempt: u8, plan: &Plan) -> Parts {
        let base = self.view(self.scenario.incarnation(attempt), &plan.base);
        let request = self.scenario.request(attempt);
        let touches = || request.into_iter().flat_map(|request| &request.touches);
        let probes = request.into_iter().flat_map(|request| &request.probes);
        let mut read_set = ReadSet::new(&base);
        touches()
            .for_each(|touch| read_set.add_table(&base, identity(touch.table), Access::Written));
        if self.defect != Defect::TouchedTablesOnly {
            probes.for_each(|at| read_set.add_table(&base, identity(*at), Access::Probed));
        }
        let effects: Vec<Effect> = (0..)
            .zip(touches())
            .map(|(index, touch)| self.effect(attempt, index, plan, *touch))
            .collect();
        let delta = ManifestDelta { heads: effects.iter().map(change).collect(), schema: None };
        let lineage = LineageIntent {
            commit: CommitId::from_u128(0xc0 + u128::from(attempt)),
            parents: Parents::HeadAtPublish,
            actor: "model".to_owned(),
            message: None,
            tables: Vec::new(),
        };
        Parts { base, read_set, effects, delta, lineage }
    }

    fn operation(&self, attempt: u8) -> Option<OperationId> {
        let number = self.scenario.operation(attempt)?;
        format!("request-{number}").parse().ok()
    }

    /// The intent that the attempt arms.
    pub(crate) fn intent(&self, attempt: u8, plan: &Plan) -> Option<Intent> {
        let Parts { base, read_set, effects, delta, lineage } = self.parts(attempt, plan);
        let recovery = RecoveryPlan::for_kinds(effects.iter().map(|effect| effect.kind));
        Some(Intent {
            attempt: attempt_id(attempt),
            operation: self.operation(attempt)?,
            request: RequestDigest([1; 32]),
            writer: WriterKind::Mutation,
            branch: base.branch,
            manifest: base.manifest,
            read_set,
            effects,
            delta,
            lineage,
            recovery,
            owner: owner(),
            armed_at_unix_us: 1,
        })
    }

    /// Stage D through the production's own stages: whether the plan holds under `fresh`, when its
    /// targets have these HEADs. Without them, every HEAD counts as the pin.
    pub(crate) fn revalidates(
        &self,
        attempt: u8,
        plan: &Plan,
        fresh: &View,
        heads: Option<[Code; TABLES]>,
        pending: Option<u8>,
    ) -> bool {
        let Some(operation) = self.operation(attempt) else { return false };
        let Parts { base, read_set, effects, delta, lineage } = self.parts(attempt, plan);
        let recovery = RecoveryPlan::for_kinds(effects.iter().map(|effect| effect.kind));
        let heads: BTreeMap<TableIdentity, Option<Pin>> = (0..)
            .zip(heads.unwrap_or(plan.over))
            .map(|(at, head)| (identity(at), Some(head.real())))
            .collect();
        let write = PreparedWrite {
            operation,
            attempt: attempt_id(attempt),
            request: RequestDigest([1; 32]),
            writer: WriterKind::Mutation,
            base,
            read_set,
            effects,
            delta,
            lineage,
            recovery,
        };
        let authority = self.view(self.scenario.incarnation(attempt), fresh);
        let pending = pending.map(attempt_id).into_iter().collect();
        let observed = Observed { authority, heads, pending };
        Prepared::new(write, ())
            .is_ok_and(|prepared| prepared.gated(()).revalidate(&observed).is_ok())
    }
}

fn pre_state(kind: Kind, over: Code) -> PreState {
    match kind {
        Kind::Commits { .. } => PreState::At(over.real()),
        Kind::MakesRef { .. } | Kind::MakesDataset => PreState::Absent,
    }
}

fn effect_kind(kind: Kind, touch: Touch) -> EffectKind {
    match kind {
        Kind::Commits { .. } if touch.steps > 1 => EffectKind::Chain,
        Kind::Commits { .. } => EffectKind::Staged,
        Kind::MakesRef { .. } => EffectKind::CreateRef,
        Kind::MakesDataset => EffectKind::CreateDataset,
    }
}

fn compensation(kind: Kind) -> Compensation {
    match kind {
        Kind::Commits { .. } => Compensation::Restore,
        Kind::MakesRef { .. } => Compensation::DeleteRef,
        Kind::MakesDataset => Compensation::DeleteDataset,
    }
}

fn change(effect: &Effect) -> HeadChange {
    let pin = effect.exact_post().cloned();
    let pin = pin.map_or(PinSlot::Output { effect: 0 }, PinSlot::Exact);
    let next = NextHead::Live {
        path: effect.target.path.clone(),
        physical_ref: effect.target.physical_ref.clone(),
        ref_identifier: RefIdentifier::Main(domain()),
        pin,
        content: effect.content,
        table_schema: SCHEMA,
    };
    HeadChange { identity: effect.target.identity, next }
}

fn owner() -> OwnerRecord {
    OwnerRecord {
        instance: ProcessInstanceId::from_u128(0x11),
        pid: 4711,
        pid_namespace: None,
        boot_id: None,
        process_start_ticks: None,
        host: "model".to_owned(),
    }
}
