//! Storage that is not as it should be: no space, a place that holds no graph, recovery records that
//! nobody can read. The tests run as root, whom permissions do not stop.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::program::{Run, after, run};
use super::site::{Site, addition, all, base, other_addition, sorted, text};

/// A load of [`addition`] that the storage failed was answered truthfully; with room again it can be
/// sent again, and is there once.
fn is_honest_and_heals(site: &Site, failed: &Run, give_room: impl FnOnce()) {
    let error = failed.error();
    let (exit, effect) = (failed.code().unwrap(), text(&error, "effect"));
    match exit {
        // Storage, or recovery required: proven to have had no effect.
        7 | 3 => assert_eq!(effect, "none", "{error:#}"),
        6 => assert_eq!(effect, "unknown", "{error:#}"),
        _ => panic!("{failed:#?}"),
    }
    let seen = site.rows();
    assert!(
        seen == sorted(&base()) || (exit == 6 && seen == sorted(&with_addition())),
        "{seen:#?}"
    );
    site.verified();
    give_room();
    site.load(&other_addition()).exits(0);
    let healed = site.rows();
    let unchanged = sorted(&all(&[base(), other_addition()]));
    assert!(healed == unchanged || exit == 6, "{failed:#?} {healed:#?}");
    site.load_with(&addition(), &["--operation-id", "tight"]).exits(0);
    site.at_rest_with(&all(&[with_addition(), other_addition()]));
}

fn with_addition() -> Vec<String> {
    all(&[base(), addition()])
}

#[test]
fn a_load_that_may_write_no_large_files_fails_and_is_healed_wherever_that_stops_it() {
    let mut failures = 0;
    for blocks in 0.. {
        let site = Site::with_base();
        let data = site.file(&addition());
        // The signal is ignored, so that a write that is too large fails.
        let line = format!("trap '' XFSZ; ulimit -f {blocks}");
        let args = site.load_args(&data, &["--operation-id", "tight"]);
        let end = run(&mut after(&line, &args));
        if end.code() == Some(0) {
            site.settled_with(&with_addition());
            break;
        }
        failures += 1;
        is_honest_and_heals(&site, &end, || ());
    }
    assert!(failures > 1, "the limits stopped a load {failures} times");
}

/// A file system of a few hundred kilobytes.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// None where this user may not mount.
    fn mount(at: &Path) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let options = ["-t", "tmpfs", "-o", "size=512k", "graphwrite-test"];
        let mounted = Command::new("mount").args(options).arg(at).output();
        mounted.is_ok_and(|output| output.status.success()).then(|| Self(at.to_owned()))
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }

    /// Fills the disk until `room` bytes are left.
    fn fill_but(&self, room: usize) {
        let mut bytes = vec![0; 512 * 1024];
        while std::fs::write(self.filler(), &bytes).is_err() {
            bytes.truncate(bytes.len() - 1024);
        }
        bytes.truncate(bytes.len() - room);
        std::fs::write(self.filler(), &bytes).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Without the right to mount, the test of limited files above is what there is.
#[test]
fn a_load_on_a_full_disk_fails_and_is_healed_wherever_that_stops_it() {
    for room in (0..).map(|step| step * 12 * 1024) {
        let mut site = Site::empty();
        let Some(disk) = SmallDisk::mount(&site.path("disk")) else { return };
        site.moved_to(disk.0.join("graph"));
        site.init().exits(0);
        site.load(&base()).exits(0);
        disk.fill_but(room);
        let end = site.load_with(&addition(), &["--operation-id", "tight"]);
        if end.code() == Some(0) {
            site.settled_with(&with_addition());
            break;
        }
        if room == 0 {
            let error = end.error();
            assert_eq!(
                (end.code(), &error["code"]),
                (Some(7), &"storage_full".into()),
                "{error:#}"
            );
            assert!(text(&error, "message").contains("No space left"), "{error:#}");
        }
        is_honest_and_heals(&site, &end, || std::fs::remove_file(disk.filler()).unwrap());
    }
}

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

/// Puts an object among the recovery records; it stops writes and is named, reads go on.
fn stops_writes_but_not_reads(name: &str, bytes: &[u8]) {
    let site = Site::with_base();
    let records = site.path("graph/_recovery/main");
    std::fs::create_dir_all(&records).unwrap();
    std::fs::write(records.join(name), bytes).unwrap();
    let object = format!("_recovery/main/{name}");
    let stopped = site.load(&addition()).exits(3);
    let error = stopped.error();
    assert_eq!((&error["kind"], &error["effect"]), (&"recovery".into(), &"none".into()));
    assert!(text(&error, "message").contains(&object), "{error:#}");
    assert!(!text(&error, "help").is_empty(), "{error:#}");
    assert_eq!(site.rows(), sorted(&base()));
    // What is wrong with it is for `verify` to say.
    let verified = site.ask(&["verify"], &["--json"]).exits(1).json();
    assert!(verified["findings"].to_string().contains(&object), "{verified:#}");
    let listed = site.ask(&["intent", "list"], &["--json"]).exits(0).json();
    assert_eq!(listed["blocking"][0]["object"], object, "{listed:#}");
    let resolved = site.ask(&["intent", "resolve"], &["--full", "--json"]).exits(3);
    assert!(resolved.stdout.contains(&object), "{resolved:#?}");
    // Nobody deletes what nobody understands.
    assert_eq!(std::fs::read(records.join(name)).unwrap(), bytes);
    std::fs::remove_file(records.join(name)).unwrap();
    site.load(&addition()).exits(0);
    site.settled_with(&with_addition());
}

#[test]
fn an_intent_of_garbage_stops_writes_but_not_reads() {
    stops_writes_but_not_reads("01JDX1PQ000000000000000001.intent", &[0xA5; 300]);
}

#[test]
fn an_empty_intent_stops_writes_but_not_reads() {
    stops_writes_but_not_reads("01JDX1PQ000000000000000001.intent", b"");
}

#[test]
fn an_object_with_a_foreign_name_stops_writes_but_not_reads() {
    stops_writes_but_not_reads("notes.txt", b"remember the milk");
}

/// A real intent, changed by `change`.
fn damaged(change: impl Fn(&mut Vec<u8>)) {
    let site = Site::with_base();
    site.load_with(&addition(), &["--fault", "post_effect:abort"]).dies_by(6);
    let name = format!("{}.intent", site.pending_attempt());
    let path = site.path("graph/_recovery/main").join(&name);
    let whole = std::fs::read(&path).unwrap();
    let mut bytes = whole.clone();
    change(&mut bytes);
    std::fs::write(&path, &bytes).unwrap();
    let error = site.load(&other_addition()).exits(3).error();
    assert!(text(&error, "message").contains(&name), "{error:#}");
    assert_eq!(site.rows(), sorted(&base()));
    // Restored from a copy, it is resolved like any other.
    std::fs::write(&path, whole).unwrap();
    site.load(&other_addition()).exits(0);
    site.settled_with(&all(&[base(), other_addition()]));
}

#[test]
fn an_intent_with_a_flipped_bit_is_not_believed() {
    damaged(|bytes| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
    });
}

#[test]
fn an_intent_that_was_cut_off_is_not_believed() {
    damaged(|bytes| bytes.truncate(bytes.len() / 2));
}

#[test]
fn an_intent_under_the_name_of_another_attempt_is_not_believed() {
    let site = Site::with_base();
    site.load_with(&addition(), &["--fault", "post_effect:abort"]).dies_by(6);
    let records = site.path("graph/_recovery/main");
    let real = records.join(format!("{}.intent", site.pending_attempt()));
    let other = records.join("01JDX1PQ000000000000000001.intent");
    std::fs::copy(&real, &other).unwrap();
    let error = site.load(&other_addition()).exits(3).error();
    assert!(text(&error, "message").contains("01JDX1PQ000000000000000001"), "{error:#}");
    std::fs::remove_file(other).unwrap();
    site.load(&other_addition()).exits(0);
    site.settled_with(&all(&[base(), other_addition()]));
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
