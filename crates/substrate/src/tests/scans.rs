//! Scans find exactly the rows that a filter means, whatever the values look like.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, LargeStringArray, StringArray};

use super::world::*;
use crate::*;

const ODD: [(&str, i64); 8] = [
    ("", 0),
    ("it's", 1),
    ("\"quoted\"", 2),
    ("back\\slash", 3),
    ("' OR 1=1 --", 4),
    ("naïve Ünïcode 🦀", 5),
    ("%", 6),
    ("line\nbreak\0", 7),
];

fn find(filter: RowFilter) -> ScanRequest {
    ScanRequest { filter: Some(filter), ..Default::default() }
}

fn values(values: ArrayRef) -> RowFilter {
    RowFilter::In { column: "value".to_owned(), values }
}

#[tokio::test]
async fn each_odd_key_finds_itself_and_nothing_else() {
    let table = create(&memory(), &ODD).await;
    for row in ODD {
        assert_eq!(read(&table, find(ids(&[row.0]))).await, owned(&[row]));
    }
    let keys: Vec<&str> = ODD.iter().map(|row| row.0).collect();
    assert_eq!(read(&table, find(ids(&keys))).await, owned(&ODD));
}

#[tokio::test]
async fn odd_keys_are_removed_exactly() {
    let table = create(&memory(), &ODD).await;
    let staged = change(&table, &["' OR 1=1 --", ""], None, uuid(2)).await;
    let left = content(&commit(&table, staged).await).await;
    assert_eq!(left.len(), ODD.len() - 2);
}

#[tokio::test]
async fn integers_match_and_cast_to_the_type_of_the_column() {
    let table = create(&memory(), &[("a", -1), ("b", i64::MAX), ("c", 3)]).await;
    let wide: ArrayRef = Arc::new(Int64Array::from(vec![-1, i64::MAX]));
    assert_eq!(read(&table, find(values(wide))).await, owned(&[("a", -1), ("b", i64::MAX)]));
    let narrow: ArrayRef = Arc::new(Int32Array::from(vec![3]));
    assert_eq!(read(&table, find(values(narrow))).await, owned(&[("c", 3)]));
    let large: ArrayRef = Arc::new(LargeStringArray::from(vec!["b"]));
    let filter = RowFilter::In { column: "id".to_owned(), values: large };
    assert_eq!(read(&table, find(filter)).await, owned(&[("b", i64::MAX)]));
}

#[tokio::test]
async fn a_value_that_does_not_fit_the_column_is_refused() {
    let table = create(&memory(), &[("a", 1)]).await;
    let words: ArrayRef = Arc::new(StringArray::from(vec!["not a number"]));
    let refused = table.scan(find(values(words))).await;
    assert!(matches!(refused, Err(SubstrateError::InvalidRequest { .. })));
}

#[tokio::test]
async fn nulls_and_empty_lists_match_nothing() {
    let table = create(&memory(), &[("a", 1)]).await;
    let null: ArrayRef = Arc::new(Int64Array::from(vec![None]));
    assert_eq!(read(&table, find(values(null))).await, owned(&[]));
    assert_eq!(read(&table, find(ids(&[]))).await, owned(&[]));
    assert_eq!(read(&table, find(RowFilter::Any(vec![]))).await, owned(&[]));
    assert_eq!(read(&table, find(RowFilter::All(vec![]))).await, owned(&[("a", 1)]));
}

#[tokio::test]
async fn composite_keys_match_as_pairs() {
    let table = create(&memory(), &[("a", 1), ("a", 2), ("b", 1)]).await;
    let one: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let pair = RowFilter::All(vec![ids(&["a"]), values(one)]);
    assert_eq!(read(&table, find(pair)).await, owned(&[("a", 1)]));
}

#[tokio::test]
async fn thousands_of_composite_keys_do_not_overflow_the_planner() {
    let table = create(&memory(), &[("7", 7), ("x", 7)]).await;
    let key = |n: i64| {
        let value: ArrayRef = Arc::new(Int64Array::from(vec![n]));
        RowFilter::All(vec![ids(&[&n.to_string()]), values(value)])
    };
    let keys = RowFilter::Any((0..2_000).map(key).collect());
    assert_eq!(read(&table, find(keys)).await, owned(&[("7", 7)]));
}

#[tokio::test]
async fn columns_come_in_the_order_that_was_asked_for() {
    let table = create(&memory(), &[("a", 1)]).await;
    let columns = Some(vec!["value".to_owned(), "id".to_owned()]);
    let stream = table.scan(ScanRequest { columns, ..Default::default() }).await.unwrap();
    let names: Vec<_> = stream.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["value", "id"]);
}

#[tokio::test]
async fn unknown_columns_and_fragments_are_refused_by_name() {
    let table = create(&memory(), &[("a", 1)]).await;
    let columns = Some(vec!["nope".to_owned()]);
    let refused = table.scan(ScanRequest { columns, ..Default::default() }).await.unwrap_err();
    assert!(refused.to_string().contains("nope"), "{refused}");
    let request = ScanRequest { fragments: Some(vec![9]), ..Default::default() };
    assert!(matches!(table.scan(request).await, Err(SubstrateError::InvalidRequest { .. })));
}

#[tokio::test]
async fn row_addresses_name_fragment_and_offset() {
    let table = create(&memory(), &[("a", 1), ("b", 2)]).await;
    let request = ScanRequest { with_row_address: true, ..Default::default() };
    let batches = table.scan(request).await.unwrap().collect_all().await.unwrap();
    assert!(batches[0].column_by_name(ROW_ADDRESS).is_some());
}

#[tokio::test]
async fn a_scan_reads_the_version_of_its_handle() {
    let store = memory();
    let first = create(&store, &[("a", 1)]).await;
    let staged = stage_append(&first, rows(&[("b", 2)]), uuid(2)).await.unwrap();
    commit(&first, staged).await;
    assert_eq!(content(&first).await, owned(&[("a", 1)]));
    assert_eq!(content(&fresh(&store, Version::Exact(1)).await).await, owned(&[("a", 1)]));
}
