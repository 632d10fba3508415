//! Pairs of writes of two processes that have prepared over one base: one of them stalls just before its
//! intent, or with one of its tables written, and the other goes first. Both orders of each pair.

use super::death::AT_ONCE;
use super::program::{Paused, Run, command, run};
use super::site::{Site, all, company, knows, person, sorted, text, works_at};

/// One write, as a process sends it.
#[derive(Debug, Clone)]
struct Side {
    verb: Verb,
    more: Vec<String>,
}

#[derive(Debug, Clone)]
enum Verb {
    Load(Vec<String>),
    Mutate(String),
}

fn load(rows: &[String], mode: &str) -> Side {
    let more = vec!["--mode".to_owned(), mode.to_owned()];
    Side { verb: Verb::Load(rows.to_vec()), more }
}

fn mutate(statements: &str) -> Side {
    Side { verb: Verb::Mutate(format!("[{statements}]")), more: Vec::new() }
}

impl Side {
    fn with(mut self, more: &[&str]) -> Self {
        self.more.extend(more.iter().map(|word| (*word).to_owned()));
        self
    }

    fn args(&self, site: &Site) -> Vec<String> {
        let (verb, option, lines) = match &self.verb {
            Verb::Load(rows) => ("load", "--data", rows.clone()),
            Verb::Mutate(statements) => ("mutate", "--file", vec![statements.clone()]),
        };
        let file = site.file(&lines);
        let words = [verb, site.graph(), option, &file, "--json"];
        words.iter().map(ToString::to_string).chain(self.more.clone()).collect()
    }

    fn send(&self, site: &Site) -> Run {
        run(&mut command(&self.args(site)))
    }

    fn paused(&self, site: &Site, point: &str) -> Paused {
        let args = self.args(site);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        Paused::start(&args, point, site.fresh("release"))
    }
}

/// How the second of two writes ends.
enum Second {
    /// It commits over the first.
    Commits,
    /// It is a conflict of this code.
    Conflict(&'static str),
    /// It breaks this rule.
    Breaks(&'static str),
    /// It has nothing to change.
    NoChange,
}

impl Second {
    #[track_caller]
    fn is(&self, end: &Run) {
        match self {
            Self::Commits => {
                assert_eq!((end.code(), &end.json()["outcome"]), (Some(0), &"committed".into()));
            }
            Self::NoChange => assert_eq!(end.json()["outcome"], "no_change", "{end:#?}"),
            Self::Conflict(code) => {
                assert_eq!((end.code(), &*end.error_code()), (Some(4), *code), "{end:#?}");
                assert_eq!(end.error()["effect"], "none", "{end:#?}");
            }
            Self::Breaks(rule) => {
                let error = end.error();
                assert_eq!((end.code(), &*end.error_code()), (Some(5), "invalid_input"));
                let found = (&error["details"][0]["rule"], &error["effect"]);
                assert_eq!(found, (&(*rule).into(), &"none".into()), "{error:#}");
            }
        }
    }
}

fn persons() -> Vec<String> {
    vec![person("p1", 1), person("p2", 2), person("p3", 3)]
}

fn site(base: &[String]) -> Site {
    let site = Site::new();
    site.load(base).exits(0);
    site
}

/// Both orders of a pair: which rows there are when the first of it was first, and how the other ended,
/// and the same the other way round.
fn pair(base: &[String], sides: [Side; 2], ends: [(Second, Vec<String>); 2]) {
    for (first, (second, rows)) in ends.into_iter().enumerate() {
        let site = site(base);
        let (winner, loser) = (&sides[first], &sides[1 - first]);
        let stalled = loser.paused(&site, "pre_arm");
        winner.send(&site).exits(0);
        second.is(&stalled.release());
        site.at_rest_with(&rows);
    }
}

#[test]
fn an_update_and_the_deletion_of_its_row() {
    let update = mutate(r#"{"update":{"type":"Person","key":"p3","set":{"age":9}}}"#);
    let deletion = mutate(r#"{"delete":{"type":"Person","key":"p3"}}"#);
    let rest = persons()[..2].to_vec();
    let ends = [(Second::Commits, rest.clone()), (Second::Conflict("key_missing"), rest)];
    pair(&persons(), [update, deletion], ends);
}

#[test]
fn a_deletion_by_condition_and_the_row_that_comes_to_match() {
    let deletion = mutate(r#"{"delete":{"type":"Person","where":"age > 2"}}"#);
    let update = mutate(r#"{"update":{"type":"Person","key":"p2","set":{"age":50}}}"#);
    let ends = [
        (Second::Commits, vec![person("p1", 1), person("p2", 50)]),
        (Second::Commits, vec![person("p1", 1)]),
    ];
    pair(&persons(), [deletion, update], ends);
}

#[test]
fn one_new_key_by_a_load_and_by_a_mutation() {
    let row = |age| vec![person("k1", age)];
    let with = |age| all(&[persons(), row(age)]);
    let inserts = mutate(r#"{"insert":{"type":"Person","data":{"slug":"k1","age":1}}}"#);
    let upserts = mutate(r#"{"upsert":{"type":"Person","data":{"slug":"k1","age":1}}}"#);
    let ends =
        [(Second::Conflict("key_conflict"), with(1)), (Second::Conflict("key_conflict"), with(2))];
    pair(&persons(), [inserts.clone(), load(&row(2), "append")], ends);
    let ends = [(Second::Commits, with(2)), (Second::Conflict("key_conflict"), with(2))];
    pair(&persons(), [inserts, load(&row(2), "upsert")], ends);
    let ends = [(Second::Commits, with(2)), (Second::Commits, with(1))];
    pair(&persons(), [upserts.clone(), load(&row(2), "upsert")], ends);
    let ends = [(Second::NoChange, with(1)), (Second::NoChange, with(1))];
    pair(&persons(), [upserts, load(&row(1), "upsert")], ends);
}

#[test]
fn an_edge_and_a_change_of_the_table_of_its_ends() {
    let edge = vec![knows("p1", "p2")];
    let change = mutate(r#"{"update":{"type":"Person","key":"p1","set":{"age":50}}}"#);
    let rows = all(&[vec![person("p1", 50)], persons()[1..].to_vec(), edge.clone()]);
    let ends = [(Second::Commits, rows.clone()), (Second::Commits, rows)];
    pair(&persons(), [load(&edge, "append"), change], ends);
}

#[test]
fn writes_to_tables_that_have_nothing_in_common() {
    let sides = [load(&[person("k1", 1)], "append"), load(&[company("d1")], "append")];
    let rows = all(&[persons(), vec![person("k1", 1), company("d1")]]);
    pair(&persons(), sides, [(Second::Commits, rows.clone()), (Second::Commits, rows)]);
}

#[test]
fn two_writes_that_expect_one_head() {
    for first in [0, 1] {
        let site = site(&persons());
        let head = text(&site.status(), "head");
        let rows = [vec![person("k1", 1)], vec![company("d1")]];
        let sides = [0, 1].map(|at| load(&rows[at], "append").with(&["--expect-head", &head]));
        let stalled = sides[1 - first].paused(&site, "pre_arm");
        sides[first].send(&site).exits(0);
        Second::Conflict("expected_head").is(&stalled.release());
        site.at_rest_with(&all(&[persons(), rows[first].clone()]));
    }
}

#[test]
fn one_operation_id_of_one_request_and_of_two() {
    let same = load(&[person("k1", 1)], "append").with(&["--operation-id", "twice"]);
    let site = site(&persons());
    let stalled = same.paused(&site, "pre_arm");
    let first = same.send(&site).exits(0).json();
    let second = stalled.release().exits(0).json();
    assert_eq!(first["commit_id"], second["commit_id"]);
    site.at_rest_with(&all(&[persons(), vec![person("k1", 1)]]));

    let rows = [vec![person("k1", 1)], vec![company("d1")]];
    let sides = [0, 1].map(|at| load(&rows[at], "append").with(&["--operation-id", "shared"]));
    let reused = || Second::Conflict("operation_reused");
    let after = |at: usize| all(&[persons(), rows[at].clone()]);
    pair(&persons(), sides, [(reused(), after(0)), (reused(), after(1))]);
}

#[test]
fn a_write_and_the_seal_of_its_operation() {
    let rows = vec![person("k1", 1), knows("p1", "p2")];
    for point in ["post_prepare", "pre_arm", "post_arm", "post_effect", "pre_publish"] {
        let site = site(&persons());
        let write = load(&rows, "append").with(&["--operation-id", "sealed"]);
        let stalled = write.paused(&site, point);
        let sealed = site.ask(&["outcome"], &["sealed", "--seal", "--json"]);
        assert_eq!((sealed.code(), &sealed.json()["final"]), (Some(1), &true.into()), "{point}");
        Second::Conflict("operation_sealed").is(&stalled.release());
        site.at_rest_with(&persons());
    }
    // The write was first.
    let site = site(&persons());
    let write = load(&rows, "append").with(&["--operation-id", "sealed"]);
    let stalled = write.paused(&site, "post_publish");
    let sealed = site.ask(&["outcome"], &["sealed", "--seal", "--json"]).exits(0).json();
    assert_eq!(sealed["outcome"], "committed", "{sealed:#}");
    stalled.release().exits(0);
    site.at_rest_with(&all(&[persons(), rows]));
}

/// Everybody works somewhere, at two companies at most.
const EMPLOYED: &str = r#"
[node.Person]
key = "slug"
[node.Person.properties]
slug = { type = "string" }
age = { type = "i32", nullable = true }
[node.Company]
key = "slug"
[node.Company.properties]
slug = { type = "string" }
[edge.WorksAt]
from = "Person"
to = "Company"
cardinality = "1..2"
"#;

fn employed() -> Site {
    let site = Site::empty();
    std::fs::write(site.schema(), EMPLOYED).unwrap();
    site.init().exits(0);
    site.load(&employees()).exits(0);
    site
}

fn employees() -> Vec<String> {
    let rows = vec![person("p1", 1), company("c1"), company("c2")];
    all(&[rows, vec![works_at("p1", "c1"), works_at("p1", "c2")]])
}

#[test]
fn two_deletions_that_each_leave_an_edge() {
    let deletions = ["c1", "c2"].map(|company| {
        mutate(&format!(r#"{{"delete":{{"edge":"WorksAt","from":"p1","to":"{company}"}}}}"#))
    });
    for first in [0, 1] {
        let site = employed();
        let stalled = deletions[1 - first].paused(&site, "pre_arm");
        deletions[first].send(&site).exits(0);
        Second::Breaks("cardinality").is(&stalled.release());
        let gone = works_at("p1", ["c1", "c2"][first]);
        let rows: Vec<_> = employees().into_iter().filter(|row| *row != gone).collect();
        site.at_rest_with(&rows);
    }
}

#[test]
fn a_new_node_with_its_edge_and_edges_that_are_all_replaced() {
    let new = vec![person("k1", 1), works_at("k1", "c1")];
    let replaced = vec![works_at("p1", "c2")];
    let sides = [load(&new, "append"), load(&replaced, "overwrite")];
    // The edges that are left are right over the base, and take the new node's only one.
    let site = employed();
    let stalled = sides[1].paused(&site, "pre_arm");
    sides[0].send(&site).exits(0);
    Second::Breaks("cardinality").is(&stalled.release());
    site.at_rest_with(&all(&[employees(), new.clone()]));
    let site = employed();
    let stalled = sides[0].paused(&site, "pre_arm");
    sides[1].send(&site).exits(0);
    Second::Commits.is(&stalled.release());
    let gone = works_at("p1", "c1");
    let kept: Vec<_> = employees().into_iter().filter(|row| *row != gone).collect();
    site.at_rest_with(&all(&[kept, new]));
}

/// A write of two tables stalls when one of them is committed; another process takes a key of the other
/// table, for which it has to close the first.
#[test]
fn a_key_that_is_taken_when_another_table_of_the_write_is_committed_already() {
    let rows = |age| vec![person("k1", age), company(&format!("d{age}"))];
    for point in ["post_effect", "post_effect@2"] {
        for mode in ["append", "upsert"] {
            let site = site(&all(&[persons(), vec![company("c1")]]));
            let stalled = load(&rows(1), mode).paused(&site, point);
            let other = load(&rows(2), "upsert").with(&["--fence-after", "0s"]);
            let other = other.send(&site).exits(0);
            assert!(other.took < AT_ONCE, "{other:#?}");
            let base = all(&[persons(), vec![company("c1")]]);
            // Before anything is done again: what had landed is taken back, or was complete.
            let finished = point == "post_effect@2";
            let first = if finished { vec![company("d1")] } else { Vec::new() };
            let rows_now = all(&[base.clone(), first, rows(2)]);
            site.at_rest_with(&rows_now);
            let end = stalled.release();
            match (finished, mode) {
                (true, _) => Second::Commits.is(&end),
                (false, "append") => Second::Conflict("key_conflict").is(&end),
                (false, _) => Second::Commits.is(&end),
            }
            let expected = match (finished, mode) {
                (false, "upsert") => all(&[base, vec![company("d2")], rows(1)]),
                _ => rows_now,
            };
            assert_eq!(site.rows(), sorted(&expected));
            site.at_rest_with(&expected);
        }
    }
}
