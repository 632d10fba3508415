//! The layers see every request, and each fate is what it says.

use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};

use super::world::*;
use crate::*;

fn at(number: u64, fault: Fault) -> impl Fn(&Operation) -> Fault + Send + Sync {
    move |operation| if operation.number == number { fault } else { Fault::Proceed }
}

fn bytes(text: &'static str) -> PutPayload {
    Bytes::from_static(text.as_bytes()).into()
}

fn path(text: &str) -> Path {
    Path::from(text)
}

async fn write(store: &Store, name: &str) -> object_store::Result<()> {
    store.objects().put(&path(name), bytes("x")).await.map(drop)
}

/// Every way of object_store to change something.
async fn every_change(objects: &Arc<dyn ObjectStore>) -> object_store::Result<()> {
    objects.put(&path("put"), bytes("1")).await?;
    objects.put_opts(&path("create"), bytes("2"), object_store::PutMode::Create.into()).await?;
    let mut upload = objects.put_multipart(&path("parts")).await?;
    upload.put_part(bytes("3")).await?;
    upload.complete().await?;
    objects.copy(&path("put"), &path("copy")).await?;
    objects.copy_if_not_exists(&path("put"), &path("copy2")).await?;
    objects.rename(&path("copy"), &path("renamed")).await?;
    objects.rename_if_not_exists(&path("copy2"), &path("renamed2")).await?;
    objects.delete(&path("put")).await?;
    let both = futures::stream::iter([Ok(path("create")), Ok(path("parts"))]).boxed();
    objects
        .delete_stream(both)
        .collect::<Vec<_>>()
        .await
        .into_iter()
        .collect::<Result<Vec<_>, _>>()?;
    Ok(())
}

const EVERY_KIND: [OperationKind; 10] = [
    OperationKind::Put,
    OperationKind::PutIfAbsent,
    OperationKind::Complete,
    OperationKind::Copy,
    OperationKind::CopyIfAbsent,
    OperationKind::Rename,
    OperationKind::RenameIfAbsent,
    OperationKind::Delete,
    OperationKind::Delete,
    OperationKind::Delete,
];

#[tokio::test]
async fn every_way_to_change_something_is_numbered_and_logged() {
    let (_directory, on_disk) = local();
    for store in [memory(), on_disk] {
        let (store, handle) = store.faulty(|_| Fault::Proceed);
        every_change(store.objects()).await.unwrap();
        let log = handle.log();
        let kinds: Vec<_> = log.operations().map(|operation| operation.kind).collect();
        assert_eq!(kinds, EVERY_KIND);
        let numbers: Vec<_> = log.operations().map(|operation| operation.number).collect();
        assert_eq!(numbers, (1..=10).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_client_may_die_before_each_of_them_and_changes_nothing_more() {
    for k in 1..=10 {
        let storage = MemoryStorage::new();
        let (store, handle) = Store::memory(&storage).faulty(at(k, Fault::DieBefore));
        assert!(every_change(store.objects()).await.is_err(), "{k}");
        assert!(handle.is_dead());
        assert_eq!(handle.durable_operations(), k, "what the dead ask for is not logged");
        let after = storage.digest().await.unwrap();
        assert!(write(&store, "more").await.is_err());
        assert!(store.get("put").await.is_err(), "the dead do not read either");
        assert_eq!(storage.digest().await.unwrap(), after);
    }
}

#[tokio::test]
async fn dying_after_an_operation_leaves_its_effect() {
    let storage = MemoryStorage::new();
    let (store, handle) = Store::memory(&storage).faulty(at(1, Fault::DieAfter));
    assert!(write(&store, "a").await.is_err());
    assert!(handle.is_dead());
    assert!(Store::memory(&storage).get("a").await.unwrap().is_some());
}

#[tokio::test]
async fn a_lost_answer_leaves_the_effect_and_the_client_alive() {
    let (store, _) = memory().faulty(at(1, Fault::LoseAck));
    assert!(write(&store, "a").await.is_err());
    assert!(store.get("a").await.unwrap().is_some());
}

#[tokio::test]
async fn a_failed_operation_has_no_effect_and_the_client_lives() {
    let (store, _) = memory().faulty(at(1, Fault::Fail));
    assert!(write(&store, "a").await.is_err());
    assert_eq!(store.get("a").await.unwrap(), None);
    write(&store, "b").await.unwrap();
}

#[tokio::test]
async fn a_late_operation_happens_when_it_is_released() {
    let storage = MemoryStorage::new();
    let (store, handle) = Store::memory(&storage).faulty(at(1, Fault::LateDead));
    assert!(write(&store, "a").await.is_err());
    assert_eq!(Store::memory(&storage).get("a").await.unwrap(), None);
    assert_eq!(handle.release_late().await, 1);
    assert!(Store::memory(&storage).get("a").await.unwrap().is_some());
    assert_eq!(handle.release_late().await, 0);
}

#[tokio::test]
async fn a_late_operation_may_leave_its_client_hanging() {
    let (store, handle) = memory().faulty(at(1, Fault::LateHanging));
    let mut hanging = Box::pin(write(&store, "a"));
    assert!(futures::poll!(&mut hanging).is_pending());
    handle.release_late().await;
    assert!(futures::poll!(&mut hanging).is_pending());
    assert!(store.get("a").await.unwrap().is_some());
}

#[tokio::test]
async fn a_late_operation_may_leave_its_client_alive() {
    let (store, handle) = memory().faulty(at(1, Fault::LateAlive));
    assert!(write(&store, "a").await.is_err());
    assert_eq!(store.get("a").await.unwrap(), None);
    assert_eq!(handle.release_late().await, 1);
    assert!(store.get("a").await.unwrap().is_some());
}

#[tokio::test]
async fn a_held_listing_shows_what_is_there_when_it_is_let_go() {
    let storage = MemoryStorage::new();
    let (store, mut handle) = Store::memory(&storage).holding(|_| true);
    let listing = tokio::spawn(async move { store.list("a").await });
    let held = handle.next().await.unwrap();
    write(&Store::memory(&storage), "a/b").await.unwrap();
    held.release();
    assert_eq!(listing.await.unwrap().unwrap().len(), 1);
}

#[tokio::test]
async fn a_held_request_waits_for_its_release() {
    let (store, mut handle) = memory().holding(|operation| operation.kind.is_durable());
    let writer = tokio::spawn({
        let store = store.clone();
        async move { write(&store, "a").await }
    });
    let held = handle.next().await.unwrap();
    assert_eq!((held.operation.kind, held.operation.path.as_str()), (OperationKind::Put, "a"));
    assert_eq!(store.get("a").await.unwrap(), None);
    held.release();
    writer.await.unwrap().unwrap();
    assert!(store.get("a").await.unwrap().is_some());
}

#[tokio::test]
async fn a_held_request_that_is_dropped_fails_without_effect() {
    let (store, mut handle) = memory().holding(|operation| operation.kind.is_durable());
    let (written, ()) = tokio::join!(write(&store, "a"), async {
        drop(handle.next().await);
    });
    assert!(written.is_err());
    assert_eq!(store.get("a").await.unwrap(), None);
}

#[tokio::test]
async fn a_held_request_knows_whether_its_client_still_waits() {
    let (store, mut handle) = memory().holding(|_| true);
    let mut reading = Box::pin(store.get("a"));
    assert!(futures::poll!(&mut reading).is_pending());
    let held = handle.try_next().unwrap();
    assert!(!held.is_abandoned());
    drop(reading);
    assert!(held.is_abandoned());
}

#[tokio::test]
async fn nothing_is_held_when_nobody_holds() {
    let (store, handle) = memory().holding(|_| true);
    drop(handle);
    write(&store, "a").await.unwrap();
}

#[tokio::test]
async fn requests_and_bytes_are_counted_by_kind() {
    let (store, counter) = memory().counting();
    write(&store, "a").await.unwrap();
    store.get("a").await.unwrap();
    store.head("a").await.unwrap();
    store.list("a").await.unwrap();
    let counts = counter.take();
    for kind in [OperationKind::Put, OperationKind::Get, OperationKind::Head, OperationKind::List] {
        assert_eq!(counts.of(kind), 1, "{kind:?}");
    }
    assert_eq!((counts.bytes_written, counts.bytes_read), (1, 1));
    assert_eq!((counts.reads(), counts.durable(), counts.total()), (3, 1, 4));
    assert_eq!(counter.snapshot(), RequestCounts::default());
}

#[tokio::test]
async fn layers_stack() {
    let (counted, counter) = memory().counting();
    let (store, handle) = counted.faulty(at(2, Fault::DieBefore));
    write(&store, "a").await.unwrap();
    assert!(write(&store, "b").await.is_err());
    assert_eq!((counter.take().durable(), handle.durable_operations()), (1, 2));
}

#[tokio::test]
async fn a_table_write_passes_through_the_layers_whole() {
    let (store, handle) = memory().faulty(|_| Fault::Proceed);
    create(&store, &[("a", 1)]).await;
    let log = handle.log();
    for part in ["/data/", "/_transactions/", "/_versions/"] {
        assert!(log.operations().any(|operation| operation.path.contains(part)), "{part}");
    }
    let manifest = log.find(OperationKind::PutIfAbsent, "/_versions/").unwrap();
    assert_eq!(manifest.number, handle.durable_operations(), "the manifest is last");
}
