//! Rows as JSON lines, in the one form that an export has: columns in the order of the schema,
//! nulls left out, instants in UTC. What is written here is read back as the same values, and
//! written again as the same bytes.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::base64::{BASE64_STANDARD, Engine};
use arrow_schema::{DataType, TimeUnit};
use graphwrite_protocol_types::TableIdentity;
use graphwrite_schema::{EDGE_DST, EDGE_ID, EDGE_SRC, GraphSchema};
use thiserror::Error;

use crate::input::{end_of_column, format_date, format_datetime, write_string};

mod csv;
mod value;
mod writer;

pub use value::{RowValue, RowValues};
pub use writer::{ExportError, RowWriter};

/// A row cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RenderError {
    /// The form has no text for the value. JSON and CSV have none for NaN, an infinity, or a time
    /// outside the years 0000 to 9999; CSV has none for an empty value where there may be a null.
    #[error(
        "{table}.{field}: {value} in row {row} has no form in {form}; export it in another format"
    )]
    NoForm {
        /// The type.
        table: String,
        /// The property.
        field: String,
        /// Row of the batch, counted from 0.
        row: usize,
        /// The value.
        value: String,
        /// The form.
        form: &'static str,
    },
    /// The batch does not have the columns of the type.
    #[error("the rows of {table} have no column `{field}` of its type")]
    Column {
        /// The type.
        table: String,
        /// The column.
        field: String,
    },
}

/// The columns of a type as a table of one type has them in a file, each with its name there: the
/// ends of an edge are called `from` and `to` unless properties are, and an id that follows from the
/// ends is left out.
#[derive(Debug, Clone)]
struct Columns {
    table: String,
    columns: Vec<(String, String)>,
    nullable: Vec<String>,
}

impl Columns {
    /// None when the schema has no such type.
    fn new(schema: &GraphSchema, identity: TableIdentity) -> Option<Self> {
        let def = schema.by_identity(identity)?;
        let same = |name: &str| (name.to_owned(), name.to_owned());
        let mut columns = Vec::new();
        if let Some(edge) = def.edge() {
            columns.extend(edge.multi.then(|| same(EDGE_ID)));
            for (own, shown) in [(EDGE_SRC, "from"), (EDGE_DST, "to")] {
                let is_free = end_of_column(def, shown).is_some();
                columns.push((own.to_owned(), if is_free { shown } else { own }.to_owned()));
            }
        }
        columns.extend(def.properties.iter().map(|property| same(&property.name)));
        let nullable = def.properties.iter().filter(|property| property.nullable);
        let nullable = nullable.map(|property| property.name.clone()).collect();
        Some(Self { table: def.name.clone(), columns, nullable })
    }

    fn iter(&self) -> impl Iterator<Item = &(String, String)> {
        self.columns.iter()
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(_, shown)| shown.as_str())
    }

    fn is_nullable(&self, column: &str) -> bool {
        self.nullable.iter().any(|name| name == column)
    }

    /// The columns of a batch, in order.
    fn of(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>, RenderError> {
        let column = |(own, _): &(String, String)| {
            batch.column_by_name(own).cloned().ok_or_else(|| self.no_column(own))
        };
        self.columns.iter().map(column).collect()
    }

    fn no_column(&self, name: &str) -> RenderError {
        RenderError::Column { table: self.table.clone(), field: name.to_owned() }
    }

    fn refused(
        &self,
        field: &str,
        form: &'static str,
        row: usize,
        refused: NotWritten,
    ) -> RenderError {
        match refused {
            NotWritten::NoForm(value) => {
                let (table, field) = (self.table.clone(), field.to_owned());
                RenderError::NoForm { table, field, row, value, form }
            }
            NotWritten::OtherType => self.no_column(field),
        }
    }
}

/// Writes rows of one type.
#[derive(Debug, Clone)]
pub struct RowRenderer {
    table: String,
    is_edge: bool,
    /// Columns of `data`.
    data: Vec<String>,
}

impl RowRenderer {
    /// None when the schema has no such type.
    pub fn new(schema: &GraphSchema, identity: TableIdentity) -> Option<Self> {
        let def = schema.by_identity(identity)?;
        // An id that follows from the ends is not written: it says nothing that they do not say.
        let own_id = def.edge().is_some_and(|edge| edge.multi).then(|| EDGE_ID.to_owned());
        let properties = def.properties.iter().map(|property| property.name.clone());
        let data = own_id.into_iter().chain(properties).collect();
        Some(Self { table: def.name.clone(), is_edge: !def.is_node(), data })
    }

    /// Appends one line, with its end, for every row of `batch`, which has at least the columns of
    /// the type.
    ///
    /// # Errors
    /// The first value without a form; `out` then ends with whole lines of the rows before it.
    pub fn render(&self, batch: &RecordBatch, out: &mut String) -> Result<(), RenderError> {
        for row in 0..batch.num_rows() {
            let end = out.len();
            if let Err(error) = self.line(batch, row, out) {
                out.truncate(end);
                return Err(error);
            }
        }
        Ok(())
    }

    fn line(&self, batch: &RecordBatch, row: usize, out: &mut String) -> Result<(), RenderError> {
        out.push_str(if self.is_edge { "{\"edge\":" } else { "{\"type\":" });
        write_string(out, &self.table);
        if self.is_edge {
            for (name, column) in [("from", EDGE_SRC), ("to", EDGE_DST)] {
                let _ = write!(out, ",\"{name}\":");
                self.cell(batch, column, row, out)?;
            }
        }
        out.push_str(",\"data\":{");
        let mut first = true;
        for name in &self.data {
            if self.column(batch, name)?.is_valid(row) {
                out.push_str(if first { "" } else { "," });
                first = false;
                write_string(out, name);
                out.push(':');
                self.cell(batch, name, row, out)?;
            }
        }
        out.push_str("}}\n");
        Ok(())
    }

    fn column<'b>(&self, batch: &'b RecordBatch, name: &str) -> Result<&'b ArrayRef, RenderError> {
        batch.column_by_name(name).ok_or_else(|| self.no_column(name))
    }

    fn no_column(&self, name: &str) -> RenderError {
        RenderError::Column { table: self.table.clone(), field: name.to_owned() }
    }

    fn cell(
        &self,
        batch: &RecordBatch,
        name: &str,
        row: usize,
        out: &mut String,
    ) -> Result<(), RenderError> {
        write_cell(self.column(batch, name)?, row, out).map_err(|refused| match refused {
            NotWritten::NoForm(value) => RenderError::NoForm {
                table: self.table.clone(),
                field: name.to_owned(),
                row,
                value,
                form: "JSON",
            },
            NotWritten::OtherType => self.no_column(name),
        })
    }
}

enum NotWritten {
    NoForm(String),
    OtherType,
}

/// Writes a valid cell.
fn write_cell(column: &ArrayRef, row: usize, out: &mut String) -> Result<(), NotWritten> {
    use DataType as T;
    match column.data_type() {
        T::Utf8 => write_string(out, column.as_string::<i32>().value(row)),
        T::Boolean => write_shown(out, column.as_boolean().value(row)),
        T::Int32 => write_shown(out, column.as_primitive::<Int32Type>().value(row)),
        T::Int64 => write_shown(out, column.as_primitive::<Int64Type>().value(row)),
        T::UInt32 => write_shown(out, column.as_primitive::<UInt32Type>().value(row)),
        T::UInt64 => write_shown(out, column.as_primitive::<UInt64Type>().value(row)),
        T::Float32 => {
            let value = column.as_primitive::<Float32Type>().value(row);
            write_float(out, value.is_finite(), &value)?;
        }
        T::Float64 => {
            let value = column.as_primitive::<Float64Type>().value(row);
            write_float(out, value.is_finite(), &value)?;
        }
        T::Date32 => {
            let days = column.as_primitive::<Date32Type>().value(row);
            write_time(out, format_date(days), "day", days.into())?;
        }
        T::Timestamp(TimeUnit::Microsecond, Some(_)) => {
            let micros = column.as_primitive::<TimestampMicrosecondType>().value(row);
            write_time(out, format_datetime(micros), "microsecond", micros)?;
        }
        T::Binary => {
            write_string(out, &BASE64_STANDARD.encode(column.as_binary::<i32>().value(row)));
        }
        T::List(_) => write_items(&column.as_list::<i32>().value(row), out)?,
        T::FixedSizeList(..) => write_items(&column.as_fixed_size_list().value(row), out)?,
        _ => return Err(NotWritten::OtherType),
    }
    Ok(())
}

fn write_shown(out: &mut String, value: impl std::fmt::Display) {
    let _ = write!(out, "{value}");
}

/// The shortest text that reads back as the same bits.
fn write_float(
    out: &mut String,
    is_finite: bool,
    value: &dyn std::fmt::Debug,
) -> Result<(), NotWritten> {
    if !is_finite {
        return Err(NotWritten::NoForm(format!("{value:?}")));
    }
    let _ = write!(out, "{value:?}");
    Ok(())
}

fn write_time(
    out: &mut String,
    text: Option<String>,
    unit: &str,
    value: i64,
) -> Result<(), NotWritten> {
    let text = text.ok_or_else(|| NotWritten::NoForm(format!("{unit} {value} of the epoch")))?;
    write_string(out, &text);
    Ok(())
}

fn write_items(items: &ArrayRef, out: &mut String) -> Result<(), NotWritten> {
    out.push('[');
    for item in 0..items.len() {
        if item > 0 {
            out.push(',');
        }
        if items.is_null(item) {
            return Err(NotWritten::NoForm("a null in a list".into()));
        }
        write_cell(items, item, out)?;
    }
    out.push(']');
    Ok(())
}

#[cfg(test)]
mod tests;
