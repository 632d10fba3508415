//! A graph is a directory: it can be moved, copied, and named in several ways.

use std::path::{Path, PathBuf};

use super::program::{command, run};
use super::site::{Site, addition, all, base, copy, other_addition};

fn move_away(site: &mut Site) -> PathBuf {
    let there = site.path("elsewhere/deep down");
    std::fs::create_dir_all(there.parent().unwrap()).unwrap();
    std::fs::rename(site.graph(), &there).unwrap();
    let before = PathBuf::from(site.graph());
    site.moved_to(there);
    before
}

#[test]
fn a_graph_that_was_moved_reads_writes_and_verifies() {
    let mut site = Site::new();
    site.load(&base()).exits(0);
    let before = move_away(&mut site);
    site.settled_with(&base());
    site.load(&addition()).exits(0);
    site.load_with(&addition(), &["--mode", "upsert"]).exits(0);
    site.settled_with(&all(&[base(), addition()]));
    assert!(!before.exists());
}

#[test]
fn an_interrupted_load_is_healed_where_the_graph_has_been_moved_to() {
    for (point, finished) in [("post_effect", false), ("pre_publish", true)] {
        let mut site = Site::with_base();
        site.load_with(&addition(), &["--fault", &format!("{point}:abort")]).dies_by(6);
        let before = move_away(&mut site);
        site.shows(&base());
        site.load(&other_addition()).exits(0);
        let added = if finished { addition() } else { Vec::new() };
        site.at_rest_with(&all(&[base(), added, other_addition()]));
        assert!(!before.exists());
    }
}

#[test]
fn a_copy_is_a_graph_of_its_own() {
    let mut site = Site::with_base();
    let original = PathBuf::from(site.graph());
    let twin = site.path("twin");
    copy(&original, &twin);
    site.load(&addition()).exits(0);
    site.moved_to(twin);
    site.settled_with(&base());
    site.load(&other_addition()).exits(0);
    site.settled_with(&all(&[base(), other_addition()]));
    site.moved_to(original);
    site.settled_with(&all(&[base(), addition()]));
}

#[test]
fn a_graph_has_the_same_rows_under_every_name_of_its_directory() {
    let site = Site::with_base();
    let parent = Path::new(site.graph()).parent().unwrap();
    let link = site.path("link");
    std::os::unix::fs::symlink(site.graph(), &link).unwrap();
    let url = format!("file://{}", site.graph());
    let names = ["graph", "./graph/", link.to_str().unwrap(), &url];
    for name in names {
        let export = run(command(&["export", name]).current_dir(parent)).exits(0);
        assert_eq!(export.stdout.lines().count(), base().len(), "{name}");
    }
    for (n, name) in (0..).zip(names) {
        let rows = site.file(&[super::site::person(&format!("n{n}"), n)]);
        run(command(&["load", name, "--data", &rows]).current_dir(parent)).exits(0);
    }
    assert_eq!(site.rows().len(), base().len() + names.len());
    site.verified();
}

#[test]
fn an_export_can_be_loaded_into_a_new_graph() {
    let site = Site::with_base();
    site.load(&addition()).exits(0);
    let export = site.ask(&["export"], &[]).exits(0).stdout;
    let copy = Site::new();
    copy.load(&export.lines().map(str::to_owned).collect::<Vec<_>>()).exits(0);
    copy.settled_with(&all(&[base(), addition()]));
    assert_eq!(copy.ask(&["export"], &[]).exits(0).stdout, export);
}
