//! Places that hold no graph, or more than one, and a table whose files are gone.

use std::path::Path;

use super::program::Run;
use super::site::{Site, addition, base};

#[track_caller]
fn refused(end: Run, code: &str) {
    let end = end.exits(5);
    assert_eq!(end.error_code(), code, "{end:#?}");
    assert_eq!(end.error()["effect"], "none");
}

#[test]
fn a_file_is_no_graph() {
    let site = Site::empty();
    std::fs::write(site.graph(), "text").unwrap();
    refused(site.load(&base()), "not_a_directory");
    refused(site.ask(&["status"], &["--json"]), "not_a_directory");
    refused(site.init(), "not_a_directory");
    assert_eq!(std::fs::read_to_string(site.graph()).unwrap(), "text");
}

#[test]
fn a_missing_path_is_no_graph_and_stays_missing() {
    let site = Site::empty();
    refused(site.load(&base()), "graph_not_found");
    refused(site.ask(&["verify"], &["--json"]), "graph_not_found");
    assert!(!Path::new(site.graph()).exists());
}

#[test]
fn a_directory_of_something_else_is_no_graph_and_is_not_touched() {
    let site = Site::empty();
    std::fs::create_dir_all(site.path("graph/photos")).unwrap();
    std::fs::write(site.path("graph/photos/1.jpg"), "x").unwrap();
    let before = site.files();
    refused(site.load(&base()), "not_a_graph");
    refused(site.ask(&["intent", "resolve"], &["--full", "--json"]), "not_a_graph");
    assert_eq!(site.files(), before);
}

#[test]
fn the_remains_of_another_graph_are_not_taken_over() {
    let site = Site::with_base();
    std::fs::remove_dir_all(site.path("graph/__manifest")).unwrap();
    let before = site.files();
    refused(site.load(&addition()), "not_a_graph");
    refused(site.init(), "root_not_empty");
    assert_eq!(site.files(), before);
}

#[test]
fn files_beside_a_graph_are_noticed_and_are_no_fault() {
    let site = Site::empty();
    std::fs::create_dir_all(site.path("graph")).unwrap();
    std::fs::write(site.path("graph/README"), "mine").unwrap();
    site.init().exits(0);
    site.load(&base()).exits(0);
    site.settled_with(&base());
    let findings = site.verified()["findings"].clone();
    assert!(findings.to_string().contains("README"), "{findings:#}");
}

#[test]
fn a_lost_table_version_is_named_and_the_other_tables_can_be_read() {
    let site = Site::with_base();
    let versions = site.files().into_iter().find(|path| {
        let path = path.to_str().unwrap();
        path.starts_with("tables/") && path.ends_with(".manifest")
    });
    std::fs::remove_file(Path::new(site.graph()).join(versions.unwrap())).unwrap();
    let verified = site.ask(&["verify"], &["--json"]).exits(1).json();
    assert_eq!(verified["clean"], false);
    let lost = |table: &&str| site.ask(&["export"], &["--table", table]).code() != Some(0);
    let lost: Vec<&str> = ["Person", "Company", "Knows"].into_iter().filter(lost).collect();
    assert_eq!(lost.len(), 1, "{lost:?}");
    assert!(verified["findings"].to_string().contains(lost[0]), "{verified:#}");
}
