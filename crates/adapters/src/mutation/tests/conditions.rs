//! Deletes by condition: over the base and over what statements before them have made of it.

use super::writer::{Did, after, did, invalid, mutate, outcome, world};

const YOUNG: &str = r#"{"delete":{"type":"Person","where":"age < 3","cascade":true}}"#;

#[tokio::test]
async fn a_condition_deletes_the_rows_of_the_base_that_it_holds_for() {
    let (came, rows) =
        after(&[r#"{"delete":{"edge":"Visits","where":"note = 'x' or src = 'b'"}}"#], "Visits")
            .await;
    assert_eq!((came, rows.len()), (did(&["Visits -2"]), 1));
}

#[tokio::test]
async fn null_is_no_match() {
    assert_eq!(outcome(&[YOUNG]).await, did(&["Knows -1", "Person -1", "Visits -2"]));
    let every = r#"{"delete":{"edge":"Visits","where":"note = 'x' or note <> 'x'"}}"#;
    assert_eq!(outcome(&[every]).await, did(&["Visits -1"]));
}

#[tokio::test]
async fn a_condition_that_names_no_column_is_about_every_row() {
    let came = outcome(&[
        r#"{"insert":{"edge":"Knows","from":"a","to":"c"}}"#,
        r#"{"delete":{"edge":"Knows","where":"true"}}"#,
    ])
    .await;
    assert_eq!(came, did(&["Knows -3"]));
    assert_eq!(outcome(&[r#"{"delete":{"type":"Person","where":"false"}}"#]).await, Did::NoChange);
}

#[tokio::test]
async fn a_condition_sees_rows_that_were_put_before_it() {
    let insert = r#"{"insert":{"type":"Person","data":{"slug":"n","age":2}}}"#;
    assert_eq!(outcome(&[insert, YOUNG]).await, did(&["Knows -1", "Person -1", "Visits -2"]));
    let expected = did(&["Knows -1", "Person +1 -1", "Visits -2"]);
    assert_eq!(outcome(&[YOUNG, insert]).await, expected);
}

#[tokio::test]
async fn a_condition_sees_what_updates_before_it_have_set() {
    let grown = r#"{"update":{"type":"Person","key":"a","set":{"age":30}}}"#;
    assert_eq!(outcome(&[grown, YOUNG]).await, did(&["Person ~1"]));
    let young = r#"{"update":{"type":"Person","key":"b","set":{"age":2}}}"#;
    assert_eq!(
        outcome(&[young, grown, YOUNG]).await,
        did(&["Knows -2", "Person ~1 -1", "Visits -1"])
    );
}

#[tokio::test]
async fn a_condition_does_not_see_rows_that_were_deleted_before_it() {
    let delete = r#"{"delete":{"edge":"Visits","id":"v1"}}"#;
    let noted = r#"{"delete":{"edge":"Visits","where":"note = 'x'"}}"#;
    assert_eq!(outcome(&[delete, noted]).await, did(&["Visits -1"]));
}

#[tokio::test]
async fn a_row_that_a_condition_deleted_may_be_put_again() {
    let again = r#"{"insert":{"type":"Person","data":{"slug":"c"}}}"#;
    let delete = r#"{"delete":{"type":"Person","where":"age is null"}}"#;
    assert_eq!(outcome(&[delete, again]).await, Did::NoChange);
    let other = r#"{"insert":{"type":"Person","data":{"slug":"c","age":1}}}"#;
    assert_eq!(outcome(&[delete, other]).await, did(&["Person ~1"]));
    assert_eq!(
        outcome(&[delete, other, YOUNG]).await,
        did(&["Knows -3", "Person -2", "Visits -2"])
    );
}

#[tokio::test]
async fn a_cascading_condition_takes_the_edges_of_a_row_that_was_changed_before_it() {
    let young = r#"{"update":{"type":"Person","key":"c","set":{"age":0}}}"#;
    assert_eq!(outcome(&[young, YOUNG]).await, did(&["Knows -3", "Person -2", "Visits -2"]));
}

#[tokio::test]
async fn a_restricted_condition_is_judged_on_the_post_image() {
    let delete = r#"{"delete":{"type":"Person","where":"age is null"}}"#;
    let Did::Invalid(faults) = outcome(&[delete]).await else { panic!() };
    assert!(
        faults
            .iter()
            .all(|fault| fault.starts_with("statement 1 ") && fault.ends_with("referenced"))
    );
    let edges = r#"{"delete":{"edge":"Knows","where":"src = 'c' or dst = 'c'"}}"#;
    assert_eq!(outcome(&[delete, edges]).await, did(&["Knows -2", "Person -1"]));
}

#[tokio::test]
async fn a_condition_without_an_answer_for_a_row_is_a_fault() {
    let base = r#"{"delete":{"type":"Person","where":"10 / (age - 1) > 100"}}"#;
    assert_eq!(outcome(&[base]).await, invalid(&["statement 1 Person.where predicate"]));
    let came = outcome(&[
        r#"{"insert":{"type":"Person","data":{"slug":"n","age":0}}}"#,
        r#"{"delete":{"type":"Person","where":"10 / age > 100"}}"#,
    ])
    .await;
    assert_eq!(came, invalid(&["statement 2 Person.where predicate"]));
}

#[tokio::test]
async fn many_conditions_of_one_request_each_see_those_before_them() {
    let world = world().await;
    let came = mutate(
        &world,
        &[
            r#"{"delete":{"edge":"Visits","where":"id = 'v1'"}}"#,
            r#"{"upsert":{"edge":"Visits","from":"a","to":"r","data":{"id":"v1","note":"z"}}}"#,
            r#"{"delete":{"edge":"Visits","where":"note = 'x'"}}"#,
            r#"{"delete":{"edge":"Visits","where":"dst = 'q'"}}"#,
            r#"{"delete":{"edge":"Visits","where":"note = 'z' and dst = 'q'"}}"#,
        ],
    )
    .await;
    assert_eq!(came, did(&["Visits ~1 -1"]));
}
