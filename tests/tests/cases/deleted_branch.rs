//! An intent of a branch that was deleted is in nobody's way: not of main, not of a fresh process, and
//! not of the next branch of that name.

use graphwrite_coordinator::{
    AuditedDecision, BranchFrom, CreateBranch, DeleteBranch, Graph, GraphOptions, MemoryStorage,
    RecoverMode, RecoverRequest, Store,
};
use graphwrite_protocol_types::{BranchName, BranchSelector, Failpoint, WriteOutcome};

use crate::hooks::StopAt;
use crate::judge::{Reference, open_impatient, seen_by};
use crate::request::{Request, Terms, append, mutation};
use crate::world::{BASE, append as load, create, own_process};

const FEATURE: &str = "feature";

/// A mutation of two tables.
const OF_TWO: Request = mutation(
    &[
        r#"{"insert":{"type":"Person","data":{"slug":"f1","age":1}}}"#,
        r#"{"insert":{"type":"Company","data":{"slug":"f2"}}}"#,
    ],
    |before| {
        before.with(&[
            r#"{"type":"Person","data":{"slug":"f1","age":1}}"#,
            r#"{"type":"Company","data":{"slug":"f2"}}"#,
        ])
    },
);

const OF_MAIN: Request =
    mutation(&[r#"{"insert":{"type":"Person","data":{"slug":"m1"}}}"#], |before| {
        before.with(&[r#"{"type":"Person","data":{"slug":"m1"}}"#])
    });

const AGAIN: Request = append(&[r#"{"type":"Company","data":{"slug":"again"}}"#]);

async fn feature(graph: &Graph) -> Graph {
    let name: BranchName = FEATURE.parse().unwrap();
    let from = BranchFrom::Head(BranchSelector::Main);
    let request = CreateBranch { name: name.clone(), from, actor: "ada".to_owned() };
    graph.create_branch(request).await.expect("a new branch");
    graph.branch(&BranchSelector::Named(name)).await.expect("a branch")
}

async fn committed(graph: &Graph, request: Request) {
    let outcome = request.send(graph, Terms::default()).await.expect("an outcome");
    assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
    graph.settled().await;
}

#[tokio::test]
async fn an_intent_of_a_deleted_branch_stops_no_write_and_no_open() {
    let store = Store::memory(&MemoryStorage::new());
    load(&create(&store).await, BASE).await;
    let base = Reference::default().with(BASE);
    let hooks = StopAt::new(Failpoint::PostEffect, 1);
    let server = Graph::open(store.reopened(), GraphOptions { hooks, ..own_process() }).await;
    let server = server.expect("a graph");

    // 1: a mutation of two tables on the branch fails after the first, and needs to be taken back.
    let branch = feature(&server).await;
    let answer = OF_TWO.send(&branch, Terms::default()).await.expect("an outcome");
    let WriteOutcome::OutcomeUnknown(unknown) = &answer else { panic!("{answer:?}") };
    assert_eq!(store.list("_recovery").await.unwrap().len(), 1);

    // 2: the branch is deleted through the same handle.
    let request =
        DeleteBranch { name: FEATURE.parse().unwrap(), actor: "ada".to_owned(), expect_head: None };
    server.delete_branch(request).await.expect("it needs the records only");
    server.settled().await;
    assert_eq!(store.list("_recovery").await.unwrap(), []);
    let audit = server.audit(9).await.unwrap();
    let [entry] = &audit[..] else { panic!("{audit:?}") };
    assert_eq!((entry.attempt, &entry.operation), (unknown.attempt, &unknown.operation));
    let discarded = AuditedDecision::Discarded { branch: Box::new(unknown.branch.clone()) };
    assert_eq!(entry.decision, discarded);

    // 3: main is written, by the same handle.
    committed(&server, OF_MAIN).await;
    let main = OF_MAIN.over(&base);
    main.assert_seen(&seen_by(&server).await);

    // 4: a fresh process opens the graph, and has nothing to recover.
    let fresh = open_impatient(&store).await;
    main.assert_seen(&seen_by(&fresh).await);
    assert!(fresh.pending_intents().await.unwrap().is_empty());
    let full = RecoverRequest { attempt: None, mode: RecoverMode::Full, owner_is_dead: false };
    assert!(fresh.recover(full).await.unwrap().is_empty());

    // 5: the name is used again, and the new branch is written and sees nothing of the old one.
    for graph in [&server, &fresh] {
        let again = feature(graph).await;
        main.assert_seen(&seen_by(&again).await);
        committed(&again, AGAIN).await;
        AGAIN.over(&main).assert_seen(&seen_by(&again).await);
        let request = DeleteBranch {
            name: FEATURE.parse().unwrap(),
            actor: "ada".to_owned(),
            expect_head: None,
        };
        graph.delete_branch(request).await.expect("a deletion");
        graph.settled().await;
    }
    main.assert_seen(&seen_by(&server).await);
    assert_eq!(server.audit(9).await.unwrap().len(), 1);
}
