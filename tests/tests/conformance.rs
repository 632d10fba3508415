//! What a load does when nothing goes wrong, and what it refuses.

use graphwrite_coordinator::{
    Graph, GraphOptions, LoadMode, MemoryStorage, RecoverMode, RecoverRequest, Store,
};
use graphwrite_protocol_types::{Conflict, WriteOutcome};

use crate::world::{BASE, append, assert_clean, create, load, reopen, rows};

#[tokio::test]
async fn a_load_of_many_tables_is_one_commit() {
    let storage = MemoryStorage::new();
    let store = Store::memory(&storage);
    let graph = create(&store).await;
    let receipt = append(&graph, BASE).await;
    let log = graph.log(10).await.unwrap();
    assert_eq!(log.len(), 1);
    assert_eq!(Some(log[0].commit), receipt.commit);
    assert_eq!(receipt.tables.iter().map(|table| table.inserted).sum::<u64>(), 4);
    assert_clean(&graph).await;
    let fresh = reopen(&store).await;
    assert_eq!(rows(&fresh).await, rows(&graph).await);
    assert_eq!(rows(&graph).await["Person"].len(), 2);
}

#[tokio::test]
async fn appending_the_same_rows_again_names_the_first_key_and_its_line() {
    let graph = create(&Store::memory(&MemoryStorage::new())).await;
    append(&graph, BASE).await;
    let before = rows(&graph).await;
    let WriteOutcome::Conflict(Conflict::KeyExists { table, key, place, total }) =
        load(&graph, LoadMode::Append, BASE).await
    else {
        panic!("a key conflict");
    };
    assert_eq!((table.as_str(), total), ("Person", 4));
    assert!(key.contains("p1"), "{key}");
    assert_eq!(place.as_deref(), Some("line 1"));
    assert_eq!(rows(&graph).await, before);
    assert_clean(&graph).await;
}

#[tokio::test]
async fn upserting_the_same_rows_changes_nothing() {
    let graph = create(&Store::memory(&MemoryStorage::new())).await;
    let first = append(&graph, BASE).await;
    let outcome = load(&graph, LoadMode::Upsert, BASE).await;
    let WriteOutcome::NoChange(receipt) = outcome else { panic!("{outcome:?}") };
    assert_eq!(receipt.commit, first.commit);
    assert_eq!(graph.log(10).await.unwrap().len(), 1);
}

/// Compiles only if a caller may spawn every call, with the compiler's default recursion limit.
#[test]
fn every_call_of_the_handle_can_be_spawned() {
    fn spawnable<F: Future + Send + 'static>(_: impl FnOnce(Store, Graph) -> F) {}
    spawnable(|store, _| Graph::open(store, GraphOptions::default()));
    spawnable(|store, _| async move {
        Graph::create(store, &crate::world::schema(), "ada", GraphOptions::default()).await
    });
    spawnable(|_, graph| async move { graph.verify().await });
    spawnable(|_, graph| async move { graph.status().await });
    spawnable(|_, graph| async move { graph.pending_intents().await });
    spawnable(|_, graph| async move {
        let request =
            RecoverRequest { attempt: None, mode: RecoverMode::Full, owner_is_dead: false };
        graph.recover(request).await
    });
    spawnable(|_, graph| async move { graph.snapshot().await?.table("Person").await });
    spawnable(|_, graph| async move { graph.log(1).await });
}
