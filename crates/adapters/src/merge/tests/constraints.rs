//! Each side is right by itself, and both together are not.

use graphwrite_protocol_types::{BaseView, TableHeadToken};
use graphwrite_substrate::TableHandle;

use super::doubts::checked;
use super::rows::{Table, with};
use super::tables::Tables;
use crate::merge::*;
use crate::world::{Came, World};
use crate::{LoadMode, Place};

fn person(slug: &str, email: &str) -> String {
    let email = if email.is_empty() { String::new() } else { format!(r#","email":"{email}""#) };
    format!(r#"{{"type":"Person","data":{{"slug":"{slug}"{email}}}}}"#)
}

fn place(slug: &str) -> String {
    format!(r#"{{"type":"Place","data":{{"slug":"{slug}","city":"{slug}"}}}}"#)
}

fn firm(slug: &str) -> String {
    format!(r#"{{"type":"Firm","data":{{"slug":"{slug}"}}}}"#)
}

fn knows(from: &str, to: &str) -> String {
    format!(r#"{{"edge":"Knows","from":"{from}","to":"{to}"}}"#)
}

fn parallel(edge: &str, id: &str, from: &str) -> String {
    format!(r#"{{"edge":"{edge}","from":"{from}","to":"q","data":{{"id":"{id}"}}}}"#)
}

/// A graph whose target has moved on from a base, and what one change of a branch comes to in it.
struct Sides {
    world: World,
    base: Vec<(&'static str, TableHandle)>,
    view: BaseView,
    strategy: MergeStrategy,
}

/// A change of one table on the branch: the keys that go, and the lines that come.
struct Change {
    name: &'static str,
    gone: &'static [&'static str],
    added: Vec<String>,
}

impl Sides {
    async fn of(lines: &[String]) -> Self {
        let world = World::new().await;
        let view = world.base().await;
        let mut sides = Self { world, base: Vec::new(), view, strategy: MergeStrategy::Fail };
        sides.target(LoadMode::Append, lines).await;
        sides.view = sides.world.base().await;
        for name in ["Person", "Knows", "Visits", "Seat", "Firm"] {
            let opened = sides.world.open(name).await;
            sides.base.extend(opened.map(|table| (name, table)));
        }
        sides
    }

    async fn target(&self, mode: LoadMode, lines: &[String]) {
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        let came = self.world.load(mode, &lines).await;
        assert!(matches!(came, Came::Committed(_)), "{came:?}");
    }

    async fn merged(&self, changes: &[Change]) -> MergedConstraints {
        let schema = &self.world.schema.schema;
        let (mut merged, mut of_source) = (Vec::new(), self.view.clone());
        for Change { name, gone, added } in changes {
            let mut tables = Tables::of(&self.world.store, Table::of(schema, name));
            let base = self.base.iter().find(|(of, _)| of == name).map(|(_, table)| table);
            let gone: Vec<_> = gone.iter().map(|key| (*key).to_owned()).collect();
            let source = match base {
                Some(base) => {
                    let forked = tables.fork(base).await;
                    tables.change(&forked, &gone, added).await
                }
                None => tables.create(added).await,
            };
            let target = self.world.open(name).await;
            let head = tables.head(&source).await;
            of_source.heads.insert(head.identity, TableHeadToken::Live(Box::new(head)));
            let (source, target) = (Some(&source), target.as_ref());
            let sides = MergeTables { bases: vec![base], older: Vec::new(), source, target };
            let options = with(self.strategy);
            let table = merge_table(schema, tables.table.def(), &sides, &options).await.unwrap();
            let is_in_conflict = table.conflicts().counts().total() > 0;
            assert!(!is_in_conflict || self.strategy != MergeStrategy::Fail);
            merged.push(table);
        }
        let target = self.world.base().await;
        checked(&self.world.store, (&of_source, &target), schema, &merged).await
    }
}

fn one(found: &MergedConstraints) -> (&'static str, Place) {
    assert_eq!((found.total, found.listed.len()), (1, 1), "{found:?}");
    (found.listed[0].kind.name(), found.listed[0].violation.place.clone())
}

fn of_source(table: &str, key: &str) -> Place {
    Place::Merged { table: table.to_owned(), key: Some(key.to_owned()) }
}

fn adds(name: &'static str, added: Vec<String>) -> Change {
    Change { name, gone: &[], added }
}

fn removes(name: &'static str, gone: &'static [&'static str]) -> Change {
    Change { name, gone, added: Vec::new() }
}

#[tokio::test]
async fn a_unique_value_of_both_sides_names_both_rows() {
    let sides = Sides::of(&[person("p1", "")]).await;
    sides.target(LoadMode::Append, &[person("p9", "e1")]).await;
    let found = sides.merged(&[adds("Person", vec![person("p8", "e1")])]).await;
    assert_eq!(one(&found), ("unique", of_source("Person", "p8")));
    let text = found.listed[0].violation.to_string();
    assert!(text.contains("`e1`") && text.contains("`p9`") && text.contains("`p8`"), "{text}");
}

#[tokio::test]
async fn values_that_are_not_set_are_not_the_same() {
    let sides = Sides::of(&[person("p1", "")]).await;
    sides.target(LoadMode::Append, &[person("p9", "")]).await;
    let found = sides.merged(&[adds("Person", vec![person("p7", ""), person("p8", "e")])]).await;
    assert_eq!(found, MergedConstraints::default());
}

#[tokio::test]
async fn a_unique_value_that_the_merge_itself_frees_may_be_taken() {
    let sides = Sides::of(&[person("p1", "e1"), person("p2", "")]).await;
    sides.target(LoadMode::Upsert, &[person("p3", "")]).await;
    let gives = Change {
        name: "Person",
        gone: &["p1", "p2"],
        added: vec![person("p1", ""), person("p2", "e1")],
    };
    assert_eq!(sides.merged(&[gives]).await.total, 0);
}

#[tokio::test]
async fn an_edge_of_the_source_to_a_node_that_the_target_deleted_is_an_orphan() {
    let sides = Sides::of(&[person("p1", ""), person("p2", ""), person("p3", "")]).await;
    sides.target(LoadMode::Overwrite, &[person("p1", ""), person("p3", "")]).await;
    let edges = vec![knows("p1", "p2"), knows("p1", "p3")];
    let found = sides.merged(&[adds("Knows", edges)]).await;
    assert_eq!(one(&found), ("orphan_edge", of_source("Knows", "p1 -> p2")));
    assert_eq!(found.probed, [sides.world.identity("Person")].into());
}

#[tokio::test]
async fn a_node_that_the_source_deleted_leaves_an_edge_of_the_target_behind() {
    let sides = Sides::of(&[person("p1", ""), person("p2", ""), person("p3", "")]).await;
    sides.target(LoadMode::Append, &[knows("p1", "p2")]).await;
    let found = sides.merged(&[removes("Person", &["p2"])]).await;
    assert_eq!(one(&found), ("orphan_edge", Place::Merged { table: "Person".into(), key: None }));
    assert!(found.listed[0].violation.message.contains("p1 -> p2"), "{found:?}");
    assert_eq!(sides.merged(&[removes("Person", &["p3"])]).await.total, 0);
}

#[tokio::test]
async fn a_node_and_its_edge_that_the_source_adds_together_are_right() {
    let sides = Sides::of(&[person("p1", "")]).await;
    sides.target(LoadMode::Append, &[person("p9", "")]).await;
    let changes = [adds("Person", vec![person("p2", "")]), adds("Knows", vec![knows("p2", "p1")])];
    assert_eq!(sides.merged(&changes).await, MergedConstraints::default());
}

#[tokio::test]
async fn edges_of_both_sides_count_together_towards_the_most() {
    let lines = [person("p1", ""), place("q"), parallel("Visits", "v1", "p1")];
    let sides = Sides::of(&lines).await;
    sides.target(LoadMode::Append, &[parallel("Visits", "v2", "p1")]).await;
    let found = sides.merged(&[adds("Visits", vec![parallel("Visits", "v3", "p1")])]).await;
    assert_eq!(one(&found), ("cardinality", of_source("Visits", "v3")));
}

#[tokio::test]
async fn an_edge_that_the_source_moves_away_makes_room_for_one_of_the_target() {
    let lines = [person("p1", ""), person("p2", ""), place("q"), parallel("Visits", "v1", "p1")];
    let sides = Sides::of(&lines).await;
    sides
        .target(LoadMode::Append, &[parallel("Visits", "v2", "p1"), parallel("Visits", "v3", "p2")])
        .await;
    let moves =
        Change { name: "Visits", gone: &["v1"], added: vec![parallel("Visits", "v1", "p2")] };
    assert_eq!(sides.merged(&[moves]).await.total, 0);
}

#[tokio::test]
async fn edges_that_each_side_may_remove_leave_too_few_when_both_do() {
    let seats = ["s1", "s2"].map(|id| parallel("Seat", id, "f"));
    let lines = [&[firm("f"), place("q")], seats.as_slice()].concat();
    let sides = Sides::of(&lines).await;
    sides.target(LoadMode::Overwrite, &[parallel("Seat", "s1", "f")]).await;
    let found = sides.merged(&[removes("Seat", &["s1"])]).await;
    assert_eq!(one(&found), ("cardinality", Place::Merged { table: "Seat".into(), key: None }));
    let replaced = Change { name: "Seat", gone: &["s1"], added: vec![parallel("Seat", "s9", "f")] };
    assert_eq!(sides.merged(&[replaced]).await.total, 0);
}

#[tokio::test]
async fn a_node_that_stays_against_its_deletion_has_lost_the_edges_that_the_source_deleted_with_it()
{
    let lines = [firm("f"), firm("g"), place("q")];
    let seats = [parallel("Seat", "s1", "f"), parallel("Seat", "s2", "g")];
    let mut sides = Sides::of(&[lines.as_slice(), &seats].concat()).await;
    let renamed = r#"{"type":"Firm","data":{"slug":"f","name":"F"}}"#;
    sides.target(LoadMode::Upsert, &[renamed.to_owned()]).await;
    sides.strategy = MergeStrategy::Ours;
    let found = sides.merged(&[removes("Firm", &["f"]), removes("Seat", &["s1"])]).await;
    assert_eq!(one(&found), ("cardinality", Place::Merged { table: "Seat".into(), key: None }));
}
