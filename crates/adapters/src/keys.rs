//! Typed equality over columns, in bulk: rows as comparable bytes, indexed by sorting. Null differs
//! from every value, floats compare by their bits, lists and vectors by their items. It knows no
//! table and no constraint.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, StringArray, UInt32Array, UInt64Array};
use arrow_row::{Row, RowConverter, Rows, SortField};
use arrow_schema::{ArrowError, DataType};
use graphwrite_protocol_types::TableIdentity;
use graphwrite_schema::{KeyValue, derived_edge_id};

/// Turns rows of some columns into comparable bytes.
#[derive(Debug)]
pub(crate) struct Encoder(RowConverter);

impl Encoder {
    pub(crate) fn new(types: impl IntoIterator<Item = DataType>) -> Result<Self, ArrowError> {
        RowConverter::new(types.into_iter().map(SortField::new).collect()).map(Self)
    }

    pub(crate) fn rows(&self, columns: &[ArrayRef]) -> Result<Rows, ArrowError> {
        self.0.convert_columns(columns)
    }
}

/// The rows of one input under some of its columns, found by value.
#[derive(Debug)]
pub(crate) struct RowIndex {
    encoder: Encoder,
    rows: Rows,
    /// Row numbers, sorted by value, then by number.
    order: Vec<u32>,
}

impl RowIndex {
    /// Indexes the concatenation of `parts`. Rows with a null in one of the columns are left out.
    pub(crate) fn new(
        types: impl IntoIterator<Item = DataType>,
        parts: impl IntoIterator<Item = Vec<ArrayRef>>,
    ) -> Result<Self, ArrowError> {
        let encoder = Encoder::new(types)?;
        let mut rows = encoder.0.empty_rows(0, 0);
        let mut order = Vec::new();
        for columns in parts {
            let first = rows.num_rows();
            encoder.0.append(&mut rows, &columns)?;
            let present = (first..rows.num_rows()).filter(|row| is_present(&columns, row - first));
            order.extend(present.map(|row| row as u32));
        }
        order.sort_unstable_by(|a, b| {
            let values = rows.row(*a as usize).cmp(&rows.row(*b as usize));
            values.then_with(|| a.cmp(b))
        });
        Ok(Self { encoder, rows, order })
    }

    /// Indexed rows.
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// The bytes of other rows of the same columns, for [`RowIndex::find`].
    pub(crate) fn encode(&self, columns: &[ArrayRef]) -> Result<Rows, ArrowError> {
        self.encoder.rows(columns)
    }

    /// The first indexed row with this value.
    pub(crate) fn find(&self, value: Row<'_>) -> Option<u32> {
        let at = self.order.partition_point(|row| self.rows.row(*row as usize) < value);
        let found = *self.order.get(at)?;
        (self.rows.row(found as usize) == value).then_some(found)
    }

    /// Rows whose value an earlier row has, each with the earliest; in the order of the rows.
    pub(crate) fn repetitions(&self) -> Vec<(u32, u32)> {
        let mut found = Vec::new();
        for group in self.groups() {
            let [first, again @ ..] = group else { continue };
            found.extend(again.iter().map(|row| (*row, *first)));
        }
        found.sort_unstable();
        found
    }

    /// The rows of each distinct value.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &[u32]> {
        let same = |a: &u32, b: &u32| self.rows.row(*a as usize) == self.rows.row(*b as usize);
        self.order.chunk_by(same)
    }
}

fn is_present(columns: &[ArrayRef], row: usize) -> bool {
    columns.iter().all(|column| column.is_valid(row))
}

/// A column of one of the key types.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KeyColumn<'a> {
    Text(&'a StringArray),
    I32(&'a Int32Array),
    I64(&'a Int64Array),
    U32(&'a UInt32Array),
    U64(&'a UInt64Array),
}

impl<'a> KeyColumn<'a> {
    /// None when the column is not of a key type.
    pub(crate) fn of(column: &'a ArrayRef) -> Option<Self> {
        match column.data_type() {
            DataType::Utf8 => column.as_string_opt().map(Self::Text),
            DataType::Int32 => column.as_primitive_opt::<Int32Type>().map(Self::I32),
            DataType::Int64 => column.as_primitive_opt::<Int64Type>().map(Self::I64),
            DataType::UInt32 => column.as_primitive_opt::<UInt32Type>().map(Self::U32),
            DataType::UInt64 => column.as_primitive_opt::<UInt64Type>().map(Self::U64),
            _ => None,
        }
    }

    pub(crate) fn value(&self, row: usize) -> KeyValue<'a> {
        match self {
            Self::Text(keys) => KeyValue::Text(keys.value(row)),
            Self::I32(keys) => KeyValue::Signed(keys.value(row).into()),
            Self::I64(keys) => KeyValue::Signed(keys.value(row)),
            Self::U32(keys) => KeyValue::Unsigned(keys.value(row).into()),
            Self::U64(keys) => KeyValue::Unsigned(keys.value(row)),
        }
    }
}

/// A key as people read it.
pub(crate) fn key_text(key: KeyValue<'_>) -> String {
    match key {
        KeyValue::Text(text) => text.to_owned(),
        KeyValue::Signed(number) => number.to_string(),
        KeyValue::Unsigned(number) => number.to_string(),
    }
}

/// The ids of edges whose key is `(src, dst)`; none when an end is not of a key type.
pub(crate) fn derived_ids(
    edge: TableIdentity,
    src: &ArrayRef,
    dst: &ArrayRef,
) -> Option<StringArray> {
    let (src, dst) = (KeyColumn::of(src)?, KeyColumn::of(dst)?);
    let len = match src {
        KeyColumn::Text(keys) => keys.len(),
        KeyColumn::I32(keys) => keys.len(),
        KeyColumn::I64(keys) => keys.len(),
        KeyColumn::U32(keys) => keys.len(),
        KeyColumn::U64(keys) => keys.len(),
    };
    let id = |row| Some(derived_edge_id(edge, src.value(row), dst.value(row)));
    Some((0..len).map(id).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn texts(values: &[Option<&str>]) -> ArrayRef {
        Arc::new(StringArray::from(values.to_vec()))
    }

    fn index(parts: &[ArrayRef]) -> RowIndex {
        let parts = parts.iter().map(|part| vec![Arc::clone(part)]);
        RowIndex::new([DataType::Utf8], parts).unwrap()
    }

    #[test]
    fn finds_values_across_parts() {
        let found = index(&[texts(&[Some("b"), Some("a")]), texts(&[Some("c")])]);
        let asked = found.encode(&[texts(&[Some("c"), Some("b"), Some("x"), None])]).unwrap();
        let rows: Vec<_> = asked.iter().map(|row| found.find(row)).collect();
        assert_eq!(rows, [Some(2), Some(0), None, None]);
    }

    #[test]
    fn an_empty_text_is_not_null_and_nulls_are_left_out() {
        let found = index(&[texts(&[None, Some(""), None])]);
        let asked = found.encode(&[texts(&[None, Some("")])]).unwrap();
        let rows: Vec<_> = asked.iter().map(|row| found.find(row)).collect();
        assert_eq!((found.len(), rows), (1, vec![None, Some(1)]));
    }

    #[test]
    fn repetitions_name_the_earliest_row() {
        let found = index(&[texts(&[Some("a"), Some("b"), Some("a")]), texts(&[Some("a")])]);
        assert_eq!(found.repetitions(), [(2, 0), (3, 0)]);
    }

    #[test]
    fn derived_ids_are_those_of_the_schema() {
        let edge = "0000000000000001-0000000000000002".parse().unwrap();
        let ends: ArrayRef = Arc::new(Int32Array::from(vec![7]));
        let ids = derived_ids(edge, &texts(&[Some("a")]), &ends).unwrap();
        let expected = derived_edge_id(edge, KeyValue::Text("a"), KeyValue::Signed(7));
        assert_eq!(ids.value(0), expected);
    }
}
