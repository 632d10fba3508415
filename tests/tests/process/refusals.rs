//! Storage that refuses: it is full, its files may not grow, it is read-only, or its user may not write.
//! Every command says so by a code of its own and tells whether it had an effect; what only reads goes
//! on; and when the condition is gone, the next write goes through and nothing was lost.

use std::path::Path;
use std::process::Command;

use super::disk::{Nobody, SmallDisk};
use super::program::{Run, after, command, run};
use super::site::{Site, addition, all, base, other_addition, sorted, text};

const OPERATION: &str = "tight";

/// A command that writes, how its effect is told, and how it is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writes {
    Load,
    Mutate,
    /// Takes back a dead load.
    Resolve,
}

/// The same rows as those of [`addition`].
const STATEMENTS: &str = r#"[
{"insert":{"type":"Person","data":{"slug":"p3","age":3}}},
{"insert":{"edge":"Knows","from":"p2","to":"p3"}},
{"insert":{"edge":"WorksAt","from":"p1","to":"c1"}}]"#;

impl Writes {
    const ALL: [Self; 3] = [Self::Load, Self::Mutate, Self::Resolve];

    /// Makes the graph what the command needs; there is room for it.
    fn prepare(self, site: &Site) {
        if self == Self::Resolve {
            let more = ["--operation-id", "dies", "--fault", "post_effect:abort"];
            site.load_with(&addition(), &more).dies_by(6);
        }
    }

    fn args(self, site: &Site) -> Vec<String> {
        let graph = site.graph().to_owned();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match self {
            Self::Load => {
                let data = site.file(&addition());
                words(&["load", &graph, "--data", &data, "--operation-id", OPERATION, "--json"])
            }
            Self::Mutate => {
                let file = site.file(&[STATEMENTS.to_owned()]);
                words(&["mutate", &graph, "--file", &file, "--operation-id", OPERATION, "--json"])
            }
            Self::Resolve => words(&["intent", "resolve", &graph, "--full", "--json"]),
        }
    }

    /// What readers see when it has done all that it was sent for.
    fn done(self) -> Vec<String> {
        match self {
            Self::Load | Self::Mutate => all(&[base(), addition()]),
            Self::Resolve => base(),
        }
    }
}

/// A command that the storage has failed was answered truthfully, readers see all or nothing; when the
/// condition is gone another write goes through, and so does the command.
#[track_caller]
fn is_honest_and_heals(writes: Writes, site: &Site, failed: &Run, relieve: impl FnOnce()) {
    let error = failed.error();
    let exit = failed.code().unwrap_or_else(|| panic!("{writes:?}: {failed:#?}"));
    let effect = text(&error, "effect");
    let is_known = match (exit, writes) {
        // Storage, or recovery required: proven to have had no effect.
        (7 | 3, Writes::Load | Writes::Mutate) => effect == "none",
        (7 | 3, Writes::Resolve) => true,
        (6, _) => effect == "unknown",
        _ => false,
    };
    assert!(is_known, "{writes:?}: {failed:#?}");
    assert!(!text(&error, "message").is_empty() && !text(&error, "help").is_empty(), "{error:#}");
    let seen = site.rows();
    assert!(seen == sorted(&base()) || (exit == 6 && seen == sorted(&writes.done())), "{seen:#?}");
    site.verified();
    relieve();
    site.load(&other_addition()).exits(0);
    let healed = site.rows();
    let without = sorted(&all(&[base(), other_addition()]));
    assert!(healed == without || exit == 6, "{writes:?}: {failed:#?} {healed:#?}");
    run(&mut command(&writes.args(site))).exits(0);
    site.at_rest_with(&all(&[writes.done(), other_addition()]));
}

/// Under every limit on the size of files that stops it, whether or not the shell has the signal ignored.
fn under_a_limit(writes: Writes, line: &str) {
    let mut codes = Vec::new();
    for blocks in 0.. {
        let site = Site::with_base();
        writes.prepare(&site);
        let end = run(&mut after(&format!("{line} ulimit -f {blocks}"), &writes.args(&site)));
        if end.code() == Some(0) {
            site.at_rest_with(&writes.done());
            break;
        }
        codes.push(end.error_code());
        is_honest_and_heals(writes, &site, &end, || ());
    }
    assert!(codes.len() > 1, "the limits stopped {writes:?} {} times", codes.len());
    assert!(codes.contains(&"file_too_large".to_owned()), "{writes:?}: {codes:?}");
}

#[test]
fn a_write_whose_files_may_not_grow_fails_by_a_code_and_is_healed_wherever_that_stops_it() {
    // By default the system kills who goes beyond the limit.
    under_a_limit(Writes::Load, "");
    under_a_limit(Writes::Load, "trap '' XFSZ;");
    under_a_limit(Writes::Mutate, "");
    under_a_limit(Writes::Resolve, "");
}

#[test]
fn an_init_whose_files_may_not_grow_leaves_a_graph_or_room_for_one() {
    for blocks in 0.. {
        let site = Site::empty();
        let schema = site.schema();
        let args = ["init", site.graph(), "--schema", &schema, "--json"];
        let end = run(&mut after(&format!("ulimit -f {blocks}"), &args));
        if end.code() == Some(0) {
            assert!(blocks > 0, "no limit stopped it");
            break;
        }
        assert!(matches!(end.code(), Some(7 | 6)), "{end:#?}");
        let again = site.init();
        let made = again.code() == Some(0);
        assert!(made || (end.error()["effect"] != "none"), "{end:#?} {again:#?}");
        site.load(&base()).exits(0);
        site.settled_with(&base());
    }
}

#[test]
fn an_export_whose_file_may_not_grow_fails_by_a_code_and_leaves_no_half_of_it() {
    let site = Site::with_base();
    let output = site.path("export.jsonl");
    let args = ["export", site.graph(), "--output", output.to_str().unwrap()];
    let end = run(&mut after("ulimit -f 0", &args)).exits(7);
    assert!(end.stderr.contains("error["), "{end:#?}");
    assert!(!output.exists());
    let (out, line) = (site.path("stdout"), "ulimit -f 0");
    let file = std::fs::File::create(&out).unwrap();
    let end = run(after(line, &["export", site.graph()]).stdout(file)).exits(7);
    assert!(end.stderr.contains("output_failed"), "{end:#?}");
    // What only reads needs no files.
    for words in [&["status"][..], &["verify"], &["intent", "list"], &["commit", "log"]] {
        run(&mut after(line, &[words, &[site.graph()]].concat())).exits(0);
    }
}

/// A graph with the rows of the base on a small disk.
fn on_a_small_disk() -> Option<(Site, SmallDisk)> {
    let mut site = Site::empty();
    let disk = SmallDisk::mount(&site.path("disk"))?;
    site.moved_to(disk.path("graph"));
    site.init().exits(0);
    site.load(&base()).exits(0);
    Some((site, disk))
}

/// Every command that reads does so, and sees the base.
#[track_caller]
fn reads_go_on(site: &Site) {
    assert_eq!(site.rows(), sorted(&base()));
    site.verified();
    site.status();
    let committed = site.operations().remove(0);
    for words in [&["audit"][..], &["intent", "list"], &["commit", "log"]] {
        site.ask(words, &["--json"]).exits(0);
    }
    site.ask(&["outcome"], &[&committed, "--json"]).exits(0);
}

/// Without the right to mount, the tests of limited files above are what there is.
#[test]
fn a_write_on_a_full_disk_fails_by_a_code_and_is_healed_wherever_that_stops_it() {
    for writes in Writes::ALL {
        // Loads stand for all; the others are stopped in fewer places.
        let step = if writes == Writes::Load { 20 * 1024 } else { 60 * 1024 };
        for room in (0..).map(|nth| nth * step) {
            let Some((site, disk)) = on_a_small_disk() else { return };
            writes.prepare(&site);
            disk.fill_but(room);
            let end = run(&mut command(&writes.args(&site)));
            if end.code() == Some(0) {
                assert!(room > 0 || writes == Writes::Resolve, "{writes:?} needs no room");
                site.at_rest_with(&writes.done());
                break;
            }
            if room == 0 {
                let error = end.error();
                assert_eq!((end.code(), &*end.error_code()), (Some(7), "storage_full"));
                assert!(text(&error, "message").contains("No space left"), "{error:#}");
                reads_go_on(&site);
            }
            is_honest_and_heals(writes, &site, &end, || disk.clear());
        }
    }
}

#[test]
fn an_init_on_a_full_disk_fails_by_a_code_and_can_be_sent_again() {
    for room in (0..).map(|step| step * 8 * 1024) {
        let mut site = Site::empty();
        let Some(disk) = SmallDisk::mount(&site.path("disk")) else { return };
        site.moved_to(disk.path("graph"));
        disk.fill_but(room);
        let end = site.init();
        if end.code() == Some(0) {
            assert!(room > 0);
            break;
        }
        if room == 0 {
            assert_eq!((end.code(), &*end.error_code()), (Some(7), "storage_full"), "{end:#?}");
        }
        disk.clear();
        assert!(site.init().code() == Some(0) || end.error()["effect"] != "none", "{end:#?}");
        site.load(&base()).exits(0);
        site.settled_with(&base());
    }
}

/// Every command that writes is refused with `code`, has had no effect, and reads go on.
#[track_caller]
fn refuses_writes(site: &Site, code: &str, program: impl Fn(&[String]) -> Command) {
    for writes in Writes::ALL {
        let end = run(&mut program(&writes.args(site)));
        assert_eq!((end.code(), &*end.error_code()), (Some(7), code), "{writes:?}: {end:#?}");
        let error = end.error();
        if writes != Writes::Resolve {
            assert_eq!(error["effect"], "none", "{writes:?}: {error:#}");
        }
        assert!(!text(&error, "help").is_empty());
    }
}

#[test]
fn a_graph_on_a_read_only_file_system_can_be_read_and_every_write_says_why_not() {
    let Some((site, disk)) = on_a_small_disk() else { return };
    Writes::Resolve.prepare(&site);
    disk.protect();
    refuses_writes(&site, "storage_read_only", command);
    reads_go_on(&site);
    let there = disk.path("another");
    let init = ["init", there.to_str().unwrap(), "--schema", &site.schema(), "--json"];
    assert_eq!(run(&mut command(&init)).exits(7).error_code(), "storage_read_only");
    disk.release();
    run(&mut command(&Writes::Load.args(&site))).exits(0);
    site.at_rest_with(&Writes::Load.done());
}

#[test]
fn a_file_system_that_becomes_read_only_under_a_load_leaves_nothing_that_the_next_does_not_heal() {
    for point in ["post_prepare", "pre_arm", "post_arm", "post_effect", "pre_publish"] {
        let Some((site, disk)) = on_a_small_disk() else { return };
        let paused = site.paused_load(&addition(), point, &["--operation-id", OPERATION]);
        disk.protect();
        let end = paused.release();
        is_honest_and_heals(Writes::Load, &site, &end, || disk.release());
    }
}

#[test]
fn a_user_who_may_not_write_reads_and_every_write_says_why_not() {
    let site = Site::with_base();
    Writes::Resolve.prepare(&site);
    let Some(nobody) = Nobody::here(&site.path("")) else { return };
    let graph = Path::new(site.graph());
    nobody.may(graph, 0o555);
    refuses_writes(&site, "permission_denied", |args| nobody.command(args));
    for words in [&["export"][..], &["status"], &["verify"], &["intent", "list"]] {
        run(&mut nobody.command(&[words, &[site.graph()]].concat())).exits(0);
    }
    nobody.may(graph, 0o755);
    run(&mut nobody.command(&Writes::Load.args(&site))).exits(0);
    site.at_rest_with(&Writes::Load.done());
}

#[test]
fn a_user_who_may_not_even_read_is_told_so() {
    let site = Site::with_base();
    let Some(nobody) = Nobody::here(&site.path("")) else { return };
    let graph = Path::new(site.graph());
    for locked in ["", "__manifest", "__manifest/_versions"] {
        nobody.may(&graph.join(locked), 0o000);
        for words in ["export", "status", "verify"] {
            let end = run(&mut nobody.command(&[words, site.graph()])).exits(7);
            assert!(end.stderr.contains("error[permission_denied]"), "{locked} {words}: {end:#?}");
        }
        let end = run(&mut nobody.command(&Writes::Load.args(&site))).exits(7);
        assert_eq!(end.error_code(), "permission_denied", "{locked}: {end:#?}");
        nobody.may(graph, 0o755);
    }
    site.settled_with(&base());
}

#[test]
fn an_init_where_its_user_may_not_write_makes_nothing() {
    let site = Site::empty();
    let Some(nobody) = Nobody::here(&site.path("")) else { return };
    std::fs::create_dir(site.path("locked")).unwrap();
    nobody.may(&site.path("locked"), 0o555);
    let there = site.path("locked/graph");
    let init = ["init", there.to_str().unwrap(), "--schema", &site.schema(), "--json"];
    let end = run(&mut nobody.command(&init)).exits(7);
    assert_eq!((&*end.error_code(), &end.error()["effect"]), ("permission_denied", &"none".into()));
    assert!(!there.exists());
    nobody.may(&site.path("locked"), 0o755);
    run(&mut nobody.command(&init)).exits(0);
}
