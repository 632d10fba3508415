//! Anything but a head is forked only beside maintenance that sees the fork coming: the beginning is
//! durable, then the open plans are listed, then the version is opened (design 01 sections 8 and 9).

use graphwrite_coordinator::{BranchError, BranchFrom, Graph, Store};
use graphwrite_protocol_types::{Answer, AttemptId};
use graphwrite_substrate::{Operation, OperationKind, PutOutcome, RawObjects};

use super::scene::{graph, open, request, selector, try_fork};
use crate::world::append;

const MORE: &[&str] = &[r#"{"type":"Person","data":{"slug":"m1","age":1}}"#];
const PLAN: &str = "_control/cleanup/00000000000000000001";

async fn put(store: &Store, end: &str) {
    let bytes = b"of another process".to_vec().into();
    let path = format!("{PLAN}.{end}");
    let put = store.put_if_absent(&path, bytes, AttemptId::from_u128(1)).await;
    assert!(matches!(put.unwrap(), PutOutcome::Created));
}

/// The manifest version of the head, before more rows are appended.
async fn older(store: &Store, graph: &Graph) -> (String, BranchFrom) {
    let commit = graph.log(1).await.unwrap()[0].commit;
    // Names count down: the newest is the first.
    let newest = store.list("__manifest/_versions").await.unwrap().remove(0).path;
    append(graph, MORE).await;
    graph.settled().await;
    (newest, BranchFrom::Commit(commit))
}

fn is_look_at_plans(operation: &Operation) -> bool {
    operation.kind == OperationKind::List && operation.path.starts_with("_control/cleanup")
}

#[tokio::test]
async fn an_open_plan_refuses_a_branch_of_an_older_commit_and_none_of_a_head() {
    let (store, main) = graph().await;
    let (_, from) = older(&store, &main).await;
    put(&store, "plan").await;
    let refused = main.create_branch(request("old", from.clone())).await.unwrap_err();
    assert_eq!((refused.code(), refused.had_no_effect()), ("cleanup_pending", true));
    assert!(refused.to_string().contains(PLAN), "{refused}");
    try_fork(&main, "new", "main").await.unwrap();
    put(&store, "done").await;
    main.create_branch(request("old", from)).await.unwrap();
}

#[tokio::test]
async fn a_version_that_a_plan_deletes_before_the_plans_are_listed_is_not_forked() {
    let (store, main) = graph().await;
    let (version, from) = older(&store, &main).await;
    let (held, mut requests) = store.reopened().holding(is_look_at_plans);
    let main = Graph::open(held, crate::judge::impatient()).await.unwrap();
    let creation = main.create_branch(request("old", from));
    let maintenance = async {
        // It has looked for what must stay before the creation began, and ends only now.
        let look = requests.next().await.expect("a look at the plans");
        put(&store, "plan").await;
        store.delete(&version).await.unwrap();
        put(&store, "done").await;
        look.release();
    };
    let (created, ()) = tokio::join!(creation, maintenance);
    assert!(matches!(created, Err(BranchError::SourceGone { .. })), "{created:?}");
    let names = main.branch(&selector("old")).await.map(drop).unwrap_err();
    assert_eq!(names.code(), "no_such_branch");
    drop(open(&main, "main").await);
}
