//! The world that tests are set in: the common fixture and ways to build, read and judge it, through
//! the real write path.

use std::collections::BTreeMap;

use futures::TryStreamExt;
use graphwrite_coordinator::{
    Graph, GraphOptions, LoadInput, LoadLimits, LoadMode, LoadRequest, ProcessContext, RowRenderer,
    Snapshot, Store, SystemEnv,
};
use graphwrite_protocol_types::{Receipt, WriteOutcome};
use graphwrite_schema::{GraphSchema, SchemaDocument, declare};

/// Persons, companies, who knows whom, who works where.
pub(crate) const SCHEMA: &str = r#"
[node.Person]
key = "slug"
[node.Person.properties]
slug = { type = "string" }
email = { type = "string", nullable = true, unique = true }
age = { type = "i32", nullable = true }
[node.Company]
key = "slug"
[node.Company.properties]
slug = { type = "string" }
name = { type = "string", nullable = true }
[edge.Knows]
from = "Person"
to = "Person"
[edge.Knows.properties]
since = { type = "i32", nullable = true }
[edge.WorksAt]
from = "Person"
to = "Company"
cardinality = "0..1"
"#;

/// Rows that every test may start from.
pub(crate) const BASE: &[&str] = &[
    r#"{"type":"Person","data":{"slug":"p1","age":1}}"#,
    r#"{"type":"Person","data":{"slug":"p2","age":2}}"#,
    r#"{"type":"Company","data":{"slug":"c1"}}"#,
    r#"{"edge":"Knows","from":"p1","to":"p2"}"#,
];

pub(crate) fn schema() -> GraphSchema {
    let document = SchemaDocument::parse(SCHEMA).expect("the fixture parses");
    declare(&document, &SystemEnv::new()).expect("the fixture is valid")
}

/// Options of a process that shares nothing with any other.
pub(crate) fn own_process() -> GraphOptions {
    let env = SystemEnv::new();
    GraphOptions { process: ProcessContext::isolated(&env), ..GraphOptions::default() }
}

pub(crate) async fn create(store: &Store) -> Graph {
    create_with(store, SCHEMA).await
}

/// A new graph of another schema.
pub(crate) async fn create_with(store: &Store, schema: &str) -> Graph {
    let document = SchemaDocument::parse(schema).expect("the schema parses");
    let schema = declare(&document, &SystemEnv::new()).expect("the schema is valid");
    Graph::create(store.clone(), &schema, "ada", own_process()).await.expect("a new graph")
}

/// Opens the graph as a fresh process would.
pub(crate) async fn reopen(store: &Store) -> Graph {
    Graph::open(store.reopened(), own_process()).await.expect("a graph")
}

pub(crate) async fn input(graph: &Graph, lines: &[impl AsRef<str>]) -> LoadInput {
    let mut builder = graph.input(LoadLimits::default()).await.expect("a schema");
    for (number, line) in (1..).zip(lines) {
        builder.push_json_line(number, line.as_ref()).expect("a valid row");
    }
    builder.finish().expect("valid rows")
}

pub(crate) async fn load(graph: &Graph, mode: LoadMode, lines: &[impl AsRef<str>]) -> WriteOutcome {
    let request = LoadRequest::new(input(graph, lines).await, mode);
    graph.load(request).await.expect("an outcome")
}

pub(crate) async fn append(graph: &Graph, lines: &[impl AsRef<str>]) -> Receipt {
    match load(graph, LoadMode::Append, lines).await {
        WriteOutcome::Committed(receipt) => receipt,
        other => panic!("not committed: {other:?}"),
    }
}

/// All rows of the head, as sorted JSON lines per type.
pub(crate) async fn rows(graph: &Graph) -> BTreeMap<String, Vec<String>> {
    rows_of(&graph.snapshot().await.expect("a snapshot")).await
}

/// The same of any state.
pub(crate) async fn rows_of(snapshot: &Snapshot) -> BTreeMap<String, Vec<String>> {
    let mut all = BTreeMap::new();
    for declared in snapshot.schema().types() {
        let renderer = RowRenderer::new(snapshot.schema(), declared.identity).expect("declared");
        let table = snapshot.table(&declared.name).await.expect("a table");
        let batches: Vec<_> =
            table.scan().await.expect("a scan").try_collect().await.expect("batches");
        let mut text = String::new();
        for batch in &batches {
            renderer.render(batch, &mut text).expect("rows");
        }
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        all.insert(declared.name.clone(), lines);
    }
    all
}

/// Nothing is pending and nothing is wrong.
pub(crate) async fn assert_clean(graph: &Graph) {
    graph.settled().await;
    let report = graph.verify().await.expect("a report");
    assert!(report.is_clean(), "{:#?}", report.findings);
    assert_eq!(report.pending, 0, "{:#?}", report.findings);
}
