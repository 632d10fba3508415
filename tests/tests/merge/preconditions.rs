//! What a merge needs beside its read set: that the captured commit stays, at each point between the capture
//! and the end, and what becomes of it when the target goes on (RFC 3.4, 6.2, BLOCKER-10).

use graphwrite_coordinator::{
    AuditEntry, AuditedDecision, BranchFrom, Graph, GraphOptions, LoadMode, MemoryStorage,
    MergeAnswer, MergeRequest, ReadError, Store, WriteError, WriteErrorKind,
};
use graphwrite_protocol_types::{
    Answer, AttemptId, CommitId, Conflict, Failpoint, GraphHeadToken, WriteOutcome,
};
use graphwrite_substrate::{Operation, OperationKind, PutOutcome, RawObjects};

use super::scene::request;
use crate::branches::scene::{delete, fork};
use crate::hooks::Meanwhile;
use crate::judge::{Reference, seen_by};
use crate::world::{BASE, append, assert_clean, create, load, own_process};

const OF_BRANCH: &[&str] = &[
    r#"{"type":"Person","data":{"slug":"b1","age":7}}"#,
    r#"{"edge":"Knows","from":"b1","to":"p1"}"#,
];
const OF_MAIN: &[&str] = &[r#"{"type":"Person","data":{"slug":"m1","age":8}}"#];
const LATER: &[&str] = &[r#"{"type":"Person","data":{"slug":"later"}}"#];
const MORE: &[&str] = &[r#"{"type":"Person","data":{"slug":"m2"}}"#];
const COMPANY: &[&str] = &[r#"{"type":"Company","data":{"slug":"c2"}}"#];
const B1_IS_9: &[&str] = &[r#"{"type":"Person","data":{"slug":"b1","age":9}}"#];
const PLAN: &str = "_control/cleanup/00000000000000000001";

/// Two branches that have gone apart.
struct Sides {
    storage: MemoryStorage,
    store: Store,
    main: Graph,
    branch: Graph,
}

impl Sides {
    async fn new() -> Self {
        Self::with(OF_BRANCH, OF_MAIN).await
    }

    async fn with(of_branch: &[&str], of_main: &[&str]) -> Self {
        let storage = MemoryStorage::new();
        let store = Store::memory(&storage);
        let main = create(&store).await;
        append(&main, BASE).await;
        let branch = fork(&main, "b", "main").await;
        append(&branch, of_branch).await;
        append(&main, of_main).await;
        branch.settled().await;
        main.settled().await;
        Self { storage, store, main, branch }
    }

    /// Merges by a process of its own; when it comes to `point`, others do this.
    async fn merge_while(
        &self,
        point: Failpoint,
        request: MergeRequest,
        act: impl Future<Output = ()> + Send + 'static,
    ) -> Result<MergeAnswer, WriteError> {
        let options = GraphOptions { hooks: Meanwhile::at(point, act), ..own_process() };
        let target = Graph::open(self.store.reopened(), options).await.unwrap();
        let answer = target.merge(request).await;
        target.settled().await;
        answer
    }

    /// What a refused merge leaves as it was.
    async fn left(&self) -> (usize, u64, crate::judge::Rows) {
        let status = self.main.status().await.unwrap();
        assert_eq!(status.pending.len(), 0, "{:?}", status.pending);
        let records = self.store.list("_recovery").await.unwrap();
        assert!(records.is_empty(), "{records:?}");
        let commits = self.main.log(usize::MAX).await.unwrap().len();
        (commits, status.manifest_version, seen_by(&self.main).await)
    }

    /// The newest manifest version of the branch.
    async fn newest(&self) -> String {
        let versions = format!("__manifest/tree/{}/_versions", self.branch.on_branch().native);
        let mut versions: Vec<_> = self.store.list(&versions).await.unwrap();
        versions.retain(|object| object.path.ends_with(".manifest"));
        // Names count down.
        versions.into_iter().map(|object| object.path).min().expect("a version")
    }

    async fn heads(&self) -> (CommitId, CommitId) {
        let head = async |graph: &Graph| graph.log(1).await.unwrap()[0].commit;
        (head(&self.main).await, head(&self.branch).await)
    }
}

async fn put(store: &Store, path: &str, bytes: Vec<u8>) {
    let put = store.put_if_absent(path, bytes.into(), AttemptId::from_u128(1)).await;
    assert!(matches!(put.unwrap(), PutOutcome::Created));
}

async fn plan(store: &Store, end: &str) {
    put(store, &format!("{PLAN}.{end}"), b"of another process".to_vec()).await;
}

fn at_older(commit: CommitId) -> MergeRequest {
    MergeRequest::new(BranchFrom::Commit(commit))
}

#[track_caller]
fn is_refused(answer: Result<MergeAnswer, WriteError>, code: &str) {
    let error = answer.expect_err("a refusal");
    assert_eq!((error.code(), error.had_no_effect()), (code, true), "{error}");
}

#[track_caller]
fn committed(answer: Result<MergeAnswer, WriteError>, restarts: u32) {
    match answer.expect("an outcome").outcome {
        WriteOutcome::Committed(receipt) => assert_eq!(receipt.restarts, restarts),
        other => panic!("no commit: {other:?}"),
    }
}

fn merged() -> Reference {
    Reference::default().with(BASE).with(OF_BRANCH).with(OF_MAIN)
}

#[tokio::test]
async fn a_later_head_of_the_source_is_not_merged_and_does_no_harm() {
    for point in [Failpoint::PostPrepare, Failpoint::PreArm, Failpoint::PostArm] {
        let sides = Sides::new().await;
        let branch = sides.branch.clone();
        let later = async move { drop(append(&branch, LATER).await) };
        committed(sides.merge_while(point, request("b"), later).await, 0);
        merged().assert_seen(&seen_by(&sides.main).await);
        assert_clean(&sides.main).await;
    }
}

#[tokio::test]
async fn an_open_plan_refuses_what_is_no_head_any_more_and_nothing_is_left() {
    let sides = Sides::new().await;
    let before = sides.left().await;
    let (branch, store) = (sides.branch.clone(), sides.store.clone());
    let planned = async move {
        append(&branch, LATER).await;
        plan(&store, "plan").await;
    };
    let answer = sides.merge_while(Failpoint::PostPrepare, request("b"), planned).await;
    is_refused(answer, "cleanup_pending");
    assert_eq!(sides.left().await, before);
    plan(&sides.store, "done").await;
    committed(sides.main.merge(request("b")).await, 0);
    merged().with(LATER).assert_seen(&seen_by(&sides.main).await);
}

#[tokio::test]
async fn an_open_plan_does_not_refuse_what_is_still_a_head() {
    let sides = Sides::new().await;
    let store = sides.store.clone();
    let planned = async move { plan(&store, "plan").await };
    committed(sides.merge_while(Failpoint::PostPrepare, request("b"), planned).await, 0);
    merged().assert_seen(&seen_by(&sides.main).await);
}

#[tokio::test]
async fn an_open_plan_refuses_an_older_commit_and_a_branch_that_is_deleted() {
    let sides = Sides::new().await;
    let (_, older) = sides.heads().await;
    append(&sides.branch, LATER).await;
    let before = sides.left().await;
    let store = sides.store.clone();
    let planned = async move { plan(&store, "plan").await };
    let answer = sides.merge_while(Failpoint::PreArm, at_older(older), planned).await;
    is_refused(answer, "cleanup_pending");
    let main = sides.main.clone();
    let deleted = async move { delete(&main, "b").await.unwrap() };
    let answer = sides.merge_while(Failpoint::PreArm, request("b"), deleted).await;
    is_refused(answer, "cleanup_pending");
    assert_eq!(sides.left().await, before);
}

#[tokio::test]
async fn an_open_plan_refuses_a_merge_without_a_change_too() {
    let sides = Sides::with(OF_BRANCH, OF_BRANCH).await;
    let (commits, _, rows) = sides.left().await;
    let (branch, store) = (sides.branch.clone(), sides.store.clone());
    let planned = async move {
        append(&branch, LATER).await;
        plan(&store, "plan").await;
    };
    let answer = sides.merge_while(Failpoint::PostPrepare, request("b"), planned).await;
    is_refused(answer, "cleanup_pending");
    let (commits_now, _, rows_now) = sides.left().await;
    assert_eq!((commits_now, rows_now), (commits, rows));
}

fn is_look_at_plans(operation: &Operation) -> bool {
    operation.kind == OperationKind::List && operation.path.starts_with("_control/cleanup")
}

#[tokio::test]
async fn a_version_that_a_plan_deletes_before_the_plans_are_listed_is_not_merged() {
    let sides = Sides::new().await;
    let (_, older) = sides.heads().await;
    let version = sides.newest().await;
    append(&sides.branch, LATER).await;
    let before = sides.left().await;
    let (held, mut requests) = sides.store.reopened().holding(is_look_at_plans);
    let target = Graph::open(held, own_process()).await.unwrap();
    let maintenance = async {
        // It has looked for what must stay before the intent was there, and ends only now.
        let look = requests.next().await.expect("a look at the plans");
        plan(&sides.store, "plan").await;
        sides.store.delete(&version).await.unwrap();
        plan(&sides.store, "done").await;
        look.release();
    };
    let (answer, ()) = tokio::join!(target.merge(at_older(older)), maintenance);
    target.settled().await;
    is_refused(answer, "version_gone");
    assert_eq!(sides.left().await, before);
}

#[tokio::test]
async fn a_captured_version_that_is_gone_before_the_gates_is_not_merged() {
    let sides = Sides::new().await;
    let before = sides.left().await;
    let (version, store) = (sides.newest().await, sides.store.clone());
    let gone = async move { store.delete(&version).await.unwrap() };
    let answer = sides.merge_while(Failpoint::PostPrepare, request("b"), gone).await;
    is_refused(answer, "version_gone");
    assert_eq!(sides.left().await, before);
}

#[tokio::test]
async fn a_captured_version_that_is_another_one_before_the_gates_is_not_merged() {
    let sides = Sides::new().await;
    let before = sides.left().await;
    let version = sides.newest().await;
    let twin = sides.storage.fork();
    let twin = Store::memory(&twin);
    twin.delete(&version).await.unwrap();
    let other = crate::world::reopen(&twin).await;
    append(&crate::branches::scene::open(&other, "b").await, LATER).await;
    let bytes = twin.get(&version).await.unwrap().expect("a version").to_vec();
    let store = sides.store.clone();
    let replaced = async move {
        store.delete(&version).await.unwrap();
        put(&store, &version, bytes).await;
    };
    let answer = sides.merge_while(Failpoint::PostPrepare, request("b"), replaced).await;
    let error = answer.expect_err("a refusal");
    let is_other = matches!(&error.kind, WriteErrorKind::Read(ReadError::OtherVersion { .. }));
    assert!(is_other && error.had_no_effect(), "{error:?}");
    assert_eq!(sides.left().await, before);
}

/// The target is written by another process.
fn goes_on(sides: &Sides, mode: LoadMode, rows: &'static [&'static str]) -> GoesOn {
    GoesOn { store: sides.store.reopened(), mode, rows }
}

struct GoesOn {
    store: Store,
    mode: LoadMode,
    rows: &'static [&'static str],
}

impl GoesOn {
    async fn act(self) {
        let other = Graph::open(self.store, own_process()).await.unwrap();
        let outcome = load(&other, self.mode, self.rows).await;
        assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
        other.settled().await;
    }
}

#[tokio::test]
async fn a_target_that_goes_on_before_the_gates_is_compared_again() {
    for point in [Failpoint::PostPrepare, Failpoint::PreArm] {
        let sides = Sides::new().await;
        let more = goes_on(&sides, LoadMode::Append, MORE).act();
        committed(sides.merge_while(point, request("b"), more).await, 1);
        merged().with(MORE).assert_seen(&seen_by(&sides.main).await);
        let log = sides.main.log(2).await.unwrap();
        let (_, source) = sides.heads().await;
        assert_eq!(log[0].parents, [log[1].commit, source]);
        assert_clean(&sides.main).await;
    }
}

#[tokio::test]
async fn a_target_that_comes_to_contradict_the_source_before_the_gates_is_a_conflict() {
    let sides = Sides::new().await;
    let b1 = goes_on(&sides, LoadMode::Append, B1_IS_9).act();
    let answer = sides.merge_while(Failpoint::PostPrepare, request("b"), b1).await.unwrap();
    let conflict = WriteOutcome::Conflict(Conflict::Merge {
        rows: 1,
        constraints: 0,
        schema: false,
        first: Some("Person `b1`: divergent_insert".to_owned()),
    });
    assert_eq!(answer.outcome, conflict);
    let seen = Reference::default().with(BASE).with(OF_MAIN).with(B1_IS_9);
    seen.assert_seen(&seen_by(&sides.main).await);
    assert_clean(&sides.main).await;
}

#[tokio::test]
async fn a_target_whose_head_moves_over_landed_effects_has_them_taken_back_and_made_again() {
    for point in [Failpoint::PostArm, Failpoint::PrePublish] {
        let sides = Sides::new().await;
        let company = goes_on(&sides, LoadMode::Append, COMPANY).act();
        committed(sides.merge_while(point, request("b"), company).await, 1);
        merged().with(COMPANY).assert_seen(&seen_by(&sides.main).await);
        let (log, (_, source)) = (sides.main.log(2).await.unwrap(), sides.heads().await);
        assert_eq!(log[0].parents, [log[1].commit, source]);
        let decided: Vec<_> = sides.main.audit(9).await.unwrap();
        let is_back = |it: &&AuditEntry| it.decision == AuditedDecision::RolledBack;
        assert_eq!(decided.iter().filter(is_back).count(), 1, "{decided:?}");
        assert_clean(&sides.main).await;
    }
}

#[tokio::test]
async fn a_head_that_was_demanded_and_moves_over_landed_effects_is_a_conflict() {
    let sides = Sides::new().await;
    let (head, _) = sides.heads().await;
    let expect_head = Some(GraphHeadToken(Some(head)));
    let company = goes_on(&sides, LoadMode::Append, COMPANY).act();
    let demanding = MergeRequest { expect_head, ..request("b") };
    let answer = sides.merge_while(Failpoint::PrePublish, demanding, company).await.unwrap();
    let is_typed = matches!(answer.outcome, WriteOutcome::Conflict(Conflict::ExpectedHead { .. }));
    assert!(is_typed, "{:?}", answer.outcome);
    let seen = Reference::default().with(BASE).with(OF_MAIN).with(COMPANY);
    seen.assert_seen(&seen_by(&sides.main).await);
    assert_clean(&sides.main).await;
}
