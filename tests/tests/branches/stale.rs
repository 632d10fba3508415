//! A handle outlives its branch: whatever is asked of the branch through it is refused by name, even if
//! another branch of that name was made. What was captured before can be read on (BLOCKER-05).

use graphwrite_coordinator::{
    DiffRequest, Graph, GraphOptions, LoadLimits, LoadMode, LoadRequest, MutateRequest,
    OperationOutcome, OutcomeError, OutcomeRequest, Store,
};
use graphwrite_protocol_types::{Answer, BranchToken, CommitId};

use super::left::everything;
use super::scene::{delete, fork, graph, open, try_fork};
use crate::judge::{Reference, seen_by};
use crate::world::{BASE, append, input, own_process, rows_of};

const OLD: &[&str] = &[r#"{"type":"Person","data":{"slug":"old","age":7}}"#];
const NEW: &[&str] = &[r#"{"type":"Person","data":{"slug":"new","age":8}}"#];

fn base() -> Reference {
    Reference::default().with(BASE)
}

/// A handle on a branch that has a commit of its own, and is then deleted.
struct Outlived {
    store: Store,
    main: Graph,
    stale: Graph,
    commit: CommitId,
    receipt: graphwrite_protocol_types::Receipt,
}

impl Outlived {
    async fn deleted() -> Self {
        let (store, main) = graph().await;
        let stale = fork(&main, "a", "main").await;
        let receipt = append(&stale, OLD).await;
        stale.settled().await;
        delete(&main, "a").await.unwrap();
        main.settled().await;
        Self { store, main, stale, commit: receipt.commit.unwrap(), receipt }
    }

    /// The same, with another branch of the name.
    async fn made_again() -> Self {
        let outlived = Self::deleted().await;
        let fresh = fork(&outlived.main, "a", "main").await;
        append(&fresh, NEW).await;
        fresh.settled().await;
        outlived
    }
}

/// What each call says.
async fn codes(of: &Outlived) -> Vec<(&'static str, String)> {
    let Outlived { stale, commit, receipt, .. } = of;
    let mut codes = Vec::new();
    let mut note = |call, error: &dyn Answer| {
        assert!(error.had_no_effect() && !error.may_retry(), "{call}");
        assert!(!error.help().is_empty(), "{call}");
        codes.push((call, error.code().to_owned()));
    };
    let load = LoadRequest::new(input(stale, NEW).await, LoadMode::Append);
    note("load", &stale.load(load).await.unwrap());
    let mut statements = stale.mutation(LoadLimits::default()).await.unwrap();
    statements.push_json(r#"[{"delete":{"type":"Person","key":"p2","cascade":true}}]"#).unwrap();
    let mutation = MutateRequest::new(statements.finish().unwrap());
    note("mutate", &stale.mutate(mutation).await.unwrap());
    note("snapshot", &stale.snapshot().await.unwrap_err());
    note("snapshot_at", &stale.snapshot_at(*commit).await.unwrap_err());
    let diff = DiffRequest {
        from: None,
        to: None,
        keys_max: 0,
        rows_held_max: DiffRequest::ROWS_HELD_MAX,
    };
    note("diff", &stale.diff(diff).await.unwrap_err());
    note("log", &stale.log(9).await.unwrap_err());
    note("commit", &stale.commit(*commit).await.unwrap_err());
    note("audit", &stale.audit(9).await.unwrap_err());
    note("status", &stale.status().await.unwrap_err());
    note("verify", &stale.verify().await.unwrap_err());
    note("pending_intents", &stale.pending_intents().await.unwrap_err());
    note("intent", &stale.intent(receipt.attempt).await.unwrap_err());
    note("recover", &stale.recover(everything()).await.unwrap_err());
    note("create_branch", &try_fork(stale, "b", "main").await.unwrap_err());
    let seal = OutcomeRequest { seal: true, ..OutcomeRequest::new(receipt.operation.clone()) };
    note("seal", &stale.outcome(seal).await.unwrap_err());
    codes
}

#[tokio::test]
async fn every_call_about_a_deleted_branch_is_refused_by_that_name() {
    let outlived = Outlived::deleted().await;
    for (call, code) in codes(&outlived).await {
        assert_eq!(code, "branch_deleted", "{call}");
    }
    base().assert_seen(&seen_by(&outlived.main).await);
}

#[tokio::test]
async fn every_call_is_refused_as_well_when_the_name_means_another_branch() {
    let outlived = Outlived::made_again().await;
    for (call, code) in codes(&outlived).await {
        assert_eq!(code, "branch_deleted", "{call}");
    }
    let fresh = open(&outlived.main, "a").await;
    base().with(NEW).assert_seen(&seen_by(&fresh).await);
    assert_eq!(fresh.on_branch().record, 2);
}

#[tokio::test]
async fn what_was_captured_before_the_deletion_is_read_to_its_end() {
    let (_, main) = graph().await;
    let branch = fork(&main, "a", "main").await;
    append(&branch, OLD).await;
    let snapshot = branch.snapshot().await.unwrap();
    let before = rows_of(&snapshot).await;
    delete(&main, "a").await.unwrap();
    let fresh = fork(&main, "a", "main").await;
    append(&fresh, NEW).await;
    assert_eq!(rows_of(&snapshot).await, before);
    assert_eq!(before["Person"].len(), 3, "{before:?}");
}

#[tokio::test]
async fn what_is_asked_of_the_graph_goes_on_by_a_handle_of_a_deleted_branch() {
    let outlived = Outlived::made_again().await;
    let names = outlived.stale.branches().await.unwrap();
    assert_eq!(names.len(), 2);
    let main = open(&outlived.stale, "main").await;
    base().assert_seen(&seen_by(&main).await);
    delete(&outlived.stale, "a").await.unwrap();
    assert_eq!(delete(&outlived.stale, "a").await.unwrap_err().code(), "no_such_branch");
}

#[tokio::test]
async fn handles_of_two_incarnations_share_a_process_and_nothing_that_they_know() {
    let storage = graphwrite_coordinator::MemoryStorage::new();
    let store = Store::memory(&storage);
    append(&crate::world::create(&store).await, BASE).await;
    // One process: gates, lanes and counters are shared by all of its handles.
    let options = own_process();
    let process = || GraphOptions { process: options.process.clone(), ..own_process() };
    let main = Graph::open(store.reopened(), process()).await.unwrap();
    let stale = fork(&main, "a", "main").await;
    append(&stale, OLD).await;
    seen_by(&stale).await;
    delete(&main, "a").await.unwrap();
    let fresh = fork(&main, "a", "main").await;
    base().assert_seen(&seen_by(&fresh).await);
    let (old, new) = (stale.on_branch(), fresh.on_branch());
    assert_eq!((old.name.as_str(), old.record), ("a", 1));
    assert_eq!((new.name.as_str(), new.record), ("a", 2));
    assert_ne!((old.native, old.identifier), (new.native.clone(), new.identifier.clone()));
    // The stale handle keeps asking and being refused; the fresh one writes through the same gates.
    for number in 0..5 {
        assert_eq!(stale.snapshot().await.unwrap_err().code(), "branch_deleted");
        let line = format!(r#"{{"type":"Person","data":{{"slug":"n{number}"}}}}"#);
        append(&fresh, &[line]).await;
    }
    fresh.settled().await;
    assert_eq!(fresh.on_branch(), new);
    assert_eq!(fresh.log(99).await.unwrap().len(), 6);
    // Nothing of what the first incarnation made is named by the second.
    let stored = store.list("").await.unwrap();
    assert!(stored.iter().any(|object| object.path.contains(new.native.as_str())));
}

async fn ask(graph: &Graph, branch: Option<BranchToken>, of: &Outlived) -> OperationOutcome {
    let operation = of.receipt.operation.clone();
    graph.outcome(OutcomeRequest { operation, branch, seal: false }).await.unwrap()
}

fn is_gone(outcome: &OperationOutcome, number: u64) -> bool {
    matches!(
        outcome,
        OperationOutcome::BranchDeleted { branch, incarnation } if branch == "a" && *incarnation == number
    )
}

#[tokio::test]
async fn a_request_to_a_deleted_incarnation_is_answered_by_any_handle_from_its_receipt() {
    let outlived = Outlived::deleted().await;
    let token = outlived.receipt.branch.clone();
    assert!(is_gone(&ask(&outlived.stale, None, &outlived).await, 1));
    assert!(is_gone(&ask(&outlived.stale, Some(token.clone()), &outlived).await, 1));
    assert!(is_gone(&ask(&outlived.main, Some(token.clone()), &outlived).await, 1));
    let fresh = fork(&outlived.main, "a", "main").await;
    assert!(is_gone(&ask(&fresh, Some(token), &outlived).await, 1));
    assert_eq!(ask(&fresh, None, &outlived).await, OperationOutcome::Unknown);
}

#[tokio::test]
async fn a_seal_on_a_deleted_incarnation_is_refused_and_writes_nothing() {
    let outlived = Outlived::deleted().await;
    let objects = outlived.store.list("").await.unwrap().len();
    let operation = outlived.receipt.operation.clone();
    for (graph, branch) in
        [(&outlived.stale, None), (&outlived.main, Some(outlived.receipt.branch.clone()))]
    {
        let request = OutcomeRequest { operation: operation.clone(), branch, seal: true };
        let error = graph.outcome(request).await.unwrap_err();
        assert!(matches!(error, OutcomeError::BranchDeleted { incarnation: 1, .. }), "{error}");
        assert!(error.had_no_effect() && !error.may_retry());
    }
    assert_eq!(outlived.store.list("").await.unwrap().len(), objects);
}

#[tokio::test]
async fn a_token_of_a_branch_that_lives_or_never_was_is_not_called_deleted() {
    let (_, main) = graph().await;
    let branch = fork(&main, "a", "main").await;
    let receipt = append(&branch, OLD).await;
    let later = BranchToken { record: 2, ..receipt.branch.clone() };
    let other = BranchToken { name: "b".to_owned(), ..receipt.branch.clone() };
    for token in [receipt.branch.clone(), later, other] {
        let operation = receipt.operation.clone();
        let request = OutcomeRequest { operation, branch: Some(token), seal: false };
        let error = main.outcome(request).await.unwrap_err();
        assert!(matches!(error, OutcomeError::OtherIncarnation { .. }), "{error}");
    }
}
