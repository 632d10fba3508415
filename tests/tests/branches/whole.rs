//! What is said of a name that means no branch, and of a graph with many names, by one who only looks.

use graphwrite_coordinator::{BranchFrom, BranchStatus, Graph, MemoryStorage, Store};
use graphwrite_protocol_types::{Answer, NameState, Remains, Unfinished};
use graphwrite_substrate::{Fault, Operation};

use super::scene::{delete, fork, graph, request, selector};
use crate::crash::at_nth;
use crate::judge::impatient;
use crate::world::{BASE, append, create};

const NEW: &[&str] = &[r#"{"type":"Person","data":{"slug":"b1","age":7}}"#];

fn left(status: &BranchStatus) -> Vec<(&'static str, u64)> {
    status.left.iter().map(|it| (it.what, it.count)).collect()
}

#[tokio::test]
async fn a_deleted_name_says_what_it_was_what_is_left_and_who_needs_it() {
    let (_, main) = graph().await;
    let parent = fork(&main, "parent", "main").await;
    append(&parent, NEW).await;
    parent.settled().await;
    fork(&main, "child", "parent").await;
    delete(&main, "parent").await.unwrap();
    main.settled().await;
    let status = main.branch_status(&selector("parent")).await.unwrap();
    assert_eq!(status.state, NameState::Deleted(Remains::ReclaimPending));
    assert_eq!((status.info.token.record, status.head, status.pending), (1, None, 0));
    assert_eq!(left(&status), [("native branches", 1), ("refs of tables", 1)]);
    assert_eq!(status.needed_by, ["child"]);
    let never = main.branch_status(&selector("never")).await.unwrap_err();
    assert_eq!(never.code(), "no_such_branch");
}

/// The storage after the creation of `b` died at its `k`-th durable operation.
async fn died_at(k: usize) -> (MemoryStorage, bool) {
    let storage = MemoryStorage::new();
    let main = create(&Store::memory(&storage)).await;
    append(&main, BASE).await;
    main.settled().await;
    let any = |_: &Operation| true;
    let (client, dying) = Store::memory(&storage).faulty(at_nth(k, any, Fault::DieAfter));
    let dead = Graph::open(client, impatient()).await.unwrap();
    let _ = dead.create_branch(request("b", BranchFrom::Head(selector("main")))).await;
    (storage, dying.is_dead())
}

#[tokio::test]
async fn an_undecided_name_says_who_makes_it_and_how_far_it_has_come() {
    let mut seen = Vec::new();
    for k in 1.. {
        let (storage, died) = died_at(k).await;
        let reader = Graph::open_read_only(Store::memory(&storage), impatient()).await.unwrap();
        let status = reader.branch_status(&selector("b")).await.unwrap();
        let counts = reader.status().await.unwrap().branches;
        let NameState::Creating(unfinished) = status.state else {
            assert_eq!((counts.live, counts.creating), (2, 0));
            assert_eq!(counts.newest[0].name, "b");
            break;
        };
        assert!(died && status.maker.is_some() && status.head.is_none(), "{status:#?}");
        assert_eq!((counts.live, counts.creating), (1, 1));
        // A clone that has no version yet may have a file.
        let is_there = left(&status) == [("native branches", 1)];
        assert!(is_there || unfinished == Unfinished::NotStarted, "{status:#?}");
        seen.push(unfinished);
    }
    for phase in [Unfinished::NotStarted, Unfinished::CloneOnly, Unfinished::Complete] {
        assert!(seen.contains(&phase), "{phase:?} in {seen:?}");
    }
}
