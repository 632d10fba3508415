//! Two processes, each of which alone keeps every constraint and both together would not: one has
//! prepared and stalls just before its intent, the other goes first. Both orders.

use super::site::{Site, all, company, knows, person, text, works_at};

/// One side: the rows and the mode of its load, and the rule that it breaks when it comes second.
struct Side {
    rows: Vec<String>,
    mode: &'static str,
    breaks: &'static str,
}

fn appends(rows: Vec<String>, breaks: &'static str) -> Side {
    Side { rows, mode: "append", breaks }
}

/// Both orders over `base`; `after` says the rows when only that side was first.
fn one_wins(base: &[String], sides: [Side; 2], after: [Vec<String>; 2]) {
    for first in [0, 1] {
        let site = Site::new();
        site.load(base).exits(0);
        let (winner, loser) = (&sides[first], &sides[1 - first]);
        let stalled = site.paused_load(&loser.rows, "pre_arm", &["--mode", loser.mode]);
        site.load_with(&winner.rows, &["--mode", winner.mode]).exits(0);
        let end = stalled.release().exits(5);
        let error = end.error();
        assert_eq!(text(&error, "code"), "invalid_input", "{error:#}");
        assert_eq!(error["details"][0]["rule"], loser.breaks, "{error:#}");
        assert_eq!(error["effect"], "none", "{error:#}");
        site.at_rest_with(&after[first]);
        assert_eq!(site.operations().len(), 2, "the base and the winner");
    }
}

fn persons() -> Vec<String> {
    vec![person("p1", 1), person("p2", 2), person("p3", 3)]
}

#[test]
fn an_edge_and_an_overwrite_that_takes_its_end_away_are_never_both_there() {
    let overwrite = Side { rows: persons()[..2].to_vec(), mode: "overwrite", breaks: "referenced" };
    let edge = vec![knows("p1", "p3")];
    let after = [persons()[..2].to_vec(), all(&[persons(), edge.clone()])];
    one_wins(&persons(), [overwrite, appends(edge, "endpoint")], after);
}

fn refused(end: &super::program::Run, rule: &str) {
    let error = end.error();
    assert_eq!(text(&error, "code"), "invalid_input", "{error:#}");
    assert_eq!((&error["details"][0]["rule"], &error["effect"]), (&rule.into(), &"none".into()));
}

fn site_of_persons() -> Site {
    let site = Site::new();
    site.load(&persons()).exits(0);
    site
}

#[test]
fn an_edge_and_a_mutation_that_deletes_its_end_are_never_both_there() {
    let delete = r#"[{"delete":{"type":"Person","key":"p3"}}]"#;
    let edge = vec![knows("p1", "p3")];

    let site = site_of_persons();
    let stalled = site.paused_load(&edge, "pre_arm", &[]);
    site.mutate(delete).exits(0);
    refused(&stalled.release().exits(5), "endpoint");
    site.at_rest_with(&persons()[..2]);

    let site = site_of_persons();
    let stalled = site.paused_mutation(delete, "pre_arm");
    site.load(&edge).exits(0);
    refused(&stalled.release().exits(5), "referenced");
    site.at_rest_with(&all(&[persons(), edge]));
}

#[test]
fn a_cascade_takes_the_edge_that_was_faster_and_keeps_out_the_one_that_is_late() {
    let delete = r#"[{"delete":{"type":"Person","key":"p3","cascade":true}}]"#;
    let edge = vec![knows("p1", "p3")];

    let site = site_of_persons();
    let stalled = site.paused_mutation(delete, "pre_arm");
    site.load(&edge).exits(0);
    assert!(stalled.release().exits(0).json()["restarts"].as_u64().unwrap() > 0);
    site.at_rest_with(&persons()[..2]);

    let site = site_of_persons();
    let stalled = site.paused_load(&edge, "pre_arm", &[]);
    site.mutate(delete).exits(0);
    refused(&stalled.release().exits(5), "endpoint");
    site.at_rest_with(&persons()[..2]);
}

#[test]
fn two_rows_with_one_unique_value_are_never_both_there() {
    let row = |slug: &str| {
        vec![format!(r#"{{"type":"Person","data":{{"slug":"{slug}","email":"k@x"}}}}"#)]
    };
    let sides = [appends(row("k1"), "unique"), appends(row("k2"), "unique")];
    let after = ["k1", "k2"].map(|slug| all(&[persons(), row(slug)]));
    one_wins(&persons(), sides, after);
}

#[test]
fn two_edges_from_a_source_that_may_have_one_are_never_both_there() {
    let base = vec![person("p1", 1), company("c1"), company("c2")];
    let edge = |to: &str| vec![works_at("p1", to)];
    let sides = [appends(edge("c1"), "cardinality"), appends(edge("c2"), "cardinality")];
    let after = ["c1", "c2"].map(|to| all(&[base.clone(), edge(to)]));
    one_wins(&base, sides, after);
}

#[test]
fn first_rows_of_one_new_table_are_all_there() {
    for first in [0, 1] {
        let site = Site::new();
        site.load(&persons()).exits(0);
        let sides = [vec![knows("p1", "p2")], vec![knows("p2", "p1")]];
        let stalled = site.paused_load(&sides[1 - first], "pre_arm", &[]);
        site.load(&sides[first]).exits(0);
        let end = stalled.release().exits(0);
        assert!(end.json()["restarts"].as_u64().unwrap() > 0, "{end:#?}");
        site.at_rest_with(&all(&[persons(), sides.concat()]));
    }
}

#[test]
fn one_new_key_by_two_kinds_of_load_is_one_row() {
    let rows = |age| vec![person("k1", age)];
    for (stalls, goes_first) in [("upsert", "append"), ("append", "upsert"), ("append", "append")] {
        let site = Site::new();
        site.load(&persons()).exits(0);
        let stalled = site.paused_load(&rows(1), "pre_arm", &["--mode", stalls]);
        site.load_with(&rows(2), &["--mode", goes_first]).exits(0);
        let end = stalled.release();
        let age = match stalls {
            "append" => {
                assert_eq!(end.exits(4).error_code(), "key_conflict");
                2
            }
            _ => {
                assert_eq!(end.exits(0).json()["tables"][0]["updated"], 1);
                1
            }
        };
        site.at_rest_with(&all(&[persons(), rows(age)]));
    }
}
