//! A graph whose files were removed or cut from outside: every command says so, by a code of its own,
//! and nothing else of the graph is lost with it.

use std::path::{Path, PathBuf};

use super::program::Run;
use super::site::{Site, addition, text};

/// The files of one kind in the datasets below `top`. Version names count down: the first of a
/// dataset is its newest.
fn files(site: &Site, top: &str, kind: &str) -> Vec<PathBuf> {
    let all = site.files().into_iter();
    let of_kind = |path: &PathBuf| {
        path.starts_with(top) && path.parent().is_some_and(|parent| parent.ends_with(kind))
    };
    all.filter(of_kind).map(|path| Path::new(site.graph()).join(path)).collect()
}

fn is_storage_failure(run: &Run, code: &str) {
    let error = run.error();
    assert_eq!(run.code(), Some(7), "{run:#?}");
    assert_eq!(text(&error, "code"), code, "{error:#}");
    assert_eq!(text(&error, "effect"), "none", "{error:#}");
}

fn status_tells(site: &Site, unreadable: usize) {
    let status = site.status();
    let tables = status["tables"].as_array().unwrap();
    let told = tables.iter().filter(|table| !table["unreadable"].is_null()).count();
    assert_eq!(told, unreadable, "{status:#}");
}

#[test]
fn a_table_version_that_was_removed_is_named_by_loads_and_hides_no_other_table() {
    let site = Site::with_base();
    for version in files(&site, "tables", "_versions") {
        std::fs::remove_file(version).unwrap();
    }
    is_storage_failure(&site.load(&addition()), "pin_lost");
    status_tells(&site, 3);
}

#[test]
fn a_data_file_that_was_removed_is_damage_and_not_a_storage_that_does_not_answer() {
    let site = Site::with_base();
    for data in files(&site, "tables", "data") {
        std::fs::remove_file(data).unwrap();
    }
    is_storage_failure(&site.load(&addition()), "table_damaged");
    assert_eq!(site.ask(&["verify"], &[]).code(), Some(1));
}

#[test]
fn a_manifest_that_was_cut_off_is_damage_of_the_manifest() {
    for length in [0, 20] {
        let site = Site::with_base();
        let newest = files(&site, "__manifest", "_versions").remove(0);
        let bytes = std::fs::read(&newest).unwrap();
        std::fs::write(&newest, &bytes[..length]).unwrap();
        is_storage_failure(&site.load(&addition()), "manifest_damaged");
    }
}
