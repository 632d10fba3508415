//! Recovery records that nobody can understand, or that are somebody else's: they stop the writes of
//! their branch with a name and a remedy, and nothing but those; no record is taken for a fault of the
//! tool, and nobody deletes one.

use super::program::Run;
use super::record::{self, NOBODY, object, put};
use super::site::{Site, addition, all, base, other_addition, sorted, text};

/// A second attempt that no process has made.
const OTHER: &str = "01JDX1PQ000000000000000002";

/// A graph, its base loaded under an id, with the intent of a dead load beside whatever comes.
fn with_dead_load() -> (Site, String) {
    let site = Site::with_base();
    site.load_with(&addition(), &["--fault", "post_effect:abort"]).dies_by(6);
    let attempt = site.pending_attempt();
    (site, attempt)
}

#[track_caller]
fn names(run: &Run, object: &str, remedy: &str) {
    let error = run.error();
    assert_eq!((run.code(), &*run.error_code()), (Some(3), "recovery_blocked"), "{error:#}");
    assert_eq!((&error["kind"], &error["effect"]), (&"recovery".into(), &"none".into()));
    assert_eq!(error["may_retry"], false, "{error:#}");
    assert!(text(&error, "message").contains(object), "{error:#}");
    assert!(text(&error, "help").contains(remedy), "{remedy}: {error:#}");
}

/// Every reader goes on, and says what it has to say.
#[track_caller]
fn reads_go_on(site: &Site, object: &str) {
    assert_eq!(site.rows(), sorted(&base()));
    for words in [&["commit", "log"][..], &["audit"]] {
        site.ask(words, &["--json"]).exits(0);
    }
    let status = site.status();
    assert!(status.to_string().contains(object), "{status:#}");
    let verified = site.ask(&["verify"], &["--json"]).exits(1).json();
    assert!(verified["findings"].to_string().contains(object), "{verified:#}");
    let committed = site.operations().remove(0);
    site.ask(&["outcome"], &[&committed, "--json"]).exits(0);
}

/// Puts `bytes` among the records under `name`, beside the intent of a dead load. `remedy` is a part of
/// what is to be done.
fn stops_writes_and_nothing_else(name: &str, bytes: &[u8], remedy: &str) {
    let (site, dead) = with_dead_load();
    put(&site, name, bytes);
    let object = object(name);
    names(&site.load(&other_addition()), &object, remedy);
    names(&site.mutate(r#"[{"delete":{"type":"Person","key":"p9"}}]"#), &object, remedy);
    reads_go_on(&site, &object);
    let listed = site.ask(&["intent", "list"], &["--json"]).exits(0).json();
    let blocking = listed["blocking"].as_array().unwrap();
    assert_eq!(blocking.len(), 1, "{listed:#}");
    assert_eq!(blocking[0]["object"], object, "{listed:#}");
    assert!(text(&blocking[0], "remedy").contains(remedy), "{listed:#}");
    if let Some(attempt) = blocking[0]["attempt_id"].as_str() {
        for words in [["intent", "show"], ["intent", "explain"]] {
            names(&site.ask(&words, &[attempt, "--json"]), &object, remedy);
        }
        let nobodys = site.ask(&["outcome"], &["nobodys", "--json"]).exits(3);
        assert!(text(&nobodys.error(), "message").contains(&object), "{nobodys:#?}");
    }
    // What can be understood is resolved beside it, if it is still there, and so is one by its name.
    let resolved = site.ask(&["intent", "resolve"], &["--full", "--json"]).exits(3);
    assert!(resolved.stdout.contains(&object), "{resolved:#?}");
    assert!(site.intents().iter().all(|intent| intent["attempt_id"] != *dead));
    // Nobody deletes what nobody understands.
    assert_eq!(std::fs::read(record::path(&site, name)).unwrap(), bytes);
    std::fs::remove_file(record::path(&site, name)).unwrap();
    site.load(&other_addition()).exits(0);
    site.settled_with(&all(&[base(), other_addition()]));
}

const DAMAGED: &str = "restore it from a copy";
const OF_A_NEWER_BUILD: &str = "Use the build that wrote it";
const FOREIGN: &str = "move it out of the graph";
const OF_ANOTHER_GRAPH: &str = "from another graph";
const RENAMED: &str = "give it its own name back";

fn intent_of(attempt: &str) -> String {
    format!("{attempt}.intent")
}

/// What a real intent looks like.
fn real() -> Vec<u8> {
    let (site, attempt) = with_dead_load();
    record::bytes(&site, &attempt)
}

#[test]
fn an_intent_of_garbage_stops_writes_and_nothing_else() {
    stops_writes_and_nothing_else(&intent_of(NOBODY), &[0xA5; 300], DAMAGED);
}

#[test]
fn an_empty_intent_stops_writes_and_nothing_else() {
    stops_writes_and_nothing_else(&intent_of(NOBODY), b"", DAMAGED);
}

#[test]
fn an_intent_of_another_graph_stops_writes_and_nothing_else() {
    let foreign = Site::new();
    foreign.load_with(&addition()[..1], &["--fault", "post_effect:abort"]).dies_by(6);
    let attempt = foreign.pending_attempt();
    let bytes = record::bytes(&foreign, &attempt);
    stops_writes_and_nothing_else(&intent_of(&attempt), &bytes, OF_ANOTHER_GRAPH);
}

#[test]
fn an_intent_of_a_newer_format_stops_writes_and_nothing_else() {
    for version in [2, u16::MAX] {
        let bytes = record::of_version(&real(), version);
        stops_writes_and_nothing_else(&intent_of(NOBODY), &bytes, OF_A_NEWER_BUILD);
    }
}

#[test]
fn another_kind_of_record_in_the_place_of_an_intent_stops_writes_and_nothing_else() {
    let bytes = record::confirm(&Site::new(), NOBODY);
    stops_writes_and_nothing_else(&intent_of(NOBODY), &bytes, DAMAGED);
}

#[test]
fn an_object_with_a_foreign_name_stops_writes_and_nothing_else() {
    let names = ["notes.txt", "sub/01JDX1PQ000000000000000001.intent"];
    for name in names.into_iter().chain(["01JDX1PQ000000000000000001.alive.01"]) {
        stops_writes_and_nothing_else(name, b"remember the milk", FOREIGN);
    }
}

/// A real intent, changed by `change`.
fn damaged(change: impl Fn(&mut Vec<u8>)) {
    let (site, attempt) = with_dead_load();
    let name = intent_of(&attempt);
    let whole = record::bytes(&site, &attempt);
    let mut bytes = whole.clone();
    change(&mut bytes);
    put(&site, &name, &bytes);
    names(&site.load(&other_addition()), &object(&name), DAMAGED);
    reads_go_on(&site, &object(&name));
    // Restored from a copy, it is resolved like any other.
    put(&site, &name, &whole);
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
    let (site, attempt) = with_dead_load();
    put(&site, &intent_of(NOBODY), &record::bytes(&site, &attempt));
    names(&site.load(&other_addition()), &object(&intent_of(NOBODY)), RENAMED);
    std::fs::remove_file(record::path(&site, &intent_of(NOBODY))).unwrap();
    site.load(&other_addition()).exits(0);
    site.settled_with(&all(&[base(), other_addition()]));
}

#[test]
fn a_record_in_the_place_of_another_branch_stops_nobody_here() {
    let site = Site::with_base();
    let elsewhere = format!("../other.{NOBODY}/{OTHER}.intent");
    put(&site, &elsewhere, &[0xA5; 300]);
    put(&site, &format!("../maintenance/{OTHER}.intent"), &[0xA5; 300]);
    site.load(&addition()).exits(0);
    assert_eq!(site.rows(), sorted(&all(&[base(), addition()])));
    assert_eq!(site.status()["pending_intents"], 0);
    assert!(record::path(&site, &elsewhere).exists(), "nobody deletes it");
}

#[test]
fn signs_of_progress_count_by_their_names_whatever_is_in_them() {
    let (site, dead) = with_dead_load();
    for beat in ["1", "7"] {
        put(&site, &format!("{dead}.alive.{beat}"), b"garbage");
    }
    put(&site, &format!("{dead}.confirm"), b"garbage");
    site.load(&other_addition()).exits(0);
    site.settled_with(&all(&[base(), other_addition()]));
    assert!(site.files().iter().all(|file| !file.starts_with("_recovery")), "all went with it");
}

#[test]
fn what_is_left_of_an_attempt_that_is_over_is_swept_whatever_is_in_it() {
    let site = Site::with_base();
    put(&site, &format!("{NOBODY}.confirm"), b"garbage");
    put(&site, &format!("{OTHER}.alive.1"), b"");
    site.shows(&base());
    site.load(&addition()).exits(0);
    site.settled_with(&all(&[base(), addition()]));
    assert!(site.files().iter().all(|file| !file.starts_with("_recovery")));
}

#[test]
fn a_record_that_comes_while_a_load_prepares_stops_it_before_its_intent() {
    let site = Site::with_base();
    let paused = site.paused_load(&addition(), "post_prepare", &[]);
    put(&site, &intent_of(NOBODY), &[0xA5; 300]);
    names(&paused.release(), &object(&intent_of(NOBODY)), DAMAGED);
    reads_go_on(&site, &object(&intent_of(NOBODY)));
    std::fs::remove_file(record::path(&site, &intent_of(NOBODY))).unwrap();
    site.load(&addition()).exits(0);
    site.settled_with(&all(&[base(), addition()]));
}

#[test]
fn a_record_that_comes_after_the_intent_of_a_load_does_not_stop_it() {
    for point in ["post_arm", "post_effect", "pre_publish"] {
        let site = Site::with_base();
        let paused = site.paused_load(&addition(), point, &[]);
        put(&site, &intent_of(NOBODY), &[0xA5; 300]);
        paused.release().exits(0);
        names(&site.load(&other_addition()), &object(&intent_of(NOBODY)), DAMAGED);
        std::fs::remove_file(record::path(&site, &intent_of(NOBODY))).unwrap();
        site.settled_with(&all(&[base(), addition()]));
    }
}

#[test]
fn what_a_write_has_left_whose_record_is_lost_is_named_and_nothing_is_built_on_it() {
    let site = Site::with_base();
    let person = |slug| vec![super::site::person(slug, 9)];
    site.load_with(&person("p8"), &["--fault", "post_effect:abort"]).dies_by(6);
    let attempt = site.pending_attempt();
    std::fs::remove_file(record::path(&site, &intent_of(&attempt))).unwrap();
    assert_eq!(site.rows(), sorted(&base()));
    let verified = site.ask(&["verify"], &["--json"]).exits(1).json();
    assert!(verified["findings"].to_string().contains("Person"), "{verified:#}");
    let refused = site.load(&person("p9")).exits(3);
    assert_eq!(refused.error_code(), "unexplained_head", "{refused:#?}");
    // The other tables are not concerned.
    site.load(&[super::site::company("c9")]).exits(0);
}
