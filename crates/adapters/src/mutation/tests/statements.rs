//! What statements alone can show to be right or wrong, and how they are kept.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};

use crate::mutation::statement::Step;
use crate::mutation::{MutationBuilder, MutationInput, OnReferenced, mutation_digest};
use crate::testing::TestSchema;
use crate::{InputError, LimitExceeded, LoadLimits, Violation};

fn builder() -> MutationBuilder {
    MutationBuilder::new(&TestSchema::new().schema).with_errors_max(100)
}

fn read(text: &str) -> Result<MutationInput, InputError> {
    let mut builder = builder();
    builder.push_json(text)?;
    builder.finish()
}

fn input(text: &str) -> MutationInput {
    read(text).unwrap()
}

fn violations(built: Result<MutationInput, InputError>) -> Vec<Violation> {
    match built {
        Ok(_) => Vec::new(),
        Err(InputError::Invalid(found)) => found.listed().to_vec(),
        Err(other) => panic!("{other}"),
    }
}

/// The faults of statements, as `place table.field rule`.
fn faults(text: &str) -> Vec<String> {
    violations(read(text)).iter().map(brief).collect()
}

fn brief(violation: &Violation) -> String {
    let table = violation.table.as_deref().unwrap_or("-");
    let field = violation.field.as_deref().unwrap_or("-");
    format!("{} {table}.{field} {}", violation.place, violation.rule.code())
}

fn message(text: &str) -> String {
    violations(read(text))[0].message.clone()
}

fn texts(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

const EVERY_FORM: &str = r#"[
    {"insert":{"type":"Person","data":{"slug":"a","age":1}}},
    {"insert":{"edge":"Knows","from":"a","to":"b","data":{"since":"2020-01-01"}}},
    {"upsert":{"edge":"Visits","from":"a","to":"q","data":{"id":"v1"}}},
    {"update":{"type":"Person","key":"a","set":{"age":null,"email":"e"}}},
    {"update":{"edge":"Knows","from":"a","to":"b","set":{"since":null}}},
    {"update":{"edge":"Visits","id":"v1","set":{"note":"x"}}},
    {"delete":{"type":"Person","key":"a","cascade":true}},
    {"delete":{"type":"Types","key":7,"cascade":false}},
    {"delete":{"type":"Person","where":"age < 3"}},
    {"delete":{"edge":"Knows","from":"a","to":"b"}},
    {"delete":{"edge":"Visits","from":"a","to":"q"}},
    {"delete":{"edge":"Visits","id":"v1"}},
    {"delete":{"edge":"Visits","where":"note = 'x'"}}
]"#;

#[test]
fn every_form_of_a_statement_is_read() {
    let input = input(EVERY_FORM);
    assert_eq!((input.statements(), input.rows()), (13, 11));
}

#[test]
fn an_empty_array_is_a_request_for_nothing() {
    assert_eq!(input(" \u{feff}[]".trim()).statements(), 0);
}

#[test]
fn what_is_not_an_array_of_statements_is_refused() {
    assert_eq!(faults("{}"), ["line 1 -.- shape"]);
    assert_eq!(faults("[\n{},\n x]"), ["statement 1 -.- shape", "line 3 -.- json"]);
    assert_eq!(message("[\n x]"), "a value is expected at column 2");
    assert_eq!(faults(""), ["line 1 -.- json"]);
    assert_eq!(faults("[1]"), ["statement 1 -.- shape"]);
    assert_eq!(faults("[{}]"), ["statement 1 -.- shape"]);
    assert_eq!(faults(r#"[{"insert":{},"delete":{}}]"#), ["statement 1 -.- shape"]);
    assert_eq!(faults(r#"[{"insert":[]}]"#), ["statement 1 -.insert shape"]);
}

#[test]
fn a_misspelled_statement_type_or_member_is_named_with_the_likely_one() {
    assert_eq!(
        message(r#"[{"instert":{}}]"#),
        "there is no statement `instert`; did you mean `insert`?"
    );
    let cases = [
        (r#"{"insert":{"type":"Persn","data":{}}}"#, "did you mean `Person`?"),
        (r#"{"insert":{"type":"Knows","data":{}}}"#, "write `\"edge\":\"Knows\"`"),
        (r#"{"insert":{"type":"Person","slug":"a"}}"#, "properties belong into `data`"),
        (r#"{"insert":{"type":"Person","data":{"slug":"a","agee":1}}}"#, "did you mean `age`?"),
        (r#"{"update":{"type":"Person","keys":"a","set":{"age":1}}}"#, "did you mean `key`?"),
        (r#"{"update":{"type":"Person","key":"a","age":1}}"#, "properties belong into `set`"),
        (r#"{"update":{"type":"Person","key":"a","set":{"agee":1}}}"#, "did you mean `age`?"),
        (r#"{"update":{"edge":"Visits","from":"a","to":"q","set":{}}}"#, "`id` says which one"),
        (
            r#"{"delete":{"edge":"Knows","from":"a","to":"b","cascade":true}}"#,
            "nothing refers to an edge",
        ),
        (r#"{"delete":{"type":"Person","key":"a","cascades":true}}"#, "did you mean `cascade`?"),
    ];
    for (statement, expected) in cases {
        let message = message(&format!("[{statement}]"));
        assert!(message.ends_with(expected), "{statement}: {message}");
    }
}

#[test]
fn a_delete_says_in_one_way_what_it_deletes() {
    for statement in [
        r#"{"delete":{"type":"Person"}}"#,
        r#"{"delete":{"type":"Person","key":"a","where":"true"}}"#,
        r#"{"delete":{"edge":"Visits","id":"v","from":"a","to":"q"}}"#,
        r#"{"delete":{"edge":"Knows"}}"#,
    ] {
        assert_eq!(faults(&format!("[{statement}]")), ["statement 1 -.- shape"], "{statement}");
    }
    assert_eq!(
        faults(r#"[{"delete":{"type":"Person","key":"a","cascade":"yes"}}]"#),
        ["statement 1 -.cascade shape"]
    );
    assert_eq!(
        faults(r#"[{"delete":{"type":"Person","where":1}}]"#),
        ["statement 1 -.where shape"]
    );
}

#[test]
fn values_and_names_are_checked_with_their_statement_and_field() {
    let cases = [
        (r#"{"insert":{"type":"Person","data":{"slug":"a","age":"1"}}}"#, "Person.age type"),
        (r#"{"insert":{"type":"Person","data":{}}}"#, "Person.slug required"),
        (r#"{"insert":{"edge":"Knows","from":"a"}}"#, "Knows.to required"),
        (r#"{"upsert":{"edge":"Visits","from":"a","to":"q"}}"#, "Visits.id id"),
        (r#"{"update":{"type":"Person","key":"a","set":{"age":1.5}}}"#, "Person.age type"),
        (r#"{"update":{"type":"Types","key":1,"set":{"kind":"z"}}}"#, "Types.kind enum"),
        (r#"{"update":{"type":"Types","key":"1","set":{"kind":"a"}}}"#, "Types.key type"),
        (r#"{"update":{"type":"Person","set":{"age":1}}}"#, "Person.key required"),
        (r#"{"update":{"edge":"Knows","from":"a","set":{"since":null}}}"#, "Knows.to required"),
        (r#"{"delete":{"type":"Person","key":null}}"#, "Person.key required"),
        (r#"{"delete":{"edge":"Visits","from":"a"}}"#, "Visits.to required"),
        (r#"{"delete":{"edge":"Visits","id":1}}"#, "Visits.id type"),
    ];
    for (statement, expected) in cases {
        let text = format!(r#"[{{"delete":{{"type":"Person","key":"z"}}}},{statement}]"#);
        assert_eq!(faults(&text), [format!("statement 2 {expected}")], "{statement}");
    }
}

#[test]
fn an_update_sets_no_required_property_to_null() {
    let text = r#"[{"update":{"type":"Place","key":"q","set":{"city":null}}}]"#;
    assert_eq!(faults(text), ["statement 1 Place.city required"]);
    let text = r#"[{"update":{"type":"Place","key":"q","set":{"country":null}}}]"#;
    assert_eq!(faults(text), [""; 0]);
}

#[test]
fn an_update_sets_neither_keys_nor_ends_nor_nothing() {
    let cases = [
        (r#"{"update":{"type":"Person","key":"a","set":{"slug":"a"}}}"#, "Person.slug key"),
        (r#"{"update":{"type":"Person","key":"a","set":{"id":"a"}}}"#, "Person.id key"),
        (r#"{"update":{"edge":"Knows","from":"a","to":"b","set":{"to":"c"}}}"#, "Knows.to key"),
        (r#"{"update":{"edge":"Visits","id":"v","set":{"src":"c"}}}"#, "Visits.src key"),
        (r#"{"update":{"edge":"Visits","id":"v","set":{"id":"w"}}}"#, "Visits.id key"),
        (r#"{"update":{"type":"Person","key":"a","set":{}}}"#, "Person.set shape"),
    ];
    for (statement, expected) in cases {
        let expected = format!("statement 1 {expected}");
        assert_eq!(faults(&format!("[{statement}]")), [expected], "{statement}");
    }
    let without = r#"[{"update":{"type":"Person","key":"a"}}]"#;
    assert_eq!(faults(without), ["statement 1 -.set required"]);
}

#[test]
fn a_bad_row_is_taken_back_whole() {
    let input = {
        let mut builder = builder();
        for age in ["1", "\"x\"", "3"] {
            let slug = age.trim_matches('"');
            let text = format!(
                r#"[{{"update":{{"type":"Person","key":"{slug}","set":{{"email":"{slug}","age":{age}}}}}}}]"#
            );
            builder.push_json(&text).unwrap();
        }
        assert_eq!(builder.faults(), 1);
        builder
    };
    assert_eq!(violations(input.finish()).len(), 1);
}

#[test]
fn faults_beyond_the_limit_are_counted() {
    let mut builder = MutationBuilder::new(&TestSchema::new().schema).with_errors_max(2);
    builder.push_json("[1,2,3,{}]").unwrap();
    let Err(InputError::Invalid(found)) = builder.finish() else { panic!() };
    assert_eq!((found.listed().len(), found.total()), (2, 4));
}

#[test]
fn statements_are_counted_over_everything_that_is_pushed() {
    let mut builder = builder();
    builder.push_json(r#"[{"delete":{"type":"Person","key":"a"}}]"#).unwrap();
    builder.insert("Person", &batch(vec![("slug", texts(&[Some("a"), None]))])).unwrap();
    builder.push_json("[1]").unwrap();
    builder.delete("Nobody", &batch(vec![("x", texts(&[None]))]), OnReferenced::Restrict).unwrap();
    let found: Vec<_> = violations(builder.finish()).iter().map(brief).collect();
    assert_eq!(
        found,
        [
            "statement 2, row 1 Person.slug required",
            "statement 3 -.- shape",
            "statement 4 -.- unknown_type"
        ]
    );
}

#[test]
fn batches_are_judged_as_statements_are() {
    let slug = || ("slug", texts(&[Some("a")]));
    let one = |value: i32| -> ArrayRef { Arc::new(Int32Array::from(vec![value])) };
    let update = |table: &str, columns: Vec<(&str, ArrayRef)>| {
        let mut builder = builder();
        builder.update(table, &batch(columns)).unwrap();
        violations(builder.finish()).iter().map(brief).collect::<Vec<_>>()
    };
    assert_eq!(update("Person", vec![slug(), ("age", one(1))]), [""; 0]);
    assert_eq!(update("Person", vec![slug()]), ["statement 1 Person.set shape"]);
    assert_eq!(update("Person", vec![("age", one(1))]), ["statement 1 Person.slug required"]);
    assert_eq!(
        update("Person", vec![slug(), ("agee", one(1))]),
        ["statement 1 Person.agee unknown_property"]
    );
    assert_eq!(
        update("Person", vec![slug(), ("email", one(1))]),
        ["statement 1 Person.email type"]
    );
    assert_eq!(
        update("Place", vec![slug(), ("city", texts(&[None]))]),
        ["statement 1, row 0 Place.city required"]
    );
    let ends = || vec![("src", texts(&[Some("a")])), ("dst", texts(&[Some("q")]))];
    let note = ("note", texts(&[Some("n")]));
    assert_eq!(
        update("Visits", ends().into_iter().chain([note]).collect()),
        [
            "statement 1 Visits.src key",
            "statement 1 Visits.dst key",
            "statement 1 Visits.id required"
        ]
    );
}

#[test]
fn a_batch_of_keys_has_no_other_columns() {
    let delete = |table: &str, columns: Vec<(&str, ArrayRef)>| {
        let mut builder = builder();
        builder.delete(table, &batch(columns), OnReferenced::Cascade).unwrap();
        violations(builder.finish()).iter().map(brief).collect::<Vec<_>>()
    };
    let a = || texts(&[Some("a")]);
    assert_eq!(delete("Person", vec![("slug", a())]), [""; 0]);
    assert_eq!(delete("Visits", vec![("id", a())]), [""; 0]);
    assert_eq!(delete("Visits", vec![("src", a()), ("dst", a())]), [""; 0]);
    assert_eq!(
        delete("Person", vec![("slug", a()), ("email", a())]),
        ["statement 1 Person.email shape"]
    );
    assert_eq!(delete("Visits", vec![("id", a()), ("src", a())]), ["statement 1 Visits.src shape"]);
    assert_eq!(delete("Knows", vec![("src", a())]), ["statement 1 Knows.dst required"]);
}

#[test]
fn a_bad_condition_is_refused_with_its_statement() {
    let text = r#"[{"delete":{"type":"Person","where":"nosuch = 1"}}]"#;
    assert_eq!(faults(text), ["statement 1 Person.where predicate"]);
}

#[test]
fn statements_that_do_the_same_are_kept_together_whatever_comes_between() {
    let statements: Vec<_> = (0..1_000)
        .flat_map(|n| {
            [
                format!(r#"{{"insert":{{"type":"Person","data":{{"slug":"p{n}"}}}}}}"#),
                format!(r#"{{"update":{{"type":"Person","key":"p{n}","set":{{"age":1,"email":"e{n}"}}}}}}"#),
                format!(r#"{{"update":{{"type":"Person","key":"p{n}","set":{{"email":null,"age":2}}}}}}"#),
            ]
        })
        .collect();
    let input = input(&format!("[{}]", statements.join(",")));
    assert_eq!(input.groups.len(), 2);
    assert!(input.groups.iter().all(|group| group.batches.len() == 1));
    assert_eq!(input.steps.len(), 2_000);
}

#[test]
fn neighbours_that_do_the_same_are_one_step() {
    let statements: Vec<_> =
        (0..20_000).map(|n| format!(r#"{{"delete":{{"type":"Person","key":"p{n}"}}}}"#)).collect();
    let input = input(&format!("[{}]", statements.join(",")));
    let [Step::Rows { rows, .. }] = input.steps.as_slice() else { panic!("{:?}", input.steps) };
    assert_eq!(rows.clone(), 0..20_000);
    assert_eq!(input.groups[0].batches.len(), 3);
}

#[test]
fn more_than_the_limits_allow_is_refused() {
    let limited = |limits: LoadLimits, text: &str| {
        let mut builder = builder().with_limits(limits);
        match builder.push_json(text) {
            Err(InputError::Limit(limit)) => Some(limit),
            Ok(()) => None,
            Err(other) => panic!("{other}"),
        }
    };
    let text =
        r#"[{"delete":{"type":"Person","key":"a"}},{"delete":{"type":"Place","where":"true"}}]"#;
    let rows = LoadLimits { rows_max: 1, ..LoadLimits::default() };
    assert_eq!(limited(rows, text), Some(LimitExceeded::Rows { max: 1 }));
    let tables = LoadLimits { tables_max: 1, ..LoadLimits::default() };
    assert_eq!(limited(tables, text), Some(LimitExceeded::Tables { max: 1 }));
    let bytes = LoadLimits { bytes_max: 64 << 10, ..LoadLimits::default() };
    let long = format!(r#"[{{"delete":{{"type":"Person","key":"{}"}}}}]"#, "a".repeat(64 << 10));
    assert_eq!(limited(bytes, &long), Some(LimitExceeded::Bytes { max: 64 << 10 }));
    assert_eq!(limited(bytes, text), None);
    assert_eq!(limited(LoadLimits::default(), text), None);
}

mod digests {
    use super::*;

    fn digest(text: &str) -> [u8; 32] {
        mutation_digest(&input(text)).0
    }

    fn hex(digest: [u8; 32]) -> String {
        digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The digest is stored with the commit and compared by later versions.
    #[test]
    fn the_digest_of_known_statements_is_fixed() {
        assert_eq!(hex(digest(EVERY_FORM)), "dd54b976a5ea39f6");
    }

    #[test]
    fn statements_given_as_batches_have_the_digest_of_those_given_as_json() {
        let json = digest(
            r#"[{"insert":{"type":"Person","data":{"slug":"a","age":1}}},
                {"insert":{"type":"Person","data":{"slug":"b"}}},
                {"update":{"type":"Person","key":"a","set":{"email":"e","age":null}}},
                {"delete":{"edge":"Knows","from":"a","to":"b"}},
                {"delete":{"type":"Types","key":7,"cascade":true}}]"#,
        );
        let mut builder = builder();
        let ages: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
        let people = batch(vec![("age", ages), ("slug", texts(&[Some("a"), Some("b")]))]);
        builder.insert("Person", &people.slice(0, 1)).unwrap();
        builder.insert("Person", &people.slice(1, 1)).unwrap();
        let age: ArrayRef = Arc::new(Int32Array::from(vec![None]));
        let update =
            vec![("age", age), ("slug", texts(&[Some("a")])), ("email", texts(&[Some("e")]))];
        builder.update("Person", &batch(update)).unwrap();
        let ends = vec![("src", texts(&[Some("a")])), ("dst", texts(&[Some("b")]))];
        builder.delete("Knows", &batch(ends), OnReferenced::Cascade).unwrap();
        let key: ArrayRef = Arc::new(Int64Array::from(vec![7]));
        builder.delete("Types", &batch(vec![("key", key)]), OnReferenced::Cascade).unwrap();
        assert_eq!(mutation_digest(&builder.finish().unwrap()).0, json);
    }

    #[test]
    fn the_order_of_statements_counts() {
        let (a, b) = (
            r#"{"upsert":{"type":"Person","data":{"slug":"a"}}}"#,
            r#"{"delete":{"type":"Person","key":"a"}}"#,
        );
        assert_ne!(digest(&format!("[{a},{b}]")), digest(&format!("[{b},{a}]")));
    }

    #[test]
    fn every_difference_in_what_is_asked_is_a_difference_of_the_digest() {
        let statements = [
            r#"{"insert":{"type":"Person","data":{"slug":"a"}}}"#,
            r#"{"insert":{"type":"Person","data":{"slug":"b"}}}"#,
            r#"{"upsert":{"type":"Person","data":{"slug":"a"}}}"#,
            r#"{"upsert":{"type":"Person","data":{"slug":"a","age":1}}}"#,
            r#"{"update":{"type":"Person","key":"a","set":{"age":1}}}"#,
            r#"{"update":{"type":"Person","key":"a","set":{"age":null}}}"#,
            r#"{"update":{"type":"Person","key":"a","set":{"email":null}}}"#,
            r#"{"update":{"type":"Person","key":"a","set":{"email":null,"age":null}}}"#,
            r#"{"delete":{"type":"Person","key":"a"}}"#,
            r#"{"delete":{"type":"Person","key":"a","cascade":true}}"#,
            r#"{"delete":{"type":"Firm","key":"a"}}"#,
            r#"{"delete":{"type":"Person","where":"age < 3"}}"#,
            r#"{"delete":{"type":"Person","where":"age < 4"}}"#,
            r#"{"delete":{"type":"Person","where":"age < 3","cascade":true}}"#,
            r#"{"delete":{"edge":"Visits","from":"a","to":"b"}}"#,
            r#"{"delete":{"edge":"Visits","id":"a"}}"#,
            r#"{"delete":{"edge":"Knows","from":"a","to":"b"}}"#,
        ];
        let digests: std::collections::BTreeSet<_> =
            statements.iter().map(|statement| digest(&format!("[{statement}]"))).collect();
        assert_eq!(digests.len(), statements.len());
        let split = digest(&format!("[{},{}]", statements[0], statements[1]));
        assert!(!digests.contains(&split));
    }
}
