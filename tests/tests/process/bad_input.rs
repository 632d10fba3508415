//! Rows that break a rule: the answer names the line, the field and the rule, for people and for
//! programs, and the graph is untouched, byte for byte.

use std::collections::BTreeSet;

use serde_json::Value;

use super::program::{Run, command, run};
use super::site::Site;

const SCHEMA: &str = r#"
[node.Person]
key = "slug"
[node.Person.properties]
slug = { type = "string" }
name = { type = "string" }
email = { type = "string", nullable = true, unique = true }
age = { type = "i32", nullable = true }
kind = { type = "enum", values = ["plain", "fancy"], nullable = true }
[node.Pet]
key = "name"
[node.Pet.properties]
name = { type = "string" }
[edge.Knows]
from = "Person"
to = "Person"
cardinality = "0..1"
"#;

/// The last line breaks a rule; the lines before it are a new table and an existing one.
const GOOD: [&str; 2] = [
    r#"{"type":"Pet","data":{"name":"rex"}}"#,
    r#"{"type":"Person","data":{"slug":"q","name":"Q","email":"q@x"}}"#,
];

/// A bad third line, the field at fault and the rule.
type Case = (&'static str, Option<&'static str>, &'static str);

const CASES: &[Case] = &[
    (r#"{"type":"Person","data":{"slug":"r","name":7}}"#, Some("Person.name"), "type"),
    (r#"{"type":"Person","data":{"slug":"r","name":"R","age":"x"}}"#, Some("Person.age"), "type"),
    (
        r#"{"type":"Person","data":{"slug":"r","name":"R","age":3000000000}}"#,
        Some("Person.age"),
        "range",
    ),
    (
        r#"{"type":"Person","data":{"slug":"r","name":"R","kind":"odd"}}"#,
        Some("Person.kind"),
        "enum",
    ),
    (r#"{"type":"Person","data":{"slug":"r"}}"#, Some("Person.name"), "required"),
    (r#"{"type":"Person","data":{"slug":null,"name":"R"}}"#, Some("Person.slug"), "required"),
    (r#"{"type":"Person","data":{"slug":"q","name":"R"}}"#, Some("Person.slug"), "key"),
    (
        r#"{"type":"Person","data":{"slug":"r","name":"R","email":"q@x"}}"#,
        Some("Person.email"),
        "unique",
    ),
    (
        r#"{"type":"Person","data":{"slug":"r","name":"R","email":"p@x"}}"#,
        Some("Person.email"),
        "unique",
    ),
    (r#"{"edge":"Knows","from":"q","to":"nobody"}"#, Some("Knows.to"), "endpoint"),
    (r#"{"edge":"Knows","from":"nobody","to":"q"}"#, Some("Knows.from"), "endpoint"),
    (
        r#"{"type":"Person","data":{"slug":"r","name":"R","shoe":1}}"#,
        Some("Person.shoe"),
        "unknown_property",
    ),
    (r#"{"type":"Robot","data":{"slug":"r"}}"#, Some("type"), "unknown_type"),
    (r#"{"type":"Person","data":{"slug":"#, None, "json"),
    (r#"["a","b"]"#, None, "shape"),
];

fn site() -> Site {
    let site = Site::empty();
    std::fs::write(site.schema(), SCHEMA).unwrap();
    site.init().exits(0);
    let first = [r#"{"type":"Person","data":{"slug":"p","name":"P","email":"p@x"}}"#];
    site.load(&lines(&first)).exits(0);
    site
}

fn lines(rows: &[&str]) -> Vec<String> {
    rows.iter().map(|row| (*row).to_owned()).collect()
}

fn with_bad(bad: &str) -> Vec<String> {
    lines(&[GOOD[0], GOOD[1], bad])
}

/// What must not change: the rows, the manifest and every file.
fn state(site: &Site) -> (Vec<String>, Value, BTreeSet<std::path::PathBuf>) {
    (site.rows(), site.status(), site.files())
}

#[test]
fn a_bad_row_is_answered_with_its_line_field_and_rule_in_a_document() {
    let site = site();
    let before = state(&site);
    for (bad, field, rule) in CASES {
        let refused = site.load(&with_bad(bad)).exits(5);
        let error = refused.error();
        assert_eq!((&error["code"], &error["kind"]), (&"invalid_input".into(), &"refused".into()));
        assert_eq!((&error["exit"], &error["effect"]), (&5.into(), &"none".into()));
        assert_eq!(error["may_retry"], false);
        let details = error["details"].as_array().unwrap();
        assert_eq!(details.len(), 1, "{bad}: {error:#}");
        let detail = &details[0];
        let named = (&detail["place"], &detail["field"], &detail["rule"]);
        assert_eq!(named, (&"line 3".into(), &Value::from(*field), &(*rule).into()), "{bad}");
        assert!(refused.stdout.is_empty(), "{refused:#?}");
    }
    assert_eq!(state(&site), before);
}

#[test]
fn a_bad_row_is_answered_with_its_line_field_and_rule_in_words() {
    let site = site();
    let before = state(&site);
    for (bad, field, rule) in CASES {
        let data = site.file(&with_bad(bad));
        let refused = run(&mut command(&["load", site.graph(), "--data", &data])).exits(5);
        let (rule, line) = (format!("[{rule}]"), "line 3");
        let words = [line, &rule, field.unwrap_or_default(), "error[invalid_input]"];
        let all = words.iter().all(|word| refused.stderr.contains(word));
        assert!(all && refused.stdout.is_empty(), "{bad}: {refused:#?}");
    }
    assert_eq!(state(&site), before);
}

#[test]
fn the_error_document_has_the_keys_that_the_manual_names() {
    let site = site();
    let keys = |run: &Run| -> Vec<String> {
        let mut keys: Vec<String> = run.error().as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    let always = ["code", "effect", "exit", "help", "kind", "may_retry", "message", "operation_id"];
    let bad = site.load_with(&with_bad(CASES[0].0), &["--operation-id", "mine"]);
    let mut with_details = Vec::from(always);
    with_details.insert(1, "details");
    assert_eq!(keys(&bad), with_details);
    let again = r#"{"type":"Person","data":{"slug":"p","name":"P"}}"#;
    assert_eq!(keys(&site.load(&lines(&[again]))), always);
    let usage = run(&mut command(&["load", site.graph(), "--json"])).exits(2);
    assert_eq!((keys(&usage).len(), usage.error_code()), (always.len(), "usage".to_owned()));
}

#[test]
fn many_bad_rows_are_counted_and_the_first_are_listed() {
    let site = site();
    let before = state(&site);
    let rows: Vec<&str> = CASES[..5].iter().map(|case| case.0).collect();
    let error = site.load_with(&lines(&rows), &["--max-errors", "2"]).exits(5).error();
    assert_eq!(error["details"].as_array().unwrap().len(), 2, "{error:#}");
    assert_eq!(error["details"][0]["place"], "line 1");
    assert_eq!(state(&site), before);
}

#[test]
fn one_edge_too_many_is_refused_by_the_cardinality() {
    let site = site();
    let rows = [
        GOOD[1],
        r#"{"edge":"Knows","from":"q","to":"p"}"#,
        r#"{"edge":"Knows","from":"q","to":"q"}"#,
    ];
    let before = state(&site);
    let error = site.load(&lines(&rows)).exits(5).error();
    assert_eq!(error["details"][0]["rule"], "cardinality", "{error:#}");
    assert_eq!(state(&site), before);
}

#[test]
fn an_input_that_ends_in_the_middle_of_a_row_is_refused() {
    let site = site();
    let before = state(&site);
    let path = site.fresh("cut");
    std::fs::write(&path, format!("{}\n{}", GOOD[0], &GOOD[1][..20])).unwrap();
    let error = site.load_from(std::fs::File::open(path).unwrap().into(), &[]).exits(5).error();
    assert_eq!(error["details"][0]["place"], "line 2", "{error:#}");
    assert_eq!(state(&site), before);
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let site = site();
    let before = state(&site);
    let path = site.fresh("bytes");
    std::fs::write(&path, [GOOD[0].as_bytes(), b"\n", &[0xff, 0xfe, 0x80], b"\n"].concat())
        .unwrap();
    let error = site.load_from(std::fs::File::open(path).unwrap().into(), &[]).exits(5).error();
    assert!(error.to_string().contains("line 2"), "{error:#}");
    assert_eq!(state(&site), before);
}
