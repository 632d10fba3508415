//! Pure rules: what is compared, what overlaps, what a binary may open.

use super::fixture::{base, intent, live, pin, table};
use crate::*;

fn read_set() -> ReadSet {
    super::fixture::write().read_set
}

#[test]
fn an_unchanged_authority_holds() {
    assert_eq!(read_set().check(&base()), Ok(()));
}

#[test]
fn a_head_moved_by_a_disjoint_commit_holds_at_table_grain() {
    let mut fresh = base();
    fresh.graph_head = GraphHeadToken(Some(CommitId::from_u128(0xc9)));
    assert_eq!(read_set().check(&fresh), Ok(()));
}

#[test]
fn a_moved_head_is_stale_at_coarse_grain_absence_included() {
    let mut coarse = read_set();
    coarse.add_graph_head(GraphHeadToken(None));
    let stale = coarse.check(&base());
    let actual = base().graph_head;
    assert_eq!(stale, Err(Stale::GraphHead { expected: GraphHeadToken(None), actual }));
}

#[test]
fn a_written_table_compares_its_whole_head() {
    let stale = Err(Stale::Table { identity: table(1), access: Access::Written });
    let variants = [
        live(1, pin(5, "t1v4"), 1),
        live(1, pin(4, "other"), 1),
        live(1, pin(4, "t1v4"), 2),
        TableHeadToken::Absent,
        TableHeadToken::Tombstoned,
    ];
    for head in variants {
        let mut fresh = base();
        fresh.heads.insert(table(1), head);
        assert_eq!(read_set().check(&fresh), stale);
    }
}

#[test]
fn a_probed_table_may_be_fenced_or_compacted_but_not_changed() {
    let mut fresh = base();
    fresh.heads.insert(table(3), live(3, pin(10, "fence"), 3));
    assert_eq!(read_set().check(&fresh), Ok(()));
    fresh.heads.insert(table(3), live(3, pin(9, "t3v9"), 4));
    let stale = Err(Stale::Table { identity: table(3), access: Access::Probed });
    assert_eq!(read_set().check(&fresh), stale);
}

#[test]
fn a_table_that_was_found_absent_is_a_member() {
    let mut fresh = base();
    fresh.heads.insert(table(2), live(2, pin(1, "t2v1"), 2));
    let stale = Err(Stale::Table { identity: table(2), access: Access::Written });
    assert_eq!(read_set().check(&fresh), stale);
}

#[test]
fn another_incarnation_of_the_branch_is_stale() {
    let mut fresh = base();
    fresh.branch.record = 3;
    assert_eq!(read_set().check(&fresh), Err(Stale::Branch { name: "main".to_owned() }));
}

#[test]
fn another_schema_is_stale() {
    let mut fresh = base();
    fresh.schema = SchemaToken(SchemaHash([8; 32]));
    assert_eq!(read_set().check(&fresh), Err(Stale::Schema));
}

#[test]
fn two_requests_that_read_the_same_table_do_not_overlap() {
    let reader = |written: u64| Footprint {
        probed: [table(3)].into(),
        written: [table(written)].into(),
        schema: false,
    };
    assert!(!reader(1).overlaps(&reader(2)));
    assert!(reader(1).overlaps(&reader(1)));
    assert!(reader(1).overlaps(&reader(3)));
    assert!(reader(3).overlaps(&reader(1)));
}

#[test]
fn a_schema_change_overlaps_everything() {
    let schema = Footprint { schema: true, ..Footprint::default() };
    assert!(schema.overlaps(&Footprint::default()));
    assert!(intent().footprint().overlaps(&schema));
}

#[test]
fn an_intent_covers_what_it_probes_and_what_it_writes() {
    let footprint = intent().footprint();
    assert_eq!(footprint.written, [table(1), table(2)].into());
    assert_eq!(footprint.probed, [table(1), table(2), table(3)].into());
}

#[test]
fn a_stamp_admits_what_this_build_knows_and_names_what_it_does_not() {
    let stamp = FormatStamp::current();
    assert_eq!(stamp.admit(Purpose::Write), Ok(()));
    let newer_writer = FormatStamp { min_writer: FORMAT + 1, ..stamp.clone() };
    assert_eq!(newer_writer.admit(Purpose::Read), Ok(()));
    assert!(matches!(newer_writer.admit(Purpose::Write), Err(FormatRefused::TooNew { .. })));
    let newer_reader = FormatStamp { min_reader: FORMAT + 1, ..stamp.clone() };
    assert!(matches!(newer_reader.admit(Purpose::Read), Err(FormatRefused::TooNew { .. })));
    assert!(matches!(newer_reader.admit(Purpose::Write), Err(FormatRefused::TooNew { .. })));
    let featured = FormatStamp { features: vec!["streams".to_owned()], ..stamp };
    let unknown = FormatRefused::UnknownFeature { feature: "streams".to_owned() };
    assert_eq!(featured.admit(Purpose::Read), Err(unknown));
}
