//! Constraints on the post-image.

use graphwrite_protocol_types::Access;

use crate::load::LoadMode::{Append, Upsert};
use crate::world::{Came, World, committed, invalid};
use crate::*;

fn person(slug: &str, email: &str) -> String {
    format!(r#"{{"type":"Person","data":{{"slug":"{slug}","email":"{email}"}}}}"#)
}

fn place(slug: &str, city: &str, country: &str) -> String {
    format!(r#"{{"type":"Place","data":{{"slug":"{slug}","city":"{city}","country":{country}}}}}"#)
}

fn visit(id: &str, from: &str, to: &str) -> String {
    format!(r#"{{"edge":"Visits","from":"{from}","to":"{to}","data":{{"id":"{id}"}}}}"#)
}

fn seat(id: &str, from: &str) -> String {
    format!(r#"{{"edge":"Seat","from":"{from}","to":"p","data":{{"id":"{id}"}}}}"#)
}

fn lines(lines: &[String]) -> Vec<&str> {
    lines.iter().map(String::as_str).collect()
}

#[tokio::test]
async fn an_end_exists_in_the_input_or_in_the_base() {
    let world = World::with(&[&person("a", "1")]).await;
    let rows = [
        r#"{"edge":"Knows","from":"a","to":"b"}"#.to_owned(),
        person("b", "2"),
        r#"{"edge":"Knows","from":"b","to":"c"}"#.to_owned(),
        r#"{"edge":"Uses","from":"x","to":7}"#.to_owned(),
        r#"{"edge":"Uses","from":"a","to":8}"#.to_owned(),
        r#"{"type":"Types","data":{"key":7}}"#.to_owned(),
    ];
    for mode in [Append, Upsert] {
        let Came::Invalid(mut found) = world.load(mode, &lines(&rows)).await else { panic!() };
        found.sort();
        assert_eq!(
            found,
            ["line 3 Knows.to endpoint", "line 4 Uses.from endpoint", "line 5 Uses.to endpoint"]
        );
    }
    let good = [&rows[0], &rows[1], &rows[5], &r#"{"edge":"Uses","from":"b","to":7}"#.to_owned()];
    let good: Vec<_> = good.iter().map(|line| line.as_str()).collect();
    let came = world.load(Append, &good).await;
    let all = [("Knows", 1, 0, 0), ("Person", 1, 0, 0), ("Types", 1, 0, 0), ("Uses", 1, 0, 0)];
    assert_eq!(came, committed(&all));
}

#[tokio::test]
async fn a_missing_end_is_named_with_its_node_type() {
    let world = World::new().await;
    let refused = world.prepare(Append, &[r#"{"edge":"Uses","from":"a","to":-7}"#]).await;
    let Err(PrepareError::Invalid(found)) = refused else { panic!("{refused:?}") };
    let messages: Vec<_> = found.listed().iter().map(ToString::to_string).collect();
    assert!(
        messages.contains(
            &"line 1: Uses.to: there is no Types with the key `-7` [endpoint]".to_owned()
        ),
        "{messages:?}"
    );
}

#[tokio::test]
async fn probed_tables_are_members_of_the_read_set_absent_ones_too() {
    let world = World::with(&[&person("a", "1"), &person("b", "2")]).await;
    let write = world.planned(Append, &[r#"{"edge":"Knows","from":"a","to":"b"}"#]).await;
    let members = |write: &crate::world::Write| {
        let tables = write.write().read_set.tables();
        let mut members: Vec<_> =
            tables.map(|(identity, member)| (world.name(identity), member.access)).collect();
        members.sort();
        members
    };
    let expected = [("Knows", Access::Written), ("Person", Access::Probed)];
    assert_eq!(members(&write), expected.map(|(name, access)| (name.to_owned(), access)));
    // A table that has no rows yet decides too: its first row may change the answer.
    let rows = [
        place("p", "A", "null"),
        r#"{"type":"Types","data":{"key":7}}"#.to_owned(),
        r#"{"edge":"LiesIn","from":7,"to":"p"}"#.to_owned(),
        r#"{"type":"Firm","data":{"slug":"f"}}"#.to_owned(),
        seat("s", "f"),
    ];
    let write = world.planned(Append, &lines(&rows)).await;
    assert!(members(&write).iter().all(|(_, access)| *access == Access::Written));
    let refused = world.prepare(Append, &[&rows[3]]).await;
    assert!(matches!(refused, Err(PrepareError::Invalid(_))), "{refused:?}");
}

#[tokio::test]
async fn unique_values_are_compared_with_rows_that_stay() {
    let world = World::with(&[&person("a", "1"), &person("b", "2")]).await;
    let taken = [person("c", "2")];
    for mode in [Append, Upsert] {
        let came = world.load(mode, &lines(&taken)).await;
        assert_eq!(came, invalid(&["line 1 Person.email unique"]));
    }
    let refused = world.prepare(Append, &lines(&taken)).await;
    let Err(PrepareError::Invalid(found)) = refused else { panic!("{refused:?}") };
    let message = "`2` must be unique and is the value of `b` already";
    assert_eq!(found.listed()[0].message, message);
}

#[tokio::test]
async fn values_of_replaced_rows_are_free() {
    let world = World::with(&[&person("a", "1"), &person("b", "2")]).await;
    let swapped = [person("a", "2"), person("b", "1")];
    let came = world.load(Upsert, &lines(&swapped)).await;
    assert_eq!(came, committed(&[("Person", 0, 2, 0)]));
    let handed_on = [person("a", "3"), person("c", "2")];
    let came = world.load(Upsert, &lines(&handed_on)).await;
    assert_eq!(came, committed(&[("Person", 1, 1, 0)]));
}

#[tokio::test]
async fn sets_are_unique_together_and_nulls_never_collide() {
    let world = World::with(&[&place("p", "A", "\"NL\""), &place("q", "A", "null")]).await;
    let free = [place("r", "A", "null"), place("s", "A", "\"BE\""), place("t", "B", "\"NL\"")];
    assert_eq!(world.load(Append, &lines(&free)).await, committed(&[("Place", 3, 0, 0)]));
    let taken = [place("u", "A", "null"), place("v", "A", "\"NL\"")];
    let came = world.load(Append, &lines(&taken)).await;
    assert_eq!(came, invalid(&["line 2 Place.city, country unique"]));
}

async fn visited() -> World {
    let rows = [person("a", "1"), person("b", "2"), place("p", "A", "null"), visit("v1", "a", "p")];
    World::with(&lines(&rows)).await
}

#[tokio::test]
async fn a_maximum_counts_edges_of_the_base_and_of_the_input() {
    let world = visited().await;
    let two = [visit("v2", "a", "p"), visit("v3", "a", "p")];
    for mode in [Append, Upsert] {
        let came = world.load(mode, &lines(&two)).await;
        assert_eq!(came, invalid(&["line 2 Visits.from cardinality"]));
    }
    let refused = world.prepare(Append, &lines(&two)).await;
    let Err(PrepareError::Invalid(found)) = refused else { panic!("{refused:?}") };
    let message = "`a` would have 3 Visits edges, and 0..2 are allowed";
    assert_eq!(found.listed()[0].message, message);
    assert_eq!(world.load(Append, &lines(&two[..1])).await, committed(&[("Visits", 1, 0, 0)]));
}

#[tokio::test]
async fn an_edge_that_is_replaced_counts_once() {
    let world = visited().await;
    let rows = [
        r#"{"edge":"Visits","from":"a","to":"p","data":{"id":"v1","note":"again"}}"#.to_owned(),
        visit("v2", "a", "p"),
    ];
    let came = world.load(Upsert, &lines(&rows)).await;
    assert_eq!(came, committed(&[("Visits", 1, 1, 0)]));
}

#[tokio::test]
async fn an_edge_that_moves_counts_for_its_new_source_only() {
    let world = visited().await;
    let moved = [visit("v1", "b", "p"), visit("v2", "a", "p"), visit("v3", "a", "p")];
    let came = world.load(Upsert, &lines(&moved)).await;
    assert_eq!(came, committed(&[("Visits", 2, 1, 0)]));
    let back = [visit("v1", "a", "p")];
    let came = world.load(Upsert, &lines(&back)).await;
    assert_eq!(came, invalid(&["line 1 Visits.from cardinality"]));
}

fn firm(slug: &str) -> String {
    format!(r#"{{"type":"Firm","data":{{"slug":"{slug}"}}}}"#)
}

#[tokio::test]
async fn a_minimum_binds_new_sources() {
    let world = World::with(&[&place("p", "A", "null")]).await;
    let bare = [firm("f"), firm("g"), seat("s", "g")];
    for mode in [Append, Upsert] {
        let came = world.load(mode, &lines(&bare)).await;
        assert_eq!(came, invalid(&["line 1 Seat.from cardinality"]));
    }
    let came = world.load(Append, &lines(&bare[1..])).await;
    assert_eq!(came, committed(&[("Firm", 1, 0, 0), ("Seat", 1, 0, 0)]));
    // A node that is there already has its edges.
    assert_eq!(world.load(Upsert, &lines(&bare[1..2])).await, Came::NoChange);
}

#[tokio::test]
async fn a_minimum_binds_the_source_that_an_edge_leaves() {
    let rows = [place("p", "A", "null"), firm("f"), seat("s", "f"), firm("g"), seat("t", "g")];
    let world = World::with(&lines(&rows)).await;
    let moved = [seat("s", "g")];
    let came = world.load(Upsert, &lines(&moved)).await;
    assert_eq!(came, invalid(&["line 1 Seat.from cardinality"]));
    let replaced = [seat("s", "g"), seat("u", "f")];
    let came = world.load(Upsert, &lines(&replaced)).await;
    assert_eq!(came, committed(&[("Seat", 1, 1, 0)]));
}

#[tokio::test]
async fn faults_of_all_constraints_are_reported_together() {
    let world = visited().await;
    let rows = [person("c", "1"), visit("v2", "a", "nowhere"), visit("v3", "a", "p"), firm("f")];
    let Came::Invalid(mut found) = world.load(Append, &lines(&rows)).await else { panic!() };
    found.sort();
    assert_eq!(
        found,
        [
            "line 1 Person.email unique",
            "line 2 Visits.to endpoint",
            "line 3 Visits.from cardinality",
            "line 4 Seat.from cardinality",
        ]
    );
}

/// Judges rows as those of a whole graph, over the base of `world`.
async fn whole(world: &World, rows: &[String]) -> Vec<String> {
    let input = world.schema.input(&lines(rows));
    let base = world.base().await;
    match check_graph(&world.store, &base, &world.schema.schema, &input).await {
        Ok(()) => Vec::new(),
        Err(PrepareError::Invalid(found)) => {
            found.listed().iter().map(crate::world::brief).collect()
        }
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_whole_graph_is_sound_or_its_faults_are_named() {
    let rows = [
        person("a", "1"),
        place("p", "A", "null"),
        visit("v1", "a", "p"),
        visit("v2", "a", "p"),
        firm("f"),
        seat("s", "f"),
    ];
    let world = World::with(&lines(&rows)).await;
    assert_eq!(whole(&world, &rows).await, [""; 0]);
    let empty = World::new().await;
    let torn = [person("a", "1"), firm("f"), visit("v1", "a", "p")];
    let mut found = whole(&empty, &torn).await;
    found.sort();
    assert_eq!(found, ["line 2 Seat.from cardinality", "line 3 Visits.to endpoint"]);
}
