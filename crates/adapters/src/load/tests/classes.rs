//! Insert, update or unchanged, by typed equality.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use graphwrite_substrate::ROW_ADDRESS;

use crate::change::{Changes, RowClass};
use crate::input::TableInput;
use crate::keys::Pass;
use crate::load::LoadMode::{Append, Upsert};
use crate::load::classify::{Comparison, Rest};
use crate::testing::{TYPES, TestSchema};
use crate::world::{Came, World, committed};

fn row(cell: &str) -> String {
    let separator = if cell.is_empty() { "" } else { "," };
    format!(r#"{{"type":"Types","data":{{"key":1{separator}{cell}}}}}"#)
}

/// As a scan gives it, in fragment 0.
fn with_addresses(batch: &RecordBatch) -> RecordBatch {
    let mut fields: Vec<_> = batch.schema().fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new(ROW_ADDRESS, DataType::UInt64, true)));
    let addresses = UInt64Array::from_iter_values(0..batch.num_rows() as u64);
    let columns = batch.columns().iter().cloned().chain([Arc::new(addresses) as ArrayRef]);
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.collect()).unwrap()
}

fn classes_of(before: &[&str], after: &[&str]) -> Vec<RowClass> {
    let schema = TestSchema::new();
    let (before, after) = (schema.input(before), schema.input(after));
    let incoming: &TableInput = &after.tables()[0];
    let mut changes = Changes::all_inserts(incoming);
    let comparison = Comparison::new(&schema.schema, incoming, Rest::Stays, Pass::ALL).unwrap();
    for batch in before.tables()[0].batches() {
        let batch = with_addresses(&batch.unwrap());
        // The engine may give columns in another order.
        let reversed: Vec<_> = (0..batch.num_columns()).rev().collect();
        comparison.apply(&batch.project(&reversed).unwrap(), &mut changes).unwrap();
    }
    changes.classes
}

#[test]
fn every_type_tells_equal_values_from_different_ones() {
    for (one, other) in TYPES {
        let class = |a: &str, b: &str| classes_of(&[&row(a)], &[&row(b)]);
        assert_eq!(class(one, one), [RowClass::Unchanged], "{one}");
        assert_eq!(class(other, other), [RowClass::Unchanged], "{other}");
        assert_eq!(class(one, other), [RowClass::Update], "{one} {other}");
        assert_eq!(class(one, ""), [RowClass::Update], "{one} and null");
        assert_eq!(class("", one), [RowClass::Update], "null and {one}");
    }
    assert_eq!(classes_of(&[&row("")], &[&row("")]), [RowClass::Unchanged]);
}

#[test]
fn null_is_neither_the_empty_text_nor_zero_nor_the_empty_list() {
    for cell in [r#""text":"""#, r#""i32":0"#, r#""flag":false"#, r#""tags":[]"#, r#""bytes":"""#] {
        assert_eq!(classes_of(&[&row("")], &[&row(cell)]), [RowClass::Update], "{cell}");
    }
}

#[test]
fn lists_are_compared_item_by_item() {
    for (one, other) in [
        (r#""tags":["a","b"]"#, r#""tags":["b","a"]"#),
        (r#""tags":["ab"]"#, r#""tags":["a","b"]"#),
        (r#""tags":["a",""]"#, r#""tags":["a"]"#),
        (r#""nums":[1,2]"#, r#""nums":[1,2,0]"#),
    ] {
        assert_eq!(classes_of(&[&row(one)], &[&row(other)]), [RowClass::Update], "{one} {other}");
    }
}

#[test]
fn the_same_instant_in_another_zone_is_unchanged() {
    let utc = row(r#""at":"2026-01-01T00:00:00Z""#);
    let zoned = row(r#""at":"2026-01-01T02:00:00.000+02:00""#);
    assert_eq!(classes_of(&[&utc], &[&zoned]), [RowClass::Unchanged]);
}

#[test]
fn each_row_has_its_own_class() {
    let line = |key: u32, value: u32| {
        format!(r#"{{"type":"Types","data":{{"key":{key},"u32":{value}}}}}"#)
    };
    let before = [line(1, 1), line(2, 2), line(9, 9)];
    let after = [line(3, 3), line(2, 20), line(1, 1)];
    let (before, after): (Vec<_>, Vec<_>) =
        (before.iter().map(String::as_str).collect(), after.iter().map(String::as_str).collect());
    let expected = [RowClass::Insert, RowClass::Update, RowClass::Unchanged];
    assert_eq!(classes_of(&before, &after), expected);
}

mod floats {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};

    use super::*;

    fn input(bits: u64) -> crate::LoadInput {
        let key: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let value: ArrayRef = Arc::new(Float64Array::from(vec![f64::from_bits(bits)]));
        let batch = RecordBatch::try_from_iter([("key", key), ("f64", value)]).unwrap();
        let mut builder = TestSchema::new().builder();
        builder.push_batch("Types", &batch).unwrap();
        builder.finish().unwrap()
    }

    fn class(before: u64, after: u64) -> RowClass {
        let (before, after) = (input(before), input(after));
        let incoming = &after.tables()[0];
        let mut changes = Changes::all_inserts(incoming);
        let existing = with_addresses(&before.tables()[0].batches().next().unwrap().unwrap());
        let schema = TestSchema::new();
        let comparison = Comparison::new(&schema.schema, incoming, Rest::Stays, Pass::ALL).unwrap();
        comparison.apply(&existing, &mut changes).unwrap();
        changes.classes[0]
    }

    #[test]
    fn floats_are_compared_by_their_bits() {
        let quiet = f64::NAN.to_bits();
        assert_eq!(class(quiet, quiet), RowClass::Unchanged);
        assert_eq!(class(quiet, quiet | 1), RowClass::Update);
        assert_eq!(class(0.0f64.to_bits(), (-0.0f64).to_bits()), RowClass::Update);
        assert_eq!(class(1, 1), RowClass::Unchanged);
    }
}

#[tokio::test]
async fn stored_values_of_every_type_compare_equal_to_themselves() {
    let cells: Vec<_> = TYPES.iter().map(|(cell, _)| *cell).collect();
    let full = row(&cells.join(","));
    let empty = r#"{"type":"Types","data":{"key":2}}"#;
    let world = World::with(&[&full, empty]).await;
    assert_eq!(world.load(Upsert, &[&full, empty]).await, Came::NoChange);
    for (_, other) in TYPES {
        let changed: Vec<_> = TYPES
            .iter()
            .map(|(cell, theirs)| if theirs == other { *theirs } else { *cell })
            .collect();
        let came = world.prepare(Upsert, &[&row(&changed.join(","))]).await;
        assert!(matches!(came, Ok(crate::WritePlan::Write(_))), "{other}: {came:?}");
    }
}

#[tokio::test]
async fn more_keys_than_a_scan_names_are_classified_as_well() {
    let people: Vec<_> = (0..9_000)
        .map(|n| format!(r#"{{"type":"Person","data":{{"slug":"{n}","email":"{n}@x"}}}}"#))
        .collect();
    let mut lines: Vec<_> = people.iter().map(String::as_str).collect();
    let world = World::with(&lines).await;
    let changed = r#"{"type":"Person","data":{"slug":"8999","email":"new@x"}}"#;
    lines[8_999] = changed;
    lines.push(r#"{"type":"Person","data":{"slug":"new"}}"#);
    let came = world.load(Upsert, &lines).await;
    assert_eq!(came, committed(&[("Person", 1, 1, 8_999)]));
    assert_eq!(world.rows("Person").await.len(), 9_001);
    let taken = r#"{"type":"Person","data":{"slug":"other","email":"new@x"}}"#;
    let came = world.load(Append, &[taken]).await;
    assert_eq!(came, crate::world::invalid(&["line 1 Person.email unique"]));
}
