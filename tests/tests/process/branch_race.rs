//! Two processes and one name: creations, deletions and writes that meet, in both orders, and creators
//! that are killed. Whatever happens, a branch is all of one source, and a writer is never told that it
//! has committed to a branch that is gone.

use serde_json::Value;

use super::death::AT_ONCE;
use super::program::{Paused, Run, command, run};
use super::site::{Site, addition, all, base, other_addition, person, sorted, text};

/// The failpoints of a creation, in order.
pub(super) const POINTS: [&str; 4] =
    ["branch_post_begin", "branch_post_clone", "branch_post_contents", "branch_post_decide"];

/// Those at which another may only wait, or give the creation up.
const EARLY: [&str; 2] = ["branch_post_begin", "branch_post_clone"];

/// Those at which nothing is missing, but perhaps the decision.
const LATE: [&str; 2] = ["branch_post_contents", "branch_post_decide"];

/// Waits for nobody, and takes nobody for dead.
const IMPATIENT: [&str; 2] = ["--contention-wait", "0s"];

/// Takes everybody for dead at once.
const NO_MERCY: [&str; 4] = ["--contention-wait", "0s", "--fence-after", "0s"];

impl Site {
    pub(super) fn branch(&self, verb: &str, name: &str, more: &[&str]) -> Run {
        run(&mut command(&self.branch_args(verb, name, more)))
    }

    fn branch_args<'a>(&'a self, verb: &'a str, name: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        [&["branch", verb, self.graph(), name, "--json"], more].concat()
    }

    /// A creation that waits at `point`.
    pub(super) fn paused_creation(&self, name: &str, from: &str, point: &str) -> Paused {
        let args = self.branch_args("create", name, &["--from", from]);
        Paused::start(&args, point, self.fresh("release"))
    }

    /// The rows of a branch, sorted.
    pub(super) fn rows_on(&self, branch: &str) -> Vec<String> {
        let export = self.ask(&["export"], &["--branch", branch]).exits(0);
        sorted(&export.stdout.lines().map(str::to_owned).collect::<Vec<_>>())
    }

    /// How a name stands in the list: its state and incarnation.
    pub(super) fn standing(&self, name: &str) -> Option<(String, u64)> {
        let list = self.ask(&["branch", "list"], &["--all", "--json"]).exits(0).json();
        let entries = list["branches"].as_array().unwrap();
        let entry = entries.iter().find(|entry| entry["branch"] == name)?;
        Some((text(entry, "state"), entry["incarnation"].as_u64().unwrap()))
    }

    /// The branch is a whole one, has these rows and takes a write; main has its own.
    #[track_caller]
    fn has_branch(&self, name: &str, incarnation: u64, rows: &[String]) {
        assert_eq!(self.standing(name), Some(("live".to_owned(), incarnation)));
        assert_eq!(self.rows_on(name), sorted(rows));
        let status = self.branch("status", name, &[]).exits(0).json();
        assert_eq!(status["state"], "whole", "{status:#}");
        let next = vec![person("next", 9)];
        self.load_with(&next, &["--branch", name]).exits(0);
        assert_eq!(self.rows_on(name), sorted(&all(&[rows.to_vec(), next])));
        assert_eq!(self.rows(), sorted(&base()));
    }
}

/// A graph whose branch `source` has more rows than main.
fn site() -> Site {
    let site = Site::with_base();
    site.branch("create", "source", &[]).exits(0);
    site.load_with(&addition(), &["--branch", "source"]).exits(0);
    site
}

/// The two sources of a race and their rows.
fn sources() -> [(&'static str, Vec<String>); 2] {
    [("main", base()), ("source", all(&[base(), addition()]))]
}

#[track_caller]
fn refused(end: &Run, exit: i32, code: &str) -> Value {
    assert_eq!((end.code(), &*end.error_code()), (Some(exit), code), "{end:#?}");
    let error = end.error();
    assert!(!text(&error, "help").is_empty(), "{error:#}");
    error
}

#[test]
fn of_two_creations_of_one_name_the_first_to_be_complete_wins_with_all_of_its_source() {
    for first in [0, 1] {
        let [(from, rows), (other, _)] =
            [&sources()[first], &sources()[1 - first]].map(Clone::clone);
        for point in POINTS {
            let site = site();
            let stalled = site.paused_creation("x", from, point);
            let more = [&["--from", other][..], &IMPATIENT].concat();
            let second = site.branch("create", "x", &more);
            let error = if EARLY.contains(&point) {
                refused(&second, 3, "contended")
            } else {
                refused(&second, 5, "branch_exists")
            };
            assert!(text(&error, "message").contains("`x`"), "{error:#}");
            assert_eq!(error["effect"], "none", "{error:#}");
            stalled.release().exits(0);
            site.has_branch("x", 1, &rows);
        }
    }
}

#[test]
fn of_two_creations_of_one_name_the_one_that_was_given_up_is_told_and_leaves_the_other_whole() {
    for first in [0, 1] {
        let [(from, _), (other, rows)] =
            [&sources()[first], &sources()[1 - first]].map(Clone::clone);
        for point in EARLY {
            let site = site();
            let stalled = site.paused_creation("x", from, point);
            let second =
                site.branch("create", "x", &[&["--from", other][..], &NO_MERCY].concat()).exits(0);
            assert!(second.took < AT_ONCE, "{second:#?}");
            let error = refused(&stalled.release(), 4, "given_up");
            assert_eq!((&error["effect"], &error["may_retry"]), (&"none".into(), &true.into()));
            site.has_branch("x", 2, &rows);
        }
    }
}

#[test]
fn a_creation_waits_for_one_of_the_same_name_and_is_told_that_it_is_there() {
    let site = site();
    let mut stalled = site.paused_creation("x", "source", "branch_post_clone");
    let (first, second) = std::thread::scope(|scope| {
        let waits = scope.spawn(|| site.branch("create", "x", &[]));
        stalled.let_go();
        (stalled.end(), waits.join().unwrap())
    });
    first.exits(0);
    refused(&second, 5, "branch_exists");
    site.has_branch("x", 1, &sources()[1].1);
}

#[test]
fn a_deletion_of_a_name_that_is_being_created_decides_it_first() {
    for point in POINTS {
        let site = site();
        let stalled = site.paused_creation("x", "source", point);
        if EARLY.contains(&point) {
            refused(&site.branch("delete", "x", &IMPATIENT), 3, "contended");
            refused(&site.branch("delete", "x", &NO_MERCY), 5, "no_such_branch");
            refused(&stalled.release(), 4, "given_up");
        } else {
            site.branch("delete", "x", &IMPATIENT).exits(0);
            let error = refused(&stalled.release(), 4, "branch_deleted");
            assert!(text(&error, "message").contains("`x`"), "{error:#}");
        }
        assert_eq!(site.standing("x"), Some(("gone".to_owned(), 1)));
        refused(&site.branch("delete", "x", &[]), 5, "no_such_branch");
        site.branch("create", "x", &[]).exits(0);
        site.has_branch("x", 2, &base());
    }
}

#[test]
fn a_creation_whose_source_was_deleted_before_it_looked_again_has_no_branch() {
    let site = site();
    let stalled = site.paused_creation("x", "source", "branch_post_begin");
    site.branch("delete", "source", &[]).exits(0);
    refused(&stalled.release(), 5, "no_such_branch");
    assert_eq!(site.standing("x"), Some(("gone".to_owned(), 1)));
    site.branch("create", "x", &[]).exits(0);
    site.has_branch("x", 2, &base());
}

#[test]
fn a_creation_goes_on_whose_source_was_deleted_or_written_to_after_it_looked_again() {
    for point in POINTS {
        let site = site();
        let stalled = site.paused_creation("x", "source", point);
        site.load_with(&other_addition(), &["--branch", "source"]).exits(0);
        if point != POINTS[0] {
            site.branch("delete", "source", &[]).exits(0);
        }
        stalled.release().exits(0);
        site.has_branch("x", 1, &all(&[base(), addition()]));
    }
}

/// A write to a branch is paused, the branch is deleted, and perhaps another one of its name is made.
fn deleted_under_a_write(point: &str, is_made_again: bool) {
    let site = site();
    let more = ["--branch", "source"];
    let stalled = site.paused_load(&other_addition(), point, &more);
    let deleted = site.branch("delete", "source", &[]).exits(0);
    assert!(deleted.took < AT_ONCE, "{deleted:#?}");
    if is_made_again {
        site.branch("create", "source", &[]).exits(0);
    }
    let error = refused(&stalled.release(), 4, "branch_deleted");
    // It has landed on what was the branch, where a child of it may have it.
    assert_eq!(error["effect"], "unknown", "{point}: {error:#}");
    assert!(text(&error, "message").contains("`source`"), "{error:#}");
    if is_made_again {
        site.has_branch("source", 2, &base());
    } else {
        assert_eq!(site.standing("source"), Some(("gone".to_owned(), 1)));
        assert_eq!(
            site.load_with(&other_addition(), &more).exits(5).error_code(),
            "no_such_branch"
        );
        assert_eq!(site.rows(), sorted(&base()));
    }
}

macro_rules! deletes {
    ($($name:ident: $point:literal,)*) => {$(mod $name {
        #[test]
        fn a_write_that_is_paused_there_is_told_that_its_branch_is_deleted() {
            super::deleted_under_a_write($point, false);
        }

        #[test]
        fn a_write_that_is_paused_there_leaves_the_next_branch_of_the_name_alone() {
            super::deleted_under_a_write($point, true);
        }
    })*};
}

deletes! {
    after_preparation: "post_prepare",
    before_its_intent: "pre_arm",
    after_its_intent: "post_arm",
    between_its_effects: "post_effect",
    before_its_publication: "pre_publish",
    before_its_acknowledgement: "post_publish",
}

/// Files of the graph, to see that nothing was written.
fn looks_without_deciding(site: &Site, name: &str) -> Value {
    let before = site.files();
    assert_eq!(site.standing(name), Some(("creating".to_owned(), 1)));
    // There is no such branch yet.
    let status = site.branch("status", name, &[]).exits(1).json();
    assert_eq!(site.load_with(&[], &["--branch", name]).error_code(), "no_such_branch");
    assert_eq!(site.files(), before);
    status
}

#[test]
fn a_creator_that_was_killed_early_is_replaced_at_once() {
    for point in EARLY {
        let site = site();
        site.paused_creation("x", "source", point).kill().dies_by(9);
        let status = looks_without_deciding(&site, "x");
        assert_eq!(status["state"], "creating", "{status:#}");
        let next = site.branch("create", "x", &[]).exits(0);
        assert!(next.took < AT_ONCE, "{next:#?}");
        site.has_branch("x", 2, &base());
    }
}

#[test]
fn a_creation_that_was_killed_complete_is_decided_by_the_next_who_needs_the_name() {
    for verb in ["create", "delete"] {
        let site = site();
        site.paused_creation("x", "source", LATE[0]).kill().dies_by(9);
        assert_eq!(looks_without_deciding(&site, "x")["state"], "creating");
        let next = site.branch(verb, "x", &[]);
        assert!(next.took < AT_ONCE, "{next:#?}");
        if verb == "create" {
            refused(&next, 5, "branch_exists");
            site.has_branch("x", 1, &sources()[1].1);
        } else {
            next.exits(0);
            assert_eq!(site.standing("x"), Some(("gone".to_owned(), 1)));
        }
    }
}

#[test]
fn a_creation_that_was_killed_after_its_decision_is_a_branch() {
    let site = site();
    site.paused_creation("x", "source", LATE[1]).kill().dies_by(9);
    site.has_branch("x", 1, &sources()[1].1);
    refused(&site.branch("create", "x", &[]), 5, "branch_exists");
}

#[test]
fn a_deletion_of_a_name_whose_creator_was_killed_waits_for_nobody() {
    for point in EARLY {
        let site = site();
        site.paused_creation("x", "source", point).kill().dies_by(9);
        let deleted = site.branch("delete", "x", &[]);
        refused(&deleted, 5, "no_such_branch");
        assert!(deleted.took < AT_ONCE, "{deleted:#?}");
        assert_eq!(site.standing("x"), Some(("gone".to_owned(), 1)));
    }
}

#[test]
fn an_interrupt_of_a_creation_leaves_a_name_that_the_next_one_decides() {
    for (signal, number) in [("INT", 2), ("TERM", 15)] {
        for point in POINTS {
            let site = site();
            let mut creation = site.paused_creation("x", "source", point);
            creation.signal(signal);
            let end = creation.end().dies_by(number);
            assert!(end.stdout.is_empty(), "{end:#?}");
            let next = site.branch("create", "x", &[]);
            assert!(next.took < AT_ONCE, "{next:#?}");
            if EARLY.contains(&point) {
                next.exits(0);
                site.has_branch("x", 2, &base());
            } else {
                refused(&next, 5, "branch_exists");
                site.has_branch("x", 1, &sources()[1].1);
            }
        }
    }
}
