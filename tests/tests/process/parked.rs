//! A process that is parked at a failpoint while others write, closing it as if it were dead, and then
//! goes on: whatever it was about to do, its answer is the truth and no row is there twice. And the
//! promise that this project is about: a writer that was paused and aborted hears a typed conflict, its
//! effects are invisible, and nobody has waited for it.

use std::collections::BTreeSet;

use graphwrite_protocol_types::Failpoint;

use super::branch_race;
use super::death::{self, AT_ONCE, Left, rows_with};
use super::program::{Paused, Run};
use super::site::{Site, addition, all, base, company, knows, other_addition, person, works_at};

const OPERATION: &str = "parked";

/// Takes everybody for dead at once.
const NO_MERCY: [&str; 4] = ["--contention-wait", "0s", "--fence-after", "0s"];

/// The rows of the parked load count if and only if it says so.
#[track_caller]
fn is_truthful(site: &Site, end: &Run, others: &[Vec<String>]) {
    let is_there = site.rows().contains(&addition()[0]);
    let own = if is_there { addition() } else { Vec::new() };
    site.at_rest_with(&all(&[&[own][..], others].concat()));
    assert_eq!(end.code() == Some(0), is_there, "{end:#?}");
    let own = site.operations().iter().filter(|id| *id == OPERATION).count();
    assert_eq!(own, usize::from(is_there));
    if !is_there {
        assert_eq!(end.error()["effect"], "none", "{end:#?}");
    }
}

/// A load is parked at `fault`, two others write the same tables meanwhile, the first goes on.
fn goes_on_behind_others(fault: &str, retries: &str) {
    let site = Site::with_base();
    let parked =
        site.paused_load(&addition(), fault, &["--operation-id", OPERATION, "--retries", retries]);
    let first = site.load_with(&other_addition(), &NO_MERCY).exits(0);
    assert!(first.took < AT_ONCE, "{first:#?}");
    let more = vec![person("more", 1), company("more")];
    site.load_with(&more, &NO_MERCY).exits(0);
    let end = parked.release();
    is_truthful(&site, &end, &[base(), other_addition(), more]);
    match retries {
        "0" => assert!(matches!(end.code(), Some(0 | 4)), "{end:#?}"),
        _ => assert_eq!(end.code(), Some(0), "{end:#?}"),
    }
}

macro_rules! parks {
    ($($name:ident: $fault:literal,)*) => {
        /// Where these tests park a load.
        const LOADS: &[&str] = &[$($fault),*];

        $(mod $name {
            #[test]
            fn a_load_that_was_parked_there_goes_on_behind_the_others() {
                super::goes_on_behind_others($fault, "32");
            }

            #[test]
            fn a_load_that_may_not_start_again_was_done_or_says_that_it_was_not() {
                super::goes_on_behind_others($fault, "0");
            }
        })*
    };
}

parks! {
    post_prepare: "post_prepare",
    pre_arm: "pre_arm",
    post_arm: "post_arm",
    post_first_effect: "post_effect",
    post_second_effect: "post_effect@2",
    post_last_effect: "post_effect@3",
    pre_publish: "pre_publish",
    post_publish: "post_publish",
    pre_intent_delete: "pre_intent_delete",
}

/// How a recovery begins.
#[derive(Debug, Clone, Copy)]
enum Begun {
    /// As the barrier of a load of an edge.
    ByLoad,
    /// By `intent resolve`.
    ByResolve,
}

impl Begun {
    const BOTH: [Self; 2] = [Self::ByLoad, Self::ByResolve];

    /// What becomes of the graph beside the recovery.
    fn rows(self) -> Vec<String> {
        match self {
            Self::ByLoad => vec![knows("p2", "p1")],
            Self::ByResolve => Vec::new(),
        }
    }

    /// A recovery that is parked at `fault`.
    fn parked(self, site: &Site, fault: &str) -> Paused {
        let data = site.file(&self.rows());
        let args = match self {
            Self::ByLoad => site.load_args(&data, &[]),
            Self::ByResolve => vec!["intent", "resolve", site.graph(), "--full", "--json"],
        };
        Paused::start(&args, fault, site.fresh("release"))
    }
}

/// Where a recovery of each kind of dead load can be parked.
const RECOVERIES: &[(&str, &str, Left)] = &[
    ("post_arm", "recovery_post_abort", Left::TakenBack),
    ("post_effect", "recovery_post_abort", Left::TakenBack),
    ("post_effect", "recovery_post_compensation", Left::TakenBack),
    ("post_effect@2", "recovery_post_compensation@2", Left::TakenBack),
    ("post_effect", "recovery_pre_retire", Left::TakenBack),
    ("pre_publish", "recovery_pre_retire", Left::Finished),
    ("post_publish", "recovery_pre_retire", Left::Visible),
];

#[test]
fn a_recoverer_that_was_parked_goes_on_where_others_have_finished_and_written() {
    for (first, second, left) in RECOVERIES {
        for begun in Begun::BOTH {
            let site = Site::with_base();
            death::abort(&site, first);
            let parked = begun.parked(&site, second);
            let healed = site.load(&other_addition()).exits(0);
            assert!(healed.took < AT_ONCE, "{healed:#?}");
            let more = vec![person("more", 1), company("more")];
            site.load(&more).exits(0);
            parked.release().exits(0);
            let more = [other_addition(), more, begun.rows()];
            site.at_rest_with(&rows_with(left.becomes_visible(), &more));
        }
    }
}

#[test]
fn two_recoverers_of_one_write_that_are_parked_and_go_on_in_both_orders_both_end() {
    for [one, other] in [[0, 1], [1, 0]] {
        let site = Site::with_base();
        death::abort(&site, "post_effect@2");
        let first = Begun::ByResolve.parked(&site, "recovery_post_abort");
        let second = Begun::ByLoad.parked(&site, "recovery_post_compensation");
        let mut parked = [Some(first), Some(second)];
        for at in [one, other] {
            parked[at].take().unwrap().release().exits(0);
        }
        site.at_rest_with(&rows_with(false, &[Begun::ByLoad.rows()]));
    }
}

#[test]
fn two_recoverers_of_one_write_that_are_killed_in_turn_leave_it_to_the_third() {
    let steps = ["recovery_post_abort", "recovery_post_compensation", "recovery_pre_retire"];
    for survivor in 0..=steps.len() {
        let site = Site::with_base();
        death::abort(&site, "post_effect@2");
        let attempt = site.pending_attempt();
        // Each is parked while the one before it still is, and then that one dies.
        let mut before: Option<Paused> = None;
        for (at, step) in steps.iter().enumerate().take(survivor) {
            let next = Begun::BOTH[at % 2].parked(&site, step);
            if let Some(before) = before.replace(next) {
                before.kill().dies_by(9);
            }
            site.shows(&rows_with(false, &[]));
            assert_eq!(site.pending_attempt(), attempt);
        }
        if let Some(last) = before {
            last.kill().dies_by(9);
        }
        death::next_load_heals(&site, Left::TakenBack);
    }
}

/// Where these tests park an `init`.
const INITS: &[&str] = &["pre_genesis", "post_genesis"];

#[test]
fn an_init_that_was_parked_finds_what_others_have_made_or_has_made_what_they_use() {
    for (point, code) in INITS.iter().zip([5, 0]) {
        let site = Site::empty();
        let parked = site.paused_init(point);
        let other = site.init();
        assert_eq!(other.code() == Some(0), code != 0, "{other:#?}");
        site.load(&base()).exits(0);
        parked.release().exits(code);
        site.settled_with(&base());
    }
}

#[test]
fn a_process_is_parked_at_every_failpoint_of_the_catalogue() {
    let recoveries = RECOVERIES.iter().map(|(_, second, _)| *second);
    let creations = branch_race::POINTS;
    let faults = LOADS.iter().chain(INITS).chain(&creations).copied().chain(recoveries);
    let parked_at: BTreeSet<&str> =
        faults.map(|fault| fault.split_once('@').map_or(fault, |(name, _)| name)).collect();
    let catalogue: BTreeSet<&str> = Failpoint::ALL.iter().map(|point| point.name()).collect();
    assert_eq!(parked_at, catalogue);
}

/// A writer is paused at `point`, aborted by a second process, and resumed.
fn is_aborted_and_hears_it(point: &str) {
    let site = Site::with_base();
    let terms = ["--operation-id", OPERATION, "--retries", "0"];
    let paused = site.paused_load(&addition(), point, &terms);
    let attempt = site.pending_attempt();
    let words = [&*attempt, "--full", "--owner-is-dead", "--json"];
    let closed = site.ask(&["intent", "resolve"], &words).exits(0).json();
    assert_eq!(closed["intents"][0]["action"], "rolled_back", "{closed:#}");
    site.settled_with(&base());
    // Both tables that it had begun to write, and the one that it had not made yet, while it is paused.
    let later = [vec![person("p4", 4)], vec![knows("p1", "p4")], vec![works_at("p2", "c1")]];
    for rows in &later {
        let written = site.load(rows).exits(0);
        assert!(written.took < AT_ONCE, "{written:#?}");
        assert_eq!(written.json()["restarts"], 0, "nobody is in the way: {written:#?}");
    }
    let rows = [&[base()], &later[..]].concat();
    site.at_rest_with(&all(&rows));

    let end = paused.release().exits(4);
    let error = end.error();
    assert_eq!((&error["code"], &error["kind"]), (&"retries_exhausted".into(), &"conflict".into()));
    assert_eq!((&error["effect"], &error["may_retry"]), (&"none".into(), &true.into()));
    assert_eq!(error["operation_id"], OPERATION);
    site.at_rest_with(&all(&rows));
    assert!(!site.operations().contains(&OPERATION.to_owned()));
    let audit = site.ask(&["audit"], &["--json"]).exits(0).stdout;
    assert!(audit.contains(&attempt), "{audit}");
    // What it was told to do about it works.
    site.load_with(&addition(), &["--operation-id", OPERATION]).exits(0);
    site.settled_with(&all(&[&rows[..], &[addition()]].concat()));
}

#[test]
fn a_writer_that_was_paused_after_arming_and_aborted_hears_a_conflict_and_holds_up_nobody() {
    for point in ["post_arm", "post_effect", "post_effect@2"] {
        is_aborted_and_hears_it(point);
    }
}
