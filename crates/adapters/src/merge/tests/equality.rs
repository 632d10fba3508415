//! When two rows are the same: for every type of property, by its typed value.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, FixedSizeListArray, Float32Array, Float64Array, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::rows::Table;
use crate::merge::*;
use crate::testing::TYPES;

fn line(cell: &str) -> String {
    let separator = if cell.is_empty() { "" } else { "," };
    format!(r#"{{"type":"Types","data":{{"key":1{separator}{cell}}}}}"#)
}

/// Whether the merge takes `two` for another row than `one`: a change of the source, and no conflict
/// with a target that has it too.
fn differ(table: &Table, one: &RecordBatch, two: &RecordBatch) -> bool {
    let merge = |source, target| {
        table.merge(std::slice::from_ref(one), source, target, &MergeOptions::default())
    };
    let taken = merge(two, one).unwrap().counts();
    let kept = merge(one, two).unwrap();
    assert!(kept.counts().changed() == 0 && kept.conflicts().counts().total() == 0);
    let both = merge(two, two).unwrap();
    assert_eq!(both.conflicts().counts().total(), 0);
    assert_eq!(taken.rewritten, both.counts().converged);
    taken.rewritten == 1
}

#[test]
fn every_type_tells_its_values_and_null_apart() {
    let table = Table::new("Types");
    for (one, other) in TYPES {
        let [null, one, other] = ["", one, other].map(|cell| table.rows(&[line(cell)]));
        for (a, b) in [(&null, &one), (&one, &other), (&null, &other)] {
            assert!(differ(&table, a, b) && differ(&table, b, a), "{one:?} {other:?}");
        }
        for same in [&null, &one, &other] {
            assert!(!differ(&table, same, same), "{same:?}");
        }
    }
}

/// A row with another value in one column.
fn with_column(rows: &RecordBatch, name: &str, column: ArrayRef) -> RecordBatch {
    let mut columns = rows.columns().to_vec();
    columns[rows.schema().index_of(name).unwrap()] = column;
    RecordBatch::try_new(rows.schema(), columns).unwrap()
}

#[test]
fn an_empty_text_an_empty_list_and_nothing_are_three_things() {
    let table = Table::new("Types");
    let cells = ["", r#""text":"""#, r#""tags":[]"#, r#""tags":[""]"#, r#""bytes":"""#];
    let rows = cells.map(|cell| table.rows(&[line(cell)]));
    for (at, one) in rows.iter().enumerate() {
        for (other_at, other) in rows.iter().enumerate() {
            assert_eq!(differ(&table, one, other), at != other_at, "{at} {other_at}");
        }
    }
}

#[test]
fn floats_are_the_same_when_their_bits_are() {
    let table = Table::new("Types");
    let row = table.rows(&[line("")]);
    let other_nan = f64::from_bits(f64::NAN.to_bits() | 1);
    let values = [0.0, -0.0, f64::NAN, -f64::NAN, other_nan, f64::INFINITY];
    for (at, one) in values.iter().enumerate() {
        for (other_at, other) in values.iter().enumerate() {
            let [one, other] = [one, other]
                .map(|value| with_column(&row, "f64", Arc::new(Float64Array::from(vec![*value]))));
            assert_eq!(differ(&table, &one, &other), at != other_at, "{at} {other_at}");
        }
    }
}

fn vectors(items: [f32; 2], is_valid: bool) -> ArrayRef {
    let table = Table::new("Types");
    let DataType::FixedSizeList(item, 2) =
        table.columns().field_with_name("vec").unwrap().data_type().clone()
    else {
        panic!("no vector of two")
    };
    let items = Arc::new(Float32Array::from(items.to_vec()));
    let nulls = NullBuffer::from(vec![is_valid]);
    Arc::new(FixedSizeListArray::try_new(item, 2, items, Some(nulls)).unwrap())
}

#[test]
fn a_vector_that_is_null_is_the_same_whatever_lies_under_it() {
    let table = Table::new("Types");
    let row = table.rows(&[line("")]);
    let [one, other, value] = [([0.0, 0.0], false), ([1.0, 2.0], false), ([0.0, 0.0], true)]
        .map(|(items, is_valid)| with_column(&row, "vec", vectors(items, is_valid)));
    assert_eq!(one.column_by_name("vec").unwrap().null_count(), 1);
    assert!(!differ(&table, &one, &other));
    assert!(differ(&table, &one, &value));
}

#[test]
fn changes_of_two_properties_of_one_row_contradict_each_other_unless_they_come_to_the_same() {
    let table = Table::new("Types");
    let [base, text, flag, both] =
        ["", r#""text":"x""#, r#""flag":true"#, r#""text":"x","flag":true"#]
            .map(|cell| table.rows(&[line(cell)]));
    let merge = |source, target| {
        let merged =
            table.merge(std::slice::from_ref(&base), source, target, &MergeOptions::default());
        merged.unwrap().conflicts().counts().of(ConflictKind::DivergentUpdate)
    };
    assert_eq!([merge(&text, &flag), merge(&text, &both), merge(&both, &both)], [1, 1, 0]);
}
