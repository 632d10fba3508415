//! `init`: killed before and after its one commit, and raced by another.

use std::path::Path;
use std::sync::Barrier;
use std::thread;

use super::program::{command, run};
use super::site::{Site, base, text};

/// Where these tests kill an `init`.
pub(super) const FAULTS: &[&str] = &["pre_genesis", "post_genesis"];

fn abort_at(point: &str) -> Site {
    let site = Site::empty();
    site.init_with(&["--fault", &format!("{point}:abort")]).dies_by(6);
    site
}

/// The graph can be used.
fn works(site: &Site) {
    site.settled_with(&[]);
    site.load(&base()).exits(0);
    site.settled_with(&base());
}

fn exists(site: &Site) {
    assert_eq!(site.init().exits(5).error_code(), "graph_exists");
    works(site);
}

#[test]
fn an_init_that_aborts_before_its_commit_left_nothing_in_the_way_of_the_next() {
    let site = abort_at("pre_genesis");
    assert_eq!(site.ask(&["status"], &["--json"]).exits(5).error_code(), "not_a_graph");
    site.init().exits(0);
    works(&site);
}

#[test]
fn an_init_that_aborts_after_its_commit_left_a_graph() {
    exists(&abort_at("post_genesis"));
}

#[test]
fn an_init_that_is_killed_before_its_commit_can_be_sent_again() {
    let site = Site::empty();
    site.paused_init("pre_genesis").kill().dies_by(9);
    site.init().exits(0);
    works(&site);
}

#[test]
fn an_init_that_is_killed_after_its_commit_left_a_graph() {
    let site = Site::empty();
    site.paused_init("post_genesis").kill().dies_by(9);
    exists(&site);
}

#[test]
fn an_init_that_stalls_finds_the_graph_that_another_made_meanwhile() {
    let site = Site::empty();
    let stalled = site.paused_init("pre_genesis");
    site.init().exits(0);
    site.load(&base()).exits(0);
    assert_eq!(stalled.release().exits(5).error_code(), "graph_exists");
    site.settled_with(&base());
}

#[test]
fn an_init_that_fails_after_its_commit_leaves_the_graph_alone() {
    let site = Site::empty();
    let failed = site.init_with(&["--fault", "post_genesis:error"]);
    assert_ne!(failed.code(), Some(0));
    assert_ne!(failed.error()["effect"], "none", "{failed:#?}");
    exists(&site);
}

#[test]
fn an_init_over_a_file_in_the_place_of_a_directory_is_refused_and_writes_nothing() {
    for name in ["__manifest", "tables", "_recovery", "_control"] {
        let site = Site::empty();
        std::fs::create_dir(site.graph()).unwrap();
        std::fs::write(Path::new(site.graph()).join(name), "mine").unwrap();
        let before = site.files();
        let refused = site.init().exits(5);
        assert_eq!(refused.error_code(), "root_not_empty", "{refused:#?}");
        assert!(text(&refused.error(), "message").contains(&format!("`{name}`")), "{refused:#?}");
        assert_eq!(site.files(), before);
    }
}

#[test]
fn an_init_inside_a_graph_is_refused_and_makes_no_directory() {
    let site = Site::new();
    for below in ["inner", "tables/inner/deeper", "__manifest"] {
        let place = Path::new(site.graph()).join(below);
        let was_there = place.exists();
        for place in [place.display().to_string(), format!("file://{}", place.display())] {
            let refused =
                run(&mut command(&["init", &place, "--schema", &site.schema(), "--json"]));
            assert_eq!(refused.exits(5).error_code(), "graph_nested");
        }
        assert_eq!(place.exists(), was_there, "{below}");
    }
    works(&site);
}

#[test]
fn an_init_around_a_graph_is_refused_and_writes_nothing() {
    let site = Site::new();
    let (around, before) = (site.path(""), site.files());
    let place = around.to_str().unwrap();
    let refused = run(&mut command(&["init", place, "--schema", &site.schema(), "--json"]));
    assert_eq!(refused.exits(5).error_code(), "graph_nested");
    assert!(!around.join("__manifest").exists());
    assert_eq!(site.files(), before);
}

#[test]
fn of_racing_inits_one_makes_the_graph_and_the_others_are_told() {
    for _ in 0..4 {
        let site = Site::empty();
        let start = Barrier::new(3);
        let racer = || {
            start.wait();
            site.init()
        };
        let ends = thread::scope(|scope| {
            let racers: Vec<_> = (0..3).map(|_| scope.spawn(racer)).collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).collect::<Vec<_>>()
        });
        let (made, refused): (Vec<_>, Vec<_>) =
            ends.into_iter().partition(|end| end.code() == Some(0));
        assert_eq!(made.len(), 1, "{made:#?} {refused:#?}");
        for end in refused {
            assert_eq!(end.exits(5).error_code(), "graph_exists");
        }
        let domain = made[0].json()["domain"].clone();
        assert_eq!(site.status()["domain"], domain);
        works(&site);
    }
}
