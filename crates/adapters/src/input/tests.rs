//! What the rows of an input alone can show to be right or wrong.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};

use super::*;
use crate::testing::{TYPES, TestSchema};

/// The faults of some lines, as `place table.field rule`.
fn faults(lines: &[&str]) -> Vec<String> {
    match TestSchema::new().try_input(lines) {
        Ok(_) => Vec::new(),
        Err(InputError::Invalid(found)) => {
            assert_eq!(found.total(), found.listed().len() as u64);
            found.listed().iter().map(brief).collect()
        }
        Err(other) => panic!("{other}"),
    }
}

fn brief(violation: &Violation) -> String {
    let table = violation.table.as_deref().unwrap_or("-");
    let field = violation.field.as_deref().unwrap_or("-");
    format!("{} {table}.{field} {}", violation.place, violation.rule.code())
}

fn message(line: &str) -> String {
    match TestSchema::new().try_input(&[line]) {
        Err(InputError::Invalid(found)) => found.listed()[0].message.clone(),
        other => panic!("{other:?}"),
    }
}

fn table(lines: &[&str], name: &str) -> RecordBatch {
    let schema = TestSchema::new();
    let input = schema.try_input(lines).unwrap();
    let found = input.tables().iter().find(|table| table.name() == name).unwrap();
    found.batches().next().unwrap().unwrap()
}

/// A row of the type with every property type; `cell` is one more member of its `data`.
fn typed(cell: &str) -> String {
    format!(r#"{{"type":"Types","data":{{"key":1,{cell}}}}}"#)
}

#[test]
fn every_type_accepts_its_values() {
    for (cell, _) in TYPES {
        assert_eq!(faults(&[&typed(cell)]), [""; 0], "{cell}");
    }
}

#[test]
fn cells_become_typed_columns() {
    let cells: Vec<_> = TYPES.iter().map(|(cell, _)| *cell).collect();
    let rows = table(&[&typed(&cells.join(","))], "Types");
    let column = |name: &str| rows.column_by_name(name).unwrap();
    assert_eq!(column("text").as_string::<i32>().value(0), "é\n");
    assert!(column("flag").as_boolean().value(0));
    assert_eq!(column("i32").as_primitive::<Int32Type>().value(0), i32::MIN);
    assert_eq!(column("i64").as_primitive::<Int64Type>().value(0), i64::MIN);
    assert_eq!(column("u32").as_primitive::<UInt32Type>().value(0), u32::MAX);
    assert_eq!(column("u64").as_primitive::<UInt64Type>().value(0), u64::MAX);
    assert_eq!(column("f32").as_primitive::<Float32Type>().value(0), 0.1);
    assert_eq!(column("f64").as_primitive::<Float64Type>().value(0).to_bits(), (-0.0f64).to_bits());
    assert_eq!(column("day").as_primitive::<Date32Type>().value(0), 11_016);
    assert_eq!(column("at").as_primitive::<TimestampMicrosecondType>().value(0), 1_500_000);
    assert_eq!(column("bytes").as_binary::<i32>().value(0), b"\0\xff");
    assert_eq!(column("kind").as_string::<i32>().value(0), "b");
    let list = column("tags").as_list::<i32>().value(0);
    assert_eq!(list.as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["x", ""]);
    let vector = column("vec").as_fixed_size_list().value(0);
    assert_eq!(vector.as_primitive::<Float32Type>().values(), &[1.0, -2.5]);
}

#[test]
fn every_type_refuses_what_it_cannot_hold_exactly() {
    let cases: &[(&str, &str)] = &[
        (r#""text":1"#, "text type"),
        (r#""flag":"true""#, "flag type"),
        (r#""flag":1"#, "flag type"),
        (r#""i32":2147483648"#, "i32 range"),
        (r#""i32":1.5"#, "i32 type"),
        (r#""i32":1.0"#, "i32 type"),
        (r#""i32":1e2"#, "i32 type"),
        (r#""i32":"1""#, "i32 type"),
        (r#""i64":9223372036854775808"#, "i64 range"),
        (r#""u32":-1"#, "u32 range"),
        (r#""u32":4294967296"#, "u32 range"),
        (r#""u64":18446744073709551616"#, "u64 range"),
        (r#""f32":1e39"#, "f32 range"),
        (r#""f64":1e309"#, "f64 range"),
        (r#""f64":"NaN""#, "f64 type"),
        (r#""day":"2026-02-30""#, "day type"),
        (r#""day":20260101"#, "day type"),
        (r#""at":"2026-01-01T00:00:00""#, "at type"),
        (r#""at":"2026-01-01T00:00:00.1234567Z""#, "at type"),
        (r#""at":1700000000"#, "at type"),
        (r#""bytes":"AP8""#, "bytes type"),
        (r#""bytes":[0,255]"#, "bytes type"),
        (r#""kind":"c""#, "kind enum"),
        (r#""kind":"A""#, "kind enum"),
        (r#""kind":1"#, "kind type"),
        (r#""tags":"x""#, "tags type"),
        (r#""tags":["x",1]"#, "tags list_item"),
        (r#""tags":[null]"#, "tags list_item"),
        (r#""nums":[1,2147483648]"#, "nums list_item"),
        (r#""vec":[1]"#, "vec vector_length"),
        (r#""vec":[1,2,3]"#, "vec vector_length"),
        (r#""vec":[1,null]"#, "vec list_item"),
        (r#""vec":[1,"2"]"#, "vec list_item"),
        (r#""vec":[1,1e39]"#, "vec list_item"),
        (r#""vec":{"0":1}"#, "vec type"),
    ];
    for (cell, expected) in cases {
        assert_eq!(faults(&[&typed(cell)]), [format!("line 1 Types.{expected}")], "{cell}");
    }
}

#[test]
fn nan_and_infinities_are_not_json() {
    for cell in [r#""f64":NaN"#, r#""f64":Infinity"#, r#""f64":-Infinity"#] {
        assert_eq!(faults(&[&typed(cell)]), ["line 1 -.- json"], "{cell}");
    }
}

#[test]
fn null_and_absence_are_the_same_and_an_empty_text_is_neither() {
    let rows = table(
        &[
            r#"{"type":"Person","data":{"slug":"a","email":null}}"#,
            r#"{"type":"Person","data":{"slug":"b"}}"#,
            r#"{"type":"Person","data":{"slug":"c","email":""}}"#,
        ],
        "Person",
    );
    let email = rows.column_by_name("email").unwrap();
    let nulls: Vec<_> = (0..3).map(|row| email.is_null(row)).collect();
    assert_eq!(nulls, [true, true, false]);
}

#[test]
fn required_values_and_unknown_properties_are_named() {
    assert_eq!(
        faults(&[
            r#"{"type":"Person","data":{"age":1}}"#,
            r#"{"type":"Person","data":{"slug":null,"emial":"x"}}"#,
            r#"{"type":"Place","data":{"slug":"p","country":"NL"}}"#,
        ]),
        [
            "line 1 Person.slug required",
            "line 2 Person.slug required",
            "line 2 Person.emial unknown_property",
            "line 3 Place.city required",
        ]
    );
    let wrong = r#"{"type":"Person","data":{"slug":"a","emial":"x"}}"#;
    assert_eq!(message(wrong), "Person has no property `emial`; did you mean `email`?");
}

#[test]
fn every_fault_of_a_row_is_found_and_none_of_it_is_kept() {
    let lines = [
        r#"{"type":"Person","data":{"slug":"a","tags":["x","y"]}}"#,
        r#"{"type":"Person","data":{"slug":"b","tags":["z",1],"age":"1"}}"#,
        r#"{"type":"Person","data":{"slug":"c","tags":["w"]}}"#,
    ];
    assert_eq!(faults(&lines), ["line 2 Person.age type", "line 2 Person.tags list_item"]);
    let schema = TestSchema::new();
    let mut builder = schema.builder();
    for (line, text) in (1..).zip(lines) {
        builder.push_json_line(line, text).unwrap();
    }
    assert_eq!((builder.rows(), builder.faults()), (2, 2));
}

#[test]
fn a_refused_row_leaves_no_trace_in_lists_and_vectors() {
    let schema = TestSchema::new();
    let types = schema.schema.by_name("Types").unwrap();
    let mut assembly = super::assembly::Assembly::new(&schema.schema, types).unwrap();
    let mut push = |line, text: &str| {
        let super::json::Json::Object(data) = super::json::parse(text).unwrap() else { panic!() };
        let row = super::assembly::RowText { from: None, to: None, data: &data };
        assembly.push(line, 1, &row).len()
    };
    assert_eq!(push(1, r#"{"key":1,"tags":["a"],"vec":[1,2]}"#), 0);
    assert_eq!(push(2, r#"{"key":2,"tags":["b","c"],"vec":[3,4],"i32":"x"}"#), 1);
    assert_eq!(push(3, r#"{"key":3,"tags":["d",1],"vec":[5,"x"]}"#), 2);
    assert_eq!(push(4, r#"{"key":4,"tags":["e"],"vec":[6,7]}"#), 0);
    assembly.build().unwrap();
    let rows = &assembly.parts[0].batch;
    let tags = rows.column_by_name("tags").unwrap().as_list::<i32>().clone();
    assert_eq!(tags.values().as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["a", "e"]);
    let vectors = rows.column_by_name("vec").unwrap().as_fixed_size_list().clone();
    let values = vectors.values().as_primitive::<Float32Type>().values().to_vec();
    assert_eq!(values, [1.0, 2.0, 6.0, 7.0]);
}

#[test]
fn lines_that_are_no_rows_are_refused_by_shape() {
    let cases: &[(&str, &str)] = &[
        ("[]", "line 1 -.- shape"),
        ("{}", "line 1 -.- shape"),
        ("{", "line 1 -.- json"),
        (r#"{"type":"Person","type":"Person","data":{}}"#, "line 1 -.- json"),
        (r#"{"type":"Person","data":{"slug":"a","slug":"b"}}"#, "line 1 -.- json"),
        (r#"{"type":"Person","edge":"Knows"}"#, "line 1 -.edge shape"),
        (r#"{"type":1,"data":{}}"#, "line 1 -.type shape"),
        (r#"{"type":"Person","slug":"a"}"#, "line 1 -.- shape"),
        (r#"{"type":"Person","from":"a","data":{"slug":"a"}}"#, "line 1 -.- shape"),
        (r#"{"type":"Person","data":[]}"#, "line 1 -.data shape"),
        (r#"{"type":"Persn","data":{}}"#, "line 1 -.type unknown_type"),
        (r#"{"type":"Knows","data":{}}"#, "line 1 -.type unknown_type"),
        (r#"{"edge":"Person","from":"a","to":"b"}"#, "line 1 -.edge unknown_type"),
    ];
    for (line, expected) in cases {
        assert_eq!(faults(&[line]), [*expected], "{line}");
    }
    assert!(message(r#"{"type":"Persn"}"#).ends_with("did you mean `Person`?"));
    assert!(message(r#"{"type":"Knows"}"#).contains(r#""edge":"Knows""#));
}

#[test]
fn blank_lines_and_a_byte_order_mark_are_skipped() {
    let lines = ["\u{feff}{\"type\":\"Person\",\"data\":{\"slug\":\"a\"}}", "", "  \t\r"];
    assert_eq!(faults(&lines), [""; 0]);
    assert_eq!(faults(&["", "\u{feff}{}"]), ["line 2 -.- json"]);
}

#[test]
fn data_id_of_a_node_is_its_key_or_is_refused() {
    assert_eq!(faults(&[r#"{"type":"Person","data":{"id":"a","slug":"a"}}"#]), [""; 0]);
    let supplied = table(&[r#"{"type":"Person","data":{"id":"a"}}"#], "Person");
    assert_eq!(supplied.column_by_name("slug").unwrap().as_string::<i32>().value(0), "a");
    for data in [r#"{"id":"a","slug":"b"}"#, r#"{"id":1,"slug":"b"}"#] {
        let line = format!(r#"{{"type":"Person","data":{data}}}"#);
        assert_eq!(faults(&[&line]), ["line 1 Person.id id"], "{data}");
    }
    let numeric = r#"{"type":"Types","data":{"id":7}}"#;
    assert_eq!(faults(&[numeric]), [""; 0]);
    assert_eq!(faults(&[r#"{"type":"Types","data":{"id":"7"}}"#]), ["line 1 Types.key type"]);
}

#[test]
fn edges_have_both_ends_of_the_key_type_of_their_nodes() {
    assert_eq!(faults(&[r#"{"edge":"Knows","from":"a","to":"b","data":{}}"#]), [""; 0]);
    assert_eq!(faults(&[r#"{"edge":"Knows","from":"a","to":"b"}"#]), [""; 0]);
    assert_eq!(faults(&[r#"{"edge":"Uses","from":"a","to":7}"#]), [""; 0]);
    assert_eq!(
        faults(&[
            r#"{"edge":"Knows","from":"a"}"#,
            r#"{"edge":"Knows","from":null,"to":1}"#,
            r#"{"edge":"Uses","from":"a","to":"7"}"#,
        ]),
        [
            "line 1 Knows.to required",
            "line 2 Knows.from required",
            "line 2 Knows.to type",
            "line 3 Uses.to type",
        ]
    );
}

#[test]
fn the_id_of_an_edge_is_its_own_only_where_parallels_may_exist() {
    assert_eq!(
        faults(&[
            r#"{"edge":"Visits","from":"a","to":"p","data":{"id":"v1"}}"#,
            r#"{"edge":"Visits","from":"a","to":"p","data":{"id":"v2"}}"#,
            r#"{"edge":"Visits","from":"a","to":"p","data":{}}"#,
            r#"{"edge":"Knows","from":"a","to":"b","data":{"id":"k1"}}"#,
        ]),
        ["line 3 Visits.id id", "line 4 Knows.id id"]
    );
    let derived = table(&[r#"{"edge":"Knows","from":"a","to":"b"}"#], "Knows");
    let id = derived.column_by_name("id").unwrap().as_string::<i32>().value(0).to_owned();
    let again = format!(r#"{{"edge":"Knows","from":"a","to":"b","data":{{"id":"{id}"}}}}"#);
    assert_eq!(faults(&[&again]), [""; 0]);
}

#[test]
fn a_key_twice_in_one_input_names_both_lines() {
    let lines = [
        r#"{"type":"Person","data":{"slug":"a"}}"#,
        r#"{"edge":"Knows","from":"a","to":"a"}"#,
        r#"{"type":"Person","data":{"slug":"b"}}"#,
        r#"{"type":"Person","data":{"slug":"a","age":1}}"#,
        r#"{"edge":"Knows","from":"a","to":"a","data":{"since":"2026-01-01"}}"#,
        r#"{"edge":"Visits","from":"a","to":"p","data":{"id":"v"}}"#,
        r#"{"edge":"Visits","from":"b","to":"p","data":{"id":"v"}}"#,
    ];
    let mut found = faults(&lines);
    found.sort();
    assert_eq!(
        found,
        ["line 4 Person.slug key", "line 5 Knows.src, dst key", "line 7 Visits.id key"]
    );
    let Err(InputError::Invalid(found)) = TestSchema::new().try_input(&lines) else { panic!() };
    let messages: Vec<_> = found.listed().iter().map(|found| found.message.as_str()).collect();
    assert!(messages.contains(&"the key `a` occurs twice, first at line 1"));
    assert!(messages.contains(&"the key `a -> a` occurs twice, first at line 2"));
}

#[test]
fn unique_values_within_the_input_and_nulls_never_collide() {
    assert_eq!(
        faults(&[
            r#"{"type":"Person","data":{"slug":"a","email":"x"}}"#,
            r#"{"type":"Person","data":{"slug":"b"}}"#,
            r#"{"type":"Person","data":{"slug":"c"}}"#,
            r#"{"type":"Person","data":{"slug":"d","email":"x"}}"#,
            r#"{"type":"Place","data":{"slug":"p","city":"A","country":"NL"}}"#,
            r#"{"type":"Place","data":{"slug":"q","city":"A","country":"BE"}}"#,
            r#"{"type":"Place","data":{"slug":"r","city":"A"}}"#,
            r#"{"type":"Place","data":{"slug":"s","city":"A"}}"#,
            r#"{"type":"Place","data":{"slug":"t","city":"A","country":"NL"}}"#,
        ])
        .len(),
        2
    );
    assert_eq!(
        faults(&[
            r#"{"type":"Place","data":{"slug":"p","city":"A","country":"NL"}}"#,
            r#"{"type":"Place","data":{"slug":"t","city":"A","country":"NL"}}"#,
        ]),
        ["line 2 Place.city, country unique"]
    );
}

#[test]
fn faults_beyond_the_limit_are_only_counted() {
    let schema = TestSchema::new();
    let mut builder = InputBuilder::new(&schema.schema).with_errors_max(2);
    for line in 1..=5 {
        builder.push_json_line(line, r#"{"type":"Person","data":{}}"#).unwrap();
    }
    let Err(InputError::Invalid(found)) = builder.finish() else { panic!() };
    assert_eq!((found.listed().len(), found.total()), (2, 5));
}

fn limited(limits: LoadLimits) -> Result<(), InputError> {
    let schema = TestSchema::new();
    let mut builder = InputBuilder::new(&schema.schema).with_limits(limits);
    builder.push_json_line(1, r#"{"type":"Person","data":{"slug":"a"}}"#)?;
    builder.push_json_line(2, r#"{"type":"Person","data":{"slug":"b"}}"#)?;
    builder.push_json_line(3, r#"{"edge":"Knows","from":"a","to":"b"}"#)
}

#[test]
fn limits_are_refused_by_their_kind() {
    assert!(limited(LoadLimits::default()).is_ok());
    let refused = |limits| match limited(limits) {
        Err(InputError::Limit(limit)) => limit,
        other => panic!("{other:?}"),
    };
    let rows = LoadLimits { rows_max: 2, ..LoadLimits::default() };
    assert_eq!(refused(rows), LimitExceeded::Rows { max: 2 });
    let tables = LoadLimits { tables_max: 1, ..LoadLimits::default() };
    assert_eq!(refused(tables), LimitExceeded::Tables { max: 1 });
}

#[test]
fn what_does_not_fit_into_memory_is_read_back_with_its_places() {
    let schema = TestSchema::new();
    let read = |bytes_max| {
        let limits = LoadLimits { bytes_max, ..LoadLimits::default() };
        let mut builder = schema.builder().with_limits(limits);
        for line in 1..=3_000 {
            let text = format!(r#"{{"type":"Person","data":{{"slug":"{line}","tags":["x"]}}}}"#);
            builder.push_json_line(line * 2, &text).unwrap();
        }
        builder.finish().unwrap()
    };
    let (small, large) = (read(64 << 10), read(1 << 30));
    let (spilled, held) = (&small.tables()[0], &large.tables()[0]);
    assert!(spilled.parts().is_spilled() && !held.parts().is_spilled());
    assert!(spilled.key_passes().unwrap() > 1, "the index over keys needs several passes");
    let rows = |table: &TableInput| {
        let batches: Vec<_> = table.batches().map(Result::unwrap).collect();
        arrow_select::concat::concat_batches(&table.schema, &batches).unwrap()
    };
    assert_eq!(rows(spilled), rows(held));
    assert_eq!(small.content, large.content);
    for row in [0, 1, 1_234, 2_999] {
        assert_eq!(spilled.place(row), Place::Line((row as u64 + 1) * 2));
        assert_eq!(spilled.key_text(row).unwrap(), (row + 1).to_string());
    }
    assert_eq!(spilled.place(3_000), Place::Table("Person".into()));
}

#[test]
fn a_directory_that_cannot_hold_the_rows_is_an_answer() {
    let schema = TestSchema::new();
    let limits = LoadLimits { bytes_max: 0, ..LoadLimits::default() };
    let mut builder = schema.builder().with_limits(limits).with_temp_dir("/nowhere/at/all");
    let text = format!(r#"{{"type":"Person","data":{{"slug":"{}"}}}}"#, "x".repeat(20_000));
    let refused = builder.push_json_line(1, &text);
    assert!(matches!(refused, Err(InputError::Temp(_))), "{refused:?}");
}

#[test]
fn rows_become_batches_of_8192_with_their_lines() {
    let schema = TestSchema::new();
    let mut builder = schema.builder();
    for line in 1..=10_000 {
        let text = format!(r#"{{"type":"Person","data":{{"slug":"{line}"}}}}"#);
        builder.push_json_line(line * 2, &text).unwrap();
    }
    let input = builder.finish().unwrap();
    let people = &input.tables()[0];
    let rows: Vec<_> = people.batches().map(|batch| batch.unwrap().num_rows()).collect();
    assert_eq!(rows, [8_192, 1_808]);
    let places: Vec<_> = [0, 8_191, 8_192, 9_999].map(|row| people.place(row)).into();
    assert_eq!(places, [2, 16_384, 16_386, 20_000].map(Place::Line));
}

mod batches {
    use std::sync::Arc;

    use arrow_array::builder::{Float32Builder, ListBuilder, StringBuilder};
    use arrow_array::{
        ArrayRef, Float32Array, Float64Array, Int32Array, Int64Array, LargeStringArray,
        StringArray, StringViewArray, TimestampMicrosecondArray, TimestampMillisecondArray,
    };

    use super::*;

    fn texts(values: &[Option<&str>]) -> ArrayRef {
        Arc::new(StringArray::from(values.to_vec()))
    }

    fn push(table: &str, columns: Vec<(&str, ArrayRef)>) -> Vec<String> {
        let schema = TestSchema::new();
        let mut builder = schema.builder();
        builder.push_batch(table, &RecordBatch::try_from_iter(columns).unwrap()).unwrap();
        match builder.finish() {
            Ok(_) => Vec::new(),
            Err(InputError::Invalid(found)) => found.listed().iter().map(brief).collect(),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn columns_go_by_name_and_nullable_ones_may_be_missing() {
        let ages: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
        let slugs = texts(&[Some("a"), Some("b")]);
        assert_eq!(push("Person", vec![("age", ages), ("slug", slugs)]), [""; 0]);
    }

    #[test]
    fn other_encodings_of_the_same_values_are_accepted() {
        let large: ArrayRef = Arc::new(LargeStringArray::from(vec!["a"]));
        let view: ArrayRef = Arc::new(StringViewArray::from(vec!["x"]));
        assert_eq!(push("Person", vec![("slug", large), ("email", view)]), [""; 0]);
        let zoned = TimestampMicrosecondArray::from(vec![5]).with_timezone("+00:00");
        let key: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        assert_eq!(push("Types", vec![("key", key), ("at", Arc::new(zoned))]), [""; 0]);
    }

    #[test]
    fn other_types_are_accepted_value_by_value() {
        let slugs = || texts(&[Some("a"), Some("b")]);
        let wide = |values: [i64; 2]| -> ArrayRef { Arc::new(Int64Array::from(values.to_vec())) };
        assert_eq!(push("Person", vec![("slug", slugs()), ("age", wide([1, -2]))]), [""; 0]);
        assert_eq!(
            push("Person", vec![("slug", slugs()), ("age", wide([1, 1 << 40]))]),
            ["row 1 of Person Person.age range"]
        );
        let keys = || -> ArrayRef { Arc::new(Int64Array::from(vec![1, 2])) };
        let coarse = TimestampMillisecondArray::from(vec![5, i64::MAX]).with_timezone("UTC");
        assert_eq!(
            push("Types", vec![("key", keys()), ("at", Arc::new(coarse))]),
            ["row 1 of Types Types.at range"]
        );
        let narrow: ArrayRef = Arc::new(Float32Array::from(vec![1.0, 0.1]));
        assert_eq!(push("Types", vec![("key", keys()), ("f64", narrow)]), [""; 0]);
    }

    #[test]
    fn values_of_another_kind_are_refused_by_column() {
        let keys: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let local: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![5]));
        assert_eq!(
            push("Types", vec![("key", keys), ("at", local)]),
            ["the columns of Types Types.at type"]
        );
        assert_eq!(
            push("Person", vec![("slug", Arc::new(Int64Array::from(vec![1])))]),
            ["the columns of Person Person.slug type"]
        );
    }

    #[test]
    fn the_ends_of_an_edge_may_be_called_from_and_to_in_any_encoding() {
        let large = |value: &str| -> ArrayRef { Arc::new(LargeStringArray::from(vec![value])) };
        assert_eq!(push("Knows", vec![("from", large("a")), ("to", large("b"))]), [""; 0]);
        assert_eq!(
            push("Knows", vec![("from", large("a")), ("src", large("a")), ("to", large("b"))]),
            ["the columns of Knows Knows.src shape"]
        );
    }

    #[test]
    fn rows_are_judged_as_lines_are() {
        let slugs = texts(&[Some("a"), None, Some("a")]);
        assert_eq!(push("Person", vec![("slug", slugs)]), ["row 1 of Person Person.slug required"]);
        let repeated = texts(&[Some("a"), Some("b"), Some("a")]);
        assert_eq!(push("Person", vec![("slug", repeated)]), ["row 2 of Person Person.slug key"]);
        assert_eq!(
            push("Person", vec![("age", Arc::new(Int32Array::from(vec![1])))]),
            ["the columns of Person Person.slug required"]
        );
        assert_eq!(
            push("Person", vec![("slug", texts(&[Some("a")])), ("emial", texts(&[None]))]),
            ["the columns of Person Person.emial unknown_property"]
        );
        assert_eq!(
            push("Nobody", vec![("x", texts(&[None]))]),
            ["the columns of Nobody -.- unknown_type"]
        );
    }

    #[test]
    fn enums_and_nulls_in_lists_are_refused_with_their_row() {
        let keys: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        let kinds = texts(&[Some("a"), Some("z")]);
        assert_eq!(
            push("Types", vec![("key", Arc::clone(&keys)), ("kind", kinds)]),
            ["row 1 of Types Types.kind enum"]
        );
        let mut tags = ListBuilder::new(StringBuilder::new());
        tags.append_value([Some("x")]);
        tags.append_value([Some("x"), None]);
        assert_eq!(
            push("Types", vec![("key", keys), ("tags", Arc::new(tags.finish()))]),
            ["row 1 of Types Types.tags list_item"]
        );
    }

    #[test]
    fn nan_and_infinities_are_values() {
        let keys: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, f64::INFINITY]));
        let mut vectors = arrow_array::builder::FixedSizeListBuilder::new(Float32Builder::new(), 2);
        for _ in 0..2 {
            vectors.values().append_slice(&[f32::NAN, f32::NEG_INFINITY]);
            vectors.append(true);
        }
        let vectors: ArrayRef = Arc::new(vectors.finish());
        assert_eq!(push("Types", vec![("key", keys), ("f64", floats), ("vec", vectors)]), [""; 0]);
    }

    #[test]
    fn ids_of_edges_are_derived_and_may_only_be_repeated() {
        let ends = || (texts(&[Some("a")]), texts(&[Some("b")]));
        let (src, dst) = ends();
        assert_eq!(push("Knows", vec![("src", src), ("dst", dst)]), [""; 0]);
        let (src, dst) = ends();
        let id = texts(&[Some("mine")]);
        assert_eq!(
            push("Knows", vec![("src", src), ("dst", dst), ("id", id)]),
            ["row 0 of Knows Knows.id id"]
        );
        let (src, dst) = ends();
        assert_eq!(
            push("Visits", vec![("src", src), ("dst", dst)]),
            ["the columns of Visits Visits.id required"]
        );
    }

    #[test]
    fn rows_are_counted_over_all_batches_of_a_table() {
        let schema = TestSchema::new();
        let mut builder = schema.builder();
        for slugs in [vec!["a", "b"], vec!["c", "a"]] {
            let column: ArrayRef = Arc::new(StringArray::from(slugs));
            let batch = RecordBatch::try_from_iter([("slug", column)]).unwrap();
            builder.push_batch("Person", &batch).unwrap();
        }
        let Err(InputError::Invalid(found)) = builder.finish() else { panic!() };
        assert_eq!(found.listed()[0].place, Place::Row { table: "Person".into(), row: 3 });
        assert!(found.listed()[0].message.ends_with("first at row 0 of Person"));
    }
}
