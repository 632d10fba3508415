//! The creation of a dataset is exclusive and complete in one commit.

use std::sync::Arc;

use futures::future::join_all;
use tokio::sync::Barrier;

use super::world::*;
use crate::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_creations_have_exactly_one_winner() {
    for round in 0..20 {
        let store = memory();
        let start = Arc::new(Barrier::new(6));
        let creators = (0..6)
            .map(|racer| tokio::spawn(one_creator(store.reopened(), racer, Arc::clone(&start))));
        let landings: Vec<Landing> =
            join_all(creators).await.into_iter().map(Result::unwrap).collect();
        let won = landings.iter().filter(|landing| matches!(landing, Landing::Landed { .. }));
        assert_eq!(won.count(), 1, "round {round}");
        let found = fresh(&store, Version::Latest).await;
        let identity = found.identity().await.unwrap().clone();
        assert_eq!((identity.version, found.count_rows().await.unwrap()), (1, 1));
        for landing in landings {
            match landing {
                Landing::Landed { version, .. } => assert_eq!(version, identity),
                loser => assert_eq!(winner(loser), Some(identity.tx_uuid.clone())),
            }
        }
    }
}

async fn one_creator(store: Store, racer: u32, start: Arc<Barrier>) -> Landing {
    let staged = stage_create(&store, TABLE, rows(&[("a", 0)]), uuid(racer)).await.unwrap();
    start.wait().await;
    create_dataset(&permit(), &store, TABLE, staged).await.unwrap()
}

#[tokio::test]
async fn a_creation_over_an_existing_dataset_is_refused_and_leaves_it_alone() {
    let store = memory();
    let staged = stage_create(&store, TABLE, rows(&[("mine", 1)]), uuid(5)).await.unwrap();
    create(&store, &[("theirs", 2)]).await;
    let refused = create_dataset(&permit(), &store, TABLE, staged).await.unwrap();
    assert_eq!(winner(refused), Some(uuid(1)));
    assert_eq!(content(&fresh(&store, Version::Latest).await).await, owned(&[("theirs", 2)]));
}

#[tokio::test]
async fn a_creation_does_not_land_in_a_dataset_that_has_moved_on() {
    let store = memory();
    let staged = stage_create(&store, TABLE, rows(&[("mine", 1)]), uuid(5)).await.unwrap();
    fences(create(&store, &[("theirs", 2)]).await, 2..=3).await;
    let refused = create_dataset(&permit(), &store, TABLE, staged).await.unwrap();
    assert_eq!(winner(refused), Some(uuid(1)));
    assert_eq!(head(&store, TABLE, &MAIN).await.unwrap().unwrap().version, 3);
}

#[tokio::test]
async fn a_repeated_creation_reports_the_landing_of_the_first() {
    let store = memory();
    let staged = stage_create(&store, TABLE, rows(&[("a", 1)]), uuid(1)).await.unwrap();
    let first = create_dataset(&permit(), &store, TABLE, staged.clone()).await.unwrap();
    let again = create_dataset(&permit(), &store, TABLE, staged).await.unwrap();
    assert_eq!(landed(first).0, landed(again).0);
}

#[tokio::test]
async fn staging_a_creation_where_a_dataset_is_fails_and_writes_nothing() {
    let storage = MemoryStorage::new();
    let store = Store::memory(&storage);
    create(&store, &[("a", 1)]).await;
    let before = storage.digest().await.unwrap();
    let refused = stage_create(&store, TABLE, rows(&[("b", 1)]), uuid(5)).await;
    assert!(matches!(refused, Err(SubstrateError::TableExists { .. })), "{refused:?}");
    assert_eq!(storage.digest().await.unwrap(), before);
}

#[tokio::test]
async fn a_new_dataset_has_stable_row_ids_and_no_automatic_cleanup() {
    let table = create(&memory(), &[("a", 1)]).await;
    let manifest = table.dataset().manifest();
    assert!(manifest.uses_stable_row_ids());
    assert!(
        manifest.config.keys().all(|key| !key.contains("auto_cleanup")),
        "{:?}",
        manifest.config
    );
}

#[tokio::test]
async fn a_dataset_can_be_created_without_rows() {
    let store = memory();
    let staged = stage_create(&store, TABLE, BatchStream::of(schema(), Vec::new()), uuid(1)).await;
    let created = create_dataset(&permit(), &store, TABLE, staged.unwrap()).await.unwrap();
    let (_, table) = landed(created);
    assert_eq!((table.count_rows().await.unwrap(), table.fragments().unwrap().len()), (0, 0));
    assert_eq!(content(&table).await, owned(&[]));
}

#[tokio::test]
async fn schema_metadata_survives_every_kind_of_commit() {
    let store = memory();
    let stamp = |table: &TableHandle| table.schema_metadata().get("stamp").cloned();
    let mut table = create(&store, &[("a", 1)]).await;
    let mut steps = 2..;
    for stage in 0..6 {
        let next = uuid(steps.next().unwrap());
        let version = table.version();
        let staged = match stage {
            0 => stage_append(&table, rows(&[("b", 2)]), next).await.unwrap(),
            1 => change(&table, &["a"], Some(rows(&[("a", 3)])), next).await,
            2 => change(&table, &["a"], None, next).await,
            3 => stage_replace(&table, vec![], vec![batch(&[("c", 4)])], next).await.unwrap(),
            4 => stage_fence(version, next),
            _ => stage_restore(version, 1, next),
        };
        table = commit(&table, staged).await;
        assert_eq!(stamp(&table).as_deref(), Some("format 1"), "stage {stage}");
        let reopened = fresh(&store, Version::Latest).await;
        assert_eq!(stamp(&reopened).as_deref(), Some("format 1"), "stage {stage}, reopened");
    }
}
