//! Rows as Arrow columns, in both directions. It owns the column names and types of `__manifest`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use crate::error::Damage;
use crate::rows::{RawRow, Row};

pub(crate) const KIND: &str = "kind";
pub(crate) const KEY: &str = "key";
pub(crate) const OPERATION: &str = "operation";
const VERSION: &str = "version";
const BODY: &str = "body";

pub(crate) fn columns() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new(KIND, DataType::Utf8, false),
        Field::new(KEY, DataType::Utf8, false),
        Field::new(OPERATION, DataType::Utf8, true),
        Field::new(VERSION, DataType::UInt64, false),
        Field::new(BODY, DataType::Binary, false),
    ]))
}

/// Rows could not be written as bytes; no row of this project is known to be so.
#[derive(Debug, thiserror::Error)]
#[error("the manifest's rows cannot be encoded: {0}")]
pub struct RowEncodeError(Box<dyn std::error::Error + Send + Sync>);

impl From<postcard::Error> for RowEncodeError {
    fn from(error: postcard::Error) -> Self {
        Self(Box::new(error))
    }
}

impl From<ArrowError> for RowEncodeError {
    fn from(error: ArrowError) -> Self {
        Self(Box::new(error))
    }
}

pub(crate) fn batch_of(rows: &[Row]) -> Result<RecordBatch, RowEncodeError> {
    let raw = rows.iter().map(Row::encode).collect::<Result<Vec<_>, _>>()?;
    let columns_of: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(raw.iter().map(|row| &row.kind))),
        Arc::new(StringArray::from_iter_values(raw.iter().map(|row| &row.key))),
        Arc::new(raw.iter().map(|row| row.operation.as_deref()).collect::<StringArray>()),
        Arc::new(UInt64Array::from_iter_values(raw.iter().map(|row| row.version))),
        Arc::new(BinaryArray::from_iter_values(raw.iter().map(|row| &row.body))),
    ];
    Ok(RecordBatch::try_new(columns(), columns_of)?)
}

pub(crate) fn rows_of(batches: &[RecordBatch]) -> Result<Vec<Row>, Damage> {
    let mut rows = Vec::new();
    for batch in batches {
        for raw in raw_rows(batch).ok_or(Damage::Columns)? {
            rows.push(Row::decode(&raw)?);
        }
    }
    Ok(rows)
}

/// The columns by name and type; none when they are not the ones of this format.
fn raw_rows(batch: &RecordBatch) -> Option<Vec<RawRow>> {
    let column = |name| batch.column_by_name(name);
    let kinds = column(KIND)?.as_string_opt::<i32>()?;
    let keys = column(KEY)?.as_string_opt::<i32>()?;
    let operations = column(OPERATION)?.as_string_opt::<i32>()?;
    let versions = column(VERSION)?.as_primitive_opt::<UInt64Type>()?;
    let bodies = column(BODY)?.as_binary_opt::<i32>()?;
    let row = |at: usize| RawRow {
        kind: kinds.value(at).to_owned(),
        key: keys.value(at).to_owned(),
        operation: operations.is_valid(at).then(|| operations.value(at).to_owned()),
        version: versions.value(at),
        body: bodies.value(at).to_vec(),
    };
    Some((0..batch.num_rows()).map(row).collect())
}
