//! Rows as CSV, as `load` reads them: a header, then one record a row. What would be read back as
//! another value is refused.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::base64::{BASE64_STANDARD, Engine};
use arrow_schema::DataType;
use csv::{Writer, WriterBuilder};
use graphwrite_protocol_types::TableIdentity;
use graphwrite_schema::GraphSchema;

use super::{Columns, NotWritten, RenderError, write_cell};

/// Writes records of one type.
#[derive(Debug)]
pub(super) struct CsvRenderer {
    columns: Columns,
    records: Writer<Vec<u8>>,
}

impl CsvRenderer {
    /// None when the schema has no such type. The header is the first record.
    pub(super) fn new(schema: &GraphSchema, identity: TableIdentity) -> Option<Self> {
        let columns = Columns::new(schema, identity)?;
        let mut records = WriterBuilder::new().from_writer(Vec::new());
        // Nothing fails to be written to memory.
        records.write_record(columns.names()).ok()?;
        Some(Self { columns, records })
    }

    /// Adds a record for every row. After a refusal the records before it are kept.
    pub(super) fn render(&mut self, batch: &RecordBatch) -> Result<(), RenderError> {
        let columns = self.columns.of(batch)?;
        let mut record: Vec<String> = vec![String::new(); columns.len()];
        for row in 0..batch.num_rows() {
            for ((column, field), (name, _)) in
                columns.iter().zip(&mut record).zip(self.columns.iter())
            {
                field.clear();
                let is_nullable = self.columns.is_nullable(name);
                write_field(column, row, is_nullable, field)
                    .map_err(|refused| self.columns.refused(name, "CSV", row, refused))?;
            }
            self.records.write_record(&record).map_err(|_| self.columns.no_column(""))?;
        }
        Ok(())
    }

    /// What was written since it was asked last.
    pub(super) fn take(&mut self) -> Vec<u8> {
        let next = WriterBuilder::new().from_writer(Vec::new());
        let written = std::mem::replace(&mut self.records, next);
        written.into_inner().unwrap_or_default()
    }
}

/// Null is the empty field; so a value that would be the empty field must not be null's neighbour.
fn write_field(
    column: &ArrayRef,
    row: usize,
    is_nullable: bool,
    out: &mut String,
) -> Result<(), NotWritten> {
    if column.is_null(row) {
        return Ok(());
    }
    match column.data_type() {
        DataType::Utf8 => out.push_str(column.as_string::<i32>().value(row)),
        DataType::Binary => {
            BASE64_STANDARD.encode_string(column.as_binary::<i32>().value(row), out);
        }
        DataType::Date32 | DataType::Timestamp(..) => {
            let mut quoted = String::new();
            write_cell(column, row, &mut quoted)?;
            out.push_str(quoted.trim_matches('"'));
        }
        _ => write_cell(column, row, out)?,
    }
    if out.is_empty() && is_nullable {
        return Err(NotWritten::NoForm("an empty value beside nulls".into()));
    }
    Ok(())
}
