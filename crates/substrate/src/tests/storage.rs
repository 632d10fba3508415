//! Storages: durable directories, memory that forks, locations and their errors.

use super::world::*;
use crate::*;

#[tokio::test]
async fn a_local_store_syncs_unless_told_otherwise() {
    let directory = tempfile::TempDir::new().unwrap();
    let store = Store::local(directory.path(), Durability::default()).unwrap();
    assert!(store.description().contains("fsync: true"), "{}", store.description());
    let relaxed = Store::local(directory.path(), Durability::Relaxed).unwrap();
    assert!(relaxed.description().contains("fsync: false"), "{}", relaxed.description());
}

#[tokio::test]
async fn lance_reaches_a_directory_through_our_store_and_nothing_else() {
    let (directory, store) = local();
    let (counted, counter) = store.counting();
    create(&counted, &[("a", 1)]).await;
    assert!(counter.snapshot().durable() >= 3);
    assert!(directory.path().join(TABLE).join("_versions").is_dir());
    let (dead, handle) = store.faulty(|_| Fault::Proceed);
    handle.kill();
    assert!(TableHandle::open(&dead, TABLE, &MAIN, Version::Latest).await.is_err());
}

#[tokio::test]
async fn a_graph_may_be_moved_to_another_directory() {
    let parent = tempfile::TempDir::new().unwrap();
    let (old, new) = (parent.path().join("old"), parent.path().join("new"));
    let store = Store::create_local(&old, Durability::Relaxed).unwrap();
    create(&store, &[("a", 1)]).await;
    std::fs::rename(&old, &new).unwrap();
    let moved = Store::local(&new, Durability::Relaxed).unwrap();
    assert_eq!(content(&fresh(&moved, Version::Latest).await).await, owned(&[("a", 1)]));
}

#[tokio::test]
async fn a_missing_root_is_an_error_and_is_not_created() {
    let parent = tempfile::TempDir::new().unwrap();
    let root = parent.path().join("typo");
    let opened = Store::local(&root, Durability::Fsync);
    assert!(matches!(opened, Err(StoreError::RootUnusable { .. })), "{opened:?}");
    assert!(!root.exists());
}

#[tokio::test]
async fn an_explicit_creation_makes_the_directories_above_too() {
    let parent = tempfile::TempDir::new().unwrap();
    let root = parent.path().join("a/b/c");
    let store = Store::create_local(&root, Durability::Fsync).unwrap();
    assert!(root.is_dir());
    assert_eq!(store.canonical_root(), root.canonicalize().unwrap().to_str().unwrap());
}

#[tokio::test]
async fn every_spelling_of_a_directory_is_one_root() {
    let parent = tempfile::TempDir::new().unwrap();
    let root = parent.path().canonicalize().unwrap().join("g h");
    Store::create_local(&root, Durability::Fsync).unwrap();
    let path = root.to_str().unwrap();
    let dotted = format!("{path}/../g h/.");
    let url = format!("file://{}", path.replace(' ', "%20"));
    let object_store_url = format!("file-object-store://{}", path.replace(' ', "%20"));
    for spelling in [path, &dotted, &url, &object_store_url] {
        let store = Store::open(spelling, Durability::Fsync).unwrap();
        assert_eq!(store.canonical_root(), path, "{spelling}");
    }
}

#[tokio::test]
async fn storage_that_this_build_does_not_reach_is_refused_with_what_it_reaches() {
    for location in ["s3://b/g", "gs://b/g", "az://c/g"] {
        let refused = Store::open(location, Durability::Fsync).unwrap_err();
        assert!(matches!(refused, StoreError::UnsupportedScheme { .. }));
        assert!(refused.to_string().contains("give a directory"), "{refused}");
    }
}

#[tokio::test]
async fn a_fork_goes_its_own_way() {
    let storage = MemoryStorage::new();
    let store = Store::memory(&storage);
    create(&store, &[("a", 1)]).await;
    let fork = storage.fork();
    assert_eq!(storage.digest().await.unwrap(), fork.digest().await.unwrap());
    let forked = Store::memory(&fork);
    let table = fresh(&forked, Version::Latest).await;
    let staged = stage_append(&table, rows(&[("b", 2)]), uuid(2)).await.unwrap();
    commit(&table, staged).await;
    assert_eq!(fresh(&store, Version::Latest).await.version(), 1);
    assert_eq!(fresh(&forked, Version::Latest).await.version(), 2);
    assert_ne!(storage.digest().await.unwrap(), fork.digest().await.unwrap());
    assert_ne!(store.canonical_root(), forked.canonical_root());
}

#[tokio::test]
async fn memory_lives_as_long_as_a_store_or_a_handle_of_it() {
    let storage = MemoryStorage::new();
    let store = Store::memory(&storage);
    create(&store, &[("a", 1)]).await;
    drop(storage);
    let again = store.reopened();
    drop(store);
    assert_eq!(content(&fresh(&again, Version::Latest).await).await, owned(&[("a", 1)]));
}

#[tokio::test]
async fn a_reopened_store_sees_what_others_have_committed() {
    let storage = MemoryStorage::new();
    let (one, two) = (Store::memory(&storage), Store::memory(&storage));
    create(&one, &[("a", 1)]).await;
    assert_eq!(one.canonical_root(), two.canonical_root());
    assert_eq!(content(&fresh(&two, Version::Latest).await).await, owned(&[("a", 1)]));
}
