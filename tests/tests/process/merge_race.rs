//! Merges of one process while another one writes to the same branches, merges, or deletes them. What has
//! become of each merge is judged by the rows of its parents, in the library.

use std::path::Path;
use std::sync::Barrier;
use std::thread;

use graphwrite_coordinator::{Graph, MergeStrategy, Store};
use graphwrite_substrate::Durability;

use super::program::{Paused, Run, command, run};
use super::site::{Site, all, base, company, knows, person, sorted, text};
use crate::branches::scene::open;
use crate::merge::parents::judge_merges;
use crate::world::own_process;

const ROUNDS: u32 = 6;

/// Takes everybody for dead at once.
const NO_MERCY: [&str; 4] = ["--contention-wait", "0s", "--fence-after", "0s"];

fn merge_args<'a>(site: &'a Site, source: &'a str, into: &'a str) -> Vec<&'a str> {
    vec!["merge", site.graph(), source, "--into", into, "--json"]
}

fn merge(site: &Site, source: &str, into: &str, more: &[&str]) -> Run {
    run(&mut command(&[&merge_args(site, source, into)[..], more].concat()))
}

fn paused_merge(site: &Site, source: &str, into: &str, point: &str) -> Paused {
    Paused::start(&merge_args(site, source, into), point, site.fresh("release"))
}

/// Rows of the branch `b`: a row of the base is changed, and two tables get another.
fn of_branch() -> Vec<String> {
    vec![person("p1", 50), person("b1", 1), company("b1")]
}

fn upsert(site: &Site, branch: &str, rows: &[String]) -> Run {
    site.load_with(rows, &["--branch", branch, "--mode", "upsert"])
}

/// A graph whose branch `b` has been written to.
fn site() -> Site {
    let site = Site::with_base();
    site.branch("create", "b", &[]).exits(0);
    upsert(&site, "b", &of_branch()).exits(0);
    site
}

/// Rows, one over the other of the same key.
fn over(parts: &[Vec<String>]) -> Vec<String> {
    let key = |row: &String| row.split(r#","age""#).next().unwrap_or_default().to_owned();
    let mut rows: std::collections::BTreeMap<String, String> = Default::default();
    all(parts).into_iter().for_each(|row| {
        rows.insert(key(&row), row);
    });
    sorted(&rows.into_values().collect::<Vec<_>>())
}

/// Every merge is what its parents come to; says how many there are.
fn judged(site: &Site, branches: &[&str], strategy: MergeStrategy) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::local(Path::new(site.graph()), Durability::Fsync).unwrap();
        let main = Graph::open_read_only(store, own_process()).await.unwrap();
        let mut graphs = vec![main.clone()];
        for name in branches {
            graphs.push(open(&main, name).await);
        }
        judge_merges(&graphs.iter().collect::<Vec<_>>(), strategy).await
    })
}

/// Two processes start together.
fn race<T: Send>(one: impl FnOnce() -> T + Send, other: impl FnOnce() -> T + Send) -> [T; 2] {
    let start = &Barrier::new(2);
    thread::scope(|scope| {
        let one = scope.spawn(move || {
            start.wait();
            one()
        });
        start.wait();
        let other = other();
        [one.join().unwrap(), other]
    })
}

/// Sends a command until it gets through. Whatever it is told in between is a code for "again".
fn persevere(send: impl Fn() -> Run) -> Run {
    for _ in 0..50 {
        let end = send();
        if end.code() == Some(0) {
            return end;
        }
        assert_eq!(end.error()["may_retry"], true, "{end:#?}");
    }
    panic!("it never gets through");
}

#[test]
fn merges_and_loads_that_meet_in_one_row_are_each_made_over_the_other() {
    let site = site();
    for round in 0..ROUNDS {
        let theirs = [person("p1", 100 + round), person(&format!("r{round}"), 1)];
        upsert(&site, "b", &theirs).exits(0);
        // Now the same table, now another one.
        let ours = match round % 3 {
            0 => company(&format!("m{round}")),
            _ => person("p1", 200 + round),
        };
        let theirs = || merge(&site, "b", "main", &["--strategy", "theirs"]);
        race(
            || persevere(theirs),
            || persevere(|| upsert(&site, "main", std::slice::from_ref(&ours))),
        );
    }
    assert_eq!(judged(&site, &["b"], MergeStrategy::Theirs), ROUNDS as usize);
    site.verified();
}

#[test]
fn merges_of_two_branches_into_one_at_once_are_both_there_once() {
    let site = site();
    site.branch("create", "c", &[]).exits(0);
    for round in 0..ROUNDS {
        let (b, c) = (person(&format!("b{round}"), 2), person(&format!("c{round}"), 2));
        upsert(&site, "b", std::slice::from_ref(&b)).exits(0);
        upsert(&site, "c", std::slice::from_ref(&c)).exits(0);
        race(
            || persevere(|| merge(&site, "b", "main", &[])),
            || persevere(|| merge(&site, "c", "main", &[])),
        );
        let rows = site.rows();
        assert!(rows.contains(&b) && rows.contains(&c), "{rows:#?}");
    }
    assert_eq!(judged(&site, &["b", "c"], MergeStrategy::Fail), 2 * ROUNDS as usize);
    site.verified();
}

#[test]
fn of_one_merge_that_two_processes_send_at_once_there_is_one_commit() {
    let site = site();
    for round in 0..ROUNDS {
        upsert(&site, "b", &[person(&format!("r{round}"), 1)]).exits(0);
        let send = || persevere(|| merge(&site, "b", "main", &[])).json();
        let ends = race(send, send);
        assert_eq!(text(&ends[0], "commit_id"), text(&ends[1], "commit_id"), "{ends:#?}");
    }
    assert_eq!(judged(&site, &["b"], MergeStrategy::Fail), ROUNDS as usize);
    site.verified();
}

#[test]
fn a_merge_that_stalls_while_its_target_moves_is_computed_over_the_new_head() {
    let taken = vec![person("p1", 60)];
    for point in ["post_prepare", "pre_arm", "post_arm", "post_effect"] {
        let site = site();
        let stalled = paused_merge(&site, "b", "main", point);
        let more = [&["--mode", "upsert"][..], &NO_MERCY].concat();
        site.load_with(&taken, &more).exits(0);
        let end = stalled.release();
        assert_eq!((end.code(), &*end.error_code()), (Some(4), "merge_conflict"), "{end:#?}");
        site.settled_with(&over(&[base(), taken.clone()]));

        // Other rows do not contradict it, and are not lost either.
        let site = self::site();
        let stalled = paused_merge(&site, "b", "main", point);
        let others = vec![knows("p2", "p1"), person("p2", 61)];
        site.load_with(&others, &more).exits(0);
        stalled.release().exits(0);
        site.settled_with(&over(&[base(), of_branch(), others]));
        assert_eq!(judged(&site, &["b"], MergeStrategy::Fail), 1);
    }
}

#[test]
fn a_merge_that_was_stopped_with_all_of_its_effects_is_completed_by_who_comes_next() {
    let site = site();
    let stalled = paused_merge(&site, "b", "main", "pre_publish");
    let more = [&["--mode", "upsert"][..], &NO_MERCY].concat();
    site.load_with(&[person("p1", 60)], &more).exits(0);
    let end = stalled.release().exits(0).json();
    assert_eq!(end["outcome"], "committed", "{end:#}");
    site.settled_with(&over(&[base(), of_branch(), vec![person("p1", 60)]]));
    assert_eq!(judged(&site, &["b"], MergeStrategy::Fail), 1);
}

#[test]
fn what_is_written_to_the_source_meanwhile_is_merged_the_next_time() {
    for point in ["post_prepare", "pre_arm", "post_arm", "pre_publish"] {
        let site = site();
        let stalled = paused_merge(&site, "b", "main", point);
        upsert(&site, "b", &[person("later", 1)]).exits(0);
        stalled.release().exits(0);
        site.settled_with(&over(&[base(), of_branch()]));
        merge(&site, "b", "main", &[]).exits(0);
        site.settled_with(&over(&[base(), of_branch(), vec![person("later", 1)]]));
        assert_eq!(judged(&site, &["b"], MergeStrategy::Fail), 2);
    }
}

#[test]
fn a_source_that_is_deleted_meanwhile_is_merged_as_it_was_captured() {
    for point in ["post_prepare", "pre_arm", "post_arm", "pre_publish"] {
        let site = site();
        let stalled = paused_merge(&site, "b", "main", point);
        site.branch("delete", "b", &[]).exits(0);
        site.branch("create", "b", &[]).exits(0);
        stalled.release().exits(0);
        site.settled_with(&over(&[base(), of_branch()]));
        // The next branch of the name is another one, and has nothing that is new.
        let end = merge(&site, "b", "main", &[]).exits(0).json();
        assert_eq!(end["merge"]["relation"], "contained", "{end:#}");
    }
}

#[test]
fn a_target_that_is_deleted_meanwhile_is_told_and_the_next_of_its_name_is_left_alone() {
    for point in ["post_prepare", "pre_arm", "post_arm", "pre_publish"] {
        let site = site();
        site.branch("create", "t", &[]).exits(0);
        let stalled = paused_merge(&site, "b", "t", point);
        site.branch("delete", "t", &[]).exits(0);
        site.branch("create", "t", &[]).exits(0);
        let end = stalled.release();
        assert_eq!((end.code(), &*end.error_code()), (Some(4), "branch_deleted"), "{end:#?}");
        assert_eq!(site.rows_on("t"), sorted(&base()));
        merge(&site, "b", "t", &[]).exits(0);
        assert_eq!(site.rows_on("t"), over(&[base(), of_branch()]));
        site.verified();
    }
}
