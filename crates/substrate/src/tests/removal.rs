//! The removal of a dataset, and every crash inside it.

use super::world::*;
use crate::*;

async fn populated() -> MemoryStorage {
    let storage = MemoryStorage::new();
    let store = Store::memory(&storage);
    let table = create(&store, &[("a", 1), ("b", 2)]).await;
    let staged = change(&table, &["a"], Some(rows(&[("c", 3)])), uuid(2)).await;
    commit(&table, staged).await;
    storage
}

#[tokio::test]
async fn removal_leaves_nothing_and_may_be_repeated() {
    let store = Store::memory(&populated().await);
    for _ in 0..2 {
        delete_dataset(&permit(), &store, TABLE).await.unwrap();
        assert_eq!(store.list(TABLE).await.unwrap(), vec![]);
        assert_eq!(head(&store, TABLE, &MAIN).await.unwrap(), None);
    }
}

#[tokio::test]
async fn removal_spares_the_neighbour_whose_name_begins_alike() {
    let store = memory();
    let other = "tables/t2";
    create(&store, &[("a", 1)]).await;
    let staged = stage_create(&store, other, rows(&[("b", 2)]), uuid(9)).await.unwrap();
    landed(create_dataset(&permit(), &store, other, staged).await.unwrap());
    delete_dataset(&permit(), &store, TABLE).await.unwrap();
    assert_eq!(head(&store, other, &MAIN).await.unwrap().unwrap().tx_uuid, uuid(9));
}

#[tokio::test]
async fn no_crash_inside_a_removal_leaves_a_version_over_missing_files() {
    let world = populated().await;
    let (store, handle) = Store::memory(&world.fork()).faulty(|_| Fault::Proceed);
    delete_dataset(&permit(), &store, TABLE).await.unwrap();
    let deletions = handle.durable_operations();
    assert!(deletions > 4, "{deletions}");
    for k in 1..=deletions {
        let storage = world.fork();
        let die = move |operation: &Operation| {
            if operation.number == k { Fault::DieBefore } else { Fault::Proceed }
        };
        let (dying, _) = Store::memory(&storage).faulty(die);
        assert!(delete_dataset(&permit(), &dying, TABLE).await.is_err(), "crash {k}");
        let store = Store::memory(&storage);
        match TableHandle::open(&store, TABLE, &MAIN, Version::Latest).await {
            Ok(table) => {
                assert_eq!(table.missing_files().await.unwrap(), Vec::<String>::new(), "{k}")
            }
            Err(SubstrateError::TableNotFound { .. }) => {}
            Err(error) => panic!("crash {k}: {error}"),
        }
        delete_dataset(&permit(), &store, TABLE).await.unwrap();
        assert_eq!(store.list(TABLE).await.unwrap(), vec![], "crash {k}");
    }
}
