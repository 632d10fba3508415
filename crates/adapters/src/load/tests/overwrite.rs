//! Loads that replace all rows of the tables that they name.

use crate::load::LoadMode::{Append, Overwrite};
use crate::world::{Came, World, committed, invalid};

fn person(slug: &str, email: &str) -> String {
    format!(r#"{{"type":"Person","data":{{"slug":"{slug}","email":"{email}"}}}}"#)
}

fn knows(from: &str, to: &str) -> String {
    format!(r#"{{"edge":"Knows","from":"{from}","to":"{to}"}}"#)
}

fn place(slug: &str) -> String {
    format!(r#"{{"type":"Place","data":{{"slug":"{slug}","city":"{slug}"}}}}"#)
}

fn firm(slug: &str) -> String {
    format!(r#"{{"type":"Firm","data":{{"slug":"{slug}"}}}}"#)
}

fn seat(id: &str, from: &str) -> String {
    format!(r#"{{"edge":"Seat","from":"{from}","to":"x","data":{{"id":"{id}"}}}}"#)
}

fn lines(lines: &[String]) -> Vec<&str> {
    lines.iter().map(String::as_str).collect()
}

async fn world(rows: &[String]) -> World {
    World::with(&lines(rows)).await
}

#[tokio::test]
async fn the_rows_of_a_named_table_are_replaced_and_other_tables_stay() {
    let world = world(&[person("a", "1"), person("b", "2"), person("c", "3"), place("x")]).await;
    let rows = [person("a", "1"), person("b", "9"), person("d", "4")];
    let came = world.load(Overwrite, &lines(&rows)).await;
    assert_eq!(came, committed(&[("Person", 1, 1, 1)]));
    assert_eq!(world.rows("Person").await, rows);
    assert_eq!(world.rows("Place").await, [place("x")]);
}

#[tokio::test]
async fn rows_that_the_load_leaves_out_are_counted_as_deleted() {
    let world = world(&[person("a", "1"), person("b", "2"), person("c", "3")]).await;
    let planned = world.planned(Overwrite, &[&person("a", "1")]).await;
    let table = &planned.write().lineage.tables[0];
    assert_eq!((table.inserted, table.updated, table.deleted, table.unchanged), (0, 0, 2, 1));
}

#[tokio::test]
async fn the_same_rows_change_nothing() {
    let rows = [person("a", "1"), person("b", "2"), knows("a", "b")];
    let world = world(&rows).await;
    assert_eq!(world.load(Overwrite, &lines(&rows)).await, Came::NoChange);
}

#[tokio::test]
async fn a_unique_value_of_a_row_that_is_left_out_is_free() {
    let world = world(&[person("a", "1"), person("b", "2")]).await;
    let rows = [person("a", "2"), person("c", "1")];
    let came = world.load(Overwrite, &lines(&rows)).await;
    assert_eq!(came, committed(&[("Person", 1, 1, 0)]));
    assert_eq!(world.rows("Person").await, rows);
}

#[tokio::test]
async fn a_node_that_an_edge_names_cannot_be_left_out() {
    let world = world(&[person("a", "1"), person("b", "2"), knows("a", "b")]).await;
    let left_out = "the rows of Person that the load leaves out Person.slug referenced";
    let came = world.load(Overwrite, &lines(&[person("a", "1")])).await;
    assert_eq!(came, invalid(&[left_out]));
    let came = world.load(Overwrite, &lines(&[person("b", "2")])).await;
    assert_eq!(came, invalid(&[left_out]));
    assert_eq!(world.rows("Person").await.len(), 2);
}

#[tokio::test]
async fn a_node_may_be_left_out_together_with_its_edges() {
    let world =
        world(&[person("a", "1"), person("b", "2"), knows("a", "b"), knows("b", "b")]).await;
    let rows = [knows("a", "a"), person("a", "1")];
    let came = world.load(Overwrite, &lines(&rows)).await;
    assert_eq!(came, committed(&[("Knows", 1, 0, 0), ("Person", 0, 0, 1)]));
    assert_eq!(world.rows("Knows").await, [r#"{"edge":"Knows","from":"a","to":"a","data":{}}"#]);
}

#[tokio::test]
async fn an_edge_that_is_kept_as_it_is_holds_its_ends() {
    let world = world(&[person("a", "1"), person("b", "2"), knows("a", "b")]).await;
    let came = world.load(Overwrite, &lines(&[knows("a", "b"), person("a", "1")])).await;
    let left_out = "the rows of Person that the load leaves out Person.slug referenced";
    assert_eq!(came, invalid(&[left_out]));
}

#[tokio::test]
async fn a_new_edge_cannot_name_a_node_that_is_left_out() {
    let world = world(&[person("a", "1"), person("b", "2")]).await;
    let came = world.load(Overwrite, &lines(&[knows("a", "b"), person("a", "1")])).await;
    assert_eq!(came, invalid(&["line 1 Knows.to endpoint"]));
}

#[tokio::test]
async fn a_minimum_is_kept_for_sources_that_lose_their_edges() {
    let rows = [place("x"), firm("f"), firm("g"), seat("1", "f"), seat("2", "g")];
    let world = world(&rows).await;
    let came = world.load(Overwrite, &lines(&[seat("3", "f")])).await;
    let left_out = "the rows of Seat that the load leaves out Seat.from cardinality";
    assert_eq!(came, invalid(&[left_out]));
    let came = world.load(Overwrite, &lines(&[seat("3", "f"), seat("4", "g")])).await;
    assert_eq!(came, committed(&[("Seat", 2, 0, 0)]));
}

#[tokio::test]
async fn a_node_that_goes_needs_no_edge() {
    let rows = [place("x"), firm("f"), firm("g"), seat("1", "f"), seat("2", "g")];
    let world = world(&rows).await;
    let came = world.load(Overwrite, &lines(&[firm("f"), seat("1", "f")])).await;
    assert_eq!(came, committed(&[("Firm", 0, 0, 1), ("Seat", 0, 0, 1)]));
    assert_eq!(world.rows("Firm").await, [firm("f")]);
}

#[tokio::test]
async fn a_table_that_was_never_loaded_is_created() {
    let world = World::new().await;
    let came = world.load(Overwrite, &lines(&[person("a", "1")])).await;
    assert_eq!(came, committed(&[("Person", 1, 0, 0)]));
}

#[tokio::test]
async fn every_row_of_many_batches_is_replaced() {
    let row = |number: usize| format!(r#"{{"type":"Person","data":{{"slug":"s{number:05}"}}}}"#);
    let before: Vec<_> = (0..20_000).map(row).collect();
    let world = world(&before).await;
    let after: Vec<_> = (19_990..20_010).map(row).collect();
    let came = world.load(Overwrite, &lines(&after)).await;
    assert_eq!(came, committed(&[("Person", 10, 0, 10)]));
    assert_eq!(world.rows("Person").await, after);
    assert_eq!(world.load(Append, &[&before[0]]).await, committed(&[("Person", 1, 0, 0)]));
}
