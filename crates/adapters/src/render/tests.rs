//! What is written is read back: the same values, then the same bytes.

use std::sync::Arc;

use arrow_array::{ArrayRef, Date32Array, Float64Array, Int64Array, RecordBatch};
use proptest::prelude::*;

use super::*;
use crate::DataForm;
use crate::testing::{TYPES, TestSchema};

fn export(schema: &TestSchema, input: &crate::LoadInput) -> String {
    let mut text = String::new();
    for table in input.tables() {
        let renderer = RowRenderer::new(&schema.schema, table.identity()).unwrap();
        table.batches().for_each(|batch| renderer.render(&batch.unwrap(), &mut text).unwrap());
    }
    text
}

fn read(schema: &TestSchema, text: &str) -> crate::LoadInput {
    schema.input(&text.lines().collect::<Vec<_>>())
}

fn batches(input: &crate::LoadInput) -> Vec<RecordBatch> {
    input.tables().iter().flat_map(|table| table.batches().map(Result::unwrap)).collect()
}

#[test]
fn rows_have_one_form() {
    let schema = TestSchema::new();
    let cells: Vec<_> = TYPES.iter().map(|(cell, _)| *cell).collect();
    let line = format!(r#"{{"data":{{{},"id":1,"key":1}},"type":"Types"}}"#, cells.join(","));
    let expected = concat!(
        r#"{"type":"Types","data":{"key":1,"text":"é\n","flag":true,"i32":-2147483648,"#,
        r#""i64":-9223372036854775808,"u32":4294967295,"u64":18446744073709551615,"f32":0.1,"#,
        r#""f64":-0.0,"day":"2000-02-29","at":"1970-01-01T00:00:01.5Z","bytes":"AP8=","#,
        r#""kind":"b","tags":["x",""],"nums":[],"times":["1970-01-01T00:00:00Z"],"#,
        "\"vec\":[1.0,-2.5]}}\n",
    );
    assert_eq!(export(&schema, &schema.input(&[&line])), expected);
}

#[test]
fn nulls_are_left_out_and_edges_show_their_own_id_only() {
    let schema = TestSchema::new();
    let lines = [
        r#"{"type":"Person","data":{"id":"a","email":null,"slug":"a"}}"#,
        r#"{"to":"b","edge":"Knows","from":"a"}"#,
        r#"{"edge":"Visits","from":"a","to":"p","data":{"note":"n","id":"v"}}"#,
    ];
    let mut found: Vec<_> =
        export(&schema, &schema.input(&lines)).lines().map(str::to_owned).collect();
    found.sort();
    assert_eq!(
        found,
        [
            r#"{"edge":"Knows","from":"a","to":"b","data":{}}"#,
            r#"{"edge":"Visits","from":"a","to":"p","data":{"id":"v","note":"n"}}"#,
            r#"{"type":"Person","data":{"slug":"a"}}"#,
        ]
    );
}

/// Writes every table in a form and reads the files as one load.
fn through(
    schema: &TestSchema,
    input: &crate::LoadInput,
    form: DataForm,
) -> Result<crate::LoadInput, ExportError> {
    let mut builder = schema.builder();
    for table in input.tables() {
        let mut bytes = Vec::new();
        let mut writer = RowWriter::new(&schema.schema, table.identity(), form, &mut bytes)?;
        for batch in table.batches() {
            writer.add(&batch.unwrap())?;
        }
        writer.finish()?;
        let mut bytes = bytes.as_slice();
        let source = crate::Source {
            name: format!("{}.{form}", table.name()),
            form,
            table: form.is_of_one_type().then(|| table.name().to_owned()),
            is_named_in_places: false,
            data: crate::SourceData::Stream(&mut bytes),
        };
        builder.read(source, &mut |_| {}).unwrap();
    }
    Ok(builder.finish().unwrap())
}

const EDGES: [&str; 4] = [
    r#"{"edge":"Knows","from":"a","to":"","data":{"since":"2000-02-29"}}"#,
    r#"{"edge":"Knows","from":"b","to":"a"}"#,
    r#"{"edge":"Uses","from":"a","to":-7}"#,
    r#"{"edge":"Visits","from":"a","to":"p","data":{"id":"v\"1\",\n2","note":"n\r"}}"#,
];

#[test]
fn edges_and_hostile_texts_come_back_from_every_form() {
    let schema = TestSchema::new();
    let input = schema.input(&EDGES);
    for form in DataForm::ALL {
        let back = through(&schema, &input, form).unwrap();
        assert_eq!(batches(&back), batches(&input), "{form}");
    }
}

#[test]
fn the_columns_of_a_file_are_named_as_in_json() {
    let schema = TestSchema::new();
    let header = |line: &str| {
        let input = schema.input(&[line]);
        let mut out = Vec::new();
        let identity = input.tables()[0].identity();
        RowWriter::new(&schema.schema, identity, DataForm::Csv, &mut out)
            .unwrap()
            .finish()
            .unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(header(EDGES[0]), "from,to,since\n");
    assert_eq!(header(EDGES[3]), "id,from,to,note\n");
}

#[test]
fn an_empty_value_beside_nulls_has_no_form_in_csv_and_whole_records_are_kept() {
    let schema = TestSchema::new();
    let line = |key: u8, cell: &str| format!(r#"{{"type":"Types","data":{{"key":{key}{cell}}}}}"#);
    for cell in [r#","text":"""#, r#","bytes":"""#] {
        let input = schema.input(&[&line(1, ""), &line(2, cell)]);
        let mut out = Vec::new();
        let table = &input.tables()[0];
        let writer = RowWriter::new(&schema.schema, table.identity(), DataForm::Csv, &mut out);
        let error = writer.unwrap().add(&batches(&input)[0]).unwrap_err();
        let ExportError::Render(RenderError::NoForm { row, form, .. }) = error else {
            panic!("{error}")
        };
        assert_eq!((row, form), (1, "CSV"));
        assert_eq!(String::from_utf8(out).unwrap().lines().count(), 2);
        assert!(through(&schema, &input, DataForm::Parquet).is_ok());
    }
}

#[test]
fn parquet_has_a_form_for_every_value() {
    let schema = TestSchema::new();
    let key: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, f64::INFINITY]));
    let days: ArrayRef = Arc::new(Date32Array::from(vec![i32::MIN, i32::MAX]));
    let batch = RecordBatch::try_from_iter([("key", key), ("f64", floats), ("day", days)]).unwrap();
    let mut builder = schema.builder();
    builder.push_batch("Types", &batch).unwrap();
    let input = builder.finish().unwrap();
    let back = through(&schema, &input, DataForm::Parquet).unwrap();
    // NaN differs from itself, so what is compared are the digests of the rows.
    assert_eq!(back.content, input.content);
}

struct Full;

impl std::io::Write for Full {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_output_that_is_full_is_told_from_rows_without_a_form() {
    let schema = TestSchema::new();
    let input = schema.input(&EDGES);
    for form in DataForm::ALL {
        let table = &input.tables()[0];
        let written =
            RowWriter::new(&schema.schema, table.identity(), form, Full).and_then(|mut writer| {
                writer.add(&batches(&input)[0])?;
                writer.finish()
            });
        assert!(matches!(written, Err(ExportError::Output(_))), "{form}: {written:?}");
    }
}

fn refused(name: &str, column: ArrayRef) -> (RenderError, String) {
    let schema = TestSchema::new();
    let key: ArrayRef = Arc::new(Int64Array::from_iter_values(0..column.len() as i64));
    let batch = RecordBatch::try_from_iter([("key", key), (name, column)]).unwrap();
    let mut builder = schema.builder();
    builder.push_batch("Types", &batch).unwrap();
    let input = builder.finish().unwrap();
    let types = &input.tables()[0];
    let renderer = RowRenderer::new(&schema.schema, types.identity()).unwrap();
    let mut text = String::new();
    let error = renderer.render(&types.batches().next().unwrap().unwrap(), &mut text).unwrap_err();
    (error, text)
}

#[test]
fn values_without_a_form_are_refused_after_whole_lines() {
    let (error, text) = refused("f64", Arc::new(Float64Array::from(vec![1.0, f64::NAN])));
    let RenderError::NoForm { table, field, row, value, form } = error else { panic!("{error}") };
    assert_eq!((table.as_str(), field.as_str(), row, value.as_str()), ("Types", "f64", 1, "NaN"));
    assert_eq!(form, "JSON");
    assert_eq!(text, "{\"type\":\"Types\",\"data\":{\"key\":0,\"f64\":1.0}}\n");
    let (error, _) = refused("day", Arc::new(Date32Array::from(vec![i32::MAX])));
    assert!(matches!(error, RenderError::NoForm { .. }), "{error}");
}

#[test]
fn rows_without_a_column_of_the_type_are_refused() {
    let schema = TestSchema::new();
    let identity = schema.schema.by_name("Person").unwrap().identity;
    let renderer = RowRenderer::new(&schema.schema, identity).unwrap();
    let key: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let batch = RecordBatch::try_from_iter([("other", key)]).unwrap();
    let error = renderer.render(&batch, &mut String::new()).unwrap_err();
    let missing = RenderError::Column { table: "Person".into(), field: "slug".into() };
    assert_eq!(error, missing);
}

/// A JSON string with escapes chosen at random, so that the text differs from what is written.
fn json_text() -> impl Strategy<Value = String> {
    any::<String>().prop_map(|text| {
        let escape = |character: char| match character {
            '"' | '\\' => format!("\\{character}"),
            plain if plain >= ' ' && plain.is_ascii() && u32::from(plain) % 3 > 0 => plain.into(),
            other => {
                let mut units = [0; 2];
                let units = other.encode_utf16(&mut units);
                units.iter().map(|unit| format!("\\u{unit:04X}")).collect()
            }
        };
        format!("\"{}\"", text.chars().map(escape).collect::<String>())
    })
}

fn finite() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |value| value.is_finite()),
        any::<i32>().prop_map(f64::from),
    ]
}

fn finite32() -> impl Strategy<Value = f32> {
    any::<u32>().prop_map(f32::from_bits).prop_filter("finite", |value| value.is_finite())
}

fn instant() -> impl Strategy<Value = String> {
    let clock = (0u32..24, 0u32..60, 0u32..60, 0u32..1_000_000, -720i32..840);
    (day(), clock).prop_map(|(day, (hour, minute, second, micros, offset))| {
        let sign = if offset < 0 { '-' } else { '+' };
        let (zone_hour, zone_minute) = (offset.abs() / 60, offset.abs() % 60);
        format!(
            "{day}T{hour:02}:{minute:02}:{second:02}.{micros:06}{sign}{zone_hour:02}:{zone_minute:02}"
        )
    })
}

fn day() -> impl Strategy<Value = String> {
    (1u32..9999, 1u32..13, 1u32..29).prop_map(|(y, m, d)| format!("{y:04}-{m:02}-{d:02}"))
}

fn cell() -> impl Strategy<Value = Vec<String>> {
    let scalars = (
        json_text().prop_map(|text| format!("\"text\":{text}")),
        any::<bool>().prop_map(|value| format!("\"flag\": {value}")),
        any::<i32>().prop_map(|value| format!("\"i32\":{value}")),
        any::<i64>().prop_map(|value| format!("\"i64\":{value}")),
        any::<u32>().prop_map(|value| format!("\"u32\":{value}")),
        any::<u64>().prop_map(|value| format!("\"u64\":{value}")),
        finite32().prop_map(|value| format!("\"f32\":{value:e}")),
        finite().prop_map(|value| format!("\"f64\":{value:e}")),
        day().prop_map(|day| format!("\"day\":\"{day}\"")),
        instant().prop_map(|at| format!("\"at\":\"{at}\"")),
    );
    let others = (
        prop::collection::vec(any::<u8>(), 0..9)
            .prop_map(|bytes| format!("\"bytes\":\"{}\"", BASE64_STANDARD.encode(bytes))),
        prop::collection::vec(json_text(), 0..4)
            .prop_map(|items| format!("\"tags\":[{}]", items.join(" ,"))),
        prop::collection::vec(any::<i32>(), 0..4).prop_map(|items| format!("\"nums\":{items:?}")),
        prop::collection::vec(finite32(), 2).prop_map(|items| format!("\"vec\":{items:?}")),
    );
    (scalars, others, any::<u16>()).prop_map(|(s, o, kept)| {
        let all = [s.0, s.1, s.2, s.3, s.4, s.5, s.6, s.7, s.8, s.9, o.0, o.1, o.2, o.3];
        let kept = all.into_iter().enumerate().filter(|(at, _)| kept & (1 << at) != 0);
        kept.map(|(_, cell)| cell).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

    #[test]
    fn values_and_then_bytes_survive_the_round_trip(
        rows in prop::collection::vec(cell(), 1..6)
    ) {
        let schema = TestSchema::new();
        let lines: Vec<_> = (0..).zip(rows).map(|(key, cells): (u32, _)| {
            let cells: String = cells.iter().map(|cell| format!(" ,{cell}")).collect();
            format!(r#"{{"type":"Types","data":{{"key":{key}{cells}}}}}"#)
        }).collect();
        let foreign = schema.input(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        let first = export(&schema, &foreign);
        let again = read(&schema, &first);
        prop_assert_eq!(batches(&foreign), batches(&again));
        prop_assert_eq!(export(&schema, &again), first);
    }

    #[test]
    fn any_text_is_a_row_or_a_fault_and_never_a_panic(text in any::<String>()) {
        let _ = TestSchema::new().try_input(&[&text]);
    }

    #[test]
    fn any_damage_to_a_row_is_a_row_or_a_fault_and_never_a_panic(
        at in any::<prop::sample::Index>(), with in any::<char>()
    ) {
        let cells: Vec<_> = TYPES.iter().map(|(cell, _)| *cell).collect();
        let line = format!(r#"{{"type":"Types","data":{{"key":1,{}}}}}"#, cells.join(","));
        let mut damaged: Vec<char> = line.chars().collect();
        let place = at.index(damaged.len());
        damaged[place] = with;
        let _ = TestSchema::new().try_input(&[&damaged.into_iter().collect::<String>()]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_is_written_in_any_form_is_read_back_as_the_same_rows(
        rows in prop::collection::vec(cell(), 1..6)
    ) {
        let schema = TestSchema::new();
        let lines: Vec<_> = rows.iter().enumerate().map(|(key, cells)| {
            let cells = std::iter::once(format!("\"key\":{key}")).chain(cells.iter().cloned());
            let cells = cells.collect::<Vec<_>>().join(",");
            format!("{{\"type\":\"Types\",\"data\":{{{cells}}}}}")
        }).collect();
        let input = schema.input(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        for form in DataForm::ALL {
            match through(&schema, &input, form) {
                Ok(back) => prop_assert_eq!(batches(&back), batches(&input)),
                Err(error) => {
                    let has_empty = rows.iter().flatten().any(|cell| cell.ends_with(":\"\""));
                    prop_assert!(form == DataForm::Csv && has_empty, "{}: {}", form, error);
                }
            }
        }
    }
}

#[test]
fn a_row_as_values_has_what_its_line_has() {
    let schema = TestSchema::new();
    let cells: Vec<_> = TYPES.iter().map(|(cell, _)| *cell).collect();
    let line = format!(r#"{{"type":"Types","data":{{{},"key":1}}}}"#, cells.join(","));
    let values = |line: &str| {
        let input = schema.input(&[line]);
        let renderer = RowRenderer::new(&schema.schema, input.tables()[0].identity()).unwrap();
        renderer.values(&batches(&input)[0], 0).unwrap()
    };
    let row = values(&line);
    let shown: Vec<_> = row.data.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let expected = [
        "key=1",
        "text=é\n",
        "flag=true",
        "i32=-2147483648",
        "i64=-9223372036854775808",
        "u32=4294967295",
        "u64=18446744073709551615",
        "f32=0.1",
        "f64=-0.0",
        "day=2000-02-29",
        "at=1970-01-01T00:00:01.5Z",
        "bytes=AP8=",
        "kind=b",
        r#"tags=["x",""]"#,
        "nums=[]",
        r#"times=["1970-01-01T00:00:00Z"]"#,
        "vec=[1.0,-2.5]",
    ];
    assert_eq!(
        (row.table.as_str(), row.ends, shown),
        ("Types", None, expected.map(String::from).to_vec())
    );
    let edge = values(r#"{"edge":"Uses","from":"a","to":-7}"#);
    assert_eq!(edge.ends, Some([RowValue::Text("a".into()), RowValue::Signed(-7)]));
    let absent = values(r#"{"type":"Person","data":{"slug":"a"}}"#);
    assert!(absent.data.contains(&("email".to_owned(), RowValue::Null)), "{absent:?}");
}

#[test]
fn a_value_without_a_form_is_told_in_words() {
    let schema = TestSchema::new();
    let key: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN]));
    let days: ArrayRef = Arc::new(Date32Array::from(vec![i32::MAX]));
    let batch = RecordBatch::try_from_iter([("key", key), ("f64", floats), ("day", days)]).unwrap();
    let mut builder = schema.builder();
    builder.push_batch("Types", &batch).unwrap();
    let input = builder.finish().unwrap();
    let renderer = RowRenderer::new(&schema.schema, input.tables()[0].identity()).unwrap();
    let row = renderer.values(&batches(&input)[0], 0).unwrap();
    let of = |name: &str| row.data.iter().find(|(found, _)| found == name).unwrap().1.clone();
    assert_eq!(of("f64"), RowValue::NoForm("NaN".into()));
    assert_eq!(of("day"), RowValue::NoForm("day 2147483647 of the epoch".into()));
}
