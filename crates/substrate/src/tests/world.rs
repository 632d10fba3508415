//! Small tables to test with: a key `id` and a value.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use graphwrite_protocol_types::{AttemptId, CommitPermit, PhysicalRef, TxUuid};
use tempfile::TempDir;

use crate::*;

pub(super) const TABLE: &str = "tables/t";
pub(super) const MAIN: PhysicalRef = PhysicalRef::Main;

pub(super) fn attempt() -> AttemptId {
    AttemptId::from_u128(7)
}

pub(super) fn permit() -> CommitPermit<'static> {
    CommitPermit::authority(attempt())
}

/// The transaction uuid of step `step`.
pub(super) fn uuid(step: u32) -> TxUuid {
    TxUuid::effect(attempt(), 0, step)
}

pub(super) fn schema() -> SchemaRef {
    let fields =
        vec![Field::new("id", DataType::Utf8, false), Field::new("value", DataType::Int64, true)];
    let metadata = HashMap::from([("stamp".to_owned(), "format 1".to_owned())]);
    Arc::new(Schema::new_with_metadata(fields, metadata))
}

pub(super) fn batch(rows: &[(&str, i64)]) -> RecordBatch {
    let ids: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.0)));
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1)));
    RecordBatch::try_new(schema(), vec![ids, values]).unwrap()
}

pub(super) fn rows(rows: &[(&str, i64)]) -> BatchStream {
    BatchStream::of(schema(), vec![batch(rows)])
}

pub(super) fn ids(values: &[&str]) -> RowFilter {
    let values: ArrayRef = Arc::new(StringArray::from_iter_values(values));
    RowFilter::In { column: "id".to_owned(), values }
}

/// The addresses of the rows that a filter finds.
pub(super) async fn addresses(table: &TableHandle, filter: RowFilter) -> RowAddresses {
    let columns = Some(vec!["id".to_owned()]);
    let filter = Some(filter);
    let request = ScanRequest { columns, filter, with_row_address: true, ..Default::default() };
    let batches = table.scan(request).await.unwrap().collect_all().await.unwrap();
    let column = |batch: &RecordBatch| batch.column_by_name(ROW_ADDRESS).unwrap().clone();
    let values = |batch| column(batch).as_primitive::<UInt64Type>().values().to_vec();
    batches.iter().flat_map(values).collect()
}

/// Stages a change that removes nothing.
pub(super) async fn stage_append(
    table: &TableHandle,
    adds: BatchStream,
    uuid: TxUuid,
) -> Result<StagedCommit, SubstrateError> {
    stage_change(table, &RowAddresses::new(), Some(adds), uuid).await
}

/// Stages a change that removes the rows with these keys.
pub(super) async fn change(
    table: &TableHandle,
    removed: &[&str],
    adds: Option<BatchStream>,
    uuid: TxUuid,
) -> StagedCommit {
    let removes = addresses(table, ids(removed)).await;
    stage_change(table, &removes, adds, uuid).await.unwrap()
}

pub(super) fn memory() -> Store {
    Store::memory(&MemoryStorage::new())
}

pub(super) fn local() -> (TempDir, Store) {
    let directory = TempDir::new().unwrap();
    let store = Store::local(directory.path(), Durability::Fsync).unwrap();
    (directory, store)
}

/// Creates the table with these rows, by transaction `uuid(1)`.
pub(super) async fn create(store: &Store, content: &[(&str, i64)]) -> TableHandle {
    let staged = stage_create(store, TABLE, rows(content), uuid(1)).await.unwrap();
    landed(create_dataset(&permit(), store, TABLE, staged).await.unwrap()).1
}

/// Commits one fence per uuid step.
pub(super) async fn fences(
    mut table: TableHandle,
    steps: std::ops::RangeInclusive<u32>,
) -> TableHandle {
    for step in steps {
        let staged = stage_fence(table.version(), uuid(step));
        table = commit(&table, staged).await;
    }
    table
}

pub(super) async fn commit(table: &TableHandle, staged: StagedCommit) -> TableHandle {
    landed(strict_commit(&permit(), table, staged).await.unwrap()).1
}

#[track_caller]
pub(super) fn landed(landing: Landing) -> (TableVersion, TableHandle) {
    match landing {
        Landing::Landed { version, table } => (version, table),
        other => panic!("expected a landing, got {other:?}"),
    }
}

#[track_caller]
pub(super) fn winner(landing: Landing) -> Option<TxUuid> {
    match landing {
        Landing::SlotTaken { winner } => winner,
        other => panic!("expected a taken slot, got {other:?}"),
    }
}

/// The table as a fresh process finds it.
pub(super) async fn fresh(store: &Store, version: Version) -> TableHandle {
    TableHandle::open(&store.reopened(), TABLE, &MAIN, version).await.unwrap()
}

/// All rows, sorted.
pub(super) async fn content(table: &TableHandle) -> Vec<(String, i64)> {
    let mut rows = read(table, ScanRequest::default()).await;
    rows.sort();
    rows
}

/// The rows that a request finds, in their order.
pub(super) async fn read(table: &TableHandle, request: ScanRequest) -> Vec<(String, i64)> {
    let batches = table.scan(request).await.unwrap().collect_all().await.unwrap();
    batches.iter().flat_map(pairs).collect()
}

fn pairs(batch: &RecordBatch) -> Vec<(String, i64)> {
    let ids = batch.column_by_name("id").unwrap().as_string::<i32>().clone();
    let values = batch.column_by_name("value").unwrap().as_primitive::<Int64Type>().clone();
    let id = |index| ids.value(index).to_owned();
    (0..batch.num_rows()).map(|index| (id(index), values.value(index))).collect()
}

pub(super) fn owned(rows: &[(&str, i64)]) -> Vec<(String, i64)> {
    rows.iter().map(|(id, value)| ((*id).to_owned(), *value)).collect()
}

pub(super) fn manifest_path(version: u64) -> String {
    format!("{TABLE}/_versions/{:020}.manifest", u64::MAX - version)
}
