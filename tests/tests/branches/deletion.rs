//! Deletion is one record, whatever state the branch is in, and whatever is under way on it: children
//! go on, and no write is acknowledged into nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use graphwrite_coordinator::{
    AuditedDecision, BranchError, Graph, GraphOptions, Hooks, Injected, LoadMode, LoadRequest,
    Store,
};
use graphwrite_protocol_types::{
    Answer, BranchDeleted, BranchName, Failpoint, GraphHeadToken, WriteOutcome,
};
use graphwrite_substrate::{Fault, Operation};

use super::left::{Left, ROWS, intents, plant};
use super::scene::{delete, delete_expecting, fork, graph, open, try_fork};
use crate::crash::at_nth;
use crate::crash::log::{is_effect, is_manifest_commit};
use crate::hooks::StopAt;
use crate::judge::{Reference, impatient, open_impatient, seen_by};
use crate::world::{BASE, append, input, own_process};

const MORE: &[&str] = &[r#"{"type":"Person","data":{"slug":"more","age":3}}"#];

fn base() -> Reference {
    Reference::default().with(BASE)
}

async fn upsert(branch: &Graph) -> WriteOutcome {
    let request = LoadRequest::new(input(branch, ROWS).await, LoadMode::Upsert);
    let outcome = branch.load(request).await.expect("an outcome");
    branch.settled().await;
    outcome
}

/// The objects below a place.
async fn below(store: &Store, place: &str) -> Vec<String> {
    store.list(place).await.unwrap().into_iter().map(|object| object.path).collect()
}

/// The versions of the branch's manifest.
async fn versions(store: &Store, branch: &Graph) -> usize {
    let native = branch.on_branch().native;
    let all = below(store, "__manifest/tree").await;
    all.iter().filter(|it| it.contains(native.as_str()) && it.ends_with(".manifest")).count()
}

#[test]
fn main_is_no_name_that_can_be_deleted() {
    for name in ["main", "MAIN"] {
        let refused = name.parse::<BranchName>().unwrap_err();
        assert!(refused.to_string().contains("the branch that every graph has"), "{refused}");
    }
}

#[tokio::test]
async fn what_is_no_branch_is_not_deleted() {
    let (_, main) = graph().await;
    fork(&main, "a", "main").await;
    delete(&main, "a").await.unwrap();
    for name in ["a", "never"] {
        let error = delete(&main, name).await.unwrap_err();
        assert_eq!((error.code(), error.had_no_effect()), ("no_such_branch", true), "{name}");
    }
}

#[tokio::test]
async fn a_name_whose_creator_died_is_decided_first_and_deleted_if_it_is_a_branch() {
    let cells = [
        (Failpoint::BranchPostBegin, false),
        (Failpoint::BranchPostClone, false),
        (Failpoint::BranchPostContents, true),
        (Failpoint::BranchPostDecide, true),
    ];
    for (point, is_branch) in cells {
        let (store, main) = graph().await;
        let options = GraphOptions { hooks: StopAt::new(point, 1), ..own_process() };
        let creator = Graph::open(store.reopened(), options).await.unwrap();
        let died = try_fork(&creator, "a", "main").await.unwrap_err();
        assert!(matches!(died, BranchError::Injected(_)), "{died}");
        let deleted = delete(&open_impatient(&store).await, "a").await;
        match deleted {
            Ok(()) => assert!(is_branch, "{point}"),
            Err(error) => {
                assert_eq!((error.code(), is_branch), ("no_such_branch", false), "{point}");
            }
        }
        let fresh = fork(&main, "a", "main").await;
        base().assert_seen(&seen_by(&fresh).await);
        assert_eq!(fresh.on_branch().record, 2);
    }
}

/// What may be wrong with the data of a branch.
#[derive(Debug, Clone, Copy)]
enum Damage {
    ManifestTruncated,
    ManifestGone,
    ContentsGone,
    TablesGone,
}

impl Damage {
    async fn done_to(self, store: &Store, branch: &Graph) {
        use graphwrite_substrate::RawObjects;
        let native = branch.on_branch().native.to_string();
        let of_tables = below(store, "tables").await.into_iter();
        let of_manifest = below(store, "__manifest").await.into_iter();
        let hit: Vec<String> = match self {
            Self::TablesGone => of_tables.filter(|it| it.contains("/tree/t-")).collect(),
            Self::ContentsGone => {
                of_manifest.filter(|it| it.contains("_refs/") && it.contains(&native)).collect()
            }
            Self::ManifestTruncated | Self::ManifestGone => {
                of_manifest.filter(|it| it.contains("/tree/") && it.contains(&native)).collect()
            }
        };
        assert!(!hit.is_empty(), "{self:?} hits nothing");
        for path in hit {
            match self {
                Self::ManifestTruncated => plant(store, &path, vec![1, 2, 3]).await,
                _ => store.delete(&path).await.unwrap(),
            }
        }
    }
}

#[tokio::test]
async fn a_branch_whose_data_is_damaged_is_deleted_with_what_it_left_in_flight() {
    let damages =
        [Damage::ManifestTruncated, Damage::ManifestGone, Damage::ContentsGone, Damage::TablesGone];
    for damage in damages {
        for left in [Left::Half, Left::Whole] {
            let (store, main) = graph().await;
            let branch = fork(&main, "a", "main").await;
            let attempt = left.on(&store, "a").await;
            damage.done_to(&store, &branch).await;
            let deleter = open_impatient(&store).await;
            delete(&deleter, "a").await.unwrap();
            deleter.settled().await;
            assert_eq!(intents(&store).await, Vec::<String>::new(), "{damage:?}");
            let audit = main.audit(9).await.unwrap();
            assert_eq!(audit.iter().map(|it| it.attempt).collect::<Vec<_>>(), [attempt]);
            assert_eq!(branch.snapshot().await.unwrap_err().code(), "branch_deleted");
            let fresh = fork(&main, "a", "main").await;
            append(&fresh, MORE).await;
            base().with(MORE).assert_seen(&seen_by(&fresh).await);
            base().assert_seen(&seen_by(&main).await);
        }
    }
}

#[tokio::test]
async fn a_child_keeps_what_it_pins_of_a_parent_that_is_deleted_in_the_middle_of_a_write() {
    for left in Left::ALL {
        let (store, main) = graph().await;
        let parent = fork(&main, "parent", "main").await;
        append(&parent, MORE).await;
        parent.settled().await;
        let child = fork(&main, "child", "parent").await;
        left.on(&store, "parent").await;
        delete(&main, "parent").await.unwrap();
        main.settled().await;
        assert_eq!(intents(&store).await, Vec::<String>::new(), "{left:?}");
        let child = open(&open_impatient(&store).await, child.on_branch().name.as_str()).await;
        base().with(MORE).assert_seen(&seen_by(&child).await);
        assert!(matches!(upsert(&child).await, WriteOutcome::Committed(_)), "{left:?}");
        base().with(MORE).with(ROWS).assert_seen(&seen_by(&child).await);
        base().assert_seen(&seen_by(&main).await);
    }
}

/// Lets another process delete the branch when a write comes to a place.
#[derive(Debug)]
struct DeleteAt {
    store: Store,
    point: Failpoint,
    has_met: AtomicBool,
}

#[async_trait]
impl Hooks for DeleteAt {
    async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
        if point != self.point || self.has_met.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let other = Graph::open(self.store.reopened(), impatient()).await.expect("a graph");
        Box::pin(delete(&other, "a")).await.expect("a deletion");
        other.settled().await;
        Ok(())
    }

    fn wants(&self, point: Failpoint) -> bool {
        point == self.point
    }
}

async fn writer_meeting_deletion(client: Store, store: &Store, point: Failpoint) -> Graph {
    let hooks = Arc::new(DeleteAt { store: store.clone(), point, has_met: AtomicBool::new(false) });
    let graph = Graph::open(client, GraphOptions { hooks, ..own_process() }).await.unwrap();
    open(&graph, "a").await
}

#[tokio::test]
async fn a_write_whose_branch_another_process_deletes_at_any_stage_is_told_the_truth() {
    let points = [
        Failpoint::PostPrepare,
        Failpoint::PreArm,
        Failpoint::PostArm,
        Failpoint::PostEffect,
        Failpoint::PrePublish,
        Failpoint::PostPublish,
        Failpoint::PreIntentDelete,
    ];
    for point in points {
        let (store, main) = graph().await;
        fork(&main, "a", "main").await;
        let writer = writer_meeting_deletion(store.reopened(), &store, point).await;
        let before = versions(&store, &writer).await;
        let outcome = upsert(&writer).await;
        let has_landed = versions(&store, &writer).await > before;
        match &outcome {
            WriteOutcome::Committed(_) => {
                assert_eq!(point, Failpoint::PreIntentDelete, "the answer came first");
            }
            WriteOutcome::BranchDeleted(BranchDeleted { landed, .. }) => {
                assert_eq!(landed.is_some(), has_landed, "{point}");
                assert_eq!(outcome.had_no_effect(), !has_landed, "{point}");
                assert!(!outcome.may_retry(), "{point}");
            }
            other => panic!("{point}: {other:?}"),
        }
        let fresh = fork(&main, "a", "main").await;
        base().assert_seen(&seen_by(&fresh).await);
        base().assert_seen(&seen_by(&main).await);
        assert_eq!(intents(&store).await, Vec::<String>::new(), "{point}");
    }
}

#[tokio::test]
async fn a_write_that_fails_on_a_branch_that_was_deleted_under_it_says_that_nothing_landed() {
    let (store, main) = graph().await;
    let token = fork(&main, "a", "main").await.on_branch();
    // The last of four commits to tables never gets through.
    let asked = AtomicUsize::new(0);
    let (client, _faults) = store.reopened().faulty(move |operation: &Operation| {
        let is_late = is_effect(operation) && asked.fetch_add(1, Ordering::SeqCst) >= 3;
        if is_late { Fault::Fail } else { Fault::Proceed }
    });
    let writer = writer_meeting_deletion(client, &store, Failpoint::PostArm).await;
    let before = versions(&store, &writer).await;
    let outcome = upsert(&writer).await;
    let WriteOutcome::BranchDeleted(deleted) = &outcome else { panic!("{outcome:?}") };
    assert_eq!((&deleted.branch, deleted.landed), (&token, None));
    assert!(outcome.had_no_effect());
    assert_eq!(versions(&store, &writer).await, before);
    let audit = main.audit(9).await.unwrap();
    let [entry] = &audit[..] else { panic!("one row, whoever discards: {audit:?}") };
    assert!(matches!(entry.decision, AuditedDecision::Discarded { .. }));
    assert_eq!(intents(&store).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_commit_whose_answer_is_lost_under_a_deletion_is_found_to_have_landed() {
    let (store, main) = graph().await;
    fork(&main, "a", "main").await;
    let (client, _faults) = store.reopened().faulty(at_nth(1, is_manifest_commit, Fault::LoseAck));
    let writer = writer_meeting_deletion(client, &store, Failpoint::PrePublish).await;
    let before = versions(&store, &writer).await;
    let outcome = upsert(&writer).await;
    let WriteOutcome::BranchDeleted(deleted) = &outcome else { panic!("{outcome:?}") };
    assert!(deleted.landed.is_some() && !outcome.had_no_effect());
    assert_eq!(versions(&store, &writer).await, before + 1);
}

fn of_branch(operation: &Operation) -> bool {
    is_manifest_commit(operation) && operation.path.contains("/tree/")
}

/// A process that has a writer under way, which holds its gates and waits before its commit to the
/// manifest, and may delete its branch.
struct UnderWay {
    main: Graph,
    writing: tokio::task::JoinHandle<WriteOutcome>,
    held: graphwrite_substrate::Held,
    _handle: graphwrite_substrate::HoldHandle,
}

impl UnderWay {
    async fn new(gate_wait_max: Duration) -> Self {
        let (store, main) = graph().await;
        fork(&main, "a", "main").await;
        let (client, mut handle) = store.reopened().holding(of_branch);
        let options = GraphOptions { gate_wait_max, ..own_process() };
        let main = Graph::open(client, options).await.unwrap();
        let branch = open(&main, "a").await;
        let writing = tokio::spawn(async move { upsert(&branch).await });
        let held = handle.next().await.expect("a commit");
        Self { main, writing, held, _handle: handle }
    }
}

#[tokio::test]
async fn a_deletion_queues_behind_the_writers_of_its_process_and_they_end_as_on_any_branch() {
    let UnderWay { main, writing, held, _handle } = UnderWay::new(Duration::from_secs(30)).await;
    let deleting = tokio::spawn({
        let main = main.clone();
        async move { delete(&main, "a").await }
    });
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
    assert!(!deleting.is_finished(), "the writer has the gate of its branch");
    held.release();
    let outcome = writing.await.unwrap();
    assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
    deleting.await.unwrap().unwrap();
    assert_eq!(delete(&main, "a").await.unwrap_err().code(), "no_such_branch");
}

#[tokio::test]
async fn a_deletion_that_waits_too_long_for_a_writer_of_its_process_is_refused_and_does_nothing() {
    let UnderWay { main, writing, held, _handle } = UnderWay::new(Duration::from_millis(1)).await;
    let refused = delete(&main, "a").await.unwrap_err();
    assert_eq!((refused.code(), refused.had_no_effect()), ("gate_timeout", true));
    assert!(refused.may_retry());
    held.release();
    let outcome = writing.await.unwrap();
    assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
    base().with(ROWS).assert_seen(&seen_by(&open(&main, "a").await).await);
}

#[tokio::test]
async fn a_deletion_that_expects_a_head_sees_what_the_writer_before_it_has_committed() {
    let UnderWay { main, writing, held, _handle } = UnderWay::new(Duration::from_secs(30)).await;
    let forked = main.log(1).await.unwrap()[0].commit;
    let deleting = tokio::spawn({
        let main = main.clone();
        async move { delete_expecting(&main, "a", Some(GraphHeadToken(Some(forked)))).await }
    });
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
    held.release();
    let WriteOutcome::Committed(receipt) = writing.await.unwrap() else { panic!("no commit") };
    let refused = deleting.await.unwrap().unwrap_err();
    let (code, may_retry) = (refused.code(), refused.may_retry());
    assert_eq!((code, may_retry, refused.had_no_effect()), ("branch_moved", false, true));
    let BranchError::Moved { expected, found, .. } = refused else { panic!("{refused:?}") };
    assert_eq!((expected, found), (Some(forked), receipt.commit));
    base().with(ROWS).assert_seen(&seen_by(&open(&main, "a").await).await);
    delete_expecting(&main, "a", Some(GraphHeadToken(receipt.commit))).await.unwrap();
    assert_eq!(delete(&main, "a").await.unwrap_err().code(), "no_such_branch");
}
