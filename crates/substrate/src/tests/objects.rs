//! What an answer of the storage proves about a control object.

use bytes::Bytes;

use super::world::*;
use crate::*;

const SHARED: &str = "_control/branch/x/1.begin";

fn own() -> String {
    format!("_recovery/main/{}.intent", attempt())
}

async fn put(store: &Store, path: &str, bytes: &'static str) -> PutOutcome {
    store.put_if_absent(path, Bytes::from_static(bytes.as_bytes()), attempt()).await.unwrap()
}

#[tokio::test]
async fn the_first_writer_creates_and_the_second_finds_it_taken() {
    let (_directory, on_disk) = local();
    for store in [memory(), on_disk] {
        assert!(matches!(put(&store, SHARED, "one").await, PutOutcome::Created));
        assert!(matches!(put(&store, SHARED, "one").await, PutOutcome::AlreadyExists));
        assert!(matches!(put(&store, SHARED, "two").await, PutOutcome::AlreadyExists));
        assert_eq!(store.get(SHARED).await.unwrap().unwrap(), "one");
    }
}

#[tokio::test]
async fn under_its_own_name_a_writer_recognises_its_object_after_a_lost_answer() {
    let (store, _) = memory().faulty(|_| Fault::LoseAck);
    assert!(matches!(put(&store, &own(), "mine").await, PutOutcome::Created));
}

#[tokio::test]
async fn under_a_shared_name_a_lost_answer_stays_unknown() {
    let (store, _) = memory().faulty(|_| Fault::LoseAck);
    assert!(matches!(put(&store, SHARED, "mine").await, PutOutcome::Unknown(_)));
}

#[tokio::test]
async fn a_failed_put_is_unknown_and_not_absent() {
    let (store, _) = memory().faulty(|_| Fault::Fail);
    assert!(matches!(put(&store, &own(), "mine").await, PutOutcome::Unknown(_)));
}

#[tokio::test]
async fn other_bytes_under_the_own_name_are_not_the_own_object() {
    let store = memory();
    let _ = put(&store, &own(), "theirs").await;
    assert!(matches!(put(&store, &own(), "mine").await, PutOutcome::AlreadyExists));
}

#[tokio::test]
async fn absent_objects_read_as_none_list_as_nothing_and_delete_as_done() {
    let (_directory, on_disk) = local();
    for store in [memory(), on_disk] {
        assert_eq!(store.get(SHARED).await.unwrap(), None);
        assert_eq!(store.head(SHARED).await.unwrap(), None);
        assert_eq!(store.list("_control").await.unwrap(), vec![]);
        store.delete(SHARED).await.unwrap();
    }
}

#[tokio::test]
async fn a_listing_is_in_order_and_tells_size_and_time() {
    let (_directory, on_disk) = local();
    for store in [memory(), on_disk] {
        for path in ["_control/b", "_control/a/2", "_control/a/1", "_controlled"] {
            let _ = put(&store, path, "four").await;
        }
        let found = store.list("_control").await.unwrap();
        let paths: Vec<_> = found.iter().map(|entry| entry.path.as_str()).collect();
        assert_eq!(paths, ["_control/a/1", "_control/a/2", "_control/b"]);
        assert!(found.iter().all(|entry| entry.size == 4 && entry.modified_unix_us > 0));
    }
}

#[tokio::test]
async fn an_upload_that_is_not_finished_is_not_listed() {
    let (directory, store) = local();
    let _ = put(&store, "_control/a", "done").await;
    std::fs::write(directory.path().join("_control/a#1"), b"half").unwrap();
    assert_eq!(store.list("_control").await.unwrap().len(), 1);
}

#[tokio::test]
async fn paths_that_could_leave_the_root_or_need_escaping_are_refused() {
    let store = memory();
    for path in ["", "/a", "a/", "a//b", "../a", "a/./b", "a b", "a\\b", "ä", "a#1", "a?b"] {
        let refused = store.get(path).await;
        assert!(matches!(refused, Err(StoreError::InvalidPath { .. })), "{path}: {refused:?}");
    }
}
