//! A hand-made intent with every kind of member, head and effect that a record can show.

use std::collections::BTreeMap;

use graphwrite_protocol_types::{
    Access, BaseView, Compensation, Confirmation, ContentId, DatasetPath, Effect, EffectKind,
    EffectTarget, GraphHeadToken, HeadChange, Intent, LineageIntent, LiveHead, ManifestDelta,
    NextHead, Parents, PhysicalRef, Pin, PinSlot, PlannedStep, PostState, PreState, ReadSet,
    RecoveryPlan, RefIdentifier, RequestDigest, SchemaHash, SchemaToken, TableHeadToken,
    TableIdentity, TxUuid, WriterKind,
};

use super::samples;

const PERSON: u64 = 1;
const KNOWS: u64 = 2;
const CITY: u64 = 3;
const SCHEMA: SchemaHash = SchemaHash([0xab; 32]);

fn path(n: u64) -> DatasetPath {
    DatasetPath::of_first_load(samples::identity(n), samples::attempt(0))
}

fn content() -> ContentId {
    ContentId::from_u128(7)
}

fn captured(n: u64) -> TableHeadToken {
    TableHeadToken::Live(Box::new(LiveHead {
        identity: samples::identity(n),
        path: path(n),
        physical_ref: PhysicalRef::Main,
        ref_identifier: RefIdentifier::Main(samples::domain()),
        pin: pre(),
        e_tag: None,
        content: content(),
        table_schema: SCHEMA,
    }))
}

fn pre() -> Pin {
    Pin { version: 4, tx_uuid: TxUuid::effect(samples::attempt(0), 0, 0) }
}

fn base() -> BaseView {
    let heads: BTreeMap<TableIdentity, TableHeadToken> = [
        (samples::identity(PERSON), captured(PERSON)),
        (samples::identity(KNOWS), TableHeadToken::Absent),
    ]
    .into();
    BaseView {
        branch: samples::branch(),
        manifest: Pin { version: 2, tx_uuid: TxUuid::authority(samples::attempt(0), 1) },
        schema: SchemaToken(SCHEMA),
        heads,
        graph_head: GraphHeadToken(Some(samples::commit(0))),
    }
}

fn read_set() -> ReadSet {
    let base = base();
    let mut read_set = ReadSet::new(&base);
    read_set.add_table(&base, samples::identity(PERSON), Access::Probed);
    read_set.add_table(&base, samples::identity(KNOWS), Access::Written);
    // Not in the base, as a table that was dropped.
    read_set.add_table(&base, samples::identity(CITY), Access::Probed);
    read_set
}

fn effect() -> Effect {
    let tx_uuid = TxUuid::effect(samples::attempt(1), 0, 0);
    Effect {
        target: EffectTarget {
            identity: samples::identity(KNOWS),
            path: path(KNOWS),
            physical_ref: PhysicalRef::Main,
        },
        pre: PreState::Absent,
        kind: EffectKind::CreateDataset,
        steps: vec![PlannedStep { read_version: 0, tx_uuid: tx_uuid.clone() }],
        post: PostState::Exact(Pin { version: 1, tx_uuid }),
        compensation: Compensation::DeleteDataset,
        content: content(),
    }
}

fn live(n: u64, pin: PinSlot) -> HeadChange {
    HeadChange {
        identity: samples::identity(n),
        next: NextHead::Live {
            path: path(n),
            physical_ref: PhysicalRef::Main,
            ref_identifier: RefIdentifier::Main(samples::domain()),
            pin,
            content: content(),
            table_schema: SCHEMA,
        },
    }
}

fn heads() -> Vec<HeadChange> {
    let exact = Pin { version: 1, tx_uuid: TxUuid::effect(samples::attempt(1), 0, 0) };
    vec![
        live(PERSON, PinSlot::Output { effect: 1 }),
        live(KNOWS, PinSlot::Exact(exact)),
        HeadChange { identity: samples::identity(CITY), next: NextHead::Tombstoned },
    ]
}

pub(super) fn intent() -> Intent {
    let receipt = samples::receipt();
    Intent {
        attempt: samples::attempt(1),
        operation: receipt.operation,
        request: RequestDigest([0x0c; 32]),
        writer: WriterKind::Load,
        branch: samples::branch(),
        manifest: base().manifest,
        read_set: read_set(),
        effects: vec![effect()],
        delta: ManifestDelta { heads: heads(), schema: None },
        lineage: LineageIntent {
            commit: samples::commit(1),
            parents: Parents::HeadAtPublish,
            actor: "ada".into(),
            message: Some("first\tload\u{1b}[31m\nsecond line".into()),
            tables: receipt.tables,
        },
        recovery: RecoveryPlan { confirmation: Confirmation::NotNeeded },
        owner: samples::owner(),
        armed_at_unix_us: 1_796_018_400_123_456,
    }
}
