//! Two branches that have each taken over the same others, by merges of their own: they have several best common
//! ancestors, and what these come to is the base.

use graphwrite_coordinator::{Graph, LoadMode, MergeRelation};
use graphwrite_protocol_types::WriteOutcome;

use super::scene::{merge, request, try_merge};
use crate::branches::scene::{fork, graph};
use crate::judge::{Reference, seen_by};
use crate::world::{BASE, append, assert_clean, load};

fn person(name: &str, age: u32) -> String {
    format!(r#"{{"type":"Person","data":{{"slug":"{name}","age":{age}}}}}"#)
}

async fn upsert(graph: &Graph, line: String) {
    let outcome = load(graph, LoadMode::Upsert, &[line]).await;
    assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
    graph.settled().await;
}

/// Two branches of main with a row each, merged into main and into `stage`, in either order.
async fn two_taken_over() -> (Graph, Graph) {
    let (_, main) = graph().await;
    let stage = fork(&main, "stage", "main").await;
    for (name, row) in [("x1", person("p1", 5)), ("x2", person("n2", 2))] {
        upsert(&fork(&main, name, "main").await, row).await;
    }
    for (target, sources) in [(&main, ["x1", "x2"]), (&stage, ["x2", "x1"])] {
        for source in sources {
            let _ = merge(target, source).await;
        }
    }
    (main, stage)
}

#[tokio::test]
async fn what_one_side_changes_afterwards_is_merged_and_contradicts_nothing() {
    let (main, stage) = two_taken_over().await;
    upsert(&main, person("n2", 20)).await;
    upsert(&main, person("p1", 50)).await;
    let (receipt, report) = merge(&stage, "main").await;
    assert_eq!((report.relation, report.bases.len()), (MergeRelation::Diverged, 2));
    assert_eq!(receipt.tables.iter().map(|table| table.updated).sum::<u64>(), 2);
    assert_eq!(seen_by(&stage).await, seen_by(&main).await);
    assert_clean(&stage).await;
}

/// `p1` on the stage is again what one base has it: that base alone would bring the change back.
#[tokio::test]
async fn what_one_side_takes_back_afterwards_stays_taken_back() {
    let (main, stage) = two_taken_over().await;
    upsert(&stage, person("p1", 1)).await;
    upsert(&main, person("m", 7)).await;
    let _ = merge(&stage, "main").await;
    let expected = Reference::default().with(BASE);
    let expected = expected.with(&[&person("p1", 1), &person("n2", 2), &person("m", 7)]);
    expected.assert_seen(&seen_by(&stage).await);
}

#[tokio::test]
async fn rows_that_both_change_afterwards_contradict_each_other() {
    let (main, stage) = two_taken_over().await;
    upsert(&main, person("n2", 20)).await;
    upsert(&stage, person("n2", 21)).await;
    let answer = try_merge(&stage, request("main")).await;
    assert!(matches!(answer.outcome, WriteOutcome::Conflict(_)), "{:?}", answer.outcome);
    assert_eq!(answer.report.unwrap().review.row_conflicts(), 1);
}

#[tokio::test]
async fn two_branches_that_took_over_a_dozen_others_are_merged() {
    let (_, main) = graph().await;
    let stage = fork(&main, "stage", "main").await;
    let names: Vec<String> = (0..12).map(|number| format!("x{number}")).collect();
    for name in &names {
        append(&fork(&main, name, "main").await, &[person(name, 1)]).await;
    }
    for (at, name) in names.iter().enumerate() {
        let _ = merge(&main, name).await;
        let _ = merge(&stage, &names[names.len() - 1 - at]).await;
    }
    upsert(&main, person("x3", 33)).await;
    upsert(&stage, person("x4", 44)).await;
    let (_, report) = merge(&stage, "main").await;
    assert_eq!((report.bases.len(), report.review.rows_changed()), (12, 1));
    let (_, report) = merge(&main, "stage").await;
    assert_eq!(report.relation, MergeRelation::FastForward);
    assert_eq!(seen_by(&stage).await, seen_by(&main).await);
    assert_clean(&main).await;
}
