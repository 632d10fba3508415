//! Edges named by their ends and by their ids.

use super::writer::{after, did, outcome};

#[tokio::test]
async fn an_edge_without_parallels_is_updated_and_deleted_by_its_ends() {
    let update = r#"{"update":{"edge":"Knows","from":"a","to":"b","set":{"since":"2024-02-29"}}}"#;
    let (came, rows) = after(&[update], "Knows").await;
    assert_eq!(came, did(&["Knows ~1"]));
    assert!(rows.iter().any(|row| row.contains("2024-02-29")), "{rows:?}");
    let delete = r#"{"delete":{"edge":"Knows","from":"a","to":"b"}}"#;
    let (came, rows) = after(&[delete], "Knows").await;
    assert_eq!((came, rows.len()), (did(&["Knows -1"]), 2));
}

#[tokio::test]
async fn a_parallel_edge_is_updated_and_deleted_by_its_id() {
    let update = r#"{"update":{"edge":"Visits","id":"v2","set":{"note":"y"}}}"#;
    let (came, rows) = after(&[update], "Visits").await;
    assert_eq!(came, did(&["Visits ~1"]));
    assert_eq!(rows.iter().filter(|row| row.contains(r#""note":"x""#)).count(), 1, "{rows:?}");
    let (came, rows) = after(&[r#"{"delete":{"edge":"Visits","id":"v2"}}"#], "Visits").await;
    assert_eq!((came, rows.len()), (did(&["Visits -1"]), 2));
}

#[tokio::test]
async fn a_delete_by_ends_takes_all_parallels_those_of_the_request_included() {
    let delete = r#"{"delete":{"edge":"Visits","from":"a","to":"q"}}"#;
    let (came, rows) = after(&[delete], "Visits").await;
    assert_eq!((came, rows.len()), (did(&["Visits -2"]), 1));
    let put = r#"{"insert":{"edge":"Visits","from":"a","to":"q","data":{"id":"v9"}}}"#;
    assert_eq!(outcome(&[put, delete]).await, did(&["Visits -2"]));
    let (came, rows) = after(&[delete, put], "Visits").await;
    assert_eq!((came, rows.len()), (did(&["Visits +1 -2"]), 2));
}

#[tokio::test]
async fn a_delete_by_ends_takes_no_edge_of_crossed_pairs() {
    let came = outcome(&[
        r#"{"delete":{"edge":"Visits","from":"b","to":"q"}}"#,
        r#"{"delete":{"edge":"Visits","from":"c","to":"r"}}"#,
        r#"{"delete":{"edge":"Visits","from":"b","to":"r"}}"#,
    ])
    .await;
    assert_eq!(came, did(&["Visits -1"]));
}

#[tokio::test]
async fn a_delete_by_ends_takes_an_edge_where_it_is_now() {
    let moved = r#"{"upsert":{"edge":"Visits","from":"c","to":"r","data":{"id":"v1"}}}"#;
    let old = r#"{"delete":{"edge":"Visits","from":"a","to":"q"}}"#;
    let new = r#"{"delete":{"edge":"Visits","from":"c","to":"r"}}"#;
    assert_eq!(outcome(&[moved, old]).await, did(&["Visits ~1 -1"]));
    assert_eq!(outcome(&[moved, new]).await, did(&["Visits -1"]));
    assert_eq!(outcome(&[moved, new, old]).await, did(&["Visits -2"]));
}
