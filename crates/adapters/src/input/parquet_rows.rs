//! Rows of one type as Parquet, batch by batch. It must not know what the rows mean.

use std::fs::File;

use graphwrite_protocol_types::TableIdentity;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;

use super::assembly::BATCH_ROWS;
use super::builder::InputBuilder;
use super::error::InputError;
use super::source::{DataForm, SourceError, SourceErrorKind};

/// Reads all rows of a file.
pub(crate) fn read(
    builder: &mut InputBuilder,
    name: &str,
    identity: TableIdentity,
    file: File,
    progress: &mut dyn FnMut(u64),
) -> Result<(), InputError> {
    let failed = |kind| SourceError { name: name.to_owned(), kind };
    let length = file.metadata().map_err(|cause| failed(SourceErrorKind::Unreadable(cause)))?.len();
    let batches = open(file, builder.batch_bytes()).map_err(failed)?;
    let (total, batches) = batches;
    let mut rows: u64 = 0;
    for batch in batches {
        let damaged = |cause: String| failed(SourceErrorKind::Damaged { row: Some(rows), cause });
        let batch = batch.map_err(|error| damaged(error.to_string()))?;
        builder.push_rows(identity, &batch, Some(rows))?;
        rows += batch.num_rows() as u64;
        progress(length.saturating_mul(rows) / total.max(1));
    }
    Ok(())
}

/// The number of rows, and the batches.
fn open(file: File, batch_bytes: u64) -> Result<(u64, ParquetRecordBatchReader), SourceErrorKind> {
    let damaged =
        |error: ParquetError| SourceErrorKind::Damaged { row: None, cause: error.to_string() };
    let found = begins_as_parquet(&file).map_err(SourceErrorKind::Unreadable)?;
    if !found {
        return Err(SourceErrorKind::OtherForm {
            said: DataForm::Parquet,
            found: "something else",
        });
    }
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(damaged)?;
    let total = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or_default();
    let rows = batch_rows(builder.metadata(), batch_bytes);
    Ok((total, builder.with_batch_size(rows).build().map_err(damaged)?))
}

/// Rows per batch by the average row of the widest group; at least one.
fn batch_rows(metadata: &ParquetMetaData, batch_bytes: u64) -> usize {
    let sizes = metadata.row_groups().iter().map(|group| {
        let bytes = u64::try_from(group.total_byte_size()).unwrap_or_default();
        bytes / u64::try_from(group.num_rows()).unwrap_or_default().max(1)
    });
    let widest = sizes.max().unwrap_or_default().max(1);
    usize::try_from(batch_bytes / widest).unwrap_or(BATCH_ROWS).clamp(1, BATCH_ROWS)
}

fn begins_as_parquet(file: &File) -> std::io::Result<bool> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = file;
    let mut start = Vec::with_capacity(4);
    file.take(4).read_to_end(&mut start)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(start == b"PAR1")
}
