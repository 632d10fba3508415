//! Bytes of the rows: golden values, and decoding that is total.

use std::fmt::Write as _;

use graphwrite_protocol_types::*;
use proptest::prelude::*;

use super::world::{attempt, operation, pin, schema_of, table};
use crate::batch::{batch_of, rows_of};
use crate::outcome_row::{OUTCOME_VERSION_2, OUTCOME_VERSION_3, OutcomeKind, OutcomeRow};
use crate::reach_row::ReachRow;
use crate::rows::*;

fn commit_row() -> CommitRow {
    CommitRow {
        commit: CommitId::from_u128(0x11),
        manifest_version: 300,
        parents: vec![CommitId::from_u128(0x22)],
        attempt: attempt(0x33),
        operation: operation("nightly-import"),
        writer: WriterKind::Load,
        actor: "ana".to_owned(),
        message: Some("first rows".to_owned()),
        tables: vec![TableSummary {
            identity: table(1),
            name: "Person".to_owned(),
            inserted: 1,
            updated: 2,
            deleted: 3,
            unchanged: 400,
        }],
        recorded_at_unix_us: 1_795_000_000_000_000,
        position: position(),
    }
}

fn position() -> Position {
    Position { line: NativeBranch::main(), generation: 7, forks: 0, merges: 3 }
}

fn tip(line: NativeBranch, version: u64) -> Tip {
    Tip { line, version, commit: CommitId::from_u128(u128::from(version)), generation: 6 }
}

fn reach_row(key: ReachKey) -> ReachRow {
    let branch = NativeBranch::of_incarnation("topic", attempt(0x66));
    let tips = vec![tip(NativeBranch::main(), 290), tip(branch, 300)];
    ReachRow { key, commit: CommitId::from_u128(0x11), manifest_version: 300, tips }
}

fn outcome_row(kind: OutcomeKind) -> OutcomeRow {
    OutcomeRow {
        attempt: attempt(0x33),
        operation: operation("nightly-import"),
        request: Some(RequestDigest([0xab; 32])),
        branch_record: 0,
        manifest_version: 300,
        kind,
        recorded_at_unix_us: 1_795_000_000_000_000,
    }
}

fn live_head() -> TableHeadToken {
    let identity = table(1);
    TableHeadToken::Live(Box::new(LiveHead {
        identity,
        path: DatasetPath::of_first_load(identity, attempt(0x33)),
        physical_ref: PhysicalRef::Main,
        ref_identifier: RefIdentifier::Main(IdentityDomain::from_u128(7)),
        pin: pin(attempt(0x33), 2),
        e_tag: Some("0123".to_owned()),
        content: ContentId::from_u128(0x44),
        table_schema: SchemaHash([0xcd; 32]),
    }))
}

/// One row of every kind and form.
fn samples() -> Vec<(&'static str, Row)> {
    let schema = schema_of(&[table(1)]);
    let schema = SchemaRow { hash: schema.hash, canonical: schema.canonical };
    let head = |head| RowBody::TableHead(TableHeadRow { identity: table(1), head });
    let outcome = |kind| RowBody::Outcome(outcome_row(kind));
    let by = ProcessInstanceId::from_u128(0x55);
    let committed = OutcomeKind::Committed { commit: CommitId::from_u128(0x11) };
    let aborted = OutcomeKind::Aborted { by, reason: "its owner died".to_owned() };
    let sealed = OutcomeRow {
        request: None,
        ..outcome_row(OutcomeKind::Sealed { by, reason: "sent again elsewhere".to_owned() })
    };
    let forward = OutcomeKind::RolledForward { commit: CommitId::from_u128(0x11), by };
    let native = NativeBranch::of_incarnation("feature", attempt(0x66));
    let identifier = RefIdentifier::Main(IdentityDomain::from_u128(7)).forked(4, attempt(0x66));
    let branch = BranchToken { name: "feature".to_owned(), record: 3, native, identifier };
    let discarded = OutcomeKind::Discarded { by, branch: Box::new(branch) };
    let at_300 = |body| Row { version: 300, body };
    vec![
        ("schema", at_300(RowBody::Schema(schema))),
        ("graph_head_none", at_300(RowBody::GraphHead(GraphHeadRow { head: None }))),
        (
            "graph_head",
            at_300(RowBody::GraphHead(GraphHeadRow {
                head: Some(HeadCommit { commit: CommitId::from_u128(0x11), position: position() }),
            })),
        ),
        ("table_head_absent", at_300(head(TableHeadToken::Absent))),
        ("table_head_tombstoned", at_300(head(TableHeadToken::Tombstoned))),
        ("table_head_live", at_300(head(live_head()))),
        ("commit", at_300(RowBody::Commit(commit_row()))),
        ("outcome_committed", at_300(outcome(committed))),
        ("outcome_aborted", at_300(outcome(aborted))),
        ("outcome_rolled_back", at_300(outcome(OutcomeKind::RolledBack))),
        ("outcome_sealed", at_300(RowBody::Outcome(sealed))),
        ("outcome_rolled_forward", at_300(outcome(forward))),
        ("reach_fork", at_300(RowBody::Reach(reach_row(ReachKey::Fork(2))))),
        ("reach_merge", at_300(RowBody::Reach(reach_row(ReachKey::Merge(3))))),
        ("outcome_discarded", at_300(outcome(discarded))),
    ]
}

fn hex(raw: &RawRow) -> String {
    let mut text = format!(
        "kind: {}\nkey: {:?}\noperation: {:?}\nversion: {}\nbody:\n",
        raw.kind, raw.key, raw.operation, raw.version
    );
    for line in raw.body.chunks(32) {
        line.iter().for_each(|byte| write!(text, "{byte:02x}").unwrap());
        text.push('\n');
    }
    text
}

#[test]
fn the_bytes_of_every_kind_of_row_are_the_documented_ones() {
    for (name, row) in samples() {
        insta::assert_snapshot!(name, hex(&row.encode().unwrap()));
    }
}

#[test]
fn every_kind_of_row_reads_back_as_written() {
    let rows: Vec<Row> = samples().into_iter().map(|(_, row)| row).collect();
    let batch = batch_of(&rows).unwrap();
    assert_eq!(rows_of(&[batch]).unwrap(), rows);
}

#[test]
fn another_row_version_is_refused_by_name() {
    let mut raw = samples()[0].1.encode().unwrap();
    raw.body[0] = ROW_VERSION as u8 + 1;
    let refused = RowError::Version { kind: SCHEMA.into(), key: String::new(), found: 2 };
    assert_eq!(Row::decode(&raw), Err(refused));
}

#[test]
fn an_outcome_has_one_form_and_a_form_that_its_kind_contradicts_is_refused() {
    let (mut refused, mut unknown) = (0, 0);
    for (_, row) in samples() {
        let raw = row.encode().unwrap();
        let RowBody::Outcome(outcome) = row.body else { continue };
        for version in 0..=4u16 {
            let bytes = [&[version as u8], &raw.body[1..]].concat();
            let other = RawRow { body: bytes, ..raw.clone() };
            let reads_as = Row::decode(&other);
            match version {
                _ if other.body == raw.body => {
                    assert_eq!(reads_as.unwrap().body, RowBody::Outcome(outcome.clone()));
                }
                ROW_VERSION | OUTCOME_VERSION_2 | OUTCOME_VERSION_3 => {
                    assert!(matches!(reads_as, Err(RowError::Body { .. })), "{reads_as:?}");
                    refused += 1;
                }
                _ => {
                    assert!(matches!(reads_as, Err(RowError::Version { .. })), "{reads_as:?}");
                    unknown += 1;
                }
            }
        }
        // A seal with a digest, and an outcome without one where one is due, are neither.
        if raw.body[0] >= OUTCOME_VERSION_2 as u8 {
            let request = match outcome.request {
                Some(_) => None,
                None => Some(RequestDigest([0xab; 32])),
            };
            let odd = OutcomeRow { request, ..outcome };
            let odd = Row { version: 300, body: RowBody::Outcome(odd) }.encode().unwrap();
            assert!(matches!(Row::decode(&odd), Err(RowError::Body { .. })));
        }
    }
    assert_eq!((refused, unknown), (12, 12));
}

#[test]
fn a_row_found_by_a_column_that_its_body_contradicts_is_refused() {
    for (_, row) in samples() {
        let raw = row.encode().unwrap();
        let key = RawRow { key: "other".to_owned(), ..raw.clone() };
        let operation = RawRow { operation: Some("other".to_owned()), ..raw.clone() };
        assert!(matches!(Row::decode(&key), Err(RowError::Columns { .. })));
        assert!(matches!(Row::decode(&operation), Err(RowError::Columns { .. })));
        let version = RawRow { version: 301, ..raw };
        let carries_one =
            matches!(row.body, RowBody::Commit(_) | RowBody::Outcome(_) | RowBody::Reach(_));
        assert_eq!(Row::decode(&version).is_err(), carries_one);
    }
}

#[test]
fn trailing_bytes_and_missing_bytes_are_refused() {
    for (_, row) in samples() {
        let raw = row.encode().unwrap();
        let longer = RawRow { body: [&raw.body[..], &[0]].concat(), ..raw.clone() };
        assert!(matches!(Row::decode(&longer), Err(RowError::Body { .. })));
        for length in 0..raw.body.len() {
            let cut = RawRow { body: raw.body[..length].to_vec(), ..raw.clone() };
            assert!(Row::decode(&cut).is_err(), "{length} bytes of {}", raw.kind);
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_give_a_row_or_a_typed_error(
        kind in prop_oneof![
            Just(SCHEMA), Just(GRAPH_HEAD), Just(TABLE_HEAD), Just(COMMIT), Just(OUTCOME), Just(REACH),
            Just("x"),
        ],
        key in ".{0,8}",
        operation in proptest::option::of(".{0,8}"),
        mut body in proptest::collection::vec(any::<u8>(), 0..256),
        known in 0..4u16,
    ) {
        if let (ROW_VERSION..=OUTCOME_VERSION_3, Some(first)) = (known, body.first_mut()) {
            *first = known as u8;
        }
        let raw = RawRow { kind: kind.to_owned(), key, operation, version: 3, body };
        if let Ok(row) = Row::decode(&raw) {
            prop_assert_eq!(row.body.kind(), kind);
        }
    }

    #[test]
    fn a_changed_byte_gives_a_row_or_a_typed_error(
        sample in 0..15usize, at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut raw = samples()[sample].1.encode().unwrap();
        let at = at.index(raw.body.len());
        raw.body[at] = byte;
        let _ = Row::decode(&raw);
    }
}
