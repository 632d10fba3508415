//! Two writers prepared over one base: the later one sees it and starts again.

use graphwrite_protocol_types::{Access, NotValid, Stale};

use crate::load::LoadMode::{Append, Upsert};
use crate::world::{Came, World, committed, invalid};
use crate::*;

fn stale(found: Result<Vec<(String, u64, u64, u64)>, NotValid>) -> (Stale, bool) {
    match found {
        Err(NotValid::Stale(stale)) => {
            let written = matches!(stale, Stale::Table { access: Access::Written, .. });
            (stale, written)
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn two_first_loads_of_one_type_leave_one_dataset() {
    let world = World::new().await;
    let lines = [r#"{"type":"Person","data":{"slug":"a","age":1}}"#];
    let (one, two) = (world.planned(Upsert, &lines).await, world.planned(Upsert, &lines).await);
    let path = |write: &crate::world::Write| write.write().effects[0].target.path.clone();
    assert_ne!(path(&one), path(&two));
    assert_eq!(one.write().request, two.write().request);
    world.commit(one).await.unwrap();
    assert!(stale(world.commit(two).await).1);
    assert_eq!(world.rows("Person").await, lines);
}

#[tokio::test]
async fn the_loser_of_two_upserts_of_a_new_key_becomes_an_update() {
    let world = World::with(&[r#"{"type":"Person","data":{"slug":"a"}}"#]).await;
    let one = [r#"{"type":"Person","data":{"slug":"k","age":1}}"#];
    let two = [r#"{"type":"Person","data":{"slug":"k","age":2}}"#];
    let first = world.planned(Upsert, &one).await;
    let second = world.planned(Upsert, &two).await;
    world.commit(first).await.unwrap();
    assert!(stale(world.commit(second).await).1);
    assert_eq!(world.load(Upsert, &two).await, committed(&[("Person", 0, 1, 0)]));
    assert_eq!(world.rows("Person").await.len(), 2);
}

#[tokio::test]
async fn the_loser_of_two_strict_inserts_of_a_key_gets_a_key_conflict() {
    let world = World::with(&[r#"{"type":"Person","data":{"slug":"a"}}"#]).await;
    let lines = [r#"{"type":"Person","data":{"slug":"k"}}"#];
    let first = world.planned(Append, &lines).await;
    let second = world.planned(Append, &lines).await;
    world.commit(first).await.unwrap();
    assert!(stale(world.commit(second).await).1);
    assert!(matches!(world.load(Append, &lines).await, Came::Conflict(_)));
}

#[tokio::test]
async fn a_cardinality_counted_on_an_old_base_is_counted_again() {
    let world = World::with(&[
        r#"{"type":"Types","data":{"key":1}}"#,
        r#"{"type":"Place","data":{"slug":"p","city":"A"}}"#,
        r#"{"type":"Place","data":{"slug":"q","city":"B"}}"#,
    ])
    .await;
    let to_p = [r#"{"edge":"LiesIn","from":1,"to":"p"}"#];
    let to_q = [r#"{"edge":"LiesIn","from":1,"to":"q"}"#];
    let first = world.planned(Append, &to_p).await;
    let second = world.planned(Append, &to_q).await;
    world.commit(first).await.unwrap();
    assert!(stale(world.commit(second).await).1);
    let came = world.load(Append, &to_q).await;
    assert_eq!(came, invalid(&["line 1 LiesIn.from cardinality"]));
}

#[tokio::test]
async fn a_probed_table_that_changes_makes_the_plan_stale() {
    let world = World::with(&[r#"{"type":"Person","data":{"slug":"a"}}"#]).await;
    let edge = world.planned(Append, &[r#"{"edge":"Knows","from":"a","to":"a"}"#]).await;
    world.load(Append, &[r#"{"type":"Person","data":{"slug":"b"}}"#]).await;
    let (found, written) = stale(world.commit(edge).await);
    let person = world.identity("Person");
    assert_eq!(found, Stale::Table { identity: person, access: Access::Probed });
    assert!(!written);
}

#[tokio::test]
async fn loads_of_unrelated_tables_do_not_disturb_each_other() {
    let world = World::new().await;
    let person = world.planned(Append, &[r#"{"type":"Person","data":{"slug":"a"}}"#]).await;
    let kind = world.planned(Append, &[r#"{"type":"Types","data":{"key":1}}"#]).await;
    world.commit(person).await.unwrap();
    world.commit(kind).await.unwrap();
    assert_eq!(world.rows("Person").await.len() + world.rows("Types").await.len(), 2);
}

#[tokio::test]
async fn one_input_serves_every_attempt() {
    let world = World::new().await;
    let input = world.schema.input(&[r#"{"type":"Person","data":{"slug":"a"}}"#]);
    let prepared = world.prepare_input(Append, &input, &world.store, None).await.unwrap();
    let WritePlan::Write(first) = prepared else { panic!("{prepared:?}") };
    world
        .commit(world.planned(Append, &[r#"{"type":"Person","data":{"slug":"z"}}"#]).await)
        .await
        .unwrap();
    stale(world.commit(*first).await);
    let prepared = world.prepare_input(Append, &input, &world.store, None).await.unwrap();
    let WritePlan::Write(second) = prepared else { panic!("{prepared:?}") };
    world.commit(*second).await.unwrap();
    assert_eq!(world.rows("Person").await.len(), 2);
}
