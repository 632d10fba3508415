//! A load that dies at each of its failpoints, by its own abort and by `kill -9` while it waits there:
//! what a fresh process finds, and that the next load heals it at once.

use std::time::Duration;

use serde_json::Value;

use super::program::Run;
use super::site::{Site, addition, all, base, other_addition, text};

/// The key of the load that dies.
const OPERATION: &str = "dies";

/// An owner that is provably dead is not waited for. The wait for one that may live is 10 s.
pub(super) const AT_ONCE: Duration = Duration::from_secs(9);

/// What a dead load leaves.
#[derive(Debug, Clone, Copy)]
pub(super) enum Left {
    /// Nothing that concerns anybody.
    Nothing,
    /// An intent that will be taken back.
    TakenBack,
    /// An intent that will be finished: all of it is there.
    Finished,
    /// A visible commit and the record of its intent.
    Visible,
}

impl Left {
    fn decision(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::TakenBack => Some("abort"),
            Self::Finished => Some("roll forward"),
            Self::Visible => Some("finalize"),
        }
    }

    /// What the load that heals it says about it.
    fn action(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::TakenBack => Some("rolled_back"),
            Self::Finished => Some("rolled_forward"),
            Self::Visible => Some("finalized"),
        }
    }

    /// Whether readers see its rows before anybody heals anything.
    pub(super) fn is_visible(self) -> bool {
        matches!(self, Self::Visible)
    }

    /// Whether they do once it is healed.
    pub(super) fn becomes_visible(self) -> bool {
        matches!(self, Self::Visible | Self::Finished)
    }
}

/// Ends a load of [`addition`] at `fault`.
pub(super) type Death = fn(&Site, &str) -> Run;

pub(super) fn abort(site: &Site, fault: &str) -> Run {
    let fault = format!("{fault}:abort");
    site.load_with(&addition(), &["--operation-id", OPERATION, "--fault", &fault]).dies_by(6)
}

pub(super) fn sigkill(site: &Site, fault: &str) -> Run {
    site.paused_load(&addition(), fault, &["--operation-id", OPERATION]).kill().dies_by(9)
}

/// The rows that readers see if the dead load counts or not.
pub(super) fn rows_with(dead_load: bool, more: &[Vec<String>]) -> Vec<String> {
    let dead = if dead_load { addition() } else { Vec::new() };
    all(&[&[base(), dead][..], more].concat())
}

/// A fresh process sees all of the dead load or nothing, and its intent where there must be one.
fn is_left(site: &Site, left: Left) {
    let status = site.shows(&rows_with(left.is_visible(), &[]));
    let intents = site.intents();
    assert_eq!(status["pending_intents"], intents.len());
    let decisions: Vec<String> = intents.iter().map(|intent| text(intent, "decision")).collect();
    assert_eq!(decisions, Vec::from_iter(left.decision()), "{intents:#?}");
    for intent in &intents {
        assert_eq!(text(intent, "operation_id"), OPERATION);
        assert_eq!(intent["tables"].as_array().unwrap().len(), 3, "{intent:#}");
        let state = text(&intent["owner"], "state");
        assert!(state.starts_with("dead"), "{state}");
    }
}

/// The next load into the same tables heals everything at once; the dead one can be sent again.
/// Returns the receipt of the load that heals.
pub(super) fn next_load_heals(site: &Site, left: Left) -> Value {
    let healed = site.load(&other_addition()).exits(0);
    assert!(healed.took < AT_ONCE, "{healed:#?}");
    site.at_rest_with(&rows_with(left.becomes_visible(), &[other_addition()]));
    let sent_again = site.load_with(&addition(), &["--operation-id", OPERATION]).exits(0).json();
    assert_eq!(text(&sent_again, "operation_id"), OPERATION);
    site.settled_with(&rows_with(true, &[other_addition()]));
    let operations = site.operations();
    assert_eq!(operations.len(), 3, "base, the dead one, the healing one: {operations:#?}");
    assert!(operations.contains(&OPERATION.to_owned()), "{operations:#?}");
    healed.json()
}

fn heals(fault: &str, death: Death, left: Left) {
    let site = Site::with_base();
    death(&site, fault);
    is_left(&site, left);
    let receipt = next_load_heals(&site, left);
    let recovered = receipt["recovered"].as_array().unwrap();
    let actions: Vec<String> = recovered.iter().map(|one| text(one, "action")).collect();
    assert_eq!(actions, Vec::from_iter(left.action()), "{receipt:#}");
    assert!(recovered.iter().all(|one| one["operation_id"] == OPERATION), "{receipt:#}");
}

macro_rules! deaths {
    ($($name:ident: $fault:literal => $left:expr,)*) => {
        /// Where these tests kill a load: a failpoint, and which time it is met.
        pub(super) const FAULTS: &[&str] = &[$($fault),*];

        $(mod $name {
            use crate::process::death::{Left, abort, heals, sigkill};

            #[test]
            fn a_load_that_aborts_there_is_healed_by_the_next() {
                heals($fault, abort, $left);
            }

            #[test]
            fn a_load_that_is_killed_there_is_healed_by_the_next() {
                heals($fault, sigkill, $left);
            }
        })*
    };
}

deaths! {
    post_prepare: "post_prepare" => Left::Nothing,
    pre_arm: "pre_arm" => Left::Nothing,
    post_arm: "post_arm" => Left::TakenBack,
    post_first_effect: "post_effect" => Left::TakenBack,
    post_second_effect: "post_effect@2" => Left::TakenBack,
    post_last_effect: "post_effect@3" => Left::Finished,
    pre_publish: "pre_publish" => Left::Finished,
    post_publish: "post_publish" => Left::Visible,
    pre_intent_delete: "pre_intent_delete" => Left::Visible,
}

#[test]
fn a_dead_process_whose_pid_is_still_taken_is_known_to_be_dead() {
    let site = Site::with_base();
    let mut dead = site.paused_load(&addition(), "post_effect", &["--operation-id", OPERATION]);
    dead.kill_and_leave();
    is_left(&site, Left::TakenBack);
    next_load_heals(&site, Left::TakenBack);
    dead.end().dies_by(9);
}

#[test]
fn an_interrupted_load_is_in_nobodys_way_who_needs_other_tables() {
    let site = Site::with_base();
    abort(&site, "post_effect");
    let companies = vec![super::site::company("c2")];
    site.load(&companies).exits(0);
    // A company is an end of the dead load's edges, but it did not write companies.
    assert_eq!(site.operations().len(), 2);
    next_load_heals_beside(&site, &companies);
}

fn next_load_heals_beside(site: &Site, companies: &[String]) {
    site.load(&other_addition()).exits(0);
    site.settled_with(&rows_with(false, &[companies.to_vec(), other_addition()]));
}

#[test]
fn many_dead_loads_are_healed_by_one() {
    let site = Site::with_base();
    let tables = |n: u32| vec![super::site::person(&format!("n{n}"), n)];
    // Each of them resolves the one before it, and dies itself.
    for (n, fault) in (0..).zip(["post_arm", "post_effect", "pre_publish", "post_publish"]) {
        let fault = format!("{fault}:abort");
        site.load_with(&tables(n), &["--fault", &fault]).dies_by(6);
    }
    let healed = site.load(&other_addition()).exits(0);
    assert!(healed.took < AT_ONCE, "{healed:#?}");
    // One effect is all that a load of one table has: from there on it is finished.
    site.settled_with(&all(&[base(), tables(1), tables(2), tables(3), other_addition()]));
}

#[test]
fn a_load_whose_outcome_is_unknown_is_settled_when_it_is_sent_again() {
    for (point, left) in [
        ("post_arm", Left::TakenBack),
        ("post_effect", Left::TakenBack),
        ("pre_publish", Left::Finished),
    ] {
        let site = Site::with_base();
        let fault = format!("{point}:error");
        let send = |more: &[&str]| {
            site.load_with(&addition(), &[&["--operation-id", OPERATION], more].concat())
        };
        let unknown = send(&["--fault", &fault]).exits(6);
        let error = unknown.error();
        assert_eq!(
            (&error["code"], &error["effect"]),
            (&"outcome_unknown".into(), &"unknown".into())
        );
        assert_eq!(error["operation_id"], OPERATION);
        is_left(&site, left);
        let settled = send(&[]).exits(0);
        assert!(settled.took < AT_ONCE, "{settled:#?}");
        assert_eq!(settled.json()["outcome"], "committed", "{settled:#?}");
        site.at_rest_with(&rows_with(true, &[]));
        assert_eq!(site.operations().len(), 2, "base and this one, once");
    }
}

#[test]
fn a_load_that_fails_before_its_intent_has_no_effect() {
    for point in ["post_prepare", "pre_arm"] {
        let site = Site::with_base();
        let failed = site.load_with(&addition(), &["--fault", &format!("{point}:error")]);
        assert_ne!(failed.code(), Some(0));
        assert_eq!(failed.error()["effect"], "none", "{failed:#?}");
        site.at_rest_with(&base());
    }
}
