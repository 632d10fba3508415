//! What is staged is exactly what lands, and nothing is seen before.

use super::world::*;
use crate::*;

#[tokio::test]
async fn staging_shows_nothing_and_names_its_files() {
    let store = memory();
    let table = create(&store, &[("a", 1)]).await;
    let staged = stage_append(&table, rows(&[("b", 2), ("c", 3)]), uuid(2)).await.unwrap();
    assert_eq!((staged.read_version(), staged.rows(), staged.uuid()), (1, 2, &uuid(2)));
    assert_eq!(staged.new_files().len(), 1);
    assert!(staged.data_files_exist(&store).await.unwrap());
    assert_eq!(head(&store, TABLE, &MAIN).await.unwrap().unwrap().version, 1);
}

#[tokio::test]
async fn a_staged_file_that_is_gone_is_detected_because_the_commit_would_land() {
    let store = memory();
    let table = create(&store, &[("a", 1)]).await;
    let staged = stage_append(&table, rows(&[("b", 2)]), uuid(2)).await.unwrap();
    let file = staged.new_files()[0].clone();
    store.delete(&file).await.unwrap();
    assert_eq!(staged.missing_files(&store).await.unwrap(), vec![file.clone()]);
    assert!(!staged.data_files_exist(&store).await.unwrap());
    let table = commit(&table, staged).await;
    assert_eq!(table.missing_files().await.unwrap(), vec![file]);
}

#[tokio::test]
async fn a_deletion_file_that_is_gone_is_detected_too() {
    let store = memory();
    let table = create(&store, &[("a", 1), ("b", 2)]).await;
    let staged = change(&table, &["a"], None, uuid(2)).await;
    assert_eq!(staged.new_files().len(), 1);
    let file = staged.new_files()[0].clone();
    store.delete(&file).await.unwrap();
    assert_eq!(staged.missing_files(&store).await.unwrap(), vec![file.clone()]);
    assert_eq!(commit(&table, staged).await.missing_files().await.unwrap(), vec![file]);
}

#[tokio::test]
async fn the_files_of_a_healthy_version_are_all_there() {
    let (_directory, store) = local();
    let table = create(&store, &[("a", 1), ("b", 2)]).await;
    let staged = change(&table, &["a"], Some(rows(&[("c", 3)])), uuid(2)).await;
    let table = commit(&table, staged).await;
    assert_eq!(table.missing_files().await.unwrap(), Vec::<String>::new());
    let fragments = table.fragments().unwrap();
    assert_eq!(fragments.iter().map(|f| f.data.len()).collect::<Vec<_>>(), vec![1, 1]);
    assert!(fragments[0].deletion.is_some() && fragments[1].deletion.is_none());
}

#[tokio::test]
async fn a_fence_keeps_every_row_and_is_recognised() {
    let store = memory();
    let table = create(&store, &[("a", 1)]).await;
    let fenced = commit(&table, stage_fence(1, uuid(2))).await;
    assert_eq!(content(&fenced).await, owned(&[("a", 1)]));
    assert_eq!(fenced.fragments().unwrap(), table.fragments().unwrap());
    assert!(fenced.is_empty_append_at(2).await.unwrap());
    assert!(!fenced.is_empty_append_at(1).await.unwrap());
    let staged = stage_append(&fenced, rows(&[("b", 2)]), uuid(3)).await.unwrap();
    assert!(!commit(&fenced, staged).await.is_empty_append_at(3).await.unwrap());
}

#[tokio::test]
async fn a_restore_brings_back_exactly_the_restored_version() {
    let store = memory();
    let first = create(&store, &[("a", 1), ("b", 2)]).await;
    let staged = change(&first, &["a"], Some(rows(&[("c", 3)])), uuid(2)).await;
    let second = commit(&first, staged).await;
    let restored = commit(&second, stage_restore(2, 1, uuid(3))).await;
    assert_eq!(restored.version(), 3);
    assert_eq!(restored.fragments().unwrap(), first.fragments().unwrap());
    assert_eq!(content(&fresh(&store, Version::Latest).await).await, content(&first).await);
    let slot = read_slot(&store, TABLE, &MAIN, 3).await.unwrap().unwrap();
    assert_eq!(slot.action, SlotAction::Restore { to: 1 });
}

#[tokio::test]
async fn a_write_over_a_restored_version_is_sound() {
    let store = memory();
    let first = create(&store, &[("a", 1)]).await;
    let staged = stage_append(&first, rows(&[("gone", 2)]), uuid(2)).await.unwrap();
    let second = commit(&first, staged).await;
    let restored = commit(&second, stage_restore(2, 1, uuid(3))).await;
    let staged = change(&restored, &["a"], Some(rows(&[("a", 5), ("new", 6)])), uuid(4)).await;
    commit(&restored, staged).await;
    let found = fresh(&store, Version::Latest).await;
    assert_eq!(content(&found).await, owned(&[("a", 5), ("new", 6)]));
}

#[tokio::test]
async fn a_replacement_takes_named_fragments_and_adds_each_batch_as_one() {
    let store = memory();
    let table = create(&store, &[("keep", 1)]).await;
    let staged = stage_replace(
        &table,
        vec![],
        vec![batch(&[("x", 2)]), batch(&[("y", 3), ("z", 4)])],
        uuid(2),
    );
    let table = commit(&table, staged.await.unwrap()).await;
    let fragments: Vec<u64> = table.fragments().unwrap().iter().map(|f| f.id).collect();
    assert_eq!(fragments.len(), 3);
    let hot = fragments[1];
    let only_hot = ScanRequest { fragments: Some(vec![hot]), ..Default::default() };
    assert_eq!(read(&table, only_hot).await, owned(&[("x", 2)]));
    let staged = stage_replace(&table, vec![hot], vec![batch(&[("w", 5)])], uuid(3)).await.unwrap();
    let table = commit(&table, staged).await;
    assert_eq!(content(&table).await, owned(&[("keep", 1), ("w", 5), ("y", 3), ("z", 4)]));
    let now: Vec<u64> = table.fragments().unwrap().iter().map(|f| f.id).collect();
    assert!(!now.contains(&hot) && now.contains(&fragments[0]) && now.contains(&fragments[2]));
}

#[tokio::test]
async fn a_replacement_of_an_unknown_fragment_or_by_an_empty_batch_is_refused() {
    let table = create(&memory(), &[("a", 1)]).await;
    let unknown = stage_replace(&table, vec![77], vec![], uuid(2)).await;
    assert!(matches!(unknown, Err(SubstrateError::InvalidRequest { .. })));
    let empty = stage_replace(&table, vec![], vec![batch(&[])], uuid(2)).await;
    assert!(matches!(empty, Err(SubstrateError::InvalidRequest { .. })));
}

#[tokio::test]
async fn a_replacement_costs_one_listing_and_three_puts_at_any_depth() {
    let (store, counter) = memory().counting();
    let mut table = create(&store, &[("hot", 0)]).await;
    let mut costs = Vec::new();
    for step in 2..=40 {
        let hot = table.fragments().unwrap()[0].id;
        counter.take();
        let staged = stage_replace(&table, vec![hot], vec![batch(&[("hot", 1)])], uuid(step)).await;
        table = commit(&table, staged.unwrap()).await;
        costs.push(counter.take());
    }
    for cost in &costs {
        assert_eq!(cost.of(OperationKind::List), 1, "{cost:?}");
        assert_eq!(cost.durable(), 3, "{cost:?}");
        assert_eq!(cost.total(), 4, "{cost:?}");
    }
}

#[tokio::test]
async fn large_fragments_are_not_split() {
    let table = create(&memory(), &[("a", 1)]).await;
    let many: Vec<(String, i64)> = (0..20_000).map(|n| (format!("{n}"), n)).collect();
    let many: Vec<(&str, i64)> = many.iter().map(|(id, value)| (id.as_str(), *value)).collect();
    let staged = stage_replace(&table, vec![0], vec![batch(&many)], uuid(2)).await.unwrap();
    let table = commit(&table, staged).await;
    assert_eq!((table.fragments().unwrap().len(), table.count_rows().await.unwrap()), (1, 20_000));
}
