//! What a script is told by the commands of branches: a number and a code for each ending, the branch that
//! is in the way by its name, and nothing written by what was refused.

use super::program::Run;
use super::site::{Site, person, text};

#[track_caller]
fn ends(end: &Run, exit: i32, code: &str, words: &str) {
    assert_eq!((end.code(), &*end.error_code()), (Some(exit), code), "{end:#?}");
    let error = end.error();
    assert!(text(&error, "message").contains(words), "`{words}` in {error:#}");
    assert_eq!((&error["effect"], &error["exit"]), (&"none".into(), &exit.into()), "{error:#}");
    assert!(!text(&error, "help").is_empty(), "{error:#}");
}

fn site() -> Site {
    let site = Site::with_base();
    site.branch("create", "a/b", &[]).exits(0);
    site
}

#[test]
fn a_refusal_names_the_branch_and_writes_nothing() {
    let site = site();
    let before = site.files();
    ends(&site.branch("create", "a/b", &[]), 5, "branch_exists", "`a/b`");
    ends(&site.branch("create", "x", &["--from", "never"]), 5, "no_such_branch", "`never`");
    ends(&site.branch("delete", "never", &[]), 5, "no_such_branch", "`never`");
    ends(&site.branch("status", "never", &[]), 5, "no_such_branch", "`never`");
    let row = [person("x", 1)];
    ends(&site.load_with(&row, &["--branch", "never"]), 5, "no_such_branch", "`never`");
    let nobody = "01JDX1PQ000000000000000401";
    ends(&site.branch("create", "x", &["--from", nobody]), 1, "no_such_commit", nobody);
    assert_eq!(site.files(), before);
}

#[test]
fn a_cleanup_that_is_planned_refuses_a_branch_of_an_older_commit_and_is_named() {
    let site = site();
    let log = site.ask(&["commit", "log"], &["--json"]).exits(0).json();
    let first = text(&log["commits"][0], "commit_id");
    site.load(&[person("later", 1)]).exits(0);
    let plans = site.path("graph/_control/cleanup");
    std::fs::create_dir_all(&plans).unwrap();
    std::fs::write(plans.join("1.plan"), "of another process").unwrap();
    let refused = site.branch("create", "x", &["--from", &first]);
    ends(&refused, 3, "cleanup_pending", "_control/cleanup/1.plan");
    site.branch("create", "y", &[]).exits(0);
    std::fs::write(plans.join("1.done"), "").unwrap();
    site.branch("create", "x", &["--from", &first]).exits(0);
}

#[test]
fn a_record_that_cannot_be_understood_is_named_and_the_name_can_be_given_up() {
    let site = site();
    let record = site.path("graph/_control/branch/a%2fb/1.decided");
    std::fs::write(record, "no record").unwrap();
    ends(&site.branch("status", "a/b", &[]), 3, "recovery_blocked", "1.decided");
    ends(&site.branch("create", "a/b", &[]), 3, "recovery_blocked", "1.decided");
    assert_eq!(site.standing("a/b").unwrap().0, "unusable");
    site.branch("delete", "a/b", &[]).exits(0);
    site.branch("create", "a/b", &[]).exits(0);
    assert_eq!(site.standing("a/b"), Some(("live".to_owned(), 2)));
}

/// One name for each rule of the grammar.
const NO_NAMES: [&str; 20] = [
    "",
    "main",
    "Main",
    "MAIN",
    "_x",
    "a b",
    "a\u{e4}",
    "a\u{301}",
    "a/",
    "/a",
    "a//b",
    ".a",
    "-a",
    "a.",
    "a.lock",
    "a..b",
    "a/.b",
    "a:b",
    "01JDX1PQ000000000000000401",
    "a\nb",
];

#[test]
fn a_name_that_no_branch_can_have_is_refused_before_anything_is_looked_at() {
    let nowhere = Site::empty();
    let long = "a".repeat(81);
    for name in NO_NAMES.into_iter().chain([&*long]) {
        // The graph is not there, and is not missed.
        for verb in ["create", "delete"] {
            let args = ["branch", verb, nowhere.graph(), "--json", "--", name];
            let refused = super::program::run(&mut super::program::command(&args)).exits(2);
            assert_eq!(refused.error_code(), "usage", "{name:?}");
            let message = text(&refused.error(), "message");
            assert!(message.contains("cannot be the name of a branch"), "{name:?}: {message}");
        }
    }
}

#[test]
fn what_was_done_is_said_in_one_document() {
    let site = site();
    let made = site.branch("create", "x", &["--from", "a/b"]).exits(0).json();
    assert_eq!((&made["outcome"], &made["source"]), (&"created".into(), &"a/b".into()));
    assert_eq!((&made["branch"], &made["incarnation"]), (&"x".into(), &1.into()));
    let gone = site.branch("delete", "x", &[]).exits(0).json();
    assert_eq!((&gone["outcome"], &gone["branch"]), (&"deleted".into(), &"x".into()));
    ends(&site.branch("delete", "x", &[]), 5, "no_such_branch", "`x`");
}
