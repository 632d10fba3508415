//! Outcomes of a write and the exit codes that scripts rely on.

use graphwrite_protocol_types::{Answer, Conflict, Contention, Unknown, Unresolved, WriteOutcome};

use super::samples;
use crate::answer::settled;
use crate::exit::Exit;
use crate::failure::{Effect, Failure};

fn failure(outcome: WriteOutcome) -> Failure {
    settled(&outcome, None, "people").unwrap_err()
}

fn key_exists() -> Conflict {
    Conflict::KeyExists {
        table: "Person".into(),
        key: "ada".into(),
        place: Some("line 12".into()),
        total: 3,
    }
}

fn unresolved() -> WriteOutcome {
    WriteOutcome::RecoveryRequired(Unresolved {
        attempt: samples::attempt(1),
        operation: Some("nightly".parse().unwrap()),
        table: Some("Person".into()),
        reason: "version 5 cannot be read".into(),
    })
}

fn contended() -> WriteOutcome {
    WriteOutcome::Contended(Contention {
        attempt: samples::attempt(1),
        operation: "nightly".parse().unwrap(),
        owner: samples::owner(),
        age_ms: 12_000,
        retry_after_ms: 500,
    })
}

fn unknown(is_callers_id: bool) -> WriteOutcome {
    WriteOutcome::OutcomeUnknown(Unknown {
        operation: "nightly".parse().unwrap(),
        attempt: samples::attempt(1),
        branch: samples::branch(),
        is_callers_id,
        cause: "the storage did not answer".into(),
    })
}

#[test]
fn a_commit_and_no_change_are_receipts() {
    let committed = WriteOutcome::Committed(samples::receipt());
    assert_eq!(settled(&committed, None, "people").unwrap().outcome, "committed");
    let same = WriteOutcome::NoChange(samples::receipt());
    assert_eq!(settled(&same, None, "people").unwrap().outcome, "no_change");
}

#[test]
fn every_conflict_exits_with_4_and_has_no_effect() {
    let conflicts = [
        key_exists(),
        Conflict::ExpectedHead { expected: None, actual: Some(samples::commit(1)) },
        Conflict::OperationReused { commit: samples::commit(1) },
        Conflict::OperationSealed { reason: "sent again elsewhere".into() },
        Conflict::RetriesExhausted { attempts: 16, last: "the schema changed".into() },
    ];
    for conflict in conflicts {
        let code = conflict.code();
        let failure = failure(WriteOutcome::Conflict(conflict));
        assert_eq!((failure.exit, failure.effect), (Exit::Conflict, Effect::None), "{code}");
        assert_eq!(failure.code, code);
        assert!(!failure.help.is_empty(), "{code}");
    }
}

#[test]
fn an_earlier_write_in_the_way_exits_with_3_and_names_the_command_for_this_graph() {
    for outcome in [unresolved(), contended()] {
        let failure = failure(outcome);
        assert_eq!((failure.exit, failure.effect), (Exit::Recovery, Effect::None));
        let command = format!("people {}", samples::attempt(1));
        assert!(failure.help.contains(&command), "{}", failure.help);
    }
    assert!(failure(contended()).may_retry);
    assert!(!failure(unresolved()).may_retry);
}

#[test]
fn who_is_in_the_way_how_long_and_until_when_is_said_in_words_and_to_programs() {
    let failure = failure(contended());
    let owner = samples::owner();
    for word in [&*format!("pid {}", owner.pid), &owner.host, "12", "nightly"] {
        assert!(failure.message.contains(word), "{word}: {}", failure.message);
    }
    for word in ["500 ms", "--owner-is-dead"] {
        assert!(failure.help.contains(word), "{word}: {}", failure.help);
    }
    let document: serde_json::Value = serde_json::from_str(&failure.json()).unwrap();
    let expected = serde_json::json!({
        "attempt_id": samples::attempt(1).to_string(),
        "operation_id": "nightly",
        "owner": {
            "host": owner.host, "pid": owner.pid, "instance": owner.instance.to_string(),
        },
        "age_ms": 12_000,
        "retry_after_ms": 500,
    });
    assert_eq!(document["contention"], expected);
}

#[test]
fn an_unknown_outcome_exits_with_6_names_the_operation_and_claims_nothing() {
    for is_callers_id in [true, false] {
        let failure = failure(unknown(is_callers_id));
        assert_eq!((failure.exit, failure.effect), (Exit::Unknown, Effect::Unknown));
        assert_eq!(failure.operation.as_deref(), Some("nightly"));
        assert!(failure.help.contains("graphwrite outcome people nightly"), "{}", failure.help);
        assert_eq!(failure.may_retry, is_callers_id, "a minted id would be another one");
    }
}

#[test]
fn a_key_conflict_names_the_line_and_the_key() {
    let failure = failure(WriteOutcome::Conflict(key_exists()));
    assert!(failure.message.contains("`ada`") && failure.message.contains("line 12"));
}

#[test]
fn a_failure_carries_the_callers_own_key() {
    let key = "mine".parse().unwrap();
    let outcome = WriteOutcome::Conflict(key_exists());
    let failure = settled(&outcome, Some(&key), "people").unwrap_err();
    assert_eq!(failure.operation.as_deref(), Some("mine"));
}
