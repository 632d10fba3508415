//! A branch is opened from its name's records alone, and what stands in the way is said as if it had been
//! looked for through main.

use graphwrite_coordinator::{BranchError, Graph, MemoryStorage, Store};
use graphwrite_protocol_types::{Answer, AttemptId};
use graphwrite_substrate::{PutOutcome, RawObjects};

use super::scene::{delete, fork, graph, selector};
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
