//! Merges whose sides share a history that is no line: crossed merges, siblings, branches without commits of
//! their own, the same branch again and again, and histories of any depth.

use graphwrite_coordinator::{
    BranchFrom, ConflictKind, Graph, LoadMode, MemoryStorage, MergeOptions, MergeRelation,
    MergeRequest, MergeStrategy, Store,
};
use graphwrite_protocol_types::{Answer as _, CommitId, WriteOutcome};

use super::scene::{merge, request, try_merge};
use crate::branches::scene::{fork, fork_at, graph};
use crate::judge::{Reference, Rows, seen_by};
use crate::world::{BASE, append, assert_clean, create, load};

fn base() -> Reference {
    Reference::default().with(BASE)
}

fn person(slug: &str, age: u32) -> String {
    format!(r#"{{"type":"Person","data":{{"slug":"{slug}","age":{age}}}}}"#)
}

async fn put(graph: &Graph, rows: &[String]) {
    let outcome = load(graph, LoadMode::Upsert, rows).await;
    assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
    graph.settled().await;
}

async fn head(graph: &Graph) -> CommitId {
    graph.log(1).await.unwrap()[0].commit
}

fn with(from: BranchFrom, strategy: MergeStrategy) -> MergeRequest {
    let options = MergeOptions { strategy, ..MergeOptions::default() };
    MergeRequest { options, ..MergeRequest::new(from) }
}

async fn must(target: &Graph, request: MergeRequest) {
    let answer = try_merge(target, request).await;
    assert!(matches!(answer.outcome, WriteOutcome::Committed(_)), "{answer:#?}");
}

/// Both have changed `p1`, and each has then merged what the other had before, by the strategies.
async fn crossed(of_main: MergeStrategy, of_branch: MergeStrategy) -> (Graph, Graph) {
    let (_, main) = graph().await;
    let branch = fork(&main, "b", "main").await;
    put(&main, &[person("p1", 60)]).await;
    put(&branch, &[person("p1", 50)]).await;
    let (on_main, on_branch) = (head(&main).await, head(&branch).await);
    must(&main, with(BranchFrom::Commit(on_branch), of_main)).await;
    must(&branch, with(BranchFrom::Commit(on_main), of_branch)).await;
    (main, branch)
}

#[tokio::test]
async fn branches_that_merged_each_other_crosswise_and_decided_otherwise_contradict_each_other() {
    let (main, branch) = crossed(MergeStrategy::Theirs, MergeStrategy::Theirs).await;
    let answer = try_merge(&main, request("b")).await;
    assert_eq!(answer.outcome.code(), "merge_conflict");
    let report = answer.report.unwrap();
    assert_eq!((report.relation, report.bases.len()), (MergeRelation::Diverged, 2));
    let counts = report.review.tables[0].conflicts.counts();
    assert_eq!((counts.total(), counts.of(ConflictKind::DivergentUpdate)), (1, 1));
    base().with(&[person("p1", 50)]).assert_seen(&seen_by(&main).await);

    // Each side's word is then the last one for both, and the cross is resolved.
    must(&main, with(request("b").source, MergeStrategy::Theirs)).await;
    let (_, back) = merge(&branch, "main").await;
    assert_eq!(back.relation, MergeRelation::FastForward);
    for graph in [&main, &branch] {
        base().with(&[person("p1", 60)]).assert_seen(&seen_by(graph).await);
        assert_clean(graph).await;
    }
}

#[tokio::test]
async fn branches_that_merged_each_other_crosswise_and_decided_the_same_merge_what_came_since() {
    for (of_main, of_branch, age) in [
        (MergeStrategy::Ours, MergeStrategy::Theirs, 60),
        (MergeStrategy::Theirs, MergeStrategy::Ours, 50),
    ] {
        let (main, branch) = crossed(of_main, of_branch).await;
        put(&main, &[person("p2", 7)]).await;
        put(&branch, &[person("b1", 8)]).await;
        let (receipt, report) = merge(&main, "b").await;
        assert_eq!(report.bases.len(), 2);
        assert_eq!((receipt.tables[0].inserted, receipt.tables[0].updated), (1, 0));
        let rows = [person("p1", age), person("p2", 7), person("b1", 8)];
        base().with(&rows).assert_seen(&seen_by(&main).await);
        assert_clean(&main).await;
    }
}

#[tokio::test]
async fn a_branch_without_commits_of_its_own_brings_those_that_it_was_made_of() {
    let (_, main) = graph().await;
    let old = fork(&main, "old", "main").await;
    put(&main, &[person("m1", 1)]).await;
    // The versions of each branch are numbered by itself, and the numbers meet.
    for name in ["fresh", "of_fresh"] {
        fork(&main, name, if name == "fresh" { "main" } else { "fresh" }).await;
    }
    let newest = head(&main).await;
    let (_, report) = merge(&old, "of_fresh").await;
    assert_eq!((report.relation, report.source.commit), (MergeRelation::FastForward, Some(newest)));
    let again = try_merge(&old, request("fresh")).await;
    assert_eq!(again.report.unwrap().relation, MergeRelation::Contained);
    base().with(&[person("m1", 1)]).assert_seen(&seen_by(&old).await);
    assert_clean(&old).await;
}

#[tokio::test]
async fn a_branch_of_an_empty_graph_takes_its_first_rows_by_a_merge_and_its_history_is_whole() {
    let store = Store::memory(&MemoryStorage::new());
    let main = create(&store).await;
    let (empty, apart) = (fork(&main, "b", "main").await, fork(&main, "c", "main").await);
    append(&main, BASE).await;
    put(&apart, &[person("c1", 9)]).await;

    let (_, report) = merge(&empty, "main").await;
    assert_eq!((report.relation, report.target), (MergeRelation::FastForward, None));
    assert_eq!(empty.log(9).await.unwrap()[0].parents, [head(&main).await]);
    base().assert_seen(&seen_by(&empty).await);
    assert_clean(&empty).await;

    let (_, report) = merge(&empty, "c").await;
    assert_eq!((report.relation, report.bases.len()), (MergeRelation::Unrelated, 0));
    base().with(&[person("c1", 9)]).assert_seen(&seen_by(&empty).await);
    assert_clean(&empty).await;
}

#[tokio::test]
async fn what_a_sibling_has_brought_in_is_not_merged_a_second_time() {
    let (_, main) = graph().await;
    let (b, c) = (fork(&main, "b", "main").await, fork(&main, "c", "main").await);
    put(&b, &[person("p1", 50), person("b1", 1)]).await;
    put(&c, &[person("p2", 60)]).await;
    merge(&c, "b").await;
    // It is taken back there, which is a change of the sibling and not of the branch.
    put(&c, &[person("p1", 51)]).await;
    let (receipt, _) = merge(&main, "c").await;
    assert_eq!((receipt.tables[0].inserted, receipt.tables[0].updated), (1, 2));
    let expected = base().with(&[person("p1", 51), person("b1", 1), person("p2", 60)]);
    expected.assert_seen(&seen_by(&main).await);
    let late = try_merge(&main, request("b")).await;
    assert_eq!(late.report.unwrap().relation, MergeRelation::Contained);
    put(&b, &[person("b1", 2)]).await;
    let (receipt, report) = merge(&main, "b").await;
    assert_eq!((receipt.tables[0].inserted, receipt.tables[0].updated), (0, 1));
    assert_eq!(report.review.tables[0].conflicts.counts().total(), 0);
    expected.with(&[person("b1", 2)]).assert_seen(&seen_by(&main).await);
    assert_clean(&main).await;
}

#[tokio::test]
async fn three_branches_that_do_not_contradict_each_other_come_to_the_same_in_every_order() {
    let orders =
        [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]].map(|it| it.to_vec());
    let (_, main) = graph().await;
    let start = head(&main).await;
    let names = ["b", "c", "d"];
    for (n, name) in names.iter().enumerate() {
        let branch = fork(&main, name, "main").await;
        let edge = format!(r#"{{"edge":"Knows","from":"{name}1","to":"p2"}}"#);
        let both = person("all", 9);
        put(&branch, &[person(&format!("{name}1"), 1), edge, both]).await;
        // The last two change the same row to the same.
        if n > 0 {
            put(&branch, &[person("p1", 5), person("p2", 6)][..n]).await;
        }
    }
    let mut seen: Option<Rows> = None;
    for (n, order) in orders.iter().enumerate() {
        let target = fork_at(&main, &format!("t{n}"), start).await;
        for at in order {
            merge(&target, names[*at]).await;
        }
        let rows = seen_by(&target).await;
        assert_eq!(*seen.get_or_insert_with(|| rows.clone()), rows, "{order:?}");
        assert_clean(&target).await;
    }
    let expected = ["b1", "c1", "d1"].map(|slug| person(slug, 1));
    let edges = ["b", "c", "d"].map(|it| format!(r#"{{"edge":"Knows","from":"{it}1","to":"p2"}}"#));
    let rows = base().with(&expected).with(&edges);
    let rows = rows.with(&[person("all", 9), person("p1", 5), person("p2", 6)]);
    rows.assert_seen(&seen.unwrap());
}

const SHALLOW: u32 = 10;
const DEEP: u32 = 200;

#[tokio::test]
async fn a_merge_of_branches_that_are_hundreds_of_commits_apart_asks_for_no_more_than_one_of_a_few()
{
    let (store, counter) = Store::memory(&MemoryStorage::new()).counting();
    let main = create(&store).await;
    append(&main, BASE).await;
    let branch = fork(&main, "b", "main").await;
    let mut asked = Vec::new();
    for depth in 1..=DEEP {
        // One row of each side is replaced again and again, so that there is no more to compare.
        put(&main, &[person("p1", 10 + depth)]).await;
        put(&branch, &[person("p2", 10 + depth)]).await;
        if depth == SHALLOW || depth == DEEP {
            counter.take();
            let report = main.preview_merge(request("b")).await.unwrap();
            asked.push(counter.take().total());
            assert_eq!((report.relation, report.bases.len()), (MergeRelation::Diverged, 1));
            assert_eq!(report.review.rows_changed(), 1);
        }
    }
    // How a table of one row is laid out may differ by a file or two.
    assert!(asked[1] <= asked[0] + 4, "{asked:?}");
    assert_eq!(main.log(usize::MAX).await.unwrap().len() as u32, DEEP + 1);
}
