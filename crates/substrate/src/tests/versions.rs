//! The newest version is what the listing says, over sparse versions and in spite of any hint.

use bytes::Bytes;
use graphwrite_protocol_types::Pin;
use lance::dataset::builder::DatasetBuilder;
use object_store::ObjectStoreExt;
use object_store::path::Path;

use super::world::*;
use crate::*;

const HINT: &str = "tables/t/_versions/latest_version_hint.json";

async fn write_hint(store: &Store, hint: &'static [u8]) {
    store.objects().put(&Path::from(HINT), Bytes::from_static(hint).into()).await.unwrap();
}

/// Versions 10 and 12 and a hint of 10.
async fn sparse(store: &Store) {
    fences(create(store, &[("a", 1)]).await, 2..=12).await;
    for version in (1..10).chain([11]) {
        store.delete(&manifest_path(version)).await.unwrap();
    }
    write_hint(store, br#"{"version":10}"#).await;
}

async fn assert_newest_is(store: &Store, version: u64) {
    assert_eq!(fresh(store, Version::Latest).await.version(), version);
    let found = head(&store.reopened(), TABLE, &MAIN).await.unwrap().unwrap();
    assert_eq!((found.version, found.tx_uuid), (version, uuid(version as u32)));
}

#[tokio::test]
async fn a_stale_hint_does_not_hide_the_newest_of_sparse_versions() {
    let (_directory, on_disk) = local();
    for store in [memory(), on_disk] {
        sparse(&store).await;
        assert_newest_is(&store, 12).await;
    }
}

#[tokio::test]
async fn lance_alone_is_misled_by_the_hint() {
    let (directory, store) = local();
    sparse(&store).await;
    let uri = format!("file-object-store://{}/{TABLE}", store.canonical_root());
    let opened = Box::pin(DatasetBuilder::from_uri(uri).load()).await.unwrap();
    assert_eq!(opened.manifest().version, 10, "the trap is gone: {}", directory.path().display());
}

#[tokio::test]
async fn a_hint_of_garbage_is_ignored() {
    let (_directory, store) = local();
    fences(create(&store, &[("a", 1)]).await, 2..=3).await;
    write_hint(&store, b"\xff not json").await;
    assert_newest_is(&store, 3).await;
}

#[tokio::test]
async fn no_hint_is_ever_written() {
    let (_directory, store) = local();
    fences(create(&store, &[("a", 1)]).await, 2..=3).await;
    assert_eq!(store.head(HINT).await.unwrap(), None);
}

#[tokio::test]
async fn a_commit_continues_after_the_newest_of_sparse_versions() {
    let store = memory();
    sparse(&store).await;
    let old = fresh(&store, Version::Exact(10)).await;
    let refused = strict_commit(&permit(), &old, stage_fence(10, uuid(50))).await.unwrap();
    assert_eq!(winner(refused), None);
    let newest = fresh(&store, Version::Latest).await;
    assert_eq!(commit(&newest, stage_fence(12, uuid(13))).await.version(), 13);
}

#[tokio::test]
async fn the_transaction_of_a_version_is_read_from_storage() {
    let store = memory();
    let table = fences(create(&store, &[("a", 1)]).await, 2..=2).await;
    assert_eq!(table.tx_uuid().await.unwrap(), uuid(2));
    assert_eq!(fresh(&store, Version::Latest).await.tx_uuid().await.unwrap(), uuid(2));
    assert_eq!(table.tx_uuid_at(1).await.unwrap(), Some(uuid(1)));
    assert_eq!(table.tx_uuid_at(3).await.unwrap(), None);
}

#[tokio::test]
async fn the_version_that_a_commit_returns_equals_the_one_that_storage_shows() {
    let (_directory, on_disk) = local();
    for store in [memory(), on_disk] {
        let table = create(&store, &[("a", 1)]).await;
        let committed = table.identity().await.unwrap();
        assert!(committed.e_tag.is_some());
        let found = head(&store.reopened(), TABLE, &MAIN).await.unwrap();
        assert_eq!(Some(committed), found.as_ref());
    }
}

#[tokio::test]
async fn absent_datasets_refs_and_versions_are_not_found() {
    let (_directory, on_disk) = local();
    for store in [memory(), on_disk] {
        assert_eq!(head(&store, TABLE, &MAIN).await.unwrap(), None);
        assert_not_found(&store, &MAIN, Version::Latest).await;
        create(&store, &[("a", 1)]).await;
        assert_not_found(&store, &MAIN, Version::Exact(2)).await;
        let other = graphwrite_protocol_types::PhysicalRef::Named("t-x".to_owned());
        assert_eq!(head(&store, TABLE, &other).await.unwrap(), None);
        assert_not_found(&store, &other, Version::Latest).await;
    }
}

async fn assert_not_found(
    store: &Store,
    physical_ref: &graphwrite_protocol_types::PhysicalRef,
    version: Version,
) {
    let opened = TableHandle::open(store, TABLE, physical_ref, version).await;
    assert!(matches!(opened, Err(SubstrateError::TableNotFound { .. })), "{opened:?}");
}

#[tokio::test]
async fn the_evidence_of_a_head_costs_one_listing_and_one_read() {
    let (store, counter) = memory().counting();
    fences(create(&store, &[("a", 1)]).await, 2..=5).await;
    counter.take();
    head(&store, TABLE, &MAIN).await.unwrap();
    let counts = counter.take();
    assert_eq!((counts.of(OperationKind::List), counts.of(OperationKind::Get)), (1, 1));
    assert_eq!(counts.total(), 2);
}

#[tokio::test]
async fn a_version_that_is_cut_off_anywhere_is_an_error_and_never_a_panic() {
    let store = memory();
    fences(create(&store, &[("a", 1)]).await, 2..=3).await;
    let newest = Path::from(manifest_path(3));
    let whole = store.get(newest.as_ref()).await.unwrap().unwrap();
    for length in 0..whole.len() {
        store.objects().put(&newest, whole.slice(..length).into()).await.unwrap();
        let damaged = store.reopened();
        let opened = TableHandle::open(&damaged, TABLE, &MAIN, Version::Latest).await;
        assert!(
            matches!(opened, Err(SubstrateError::Damaged { .. })),
            "{length} bytes: {opened:?}"
        );
        let found = head(&damaged, TABLE, &MAIN).await;
        assert!(matches!(found, Err(SubstrateError::Damaged { .. })), "{length} bytes: {found:?}");
    }
}

/// The name of a version in an object that is put beside the right ones, by any number.
fn named(number: &str) -> String {
    format!("{TABLE}/_versions/{number}.manifest")
}

async fn assert_misnamed(store: &Store, object: &str, named: u64, found: u64) {
    let is_told = |error: Option<SubstrateError>| match error {
        Some(SubstrateError::Misnamed { object: at, named: says, found: holds, .. }) => {
            assert_eq!((at.as_str(), says, holds), (object, named, found));
        }
        other => panic!("{object}: {other:?}"),
    };
    is_told(TableHandle::open(store, TABLE, &MAIN, Version::Latest).await.err());
    is_told(head(store, TABLE, &MAIN).await.err());
    for likely in [1, 3, named] {
        is_told(head_expected(store, TABLE, &MAIN, likely).await.err());
    }
}

#[tokio::test]
async fn a_version_under_the_name_of_another_is_refused_cold_and_warm_and_named() {
    let (_directory, on_disk) = local();
    for store in [memory(), on_disk] {
        fences(create(&store, &[("a", 1)]).await, 2..=3).await;
        fresh(&store, Version::Latest).await;
        for (number, named_as, holds) in [
            (format!("{:020}", u64::MAX - 4), 4, 3),
            (format!("{:020}", u64::MAX - 9), 9, 1),
            (format!("{:020}", u64::MAX >> 1), (u64::MAX >> 1) + 1, 2),
            (format!("{:020}", 0), u64::MAX, 3),
            (format!("+{:019}", 7), u64::MAX - 7, 3),
        ] {
            let copy = store.get(&manifest_path(holds)).await.unwrap().unwrap();
            let object = named(&number);
            store.objects().put(&Path::from(object.as_str()), copy.into()).await.unwrap();
            assert_misnamed(&store, &object, named_as, holds).await;
            assert_misnamed(&store.reopened(), &object, named_as, holds).await;
            store.objects().delete(&Path::from(object.as_str())).await.unwrap();
            assert_newest_is(&store, 3).await;
        }
    }
}

#[tokio::test]
async fn an_old_version_under_the_name_of_another_is_refused_where_it_is_asked_for() {
    let store = memory();
    fences(create(&store, &[("a", 1)]).await, 2..=3).await;
    let copy = store.get(&manifest_path(1)).await.unwrap().unwrap();
    store.objects().put(&Path::from(manifest_path(2)), copy.into()).await.unwrap();
    let told = |error| {
        let is_told = matches!(error, Some(SubstrateError::Misnamed { named: 2, found: 1, .. }));
        assert!(is_told, "{error:?}");
    };
    let store = store.reopened();
    assert_not_found(&store, &MAIN, Version::Exact(2)).await;
    told(read_slot(&store, TABLE, &MAIN, 2).await.err());
    told(read_version(&store, TABLE, &MAIN, 2).await.err());
}

#[test]
fn a_name_of_a_version_has_one_form_only() {
    let version = |name: &str| version_of_object(&named(name));
    assert_eq!(version(&format!("{:020}", u64::MAX - 7)), Some(7));
    for name in ["7", "00000000000000000000", "+0000000000000000007", "d7", "1.234567890123456789"]
    {
        assert_eq!(version(name), None, "{name}");
    }
}

#[tokio::test]
async fn an_expected_head_is_found_wherever_it_is_and_costs_one_listing_and_one_read() {
    let (store, counter) = memory().counting();
    assert_eq!(head_expected(&store, TABLE, &MAIN, 1).await.unwrap(), None);
    let table = create(&store, &[("a", 1)]).await;
    let table = fences(table, 2..=4).await;
    let newest = head(&store, TABLE, &MAIN).await.unwrap();
    assert_eq!(newest.as_ref().unwrap().version, table.version());
    for (likely, reads) in [(4, 1), (3, 2), (1, 2), (9, 2)] {
        counter.take();
        assert_eq!(head_expected(&store, TABLE, &MAIN, likely).await.unwrap(), newest, "{likely}");
        let cost = counter.take();
        assert_eq!((cost.of(OperationKind::List), cost.of(OperationKind::Get)), (1, reads));
    }
    store.delete(&manifest_path(3)).await.unwrap();
    assert_eq!(head_expected(&store, TABLE, &MAIN, 3).await.unwrap(), newest);
}

#[tokio::test]
async fn a_pin_opens_its_own_version_and_no_other_of_its_number() {
    let store = memory();
    fences(create(&store, &[("a", 1)]).await, 2..=4).await;
    for version in 1..=4 {
        let pin = |step| Pin { version, tx_uuid: uuid(step) };
        let own = u32::try_from(version).unwrap();
        let (counted, counter) = store.reopened().counting();
        let table = TableHandle::open_pin(&counted, TABLE, &MAIN, &pin(own)).await.unwrap();
        assert_eq!(table.version(), version);
        let pinned = counter.snapshot();
        let (counted, counter) = store.reopened().counting();
        let exact = Version::Exact(version);
        TableHandle::open(&counted, TABLE, &MAIN, exact).await.unwrap();
        assert_eq!(pinned, counter.snapshot(), "it costs nothing");
        let other = TableHandle::open_pin(&store, TABLE, &MAIN, &pin(own + 1)).await;
        let is_told = matches!(other, Err(SubstrateError::VersionReplaced { .. }));
        assert!(is_told, "{version}: {other:?}");
    }
    let gone = Pin { version: 9, tx_uuid: uuid(9) };
    let gone = TableHandle::open_pin(&store, TABLE, &MAIN, &gone).await;
    assert!(matches!(gone, Err(SubstrateError::TableNotFound { .. })), "{gone:?}");
}
