//! Intents of every kind over tables with fixed ids.

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_protocol_types::*;

use crate::*;

pub(crate) const KINDS: [EffectKind; 6] = [
    EffectKind::Staged,
    EffectKind::Chain,
    EffectKind::CreateDataset,
    EffectKind::CreateRef,
    EffectKind::Pointer,
    EffectKind::Inline,
];

/// The version of every existing ref before the attempt.
pub(crate) const PRE: u64 = 3;

pub(crate) fn attempt() -> AttemptId {
    AttemptId::from_u128(0xa1)
}

pub(crate) fn table(number: u64) -> TableIdentity {
    TableIdentity {
        table: StableTableId::new(number).expect("not zero"),
        incarnation: IncarnationId::new(number + 100).expect("not zero"),
    }
}

pub(crate) fn tx(text: &str) -> TxUuid {
    TxUuid::observed(text)
}

pub(crate) fn pin(version: u64, text: &str) -> Pin {
    Pin { version, tx_uuid: tx(text) }
}

/// The transaction that made version `version` of table `number` before the attempt.
pub(crate) fn old_tx(number: u64, version: u64) -> TxUuid {
    tx(&format!("t{number}v{version}"))
}

pub(crate) fn pre_pin(number: u64) -> Pin {
    Pin { version: PRE, tx_uuid: old_tx(number, PRE) }
}

pub(crate) fn old_path(number: u64) -> DatasetPath {
    DatasetPath::of_first_load(table(number), AttemptId::from_u128(0xf1))
}

pub(crate) fn domain() -> IdentityDomain {
    IdentityDomain::from_u128(0xd0)
}

pub(crate) fn schema() -> SchemaHash {
    SchemaHash([7; 32])
}

pub(crate) fn live_at(
    path: DatasetPath,
    physical_ref: PhysicalRef,
    number: u64,
    pin: Pin,
) -> LiveHead {
    LiveHead {
        identity: table(number),
        path,
        physical_ref,
        ref_identifier: RefIdentifier::Main(domain()),
        pin,
        e_tag: None,
        content: ContentId::from_u128(u128::from(number)),
        table_schema: schema(),
    }
}

pub(crate) fn live(number: u64, pin: Pin) -> TableHeadToken {
    TableHeadToken::Live(Box::new(live_at(old_path(number), PhysicalRef::Main, number, pin)))
}

pub(crate) fn view(heads: BTreeMap<TableIdentity, TableHeadToken>) -> BaseView {
    BaseView {
        branch: BranchToken::main(domain()),
        manifest: pin(12, "m12"),
        schema: SchemaToken(schema()),
        heads,
        graph_head: GraphHeadToken(None),
    }
}

/// The head of table `number` before an effect of `kind` on it.
pub(crate) fn head_before(kind: EffectKind, number: u64) -> TableHeadToken {
    match kind {
        EffectKind::CreateDataset => TableHeadToken::Absent,
        _ => live(number, pre_pin(number)),
    }
}

fn steps(attempt: AttemptId, index: u32, first: u64, count: u32) -> Vec<PlannedStep> {
    let step = |step| PlannedStep {
        read_version: first - 1 + u64::from(step),
        tx_uuid: TxUuid::effect(attempt, index, step),
    };
    (0..count).map(step).collect()
}

/// An effect of `kind` on table `index + 1`.
pub(crate) fn effect(attempt: AttemptId, index: u32, kind: EffectKind) -> Effect {
    effect_on(attempt, index, kind, u64::from(index) + 1)
}

fn effect_on(attempt: AttemptId, index: u32, kind: EffectKind, number: u64) -> Effect {
    let main =
        |path| EffectTarget { identity: table(number), path, physical_ref: PhysicalRef::Main };
    let existing = main(old_path(number));
    let at = PreState::At(pre_pin(number));
    let (target, pre, first, count, compensation) = match kind {
        EffectKind::Staged => (existing, at, PRE + 1, 1, Compensation::Restore),
        EffectKind::Chain | EffectKind::Inline => (existing, at, PRE + 1, 2, Compensation::Restore),
        EffectKind::CreateDataset => {
            let path = DatasetPath::of_first_load(table(number), attempt);
            (main(path), PreState::Absent, 1, 2, Compensation::DeleteDataset)
        }
        EffectKind::CreateRef => {
            let physical_ref = PhysicalRef::Named(format!("t-{attempt}"));
            let target = EffectTarget { physical_ref, ..existing };
            (target, PreState::Absent, PRE + 1, 1, Compensation::DeleteRef)
        }
        EffectKind::Pointer => {
            (existing, at, 1, 0, Compensation::None { reason: "moves nothing".into() })
        }
    };
    let steps = steps(attempt, index, first, count);
    let post = match kind {
        EffectKind::Pointer => PostState::Unmoved,
        EffectKind::Inline => PostState::Range { first, last: first + 1 },
        _ => PostState::Exact(steps[steps.len() - 1].pin()),
    };
    let content = ContentId::from_u128(1000 + u128::from(number));
    Effect { target, pre, kind, steps, post, compensation, content }
}

fn head_change(index: u32, effect: &Effect) -> HeadChange {
    let identity = effect.target.identity;
    let pin = match effect.kind {
        EffectKind::Pointer => return HeadChange { identity, next: NextHead::Tombstoned },
        EffectKind::Inline => PinSlot::Output { effect: index },
        _ => PinSlot::Exact(effect.exact_post().expect("exact").clone()),
    };
    let next = NextHead::Live {
        path: effect.target.path.clone(),
        physical_ref: effect.target.physical_ref.clone(),
        ref_identifier: RefIdentifier::Main(domain()),
        pin,
        content: effect.content,
        table_schema: schema(),
    };
    HeadChange { identity, next }
}

pub(crate) fn owner_record() -> OwnerRecord {
    OwnerRecord {
        instance: ProcessInstanceId::from_u128(0x11),
        pid: 4711,
        pid_namespace: Some("pid:[1]".into()),
        boot_id: Some("boot-1".into()),
        process_start_ticks: Some(100),
        host: "host-1".into(),
    }
}

/// An intent of `attempt` with one effect of each kind, on tables 1, 2, 3.. in that order.
pub(crate) fn intent_of(attempt: AttemptId, kinds: &[EffectKind], base: &BaseView) -> Intent {
    let targets: Vec<_> = kinds.iter().copied().zip(1..).collect();
    intent_on(attempt, &targets, base)
}

/// An intent of `attempt` with an effect of each kind on the table of that number.
pub(crate) fn intent_on(
    attempt: AttemptId,
    targets: &[(EffectKind, u64)],
    base: &BaseView,
) -> Intent {
    let effects: Vec<Effect> = (0..)
        .zip(targets)
        .map(|(index, (kind, number))| effect_on(attempt, index, *kind, *number))
        .collect();
    let mut read_set = ReadSet::new(base);
    for effect in &effects {
        read_set.add_table(base, effect.target.identity, Access::Written);
    }
    let heads = (0..).zip(&effects).map(|(index, effect)| head_change(index, effect)).collect();
    Intent {
        attempt,
        operation: "request-1".parse().expect("a valid key"),
        request: RequestDigest([1; 32]),
        writer: WriterKind::Load,
        branch: base.branch.clone(),
        manifest: base.manifest.clone(),
        read_set,
        effects,
        delta: ManifestDelta { heads, schema: None },
        lineage: LineageIntent {
            commit: CommitId::from_u128(0xc1),
            parents: Parents::HeadAtPublish,
            actor: "tester".into(),
            message: None,
            tables: Vec::new(),
        },
        recovery: RecoveryPlan::for_kinds(targets.iter().map(|(kind, _)| *kind)),
        owner: owner_record(),
        armed_at_unix_us: 17,
    }
}

pub(crate) fn base_of(kinds: &[EffectKind]) -> BaseView {
    let heads = (1..).zip(kinds).map(|(number, kind)| (table(number), head_before(*kind, number)));
    view(heads.collect())
}

pub(crate) fn intent(kinds: &[EffectKind]) -> Intent {
    intent_of(attempt(), kinds, &base_of(kinds))
}

/// A process on another machine that knows nothing of anybody.
#[derive(Debug, Default)]
pub(crate) struct Elsewhere {
    pub(crate) live: BTreeSet<AttemptId>,
}

impl LocalProcess for Elsewhere {
    fn instance(&self) -> ProcessInstanceId {
        ProcessInstanceId::from_u128(0x99)
    }

    fn boot_id(&self) -> Option<&str> {
        Some("boot-9")
    }

    fn pid_namespace(&self) -> Option<&str> {
        Some("pid:[9]")
    }

    fn pid_state(&self, _: u32) -> PidState {
        PidState::Unknown
    }

    fn is_live(&self, attempt: AttemptId) -> bool {
        self.live.contains(&attempt)
    }
}

pub(crate) fn dead() -> Owner {
    Owner::Dead { proof: DeathProof::PidGone }
}

pub(crate) fn full() -> RecoveryMode {
    RecoveryMode::Full(Full::granted())
}
