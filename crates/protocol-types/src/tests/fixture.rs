//! A load of one existing and one new table, with fixed ids.

use std::collections::BTreeMap;

use crate::*;

pub(crate) fn domain() -> IdentityDomain {
    IdentityDomain::from_u128(0xd0)
}

pub(crate) fn attempt() -> AttemptId {
    AttemptId::from_u128(0xa1)
}

pub(crate) fn table(number: u64) -> TableIdentity {
    TableIdentity {
        table: StableTableId::new(number).expect("not zero"),
        incarnation: IncarnationId::new(number + 100).expect("not zero"),
    }
}

pub(crate) fn pin(version: u64, tx: &str) -> Pin {
    Pin { version, tx_uuid: TxUuid::observed(tx) }
}

pub(crate) fn live(number: u64, pin: Pin, content: u128) -> TableHeadToken {
    TableHeadToken::Live(Box::new(LiveHead {
        identity: table(number),
        path: DatasetPath::of_first_load(table(number), AttemptId::from_u128(0xf1)),
        physical_ref: PhysicalRef::Main,
        ref_identifier: RefIdentifier::Main(domain()),
        pin,
        e_tag: None,
        content: ContentId::from_u128(content),
        table_schema: SchemaHash([7; 32]),
    }))
}

/// Table 1 is live at version 4, table 2 was never loaded, table 3 is live and only probed.
pub(crate) fn base() -> BaseView {
    let heads = BTreeMap::from([
        (table(1), live(1, pin(4, "t1v4"), 1)),
        (table(2), TableHeadToken::Absent),
        (table(3), live(3, pin(9, "t3v9"), 3)),
    ]);
    BaseView {
        branch: BranchToken::main(domain()),
        manifest: pin(12, "m12"),
        schema: SchemaToken(SchemaHash([7; 32])),
        heads,
        graph_head: GraphHeadToken(Some(CommitId::from_u128(0xc0))),
    }
}

fn effect(number: u64, index: u32, pre: PreState, kind: EffectKind) -> Effect {
    let first = match &pre {
        PreState::Absent => 1,
        PreState::At(pin) => pin.version + 1,
    };
    let step =
        PlannedStep { read_version: first - 1, tx_uuid: TxUuid::effect(attempt(), index, 0) };
    let compensation = match pre {
        PreState::Absent => Compensation::DeleteDataset,
        PreState::At(_) => Compensation::Restore,
    };
    Effect {
        target: EffectTarget {
            identity: table(number),
            path: DatasetPath::of_first_load(table(number), attempt()),
            physical_ref: PhysicalRef::Main,
        },
        pre,
        kind,
        post: PostState::Exact(step.pin()),
        steps: vec![step],
        compensation,
        content: ContentId::from_u128(0xee + u128::from(index)),
    }
}

fn change(effect: &Effect) -> HeadChange {
    HeadChange {
        identity: effect.target.identity,
        next: NextHead::Live {
            path: effect.target.path.clone(),
            physical_ref: PhysicalRef::Main,
            ref_identifier: RefIdentifier::Main(domain()),
            pin: PinSlot::Exact(effect.steps[0].pin()),
            content: effect.content,
            table_schema: SchemaHash([7; 32]),
        },
    }
}

pub(crate) fn write() -> PreparedWrite {
    let base = base();
    let mut read_set = ReadSet::new(&base);
    read_set.add_table(&base, table(1), Access::Written);
    read_set.add_table(&base, table(2), Access::Written);
    read_set.add_table(&base, table(3), Access::Probed);
    let effects = vec![
        effect(1, 0, PreState::At(pin(4, "t1v4")), EffectKind::Staged),
        effect(2, 1, PreState::Absent, EffectKind::CreateDataset),
    ];
    let heads = effects.iter().map(change).collect();
    PreparedWrite {
        operation: "nightly-7".parse().expect("a valid key"),
        attempt: attempt(),
        request: RequestDigest([5; 32]),
        writer: WriterKind::Load,
        base,
        read_set,
        recovery: RecoveryPlan::for_kinds(effects.iter().map(|effect| effect.kind)),
        effects,
        delta: ManifestDelta { heads, schema: None },
        lineage: LineageIntent {
            commit: CommitId::from_u128(0xc1),
            parents: Parents::HeadAtPublish,
            actor: "ada".to_owned(),
            message: Some("night load".to_owned()),
            tables: vec![TableSummary {
                identity: table(1),
                name: "Person".to_owned(),
                inserted: 3,
                updated: 2,
                deleted: 0,
                unchanged: 1,
            }],
        },
    }
}

pub(crate) fn owner() -> OwnerRecord {
    OwnerRecord {
        instance: ProcessInstanceId::from_u128(0x11),
        pid: 4711,
        pid_namespace: Some("pid:[1]".to_owned()),
        boot_id: Some("boot".to_owned()),
        process_start_ticks: Some(99),
        host: "harbour".to_owned(),
    }
}

pub(crate) fn observed() -> Observed {
    let heads = BTreeMap::from([(table(1), Some(pin(4, "t1v4")))]);
    Observed { authority: base(), heads, pending: Vec::new() }
}

pub(crate) fn revalidated() -> Revalidated<(), ()> {
    let prepared = Prepared::new(write(), ()).expect("a consistent plan");
    prepared.gated(()).revalidate(&observed()).expect("nothing has changed")
}

pub(crate) fn intent() -> Intent {
    revalidated().intent(owner(), 1_700_000_000_000_000)
}
