//! A branch is opened from its name's records alone, and what stands in the way is said as if it had been
//! looked for through main.

use graphwrite_coordinator::{BranchError, Graph, MemoryStorage, Store};
use graphwrite_protocol_types::{Answer, AttemptId};
use graphwrite_substrate::{PutOutcome, RawObjects};

use super::scene::{delete, fork, graph, selector, try_fork};
use crate::judge::{Reference, seen_by};
use crate::world::{BASE, append, own_process};

const NEW: &[&str] = &[r#"{"type":"Person","data":{"slug":"b1","age":7}}"#];
const DECIDED: &str = "_control/branch/a/1.decided";

async fn opened(store: &Store, branch: &str) -> Result<Graph, BranchError> {
    Graph::open_on(store.reopened(), &selector(branch), own_process()).await
}

#[tokio::test]
async fn a_branch_that_is_opened_first_is_the_one_that_is_opened_through_main() {
    let (store, main) = graph().await;
    append(&fork(&main, "a", "main").await, NEW).await;
    let branch = opened(&store, "a").await.unwrap();
    assert_eq!(branch.on_branch(), main.branch(&selector("a")).await.unwrap().on_branch());
    Reference::default().with(BASE).with(NEW).assert_seen(&seen_by(&branch).await);
    append(&branch, &[r#"{"type":"Company","data":{"slug":"c9"}}"#]).await;
    let of_main = opened(&store, "main").await.unwrap();
    assert_eq!(of_main.on_branch(), main.on_branch());
}

#[tokio::test]
async fn a_handle_that_was_opened_for_reading_on_a_branch_does_not_write() {
    let (store, main) = graph().await;
    fork(&main, "a", "main").await;
    let options = own_process();
    let branch = Graph::open_read_only_on(store.reopened(), &selector("a"), options).await.unwrap();
    let refused = delete(&branch, "a").await.unwrap_err();
    assert_eq!(refused.code(), "read_only");
    Reference::default().with(BASE).assert_seen(&seen_by(&branch).await);
}

#[tokio::test]
async fn what_is_no_branch_and_what_is_no_graph_are_told_apart() {
    let (store, main) = graph().await;
    fork(&main, "a", "main").await;
    delete(&main, "a").await.unwrap();
    for name in ["a", "never"] {
        assert_eq!(opened(&store, name).await.unwrap_err().code(), "no_such_branch");
    }
    let nothing = Store::memory(&MemoryStorage::new());
    assert_eq!(opened(&nothing, "a").await.unwrap_err().code(), "not_a_graph");
}

#[tokio::test]
async fn a_record_of_another_graph_is_not_believed_when_its_branch_is_opened_first() {
    let (store, main) = graph().await;
    fork(&main, "a", "main").await;
    let (other, main_of_other) = graph().await;
    fork(&main_of_other, "a", "main").await;
    let foreign = other.get(DECIDED).await.unwrap().unwrap();
    store.delete(DECIDED).await.unwrap();
    let put = store.put_if_absent(DECIDED, foreign, AttemptId::from_u128(1)).await.unwrap();
    assert!(matches!(put, PutOutcome::Created));
    let first = opened(&store, "a").await.unwrap_err();
    let through_main = main.branch(&selector("a")).await.unwrap_err();
    assert_eq!((first.code(), through_main.code()), ("recovery_blocked", "recovery_blocked"));
    assert_eq!(first.to_string(), through_main.to_string());
}

#[tokio::test]
async fn a_branch_whose_native_branch_is_gone_is_damaged_and_can_be_deleted() {
    let (store, main) = graph().await;
    fork(&main, "a", "main").await;
    for object in store.list("__manifest/tree").await.unwrap() {
        store.delete(&object.path).await.unwrap();
    }
    let through_main = main.branch(&selector("a")).await.unwrap_err();
    for error in [opened(&store, "a").await.unwrap_err(), through_main] {
        assert_eq!((error.code(), error.may_retry()), ("manifest_damaged", false), "{error}");
        assert!(error.help().contains("__manifest/tree/a."), "{}", error.help());
    }
    delete(&main, "a").await.unwrap();
    append(&fork(&main, "a", "main").await, NEW).await;
}

#[tokio::test]
async fn a_record_under_a_number_that_no_counting_reaches_stands_in_nobodys_way() {
    let (store, main) = graph().await;
    fork(&main, "a", "main").await;
    for number in [u64::MAX, u64::MAX / 2 + 1] {
        let path = format!("_control/branch/a/{number}.deleted");
        let put = store.put_if_absent(&path, Vec::new().into(), AttemptId::from_u128(1));
        assert!(matches!(put.await.unwrap(), PutOutcome::Created));
    }
    append(&opened(&store, "a").await.unwrap(), NEW).await;
    delete(&main, "a").await.unwrap();
    fork(&main, "a", "main").await;
    let last = format!("_control/branch/a/{}.deleted", u64::MAX / 2);
    let put = store.put_if_absent(&last, Vec::new().into(), AttemptId::from_u128(1));
    assert!(matches!(put.await.unwrap(), PutOutcome::Created));
    let refused = try_fork(&main, "a", "main").await.unwrap_err();
    assert_eq!((refused.code(), refused.had_no_effect()), ("recovery_blocked", true), "{refused}");
}
