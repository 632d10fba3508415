//! What a merge makes of rows that people were surprised by: edits that cancel out, one edge that both sides
//! have added, and values and edges that only both sides together are too many of.

use std::sync::Arc;

use graphwrite_coordinator::{
    ConflictKind, ConstraintKind, Graph, GraphOptions, Hooks, LoadLimits, LoadMode, MergeAnswer,
    MergeRelation, MergeReport, MutateRequest, Place, Store,
};
use graphwrite_protocol_types::{Answer as _, Failpoint, WriteOutcome};

use crate::branches::scene::{fork, graph, open};
use crate::judge::{Reference, open_impatient, seen_by};
use crate::merge::scene::{Pause, merge, request, try_merge};
use crate::world::{BASE, append, assert_clean, create_with, load, own_process};

fn base() -> Reference {
    Reference::default().with(BASE)
}

async fn mutate(graph: &Graph, statement: &str) {
    let mut builder = graph.mutation(LoadLimits::default()).await.unwrap();
    builder.push_json(&format!("[{statement}]")).unwrap();
    let outcome = graph.mutate(MutateRequest::new(builder.finish().unwrap())).await.unwrap();
    assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
    graph.settled().await;
}

fn set(property: &str, value: &str) -> String {
    format!(r#"{{"update":{{"type":"Person","key":"p1","set":{{"{property}":{value}}}}}}}"#)
}

const P9: &str = r#"{"insert":{"type":"Person","data":{"slug":"p9","age":9}}}"#;
const NO_P9: &str = r#"{"delete":{"type":"Person","key":"p9"}}"#;
const C9: &[&str] = &[r#"{"type":"Company","data":{"slug":"c9"}}"#];

/// The version of a table on a branch.
async fn version(graph: &Graph, table: &str) -> Option<u64> {
    let status = graph.status().await.unwrap();
    status.tables.iter().find(|it| it.name == table).unwrap().version
}

#[tokio::test]
async fn a_branch_whose_edits_cancel_out_is_merged_by_a_commit_that_leaves_its_tables_alone() {
    let edits = [
        [P9.to_owned(), NO_P9.to_owned()],
        [set("age", "50"), set("age", "1")],
        [set("email", "\"e\""), set("email", "null")],
    ];
    for edits in edits {
        for with_another in [false, true] {
            let (_, main) = graph().await;
            let branch = fork(&main, "b", "main").await;
            for edit in &edits {
                mutate(&branch, edit).await;
            }
            if with_another {
                append(&branch, C9).await;
            }
            let before = version(&main, "Person").await;
            let theirs = branch.log(1).await.unwrap()[0].commit;

            let (receipt, report) = merge(&main, "b").await;

            assert_eq!(report.review.rows_changed(), u64::from(with_another));
            assert_eq!(version(&main, "Person").await, before, "{edits:?}");
            let commit = main.log(1).await.unwrap().remove(0);
            assert_eq!((Some(commit.commit), commit.parents[1]), (receipt.commit, theirs));
            let again = try_merge(&main, request("b")).await;
            assert_eq!(again.report.unwrap().relation, MergeRelation::Contained);
            let WriteOutcome::NoChange(same) = again.outcome else { panic!("{edits:?}") };
            assert_eq!(same.commit, receipt.commit);
            let rows = if with_another { base().with(C9) } else { base() };
            rows.assert_seen(&seen_by(&main).await);
            assert_clean(&main).await;
        }
    }
}

const EDGE: &[&str] = &[r#"{"edge":"Knows","from":"p2","to":"p1","data":{"since":1}}"#];
const OTHERWISE: &[&str] = &[r#"{"edge":"Knows","from":"p2","to":"p1","data":{"since":2}}"#];

/// Edges between two nodes, by a reader and by the number of rows that the table has.
async fn edges(graph: &Graph, table: &str, from: &str, to: &str) -> usize {
    let ends = format!(r#""from":"{from}","to":"{to}""#);
    let rows = crate::world::rows(graph).await.remove(table).unwrap();
    let status = graph.status().await.unwrap();
    let told = status.tables.iter().find(|it| it.name == table).unwrap().rows.unwrap_or(0);
    assert_eq!(told, rows.len() as u64, "{rows:?}");
    rows.iter().filter(|row| row.contains(&ends)).count()
}

#[tokio::test]
async fn the_same_edge_of_both_sides_is_there_once_and_goes_by_its_ends() {
    let (_, main) = graph().await;
    let branch = fork(&main, "b", "main").await;
    append(&main, EDGE).await;
    append(&branch, EDGE).await;
    let (_, report) = merge(&main, "b").await;
    assert_eq!((report.review.rows_changed(), report.review.tables[0].counts.converged), (0, 1));
    assert_eq!(edges(&main, "Knows", "p2", "p1").await, 1);
    base().with(EDGE).assert_seen(&seen_by(&main).await);
    mutate(&main, r#"{"delete":{"edge":"Knows","from":"p2","to":"p1"}}"#).await;
    assert_eq!(edges(&main, "Knows", "p2", "p1").await, 0);
    base().assert_seen(&seen_by(&main).await);
    assert_clean(&main).await;

    // Its deletion is a change like any other: it is merged back, and the edge does not return.
    merge(&branch, "main").await;
    assert_eq!(edges(&branch, "Knows", "p2", "p1").await, 0);
    let late = try_merge(&main, request("b")).await;
    assert!(matches!(late.outcome, WriteOutcome::Committed(_)), "{late:?}");
    assert_eq!(edges(&main, "Knows", "p2", "p1").await, 0);
}

#[tokio::test]
async fn one_edge_with_other_properties_on_each_side_is_a_divergent_insert() {
    let (_, main) = graph().await;
    let branch = fork(&main, "b", "main").await;
    append(&main, EDGE).await;
    append(&branch, OTHERWISE).await;
    let MergeAnswer { outcome, report } = try_merge(&main, request("b")).await;
    assert_eq!(outcome.code(), "merge_conflict");
    let review = report.unwrap().review;
    let conflicts = &review.tables[0].conflicts;
    assert_eq!(conflicts.counts().of(ConflictKind::DivergentInsert), 1);
    assert_eq!(conflicts.listed()[0].key, "p2 -> p1");
    base().with(EDGE).assert_seen(&seen_by(&main).await);
}

/// Edges of one type side by side, told apart by an id.
const PARALLEL: &str = r#"
[node.Person]
key = "slug"
[node.Person.properties]
slug = { type = "string" }
[edge.Met]
from = "Person"
to = "Person"
multi = true
[edge.Met.properties]
year = { type = "i32", nullable = true }
"#;

fn met(id: &str, year: u32) -> String {
    format!(r#"{{"edge":"Met","from":"p2","to":"p1","data":{{"id":"{id}","year":{year}}}}}"#)
}

#[tokio::test]
async fn parallel_edges_of_both_sides_are_all_there_and_one_id_is_one_edge() {
    let store = Store::memory(&graphwrite_coordinator::MemoryStorage::new());
    let main = create_with(&store, PARALLEL).await;
    let people = ["p1", "p2"].map(|it| format!(r#"{{"type":"Person","data":{{"slug":"{it}"}}}}"#));
    append(&main, &people).await;
    let branch = fork(&main, "b", "main").await;
    append(&main, &[met("both", 1), met("of main", 1)]).await;
    append(&branch, &[met("both", 1), met("of branch", 1)]).await;
    merge(&main, "b").await;
    assert_eq!(edges(&main, "Met", "p2", "p1").await, 3);
    // All of them go by their ends.
    mutate(&main, r#"{"delete":{"edge":"Met","from":"p2","to":"p1"}}"#).await;
    assert_eq!(edges(&main, "Met", "p2", "p1").await, 0);
    assert_clean(&main).await;

    append(&branch, &[met("x", 1)]).await;
    append(&main, &[met("x", 2)]).await;
    let review = try_merge(&main, request("b")).await.report.unwrap().review;
    assert_eq!(review.tables[0].conflicts.counts().of(ConflictKind::DivergentInsert), 1);
}

fn with_email(slug: &str, email: &str) -> String {
    format!(r#"{{"type":"Person","data":{{"slug":"{slug}","email":"{email}"}}}}"#)
}

#[tokio::test]
async fn one_unique_value_of_both_sides_names_both_rows_and_nulls_are_no_value() {
    let (_, main) = graph().await;
    let branch = fork(&main, "b", "main").await;
    append(&branch, &[with_email("p8", "e1")]).await;
    append(&main, &[with_email("p9", "e1")]).await;
    let MergeAnswer { outcome, report } = try_merge(&main, request("b")).await;
    assert_eq!(outcome.code(), "merge_conflict");
    let constraints = report.unwrap().review.constraints;
    assert_eq!((constraints.total, constraints.listed[0].kind), (1, ConstraintKind::Unique));
    let violation = &constraints.listed[0].violation;
    assert!(matches!(&violation.place, Place::Merged { key: Some(key), .. } if key == "p8"));
    assert!(violation.message.contains("p9"), "{violation:?}");
    base().with(&[with_email("p9", "e1")]).assert_seen(&seen_by(&main).await);

    let unset = ["u1", "u2"].map(|it| format!(r#"{{"type":"Person","data":{{"slug":"{it}"}}}}"#));
    let nulls = fork(&main, "nulls", "main").await;
    append(&nulls, &unset[..1]).await;
    append(&main, &unset[1..]).await;
    merge(&main, "nulls").await;
    base().with(&[with_email("p9", "e1")]).with(&unset).assert_seen(&seen_by(&main).await);
}

/// The target changes once the merge has been computed, by a write of another process.
async fn changed_meanwhile(point: Failpoint, lines: &[String]) -> (MergeAnswer, Graph, Store) {
    let (store, plain) = graph().await;
    append(&fork(&plain, "b", "main").await, &[with_email("p8", "e1")]).await;
    append(&plain, &[with_email("p9", "e2")]).await;
    let pause = Pause::at(point);
    let hooks = Arc::clone(&pause) as Arc<dyn Hooks>;
    let main = Graph::open(store.reopened(), GraphOptions { hooks, ..own_process() }).await;
    let main = main.unwrap();
    let merging = tokio::spawn({
        let main = main.clone();
        async move { try_merge(&main, request("b")).await }
    });
    pause.arrived().await;
    let other = open(&open_impatient(&store).await, "main").await;
    let outcome = load(&other, LoadMode::Upsert, lines).await;
    assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
    other.settled().await;
    pause.release();
    (merging.await.unwrap(), main, store)
}

fn is_against_the_newest(report: &MergeReport, graph_line: &[graphwrite_coordinator::CommitInfo]) {
    let newest = graph_line.iter().find(|commit| commit.parents.len() < 2).unwrap();
    assert_eq!(report.target, Some(newest.commit));
}

#[tokio::test]
async fn a_target_that_changes_while_it_is_merged_into_is_judged_as_it_is_in_the_end() {
    for point in [Failpoint::PostPrepare, Failpoint::PreArm] {
        // The value is taken meanwhile.
        let (answer, main, _) = changed_meanwhile(point, &[with_email("p9", "e1")]).await;
        assert_eq!(answer.outcome.code(), "merge_conflict", "{point:?}");
        let report = answer.report.unwrap();
        assert_eq!(report.review.constraints.listed[0].kind, ConstraintKind::Unique);
        is_against_the_newest(&report, &main.log(9).await.unwrap());
        base().with(&[with_email("p9", "e1")]).assert_seen(&seen_by(&main).await);

        // Another one is, and a row of the source is there by now.
        let rows = [with_email("p9", "e3"), with_email("p8", "e1")];
        let (answer, main, store) = changed_meanwhile(point, &rows).await;
        assert!(matches!(answer.outcome, WriteOutcome::Committed(_)), "{answer:?}");
        let report = answer.report.unwrap();
        assert_eq!((report.review.rows_changed(), report.bases.len()), (0, 1));
        is_against_the_newest(&report, &main.log(9).await.unwrap());
        base().with(&rows).assert_seen(&seen_by(&main).await);
        assert_clean(&open_impatient(&store).await).await;
    }
}

const WORKS_AT_C1: &[&str] = &[r#"{"edge":"WorksAt","from":"p1","to":"c1"}"#];
const WORKS_AT_C2: &[&str] =
    &[r#"{"type":"Company","data":{"slug":"c2"}}"#, r#"{"edge":"WorksAt","from":"p1","to":"c2"}"#];

#[tokio::test]
async fn edges_of_both_sides_that_are_too_many_together_name_their_source_count_and_limit() {
    let (_, main) = graph().await;
    let branch = fork(&main, "b", "main").await;
    append(&branch, WORKS_AT_C1).await;
    append(&main, WORKS_AT_C2).await;
    let MergeAnswer { outcome, report } = try_merge(&main, request("b")).await;
    assert_eq!(outcome.code(), "merge_conflict");
    let constraints = report.unwrap().review.constraints;
    assert_eq!((constraints.total, constraints.listed[0].kind), (1, ConstraintKind::Cardinality));
    let message = &constraints.listed[0].violation.message;
    assert!(["`p1`", " 2 ", "0..1"].iter().all(|it| message.contains(it)), "{message}");
    base().with(WORKS_AT_C2).assert_seen(&seen_by(&main).await);
    // Both say the same edge: it counts once.
    let twin = fork(&main, "twin", "b").await;
    mutate(&main, r#"{"delete":{"edge":"WorksAt","from":"p1","to":"c2"}}"#).await;
    append(&main, WORKS_AT_C1).await;
    merge(&main, "twin").await;
    merge(&twin, "main").await;
    assert_eq!(edges(&twin, "WorksAt", "p1", "c1").await, 1);
    assert_clean(&main).await;
}
