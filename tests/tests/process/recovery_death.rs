//! A recoverer that dies in the middle of a recovery, at each failpoint of recovery: as a load that
//! meets a dead load, and as `intent resolve`. The next process goes on where it stopped.

use super::death::{AT_ONCE, Left, abort, next_load_heals, rows_with};
use super::program::{Paused, Run};
use super::site::{Site, person};

/// Ends a recovery of the dead load at `fault`.
type RecovererDeath = fn(&Site, &str) -> Run;

fn later_rows() -> Vec<String> {
    // A table that the dead load wrote, so that the barrier has to resolve it.
    vec![person("later", 9)]
}

fn load_aborts(site: &Site, fault: &str) -> Run {
    site.load_with(&later_rows(), &["--fault", &format!("{fault}:abort")]).dies_by(6)
}

fn load_is_killed(site: &Site, fault: &str) -> Run {
    site.paused_load(&later_rows(), fault, &[]).kill().dies_by(9)
}

fn resolve_aborts(site: &Site, fault: &str) -> Run {
    let fault = format!("{fault}:abort");
    site.ask(&["intent", "resolve"], &["--full", "--fault", &fault]).dies_by(6)
}

fn resolve_is_killed(site: &Site, fault: &str) -> Run {
    let args = ["intent", "resolve", site.graph(), "--full"];
    Paused::start(&args, fault, site.fresh("release")).kill().dies_by(9)
}

/// A load dies at `first`, its recoverer at `second`; `left` is what the first one left.
fn heals(first: &str, second: &str, recoverer: RecovererDeath, left: Left) {
    let site = dead_twice(first, second, recoverer, left);
    next_load_heals(&site, left);
}

fn dead_twice(first: &str, second: &str, recoverer: RecovererDeath, left: Left) -> Site {
    let site = Site::with_base();
    abort(&site, first);
    let attempt = site.pending_attempt();
    recoverer(&site, second);
    site.shows(&rows_with(left.becomes_visible(), &[]));
    assert_eq!(site.pending_attempt(), attempt, "the recoverer was not done");
    site
}

fn is_resolved_by_the_operator(first: &str, second: &str, left: Left) {
    let site = dead_twice(first, second, resolve_aborts, left);
    let resolved = site.ask(&["intent", "resolve"], &["--full", "--json"]).exits(0);
    assert!(resolved.took < AT_ONCE, "{resolved:#?}");
    let report = resolved.json();
    assert_eq!((&report["resolved"], &report["pending"]), (&1.into(), &0.into()), "{report:#}");
    site.settled_with(&rows_with(left.becomes_visible(), &[]));
    let again = site.ask(&["intent", "resolve"], &["--full", "--json"]).exits(0).json();
    assert_eq!(again["resolved"], 0, "{again:#}");
}

macro_rules! deaths {
    ($($name:ident: $first:literal then $second:literal => $left:expr,)*) => {
        /// Where these tests kill a recoverer: a failpoint, and which time it is met.
        pub(super) const FAULTS: &[&str] = &[$($second),*];

        $(mod $name {
            use crate::process::death::Left;
            use crate::process::recovery_death as deaths;

            #[test]
            fn the_recovery_of_a_load_goes_on_after_an_abort_there() {
                deaths::heals($first, $second, deaths::load_aborts, $left);
            }

            #[test]
            fn the_recovery_of_a_load_goes_on_after_a_kill_there() {
                deaths::heals($first, $second, deaths::load_is_killed, $left);
            }

            #[test]
            fn an_operator_can_resolve_after_an_abort_there() {
                deaths::is_resolved_by_the_operator($first, $second, $left);
            }

            #[test]
            fn a_load_heals_after_a_killed_resolve() {
                deaths::heals($first, $second, deaths::resolve_is_killed, $left);
            }
        })*
    };
}

deaths! {
    no_effect_then_abort: "post_arm" then "recovery_post_abort" => Left::TakenBack,
    abort: "post_effect" then "recovery_post_abort" => Left::TakenBack,
    first_compensation: "post_effect" then "recovery_post_compensation" => Left::TakenBack,
    second_compensation: "post_effect@2" then "recovery_post_compensation@2" => Left::TakenBack,
    rolled_back: "post_effect" then "recovery_pre_retire" => Left::TakenBack,
    rolled_forward: "pre_publish" then "recovery_pre_retire" => Left::Finished,
    finalized: "post_publish" then "recovery_pre_retire" => Left::Visible,
}

#[test]
fn a_recovery_goes_on_however_many_recoverers_die() {
    let site = Site::with_base();
    abort(&site, "post_effect");
    let attempt = site.pending_attempt();
    // Tables are compensated side by side: when the first is done, all may be.
    let faults = ["recovery_post_abort", "recovery_post_compensation"];
    for fault in faults.iter().chain(&["recovery_pre_retire", "recovery_pre_retire"]) {
        load_aborts(&site, fault);
        site.shows(&rows_with(false, &[]));
        assert_eq!(site.pending_attempt(), attempt);
    }
    next_load_heals(&site, Left::TakenBack);
}

#[test]
fn roll_forward_alone_takes_nothing_back() {
    let site = Site::with_base();
    abort(&site, "post_effect");
    let attempt = site.pending_attempt();
    site.ask(&["intent", "resolve"], &["--roll-forward", "--json"]).exits(3);
    assert_eq!(site.pending_attempt(), attempt);
    site.shows(&rows_with(false, &[]));
    next_load_heals(&site, Left::TakenBack);
}

#[test]
fn roll_forward_finishes_what_is_complete() {
    let site = Site::with_base();
    abort(&site, "pre_publish");
    let report = site.ask(&["intent", "resolve"], &["--roll-forward", "--json"]).exits(0).json();
    assert_eq!(report["intents"][0]["action"], "rolled_forward", "{report:#}");
    site.settled_with(&rows_with(true, &[]));
}
