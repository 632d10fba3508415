//! What is asked where it is in doubt, against all that can be asked: the answer is the same, for a source and a
//! target of which each keeps every constraint by itself.

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_protocol_types::{BaseView, LiveHead, TableHeadToken};
use graphwrite_schema::GraphSchema;
use graphwrite_substrate::{Store, TableHandle};

use super::chance::Chance;
use super::rows::Table;
use super::tables::Tables;
use crate::merge::constraints::check_merged;
use crate::merge::*;
use crate::probe::BaseTables;
use crate::world::{Came, World};
use crate::{LoadMode, check_graph};

/// Asks about everything, and about what is in doubt.
pub(super) async fn checked(
    store: &Store,
    (source, target): (&BaseView, &BaseView),
    schema: &GraphSchema,
    merged: &[MergedTable],
) -> MergedConstraints {
    let mut tables = BaseTables::new(store, target);
    let all = check_merged(schema, merged, 100, (None, &mut tables)).await.unwrap();
    let (mut tables, mut of_source) =
        (BaseTables::new(store, target), BaseTables::new(store, source));
    let sides = (Some(&mut of_source), &mut tables);
    let in_doubt = check_merged(schema, merged, 100, sides).await.unwrap();
    assert_eq!(in_doubt, all, "only what is in doubt was asked");
    all
}

/// The lines of each type by their keys.
type Content = BTreeMap<&'static str, BTreeMap<String, String>>;

fn line(table: &str, key: &str, chance: &mut Chance) -> String {
    let mut pick = |name: &str, of: u64| format!("{name}{}", chance.below(of));
    match table {
        "Person" => {
            let email = match pick("e", 14) {
                email if email.len() > 2 => String::new(),
                email => format!(r#","email":"{email}""#),
            };
            format!(r#"{{"type":"Person","data":{{"slug":"{key}"{email}}}}}"#)
        }
        "Place" => format!(r#"{{"type":"Place","data":{{"slug":"{key}","city":"{key}"}}}}"#),
        "Firm" => {
            let name = pick("n", 3);
            format!(r#"{{"type":"Firm","data":{{"slug":"{key}","name":"{name}"}}}}"#)
        }
        edge => {
            let from = if edge == "Seat" { pick("f", 4) } else { pick("p", 9) };
            let to = pick("q", 3);
            format!(r#"{{"edge":"{edge}","from":"{from}","to":"{to}","data":{{"id":"{key}"}}}}"#)
        }
    }
}

const TABLES: [(&str, &str, u64); 5] = [
    ("Person", "p", 9),
    ("Place", "q", 3),
    ("Firm", "f", 4),
    ("Visits", "v", 12),
    ("Seat", "s", 6),
];

/// A few rows are added, changed or deleted.
fn edited(content: &Content, chance: &mut Chance) -> Content {
    let mut content = content.clone();
    for _ in 0..1 + chance.below(6) {
        let (table, prefix, keys) = TABLES[chance.below(TABLES.len() as u64) as usize];
        let key = format!("{prefix}{}", chance.below(keys));
        let rows = content.entry(table).or_default();
        // A table without rows would not be one that is overwritten.
        if chance.below(3) > 0 || rows.len() < 2 {
            let line = line(table, &key, chance);
            rows.insert(key, line);
        } else {
            rows.remove(&key);
        }
    }
    content
}

/// A graph, its base, and a source that keeps every constraint.
struct Graph {
    world: World,
    base: (Content, BTreeMap<&'static str, TableHandle>),
    source: (BaseView, BTreeMap<&'static str, TableHandle>),
}

async fn overwritten(world: &World, content: &Content) -> bool {
    let lines: Vec<_> = content.values().flat_map(BTreeMap::values).map(String::as_str).collect();
    world.schema.try_input(&lines).is_ok()
        && matches!(world.load(LoadMode::Overwrite, &lines).await, Came::Committed(_))
}

/// A content near this one that the world takes.
async fn taken(world: &World, content: &Content, chance: &mut Chance) -> Content {
    loop {
        let edited = edited(content, chance);
        if overwritten(world, &edited).await {
            return edited;
        }
    }
}

async fn opened(world: &World) -> BTreeMap<&'static str, TableHandle> {
    let mut opened = BTreeMap::new();
    for (name, ..) in TABLES {
        opened.extend(world.open(name).await.map(|table| (name, table)));
    }
    opened
}

impl Graph {
    async fn new(chance: &mut Chance) -> Self {
        let world = World::new().await;
        let mut content = Content::new();
        for (table, prefix, keys) in TABLES {
            let first = if table == "Person" { 7 } else { keys.min(4) };
            for key in (0..first).map(|key| format!("{prefix}{key}")) {
                let line = match table {
                    "Seat" => {
                        let from = key.replace('s', "f");
                        format!(
                            r#"{{"edge":"Seat","from":"{from}","to":"q0","data":{{"id":"{key}"}}}}"#
                        )
                    }
                    "Visits" => {
                        let from = key.replace('v', "p");
                        format!(
                            r#"{{"edge":"Visits","from":"{from}","to":"q1","data":{{"id":"{key}"}}}}"#
                        )
                    }
                    "Person" => format!(r#"{{"type":"Person","data":{{"slug":"{key}"}}}}"#),
                    table => line(table, &key, chance),
                };
                content.entry(table).or_default().insert(key, line);
            }
        }
        content.get_mut("Place").unwrap().remove("q3");
        assert!(overwritten(&world, &content).await);
        let content = taken(&world, &content, chance).await;
        let base = opened(&world).await;
        let mut source = taken(&world, &content, chance).await;
        for _ in 0..2 {
            source = taken(&world, &source, chance).await;
        }
        let source = (world.base().await, opened(&world).await);
        Self { world, base: (content, base), source }
    }

    /// A content near that of the base that keeps every constraint.
    async fn target(&self, chance: &mut Chance) -> Content {
        let (World { store, schema, .. }, base) = (&self.world, &self.source.0);
        loop {
            let edited = edited(&self.base.0, chance);
            let lines = edited.values().flat_map(BTreeMap::values);
            let lines: Vec<_> = lines.map(String::as_str).collect();
            if let Ok(rows) = schema.try_input(&lines)
                && check_graph(store, base, &schema.schema, &rows).await.is_ok()
            {
                return edited;
            }
        }
    }

    /// What a merge comes to in some target.
    async fn check(&self, chance: &mut Chance) -> MergedConstraints {
        let schema = &self.world.schema.schema;
        let strategies = [MergeStrategy::Fail, MergeStrategy::Ours, MergeStrategy::Theirs];
        let strategy = strategies[chance.below(3) as usize];
        let target = self.target(chance).await;
        let (mut merged, mut view) = (Vec::new(), self.source.0.clone());
        for (name, ..) in TABLES {
            let mut tables = Tables::of(&self.world.store, Table::of(schema, name));
            let base = &self.base.1[name];
            let mut of_target = tables.fork(base).await;
            let (before, after) = (&self.base.0[name], &target[name]);
            let gone = before.iter().filter(|(key, line)| after.get(*key) != Some(*line));
            let gone: Vec<_> = gone.map(|(key, _)| key.clone()).collect();
            let added = after.iter().filter(|(key, line)| before.get(*key) != Some(*line));
            let added: Vec<_> = added.map(|(_, line)| line.clone()).collect();
            if !gone.is_empty() {
                of_target = tables.change(&of_target, &gone, &[]).await;
            }
            // One by one, since rows of one input must not break a rule by themselves.
            for line in added {
                of_target = tables.change(&of_target, &[], &[line]).await;
            }
            let head = view.heads.get_mut(&tables.table.def().identity).unwrap();
            let TableHeadToken::Live(live) = head.clone() else { panic!("{name} has rows") };
            let pin = of_target.identity().await.unwrap().pin();
            let physical_ref = of_target.physical_ref().clone();
            *head = TableHeadToken::Live(Box::new(LiveHead { physical_ref, pin, ..*live }));
            let source = &self.source.1[name];
            if source.version() == base.version() {
                continue;
            }
            let sides = MergeTables {
                bases: vec![Some(base)],
                older: Vec::new(),
                source: Some(source),
                target: Some(&of_target),
            };
            let options = MergeOptions { strategy, ..MergeOptions::default() };
            let table = merge_table(schema, tables.table.def(), &sides, &options).await;
            merged.push(table.unwrap());
        }
        let views = (&self.source.0, &view);
        checked(&self.world.store, views, schema, &merged).await
    }
}

#[tokio::test]
async fn only_what_is_in_doubt_is_asked_and_the_answer_is_the_same() {
    let (mut found, mut right) = (BTreeSet::new(), 0);
    let mut chance = Chance::new(5);
    for _ in 0..4 {
        let graph = Graph::new(&mut chance).await;
        for _ in 0..12 {
            let constraints = graph.check(&mut chance).await;
            right += u64::from(constraints.total == 0);
            found.extend(
                constraints
                    .listed
                    .iter()
                    .map(|conflict| (conflict.kind.name(), conflict.violation.rule.code())),
            );
        }
    }
    assert!(right > 5, "{right} merges are right");
    assert_eq!(found.len(), 4, "{found:?}");
}
