//! Columns brought to another type without losing a value: what does not come back as it was is
//! named, row by row. It knows no table.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, TimeUnit};

use crate::keys::Encoder;

/// A column in its new type.
pub(crate) struct Converted {
    pub(crate) column: ArrayRef,
    /// Rows whose value the new type does not have.
    pub(crate) lost: Vec<usize>,
}

/// Converts a column; none when the types hold values of different kinds.
pub(crate) fn convert(column: &ArrayRef, to: &DataType) -> Result<Option<Converted>, ArrowError> {
    let column = unpacked(column)?;
    let from = column.data_type();
    if from == to {
        return Ok(Some(Converted { column, lost: Vec::new() }));
    }
    if !is_convertible(from, to) {
        return Ok(None);
    }
    let converted = cast_safely(&column, to)?;
    let lost = if holds_all(from, to) { Vec::new() } else { lost(&column, &converted)? };
    Ok(Some(Converted { column: converted, lost }))
}

/// Dictionaries and other encodings that stand for plain values, as those values.
fn unpacked(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match column.data_type() {
        DataType::Dictionary(_, values) => cast_safely(column, values),
        DataType::RunEndEncoded(_, values) => cast_safely(column, values.data_type()),
        _ => Ok(Arc::clone(column)),
    }
}

fn cast_safely(column: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    cast_with_options(column, to, &CastOptions { safe: true, ..CastOptions::default() })
}

/// Rows that the way back does not bring back.
fn lost(before: &ArrayRef, after: &ArrayRef) -> Result<Vec<usize>, ArrowError> {
    let back = cast_safely(after, before.data_type())?;
    let encoder = Encoder::new([before.data_type().clone()])?;
    let (was, is) =
        (encoder.rows(std::slice::from_ref(before))?, encoder.rows(std::slice::from_ref(&back))?);
    let rows = (0..before.len()).filter(|row| before.is_valid(*row));
    Ok(rows.filter(|row| after.is_null(*row) || was.row(*row) != is.row(*row)).collect())
}

/// Whether two types hold values of one kind.
fn is_convertible(from: &DataType, to: &DataType) -> bool {
    use DataType as T;
    match (from, to) {
        (T::Null, _) => true,
        (T::Dictionary(_, values), to) => is_convertible(values, to),
        (T::Date64, T::Date32) => true,
        // Whatever the zone, what is stored is an instant; without one it is only a clock's face.
        (T::Timestamp(_, Some(_)), T::Timestamp(_, Some(_))) => true,
        (from, T::Float32 | T::Float64) => from.is_integer() || from.is_floating(),
        (from, to) if to.is_integer() => from.is_integer(),
        (T::List(from) | T::LargeList(from), T::List(to) | T::FixedSizeList(to, _))
        | (T::FixedSizeList(from, _), T::List(to) | T::FixedSizeList(to, _)) => {
            is_convertible(from.data_type(), to.data_type())
        }
        (from, to) => holds_all(from, to),
    }
}

/// Whether every value of the one type is a value of the other, in another encoding.
fn holds_all(from: &DataType, to: &DataType) -> bool {
    use DataType as T;
    match (from, to) {
        (T::Null, _) => true,
        (T::Utf8 | T::LargeUtf8 | T::Utf8View, T::Utf8) => true,
        (T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_), T::Binary) => true,
        (T::Timestamp(a, Some(_)), T::Timestamp(b, Some(_))) => {
            a == b && *a == TimeUnit::Microsecond
        }
        (T::Float16, T::Float32 | T::Float64) | (T::Float32, T::Float64) => true,
        (T::List(from) | T::LargeList(from), T::List(to))
        | (T::FixedSizeList(from, _), T::List(to)) => holds_all(from.data_type(), to.data_type()),
        (T::FixedSizeList(from, a), T::FixedSizeList(to, b)) => {
            a == b && holds_all(from.data_type(), to.data_type())
        }
        (from, to) => from == to,
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{
        Float32Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt16Type,
    };
    use arrow_array::{
        Date64Array, DictionaryArray, FixedSizeListArray, Float64Array, Int64Array, ListArray,
        NullArray, StringArray, TimestampNanosecondArray, TimestampSecondArray, UInt64Array,
    };
    use arrow_schema::Field;

    use super::*;

    fn lost_of(column: impl Array + 'static, to: &DataType) -> Vec<usize> {
        let column: ArrayRef = Arc::new(column);
        convert(&column, to).unwrap().expect("convertible").lost
    }

    fn is_refused(column: impl Array + 'static, to: &DataType) -> bool {
        let column: ArrayRef = Arc::new(column);
        convert(&column, to).unwrap().is_none()
    }

    fn instant() -> DataType {
        DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
    }

    fn vector(size: i32) -> DataType {
        DataType::FixedSizeList(Arc::new(Field::new_list_field(DataType::Float32, true)), size)
    }

    #[test]
    fn integers_that_do_not_fit_are_named_and_nulls_are_not() {
        let wide = Int64Array::from(vec![Some(1), None, Some(1 << 31), Some(-1), Some(i64::MIN)]);
        assert_eq!(lost_of(wide.clone(), &DataType::Int32), [2, 4]);
        assert_eq!(lost_of(wide, &DataType::UInt64), [3, 4]);
        let unsigned = UInt64Array::from(vec![u64::MAX, 7]);
        assert_eq!(lost_of(unsigned, &DataType::Int64), [0]);
    }

    #[test]
    fn numbers_that_a_float_cannot_hold_are_named() {
        let big = Int64Array::from(vec![(1 << 53) + 1, 1 << 53, i64::MAX]);
        assert_eq!(lost_of(big, &DataType::Float64), [0, 2]);
        let fine = Float64Array::from(vec![0.5, 0.1, 1e300, f64::NAN, f64::INFINITY, -0.0]);
        assert_eq!(lost_of(fine, &DataType::Float32), [1, 2]);
    }

    #[test]
    fn instants_change_their_unit_exactly_or_are_named() {
        let coarse = TimestampSecondArray::from(vec![1, i64::MAX]).with_timezone("Europe/Zurich");
        assert_eq!(lost_of(coarse, &instant()), [1]);
        let fine = TimestampNanosecondArray::from(vec![1_000, 1_001]).with_timezone("UTC");
        let column: ArrayRef = Arc::new(fine);
        let found = convert(&column, &instant()).unwrap().unwrap();
        assert_eq!(found.lost, [1]);
        assert_eq!(found.column.as_primitive::<TimestampMicrosecondType>().value(0), 1);
        assert!(is_refused(TimestampSecondArray::from(vec![1]), &instant()));
    }

    #[test]
    fn days_with_a_time_are_named() {
        let days = Date64Array::from(vec![86_400_000, 86_400_001]);
        assert_eq!(lost_of(days, &DataType::Date32), [1]);
    }

    #[test]
    fn lists_become_vectors_where_their_length_and_items_fit() {
        let lists = ListArray::from_iter_primitive::<Float32Type, _, _>([
            Some(vec![Some(1.0), Some(2.0)]),
            Some(vec![Some(1.0)]),
            None,
        ]);
        assert_eq!(lost_of(lists, &vector(2)), [1]);
        let wide = FixedSizeListArray::from_iter_primitive::<arrow_array::types::Float64Type, _, _>(
            [Some(vec![Some(1.0), Some(2.0)]), Some(vec![Some(1.0), Some(0.1)])],
            2,
        );
        assert_eq!(lost_of(wide, &vector(2)), [1]);
        let numbers = ListArray::from_iter_primitive::<Int64Type, _, _>([
            Some(vec![Some(1), Some(1 << 40)]),
            Some(vec![]),
        ]);
        let narrow = DataType::List(Arc::new(Field::new_list_field(DataType::Int32, true)));
        assert_eq!(lost_of(numbers, &narrow), [0]);
    }

    #[test]
    fn dictionaries_and_columns_of_nulls_are_what_they_stand_for() {
        let words: DictionaryArray<UInt16Type> = ["a", "b", "a"].into_iter().collect();
        assert_eq!(lost_of(words, &DataType::Utf8), [0; 0]);
        let column: ArrayRef = Arc::new(NullArray::new(2));
        let nulls = convert(&column, &DataType::Int32).unwrap().unwrap().column;
        assert_eq!(nulls.as_primitive::<Int32Type>().null_count(), 2);
    }

    #[test]
    fn values_of_another_kind_are_refused() {
        assert!(is_refused(StringArray::from(vec!["1"]), &DataType::Int32));
        assert!(is_refused(Int64Array::from(vec![1]), &DataType::Utf8));
        assert!(is_refused(Float64Array::from(vec![1.0]), &DataType::Int64));
        assert!(is_refused(Int64Array::from(vec![1]), &DataType::Boolean));
        assert!(is_refused(Int64Array::from(vec![1]), &instant()));
    }
}
