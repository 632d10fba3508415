//! Whatever lists the names of branches goes on while branches are deleted, made again and tidied away
//! beside it: what was listed and is gone when it is read is looked for again, and is no error.

use std::collections::BTreeSet;

use graphwrite_coordinator::{BranchStanding, Graph, RecoverMode, RecoverRequest, Store};
use graphwrite_protocol_types::Answer;
use graphwrite_substrate::{Operation, OperationKind, RawObjects};

use crate::branches::scene::{delete, fork, graph, selector, try_fork};
use crate::judge::{Reference, open_impatient, seen_by};
use crate::merge::scene::{merge, request as merging};
use crate::world::{BASE, append, own_process};

const RECORD: &str = "_control/branch/b5/1.decided";

/// What an operator or a program asks while branches go. Each lists names, or may come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    List,
    Status,
    Open,
    Verify,
    Recover,
    CreateOf,
    CreateIt,
    DeleteIt,
    Mutate,
    CreateOfCommit,
    MergeIt,
    MergeCommit,
}

impl Asked {
    const ALL: [Self; 12] = [
        Self::List,
        Self::Status,
        Self::Open,
        Self::Verify,
        Self::Recover,
        Self::CreateOf,
        Self::CreateIt,
        Self::DeleteIt,
        Self::Mutate,
        Self::CreateOfCommit,
        Self::MergeIt,
        Self::MergeCommit,
    ];

    /// The code of a refusal; none when it is done.
    async fn of(self, graph: &Graph) -> Option<&'static str> {
        let code = |error: graphwrite_coordinator::BranchError| error.code();
        match self {
            Self::List => graph.branches().await.err().map(code),
            Self::Status => graph.branch_status(&selector("b5")).await.err().map(code),
            Self::Open => graph.branch(&selector("b5")).await.err().map(code),
            Self::CreateOf => try_fork(graph, "new", "b5").await.err().map(code),
            Self::CreateIt => try_fork(graph, "b5", "main").await.err().map(code),
            Self::DeleteIt => delete(graph, "b5").await.err().map(code),
            Self::CreateOfCommit => {
                let never = graphwrite_protocol_types::CommitId::from_u128(77);
                let from = graphwrite_coordinator::BranchFrom::Commit(never);
                let request = crate::branches::scene::request("new", from);
                graph.create_branch(request).await.err().map(code)
            }
            Self::MergeIt => graph.merge(merging("b5")).await.err().map(|error| error.code()),
            Self::MergeCommit => {
                let never = graphwrite_protocol_types::CommitId::from_u128(77);
                let from = graphwrite_coordinator::BranchFrom::Commit(never);
                let request = graphwrite_coordinator::MergeRequest::new(from);
                graph.merge(request).await.err().map(|error| error.code())
            }
            // What it finds is judged elsewhere; here it must come to its end.
            Self::Verify => graph.verify().await.err().map(|error| error.code()),
            Self::Recover => {
                let mode = RecoverMode::Full;
                let request = RecoverRequest { attempt: None, mode, owner_is_dead: false };
                graph.recover(request).await.err().map(|error| error.code())
            }
            Self::Mutate => {
                append(graph, &[r#"{"type":"Person","data":{"slug":"more"}}"#]).await;
                None
            }
        }
    }

    /// How it ends when `b5` is another branch by now.
    fn expected(self) -> Option<&'static str> {
        match self {
            Self::CreateIt => Some("branch_exists"),
            Self::CreateOfCommit | Self::MergeCommit => Some("no_such_commit"),
            _ => None,
        }
    }
}

async fn twenty() -> (Store, Graph) {
    let (store, main) = graph().await;
    for number in 1..=20 {
        try_fork(&main, &format!("b{number}"), "main").await.unwrap();
    }
    (store, main)
}

/// The branch is deleted and made again, and the records of its first incarnation are tidied away, as
/// maintenance may.
async fn replace(store: &Store) {
    let other = open_impatient(store).await;
    delete(&other, "b5").await.unwrap();
    append(&fork(&other, "b5", "main").await, &[r#"{"type":"Company","data":{"slug":"c5"}}"#])
        .await;
    for end in ["begin", "decided", "deleted"] {
        store.delete(&format!("_control/branch/b5/1.{end}")).await.unwrap();
    }
}

#[tokio::test]
async fn a_record_that_is_listed_and_gone_when_it_is_read_is_looked_for_again() {
    let mut met = BTreeSet::new();
    for asked in Asked::ALL {
        let (store, _) = twenty().await;
        let is_it = |it: &Operation| it.kind == OperationKind::Get && it.path == RECORD;
        let (client, mut handle) = store.reopened().holding(is_it);
        let graph = Graph::open(client, own_process()).await.unwrap();
        let asking = tokio::spawn(async move {
            let answer = asked.of(&graph).await;
            graph.settled().await;
            answer
        });
        // What does not read the record ends, and drops its client.
        if let Some(held) = handle.next().await {
            met.insert(format!("{asked:?}"));
            replace(&store).await;
            held.release();
            drop(handle);
            assert_eq!(asking.await.unwrap(), asked.expected(), "{asked:?}");
        } else {
            assert_eq!(asking.await.unwrap(), asked.expected(), "{asked:?}");
        }
        let other = open_impatient(&store).await;
        assert_eq!(
            other.branches().await.unwrap().len(),
            21 + usize::from(asked == Asked::CreateOf)
        );
    }
    for asked in [
        Asked::List,
        Asked::Status,
        Asked::Open,
        Asked::CreateOf,
        Asked::DeleteIt,
        Asked::MergeIt,
        Asked::MergeCommit,
    ] {
        assert!(met.contains(&format!("{asked:?}")), "{asked:?} reads the record: {met:?}");
    }
}

#[tokio::test]
async fn a_native_ref_that_is_listed_and_gone_is_damage_of_that_branch_alone() {
    let (store, main) = twenty().await;
    let native = main.branch(&selector("b5")).await.unwrap().on_branch().native;
    let contents = format!("__manifest/_refs/branches/{native}.json");
    let path = contents.clone();
    let (client, mut handle) = store
        .reopened()
        .holding(move |it: &Operation| it.kind == OperationKind::Get && it.path == path);
    let graph = Graph::open(client, own_process()).await.unwrap();
    let asking = tokio::spawn(async move { graph.branch_status(&selector("b5")).await });
    let held = handle.next().await.expect("the contents are looked at");
    store.delete(&contents).await.unwrap();
    held.release();
    drop(handle);
    let status = asking.await.unwrap().expect("a status");
    let damaged = graphwrite_protocol_types::Wholeness::Damaged;
    assert_eq!(status.state, graphwrite_protocol_types::NameState::Live(damaged));
    let listed = main.branches().await.unwrap();
    assert!(listed.iter().all(|(_, it)| matches!(it, BranchStanding::Live(_))), "{listed:?}");
    fork(&main, "new", "b6").await;
    delete(&main, "b5").await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn everything_that_lists_branches_goes_on_while_they_are_deleted() {
    let (store, main) = twenty().await;
    let deletions = tokio::spawn({
        let other = open_impatient(&store).await;
        async move {
            for number in 2..=20 {
                delete(&other, &format!("b{number}")).await.expect("a branch");
            }
        }
    });
    let b1 = main.branch(&selector("b1")).await.unwrap();
    let mut round = 0;
    let mut rows = Vec::new();
    while !deletions.is_finished() || round < 3 {
        let row = format!(r#"{{"type":"Person","data":{{"slug":"r{round}"}}}}"#);
        append(&main, &[&row]).await;
        rows.push(row);
        main.branches().await.expect("a list");
        main.branch_status(&selector("b1")).await.expect("a status");
        main.verify().await.expect("a report");
        append(&b1, &[format!(r#"{{"type":"Company","data":{{"slug":"r{round}"}}}}"#)]).await;
        rows.push(format!(r#"{{"type":"Company","data":{{"slug":"r{round}"}}}}"#));
        merge(&main, "b1").await;
        let name = format!("made{round}");
        try_fork(&main, &name, "b1").await.expect("a branch");
        delete(&main, &name).await.expect("it was made");
        round += 1;
    }
    deletions.await.unwrap();
    Reference::default().with(BASE).with(&rows).assert_seen(&seen_by(&main).await);
    let live = main.branches().await.unwrap();
    let live = live.iter().filter(|(_, it)| matches!(it, BranchStanding::Live(_)));
    assert_eq!(live.map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["main", "b1"]);
}
