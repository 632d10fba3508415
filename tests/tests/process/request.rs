//! What a request says beyond its rows: mode, expected head, operation id. Each refusal has the exit
//! code and the words of the manual, and changes nothing.

use serde_json::Value;

use super::program::Run;
use super::site::{Site, addition, all, base, other_addition, person, text};

/// `load` changed nothing: same rows, same manifest.
#[track_caller]
fn changed_nothing(site: &Site, before: &Value) {
    assert_eq!(&site.status(), before);
    site.verified();
}

#[track_caller]
fn is_conflict(end: Run, code: &str) -> Value {
    let end = end.exits(4);
    let error = end.error();
    assert_eq!((&error["code"], &error["kind"]), (&code.into(), &"conflict".into()), "{error:#}");
    assert_eq!(error["effect"], "none", "{error:#}");
    error
}

#[test]
fn appending_the_same_file_again_names_the_line_and_the_key() {
    let site = Site::with_base();
    let before = site.status();
    let error = is_conflict(site.load(&base()), "key_conflict");
    let message = text(&error, "message");
    assert!(message.contains("line 1") && message.contains("p1"), "{message}");
    changed_nothing(&site, &before);
}

#[test]
fn one_known_key_among_new_rows_refuses_them_all() {
    let site = Site::with_base();
    let before = site.status();
    let rows = [person("new", 1), person("p2", 1), person("newer", 1)];
    let message = text(&is_conflict(site.load(&rows), "key_conflict"), "message");
    assert!(message.contains("line 2") && message.contains("p2"), "{message}");
    changed_nothing(&site, &before);
}

#[test]
fn upserting_the_same_file_again_makes_no_commit() {
    let site = Site::with_base();
    let before = site.status();
    let receipt = site.load_with(&base(), &["--mode", "upsert"]).exits(0).json();
    assert_eq!(receipt["outcome"], "no_change", "{receipt:#}");
    assert_eq!(receipt["commit_id"], before["head"], "{receipt:#}");
    changed_nothing(&site, &before);
    assert_eq!(site.operations().len(), 1);
}

#[test]
fn upserting_a_changed_row_changes_that_row() {
    let site = Site::with_base();
    let rows = [person("p1", 1), person("p2", 20), person("p5", 5)];
    let receipt = site.load_with(&rows, &["--mode", "upsert"]).exits(0).json();
    let table = &receipt["tables"][0];
    let counts = ["inserted", "updated", "unchanged"].map(|what| table[what].as_u64().unwrap());
    assert_eq!(counts, [1, 1, 1], "{receipt:#}");
    let kept: Vec<String> = base().into_iter().filter(|row| *row != person("p2", 2)).collect();
    site.settled_with(&all(&[kept, rows[1..].to_vec()]));
}

#[test]
fn a_head_that_has_moved_refuses_a_load_that_expects_it() {
    let site = Site::with_base();
    let first = text(&site.status(), "head");
    site.load_with(&addition(), &["--expect-head", &first]).exits(0);
    let before = site.status();
    for old in [&*first, "none"] {
        let refused = site.load_with(&other_addition(), &["--expect-head", old]);
        let error = is_conflict(refused, "expected_head");
        assert!(text(&error, "message").contains(&text(&before, "head")), "{error:#}");
    }
    changed_nothing(&site, &before);
}

#[test]
fn an_upsert_without_a_change_still_honours_the_expected_head() {
    let site = Site::with_base();
    let refused = site.load_with(&base(), &["--mode", "upsert", "--expect-head", "none"]);
    is_conflict(refused, "expected_head");
}

#[test]
fn a_first_load_may_expect_that_there_is_no_commit() {
    let site = Site::new();
    site.load_with(&base(), &["--expect-head", "none"]).exits(0);
    site.settled_with(&base());
}

#[test]
fn a_request_that_is_sent_again_has_the_first_receipt() {
    let site = Site::with_base();
    let send = || site.load_with(&addition(), &["--operation-id", "nightly"]).exits(0).json();
    let first = send();
    let before = site.status();
    let again = send();
    for field in ["outcome", "operation_id", "commit_id", "attempt_id", "rows", "tables"] {
        assert_eq!(again[field], first[field], "{field}");
    }
    changed_nothing(&site, &before);
    // Others may have written since.
    site.load(&other_addition()).exits(0);
    assert_eq!(send()["commit_id"], first["commit_id"]);
    site.settled_with(&all(&[base(), addition(), other_addition()]));
}

#[test]
fn an_operation_id_that_belongs_to_other_rows_is_refused() {
    let site = Site::with_base();
    site.load_with(&addition(), &["--operation-id", "nightly"]).exits(0);
    let before = site.status();
    let reused = site.load_with(&other_addition(), &["--operation-id", "nightly"]);
    let error = is_conflict(reused, "operation_reused");
    assert!(text(&error, "message").contains(&text(&before, "head")), "{error:#}");
    assert_eq!(error["operation_id"], "nightly");
    // The mode is part of the request.
    let other_mode = ["--operation-id", "nightly", "--mode", "upsert"];
    is_conflict(site.load_with(&addition(), &other_mode), "operation_reused");
    changed_nothing(&site, &before);
}

#[test]
fn who_asked_and_why_is_in_the_history() {
    let site = Site::new();
    site.load_with(&base(), &["--actor", "ada", "--message", "first light"]).exits(0);
    let log = site.ask(&["commit", "log"], &["--json"]).exits(0).json();
    let commit = &log["commits"][0];
    assert_eq!((&commit["actor"], &commit["message"]), (&"ada".into(), &"first light".into()));
    let shown = site.ask(&["commit", "show"], &[&text(commit, "commit_id"), "--json"]);
    assert_eq!(&shown.exits(0).json(), commit);
}

#[test]
fn what_was_never_committed_or_armed_is_a_negative_answer() {
    let site = Site::with_base();
    let nobody = "01JDX1PQ000000000000000401";
    let commit = site.ask(&["commit", "show"], &[nobody, "--json"]).exits(1);
    assert_eq!(commit.error_code(), "no_such_commit");
    for command in ["show", "explain"] {
        let intent = site.ask(&["intent", command], &[nobody, "--json"]).exits(1);
        assert_eq!(intent.error_code(), "no_such_intent");
    }
}
