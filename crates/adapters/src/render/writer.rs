//! Rows of one type on their way into a file or a stream, in any of the forms that `load` reads. It
//! holds one batch, and of Parquet one group of rows.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema, SchemaRef};
use graphwrite_protocol_types::TableIdentity;
use graphwrite_schema::GraphSchema;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use thiserror::Error;

use super::csv::CsvRenderer;
use super::{Columns, RenderError, RowRenderer};
use crate::input::DataForm;

/// Rows could not be exported.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A row has no form.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// The output cannot be written.
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
    /// The schema has no such type.
    #[error("the schema has no such type")]
    NoSuchType,
    /// Parquet could not be built; a fault of ours.
    #[error("the rows could not be built into Parquet: {0}")]
    Parquet(String),
}

/// Writes rows of one type.
#[must_use = "a file is complete when it is finished"]
pub struct RowWriter<W: Write + Send>(Form<W>);

impl<W: Write + Send> std::fmt::Debug for RowWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowWriter").finish_non_exhaustive()
    }
}

enum Form<W: Write + Send> {
    Jsonl { renderer: RowRenderer, text: String, out: W },
    Csv { renderer: Box<CsvRenderer>, out: W },
    Parquet { columns: Columns, schema: SchemaRef, writer: Box<ArrowWriter<W>> },
}

/// Bytes of a group of rows of Parquet that are held before they are written.
const GROUP_BYTES: usize = 32 << 20;

impl<W: Write + Send> RowWriter<W> {
    /// Rows of a type, in a form.
    ///
    /// # Errors
    /// When the schema has no such type, or the output cannot be written.
    pub fn new(
        schema: &GraphSchema,
        identity: TableIdentity,
        form: DataForm,
        out: W,
    ) -> Result<Self, ExportError> {
        let none = || ExportError::NoSuchType;
        Ok(Self(match form {
            DataForm::Jsonl => {
                let renderer = RowRenderer::new(schema, identity).ok_or_else(none)?;
                Form::Jsonl { renderer, text: String::new(), out }
            }
            DataForm::Csv => {
                let renderer = CsvRenderer::new(schema, identity).ok_or_else(none)?;
                Form::Csv { renderer: Box::new(renderer), out }
            }
            DataForm::Parquet => {
                let columns = Columns::new(schema, identity).ok_or_else(none)?;
                let of_table = schema.arrow_schema(identity).ok_or_else(none)?;
                let properties =
                    WriterProperties::builder().set_compression(Compression::SNAPPY).build();
                let schema = file_schema(&columns, &of_table)?;
                let writer = ArrowWriter::try_new(out, Arc::clone(&schema), Some(properties))?;
                Form::Parquet { columns, schema, writer: Box::new(writer) }
            }
        }))
    }

    /// Adds the rows of `batch`, which has at least the columns of the type.
    ///
    /// # Errors
    /// The first value without a form; text then ends with the whole rows before it.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<(), ExportError> {
        match &mut self.0 {
            Form::Jsonl { renderer, text, out } => {
                text.clear();
                let rendered = renderer.render(batch, text);
                out.write_all(text.as_bytes())?;
                Ok(rendered?)
            }
            Form::Csv { renderer, out } => {
                let rendered = renderer.render(batch);
                out.write_all(&renderer.take())?;
                Ok(rendered?)
            }
            Form::Parquet { columns, schema, writer } => {
                let batch = RecordBatch::try_new(Arc::clone(schema), columns.of(batch)?);
                writer.write(&batch.map_err(ParquetError::from)?)?;
                if writer.in_progress_size() > GROUP_BYTES {
                    writer.flush()?;
                }
                Ok(())
            }
        }
    }

    /// Completes the form.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn finish(self) -> Result<(), ExportError> {
        match self.0 {
            Form::Jsonl { mut out, .. } => Ok(out.flush()?),
            Form::Csv { mut renderer, mut out } => {
                out.write_all(&renderer.take())?;
                Ok(out.flush()?)
            }
            Form::Parquet { mut writer, .. } => {
                writer.finish()?;
                Ok(writer.inner_mut().flush()?)
            }
        }
    }
}

/// The columns of the file, without what only the graph knows of them.
fn file_schema(columns: &Columns, of_table: &SchemaRef) -> Result<SchemaRef, ExportError> {
    let fields = columns.iter().map(|(own, shown)| {
        let field = of_table.field_with_name(own).map_err(|_| columns.no_column(own))?;
        Ok(Field::new(shown, field.data_type().clone(), field.is_nullable()))
    });
    Ok(Arc::new(Schema::new(fields.collect::<Result<Vec<_>, RenderError>>()?)))
}

impl From<ParquetError> for ExportError {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(cause) => match cause.downcast::<io::Error>() {
                Ok(cause) => Self::Output(*cause),
                Err(cause) => Self::Parquet(cause.to_string()),
            },
            other => Self::Parquet(other.to_string()),
        }
    }
}
