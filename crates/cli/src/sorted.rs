//! The stable order of exported rows: by key, whatever the order in which they are stored. It must
//! not know how a row is written.

use arrow_array::{Array as _, ArrayRef, RecordBatch};
use arrow_row::{RowConverter, SortField};
use arrow_schema::ArrowError;
use arrow_select::interleave::interleave_record_batch;

/// Rows that are put together at a time.
const CHUNK_ROWS: usize = 4_096;

/// The rows of `batches`, ordered by the columns `key`, in batches of their own.
pub(crate) fn by_key<'a>(
    batches: &'a [RecordBatch],
    key: &[&str],
) -> Result<impl Iterator<Item = Result<RecordBatch, ArrowError>> + 'a, ArrowError> {
    let places = places(batches, key)?;
    let chunks = places.len().div_ceil(CHUNK_ROWS);
    let references: Vec<&RecordBatch> = batches.iter().collect();
    Ok((0..chunks).map(move |chunk| {
        let from = chunk * CHUNK_ROWS;
        let to = places.len().min(from + CHUNK_ROWS);
        interleave_record_batch(&references, &places[from..to])
    }))
}

/// Batch and row of every row, in order.
fn places(batches: &[RecordBatch], key: &[&str]) -> Result<Vec<(usize, usize)>, ArrowError> {
    let Some(first) = batches.first() else { return Ok(Vec::new()) };
    let fields = columns(first, key)?;
    let fields = fields.iter().map(|column| SortField::new(column.data_type().clone())).collect();
    let converter = RowConverter::new(fields)?;
    let mut rows = converter.empty_rows(0, 0);
    let mut places = Vec::new();
    for (index, batch) in batches.iter().enumerate() {
        converter.append(&mut rows, &columns(batch, key)?)?;
        places.extend((0..batch.num_rows()).map(|row| (index, row)));
    }
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|a, b| rows.row(*a).cmp(&rows.row(*b)));
    Ok(order.into_iter().map(|row| places[row]).collect())
}

fn columns(batch: &RecordBatch, key: &[&str]) -> Result<Vec<ArrayRef>, ArrowError> {
    let column = |name: &&str| {
        let missing = || ArrowError::SchemaError(format!("the rows have no column `{name}`"));
        batch.column_by_name(name).cloned().ok_or_else(missing)
    };
    key.iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{Int64Array, StringArray};

    use super::*;

    fn batch(rows: &[(&str, i64)]) -> RecordBatch {
        let names = StringArray::from_iter_values(rows.iter().map(|row| row.0));
        let numbers = Int64Array::from_iter_values(rows.iter().map(|row| row.1));
        let columns: [(&str, ArrayRef); 2] =
            [("name", Arc::new(names)), ("number", Arc::new(numbers))];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn numbers(batches: &[RecordBatch], key: &[&str]) -> Vec<i64> {
        let sorted = by_key(batches, key).unwrap().map(Result::unwrap);
        sorted.flat_map(|b| b.column(1).as_primitive::<Int64Type>().values().to_vec()).collect()
    }

    #[test]
    fn rows_of_several_batches_come_in_the_order_of_their_keys() {
        let batches = [batch(&[("c", 3), ("a", 1)]), batch(&[]), batch(&[("b", 2)])];
        assert_eq!(numbers(&batches, &["name"]), [1, 2, 3]);
    }

    #[test]
    fn a_key_of_several_columns_is_compared_from_left_to_right() {
        let batches = [batch(&[("a", 10), ("b", 1)]), batch(&[("a", 9)])];
        assert_eq!(numbers(&batches, &["name", "number"]), [9, 10, 1]);
    }

    #[test]
    fn numbers_are_ordered_as_numbers() {
        assert_eq!(numbers(&[batch(&[("x", 10), ("x", -1), ("x", 9)])], &["number"]), [-1, 9, 10]);
    }

    #[test]
    fn many_rows_come_in_several_batches_and_none_is_lost() {
        let rows: Vec<_> = (0..10_000).rev().map(|n| ("x", n)).collect();
        let sorted = numbers(&[batch(&rows)], &["number"]);
        assert_eq!(sorted, (0..10_000).collect::<Vec<_>>());
    }

    #[test]
    fn no_rows_are_no_rows_and_a_missing_column_is_an_error() {
        assert_eq!(numbers(&[], &["number"]), Vec::<i64>::new());
        assert!(by_key(&[batch(&[("a", 1)])], &["gone"]).is_err());
    }
}
