//! Inserts, upserts, updates and deletes by key: what each does, and that each sees those before it.

use super::writer::{Did, after, conflict, did, invalid, mutate, outcome};
use crate::testing::TYPES;
use crate::world::World;

const A: &str = r#"{"type":"Person","data":{"slug":"a","email":"a@x","age":1,"tags":null}}"#;

fn person(rows: &[String], slug: &str) -> String {
    let found = rows.iter().find(|row| row.contains(&format!(r#""slug":"{slug}""#)));
    found.cloned().unwrap_or_default()
}

#[tokio::test]
async fn an_insert_adds_a_row() {
    let (came, rows) =
        after(&[r#"{"insert":{"type":"Person","data":{"slug":"n","age":7}}}"#], "Person").await;
    assert_eq!(came, did(&["Person +1"]));
    assert!(person(&rows, "n").contains(r#""age":7"#), "{rows:?}");
}

#[tokio::test]
async fn an_insert_of_a_key_in_the_base_is_a_conflict_with_place_and_total() {
    let came = outcome(&[
        r#"{"insert":{"type":"Person","data":{"slug":"n"}}}"#,
        r#"{"insert":{"type":"Person","data":{"slug":"b"}}}"#,
        r#"{"insert":{"type":"Place","data":{"slug":"q","city":"Z"}}}"#,
    ])
    .await;
    assert_eq!(came, conflict("exists Person b statement 2 2"));
}

#[tokio::test]
async fn an_insert_of_a_key_that_the_request_has_put_is_a_fault() {
    let twice = r#"{"insert":{"type":"Person","data":{"slug":"n"}}}"#;
    assert_eq!(outcome(&[twice, twice]).await, invalid(&["statement 2 Person.slug key"]));
    let upsert = r#"{"upsert":{"type":"Person","data":{"slug":"n"}}}"#;
    assert_eq!(outcome(&[upsert, twice]).await, invalid(&["statement 2 Person.slug key"]));
    let edge = r#"{"insert":{"edge":"Knows","from":"a","to":"c"}}"#;
    assert_eq!(outcome(&[edge, edge]).await, invalid(&["statement 2 Knows.src, dst key"]));
}

#[tokio::test]
async fn an_insert_of_a_row_that_was_only_updated_is_a_conflict() {
    let came = outcome(&[
        r#"{"update":{"type":"Person","key":"a","set":{"age":2}}}"#,
        r#"{"insert":{"type":"Person","data":{"slug":"a"}}}"#,
    ])
    .await;
    assert_eq!(came, conflict("exists Person a statement 2 1"));
}

#[tokio::test]
async fn an_upsert_replaces_a_row_whole() {
    let (came, rows) =
        after(&[r#"{"upsert":{"type":"Person","data":{"slug":"a","age":2}}}"#], "Person").await;
    assert_eq!(came, did(&["Person ~1"]));
    assert_eq!(person(&rows, "a"), r#"{"type":"Person","data":{"slug":"a","age":2}}"#);
}

#[tokio::test]
async fn an_upsert_of_what_is_there_changes_nothing() {
    assert_eq!(outcome(&[&format!(r#"{{"upsert":{A}}}"#)]).await, Did::NoChange);
}

#[tokio::test]
async fn an_update_sets_only_what_it_names() {
    let (came, rows) = after(
        &[r#"{"update":{"type":"Person","key":"a","set":{"age":null,"tags":["t"]}}}"#],
        "Person",
    )
    .await;
    assert_eq!(came, did(&["Person ~1"]));
    assert_eq!(
        person(&rows, "a"),
        r#"{"type":"Person","data":{"slug":"a","email":"a@x","tags":["t"]}}"#
    );
}

#[tokio::test]
async fn an_update_of_a_key_that_is_not_there_is_a_conflict_with_place_and_total() {
    let update =
        |key: &str| format!(r#"{{"update":{{"type":"Person","key":"{key}","set":{{"age":1}}}}}}"#);
    let came = outcome(&[
        r#"{"delete":{"type":"Person","key":"zz"}}"#,
        &update("x"),
        &update("b"),
        &update("y"),
    ])
    .await;
    assert_eq!(came, conflict("missing Person x statement 2 2"));
    let edge = r#"{"update":{"edge":"Knows","from":"a","to":"c","set":{"since":null}}}"#;
    assert_eq!(outcome(&[edge]).await, conflict("missing Knows a -> c statement 1 1"));
}

#[tokio::test]
async fn an_update_of_a_row_that_the_request_deleted_is_a_conflict() {
    let came = outcome(&[
        r#"{"delete":{"type":"Person","key":"a","cascade":true}}"#,
        r#"{"update":{"type":"Person","key":"a","set":{"age":2}}}"#,
    ])
    .await;
    assert_eq!(came, conflict("missing Person a statement 2 1"));
}

#[tokio::test]
async fn updates_see_what_came_before_them() {
    let (came, rows) = after(
        &[
            r#"{"insert":{"type":"Person","data":{"slug":"n","age":1,"email":"n@x"}}}"#,
            r#"{"update":{"type":"Person","key":"n","set":{"age":2}}}"#,
            r#"{"update":{"type":"Person","key":"b","set":{"age":6}}}"#,
            r#"{"update":{"type":"Person","key":"n","set":{"tags":["t"],"age":3}}}"#,
            r#"{"update":{"type":"Person","key":"b","set":{"email":null}}}"#,
        ],
        "Person",
    )
    .await;
    assert_eq!(came, did(&["Person +1 ~1"]));
    assert_eq!(
        person(&rows, "n"),
        r#"{"type":"Person","data":{"slug":"n","email":"n@x","age":3,"tags":["t"]}}"#
    );
    assert_eq!(person(&rows, "b"), r#"{"type":"Person","data":{"slug":"b","age":6}}"#);
}

#[tokio::test]
async fn a_row_that_ends_as_it_was_is_no_change() {
    let came = outcome(&[
        r#"{"update":{"type":"Person","key":"a","set":{"age":9,"email":null}}}"#,
        r#"{"update":{"type":"Person","key":"a","set":{"email":"a@x"}}}"#,
        r#"{"update":{"type":"Person","key":"a","set":{"age":1}}}"#,
    ])
    .await;
    assert_eq!(came, Did::NoChange);
}

#[tokio::test]
async fn a_delete_of_a_key_that_is_not_there_does_nothing() {
    let came = outcome(&[
        r#"{"delete":{"type":"Person","key":"zz","cascade":true}}"#,
        r#"{"delete":{"edge":"Knows","from":"a","to":"zz"}}"#,
        r#"{"delete":{"edge":"Visits","from":"zz","to":"q"}}"#,
    ])
    .await;
    assert_eq!(came, Did::NoChange);
}

#[tokio::test]
async fn what_is_inserted_and_deleted_leaves_no_trace() {
    let came = outcome(&[
        r#"{"insert":{"type":"Person","data":{"slug":"n"}}}"#,
        r#"{"update":{"type":"Person","key":"n","set":{"age":2}}}"#,
        r#"{"delete":{"type":"Person","key":"n"}}"#,
    ])
    .await;
    assert_eq!(came, Did::NoChange);
}

#[tokio::test]
async fn a_row_that_is_deleted_and_put_again_is_updated_or_unchanged() {
    let delete = r#"{"delete":{"type":"Person","key":"a"}}"#;
    let same = format!(r#"{{"insert":{A}}}"#);
    assert_eq!(outcome(&[delete, &same]).await, Did::NoChange);
    let other = r#"{"insert":{"type":"Person","data":{"slug":"a","age":2}}}"#;
    let (came, rows) = after(&[delete, other], "Person").await;
    assert_eq!(came, did(&["Person ~1"]));
    assert_eq!(rows.len(), 3);
    assert_eq!(outcome(&[delete, other, other]).await, invalid(&["statement 3 Person.slug key"]));
}

#[tokio::test]
async fn a_row_put_deleted_and_put_again_is_put_once() {
    let (came, rows) = after(
        &[
            r#"{"insert":{"type":"Person","data":{"slug":"n","age":1}}}"#,
            r#"{"delete":{"type":"Person","key":"n"}}"#,
            r#"{"insert":{"type":"Person","data":{"slug":"n","age":2}}}"#,
        ],
        "Person",
    )
    .await;
    assert_eq!(came, did(&["Person +1"]));
    assert!(person(&rows, "n").contains(r#""age":2"#), "{rows:?}");
}

#[tokio::test]
async fn what_came_first_decides_between_a_conflict_and_a_fault() {
    let exists = r#"{"insert":{"type":"Person","data":{"slug":"a"}}}"#;
    let new = r#"{"insert":{"type":"Person","data":{"slug":"n"}}}"#;
    assert_eq!(outcome(&[exists, new, new]).await, conflict("exists Person a statement 1 1"));
    assert_eq!(outcome(&[new, new, exists]).await, invalid(&["statement 2 Person.slug key"]));
}

#[tokio::test]
async fn unique_values_may_change_hands_within_a_request() {
    let came = outcome(&[
        r#"{"update":{"type":"Person","key":"a","set":{"email":"b@x"}}}"#,
        r#"{"update":{"type":"Person","key":"b","set":{"email":"a@x"}}}"#,
        r#"{"insert":{"type":"Person","data":{"slug":"n","email":"n@x"}}}"#,
    ])
    .await;
    assert_eq!(came, did(&["Person +1 ~2"]));
}

#[tokio::test]
async fn a_unique_value_of_a_deleted_row_is_free() {
    let came = outcome(&[
        r#"{"delete":{"type":"Person","key":"a","cascade":true}}"#,
        r#"{"insert":{"type":"Person","data":{"slug":"n","email":"a@x"}}}"#,
    ])
    .await;
    assert_eq!(came, did(&["Knows -1", "Person +1 -1", "Visits -2"]));
}

#[tokio::test]
async fn a_unique_value_twice_is_a_fault_of_the_post_image() {
    let base = outcome(&[r#"{"update":{"type":"Person","key":"c","set":{"email":"a@x"}}}"#]).await;
    assert_eq!(base, invalid(&["statement 1 Person.email unique"]));
    let within = outcome(&[
        r#"{"update":{"type":"Person","key":"c","set":{"email":"n@x"}}}"#,
        r#"{"insert":{"type":"Person","data":{"slug":"n","email":"n@x"}}}"#,
    ])
    .await;
    assert_eq!(within, invalid(&["statement 2 Person.email unique"]));
    let composite =
        outcome(&[r#"{"update":{"type":"Place","key":"q","set":{"city":"R","country":"X"}}}"#])
            .await;
    assert_eq!(composite, invalid(&["statement 1 Place.city, country unique"]));
}

#[tokio::test]
async fn every_type_is_updated_and_compared_by_value() {
    let world = World::new().await;
    let row =
        |cells: &str| format!(r#"{{"insert":{{"type":"Types","data":{{"key":1,{cells}}}}}}}"#);
    let ones: Vec<_> = TYPES.iter().map(|(one, _)| *one).collect();
    assert_eq!(mutate(&world, &[&row(&ones.join(","))]).await, did(&["Types +1"]));
    let set = |cell: &str| format!(r#"{{"update":{{"type":"Types","key":1,"set":{{{cell}}}}}}}"#);
    for (one, other) in TYPES {
        assert_eq!(mutate(&world, &[&set(one)]).await, Did::NoChange, "{one}");
        assert_eq!(mutate(&world, &[&set(other)]).await, did(&["Types ~1"]), "{other}");
        let name = one.split(':').next().unwrap();
        assert_eq!(mutate(&world, &[&set(&format!("{name}:null"))]).await, did(&["Types ~1"]));
    }
    assert_eq!(world.rows("Types").await, [r#"{"type":"Types","data":{"key":1}}"#]);
}
