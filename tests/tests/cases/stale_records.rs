//! Records of writes that are over, where the storage lost their deletion: they never hide or undo a
//! commit, whatever was written since, and readers do not care for them.

use graphwrite_coordinator::{Graph, MemoryStorage, Store};
use graphwrite_protocol_types::{Answer, AttemptId, Failpoint, RecoveredHow, WriteOutcome};
use graphwrite_substrate::{ObjectEntry, Operation, OperationKind, PutOutcome, RawObjects};

use crate::judge::{Reference, impatient, open_impatient, seen_by};
use crate::request::{Request, Terms, append};
use crate::world::{BASE, append as load, assert_clean, create, own_process};

/// Two tables, one of which is not there yet.
const WRITE: Request = append(&[
    r#"{"type":"Person","data":{"slug":"n1","age":5}}"#,
    r#"{"edge":"WorksAt","from":"p1","to":"c1"}"#,
]);

const LATER: &str = r#"{"type":"Person","data":{"slug":"later"}}"#;
const LATER_ELSEWHERE: &str = r#"{"type":"Company","data":{"slug":"later"}}"#;

/// A graph with the write, all of whose deletions of records were acknowledged and lost, so that they
/// are there again.
async fn with_stale_record() -> (Store, ObjectEntry) {
    let store = Store::memory(&MemoryStorage::new());
    load(&create(&store).await, BASE).await;
    let (client, mut deletions) = store.holding(|it: &Operation| it.kind == OperationKind::Delete);
    let writer = Graph::open(client, own_process()).await.unwrap();
    let answer = WRITE.send(&writer, Terms::default()).await.unwrap();
    assert!(matches!(answer, WriteOutcome::Committed(_)), "{answer:?}");
    let held = deletions.next().await.expect("the record is about to go");
    let entry = store.list("_recovery").await.unwrap().remove(0);
    assert_eq!(entry.path, held.operation.path);
    let bytes = store.get(&entry.path).await.unwrap().expect("a record").to_vec();
    held.release();
    writer.settled().await;
    put_again(&store, &entry.path, bytes).await;
    (store, entry)
}

async fn put_again(store: &Store, path: &str, bytes: Vec<u8>) {
    let put = store.put_if_absent(path, bytes.into(), AttemptId::from_u128(1)).await.unwrap();
    assert!(matches!(put, PutOutcome::Created), "it was gone: {put:?}");
}

fn written() -> Reference {
    WRITE.over(&Reference::default().with(BASE))
}

#[tokio::test]
async fn a_record_whose_deletion_was_lost_is_finalized_and_the_rows_stay() {
    let (store, _) = with_stale_record().await;
    let reader = Graph::open_read_only(store.reopened(), impatient()).await.unwrap();
    written().assert_seen(&seen_by(&reader).await);
    let receipt = load(&open_impatient(&store).await, &[LATER]).await;
    let how: Vec<_> = receipt.recovered.iter().map(|it| it.how).collect();
    assert_eq!(how, [RecoveredHow::Finalized]);
    assert!(store.list("_recovery").await.unwrap().is_empty());
    let fresh = open_impatient(&store).await;
    written().with(&[LATER]).assert_seen(&seen_by(&fresh).await);
    assert_clean(&fresh).await;
}

#[tokio::test]
async fn a_record_that_comes_back_under_later_rows_takes_nothing_of_them() {
    let (store, entry) = with_stale_record().await;
    let bytes = store.get(&entry.path).await.unwrap().expect("a record").to_vec();
    // Nobody who writes elsewhere looks at it; who writes there ends it; then it is there once more.
    load(&open_impatient(&store).await, &[LATER_ELSEWHERE]).await;
    load(&open_impatient(&store).await, &[LATER]).await;
    put_again(&store, &entry.path, bytes).await;
    let last = r#"{"type":"Person","data":{"slug":"last"}}"#;
    load(&open_impatient(&store).await, &[last]).await;
    let fresh = open_impatient(&store).await;
    let state = written().with(&[LATER_ELSEWHERE, LATER, last]);
    state.assert_seen(&seen_by(&fresh).await);
    assert_clean(&fresh).await;
    assert_eq!(fresh.log(usize::MAX).await.unwrap().len(), 5, "the base and one for each write");
}

#[tokio::test]
async fn a_record_of_a_write_that_was_taken_back_does_not_take_back_what_came_since() {
    let store = Store::memory(&MemoryStorage::new());
    load(&create(&store).await, BASE).await;
    let hooks = crate::hooks::StopAt::new(Failpoint::PostEffect, 1);
    let options = graphwrite_coordinator::GraphOptions { hooks, ..own_process() };
    let writer = Graph::open(store.reopened(), options).await.unwrap();
    let answer = WRITE.send(&writer, Terms::default()).await.unwrap();
    assert!(!matches!(answer, WriteOutcome::Committed(_)), "{answer:?}");
    let entry = store.list("_recovery").await.unwrap().remove(0);
    let bytes = store.get(&entry.path).await.unwrap().expect("a record").to_vec();
    let receipt = load(&open_impatient(&store).await, &[LATER]).await;
    assert_eq!(receipt.recovered[0].how, RecoveredHow::RolledBack);
    put_again(&store, &entry.path, bytes).await;
    let again = r#"{"edge":"WorksAt","from":"p1","to":"c1"}"#;
    load(&open_impatient(&store).await, &[again]).await;
    let fresh = open_impatient(&store).await;
    Reference::default().with(BASE).with(&[LATER, again]).assert_seen(&seen_by(&fresh).await);
    assert!(store.list("_recovery").await.unwrap().is_empty());
}

#[tokio::test]
async fn a_record_that_contradicts_its_name_names_itself_and_stops_no_reader() {
    let (store, entry) = with_stale_record().await;
    let mut bytes = store.get(&entry.path).await.unwrap().expect("a record").to_vec();
    store.delete(&entry.path).await.unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    put_again(&store, &entry.path, bytes).await;
    let reader = Graph::open_read_only(store.reopened(), impatient()).await.unwrap();
    written().assert_seen(&seen_by(&reader).await);
    let graph = open_impatient(&store).await;
    let request = append(&[LATER]);
    let refused =
        request.send(&graph, Terms::default()).await.expect_err("a record that nobody can judge");
    assert_eq!((refused.code(), refused.had_no_effect()), ("recovery_blocked", true));
    assert!(refused.to_string().contains(&entry.path), "{refused}");
    assert!(!refused.help().is_empty());
    written().assert_seen(&seen_by(&graph).await);
}
