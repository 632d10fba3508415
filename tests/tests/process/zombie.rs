//! A load that stalls and comes back: while it lives it is waited for, an operator or time can close
//! it, and when it goes on its answer is the truth.

use std::fs::File;
use std::thread;
use std::time::{Duration, SystemTime};

use super::program::{Paused, Run};
use super::site::{Site, addition, all, base, other_addition, text};

/// What one command waits for an owner that may live.
const WAIT: Duration = Duration::from_secs(10);

const OPERATION: &str = "stalls";

fn stalled_at(site: &Site, point: &str) -> Paused {
    site.paused_load(&addition(), point, &["--operation-id", OPERATION])
}

/// The load says that it is done if and only if its rows are there, all of them and once.
#[track_caller]
fn is_truthful(site: &Site, end: &Run, others: &[String]) {
    let visible = site.rows().contains(&addition()[0]);
    let expected = if visible { addition() } else { Vec::new() };
    site.at_rest_with(&all(&[others.to_vec(), expected]));
    assert_eq!(end.code() == Some(0), visible, "{end:#?}");
    if visible {
        assert_eq!(text(&end.json(), "operation_id"), OPERATION);
    } else {
        assert_eq!(end.error()["effect"], "none", "{end:#?}");
    }
    assert_eq!(
        site.operations().iter().filter(|id| *id == OPERATION).count(),
        usize::from(visible)
    );
}

/// The operator closes the stalled load, another one goes first, the stalled one comes back.
fn comes_back(point: &str) {
    let site = Site::with_base();
    let stalled = stalled_at(&site, point);
    let attempt = site.pending_attempt();
    let words = ["--full", "--owner-is-dead", "--json"];
    let closed = site.ask(&["intent", "resolve"], &[&[&*attempt], &words[..]].concat());
    assert_eq!(closed.exits(0).json()["pending"], 0);
    let finished = site.rows().contains(&addition()[0]);
    let first = all(&[base(), if finished { addition() } else { Vec::new() }]);
    site.settled_with(&first);
    site.load(&other_addition()).exits(0);
    let end = stalled.release().exits(0);
    is_truthful(&site, &end, &all(&[base(), other_addition()]));
}

#[test]
fn a_load_that_stalled_before_its_intent_starts_again_behind_the_faster_one() {
    let site = Site::with_base();
    let stalled = stalled_at(&site, "pre_arm");
    site.load(&other_addition()).exits(0);
    site.settled_with(&all(&[base(), other_addition()]));
    let end = stalled.release().exits(0);
    assert!(end.json()["restarts"].as_u64().unwrap() > 0, "{end:#?}");
    is_truthful(&site, &end, &all(&[base(), other_addition()]));
}

#[test]
fn a_load_that_stalled_before_its_effects_comes_back() {
    comes_back("post_arm");
}

#[test]
fn a_load_that_stalled_between_its_effects_comes_back() {
    comes_back("post_effect");
}

#[test]
fn a_load_that_stalled_before_its_last_effect_comes_back() {
    comes_back("post_effect@2");
}

#[test]
fn a_load_that_stalled_before_its_publication_finds_it_done() {
    comes_back("pre_publish");
}

#[test]
fn a_load_that_stalled_while_its_request_was_sent_again_has_the_same_commit() {
    for point in ["pre_arm", "post_arm", "post_effect"] {
        let site = Site::with_base();
        let stalled = stalled_at(&site, point);
        for intent in site.intents() {
            let attempt = text(&intent, "attempt_id");
            site.ask(&["intent", "resolve"], &[&attempt, "--full", "--owner-is-dead"]).exits(0);
        }
        let again = site.load_with(&addition(), &["--operation-id", OPERATION]).exits(0).json();
        let end = stalled.release().exits(0);
        assert_eq!(text(&end.json(), "commit_id"), text(&again, "commit_id"), "{point}");
        is_truthful(&site, &end, &base());
    }
}

#[test]
fn a_load_that_stalled_while_another_took_its_keys_is_a_key_conflict() {
    for point in ["pre_arm", "post_arm"] {
        let site = Site::with_base();
        let stalled = stalled_at(&site, point);
        for intent in site.intents() {
            let attempt = text(&intent, "attempt_id");
            site.ask(&["intent", "resolve"], &[&attempt, "--full", "--owner-is-dead"]).exits(0);
        }
        site.load(&addition()).exits(0);
        let end = stalled.release().exits(4);
        assert_eq!(end.error_code(), "key_conflict", "{point}");
        assert_eq!(end.error()["effect"], "none");
        site.settled_with(&all(&[base(), addition()]));
    }
}

/// Another load waits as long as it may and then says who is in its way; nothing has changed.
fn is_waited_for(point: &str) {
    let site = Site::with_base();
    let stalled = stalled_at(&site, point);
    let attempt = site.pending_attempt();
    let contended = site.load(&other_addition()).exits(3);
    assert!(contended.took >= WAIT && contended.took < WAIT * 3, "{contended:#?}");
    assert_eq!(contended.error_code(), "contended");
    let error = contended.error();
    assert!(text(&error, "message").contains(&attempt), "{error:#}");
    assert_eq!((&error["effect"], &error["may_retry"]), (&"none".into(), &true.into()));
    assert_eq!(site.pending_attempt(), attempt);
    site.shows(&base());
    let end = stalled.release().exits(0);
    is_truthful(&site, &end, &base());
    site.load(&other_addition()).exits(0);
    site.settled_with(&all(&[base(), addition(), other_addition()]));
}

/// So does an operator who does not say that the owner is dead.
fn is_waited_for_by_resolve(point: &str) {
    let site = Site::with_base();
    let stalled = stalled_at(&site, point);
    let attempt = site.pending_attempt();
    let waited = site.ask(&["intent", "resolve"], &[&attempt, "--full", "--json"]).exits(3);
    assert_eq!(waited.json()["pending"], 1, "{waited:#?}");
    assert_eq!(site.pending_attempt(), attempt);
    let end = stalled.release().exits(0);
    is_truthful(&site, &end, &base());
}

#[test]
fn a_load_that_may_be_alive_is_waited_for() {
    thread::scope(|scope| {
        for point in ["post_arm", "post_effect", "pre_publish"] {
            scope.spawn(move || is_waited_for(point));
        }
        scope.spawn(|| is_waited_for_by_resolve("post_effect"));
    });
}

#[test]
fn a_load_that_waits_goes_on_when_the_one_before_it_is_done() {
    let site = Site::with_base();
    let mut stalled = stalled_at(&site, "post_effect");
    let (first, second) = thread::scope(|scope| {
        let waits = scope.spawn(|| site.load(&other_addition()));
        stalled.let_go();
        (stalled.end(), waits.join().unwrap())
    });
    let (first, second) = (first.exits(0), second.exits(0));
    assert!(second.took < WAIT, "{second:#?}");
    is_truthful(&site, &first, &all(&[base(), other_addition()]));
}

#[test]
fn a_load_without_a_sign_of_progress_for_a_minute_is_closed_although_it_lives() {
    let site = Site::with_base();
    let stalled = stalled_at(&site, "post_effect");
    let intent = site.files().into_iter().find(|path| path.starts_with("_recovery")).unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    let path = std::path::Path::new(site.graph()).join(intent);
    File::options().append(true).open(path).unwrap().set_modified(long_ago).unwrap();
    let faster = site.load(&other_addition()).exits(0);
    assert!(faster.took < WAIT, "{faster:#?}");
    site.settled_with(&all(&[base(), other_addition()]));
    let end = stalled.release().exits(0);
    is_truthful(&site, &end, &all(&[base(), other_addition()]));
}
