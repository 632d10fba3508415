//! K1: a commit lands at exactly the next version or not at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use lance::dataset::CommitBuilder;
use lance_table::io::commit::ConditionalPutCommitHandler;
use tokio::sync::{Barrier, Notify};

use super::world::*;
use crate::*;

type Stage =
    for<'a> fn(&'a TableHandle, graphwrite_protocol_types::TxUuid) -> BoxFuture<'a, StagedCommit>;

/// Every kind of commit that is staged over an existing version.
const KINDS: [(&str, Stage); 6] = [
    ("append", |t, u| async { stage_append(t, rows(&[("n", 9)]), u).await.unwrap() }.boxed()),
    ("removal", |t, u| async { change(t, &["a"], None, u).await }.boxed()),
    ("change", |t, u| async { change(t, &["a"], Some(rows(&[("a", 9)])), u).await }.boxed()),
    ("replace", |t, u| {
        async { stage_replace(t, vec![0], vec![batch(&[("z", 9)])], u).await.unwrap() }.boxed()
    }),
    ("fence", |t, u| async { stage_fence(t.version(), u) }.boxed()),
    ("restore", |t, u| async { stage_restore(t.version(), 1, u) }.boxed()),
];

#[tokio::test]
async fn lance_alone_rebases_although_no_retry_is_allowed() {
    let store = memory();
    let table = create(&store, &[("a", 1)]).await;
    let staged = stage_append(&table, rows(&[("late", 2)]), uuid(2)).await.unwrap();
    commit(&table, stage_fence(1, uuid(3))).await;
    let rebased = CommitBuilder::new(Arc::clone(table.dataset()))
        .with_commit_handler(Arc::new(ConditionalPutCommitHandler))
        .with_max_retries(0)
        .execute(staged.into_transaction());
    assert_eq!(Box::pin(rebased).await.unwrap().manifest().version, 3);
}

#[tokio::test]
async fn every_kind_lands_right_after_its_base_with_its_own_uuid() {
    for (kind, stage) in KINDS {
        let store = memory();
        let table = create(&store, &[("a", 1), ("b", 2)]).await;
        let staged = stage(&table, uuid(2)).await;
        let (version, _) = landed(strict_commit(&permit(), &table, staged).await.unwrap());
        assert_eq!((version.version, &version.tx_uuid), (2, &uuid(2)), "{kind}");
        let found = head(&store.reopened(), TABLE, &MAIN).await.unwrap().unwrap();
        assert_eq!(found, version, "{kind}");
    }
}

#[tokio::test]
async fn every_kind_is_refused_after_a_concurrent_commit_that_lance_would_rebase_over() {
    for (kind, stage) in KINDS {
        let store = memory();
        let table = create(&store, &[("a", 1), ("b", 2)]).await;
        let staged = stage(&table, uuid(2)).await;
        let other = commit(&table, stage_fence(1, uuid(3))).await;
        let refused = strict_commit(&permit(), &table, staged).await.unwrap();
        assert_eq!(winner(refused), Some(uuid(3)), "{kind}");
        let found = head(&store.reopened(), TABLE, &MAIN).await.unwrap().unwrap();
        assert_eq!(&found, other.identity().await.unwrap(), "{kind}");
        assert_eq!(
            content(&fresh(&store, Version::Latest).await).await,
            owned(&[("a", 1), ("b", 2)])
        );
    }
}

#[tokio::test]
async fn a_concurrent_commit_that_lance_reports_as_a_conflict_is_a_taken_slot_too() {
    let store = memory();
    let table = create(&store, &[("a", 1)]).await;
    let first = change(&table, &["a"], Some(rows(&[("a", 2)])), uuid(2)).await;
    let second = change(&table, &["a"], Some(rows(&[("a", 3)])), uuid(3)).await;
    commit(&table, first).await;
    let refused = strict_commit(&permit(), &table, second).await.unwrap();
    assert_eq!(winner(refused), Some(uuid(2)));
}

#[tokio::test]
async fn the_same_staged_commit_lands_once_and_says_so_again() {
    let store = memory();
    let table = create(&store, &[("a", 1)]).await;
    let staged = stage_append(&table, rows(&[("b", 2)]), uuid(2)).await.unwrap();
    let first = strict_commit(&permit(), &table, staged.clone()).await.unwrap();
    let again = strict_commit(&permit(), &table, staged).await.unwrap();
    assert_eq!(landed(first).0, landed(again).0);
    let fresh = fresh(&store, Version::Latest).await;
    assert_eq!((fresh.version(), content(&fresh).await), (2, owned(&[("a", 1), ("b", 2)])));
}

#[tokio::test]
async fn a_repetition_leaves_the_files_of_the_landed_version_alone() {
    let storage = MemoryStorage::new();
    let store = Store::memory(&storage);
    let table = create(&store, &[("a", 1)]).await;
    let staged = stage_append(&table, rows(&[("b", 2)]), uuid(2)).await.unwrap();
    commit(&table, staged.clone()).await;
    let before = storage.digest().await.unwrap();
    commit(&table, staged).await;
    assert_eq!(storage.digest().await.unwrap(), before);
}

#[tokio::test]
async fn a_commit_staged_again_under_its_uuid_is_the_same_commit() {
    let store = memory();
    let table = create(&store, &[("a", 1)]).await;
    let first = strict_commit(&permit(), &table, stage_fence(1, uuid(2))).await.unwrap();
    let again = strict_commit(&permit(), &table, stage_fence(1, uuid(2))).await.unwrap();
    assert_eq!(landed(first).0, landed(again).0);
    assert_eq!(head(&store, TABLE, &MAIN).await.unwrap().unwrap().version, 2);
}

fn first_manifest_put_is_late(reached: Arc<Notify>) -> impl Fn(&Operation) -> Fault + Send + Sync {
    let first = AtomicBool::new(true);
    move |operation| {
        let manifest = operation.path.contains("/_versions/");
        if manifest && first.swap(false, Ordering::SeqCst) {
            reached.notify_one();
            return Fault::LateHanging;
        }
        Fault::Proceed
    }
}

#[tokio::test]
async fn a_repetition_after_an_unknown_outcome_lands_once_even_if_the_first_arrives_late() {
    let store = memory();
    create(&store, &[("a", 1)]).await;
    let reached = Arc::new(Notify::new());
    let (faulty, handle) = store.faulty(first_manifest_put_is_late(Arc::clone(&reached)));
    let table = TableHandle::open(&faulty, TABLE, &MAIN, Version::Exact(1)).await.unwrap();
    let staged = stage_append(&table, rows(&[("b", 2)]), uuid(2)).await.unwrap();
    let first = tokio::spawn({
        let (table, staged) = (table.clone(), staged.clone());
        async move { strict_commit(&permit(), &table, staged).await }
    });
    reached.notified().await;
    first.abort();
    commit(&table, staged).await;
    assert_eq!(handle.release_late().await, 1);
    let found = fresh(&store, Version::Latest).await;
    assert_eq!((found.version(), content(&found).await), (2, owned(&[("a", 1), ("b", 2)])));
}

#[tokio::test]
async fn the_handle_that_a_landing_returns_carries_on_without_a_reopen() {
    let store = memory();
    let table = create(&store, &[("a", 1)]).await;
    let staged = stage_append(&table, rows(&[("b", 2)]), uuid(2)).await.unwrap();
    let table = commit(&table, staged).await;
    let staged = change(&table, &["a"], Some(rows(&[("a", 5)])), uuid(3)).await;
    let table = commit(&table, staged).await;
    assert_eq!(table.version(), 3);
    assert_eq!(content(&table).await, owned(&[("a", 5), ("b", 2)]));
}

#[tokio::test]
async fn a_commit_staged_over_another_version_is_refused_before_anything_is_sent() {
    let store = memory();
    let table = create(&store, &[("a", 1)]).await;
    let (counted, counter) = store.counting();
    let table =
        TableHandle::open(&counted, TABLE, &MAIN, Version::Exact(table.version())).await.unwrap();
    counter.take();
    let refused = strict_commit(&permit(), &table, stage_fence(4, uuid(2))).await;
    assert!(matches!(refused, Err(SubstrateError::BaseMismatch { staged: 4, handle: 1, .. })));
    assert_eq!(counter.take().total(), 0);
}

#[tokio::test]
async fn nothing_but_the_strict_path_can_move_a_table() {
    let store = memory();
    let table = create(&store, &[("a", 1)]).await;
    let opened = fresh(&store, Version::Latest).await;
    for handle in [table, opened] {
        let mut dataset = handle.dataset().as_ref().clone();
        assert!(Box::pin(dataset.delete("id = 'a'")).await.is_err());
    }
    assert_eq!(head(&store, TABLE, &MAIN).await.unwrap().unwrap().version, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_commits_of_one_base_have_exactly_one_winner_in_memory() {
    race(&memory()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_commits_of_one_base_have_exactly_one_winner_in_a_directory() {
    let (_directory, store) = local();
    race(&store).await;
}

/// 20 rounds; in each, eight clients with caches of their own commit over the same version.
async fn race(store: &Store) {
    let mut table = create(store, &[("a", 1)]).await;
    for round in 0..20 {
        let start = Arc::new(Barrier::new(8));
        let racers = (0..8).map(|racer| {
            let start = Arc::clone(&start);
            tokio::spawn(one_racer(store.clone(), table.version(), round, racer, start))
        });
        let landings: Vec<Landing> =
            join_all(racers).await.into_iter().map(Result::unwrap).collect();
        let (won, lost): (Vec<_>, Vec<_>) =
            landings.into_iter().partition(|landing| matches!(landing, Landing::Landed { .. }));
        assert_eq!(won.len(), 1, "round {round}");
        let (version, _) = landed(won.into_iter().next().unwrap());
        for loser in lost {
            assert_eq!(winner(loser), Some(version.tx_uuid.clone()));
        }
        table = fresh(store, Version::Latest).await;
        assert_eq!(table.identity().await.unwrap(), &version);
    }
    assert_eq!(table.count_rows().await.unwrap(), 21);
}

async fn one_racer(
    store: Store,
    base: u64,
    round: u32,
    racer: u32,
    start: Arc<Barrier>,
) -> Landing {
    let table = fresh(&store, Version::Exact(base)).await;
    let row = format!("{round}-{racer}");
    let staged = stage_append(&table, rows(&[(&row, 0)]), uuid(100 + round * 8 + racer)).await;
    start.wait().await;
    strict_commit(&permit(), &table, staged.unwrap()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn recoverers_that_race_with_one_fence_both_see_it_land() {
    let store = memory();
    create(&store, &[("a", 1)]).await;
    for base in 1..=20 {
        let start = Arc::new(Barrier::new(4));
        let racers =
            (0..4).map(|_| tokio::spawn(one_fencer(store.clone(), base, Arc::clone(&start))));
        let versions = join_all(racers).await.into_iter().map(Result::unwrap);
        let found = head(&store, TABLE, &MAIN).await.unwrap().unwrap();
        assert_eq!(found.version, base + 1);
        for version in versions {
            assert_eq!(version, found);
        }
    }
}

async fn one_fencer(store: Store, base: u64, start: Arc<Barrier>) -> TableVersion {
    let table = fresh(&store, Version::Exact(base)).await;
    start.wait().await;
    let staged = stage_fence(base, uuid(base as u32 + 100));
    landed(strict_commit(&permit(), &table, staged).await.unwrap()).0
}

fn manifest_put(fault: Fault) -> impl Fn(&Operation) -> Fault + Send + Sync {
    move |operation| {
        let hit =
            operation.kind == OperationKind::PutIfAbsent && operation.path.contains("/_versions/");
        if hit { fault } else { Fault::Proceed }
    }
}

/// An append through a client whose manifest put meets `fault`.
async fn append_with(
    store: &Store,
    fault: Fault,
) -> (Result<Landing, SubstrateError>, FaultHandle) {
    let (faulty, handle) = store.faulty(manifest_put(fault));
    let table = TableHandle::open(&faulty, TABLE, &MAIN, Version::Exact(1)).await.unwrap();
    let staged = stage_append(&table, rows(&[("b", 2)]), uuid(2)).await.unwrap();
    (strict_commit(&permit(), &table, staged).await, handle)
}

#[tokio::test]
async fn a_lost_answer_is_found_to_be_a_landing() {
    let store = memory();
    create(&store, &[("a", 1)]).await;
    let (landing, _) = append_with(&store, Fault::LoseAck).await;
    assert_eq!(landed(landing.unwrap()).0.pin().tx_uuid, uuid(2));
    assert_eq!(fresh(&store, Version::Latest).await.version(), 2);
}

#[tokio::test]
async fn a_failed_put_of_which_nothing_is_seen_stays_unknown() {
    let store = memory();
    create(&store, &[("a", 1)]).await;
    let (landing, _) = append_with(&store, Fault::Fail).await;
    assert!(matches!(landing, Ok(Landing::Unknown(_))), "{landing:?}");
}

#[tokio::test]
async fn a_client_that_dies_after_its_put_does_not_know_but_storage_does() {
    let store = memory();
    create(&store, &[("a", 1)]).await;
    let (landing, _) = append_with(&store, Fault::DieAfter).await;
    assert!(matches!(landing, Ok(Landing::Unknown(_))), "{landing:?}");
    let slot = read_slot(&store, TABLE, &MAIN, 2).await.unwrap().unwrap();
    assert_eq!((slot.version.tx_uuid, slot.read_version), (uuid(2), 1));
}

#[tokio::test]
async fn a_put_that_arrives_late_finds_the_fence_in_its_slot() {
    let store = memory();
    let table = create(&store, &[("a", 1)]).await;
    let (landing, handle) = append_with(&store, Fault::LateDead).await;
    assert!(matches!(landing, Ok(Landing::Unknown(_))), "{landing:?}");
    commit(&table, stage_fence(1, uuid(3))).await;
    assert_eq!(handle.release_late().await, 1);
    let found = fresh(&store, Version::Latest).await;
    assert_eq!(found.identity().await.unwrap().pin().tx_uuid, uuid(3));
    assert_eq!(content(&found).await, owned(&[("a", 1)]));
}

#[tokio::test]
async fn a_put_that_arrives_late_lands_when_nobody_has_closed_its_slot() {
    let store = memory();
    create(&store, &[("a", 1)]).await;
    let (_, handle) = append_with(&store, Fault::LateDead).await;
    assert_eq!(head(&store, TABLE, &MAIN).await.unwrap().unwrap().version, 1);
    handle.release_late().await;
    assert_eq!(head(&store, TABLE, &MAIN).await.unwrap().unwrap().pin().tx_uuid, uuid(2));
}

#[tokio::test]
async fn a_failure_before_the_manifest_put_is_an_error_and_no_commit_was_sent() {
    let store = memory();
    create(&store, &[("a", 1)]).await;
    let (faulty, handle) = store.faulty(|operation| {
        if operation.path.contains("_transactions") { Fault::Fail } else { Fault::Proceed }
    });
    let table = TableHandle::open(&faulty, TABLE, &MAIN, Version::Exact(1)).await.unwrap();
    let refused = strict_commit(&permit(), &table, stage_fence(1, uuid(2))).await;
    assert!(matches!(refused, Err(SubstrateError::Engine { .. })), "{refused:?}");
    assert_eq!(handle.log().find(OperationKind::PutIfAbsent, "_versions"), None);
}

#[tokio::test]
async fn a_commit_over_an_old_version_does_not_fill_a_hole() {
    let store = memory();
    let table = create(&store, &[("a", 1)]).await;
    fences(table.clone(), 2..=3).await;
    store.delete(&manifest_path(2)).await.unwrap();
    let refused = strict_commit(&permit(), &table, stage_fence(1, uuid(9))).await.unwrap();
    assert_eq!(winner(refused), None);
    assert!(read_slot(&store, TABLE, &MAIN, 2).await.unwrap().is_none());
}

#[tokio::test]
async fn a_warm_commit_costs_one_listing_and_two_puts_and_staging_one_put() {
    let (store, counter) = memory().counting();
    let mut table = create(&store, &[("a", 1)]).await;
    for step in 2..=30 {
        counter.take();
        let staged = stage_append(&table, rows(&[("b", 2)]), uuid(step)).await.unwrap();
        let staging = counter.take();
        table = commit(&table, staged).await;
        let commit = counter.take();
        assert_eq!((staging.durable(), staging.total()), (1, 1), "{staging:?}");
        assert_eq!((commit.of(OperationKind::List), commit.durable(), commit.total()), (1, 2, 3));
    }
}
