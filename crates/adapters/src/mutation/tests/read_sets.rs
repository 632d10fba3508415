//! What a prepared mutation depends on: every table that is asked is a member, rows or no rows.

use std::collections::BTreeMap;

use graphwrite_protocol_types::{Access, GraphHeadToken, TableHeadToken};

use super::writer::{mutate, prepare, prepare_on, read, read_within, world};
use crate::world::World;
use crate::{LimitExceeded, LoadLimits, PrepareError, WritePlan};

/// The members by name; absent ones are marked.
async fn members(world: &World, statements: &[&str]) -> BTreeMap<String, String> {
    let read_set = match prepare(world, statements).await.unwrap() {
        WritePlan::Write(write) => write.write().read_set.clone(),
        WritePlan::NoChange { read_set, .. } => read_set,
        other => panic!("{other:?}"),
    };
    let member = |(identity, member): (_, &graphwrite_protocol_types::TableMember)| {
        let access = if member.access == Access::Written { "written" } else { "probed" };
        let absent = if member.head == TableHeadToken::Absent { " absent" } else { "" };
        (world.name(identity), format!("{access}{absent}"))
    };
    read_set.tables().map(member).collect()
}

fn expected(members: &[(&str, &str)]) -> BTreeMap<String, String> {
    members.iter().map(|(name, access)| ((*name).to_owned(), (*access).to_owned())).collect()
}

#[tokio::test]
async fn a_cascade_depends_on_every_edge_table_at_the_node() {
    let world = World::with(&[r#"{"type":"Person","data":{"slug":"a"}}"#]).await;
    let found =
        members(&world, &[r#"{"delete":{"type":"Person","key":"a","cascade":true}}"#]).await;
    let edges =
        [("Knows", "probed absent"), ("Uses", "probed absent"), ("Visits", "probed absent")];
    assert_eq!(found, expected(&[&edges[..], &[("Person", "written")]].concat()));
}

#[tokio::test]
async fn a_restricted_delete_depends_on_every_edge_table_at_the_node() {
    let world = World::with(&[r#"{"type":"Person","data":{"slug":"a"}}"#]).await;
    let found = members(&world, &[r#"{"delete":{"type":"Person","key":"a"}}"#]).await;
    let edges =
        [("Knows", "probed absent"), ("Uses", "probed absent"), ("Visits", "probed absent")];
    assert_eq!(found, expected(&[&edges[..], &[("Person", "written")]].concat()));
}

#[tokio::test]
async fn a_delete_that_finds_nothing_depends_on_its_table() {
    let world = world().await;
    let found = members(&world, &[r#"{"delete":{"type":"Types","key":1}}"#]).await;
    assert_eq!(found, expected(&[("Types", "probed absent")]));
    let found = members(&world, &[r#"{"delete":{"type":"Person","where":"age > 99"}}"#]).await;
    assert_eq!(found, expected(&[("Person", "probed")]));
}

#[tokio::test]
async fn an_insert_into_an_absent_table_creates_it() {
    let world = World::new().await;
    let insert = r#"{"insert":{"type":"Place","data":{"slug":"q","city":"Q"}}}"#;
    let found = members(&world, &[insert]).await;
    assert_eq!(found, expected(&[("Place", "written absent")]));
    mutate(&world, &[insert]).await;
    assert_eq!(world.rows("Place").await.len(), 1);
}

#[tokio::test]
async fn an_expected_head_is_honoured_even_when_nothing_changes() {
    let world = world().await;
    let input = read(&world, &[r#"{"delete":{"type":"Person","key":"zz"}}"#]);
    let wrong = Some(GraphHeadToken(None));
    let plan = prepare_on(&world, &world.store, &input, wrong).await.unwrap();
    assert!(matches!(plan, WritePlan::Conflict(_)), "{plan:?}");
    let right = Some(world.base().await.graph_head);
    let plan = prepare_on(&world, &world.store, &input, right).await.unwrap();
    let WritePlan::NoChange { read_set, .. } = plan else { panic!("{plan:?}") };
    assert_eq!(read_set.graph_head(), right);
}

#[tokio::test]
async fn statements_of_another_schema_are_refused() {
    let world = World::new().await;
    let other = crate::testing::TestSchema::of(
        "[node.Person]\nkey = \"slug\"\n[node.Person.properties]\nslug = { type = \"string\" }\n",
    );
    let mut builder = crate::MutationBuilder::new(&other.schema);
    builder.push_json(r#"[{"delete":{"type":"Person","key":"a"}}]"#).unwrap();
    let input = builder.finish().unwrap();
    let refused = prepare_on(&world, &world.store, &input, None).await;
    assert!(matches!(refused, Err(PrepareError::SchemaMoved { .. })), "{refused:?}");
}

#[tokio::test]
async fn more_rows_than_the_limits_allow_are_refused_before_anything_is_staged() {
    let world = world().await;
    let limits = LoadLimits { rows_max: 2, ..LoadLimits::default() };
    let statement = r#"{"delete":{"type":"Person","key":"a","cascade":true}}"#;
    let input = read_within(&world, &[statement], limits);
    let refused = prepare_on(&world, &world.store, &input, None).await;
    let Err(PrepareError::Limit(limit)) = refused else { panic!("{refused:?}") };
    assert_eq!(limit, LimitExceeded::Rows { max: 2 });
}
