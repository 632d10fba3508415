//! How many edges a node has is counted on what the request comes to, and the refusal says who has
//! how many of what is allowed.

use graphwrite_coordinator::{
    Graph, InputError, LoadLimits, LoadMode, LoadRequest, MemoryStorage, PrepareError, Rule, Store,
    Violation, WriteError, WriteErrorKind,
};
use graphwrite_protocol_types::WriteOutcome;

use crate::world::{append, assert_clean, create_with, input, load, rows};

const EMPLOYED: &str = r#"
[node.Person]
key = "slug"
[node.Person.properties]
slug = { type = "string" }
[node.Company]
key = "slug"
[node.Company.properties]
slug = { type = "string" }
[edge.WorksAt]
from = "Person"
to = "Company"
cardinality = "1..1"
multi = true
"#;

const BASE: &[&str] = &[
    r#"{"type":"Person","data":{"slug":"p1"}}"#,
    r#"{"type":"Person","data":{"slug":"p2"}}"#,
    r#"{"type":"Company","data":{"slug":"c1"}}"#,
    r#"{"edge":"WorksAt","from":"p1","to":"c1","data":{"id":"e1"}}"#,
    r#"{"edge":"WorksAt","from":"p2","to":"c1","data":{"id":"e2"}}"#,
];

async fn employed() -> Graph {
    let graph = create_with(&Store::memory(&MemoryStorage::new()), EMPLOYED).await;
    append(&graph, BASE).await;
    graph
}

/// The fault for which a load is refused.
async fn refused(graph: &Graph, mode: LoadMode, lines: &[&str]) -> Violation {
    let before = rows(graph).await;
    let answer = graph.load(LoadRequest::new(input(graph, lines).await, mode)).await;
    let Err(WriteError { kind: WriteErrorKind::Prepare(PrepareError::Invalid(found)), .. }) =
        answer
    else {
        panic!("{answer:?}");
    };
    assert_eq!(found.total(), 1, "{found:#?}");
    assert_eq!(rows(graph).await, before);
    assert_clean(graph).await;
    found.listed()[0].clone()
}

#[track_caller]
fn names(fault: &Violation, what: &[&str]) {
    assert_eq!(fault.rule, Rule::Cardinality, "{fault}");
    for word in what {
        assert!(fault.to_string().contains(word), "`{word}` in: {fault}");
    }
}

#[tokio::test]
async fn an_overwrite_of_the_edges_that_forgets_a_node_names_it_and_its_minimum() {
    let edges = [r#"{"edge":"WorksAt","from":"p2","to":"c1","data":{"id":"e2"}}"#];
    let fault = refused(&employed().await, LoadMode::Overwrite, &edges).await;
    names(&fault, &["p1", "WorksAt", "0", "1"]);
}

#[tokio::test]
async fn an_edge_too_many_names_its_source_the_count_and_the_maximum() {
    let edges = [r#"{"edge":"WorksAt","from":"p1","to":"c1","data":{"id":"e3"}}"#];
    let fault = refused(&employed().await, LoadMode::Append, &edges).await;
    names(&fault, &["p1", "WorksAt", "2", "1"]);
}

#[tokio::test]
async fn an_edge_that_moves_to_another_source_is_missed_by_the_one_it_leaves() {
    let moved = [r#"{"edge":"WorksAt","from":"p2","to":"c1","data":{"id":"e1"}}"#];
    let before = employed().await;
    let answer =
        before.load(LoadRequest::new(input(&before, &moved).await, LoadMode::Upsert)).await;
    let Err(WriteError { kind: WriteErrorKind::Prepare(PrepareError::Invalid(found)), .. }) =
        answer
    else {
        panic!("{answer:?}");
    };
    assert_eq!(found.total(), 2, "p1 has none, p2 has two: {found:#?}");
}

#[tokio::test]
async fn an_edge_that_is_put_again_under_its_id_counts_once() {
    let graph = employed().await;
    let again = [r#"{"edge":"WorksAt","from":"p1","to":"c1","data":{"id":"e1"}}"#];
    let outcome = load(&graph, LoadMode::Upsert, &again).await;
    assert!(matches!(outcome, WriteOutcome::NoChange(_)), "{outcome:?}");
    let moved = [
        r#"{"type":"Company","data":{"slug":"c2"}}"#,
        r#"{"edge":"WorksAt","from":"p1","to":"c2","data":{"id":"e1"}}"#,
    ];
    let outcome = load(&graph, LoadMode::Upsert, &moved).await;
    assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
    assert_clean(&graph).await;
}

#[tokio::test]
async fn an_edge_that_stands_twice_in_one_load_is_refused_as_a_key_and_not_as_one_too_many() {
    let graph = employed().await;
    let mut builder = graph.input(LoadLimits::default()).await.unwrap().with_errors_max(10);
    let line = r#"{"edge":"WorksAt","from":"p1","to":"c1","data":{"id":"e1"}}"#;
    builder.push_json_line(1, line).unwrap();
    builder.push_json_line(2, line).unwrap();
    let refused = builder.finish().unwrap_err();
    let InputError::Invalid(found) = refused else { panic!("{refused}") };
    let rules: Vec<_> = found.listed().iter().map(|it| it.rule).collect();
    assert_eq!(rules, [Rule::Key]);
}
