//! Files and streams of every form: what they mean, and how what is wrong with them is named.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use super::*;
use crate::testing::{TYPES, TestSchema};
use graphwrite_protocol_types::Answer;

fn source<'a>(name: &str, table: Option<&str>, data: SourceData<'a>) -> Source<'a> {
    Source {
        name: name.to_owned(),
        form: DataForm::of_path(name.as_ref()),
        table: table.map(str::to_owned),
        is_named_in_places: false,
        data,
    }
}

fn read_text(name: &str, table: Option<&str>, bytes: &[u8]) -> Result<LoadInput, InputError> {
    let mut builder = TestSchema::new().builder();
    let mut bytes = bytes;
    builder.read(source(name, table, SourceData::Stream(&mut bytes)), &mut |_| {})?;
    builder.finish()
}

fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file
}

fn read_file(name: &str, bytes: &[u8]) -> Result<LoadInput, InputError> {
    let mut builder = TestSchema::new().builder();
    builder.read(source(name, None, SourceData::File(file(bytes))), &mut |_| {})?;
    builder.finish()
}

fn brief(found: Result<LoadInput, InputError>) -> Vec<String> {
    match found {
        Ok(_) => Vec::new(),
        Err(InputError::Invalid(found)) => found
            .listed()
            .iter()
            .map(|found| {
                let field = found.field.as_deref().unwrap_or("-");
                format!("{}: {field} {}", found.place, found.rule.code())
            })
            .collect(),
        Err(InputError::Source(error)) => vec![format!("{} {error}", error.code())],
        Err(other) => panic!("{other}"),
    }
}

fn csv(table: &str, text: &str) -> Vec<String> {
    brief(read_text("rows.csv", Some(table), text.as_bytes()))
}

fn only(input: &LoadInput) -> RecordBatch {
    input.tables()[0].batches().next().unwrap().unwrap()
}

fn parquet(batches: &[RecordBatch]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batches[0].schema(), None).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
    bytes
}

fn people(slugs: &[&str], ages: Vec<Option<i64>>) -> RecordBatch {
    let slugs: ArrayRef = Arc::new(StringArray::from(slugs.to_vec()));
    let ages: ArrayRef = Arc::new(Int64Array::from(ages));
    RecordBatch::try_from_iter([("slug", slugs), ("age", ages)]).unwrap()
}

#[test]
fn a_record_means_what_the_same_row_means_in_json() {
    let schema = TestSchema::new();
    let cells: Vec<_> = TYPES.iter().map(|(cell, _)| *cell).collect();
    let line = format!(r#"{{"type":"Types","data":{{"key":7,{}}}}}"#, cells.join(","));
    let csv = concat!(
        "vec,times,nums,tags,kind,bytes,at,day,f64,f32,u64,u32,i64,i32,flag,text,key\r\n",
        "\"[1,-2.5]\",\"[\"\"1970-01-01T00:00:00Z\"\"]\",[],\"[\"\"x\"\",\"\"\"\"]\",b,AP8=,",
        "1970-01-01T01:00:01.5+01:00,2000-02-29,-0.0,0.1,18446744073709551615,4294967295,",
        "-9223372036854775808,-2147483648,true,\"é\n\",7\r\n",
    );
    let read = read_text("Types.csv", None, csv.as_bytes()).unwrap();
    assert_eq!(only(&read), only(&schema.input(&[&line])));
}

#[test]
fn an_empty_field_is_null_or_a_required_text() {
    let text = "slug,city,country\n,,\nb,x,y\n";
    let read = read_text("rows.csv", Some("Place"), text.as_bytes()).unwrap();
    let rows = only(&read);
    let column = |name| rows.column_by_name(name).unwrap().as_string::<i32>().clone();
    assert_eq!((column("slug").value(0), column("city").value(0)), ("", ""));
    assert!(column("country").is_null(0));
    assert_eq!(csv("Types", "key,text\n,x\n"), ["line 2: key required"]);
}

#[test]
fn fields_that_do_not_fit_are_refused_as_in_json() {
    let cases = [
        ("i32", "1.5", "type"),
        ("i32", "x", "type"),
        ("i32", " 1", "type"),
        ("i32", "3000000000", "range"),
        ("flag", "yes", "type"),
        ("flag", "1", "type"),
        ("f64", "NaN", "type"),
        ("day", "2026-02-30", "type"),
        ("bytes", "*", "type"),
        ("kind", "z", "enum"),
        ("tags", "x", "type"),
        ("tags", "[1]", "list_item"),
        ("tags", "null", "type"),
        ("vec", "[1]", "vector_length"),
    ];
    for (column, field, rule) in cases {
        let text = format!("key,{column}\n1,\n2,{field}\n");
        assert_eq!(csv("Types", &text), [format!("line 3: {column} {rule}")], "{field}");
    }
}

#[test]
fn edges_have_ends_and_only_parallel_ones_have_an_id() {
    assert_eq!(csv("Knows", "from,to,since\na,b,\n"), [""; 0]);
    assert_eq!(csv("Knows", "src,dst\na,b\n"), [""; 0]);
    assert_eq!(csv("Visits", "id,from,to\nv,a,p\nw,a,p\n"), [""; 0]);
    assert_eq!(csv("Uses", "from,to\na,x\n"), ["line 2: to type"]);
    assert_eq!(csv("Knows", "id,from,to\n,a,b\nmine,a,c\n"), ["line 3: id id"]);
}

#[test]
fn a_header_that_does_not_fit_is_refused_once() {
    assert_eq!(csv("Person", "slug,emial\na,\nb,\n"), ["line 1: emial unknown_property"]);
    assert_eq!(csv("Person", "slug,slug\na,a\n"), ["line 1: slug shape"]);
    assert_eq!(csv("Person", "age\n1\n"), ["line 1: slug required"]);
    assert_eq!(csv("Person", "id\na\n"), [""; 0]);
    assert_eq!(
        csv("Visits", "from,src\na,b\n"),
        ["line 1: src shape", "line 1: id required", "line 1: to required"]
    );
}

#[test]
fn records_of_another_length_are_refused_with_their_line() {
    let text = "slug,age\n\"a\n\n\",1\nb\nc,1,2\n\nd,4\n";
    assert_eq!(csv("Person", text), ["line 5: - shape", "line 6: - shape"]);
}

#[test]
fn repeated_keys_name_the_lines_of_records() {
    let text = "slug,age\n\"a\nb\",1\n\"a\nb\",2\n";
    let Err(InputError::Invalid(found)) = read_text("Person.csv", None, text.as_bytes()) else {
        panic!()
    };
    assert_eq!(found.listed()[0].place, Place::Line(4));
    assert!(found.listed()[0].message.ends_with("first at line 2"));
}

#[test]
fn text_that_is_none_is_refused_with_its_place() {
    for (bytes, expected) in [
        (&b""[..], "no_header Person.csv: it has no header"),
        (b"slug\n\xff\n", "not_utf8 Person.csv: line 2 is not UTF-8"),
        (b"slug\na\n\"b\nc\n", "open_quote Person.csv: the quote that opens in line 3"),
        (b"PAR1abc", "other_form Person.csv: it is a Parquet file, not csv"),
        (b"\x1f\x8b\x08", "other_form Person.csv: it is compressed with gzip, not csv"),
    ] {
        let found = brief(read_text("Person.csv", None, bytes));
        assert!(found[0].starts_with(expected), "{found:?}");
    }
}

#[test]
fn the_type_is_named_or_has_the_name_of_the_file() {
    let text = b"slug\na\n";
    assert_eq!(brief(read_text("dir/Person.csv", None, text)), [""; 0]);
    let found = brief(read_text("people.csv", None, text));
    assert!(found[0].starts_with("type_not_named"), "{found:?}");
    assert!(found[0].contains("Person") && found[0].contains("Knows"), "{found:?}");
    let found = brief(read_text("Person.csv", Some("Persn"), text));
    assert!(found[0].starts_with("no_such_type"), "{found:?}");
}

#[test]
fn parquet_goes_by_name_and_fits_its_columns() {
    let bytes = parquet(&[people(&["a", "b"], vec![Some(7), None])]);
    let rows = only(&read_file("Person.parquet", &bytes).unwrap());
    let ages = rows.column_by_name("age").unwrap().as_primitive::<Int32Type>().clone();
    assert_eq!(ages, Int32Array::from(vec![Some(7), None]));
    let mut stream = bytes.as_slice();
    let mut builder = TestSchema::new().builder();
    let data = SourceData::Stream(&mut stream);
    builder.read(source("Person.parquet", None, data), &mut |_| {}).unwrap();
    assert_eq!(only(&builder.finish().unwrap()), rows);
}

#[test]
fn faults_of_parquet_name_the_file_and_the_row() {
    let bytes = parquet(&[
        people(&["a"], vec![Some(1)]),
        people(&["b", "c", "a"], vec![Some(1 << 40), Some(2), None]),
    ]);
    assert_eq!(brief(read_file("Person.parquet", &bytes)), ["Person.parquet, row 1: age range"]);
    let twice = parquet(&[people(&["a", "b", "a"], vec![None; 3])]);
    assert_eq!(brief(read_file("Person.parquet", &twice)), ["Person.parquet, row 2: slug key"]);
    let stranger = parquet(&[RecordBatch::try_from_iter([(
        "name",
        Arc::new(StringArray::from(vec!["x"])) as ArrayRef,
    )])
    .unwrap()]);
    assert_eq!(
        brief(read_file("Person.parquet", &stranger)),
        [
            "the columns of Person.parquet: name unknown_property",
            "the columns of Person.parquet: slug required"
        ]
    );
}

#[test]
fn damaged_parquet_is_refused_and_never_a_panic() {
    let slugs: Vec<String> = (0..2_000).map(|n| format!("slug-{n}")).collect();
    let slugs: Vec<&str> = slugs.iter().map(String::as_str).collect();
    let ages = (0..2_000).map(Some).collect();
    let bytes = parquet(&[people(&slugs, ages)]);
    for length in [0, 3, 4, 100, bytes.len() - 9, bytes.len() - 1] {
        let found = brief(read_file("Person.parquet", &bytes[..length]));
        let is_refused = found[0].starts_with("file_damaged") || found[0].starts_with("other_form");
        assert!(is_refused, "{length}: {found:?}");
    }
    for at in (0..bytes.len()).step_by(37) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0xff;
        // Without checksums a damage may also read as other rows; it must be an answer.
        let _ = brief(read_file("Person.parquet", &bytes));
    }
}

#[test]
fn text_of_another_form_is_no_parquet() {
    let found = brief(read_file("Person.parquet", b"slug\na\n"));
    assert!(found[0].starts_with("other_form Person.parquet: it is something else"), "{found:?}");
}

#[test]
fn several_sources_are_one_input_and_are_named_in_places() {
    let mut builder = TestSchema::new().builder();
    let texts: [(&str, &[u8]); 3] = [
        (
            "b.jsonl",
            b"{\"type\":\"Person\",\"data\":{\"slug\":\"a\"}}\n{\"edge\":\"Knows\",\"from\":\"a\"}",
        ),
        ("Person.csv", b"slug,age\nb,1\nc,x\na,2\n"),
        ("a.jsonl", b"\n{\"type\":\"Person\",\"data\":{\"slug\":\"b\"}}\n"),
    ];
    for (name, mut bytes) in texts {
        let data = SourceData::Stream(&mut bytes);
        let source = Source { is_named_in_places: true, ..source(name, None, data) };
        builder.read(source, &mut |_| {}).unwrap();
    }
    let Err(InputError::Invalid(found)) = builder.finish() else { panic!() };
    let places: Vec<_> = found.listed().iter().map(|found| found.place.clone()).collect();
    let texts: Vec<_> = places.iter().map(ToString::to_string).collect();
    let expected =
        ["b.jsonl, line 2", "Person.csv, line 3", "Person.csv, line 4", "a.jsonl, line 2"];
    assert_eq!(texts, expected);
    assert!(places.is_sorted(), "sources are ordered as they were read");
    assert!(found.listed()[2].message.ends_with("first at b.jsonl, line 1"));
}

#[test]
fn progress_ends_at_the_size_of_the_source() {
    let bytes = parquet(&[people(&["a", "b"], vec![None; 2])]);
    let mut at = 0;
    let mut builder = TestSchema::new().builder();
    let data = SourceData::File(file(&bytes));
    builder.read(source("Person.parquet", None, data), &mut |bytes| at = bytes).unwrap();
    assert_eq!(at, bytes.len() as u64);
    let mut text = &b"slug\nc\n"[..];
    let data = SourceData::Stream(&mut text);
    builder.read(source("Person.csv", None, data), &mut |bytes| at = bytes).unwrap();
    assert_eq!(at, 7);
}

#[test]
fn rows_of_parquet_are_cut_by_their_size() {
    let wide = "x".repeat(1 << 20);
    let slugs: Vec<String> = (0..40).map(|n| format!("{n}{wide}")).collect();
    let batch = people(&slugs.iter().map(String::as_str).collect::<Vec<_>>(), vec![None; 40]);
    let mut bytes = Vec::new();
    let properties = WriterProperties::builder().set_dictionary_enabled(false).build();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let input = read_file("Person.parquet", &bytes).unwrap();
    let rows = input.tables()[0].batches().map(|batch| batch.unwrap().num_rows()).max().unwrap();
    assert!(rows <= 16, "{rows} rows of 1 MiB in one batch");
}
