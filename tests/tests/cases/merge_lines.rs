//! Merges by way of a third branch, into one that was never written, into a parent that has a child, and over
//! what a dead writer has left.

use graphwrite_coordinator::{Graph, GraphOptions, LoadMode, LoadRequest, MergeRelation, Store};
use graphwrite_protocol_types::{Failpoint, WriteOutcome};

use crate::branches::scene::{delete, fork, graph, open};
use crate::ground::open_on;
use crate::hooks::StopAt;
use crate::judge::{Reference, impatient, open_impatient, seen_by};
use crate::merge::scene::{merge, request, try_merge};
use crate::world::{BASE, append, assert_clean, input, load, own_process};

fn base() -> Reference {
    Reference::default().with(BASE)
}

fn person(slug: &str, age: u32) -> String {
    format!(r#"{{"type":"Person","data":{{"slug":"{slug}","age":{age}}}}}"#)
}

async fn put(graph: &Graph, slug: &str, age: u32) {
    let outcome = load(graph, LoadMode::Upsert, &[person(slug, age)]).await;
    assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
    graph.settled().await;
}

/// How two branches come to what a third one has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Third {
    Merged,
    MergedAndDeleted,
    /// Merged by way of a fourth one, on one side.
    MergedInAChain,
}

#[tokio::test]
async fn branches_that_have_both_merged_a_third_one_do_not_contradict_each_other_about_it() {
    for third in [Third::Merged, Third::MergedAndDeleted, Third::MergedInAChain] {
        let (_, main) = graph().await;
        put(&main, "p1", 0).await;
        put(&main, "p2", 0).await;
        let x = fork(&main, "x", "main").await;
        let y = fork(&main, "y", "main").await;
        let (s, t) = (fork(&main, "s", "main").await, fork(&main, "t", "main").await);
        put(&x, "p2", 1).await;
        if third == Third::MergedInAChain {
            put(&y, "y1", 1).await;
            merge(&y, "x").await;
            merge(&s, "y").await;
        } else {
            merge(&s, "x").await;
        }
        merge(&t, "x").await;
        put(&s, "p1", 5).await;
        put(&t, "p2", 2).await;
        if third == Third::MergedAndDeleted {
            delete(&main, "x").await.unwrap();
        }
        let (_, report) = merge(&t, "s").await;
        assert_eq!(report.review.row_conflicts(), 0, "{third:?}");
        let mut rows = base().with(&[person("p1", 5), person("p2", 2)]);
        if third == Third::MergedInAChain {
            rows = rows.with(&[person("y1", 1)]);
        }
        rows.assert_seen(&seen_by(&t).await);
        assert_clean(&t).await;
    }
}

#[tokio::test]
async fn a_target_that_was_never_written_takes_one_merge_after_the_other_and_needs_no_source() {
    let (store, main) = graph().await;
    let target = fork(&main, "tgt", "main").await;
    let (a, b) = (fork(&main, "a", "main").await, fork(&main, "b", "main").await);
    append(&a, &[person("a1", 1)]).await;
    append(&b, &[person("b1", 1)]).await;
    let (_, first) = merge(&target, "a").await;
    assert_eq!(first.relation, MergeRelation::FastForward);
    let (_, second) = merge(&target, "b").await;
    assert_eq!(second.relation, MergeRelation::Diverged);
    delete(&main, "a").await.unwrap();
    let rows = base().with(&[person("a1", 1), person("b1", 1)]);
    rows.assert_seen(&seen_by(&target).await);
    rows.assert_seen(&seen_by(&open(&open_impatient(&store).await, "tgt").await).await);
    put(&b, "b2", 2).await;
    merge(&target, "b").await;
    rows.with(&[person("b2", 2)]).assert_seen(&seen_by(&target).await);
    assert_clean(&target).await;
}

#[tokio::test]
async fn a_child_of_a_branch_that_was_merged_forward_has_the_rows_of_its_fork() {
    let (store, main) = graph().await;
    let b0 = fork(&main, "b0", "main").await;
    put(&b0, "n1", 1).await;
    let b1 = fork(&main, "b1", "b0").await;
    let of_fork = base().with(&[person("n1", 1)]);
    merge(&main, "b0").await;
    put(&main, "n0", 1).await;
    let (_, forward) = merge(&b0, "main").await;
    assert_eq!(forward.relation, MergeRelation::FastForward);
    put(&b0, "n2", 1).await;
    let all = of_fork.with(&[person("n0", 1), person("n2", 1)]);
    all.assert_seen(&seen_by(&b0).await);
    of_fork.assert_seen(&seen_by(&b1).await);
    delete(&main, "b0").await.unwrap();
    for graph in [&b1, &open(&open_impatient(&store).await, "b1").await] {
        of_fork.assert_seen(&seen_by(graph).await);
    }
    put(&b1, "n3", 1).await;
    let written = of_fork.with(&[person("n3", 1)]);
    written.assert_seen(&seen_by(&b1).await);
    let (_, report) = merge(&main, "b1").await;
    assert_eq!((report.relation, report.bases.len()), (MergeRelation::Diverged, 1));
    written.with(&[person("n0", 1)]).assert_seen(&seen_by(&main).await);
    assert_clean(&main).await;
}

const OF_BRANCH: &[&str] = &[r#"{"type":"Company","data":{"slug":"c9"}}"#];

/// A load of two tables to a branch, which stops there.
async fn half_a_load(store: &Store, branch: &str, point: Failpoint, nth: u8) -> Graph {
    let hooks = StopAt::new(point, nth);
    let options = GraphOptions { hooks, ..impatient() };
    let graph = open_on(Some(branch), store.reopened(), options).await;
    let request = LoadRequest::new(input(&graph, &lost()).await, LoadMode::Append);
    let outcome = graph.load(request).await.unwrap();
    assert!(matches!(outcome, WriteOutcome::OutcomeUnknown(_)), "{outcome:?}");
    graph
}

fn lost() -> Vec<String> {
    vec![person("l1", 1), r#"{"edge":"Knows","from":"l1","to":"p1"}"#.to_owned()]
}

/// Where a load stops, the n-th time, and whether it is there when whoever comes next has looked.
const STOPS: [(Failpoint, u8, bool); 4] = [
    (Failpoint::PostArm, 1, false),
    (Failpoint::PostEffect, 1, false),
    (Failpoint::PostEffect, 2, true),
    (Failpoint::PrePublish, 1, true),
];

#[tokio::test]
async fn a_merge_over_a_load_that_was_left_half_done_completes_it_or_takes_it_back_first() {
    for (point, nth, is_there) in STOPS {
        for same_handle in [true, false] {
            let (store, plain) = graph().await;
            append(&fork(&plain, "b", "main").await, OF_BRANCH).await;
            let stopped = half_a_load(&store, "main", point, nth).await;
            let main = if same_handle { stopped } else { open_impatient(&store).await };
            let (_, report) = merge(&main, "b").await;
            let commits = main.log(9).await.unwrap();
            assert_eq!(commits.len(), 2 + usize::from(is_there), "{point:?} {nth}: {commits:#?}");
            assert_eq!(report.target, Some(commits[1].commit));
            let mut rows = base().with(OF_BRANCH);
            if is_there {
                rows = rows.with(&lost());
                // What a process completes of its own is no audit.
                let told = usize::from(!same_handle);
                assert_eq!(main.audit(9).await.unwrap().len(), told);
            }
            rows.assert_seen(&seen_by(&main).await);
            assert!(store.list("_recovery").await.unwrap().is_empty());
            assert_clean(&main).await;
        }
    }
}

#[tokio::test]
async fn what_was_left_half_done_on_the_source_is_merged_once_it_is_a_commit() {
    for (point, nth, is_there) in STOPS {
        let (store, plain) = graph().await;
        let branch = fork(&plain, "b", "main").await;
        append(&branch, OF_BRANCH).await;
        half_a_load(&store, "b", point, nth).await;
        let main = Graph::open(store.reopened(), own_process()).await.unwrap();
        let (_, report) = merge(&main, "b").await;
        let captured = report.source.commit;
        let rows = base().with(OF_BRANCH);
        rows.assert_seen(&seen_by(&main).await);
        // A write to the branch resolves it; what has become a commit is merged next.
        let fresh = open_on(Some("b"), store.reopened(), impatient()).await;
        put(&fresh, "later", 1).await;
        assert!(fresh.log(9).await.unwrap().iter().any(|it| Some(it.commit) == captured));
        merge(&main, "b").await;
        let mut rows = rows.with(&[person("later", 1)]);
        if is_there {
            rows = rows.with(&lost());
        }
        rows.assert_seen(&seen_by(&main).await);
        assert_clean(&main).await;
        let again = try_merge(&main, request("b")).await;
        assert_eq!(again.report.unwrap().relation, MergeRelation::Contained);
    }
}
