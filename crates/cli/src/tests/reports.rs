//! Every report in every form. A changed snapshot is a changed format, and scripts read formats.

use graphwrite_coordinator::{OperationOutcome, PendingIntents};
use graphwrite_protocol_types::{CommitId, MergeParents, NativeBranch, Parents, Tip};
use graphwrite_schema::GraphSchema;
use insta::assert_snapshot;

use super::{armed, samples};
use crate::command::{Color, Format};
use crate::io::Surroundings;
use crate::render::{Report, write_report};
use crate::report::{
    AuditReport, DiffReport, Explanation, IntentList, IntentRecord, OutcomeReport, ReceiptReport,
    Version,
};
use crate::style::Style;

fn written(report: &impl Report, format: Format, color: Color) -> String {
    let around = Surroundings { width: Some(140), ..Default::default() };
    let mut output = Vec::new();
    write_report(report, Style::with(format, color, &around), &mut output).unwrap();
    String::from_utf8(output).unwrap()
}

/// All forms one below the other.
fn forms(report: &impl Report) -> String {
    let forms = [Format::Table, Format::Plain, Format::Json, Format::Jsonl];
    let form = |format| format!("== {format:?}\n{}", written(report, format, Color::Never));
    forms.map(form).join("\n")
}

fn pending(pending: PendingIntents) -> IntentList {
    IntentList::of(&pending)
}

fn record() -> IntentRecord {
    let schema = GraphSchema::new(vec![]).unwrap();
    IntentRecord::of(&armed::intent(), &samples::explained(), &schema)
}

#[test]
fn the_record_of_a_merge_names_the_commit_that_it_merges() {
    let mut intent = armed::intent();
    let (line, commit) = (NativeBranch::main(), CommitId::from_u128(9));
    let merged = Tip { line, version: 3, commit, generation: 2 };
    let parents = MergeParents { head: None, merged, number: 1, gained: Vec::new() };
    intent.lineage.parents = Parents::Merge(Box::new(parents));
    let schema = GraphSchema::new(vec![]).unwrap();
    let record = IntentRecord::of(&intent, &samples::explained(), &schema);
    assert_eq!(record.merges, Some(commit.to_string()));
}

fn outcome(outcome: OperationOutcome) -> OutcomeReport {
    OutcomeReport::of(&outcome, &"nightly".parse().unwrap(), "main", "people")
}

macro_rules! snapshots {
    ($($test:ident: $report:expr;)*) => {
        $(#[test]
        fn $test() {
            assert_snapshot!(stringify!($test), forms(&$report));
        })*
    };
}

snapshots! {
    the_receipt_of_a_commit: ReceiptReport::committed(&samples::receipt());
    the_receipt_of_no_change: ReceiptReport::no_change(&samples::receipt());
    the_receipt_of_a_write_that_healed: ReceiptReport::committed(&samples::healing_receipt());
    the_receipt_of_init: samples::created();
    the_commit_log: samples::commit_log();
    one_commit: samples::commit_entry();
    the_status: samples::status();
    the_status_in_a_process_that_has_written: samples::busy_status();
    the_status_with_objects_that_stop_every_write: samples::blocked_status();
    a_clean_verification: samples::verification(true);
    a_verification_with_faults: samples::verification(false);
    the_pending_intents: pending(PendingIntents { blocking: vec![], ..samples::pending() });
    pending_intents_and_unreadable_objects: pending(samples::pending());
    unreadable_objects_of_a_deleted_branch: pending(samples::orphaned());
    unreadable_objects_alone: pending(PendingIntents { intents: vec![], ..samples::pending() });
    no_pending_intents: pending(PendingIntents::default());
    the_record_of_an_intent: record();
    the_explanation_of_an_intent: Explanation::of(&samples::explained(), "people");
    the_resolution_of_intents: samples::resolution();
    a_resolution_that_waits_in_vain: samples::waiting_resolution();
    the_audit: AuditReport::of(&samples::audit());
    no_audit: AuditReport::of(&[]);
    a_difference: DiffReport::of(&samples::difference());
    no_difference: DiffReport::of(&samples::no_difference());
    the_outcome_of_a_committed_operation: outcome(samples::committed());
    the_outcome_of_an_aborted_operation: outcome(samples::aborted(false));
    the_outcome_of_a_sealed_operation: outcome(samples::aborted(true));
    the_outcome_of_a_pending_operation: outcome(samples::in_flight());
    the_outcome_on_a_deleted_branch: outcome(samples::of_deleted_branch());
    the_outcome_of_an_unknown_operation: outcome(OperationOutcome::Unknown);
    the_version: Version { failpoints: false, ..Version::of_this_build() };
}

#[test]
fn a_table_is_coloured_only_when_asked() {
    let escapes = |color| written(&samples::status(), Format::Table, color).contains('\u{1b}');
    assert!(escapes(Color::Always));
    assert!(!escapes(Color::Never));
}

#[test]
fn only_a_table_is_ever_coloured() {
    for format in [Format::Plain, Format::Json, Format::Jsonl] {
        assert!(!written(&samples::status(), format, Color::Always).contains('\u{1b}'));
    }
}

#[test]
fn text_from_a_graph_breaks_no_line_and_no_terminal() {
    let log = samples::commit_log();
    for format in [Format::Table, Format::Plain, Format::Jsonl] {
        let text = written(&log, format, Color::Never);
        assert!(!text.contains('\u{1b}'), "{format:?}");
        assert!(!text.lines().any(|line| line.starts_with("second line")), "{format:?}");
    }
    assert_eq!(written(&log, Format::Plain, Color::Never).lines().count(), 2);
}

#[test]
fn a_line_of_an_unreadable_object_is_never_taken_for_an_attempt() {
    let first = |pending: PendingIntents| {
        let text = written(&IntentList::of(&pending), Format::Plain, Color::Never);
        let names = text.lines().map(|line| line.split('\t').next().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    let attempt = samples::attempt(1).to_string();
    assert_eq!(first(samples::pending()), [&*attempt, "blocking", "blocking"]);
    let unread = PendingIntents { intents: vec![], ..samples::pending() };
    assert_eq!(first(unread), ["blocking", "blocking"]);
}

#[test]
fn the_next_command_follows_from_the_decision() {
    let next = |decision| Explanation::of(&samples::decided(decision), "people").next;
    assert!(next("abort").starts_with("graphwrite intent resolve people"));
    assert!(next("wait").contains("--owner-is-dead"));
    assert!(next("refuse").starts_with("graphwrite verify people"));
}

#[test]
fn every_json_line_is_one_document() {
    let text = written(&samples::commit_log(), Format::Jsonl, Color::Never);
    let ids: Vec<_> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["commit_id"].clone())
        .collect();
    assert_eq!(ids, [samples::commit(1).to_string(), samples::commit(0).to_string()]);
}
