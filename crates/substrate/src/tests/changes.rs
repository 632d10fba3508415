//! Removal by row address, replacement and addition in one commit: exactly the named rows go, and
//! no index claims a row that it does not hold.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use lance::dataset::transaction::Operation;
use lance_table::format::IndexMetadata;
use lance_table::io::manifest::read_manifest_indexes;

use super::world::*;
use crate::*;

async fn appended(table: &TableHandle, added: &[(&str, i64)], step: u32) -> TableHandle {
    let staged = stage_append(table, rows(added), uuid(step)).await.unwrap();
    commit(table, staged).await
}

/// One fragment for each name, of three rows.
async fn in_fragments(store: &Store, names: &[&str]) -> TableHandle {
    let three = |name: &str| -> Vec<(String, i64)> {
        (0..3).map(|number| (format!("{name}{number}"), number)).collect()
    };
    let mut table = create(store, &[]).await;
    for (step, name) in (2..).zip(names) {
        let added = three(name);
        let added: Vec<_> = added.iter().map(|(id, value)| (id.as_str(), *value)).collect();
        table = appended(&table, &added, step).await;
    }
    table
}

async fn refusal(table: &TableHandle, addresses: &[u64]) -> String {
    let removes = addresses.iter().copied().collect();
    let adds = Some(rows(&[("new", 1)]));
    match stage_change(table, &removes, adds, uuid(90)).await {
        Err(error @ SubstrateError::InvalidRequest { .. }) => error.to_string(),
        other => panic!("expected a refusal, got {other:?}"),
    }
}

fn address(fragment: u64, offset: u64) -> u64 {
    fragment << 32 | offset
}

#[tokio::test]
async fn one_change_removes_replaces_and_adds() {
    let store = memory();
    let table = create(&store, &[("a", 1), ("b", 2), ("c", 3)]).await;
    let adds = rows(&[("b", 20), ("d", 40)]);
    let staged = change(&table, &["b", "c"], Some(adds), uuid(2)).await;
    assert_eq!((staged.rows(), staged.new_files().len()), (2, 2));
    let table = commit(&table, staged).await;
    let expected = owned(&[("a", 1), ("b", 20), ("d", 40)]);
    assert_eq!((table.version(), content(&table).await), (2, expected.clone()));
    assert_eq!(content(&fresh(&store, Version::Latest).await).await, expected);
}

#[tokio::test]
async fn rows_go_from_many_fragments_at_once() {
    let names: Vec<String> = (0..40).map(|number| format!("f{number:02}-")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let store = memory();
    let table = in_fragments(&store, &names).await;
    let middle: Vec<String> = names.iter().map(|name| format!("{name}1")).collect();
    let middle: Vec<&str> = middle.iter().map(String::as_str).collect();
    let staged = change(&table, &middle, None, uuid(90)).await;
    assert_eq!(staged.new_files().len(), 40);
    let table = commit(&table, staged).await;
    let left = content(&fresh(&store, Version::Latest).await).await;
    assert_eq!(left, content(&table).await);
    assert!(left.len() == 80 && left.iter().all(|(id, _)| !id.ends_with("-1")), "{left:?}");
    let staged = change(&table, &["f00-0", "f39-2"], None, uuid(91)).await;
    assert_eq!(content(&commit(&table, staged).await).await.len(), 78);
}

#[tokio::test]
async fn a_change_that_empties_a_fragment_removes_it_and_writes_no_file_for_it() {
    let store = memory();
    let table = in_fragments(&store, &["a", "b"]).await;
    let staged = change(&table, &["a1"], None, uuid(50)).await;
    let table = commit(&table, staged).await;
    let staged = change(&table, &["a0", "a2", "b0"], None, uuid(51)).await;
    assert_eq!(staged.new_files().len(), 1, "{:?}", staged.new_files());
    let table = commit(&table, staged).await;
    let left = owned(&[("b1", 1), ("b2", 2)]);
    assert_eq!((table.fragments().unwrap().len(), content(&table).await), (1, left.clone()));
    assert_eq!(content(&fresh(&store, Version::Latest).await).await, left);
}

#[tokio::test]
async fn a_change_may_empty_the_table() {
    let table = in_fragments(&memory(), &["a", "b"]).await;
    let all = addresses(&table, RowFilter::All(vec![])).await;
    let staged = stage_change(&table, &all, None, uuid(50)).await.unwrap();
    assert_eq!(staged.new_files(), <[String; 0]>::default());
    let table = commit(&table, staged).await;
    assert_eq!((table.fragments().unwrap().len(), table.count_rows().await.unwrap()), (0, 0));
    let table = appended(&table, &[("z", 9)], 51).await;
    assert_eq!(content(&table).await, owned(&[("z", 9)]));
}

#[tokio::test]
async fn repeated_changes_of_one_row_leave_one_row() {
    let store = memory();
    let mut table = create(&store, &[("a", 1), ("b", 2)]).await;
    for step in 2..6 {
        let adds = rows(&[("a", i64::from(step))]);
        let staged = change(&table, &["a"], Some(adds), uuid(step)).await;
        table = commit(&table, staged).await;
    }
    assert_eq!(content(&fresh(&store, Version::Latest).await).await, owned(&[("a", 5), ("b", 2)]));
}

#[tokio::test]
async fn a_change_that_removes_nothing_is_an_append_and_one_of_nothing_is_no_fence() {
    let table = create(&memory(), &[("a", 1)]).await;
    let none = RowAddresses::new();
    let staged = stage_change(&table, &none, Some(rows(&[("b", 2)])), uuid(2)).await.unwrap();
    let table = commit(&table, staged).await;
    assert_eq!(content(&table).await, owned(&[("a", 1), ("b", 2)]));
    let slot = read_slot(table.store(), TABLE, &MAIN, 2).await.unwrap().unwrap();
    assert_eq!(slot.action, SlotAction::Other("Append".to_owned()));
    for (step, adds) in [(3, None), (4, Some(rows(&[])))] {
        let now = fresh(table.store(), Version::Latest).await;
        let staged = stage_change(&now, &none, adds, uuid(step)).await.unwrap();
        let table = commit(&now, staged).await;
        assert_eq!(content(&table).await, owned(&[("a", 1), ("b", 2)]));
        assert!(!table.is_empty_append_at(u64::from(step)).await.unwrap());
    }
}

#[tokio::test]
async fn an_address_that_names_no_live_row_is_refused_and_nothing_is_written() {
    let storage = MemoryStorage::new();
    let table = in_fragments(&Store::memory(&storage), &["a", "b"]).await;
    let staged = change(&table, &["a1"], None, uuid(50)).await;
    let table = commit(&table, staged).await;
    let before = storage.digest().await.unwrap();
    for (wrong, named) in [
        (address(7, 0), "no fragment 7"),
        (address(u64::from(u32::MAX), 0), "no fragment 4294967295"),
        (address(0, 3), "no row 3 in fragment 0 of 3 rows"),
        (address(0, 1), "row 1 of fragment 0 is removed already"),
    ] {
        let refused = refusal(&table, &[address(1, 0), wrong]).await;
        assert!(refused.contains(named), "{refused}");
    }
    assert_eq!(storage.digest().await.unwrap(), before);
}

#[tokio::test]
async fn addresses_of_a_version_before_the_rows_were_replaced_are_refused() {
    let first = create(&memory(), &[("a", 1), ("b", 2)]).await;
    let stale: Vec<u64> = addresses(&first, ids(&["a"])).await.iter().collect();
    let staged = change(&first, &["a"], Some(rows(&[("a", 5)])), uuid(2)).await;
    let second = commit(&first, staged).await;
    assert!(refusal(&second, &stale).await.contains("removed already"));
    let later: Vec<u64> = addresses(&second, ids(&["a"])).await.iter().collect();
    assert!(refusal(&first, &later).await.contains("no fragment 1"));
}

/// The row id of each key.
async fn row_ids(table: &TableHandle) -> HashMap<String, u64> {
    let mut scanner = table.dataset().scan();
    let batch: RecordBatch = scanner.with_row_id().try_into_batch().await.unwrap();
    let keys = batch.column_by_name("id").unwrap().as_string::<i32>().clone();
    let row_ids = batch.column_by_name("_rowid").unwrap().as_primitive::<UInt64Type>().clone();
    (0..batch.num_rows()).map(|row| (keys.value(row).to_owned(), row_ids.value(row))).collect()
}

#[tokio::test]
async fn rows_that_stay_keep_their_row_ids_and_no_id_is_given_twice() {
    let table = in_fragments(&memory(), &["a", "b"]).await;
    let before = row_ids(&table).await;
    let staged = change(&table, &["a0", "b1"], Some(rows(&[("a0", 7), ("n", 8)])), uuid(50)).await;
    let table = commit(&table, staged).await;
    let table = appended(&table, &[("m", 9)], 51).await;
    let after = row_ids(&table).await;
    for key in ["a1", "a2", "b0", "b2"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    for key in ["a0", "n", "m"] {
        assert!(!before.values().any(|known| *known == after[key]), "{key}");
    }
    let mut given: Vec<u64> = after.values().copied().collect();
    given.sort_unstable();
    given.dedup();
    assert_eq!(given.len(), 7, "{after:?}");
    for row_id in after.values() {
        let taken = table.dataset().take_rows(&[*row_id], table.dataset().schema().clone()).await;
        assert_eq!(taken.unwrap().num_rows(), 1);
    }
}

/// Says of the table that the fragments of this moment are in an index of `value`.
async fn indexed(table: &TableHandle, step: u32) -> TableHandle {
    let fields = vec![table.dataset().schema().field("value").unwrap().id];
    let fragments = table.dataset().fragments().iter().map(|fragment| fragment.id as u32);
    let index = IndexMetadata {
        uuid: Default::default(),
        fields,
        covering_fields: Vec::new(),
        name: "value_index".to_owned(),
        dataset_version: table.version(),
        fragment_bitmap: Some(fragments.collect()),
        index_details: None,
        index_version: 0,
        created_at: None,
        base_id: None,
        files: None,
    };
    let create = Operation::CreateIndex { new_indices: vec![index], removed_indices: Vec::new() };
    commit(table, StagedCommit::over(table, uuid(step), create).unwrap()).await
}

/// The fragments that the index says it covers.
async fn covered(table: &TableHandle) -> Vec<u32> {
    let (store, dataset) = (table.store().lance(), table.dataset());
    let location = dataset.manifest_location();
    let found = read_manifest_indexes(store, location, dataset.manifest()).await.unwrap();
    found[0].fragment_bitmap.as_ref().unwrap().iter().collect()
}

#[tokio::test]
async fn an_index_never_claims_the_fragments_of_added_rows() {
    let table = indexed(&in_fragments(&memory(), &["a", "b"]).await, 50).await;
    assert_eq!(covered(&table).await, [0, 1]);
    let staged = change(&table, &["a0"], Some(rows(&[("a0", 7), ("n", 8)])), uuid(51)).await;
    let table = commit(&table, staged).await;
    assert_eq!(covered(&table).await, [0, 1], "after a replacement");
    let none = RowAddresses::new();
    let staged = stage_change(&table, &none, Some(rows(&[("m", 1)])), uuid(52)).await.unwrap();
    let table = commit(&table, staged).await;
    assert_eq!(covered(&table).await, [0, 1], "after an addition");
    let staged = stage_replace(&table, vec![0], vec![batch(&[("z", 5)])], uuid(53)).await.unwrap();
    let table = commit(&table, staged).await;
    assert!(covered(&table).await.iter().all(|fragment| *fragment < 2), "after a rewrite");
}

#[tokio::test]
async fn staging_costs_one_put_for_each_file_and_no_read_after_the_scan() {
    let (store, counter) = memory().counting();
    let table = in_fragments(&store, &["a", "b", "c"]).await;
    let staged = change(&table, &["a0"], None, uuid(50)).await;
    let table = Arc::new(commit(&table, staged).await);
    let known = addresses(&table, ids(&["a1", "b1"])).await;
    counter.take();
    let puts = |cost: RequestCounts| (cost.of(OperationKind::Put), cost.total());
    let none = RowAddresses::new();
    stage_change(&table, &none, Some(rows(&[("m", 1)])), uuid(51)).await.unwrap();
    assert_eq!(puts(counter.take()), (1, 1), "an insert");
    stage_change(&table, &known, None, uuid(52)).await.unwrap();
    assert_eq!(puts(counter.take()), (2, 2), "a removal from two fragments");
    stage_change(&table, &known, Some(rows(&[("a1", 1)])), uuid(53)).await.unwrap();
    assert_eq!(puts(counter.take()), (3, 3), "a replacement");
}
