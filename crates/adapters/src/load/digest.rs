//! The digest of a request: which rows are to be loaded, and how. The same request has the same
//! digest in every process and version, however its rows are cut into batches; it says nothing of
//! places and nothing of the graph's content.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};
use blake3::Hasher;
use graphwrite_protocol_types::RequestDigest;
use graphwrite_schema::PROPERTY_ID_METADATA;

use super::LoadMode;
use crate::input::{LoadInput, TableInput};

/// Separates these digests from every other hash over the same bytes.
const DOMAIN: &[u8] = b"graphwrite load request 1\0";

/// The digest of loading `input` in `mode`.
pub fn request_digest(mode: LoadMode, input: &LoadInput) -> RequestDigest {
    let mut hasher = Hasher::new();
    hasher.update(DOMAIN);
    feed(&mut hasher, mode.name().as_bytes());
    for table in &input.tables {
        feed_table(&mut hasher, table);
    }
    RequestDigest(*hasher.finalize().as_bytes())
}

fn feed(hasher: &mut Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
}

/// Column by column, so that the cut into batches leaves no trace. A column of nulls only says
/// nothing, so that a property that is added later does not change the digest.
fn feed_table(hasher: &mut Hasher, table: &TableInput) {
    feed(hasher, table.identity.to_string().as_bytes());
    hasher.update(&(table.rows() as u64).to_le_bytes());
    for (at, field) in table.schema.fields().iter().enumerate() {
        let columns = || table.batches().map(|batch| batch.column(at));
        if columns().any(|column| column.null_count() < column.len()) {
            feed(hasher, column_label(field).as_bytes());
            columns().for_each(|column| feed_cells(hasher, column));
        }
    }
}

/// A property by its id, which a rename keeps; a column of the system by its name.
fn column_label(field: &Field) -> &str {
    field.metadata().get(PROPERTY_ID_METADATA).unwrap_or(field.name())
}

fn feed_cells(hasher: &mut Hasher, column: &ArrayRef) {
    for row in 0..column.len() {
        hasher.update(&[u8::from(column.is_valid(row))]);
        if column.is_valid(row) {
            feed_cell(hasher, column, row);
        }
    }
}

fn feed_cell(hasher: &mut Hasher, column: &ArrayRef, row: usize) {
    use DataType as T;
    macro_rules! number {
        ($type:ty) => {
            feed(hasher, &column.as_primitive::<$type>().value(row).to_le_bytes())
        };
    }
    match column.data_type() {
        T::Utf8 => feed(hasher, column.as_string::<i32>().value(row).as_bytes()),
        T::Binary => feed(hasher, column.as_binary::<i32>().value(row)),
        T::Boolean => feed(hasher, &[u8::from(column.as_boolean().value(row))]),
        T::Int32 => number!(Int32Type),
        T::Int64 => number!(Int64Type),
        T::UInt32 => number!(UInt32Type),
        T::UInt64 => number!(UInt64Type),
        T::Float32 => number!(Float32Type),
        T::Float64 => number!(Float64Type),
        T::Date32 => number!(Date32Type),
        T::Timestamp(..) => number!(TimestampMicrosecondType),
        T::List(_) => feed_items(hasher, &column.as_list::<i32>().value(row)),
        T::FixedSizeList(..) => feed_items(hasher, &column.as_fixed_size_list().value(row)),
        // The schema has no other types; a new one must be given its own bytes here.
        other => feed(hasher, other.to_string().as_bytes()),
    }
}

fn feed_items(hasher: &mut Hasher, items: &ArrayRef) {
    hasher.update(&(items.len() as u64).to_le_bytes());
    feed_cells(hasher, items);
}
