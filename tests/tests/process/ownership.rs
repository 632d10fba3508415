//! Who owns an intent, as far as another process can know: proofs of death, and what is none; and what
//! somebody is told who has to wait.

use std::process::Command;
use std::time::{Duration, SystemTime};

use graphwrite_protocol_types::OwnerRecord;
use serde_json::Value;

use super::death::AT_ONCE;
use super::program::{Paused, command, run, through};
use super::record;
use super::site::{Site, addition, all, base, other_addition, text};

const OPERATION: &str = "stalls";

/// Waits for nobody, and closes nobody who may live.
const NO_PATIENCE: [&str; 2] = ["--contention-wait", "0s"];

/// Waits for nobody, and closes everybody.
const NO_MERCY: [&str; 4] = ["--contention-wait", "0s", "--fence-after", "0s"];

fn stalled(site: &Site) -> (Paused, String) {
    let paused = site.paused_load(&addition(), "post_effect", &["--operation-id", OPERATION]);
    (paused, site.pending_attempt())
}

/// An intent whose owner has died.
fn dead(site: &Site) -> String {
    site.load_with(&addition(), &["--fault", "post_effect:abort"]).dies_by(6);
    site.pending_attempt()
}

fn owner_state(site: &Site) -> String {
    text(&site.intents()[0]["owner"], "state")
}

#[test]
fn who_is_in_the_way_is_told_with_owner_age_and_when_to_try_again() {
    let site = Site::with_base();
    let (stalled, attempt) = stalled(&site);
    let met = site.load_with(&other_addition(), &NO_PATIENCE).exits(3).error();
    let statement = r#"[{"upsert":{"type":"Person","data":{"slug":"p1"}}}]"#;
    let met_by_mutation = site.mutate_with(statement, &NO_PATIENCE).exits(3).error();
    let resolve = ["--full", "--json", "--contention-wait", "0s"];
    let met_by_resolve = site.ask(&["intent", "resolve"], &resolve).exits(3).json();
    for told in [met, met_by_mutation, met_by_resolve] {
        let told = &told["contention"];
        assert_eq!(text(told, "attempt_id"), attempt);
        assert_eq!(text(told, "operation_id"), OPERATION);
        assert_eq!(told["owner"]["pid"], stalled.pid(), "{told:#}");
        assert!(!text(&told["owner"], "host").is_empty());
        assert!(told["age_ms"].as_u64().unwrap() < 60_000, "{told:#}");
        assert!((1..=10_000).contains(&told["retry_after_ms"].as_u64().unwrap()), "{told:#}");
    }
}

#[test]
fn who_is_in_the_way_is_told_in_words_and_the_remedy_can_be_copied() {
    let site = Site::with_base();
    let (stalled, attempt) = stalled(&site);
    let data = site.file(&other_addition());
    let load = ["load", site.graph(), "--data", &data, "--contention-wait", "0s"];
    let told = run(&mut command(&load)).exits(3).stderr;
    let pid = format!("pid {}", stalled.pid());
    for word in [&*attempt, OPERATION, &pid, " old", "try again in 1000 ms"] {
        assert!(told.contains(word), "`{word}` in {told}");
    }
    let told = told.replace('\n', " ").split_whitespace().collect::<Vec<_>>().join(" ");
    let remedy = told.split('`').find(|part| part.starts_with("graphwrite intent resolve"));
    let remedy = remedy.unwrap_or_else(|| panic!("a command in {told}"));
    let words: Vec<&str> = remedy.split(' ').skip(1).collect();
    run(&mut command(&words)).exits(0);
    run(&mut command(&load)).exits(0);
    site.settled_with(&all(&[base(), other_addition()]));
}

#[test]
fn a_command_waits_as_long_as_it_is_told() {
    let site = Site::with_base();
    let (_stalled, _) = stalled(&site);
    let waited = site.load_with(&other_addition(), &["--contention-wait", "1s"]).exits(3);
    let (least, most) = (Duration::from_secs(1), Duration::from_secs(8));
    assert!(waited.took >= least && waited.took < most, "{waited:#?}");
}

/// The owner of the intent cannot be proven dead: it is waited for, until its time is over.
fn is_waited_for(site: &Site) {
    assert!(owner_state(site).starts_with("maybe alive"), "{}", owner_state(site));
    let met = site.load_with(&other_addition(), &NO_PATIENCE).exits(3);
    assert_eq!(met.error_code(), "contended");
    site.shows(&base());
    site.load_with(&other_addition(), &NO_MERCY).exits(0);
    site.settled_with(&all(&[base(), other_addition()]));
}

/// The intent of a dead process, whose record says something else of its owner.
fn dead_elsewhere(change: impl FnOnce(&mut OwnerRecord)) {
    let site = Site::with_base();
    let attempt = dead(&site);
    assert_eq!(owner_state(&site), "dead: its process does not exist");
    record::change(&site, &attempt, |intent| change(&mut intent.owner));
    is_waited_for(&site);
}

#[test]
fn a_pid_that_is_gone_here_proves_nothing_about_another_pid_namespace() {
    dead_elsewhere(|owner| owner.pid_namespace = Some("pid:[1]".into()));
    dead_elsewhere(|owner| owner.pid_namespace = None);
}

#[test]
fn a_pid_that_is_gone_here_proves_nothing_about_another_boot_or_host() {
    dead_elsewhere(|owner| owner.boot_id = Some("another".into()));
    dead_elsewhere(|owner| owner.boot_id = None);
    dead_elsewhere(|owner| {
        owner.boot_id = Some("another".into());
        owner.host = "elsewhere".into();
    });
}

#[test]
fn a_pid_that_a_younger_process_has_now_is_the_proof_that_its_owner_is_dead() {
    let site = Site::with_base();
    let (stalled, attempt) = stalled(&site);
    assert!(owner_state(&site).starts_with("maybe alive"));
    record::change(&site, &attempt, |intent| {
        let ticks = &mut intent.owner.process_start_ticks;
        *ticks = Some(ticks.expect("the system tells when a process started") - 1);
    });
    assert_eq!(owner_state(&site), "dead: its process id belongs to a younger process");
    let healed = site.load(&other_addition()).exits(0);
    assert!(healed.took < AT_ONCE, "{healed:#?}");
    site.settled_with(&all(&[base(), other_addition()]));
    // It was alive after all: its answer is the truth all the same.
    let end = stalled.release().exits(0);
    assert!(end.json()["restarts"].as_u64().unwrap() > 0, "{end:#?}");
    site.at_rest_with(&all(&[base(), other_addition(), addition()]));
}

#[test]
fn a_pid_without_a_start_time_is_no_proof_while_it_runs() {
    let site = Site::with_base();
    let (_stalled, attempt) = stalled(&site);
    record::change(&site, &attempt, |intent| intent.owner.process_start_ticks = None);
    is_waited_for(&site);
}

/// Runs the program as the first of a pid namespace of its own, if this user may make one.
fn in_a_namespace(words: &[&str], args: &[&str]) -> Option<Command> {
    let unshare = [&["unshare", "--pid", "--fork"], words].concat();
    let works = Command::new(unshare[0]).args(&unshare[1..]).arg("true").output();
    works.is_ok_and(|output| output.status.success()).then(|| through(&unshare, args))
}

#[test]
fn an_owner_in_a_pid_namespace_of_its_own_is_waited_for_from_outside_and_the_other_way_round() {
    // With process files of its own, and with those of the namespace outside.
    for words in [&["--mount-proc"][..], &[]] {
        let site = Site::with_base();
        let data = site.file(&addition());
        let args = site.load_args(&data, &["--fault", "post_effect:abort"]);
        let Some(mut inside) = in_a_namespace(words, &args) else { return };
        assert_ne!(run(&mut inside).code(), Some(0));
        is_waited_for(&site);

        let site = Site::with_base();
        dead(&site);
        let data = site.file(&other_addition());
        let met =
            |more: &[&str]| run(&mut in_a_namespace(words, &site.load_args(&data, more)).unwrap());
        assert_eq!(met(&NO_PATIENCE).exits(3).error_code(), "contended");
        met(&NO_MERCY).exits(0);
        site.settled_with(&all(&[base(), other_addition()]));
    }
}

/// When the record seems to have been written, while its owner lives.
fn written(seconds_ahead: u64) -> (Site, Paused) {
    let site = Site::with_base();
    let (stalled, attempt) = stalled(&site);
    let at = SystemTime::now() + Duration::from_secs(seconds_ahead);
    record::written_at(&site, &attempt, at);
    (site, stalled)
}

#[test]
fn a_record_of_the_near_future_is_young() {
    let (site, _stalled) = written(20);
    let met = site.load_with(&other_addition(), &NO_PATIENCE).exits(3).error();
    let age_ms = met["contention"]["age_ms"].as_u64().unwrap();
    assert!((1..=20_000).contains(&age_ms), "{met:#}");
}

#[test]
fn a_record_of_the_far_future_does_not_stay_young_until_then() {
    // So it is when a clock was ahead, or has gone back since.
    let (site, stalled) = written(7 * 24 * 3_600);
    let faster = site.load(&other_addition()).exits(0);
    assert!(faster.took < AT_ONCE, "{faster:#?}");
    stalled.release().exits(0);
    site.at_rest_with(&all(&[base(), other_addition(), addition()]));
}

#[test]
fn the_word_of_an_operator_is_about_one_attempt() {
    let site = Site::with_base();
    let (_stalled, attempt) = stalled(&site);
    let nobody = site.ask(&["intent", "resolve"], &["--full", "--owner-is-dead", "--json"]);
    assert_eq!(nobody.exits(2).error_code(), "usage");
    assert_eq!(site.pending_attempt(), attempt);
    let other = [record::NOBODY, "--full", "--owner-is-dead", "--json"];
    let other = site.ask(&["intent", "resolve"], &other).exits(1);
    assert_eq!(other.error_code(), "no_such_intent");
    assert_eq!(site.pending_attempt(), attempt);
    let words = [&*attempt, "--full", "--owner-is-dead", "--json"];
    let report: Value = site.ask(&["intent", "resolve"], &words).exits(0).json();
    assert_eq!(report["intents"][0]["action"], "rolled_back", "{report:#}");
    site.settled_with(&base());
}
