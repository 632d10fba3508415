//! Refs beside main: a clone of a version, with files of its own and files of the version.

use graphwrite_protocol_types::PhysicalRef;

use super::forks::{first_write, fork};
use super::world::*;
use crate::*;

fn named() -> PhysicalRef {
    PhysicalRef::of_first_write(attempt())
}

#[tokio::test]
async fn a_ref_starts_at_the_version_it_was_made_of_and_moves_alone() {
    let store = memory();
    create(&store, &[("a", 1)]).await;
    let forked = fork(&store, &first_write(1)).await;
    assert_eq!(forked.version(), 1);
    let staged = stage_append(&forked, rows(&[("b", 2)]), uuid(2)).await.unwrap();
    let forked = commit(&forked, staged).await;
    assert_eq!((forked.version(), forked.physical_ref()), (2, &named()));
    assert_eq!(content(&forked).await, owned(&[("a", 1), ("b", 2)]));
    assert_eq!(head(&store, TABLE, &MAIN).await.unwrap().unwrap().version, 1);
    assert_eq!(head(&store, TABLE, &named()).await.unwrap().unwrap().tx_uuid, uuid(2));
}

#[tokio::test]
async fn commits_on_a_ref_are_strict() {
    let store = memory();
    create(&store, &[("a", 1)]).await;
    let forked = fork(&store, &first_write(1)).await;
    commit(&forked, stage_fence(1, uuid(3))).await;
    let staged = stage_append(&forked, rows(&[("b", 2)]), uuid(2)).await.unwrap();
    let refused = strict_commit(&permit(), &forked, staged).await.unwrap();
    assert_eq!(winner(refused), Some(uuid(3)));
}

#[tokio::test]
async fn files_that_a_ref_inherits_are_found_where_main_has_them() {
    let store = memory();
    let main = create(&store, &[("a", 1), ("b", 2)]).await;
    let forked = fork(&store, &first_write(1)).await;
    assert_eq!(forked.fragments().unwrap(), main.fragments().unwrap());
    let staged = change(&forked, &["a"], None, uuid(2)).await;
    assert!(staged.new_files()[0].contains(&format!("/tree/{}/", named())));
    let forked = commit(&forked, staged).await;
    assert_eq!(forked.missing_files().await.unwrap(), Vec::<String>::new());
    assert_eq!(content(&forked).await, owned(&[("b", 2)]));
    let file = main.fragments().unwrap()[0].data[0].clone();
    store.delete(&file).await.unwrap();
    assert_eq!(forked.missing_files().await.unwrap(), vec![file]);
}

#[tokio::test]
async fn a_ref_reads_after_the_graph_has_moved() {
    let parent = tempfile::TempDir::new().unwrap();
    let (old, new) = (parent.path().join("old"), parent.path().join("new"));
    let store = Store::create_local(&old, Durability::Relaxed).unwrap();
    create(&store, &[("a", 1)]).await;
    fork(&store, &first_write(1)).await;
    std::fs::rename(&old, &new).unwrap();
    let moved = Store::local(&new, Durability::Relaxed).unwrap();
    let forked = TableHandle::open(&moved, TABLE, &named(), Version::Latest).await.unwrap();
    assert_eq!(content(&forked).await, owned(&[("a", 1)]));
}

#[tokio::test]
async fn the_removal_of_a_dataset_takes_its_refs_along() {
    let store = memory();
    create(&store, &[("a", 1)]).await;
    fork(&store, &first_write(1)).await;
    delete_dataset(&permit(), &store, TABLE).await.unwrap();
    assert_eq!(store.list(TABLE).await.unwrap(), vec![]);
}
