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

use crate::input::{LoadInput, RowsError, TableInput};
use crate::load::LoadMode;

/// Separates these digests from every other hash over the same bytes.
const DOMAIN: &[u8] = b"graphwrite load request 1\0";

/// The digest of loading `input` in `mode`.
pub fn request_digest(mode: LoadMode, input: &LoadInput) -> RequestDigest {
    let mut hasher = Hasher::new();
    hasher.update(DOMAIN).update(&input.content).update(mode.name().as_bytes());
    RequestDigest(*hasher.finalize().as_bytes())
}

/// The digest of the rows of all tables.
pub(crate) fn content_digest(tables: &[TableInput]) -> Result<[u8; 32], RowsError> {
    let mut feed = Feed::default();
    tables.iter().try_for_each(|table| feed.table(table))?;
    Ok(feed.finish())
}

/// How many bytes are hashed at once: single cells are far too small for a fast hash.
const FLUSH_BYTES: usize = 1 << 16;

/// Bytes on their way into the hash. What is hashed does not depend on when they are flushed.
#[derive(Default)]
pub(crate) struct Feed {
    hasher: Hasher,
    waiting: Vec<u8>,
}

impl Feed {
    fn flush(&mut self) {
        self.hasher.update(&self.waiting);
        self.waiting.clear();
    }

    pub(crate) fn finish(mut self) -> [u8; 32] {
        self.flush();
        *self.hasher.finalize().as_bytes()
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= FLUSH_BYTES {
            self.flush();
        }
    }

    pub(crate) fn sized(&mut self, bytes: &[u8]) {
        self.bytes(&(bytes.len() as u64).to_le_bytes());
        self.bytes(bytes);
    }

    /// Column by column, so that the cut into batches leaves no trace. A column of nulls only says
    /// nothing, so that a property that is added later does not change the digest.
    fn table(&mut self, table: &TableInput) -> Result<(), RowsError> {
        self.sized(table.identity.to_string().as_bytes());
        self.bytes(&(table.rows() as u64).to_le_bytes());
        for (at, field) in table.schema.fields().iter().enumerate() {
            if table.is_filled(at) {
                self.sized(column_label(field).as_bytes());
                for columns in table.columns(&[field.name()])? {
                    columns?.iter().for_each(|column| self.cells(column));
                }
            }
        }
        Ok(())
    }

    fn cells(&mut self, column: &ArrayRef) {
        for row in 0..column.len() {
            self.bytes(&[u8::from(column.is_valid(row))]);
            if column.is_valid(row) {
                self.cell(column, row);
            }
        }
    }

    pub(crate) fn cell(&mut self, column: &ArrayRef, row: usize) {
        use DataType as T;
        macro_rules! number {
            ($type:ty) => {
                self.bytes(&column.as_primitive::<$type>().value(row).to_le_bytes())
            };
        }
        match column.data_type() {
            T::Utf8 => self.sized(column.as_string::<i32>().value(row).as_bytes()),
            T::Binary => self.sized(column.as_binary::<i32>().value(row)),
            T::Boolean => self.bytes(&[u8::from(column.as_boolean().value(row))]),
            T::Int32 => number!(Int32Type),
            T::Int64 => number!(Int64Type),
            T::UInt32 => number!(UInt32Type),
            T::UInt64 => number!(UInt64Type),
            T::Float32 => number!(Float32Type),
            T::Float64 => number!(Float64Type),
            T::Date32 => number!(Date32Type),
            T::Timestamp(..) => number!(TimestampMicrosecondType),
            T::List(_) => self.items(&column.as_list::<i32>().value(row)),
            T::FixedSizeList(..) => self.items(&column.as_fixed_size_list().value(row)),
            // The schema has no other types; a new one must be given its own bytes here.
            other => self.sized(other.to_string().as_bytes()),
        }
    }

    fn items(&mut self, items: &ArrayRef) {
        self.bytes(&(items.len() as u64).to_le_bytes());
        self.cells(items);
    }
}

/// A property by its id, which a rename keeps; a column of the system by its name.
pub(crate) fn column_label(field: &Field) -> &str {
    field.metadata().get(PROPERTY_ID_METADATA).unwrap_or(field.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestSchema;

    /// The digest is stored with the commit and compared by later versions.
    #[test]
    fn the_digest_of_known_rows_is_fixed() {
        let schema = TestSchema::new();
        let cells: Vec<_> = crate::testing::TYPES.iter().map(|(cell, _)| *cell).collect();
        let line = format!(r#"{{"type":"Types","data":{{"key":1,{}}}}}"#, cells.join(","));
        let digest = request_digest(LoadMode::Append, &schema.input(&[&line]));
        let text: String = digest.0[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(text, "535ee0812a3ee655");
    }
}
