//! What the protocol takes from an object store and from Lance without being able to enforce it, where no
//! other guard pins it (docs/assumptions.md). Each is tried on every storage that this build reaches.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use futures::future::join_all;
use lance::dataset::CommitBuilder;
use lance_table::io::commit::ConditionalPutCommitHandler;
use tokio::sync::Barrier;

use super::world::*;
use crate::*;

const NAME: &str = "_control/branch/x/1.begin";

/// Bytes of one creator, too many for one system call: a reader of half of them would show.
fn body(creator: u8) -> Bytes {
    Bytes::from(vec![creator; 512 * 1024])
}

fn is_of_one_creator(found: &Bytes) -> bool {
    found.first().is_some_and(|creator| *found == body(*creator))
}

async fn creates(store: Store, creator: u8, start: Arc<Barrier>) -> bool {
    start.wait().await;
    let put = store.put_if_absent(NAME, body(creator), attempt()).await.unwrap();
    match put {
        PutOutcome::Created => true,
        PutOutcome::AlreadyExists => false,
        PutOutcome::Unknown(error) => panic!("{error}"),
    }
}

async fn reads(store: Store, start: Arc<Barrier>) {
    start.wait().await;
    for _ in 0..50 {
        if let Some(found) = store.get(NAME).await.unwrap() {
            assert!(is_of_one_creator(&found), "{} bytes", found.len());
            let listed = store.list("_control").await.unwrap();
            assert!(listed.len() == 1 && listed[0].size == found.len() as u64, "{listed:?}");
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_racing_creators_one_wins_and_a_reader_sees_all_of_its_object_or_nothing() {
    let (_directory, on_disk) = local();
    for store in [memory(), on_disk] {
        for _ in 0..5 {
            let start = Arc::new(Barrier::new(10));
            let creators =
                (0..8).map(|n| tokio::spawn(creates(store.reopened(), n, start.clone())));
            let creators: Vec<_> = creators.collect();
            let readers = (0..2).map(|_| tokio::spawn(reads(store.reopened(), start.clone())));
            let readers: Vec<_> = readers.collect();
            let won = join_all(creators).await;
            let won: Vec<u8> =
                (0..).zip(won).filter(|it| *it.1.as_ref().unwrap()).map(|it| it.0).collect();
            join_all(readers).await.into_iter().for_each(|reader| reader.unwrap());
            assert_eq!(won.len(), 1, "{won:?}");
            assert_eq!(store.get(NAME).await.unwrap(), Some(body(won[0])), "the winner's bytes");
            store.delete(NAME).await.unwrap();
        }
    }
}

#[tokio::test]
async fn an_object_is_listed_and_read_by_all_once_its_put_is_answered_until_its_deletion_is() {
    let (_directory, on_disk) = local();
    for store in [memory(), on_disk] {
        let mut kept = Vec::new();
        for number in 10..40 {
            let path = format!("_control/claim/x/{number}.claim");
            let bytes = Bytes::from_static(b"x");
            let put = store.put_if_absent(&path, bytes, attempt()).await.unwrap();
            assert!(matches!(put, PutOutcome::Created));
            kept.push(path.clone());
            assert_eq!(listed(&store).await, kept);
            assert_eq!(store.reopened().get(&path).await.unwrap().unwrap(), "x");
            if number % 3 == 0 {
                store.delete(&path).await.unwrap();
                kept.pop();
                assert_eq!(listed(&store).await, kept);
                assert_eq!(store.reopened().get(&path).await.unwrap(), None);
            }
        }
    }
}

/// What somebody else lists.
async fn listed(store: &Store) -> Vec<String> {
    let entries = store.reopened().list("_control/claim").await.unwrap();
    entries.into_iter().map(|entry| entry.path).collect()
}

#[tokio::test]
async fn the_time_of_an_object_is_that_of_its_put_and_stays() {
    let unix_us = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        i64::try_from(now.as_micros()).unwrap()
    };
    let slack = i64::try_from(Duration::from_secs(2).as_micros()).unwrap();
    let (_directory, on_disk) = local();
    for store in [memory(), on_disk] {
        let before = unix_us();
        let _ = store.put_if_absent(NAME, body(1), attempt()).await.unwrap();
        let after = unix_us();
        let time = async || store.list("_control").await.unwrap()[0].modified_unix_us;
        let first = time().await;
        assert!((before - slack..=after + slack).contains(&first), "{before} {first} {after}");
        let again = store.put_if_absent(NAME, body(2), attempt()).await.unwrap();
        assert!(matches!(again, PutOutcome::AlreadyExists));
        assert_eq!(time().await, first, "a refused creation does not touch it");
    }
}

#[tokio::test]
async fn what_an_upload_has_left_that_never_ended_is_in_nobodys_way() {
    let (directory, store) = local();
    std::fs::create_dir_all(directory.path().join("_control/branch/x")).unwrap();
    for number in 1..4 {
        std::fs::write(directory.path().join(format!("{NAME}#{number}")), b"half").unwrap();
    }
    assert_eq!(store.list("_control").await.unwrap(), vec![]);
    assert!(matches!(
        store.put_if_absent(NAME, body(1), attempt()).await.unwrap(),
        PutOutcome::Created
    ));
    assert_eq!(store.get(NAME).await.unwrap(), Some(body(1)));
}

#[tokio::test]
async fn lance_alone_lands_one_transaction_twice() {
    let store = memory();
    let table = create(&store, &[("a", 1)]).await;
    let staged = stage_append(&table, rows(&[("b", 2)]), uuid(2)).await.unwrap();
    for version in [2, 3] {
        let committed = CommitBuilder::new(Arc::clone(table.dataset()))
            .with_commit_handler(Arc::new(ConditionalPutCommitHandler))
            .execute(staged.clone().into_transaction());
        assert_eq!(Box::pin(committed).await.unwrap().manifest().version, version);
    }
    let found = content(&fresh(&store, Version::Latest).await).await;
    assert_eq!(found, owned(&[("a", 1), ("b", 2), ("b", 2)]), "the trap is gone");
}

#[tokio::test]
async fn lance_alone_lets_a_restore_erase_a_commit_that_came_first() {
    let store = memory();
    let table = create(&store, &[("a", 1)]).await;
    let restore = stage_restore(table.version(), 1, uuid(3));
    let added = stage_append(&table, rows(&[("b", 2)]), uuid(2)).await.unwrap();
    commit(&table, added).await;
    let committed = CommitBuilder::new(Arc::clone(table.dataset()))
        .with_commit_handler(Arc::new(ConditionalPutCommitHandler))
        .execute(restore.into_transaction());
    assert_eq!(Box::pin(committed).await.unwrap().manifest().version, 3);
    let found = content(&fresh(&store, Version::Latest).await).await;
    assert_eq!(found, owned(&[("a", 1)]), "the trap is gone");
}
