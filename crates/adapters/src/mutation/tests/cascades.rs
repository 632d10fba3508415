//! Deletes of nodes that edges name: refused on the post-image, or taking the edges with them.

use super::writer::{Did, after, did, invalid, mutate, outcome, world};

#[tokio::test]
async fn a_node_that_an_edge_of_the_base_names_stays() {
    let came = outcome(&[r#"{"delete":{"type":"Person","key":"a"}}"#]).await;
    let Did::Invalid(faults) = came else { panic!("{came:?}") };
    assert!(faults.iter().all(|fault| fault.starts_with("statement 1 ")), "{faults:?}");
    assert!(faults.iter().all(|fault| fault.ends_with(" referenced")), "{faults:?}");
    assert!(!faults.is_empty());
}

#[tokio::test]
async fn a_node_may_go_when_the_edges_that_name_it_go_in_the_same_request() {
    let edges = r#"{"delete":{"edge":"Knows","from":"a","to":"b"}}"#;
    let visits = r#"{"delete":{"edge":"Visits","from":"a","to":"q"}}"#;
    let node = r#"{"delete":{"type":"Person","key":"a"}}"#;
    let expected = did(&["Knows -1", "Person -1", "Visits -2"]);
    assert_eq!(outcome(&[edges, visits, node]).await, expected);
    assert_eq!(outcome(&[node, visits, edges]).await, expected);
}

#[tokio::test]
async fn an_edge_that_the_request_puts_holds_its_node() {
    let came = outcome(&[
        r#"{"delete":{"type":"Person","key":"a","cascade":true}}"#,
        r#"{"insert":{"edge":"Knows","from":"b","to":"a"}}"#,
    ])
    .await;
    assert_eq!(came, invalid(&["statement 2 Knows.to endpoint"]));
}

#[tokio::test]
async fn a_cascade_takes_the_edges_at_both_ends_and_self_loops() {
    let (came, rows) =
        after(&[r#"{"delete":{"type":"Person","key":"c","cascade":true}}"#], "Knows").await;
    assert_eq!(came, did(&["Knows -2", "Person -1"]));
    assert_eq!(rows.len(), 1);
}

#[tokio::test]
async fn a_cascade_takes_edges_that_the_request_has_put_before() {
    let (came, rows) = after(
        &[
            r#"{"insert":{"type":"Person","data":{"slug":"n"}}}"#,
            r#"{"insert":{"edge":"Knows","from":"n","to":"n"}}"#,
            r#"{"insert":{"edge":"Knows","from":"n","to":"b"}}"#,
            r#"{"insert":{"edge":"Visits","from":"n","to":"q","data":{"id":"w"}}}"#,
            r#"{"delete":{"type":"Person","key":"n","cascade":true}}"#,
        ],
        "Knows",
    )
    .await;
    assert_eq!((came, rows.len()), (Did::NoChange, 3));
}

#[tokio::test]
async fn a_cascade_takes_no_edge_that_is_put_after_it() {
    let came = outcome(&[
        r#"{"delete":{"type":"Person","key":"c","cascade":true}}"#,
        r#"{"insert":{"type":"Person","data":{"slug":"c","age":3}}}"#,
        r#"{"insert":{"edge":"Knows","from":"c","to":"c","data":{"since":"2021-01-01"}}}"#,
    ])
    .await;
    assert_eq!(came, did(&["Knows ~1 -1", "Person ~1"]));
}

#[tokio::test]
async fn a_node_that_is_deleted_with_its_edges_and_put_again_has_none() {
    let (came, rows) = after(
        &[
            r#"{"delete":{"type":"Person","key":"c","cascade":true}}"#,
            r#"{"insert":{"type":"Person","data":{"slug":"c"}}}"#,
        ],
        "Knows",
    )
    .await;
    assert_eq!(came, did(&["Knows -2", "Person =1"]));
    assert_eq!(rows.len(), 1);
}

#[tokio::test]
async fn an_edge_that_is_deleted_and_put_again_is_unchanged() {
    let came = outcome(&[
        r#"{"delete":{"edge":"Knows","from":"a","to":"b"}}"#,
        r#"{"insert":{"edge":"Knows","from":"a","to":"b","data":{"since":"2020-01-01"}}}"#,
    ])
    .await;
    assert_eq!(came, Did::NoChange);
}

#[tokio::test]
async fn a_cascade_of_both_ends_takes_an_edge_once() {
    let came = outcome(&[
        r#"{"delete":{"type":"Person","key":"a","cascade":true}}"#,
        r#"{"delete":{"type":"Person","key":"b","cascade":true}}"#,
    ])
    .await;
    assert_eq!(came, did(&["Knows -2", "Person -2", "Visits -3"]));
}

#[tokio::test]
async fn a_cascade_of_a_node_that_is_not_there_leaves_edges_alone() {
    let came = outcome(&[
        r#"{"insert":{"edge":"Knows","from":"a","to":"n"}}"#,
        r#"{"delete":{"type":"Person","key":"n","cascade":true}}"#,
        r#"{"insert":{"type":"Person","data":{"slug":"n"}}}"#,
    ])
    .await;
    assert_eq!(came, did(&["Knows +1", "Person +1"]));
}

#[tokio::test]
async fn an_edge_that_was_moved_goes_with_its_new_node_only() {
    let moved = r#"{"upsert":{"edge":"Visits","from":"c","to":"r","data":{"id":"v1"}}}"#;
    let old = r#"{"delete":{"type":"Place","key":"q","cascade":true}}"#;
    let (came, rows) = after(&[moved, old], "Visits").await;
    assert_eq!(came, did(&["Place -1", "Visits ~1 -1"]));
    assert_eq!(rows.len(), 2);
    let new = r#"{"delete":{"type":"Person","key":"c","cascade":true}}"#;
    let (came, rows) = after(&[moved, new], "Visits").await;
    assert_eq!(came, did(&["Knows -2", "Person -1", "Visits -1"]));
    assert_eq!(rows.len(), 2);
}

#[tokio::test]
async fn a_source_that_loses_its_last_edge_breaks_its_minimum() {
    let delete = r#"{"delete":{"edge":"Seat","id":"s1"}}"#;
    assert_eq!(outcome(&[delete]).await, invalid(&["statement 1 Seat.from cardinality"]));
    let place = r#"{"delete":{"type":"Place","key":"r","cascade":true}}"#;
    assert_eq!(outcome(&[place]).await, invalid(&["statement 1 Seat.from cardinality"]));
    let other = r#"{"insert":{"edge":"Seat","from":"f","to":"q","data":{"id":"s2"}}}"#;
    assert_eq!(outcome(&[delete, other]).await, did(&["Seat +1 -1"]));
    let firm = r#"{"delete":{"type":"Firm","key":"f","cascade":true}}"#;
    assert_eq!(outcome(&[firm]).await, did(&["Firm -1", "Seat -1"]));
}

#[tokio::test]
async fn a_source_that_an_edge_leaves_for_another_breaks_its_minimum() {
    let world = world().await;
    let firm = r#"{"insert":{"type":"Firm","data":{"slug":"g"}}}"#;
    let moved = r#"{"upsert":{"edge":"Seat","from":"g","to":"r","data":{"id":"s1"}}}"#;
    let came = mutate(&world, &[firm, moved]).await;
    assert_eq!(came, invalid(&["statement 2 Seat.from cardinality"]));
}

#[tokio::test]
async fn more_edges_than_a_source_may_have_are_refused() {
    let came =
        outcome(&[r#"{"insert":{"edge":"Visits","from":"a","to":"r","data":{"id":"v4"}}}"#]).await;
    assert_eq!(came, invalid(&["statement 1 Visits.from cardinality"]));
}
