//! What a failure looks like: drawn, plain, and as JSON.

use insta::assert_snapshot;
use serde_json::Value;

use crate::command::{Color, Format};
use crate::exit::Exit;
use crate::failure::{Detail, Effect, Failure};
use crate::io::Surroundings;
use crate::render::render_failure;
use crate::style::Style;

fn conflict() -> Failure {
    Failure::new(Exit::Conflict, "key_conflict", "key `ada` is already in Person (line 12)")
        .help("the graph is unchanged; use an upsert to replace rows that exist")
        .operation("nightly-2026-11-30")
        .effect(Effect::None)
}

fn invalid() -> Failure {
    let detail = |line, field: Option<&str>, rule: &str, message: &str| Detail {
        place: format!("line {line}"),
        field: field.map(str::to_owned),
        rule: rule.into(),
        message: message.into(),
    };
    Failure::new(Exit::Refused, "invalid_input", "2 rows are not valid; nothing was written")
        .help("the graph is unchanged; correct the rows and load them again")
        .details(vec![
            detail(3, Some("Person.age"), "type", "\"old\" is not an i32"),
            detail(9, None, "json", "expected `,` \u{1b}[31m"),
        ])
}

fn style(format: Format, is_terminal: bool) -> Style {
    let around =
        Surroundings { errors_are_terminal: is_terminal, width: Some(80), ..Default::default() };
    Style::with(format, Color::Never, &around)
}

fn forms(failure: &Failure) -> String {
    let forms = [
        ("terminal", style(Format::Table, true)),
        ("log", style(Format::Plain, false)),
        ("json", style(Format::Json, true)),
    ];
    forms.map(|(name, style)| format!("== {name}\n{}", render_failure(failure, style))).join("\n")
}

#[test]
fn a_conflict_in_every_form() {
    assert_snapshot!("a_conflict", forms(&conflict()));
}

#[test]
fn invalid_rows_in_every_form() {
    assert_snapshot!("invalid_rows", forms(&invalid()));
}

#[test]
fn colour_in_a_log_is_there_only_when_asked_for() {
    let text = |color| {
        let style = Style::with(Format::Plain, color, &Surroundings::default());
        render_failure(&conflict(), style)
    };
    assert!(text(Color::Always).starts_with("\u{1b}["));
    assert!(text(Color::Auto).starts_with("error["));
}

#[test]
fn a_json_error_is_one_line_with_all_that_a_script_needs() {
    let text = conflict().json();
    assert!(!text.contains('\n'));
    let error: Value = serde_json::from_str(&text).unwrap();
    for key in ["code", "kind", "message", "help", "operation_id", "effect"] {
        assert!(error[key].is_string(), "{key}");
    }
    assert_eq!((error["kind"].as_str(), error["exit"].as_u64()), (Some("conflict"), Some(4)));
    assert_eq!(error["effect"], "none");
}

#[test]
fn an_error_cannot_steer_the_terminal() {
    for is_terminal in [true, false] {
        let text = render_failure(&invalid(), style(Format::Plain, is_terminal));
        assert!(!text.contains('\u{1b}'));
        assert!(text.contains("line 9"));
    }
}

#[test]
fn a_reader_that_left_is_told_from_a_full_disk() {
    let left = Failure::output(&std::io::Error::from(std::io::ErrorKind::BrokenPipe));
    let full = Failure::output(&std::io::Error::from(std::io::ErrorKind::StorageFull));
    assert!(left.reader_left && !full.reader_left);
    assert_eq!(full.exit, Exit::Storage);
}

#[test]
fn a_lost_receipt_says_that_the_write_is_done() {
    let full = Failure::output(&std::io::Error::from(std::io::ErrorKind::StorageFull));
    let failure = full.after_commit("nightly", Some("C1"));
    assert_eq!(failure.effect, Effect::Committed);
    assert!(failure.help.contains("C1"));
    assert_eq!(failure.state().unwrap(), "operation nightly is committed");
}
