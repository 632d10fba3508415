//! `init`: exclusive, complete or absent, and repeatable after a death.

use std::sync::Arc;

use graphwrite_protocol_types::*;
use graphwrite_substrate::*;

use super::world::*;
use crate::*;

async fn init(store: &Store, seed: u64, actor: &str) -> Result<Manifest, InitError> {
    let request = InitRequest { actor: actor.to_owned(), ..init_request() };
    Manifest::init_patiently(store, CountingEnv::seeded(seed), request, quick()).await
}

async fn creator(store: &Store) -> String {
    open(&store.reopened(), 50).await.known_state().facts().created_by.clone()
}

fn memory() -> (MemoryStorage, Store) {
    let storage = MemoryStorage::new();
    let store = Store::memory(&storage);
    (storage, store)
}

#[tokio::test]
async fn a_new_graph_has_its_schema_absent_heads_and_no_commit() {
    let (_, store) = memory();
    let made = init(&store, 1, "ana").await.unwrap().known_state();
    let read = open(&store.reopened(), 2).await.known_state();
    assert_eq!(made.base(), read.base());
    assert_eq!(made.hot(), read.hot());
    assert_eq!(read.version(), 1);
    assert_eq!(read.base().graph_head, GraphHeadToken(None));
    assert_eq!(read.schema_canonical(), init_request().schema.canonical);
    let tables: Vec<_> = read.base().heads.keys().copied().collect();
    assert_eq!(tables, init_request().tables);
    assert!(read.base().heads.values().all(|head| *head == TableHeadToken::Absent));
    assert_eq!(read.commits(10).await.unwrap(), []);
}

#[tokio::test]
async fn a_second_init_is_told_that_the_graph_exists_and_changes_nothing() {
    let (storage, store) = memory();
    init(&store, 1, "ana").await.unwrap();
    let before = storage.digest().await.unwrap();
    let error = init(&store.reopened(), 2, "bob").await.unwrap_err();
    assert!(matches!(error, InitError::AlreadyExists { .. }), "{error}");
    assert_eq!(storage.digest().await.unwrap(), before);
}

#[tokio::test]
async fn of_racing_inits_one_wins_wherever_the_loser_was_overtaken() {
    let (_, probe) = memory();
    let (counted, log) = probe.faulty(|_| Fault::Proceed);
    init(&counted, 1, "probe").await.unwrap();
    let durable = log.durable_operations();
    assert!(durable >= 3, "a data file, a transaction and a version");
    for k in 1..=durable {
        let (_, store) = memory();
        let (slow, mut held) = store.holding(|operation| operation.kind.is_durable());
        let loser = tokio::spawn(async move { init(&slow, 1, "slow").await });
        for _ in 1..k {
            held.next().await.unwrap().release();
        }
        let overtaken = held.next().await.unwrap();
        init(&store, 2, "fast").await.unwrap();
        overtaken.release();
        drop(held);
        let error = loser.await.unwrap().unwrap_err();
        assert!(matches!(error, InitError::AlreadyExists { .. }), "at {k}: {error}");
        assert_eq!(creator(&store).await, "fast");
    }
}

#[tokio::test]
async fn of_simultaneous_inits_exactly_one_wins() {
    for round in 0..16 {
        let (_, store) = memory();
        let racers = (0..4).map(|n| {
            let store = store.reopened();
            async move { init(&store, round * 10 + n, &format!("racer {n}")).await.map(|_| n) }
        });
        let results = futures::future::join_all(racers).await;
        let winners: Vec<u64> =
            results.iter().filter_map(|result| result.as_ref().ok().copied()).collect();
        assert_eq!(winners.len(), 1);
        let lost = |result: &&Result<u64, InitError>| {
            matches!(result, Err(InitError::AlreadyExists { .. }))
        };
        assert_eq!(results.iter().filter(lost).count(), 3);
        assert_eq!(creator(&store).await, format!("racer {}", winners[0]));
    }
}

/// Runs an init whose `k`th durable operation meets `fault`; false when it has no such operation.
async fn init_with_fault(store: &Store, k: u64, fault: Fault) -> (bool, FaultHandle) {
    let decide = move |o: &Operation| if o.number == k { fault } else { Fault::Proceed };
    let (faulty, handle) = store.faulty(decide);
    let survived = init(&faulty, 1, "first").await.is_ok();
    assert!(survived || handle.durable_operations() >= k);
    (handle.durable_operations() >= k, handle)
}

#[tokio::test]
async fn a_killed_init_leaves_a_complete_graph_or_none() {
    let mut cells = 0;
    for fault in [Fault::DieBefore, Fault::DieAfter, Fault::LateDead] {
        for k in 1.. {
            let (_, store) = memory();
            let (reached, handle) = init_with_fault(&store, k, fault).await;
            if !reached {
                break;
            }
            let again = init(&store.reopened(), 2, "second").await;
            handle.release_late().await;
            let expected = match again {
                Ok(_) => "second",
                Err(InitError::AlreadyExists { .. }) => "first",
                Err(error) => panic!("{fault:?} at {k}: {error}"),
            };
            assert_eq!(creator(&store).await, expected, "{fault:?} at {k}");
            let world_is_usable = open(&store.reopened(), 3).await.state().await;
            assert_eq!(world_is_usable.unwrap().version(), 1);
            cells += 1;
        }
    }
    assert!(cells >= 9, "{cells} cells");
}

#[tokio::test]
async fn a_late_put_of_a_dead_init_completes_the_graph_if_nobody_else_has() {
    for k in 1.. {
        let (_, store) = memory();
        let (reached, handle) = init_with_fault(&store, k, Fault::LateDead).await;
        if !reached {
            break;
        }
        handle.release_late().await;
        match init(&store.reopened(), 2, "second").await {
            Ok(_) => assert_eq!(creator(&store).await, "second"),
            Err(InitError::AlreadyExists { .. }) => assert_eq!(creator(&store).await, "first"),
            Err(error) => panic!("at {k}: {error}"),
        }
    }
}

#[tokio::test]
async fn a_lost_answer_does_not_make_init_fail() {
    for k in 1.. {
        let (_, store) = memory();
        let (reached, _handle) = init_with_fault(&store, k, Fault::LoseAck).await;
        if !reached {
            break;
        }
        let again = init(&store.reopened(), 2, "second").await;
        let ok = matches!(again, Ok(_) | Err(InitError::AlreadyExists { .. }));
        assert!(ok, "at {k}: {again:?}");
    }
    let (_, store) = memory();
    let on_version = |o: &Operation| {
        if o.path.ends_with(".manifest") { Fault::LoseAck } else { Fault::Proceed }
    };
    let (faulty, _handle) = store.faulty(on_version);
    init(&faulty, 1, "first").await.unwrap();
    assert_eq!(creator(&store).await, "first");
}

#[tokio::test]
async fn what_is_not_residue_is_refused_by_name() {
    for path in ["__manifest/notes.txt", "tables/1-2-3/data/x.lance", "_recovery/main/x.intent"] {
        let (_, store) = memory();
        let put = store.put_if_absent(path, "x".into(), attempt(1)).await;
        assert!(matches!(put, Ok(PutOutcome::Created)));
        let error = init(&store, 1, "ana").await.unwrap_err();
        assert!(matches!(&error, InitError::NotEmpty { found, .. } if found == path), "{error}");
        assert!(error.to_string().contains(path));
    }
}

#[tokio::test]
async fn requests_that_contradict_themselves_are_refused_and_write_nothing() {
    let (storage, store) = memory();
    let empty = storage.digest().await.unwrap();
    let fewer = init_request().tables[1..].to_vec();
    let more = [init_request().tables, vec![table(9)]].concat();
    let mut other_hash = init_request();
    other_hash.schema.hash = SchemaHash([0; 32]);
    let requests = [
        (InitRequest { age_floor_s: AGE_FLOOR_S_MIN - 1, ..init_request() }, "age_floor_too_low"),
        (InitRequest { tables: fewer, ..init_request() }, "schema_refused"),
        (InitRequest { tables: more, ..init_request() }, "schema_refused"),
        (other_hash, "schema_refused"),
    ];
    for (request, code) in requests {
        let env: Arc<dyn Env> = CountingEnv::seeded(1);
        let error = Manifest::init(&store, env, request).await.unwrap_err();
        assert_eq!(error.code(), code);
        assert!(error.had_no_effect());
    }
    assert_eq!(storage.digest().await.unwrap(), empty);
}

#[tokio::test]
async fn a_graph_in_a_directory_is_found_again() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::local(directory.path(), Durability::Fsync).unwrap();
    init(&store, 1, "ana").await.unwrap();
    let again = Store::local(directory.path(), Durability::Fsync).unwrap();
    assert_eq!(creator(&again).await, "ana");
    let error = init(&again, 2, "bob").await.unwrap_err();
    assert!(matches!(error, InitError::AlreadyExists { .. }), "{error}");
}
