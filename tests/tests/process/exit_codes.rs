//! What a script is told: one number for each kind of ending, the same in the error document; and
//! trouble in one graph is no trouble in another.

use super::program::{Run, command, run};
use super::site::{Site, addition, base, text};

/// How a command ended, by its number; an error says the same in its document.
#[track_caller]
fn ends(end: &Run, code: i32, kind: &str, word: &str) {
    assert_eq!(end.code(), Some(code), "{end:#?}");
    let error = end.error();
    assert_eq!((&error["exit"], text(&error, "kind").as_str()), (&code.into(), kind), "{error:#}");
    assert_eq!(text(&error, "code"), word, "{error:#}");
    assert!(!text(&error, "help").is_empty(), "{error:#}");
}

#[test]
fn done_and_nothing_to_do_are_no_errors_and_can_be_told_apart() {
    let site = Site::with_base();
    let loaded = site.load_with(&addition(), &["--mode", "upsert"]).exits(0).json();
    let again = site.load_with(&addition(), &["--mode", "upsert"]).exits(0).json();
    assert_eq!((&loaded["outcome"], &again["outcome"]), (&"committed".into(), &"no_change".into()));
}

#[test]
fn every_kind_of_failure_has_a_number_of_its_own() {
    let site = Site::with_base();
    let nobody = "01JDX1PQ000000000000000401";
    ends(&site.ask(&["commit", "show"], &[nobody, "--json"]), 1, "negative", "no_such_commit");
    let unknown_flag = run(&mut command(&["load", site.graph(), "--no-such-flag", "--json"]));
    assert_eq!(unknown_flag.code(), Some(2), "{unknown_flag:#?}");
    ends(&site.load(&base()), 4, "conflict", "key_conflict");
    ends(&site.load(&["{}".to_owned()]), 5, "refused", "invalid_input");
    let unknown = site.load_with(&addition(), &["--fault", "post_arm:error"]);
    ends(&unknown, 6, "unknown", "outcome_unknown");
    // The next write settles what was not known; the same numbers again say the same.
    site.load(&addition()).exits(0);
    ends(&site.load(&addition()), 4, "conflict", "key_conflict");
}

#[test]
fn a_graph_that_must_be_looked_after_does_not_stop_another() {
    let (broken, sound) = (Site::with_base(), Site::with_base());
    let records = broken.path("graph/_recovery/main");
    std::fs::create_dir_all(&records).unwrap();
    std::fs::write(records.join("01JDX1PQ000000000000000001.intent"), [0xA5; 300]).unwrap();
    ends(&broken.load(&addition()), 3, "recovery", "recovery_blocked");
    sound.load(&addition()).exits(0);
    assert_eq!(broken.rows().len(), base().len(), "it can be read");
    let status = broken.status();
    assert!(status.to_string().contains("01JDX1PQ000000000000000001"), "{status:#}");
}
