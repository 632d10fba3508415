//! Ctrl-C and its kin: before the intent is durable they end the load and nothing is left; after it the
//! load runs to its end and says so.

use super::site::{Site, addition, all, base, other_addition};

fn ends_before_its_intent(point: &str, signal: &str, number: i32) {
    let site = Site::with_base();
    let mut load = site.paused_load(&addition(), point, &[]);
    load.signal(signal);
    let end = load.end().dies_by(number);
    assert!(end.stdout.is_empty(), "{end:#?}");
    site.at_rest_with(&base());
    site.load(&other_addition()).exits(0);
    site.load(&addition()).exits(0);
    site.settled_with(&all(&[base(), addition(), other_addition()]));
}

fn runs_to_its_end(point: &str, signal: &str) {
    let site = Site::with_base();
    let mut load = site.paused_load(&addition(), point, &[]);
    load.signal(signal);
    let told = load.error_line();
    assert!(told.contains("runs to its end"), "{told}");
    let end = load.release().exits(0);
    assert_eq!(end.json()["outcome"], "committed");
    site.settled_with(&all(&[base(), addition()]));
}

#[test]
fn an_interrupt_before_the_intent_leaves_nothing() {
    ends_before_its_intent("pre_arm", "INT", 2);
}

#[test]
fn an_interrupt_during_preparation_leaves_nothing() {
    ends_before_its_intent("post_prepare", "INT", 2);
}

#[test]
fn a_termination_before_the_intent_leaves_nothing() {
    ends_before_its_intent("pre_arm", "TERM", 15);
}

#[test]
fn an_interrupt_after_the_intent_waits_for_the_end() {
    runs_to_its_end("post_arm", "INT");
}

#[test]
fn a_termination_after_the_intent_waits_for_the_end() {
    runs_to_its_end("post_arm", "TERM");
}

#[test]
fn a_termination_between_effects_waits_for_the_end() {
    runs_to_its_end("post_effect", "TERM");
}

#[test]
fn a_hangup_before_the_publication_waits_for_the_end() {
    runs_to_its_end("pre_publish", "HUP");
}

#[test]
fn a_kill_after_an_interrupt_that_had_to_wait_is_healed() {
    let site = Site::with_base();
    let mut load = site.paused_load(&addition(), "post_effect", &[]);
    load.signal("INT");
    load.error_line();
    load.kill().dies_by(9);
    site.shows(&base());
    site.load(&other_addition()).exits(0);
    site.settled_with(&all(&[base(), other_addition()]));
}
