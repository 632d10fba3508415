//! Faults of the manifest: its versions, its rows, and what the commits of the history left.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, BinaryArray, RecordBatch, StringArray, UInt64Array};
use arrow_schema::SchemaRef;
use graphwrite_coordinator::{Graph, LoadMode, MemoryStorage, OpenError, Store};
use graphwrite_protocol_types::{AttemptId, CommitPermit, PhysicalRef, TxUuid};
use graphwrite_substrate::{
    BatchStream, ScanRequest, TableHandle, Version, create_dataset, stage_create, stage_replace,
};

use super::planting::{ADA, BOB, Ground, faults, foreign, land, notes, of, verified, version_of};
use crate::judge::impatient;
use crate::world::{create, rows};

const MANIFEST: &str = "__manifest";

/// A row of the manifest, as its columns have it.
#[derive(Clone)]
struct Row {
    kind: String,
    key: String,
    operation: Option<String>,
    version: u64,
    body: Vec<u8>,
}

async fn manifest(store: &Store) -> TableHandle {
    TableHandle::open(store, MANIFEST, &PhysicalRef::Main, Version::Latest).await.unwrap()
}

async fn manifest_rows(table: &TableHandle) -> (SchemaRef, Vec<Row>) {
    let stream = table.scan(ScanRequest::default()).await.unwrap();
    let schema = stream.schema();
    let mut rows = Vec::new();
    for batch in stream.collect_all().await.unwrap() {
        let text = |name: &str| batch.column_by_name(name).unwrap().as_string::<i32>().clone();
        let (kinds, keys, operations) = (text("kind"), text("key"), text("operation"));
        let versions = batch.column_by_name("version").unwrap().as_primitive::<UInt64Type>();
        let bodies = batch.column_by_name("body").unwrap().as_binary::<i32>();
        let operations: Vec<Option<String>> =
            operations.iter().map(|text| text.map(str::to_owned)).collect();
        rows.extend((0..batch.num_rows()).map(|at| Row {
            kind: kinds.value(at).to_owned(),
            key: keys.value(at).to_owned(),
            operation: operations[at].clone(),
            version: versions.value(at),
            body: bodies.value(at).to_vec(),
        }));
    }
    (schema, rows)
}

fn batch(schema: SchemaRef, rows: &[Row]) -> RecordBatch {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.kind))),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.key))),
        Arc::new(rows.iter().map(|row| row.operation.as_deref()).collect::<StringArray>()),
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.version))),
        Arc::new(BinaryArray::from_iter_values(rows.iter().map(|row| &row.body))),
    ];
    RecordBatch::try_new(schema, columns).unwrap()
}

/// Another writer publishes the manifest's rows, changed.
async fn republish(ground: &Ground, uuid: TxUuid, change: impl FnOnce(&mut Vec<Row>)) {
    let table = manifest(&ground.store()).await;
    let (schema, mut rows) = manifest_rows(&table).await;
    change(&mut rows);
    let old = table.fragments().unwrap().iter().map(|fragment| fragment.id).collect();
    let staged = stage_replace(&table, old, vec![batch(schema, &rows)], uuid).await.unwrap();
    land(&table, staged).await;
}

fn decision() -> TxUuid {
    TxUuid::authority(AttemptId::from_u128(7), 1)
}

/// The first or last row of a kind is taken out.
fn without(rows: &mut Vec<Row>, kind: &str, last: bool) {
    let mut places = rows.iter().enumerate().filter(|(_, row)| row.kind == kind);
    let place = if last { places.next_back() } else { places.next() };
    let place = place.expect("a row").0;
    rows.remove(place);
}

#[tokio::test]
async fn a_manifest_version_that_no_decision_made_is_named() {
    let ground = Ground::with_history().await;
    republish(&ground, foreign(), |_| {}).await;
    let report = ground.verified().await;
    assert_eq!(faults(&report), ["foreign_manifest"]);
    let found = of(&report, "foreign_manifest")[0];
    assert_eq!(found.place, "__manifest version 5");
    assert!(found.message.contains(foreign().as_str()));
}

#[tokio::test]
async fn a_commit_that_is_missing_breaks_the_line_and_leaves_its_outcome_alone() {
    let ground = Ground::with_history().await;
    let oldest = ground.open().await.log(9).await.unwrap().pop().unwrap().commit.to_string();
    republish(&ground, decision(), |rows| without(rows, "commit", false)).await;
    let report = ground.verified().await;
    assert!(faults(&report).contains(&"lineage") && faults(&report).contains(&"outcomes"));
    assert!(of(&report, "lineage").iter().any(|it| it.message.contains(&oldest)), "{report:#?}");
    assert!(of(&report, "outcomes").iter().any(|it| it.message.contains(&oldest)), "{report:#?}");
}

#[tokio::test]
async fn a_head_that_is_not_the_newest_commit_is_named() {
    let ground = Ground::with_history().await;
    republish(&ground, decision(), |rows| without(rows, "commit", true)).await;
    let report = ground.verified().await;
    assert!(of(&report, "lineage").iter().any(|it| it.place == "graph head"), "{report:#?}");
}

#[tokio::test]
async fn rows_of_a_commit_without_an_outcome_are_rows_without_a_commit() {
    let ground = Ground::with_history().await;
    republish(&ground, decision(), |rows| without(rows, "outcome", true)).await;
    let report = ground.verified().await;
    assert_eq!(faults(&report), ["outcomes", "uncommitted_rows"]);
    assert_eq!(of(&report, "uncommitted_rows")[0].place, "Person");
}

#[tokio::test]
async fn an_operation_that_is_decided_twice_is_named() {
    let ground = Ground::with_history().await;
    republish(&ground, decision(), |rows| {
        let outcome = rows.iter().find(|row| row.kind == "outcome").expect("a row").clone();
        rows.push(outcome);
    })
    .await;
    let report = ground.verified().await;
    assert_eq!(faults(&report), ["outcomes"]);
    assert!(of(&report, "outcomes").iter().any(|it| it.message.contains("two rows decide")));
}

#[tokio::test]
async fn a_table_with_a_head_and_no_declaration_is_named() {
    let ground = Ground::with_history().await;
    // Another graph declares the same types, each under an identity of its own.
    let other = Ground::new().await;
    let (_, foreign) = manifest_rows(&manifest(&other.store()).await).await;
    let is_live = |row: &&Row| row.kind == "table_head" && row.version > 1;
    let live = foreign.iter().find(is_live).expect("a loaded table").clone();
    let key = live.key.clone();
    republish(&ground, decision(), |rows| rows.push(live)).await;
    assert_eq!(of(&ground.verified().await, "undeclared_head")[0].place, key);
}

/// The manifest's versions are 1, and one for each commit.
async fn lose_commit(number: u64) -> Ground {
    let ground = Ground::with_history().await;
    ground.delete(&version_of(MANIFEST, number + 1)).await;
    ground
}

#[tokio::test]
async fn the_oldest_commit_may_be_gone() {
    let report = lose_commit(1).await.verified().await;
    assert_eq!(
        (faults(&report), notes(&report)),
        (vec![], vec!["history_removed", "unnamed_files"])
    );
}

#[tokio::test]
async fn a_commit_that_is_gone_between_others_is_a_fault() {
    let ground = lose_commit(2).await;
    let commit = ground.open().await.log(2).await.unwrap()[1].commit;
    let report = ground.verified().await;
    assert_eq!(faults(&report), ["version_gone"]);
    assert_eq!(of(&report, "version_gone")[0].place, commit.to_string());
}

#[tokio::test]
async fn another_version_under_the_number_of_a_commit_is_named() {
    let ground = Ground::new().await;
    let other = ground.fork();
    ground.append(ADA).await;
    ground.append(BOB).await;
    other.append(BOB).await;
    ground.take(&version_of(MANIFEST, 3), &other).await;
    let report = ground.verified().await;
    assert!(faults(&report).contains(&"other_version"), "{report:#?}");
    let commit = ground.open().await.log(2).await.unwrap()[1].commit;
    assert_eq!(of(&report, "other_version")[0].place, commit.to_string());
    assert!(of(&report, "outcomes").iter().any(|it| it.message.contains("version 3")));
}

#[tokio::test]
async fn a_commit_whose_manifest_version_is_cut_off_cannot_be_read() {
    let ground = Ground::with_history().await;
    ground.change(&version_of(MANIFEST, 3), |bytes| bytes.truncate(bytes.len() / 2)).await;
    let report = ground.verified().await;
    let commit = ground.open().await.log(2).await.unwrap()[1].commit;
    assert_eq!(of(&report, "unreadable_commit")[0].place, commit.to_string());
    assert_eq!(of(&report, "unreadable_version")[0].place, "__manifest version 3");
}

#[tokio::test]
async fn a_file_that_only_an_older_version_names_is_missed() {
    let ground = Ground::new().await;
    let old = ground.data_of(1).await;
    let lines =
        ["p1", "p2"].map(|slug| format!(r#"{{"type":"Person","data":{{"slug":"{slug}"}}}}"#));
    ground.load(LoadMode::Overwrite, &lines.each_ref().map(String::as_str)).await;
    ground.delete(&old[0]).await;
    let report = ground.verified().await;
    assert_eq!(faults(&report), ["missing_file"]);
    let missing = of(&report, "missing_file")[0];
    assert_eq!(missing.place, "Person version 1");
    assert!(missing.message.contains(&old[0]));
    assert_eq!(rows(&ground.open().await).await["Person"].len(), 2);
}

/// A graph whose stamp asks for `min_reader` and `min_writer`.
async fn stamped(min_reader: &str, min_writer: &str) -> MemoryStorage {
    let storage = MemoryStorage::new();
    create(&Store::memory(&storage)).await;
    let table = manifest(&Store::memory(&storage)).await;
    let (schema, rows) = manifest_rows(&table).await;
    let mut metadata = table.schema_metadata().clone();
    metadata.insert("graphwrite.min_reader".into(), min_reader.into());
    metadata.insert("graphwrite.min_writer".into(), min_writer.into());
    let schema = Arc::new(schema.as_ref().clone().with_metadata(metadata));
    let rows = batch(Arc::clone(&schema), &rows);
    let (newer, uuid) = (MemoryStorage::new(), decision());
    let store = Store::memory(&newer);
    let batches = BatchStream::of(schema, vec![rows]);
    let staged = stage_create(&store, MANIFEST, batches, uuid).await.unwrap();
    let permit = CommitPermit::authority(AttemptId::from_u128(7));
    let landing = create_dataset(&permit, &store, MANIFEST, staged).await.unwrap();
    assert!(landing.landed().is_some());
    newer
}

#[tokio::test]
async fn a_graph_that_only_a_newer_build_reads_is_refused_before_anything_is_checked() {
    let storage = stamped("2", "2").await;
    let opened = Graph::open_read_only(Store::memory(&storage), impatient()).await;
    assert!(matches!(opened, Err(OpenError::FormatRefused(_))), "{opened:?}");
}

#[tokio::test]
async fn a_graph_that_only_a_newer_build_writes_is_checked_and_says_so() {
    let report = verified(&stamped("1", "2").await).await;
    assert_eq!((faults(&report), notes(&report)), (vec![], vec!["newer_writer"]));
}
