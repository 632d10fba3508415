//! Columns on a temporary file without a name: written once, read back one by one. The system removes
//! the file with the process, whatever becomes of it. It must not know what the columns mean.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Field, Schema};
use graphwrite_protocol_types::Answer;
use thiserror::Error;

/// The temporary file of a request cannot be written or read; nothing was written to the graph.
#[derive(Debug, Error)]
#[error("the temporary file in `{directory}` cannot be used: {cause}")]
pub struct TempError {
    /// Where the file is.
    pub directory: PathBuf,
    /// What the system says.
    #[source]
    pub cause: io::Error,
}

impl Answer for TempError {
    fn code(&self) -> &'static str {
        "temp_storage"
    }

    fn may_retry(&self) -> bool {
        true
    }

    fn had_no_effect(&self) -> bool {
        true
    }

    fn help(&self) -> String {
        "the graph is unchanged; name a directory with space with `--temp-dir`, or allow more memory \
         with `--memory`"
            .into()
    }
}

/// Rows of a request cannot be read back.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RowsError {
    /// From the temporary file.
    #[error(transparent)]
    Temp(#[from] TempError),
    /// As columns; a fault of ours.
    #[error("rows could not be read as columns: {0}")]
    Columns(#[from] ArrowError),
}

/// A column in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk {
    offset: u64,
    length: usize,
}

/// The file.
#[derive(Debug)]
pub(crate) struct Spill {
    directory: PathBuf,
    file: Mutex<File>,
}

impl Spill {
    pub(crate) fn create(directory: &Path) -> Result<Self, TempError> {
        let directory = directory.to_owned();
        match tempfile::tempfile_in(&directory) {
            Ok(file) => Ok(Self { directory, file: Mutex::new(file) }),
            Err(cause) => Err(TempError { directory, cause }),
        }
    }

    pub(crate) fn write(&self, column: &ArrayRef) -> Result<Chunk, RowsError> {
        let bytes = encode(column)?;
        let append = |file: &mut File| -> io::Result<u64> {
            let offset = file.seek(SeekFrom::End(0))?;
            file.write_all(&bytes)?;
            Ok(offset)
        };
        let offset = append(&mut self.file()).map_err(|cause| self.failed(cause))?;
        Ok(Chunk { offset, length: bytes.len() })
    }

    pub(crate) fn read(&self, chunk: Chunk) -> Result<ArrayRef, RowsError> {
        let mut bytes = vec![0; chunk.length];
        let fill = |file: &mut File, bytes: &mut [u8]| -> io::Result<()> {
            file.seek(SeekFrom::Start(chunk.offset))?;
            file.read_exact(bytes)
        };
        fill(&mut self.file(), &mut bytes).map_err(|cause| self.failed(cause))?;
        decode(&bytes)
    }

    /// A panic between two calls leaves no state behind that the next one depends on.
    fn file(&self) -> MutexGuard<'_, File> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, cause: io::Error) -> RowsError {
        TempError { directory: self.directory.clone(), cause }.into()
    }
}

fn encode(column: &ArrayRef) -> Result<Vec<u8>, ArrowError> {
    let schema = Schema::new(vec![Field::new("", column.data_type().clone(), true)]);
    let batch = RecordBatch::try_new(schema.into(), vec![ArrayRef::clone(column)])?;
    let mut writer = StreamWriter::try_new(Vec::new(), batch.schema_ref())?;
    writer.write(&batch)?;
    writer.into_inner()
}

fn decode(bytes: &[u8]) -> Result<ArrayRef, RowsError> {
    let ends = || ArrowError::IpcError("a chunk without its column".into());
    let batch = StreamReader::try_new(bytes, None)?.next().ok_or_else(ends)??;
    Ok(ArrayRef::clone(batch.columns().first().ok_or_else(ends)?))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::StringArray;

    use super::*;

    fn texts(values: &[Option<&str>]) -> ArrayRef {
        Arc::new(StringArray::from(values.to_vec()))
    }

    #[test]
    fn columns_come_back_in_any_order() {
        let spill = Spill::create(&std::env::temp_dir()).unwrap();
        let columns = [texts(&[Some("a"), None]), texts(&[]), texts(&[Some("x")])];
        let chunks = columns.each_ref().map(|column| spill.write(column).unwrap());
        for (column, chunk) in columns.iter().zip(chunks).rev() {
            assert_eq!(&spill.read(chunk).unwrap(), column);
        }
    }

    #[test]
    fn a_slice_is_written_without_what_it_is_a_slice_of() {
        let spill = Spill::create(&std::env::temp_dir()).unwrap();
        let long: ArrayRef =
            Arc::new(StringArray::from_iter_values((0..10_000).map(|n| n.to_string())));
        let chunk = spill.write(&long.slice(5_000, 2)).unwrap();
        assert!(chunk.length < 1_000, "{}", chunk.length);
        assert_eq!(&spill.read(chunk).unwrap(), &texts(&[Some("5000"), Some("5001")]));
    }

    #[test]
    fn a_directory_that_cannot_be_used_is_named() {
        let error = Spill::create(Path::new("/nowhere/at/all")).unwrap_err();
        assert_eq!((error.code(), error.cause.kind()), ("temp_storage", io::ErrorKind::NotFound));
        assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
    }
}
