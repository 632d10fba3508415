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

/// A copy of the version that is `age` versions old, `ahead` numbers after the newest.
fn misname(site: &Site, top: &str, (age, ahead): (usize, u64)) -> PathBuf {
    let versions = files(site, top, "_versions");
    let newest: u64 = versions[0].file_stem().unwrap().to_str().unwrap().parse().unwrap();
    let stray = versions[0].with_file_name(format!("{:020}.manifest", newest - ahead));
    std::fs::copy(&versions[age], &stray).unwrap();
    stray
}

/// The name is told, as a path below the root of the graph.
fn tells(site: &Site, run: &Run, stray: &Path) {
    let error = run.error();
    let name = stray.strip_prefix(site.graph()).unwrap().to_str().unwrap();
    assert!(text(&error, "message").contains(name), "{error:#}");
    assert!(text(&error, "help").contains("out of the graph"), "{error:#}");
}

#[test]
fn a_version_of_the_manifest_under_a_number_that_is_not_its_own_stops_everybody() {
    // The next number, a later one, and the highest there is.
    for (age, ahead) in [(0, 1), (1, 1), (1, 70), (0, u64::MAX >> 2), (1, (u64::MAX >> 1) + 9)] {
        let site = Site::with_base();
        let (rows, stray) = (site.rows(), misname(&site, "__manifest", (age, ahead)));
        let asked =
            ["verify", "status", "export"].map(|it| site.ask(&[it], &["--format", "jsonl"]));
        for run in asked.iter().chain([&site.load(&addition())]) {
            is_storage_failure(run, "manifest_damaged");
            tells(&site, run, &stray);
        }
        std::fs::remove_file(stray).unwrap();
        site.shows(&rows);
        site.load(&addition()).exits(0);
    }
}

#[test]
fn a_version_of_a_table_under_a_number_that_is_not_its_own_is_damage_and_hides_no_row() {
    for ahead in [1, 70, u64::MAX >> 2, (u64::MAX >> 1) + 9] {
        let site = Site::with_base();
        let (rows, stray) = (site.rows(), misname(&site, "tables", (0, ahead)));
        assert_eq!(site.rows(), rows);
        let verified = site.ask(&["verify"], &["--json"]).exits(1).json();
        let name = stray.file_name().unwrap().to_str().unwrap();
        assert!(verified["findings"].to_string().contains(name), "{verified:#}");
        status_tells(&site, 1);
        let all = [addition(), vec![super::site::company("c9")]].concat();
        let refused = site.load(&all);
        is_storage_failure(&refused, "table_damaged");
        tells(&site, &refused, &stray);
        std::fs::remove_file(stray).unwrap();
        site.load(&all).exits(0);
    }
}

/// Inverts a byte, counted from the end of the file.
fn invert(file: &Path, from_end: usize) {
    let mut bytes = std::fs::read(file).unwrap();
    let at = bytes.len() - from_end;
    bytes[at] ^= 0xff;
    std::fs::write(file, bytes).unwrap();
}

#[test]
fn a_file_that_the_engine_cannot_bear_is_damage_of_a_dataset_that_is_named_and_no_bug() {
    // The ends of files hold the offsets of everything else.
    let places = [("__manifest", "_versions"), ("__manifest", "data"), ("tables", "_versions")];
    let places = places.into_iter().chain([("tables", "data"), ("tables", "_transactions")]);
    for ((top, kind), from_end) in places.flat_map(|place| [9, 14, 30].map(|at| (place, at))) {
        let site = Site::with_base();
        let rows = site.rows();
        let damaged = files(&site, top, kind).remove(0);
        invert(&damaged, from_end);
        let named = damaged.ancestors().nth(2).unwrap().file_name().unwrap().to_str().unwrap();
        let runs = [site.ask(&["export"], &["--format", "jsonl"]), site.load(&addition())];
        for run in &runs {
            match run.code() {
                Some(0) => {}
                Some(7) => {
                    let message = text(&run.error(), "message");
                    assert!(message.contains(named), "{kind} of {named}: {message}");
                }
                _ => panic!("byte {from_end} from the end of {damaged:?}: {run:#?}"),
            }
        }
        if let [export, _] = &runs
            && export.code() == Some(0)
        {
            let exported: Vec<_> = export.stdout.lines().map(str::to_owned).collect();
            assert_eq!(super::site::sorted(&exported), rows);
        }
        let verified = site.ask(&["verify"], &["--json"]);
        let expected: &[i32] = if top == "tables" { &[0, 1] } else { &[0, 1, 7] };
        assert!(verified.code().is_some_and(|code| expected.contains(&code)), "{verified:#?}");
        status_tells_or_fails(&site, top);
    }
}

fn status_tells_or_fails(site: &Site, top: &str) {
    let status = site.ask(&["status"], &["--json"]);
    let expected: &[i32] = if top == "tables" { &[0] } else { &[0, 7] };
    assert!(status.code().is_some_and(|code| expected.contains(&code)), "{status:#?}");
}
