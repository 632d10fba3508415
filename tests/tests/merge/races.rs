//! A merge that stands still at a failpoint while another process does something to one of its branches: the
//! result is never one of a head that was the target's once.

use std::sync::Arc;

use graphwrite_coordinator::{
    Graph, GraphOptions, Hooks, LoadMode, MergeAnswer, MergeRelation, MergeStrategy, Store,
};
use graphwrite_protocol_types::{Answer as _, Failpoint, WriteOutcome};

use super::parents::judge_merges;
use super::scene::{Pause, request, try_merge};
use crate::branches::scene::{delete, fork, graph, open};
use crate::ground::open_on;
use crate::judge::{Reference, open_impatient, seen_by};
use crate::world::{BASE, append, assert_clean, load, own_process};

const OF_SOURCE: &[&str] = &[
    r#"{"type":"Person","data":{"slug":"p1","age":50}}"#,
    r#"{"type":"Person","data":{"slug":"b1","age":1}}"#,
    r#"{"type":"Company","data":{"slug":"c9"}}"#,
];
const OF_ANOTHER: &[&str] = &[
    r#"{"type":"Person","data":{"slug":"o1","age":1}}"#,
    r#"{"type":"Company","data":{"slug":"o1"}}"#,
];
const SAME_ROW: &[&str] = &[r#"{"type":"Person","data":{"slug":"p1","age":60}}"#];
const SAME_TABLE: &[&str] = &[r#"{"type":"Person","data":{"slug":"p2","age":61}}"#];
const OTHER_TABLE: &[&str] = &[r#"{"edge":"Knows","from":"p2","to":"p1"}"#];
const LATER: &[&str] = &[r#"{"type":"Person","data":{"slug":"later","age":1}}"#];

/// What happens meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meanwhile {
    /// A load of rows to the target.
    Load(&'static [&'static str]),
    MergeOfTheSame,
    MergeOfAnother,
    WriteOnTheSource,
    DeletionOfTheSource,
    DeletionOfTheTarget,
}

impl Meanwhile {
    const ALL: [Self; 8] = [
        Self::Load(SAME_ROW),
        Self::Load(SAME_TABLE),
        Self::Load(OTHER_TABLE),
        Self::MergeOfTheSame,
        Self::MergeOfAnother,
        Self::WriteOnTheSource,
        Self::DeletionOfTheSource,
        Self::DeletionOfTheTarget,
    ];

    async fn happens(self, store: &Store) {
        let main = open_impatient(store).await;
        let target = open(&main, "t").await;
        let outcome = match self {
            Self::Load(rows) => load(&target, LoadMode::Upsert, rows).await,
            Self::WriteOnTheSource => load(&open(&main, "b").await, LoadMode::Append, LATER).await,
            Self::MergeOfTheSame => try_merge(&target, request("b")).await.outcome,
            Self::MergeOfAnother => try_merge(&target, request("o")).await.outcome,
            Self::DeletionOfTheSource => return delete(&main, "b").await.expect("a deletion"),
            Self::DeletionOfTheTarget => return delete(&main, "t").await.expect("a deletion"),
        };
        target.settled().await;
        let is_over = matches!(outcome, WriteOutcome::Committed(_) | WriteOutcome::NoChange(_));
        assert!(is_over, "{self:?}: {outcome:?}");
    }

    /// What it has made of the target, over `rows`.
    fn over(self, rows: &Reference) -> Reference {
        match self {
            Self::Load(lines) => rows.with(lines),
            Self::MergeOfTheSame => rows.with(OF_SOURCE),
            Self::MergeOfAnother => rows.with(OF_ANOTHER),
            _ => rows.clone(),
        }
    }
}

async fn scene() -> (Store, Graph) {
    let (store, main) = graph().await;
    for (name, rows) in [("b", OF_SOURCE), ("o", OF_ANOTHER)] {
        let branch = fork(&main, name, "main").await;
        let outcome = load(&branch, LoadMode::Upsert, rows).await;
        assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
    }
    // It has a commit of its own.
    let target = fork(&main, "t", "main").await;
    append(&target, &[r#"{"type":"Person","data":{"slug":"t1","age":1}}"#]).await;
    (store, main)
}

fn before() -> Reference {
    Reference::default().with(BASE).with(&[r#"{"type":"Person","data":{"slug":"t1","age":1}}"#])
}

async fn cell(point: Failpoint, meanwhile: Meanwhile) {
    let (store, main) = scene().await;
    let pause = Pause::at(point);
    let hooks = Arc::clone(&pause) as Arc<dyn Hooks>;
    let options = GraphOptions { hooks, ..own_process() };
    let target = open_on(Some("t"), store.reopened(), options).await;
    let merging = tokio::spawn({
        let target = target.clone();
        async move { try_merge(&target, request("b")).await }
    });
    pause.arrived().await;
    meanwhile.happens(&store).await;
    pause.release();
    let answer = merging.await.unwrap();
    let cell = format!("{point}, {meanwhile:?}");
    // All of its effects are there: whoever came in between has completed it.
    let was_first = point == Failpoint::PrePublish;
    is_true(&answer, &target, meanwhile, was_first, &cell).await;
    let mut branches = vec![main.clone(), open(&main, "o").await];
    if meanwhile != Meanwhile::DeletionOfTheTarget {
        let merged = match (meanwhile, was_first) {
            (Meanwhile::Load(SAME_ROW), false) => meanwhile.over(&before()),
            _ => meanwhile.over(&before().with(OF_SOURCE)),
        };
        assert_eq!(seen_by(&target).await, merged.rows(), "{cell}");
        branches.push(target.clone());
    }
    if meanwhile != Meanwhile::DeletionOfTheSource {
        branches.push(open(&main, "b").await);
        judge_merges(&branches.iter().collect::<Vec<_>>(), MergeStrategy::Fail).await;
    }
    assert_clean(&main).await;
}

/// The answer says what has become of the merge.
async fn is_true(
    answer: &MergeAnswer,
    target: &Graph,
    meanwhile: Meanwhile,
    was_first: bool,
    cell: &str,
) {
    let outcome = &answer.outcome;
    match meanwhile {
        Meanwhile::DeletionOfTheTarget => {
            return assert!(
                matches!(outcome, WriteOutcome::BranchDeleted(_)),
                "{cell}: {outcome:?}"
            );
        }
        Meanwhile::Load(SAME_ROW) if !was_first => {
            assert_eq!(outcome.code(), "merge_conflict", "{cell}");
        }
        Meanwhile::MergeOfTheSame if !was_first => {
            assert!(matches!(outcome, WriteOutcome::NoChange(_)), "{cell}: {outcome:?}");
            let report = answer.report.as_ref().expect("a report");
            assert_eq!(report.relation, MergeRelation::Contained, "{cell}");
        }
        _ => assert!(matches!(outcome, WriteOutcome::Committed(_)), "{cell}: {outcome:?}"),
    }
    let report = answer.report.as_ref().expect("a report");
    let log = target.log(9).await.unwrap();
    if let WriteOutcome::Committed(receipt) = outcome {
        let merge = log.iter().find(|it| Some(it.commit) == receipt.commit).expect("it is there");
        assert_eq!(merge.parents, [report.target, report.source.commit].map(Option::unwrap));
    } else {
        assert_eq!(report.target, Some(log[0].commit), "{cell}: against the newest head");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merge_that_is_overtaken_before_its_intent_is_computed_anew() {
    for point in [Failpoint::PostPrepare, Failpoint::PreArm] {
        for meanwhile in Meanwhile::ALL {
            Box::pin(cell(point, meanwhile)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merge_that_is_taken_for_dead_is_taken_back_and_computed_anew_or_completed() {
    for point in [Failpoint::PostArm, Failpoint::PrePublish] {
        for meanwhile in Meanwhile::ALL {
            Box::pin(cell(point, meanwhile)).await;
        }
    }
}
