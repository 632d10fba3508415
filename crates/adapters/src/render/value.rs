//! One row as typed values, for whoever shows rows in a document of its own. The texts are those of an
//! export.

use std::fmt;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use graphwrite_schema::{EDGE_DST, EDGE_SRC};

use super::{NotWritten, RenderError, RowRenderer, write_cell};

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RowValue {
    /// Absent.
    Null,
    /// A boolean.
    Flag(bool),
    /// A signed number.
    Signed(i64),
    /// A number without a sign.
    Unsigned(u64),
    /// A float of 32 bits, finite.
    Single(f32),
    /// A float of 64 bits, finite.
    Double(f64),
    /// A text, as it is. Days, instants and bytes are the texts that an export has for them.
    Text(String),
    /// A list or a vector.
    Items(Vec<RowValue>),
    /// What an export has no text for: NaN, an infinity, a time beyond the year 9999; in words.
    NoForm(String),
}

/// As an export writes it, but for texts, which stand without quotes.
impl fmt::Display for RowValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Flag(value) => write!(f, "{value}"),
            Self::Signed(value) => write!(f, "{value}"),
            Self::Unsigned(value) => write!(f, "{value}"),
            Self::Single(value) => write!(f, "{value:?}"),
            Self::Double(value) => write!(f, "{value:?}"),
            Self::Text(text) | Self::NoForm(text) => f.write_str(text),
            Self::Items(items) => {
                f.write_str("[")?;
                for (at, item) in items.iter().enumerate() {
                    f.write_str(if at == 0 { "" } else { "," })?;
                    match item {
                        Self::Text(text) => write!(f, "{text:?}")?,
                        item => write!(f, "{item}")?,
                    }
                }
                f.write_str("]")
            }
        }
    }
}

/// One row, its values by the names that an export has for them, in its order.
#[derive(Debug, Clone, PartialEq)]
pub struct RowValues {
    /// The type's name.
    pub table: String,
    /// The ends of an edge, source first; none of a node.
    pub ends: Option<[RowValue; 2]>,
    /// The properties, absent ones too; edges that carry an id of their own begin with it.
    pub data: Vec<(String, RowValue)>,
}

impl RowRenderer {
    /// A row of `batch`, which has at least the columns of the type.
    ///
    /// # Errors
    /// A column of the type is missing, or is of no type that a property has.
    pub fn values(&self, batch: &RecordBatch, row: usize) -> Result<RowValues, RenderError> {
        let value = |name: &str| {
            let column = self.column(batch, name)?;
            value_of(column, row).ok_or_else(|| self.no_column(name))
        };
        let ends = match self.is_edge {
            true => Some([value(EDGE_SRC)?, value(EDGE_DST)?]),
            false => None,
        };
        let named = |name: &String| Ok((name.clone(), value(name)?));
        let data = self.data.iter().map(named).collect::<Result<_, RenderError>>()?;
        Ok(RowValues { table: self.table.clone(), ends, data })
    }
}

/// None for a type that no property has.
fn value_of(column: &ArrayRef, row: usize) -> Option<RowValue> {
    use DataType as T;
    if column.is_null(row) {
        return Some(RowValue::Null);
    }
    Some(match column.data_type() {
        T::Utf8 => RowValue::Text(column.as_string::<i32>().value(row).to_owned()),
        T::Boolean => RowValue::Flag(column.as_boolean().value(row)),
        T::Int32 => RowValue::Signed(column.as_primitive::<Int32Type>().value(row).into()),
        T::Int64 => RowValue::Signed(column.as_primitive::<Int64Type>().value(row)),
        T::UInt32 => RowValue::Unsigned(column.as_primitive::<UInt32Type>().value(row).into()),
        T::UInt64 => RowValue::Unsigned(column.as_primitive::<UInt64Type>().value(row)),
        T::Float32 => match column.as_primitive::<Float32Type>().value(row) {
            value if value.is_finite() => RowValue::Single(value),
            value => RowValue::NoForm(format!("{value:?}")),
        },
        T::Float64 => match column.as_primitive::<Float64Type>().value(row) {
            value if value.is_finite() => RowValue::Double(value),
            value => RowValue::NoForm(format!("{value:?}")),
        },
        T::List(_) => items(&column.as_list::<i32>().value(row))?,
        T::FixedSizeList(..) => items(&column.as_fixed_size_list().value(row))?,
        _ => return quoted(column, row),
    })
}

fn items(items: &ArrayRef) -> Option<RowValue> {
    let values: Option<Vec<_>> = (0..items.len()).map(|item| value_of(items, item)).collect();
    values.map(RowValue::Items)
}

/// What an export writes as a text without anything to escape in it.
fn quoted(column: &ArrayRef, row: usize) -> Option<RowValue> {
    let mut text = String::new();
    match write_cell(column, row, &mut text) {
        Ok(()) => Some(RowValue::Text(text.trim_matches('"').to_owned())),
        Err(NotWritten::NoForm(words)) => Some(RowValue::NoForm(words)),
        Err(NotWritten::OtherType) => None,
    }
}
