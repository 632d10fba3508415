//! Real tables merged by either route: with the same result, that of a reference in plain Rust, and at a
//! cost that follows what has changed.

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_substrate::TableHandle;

use super::chance::Chance;
use super::tables::Tables;
use crate::merge::*;

type Content = BTreeMap<String, String>;

fn node(key: &str, value: u32) -> String {
    format!(r#"{{"type":"Person","data":{{"slug":"{key}","age":{value}}}}}"#)
}

fn edge(key: &str, value: u32) -> String {
    let source = value % 3;
    format!(
        r#"{{"edge":"Visits","from":"s{source}","to":"q","data":{{"id":"{key}","note":"{value}"}}}}"#
    )
}

type Line = fn(&str, u32) -> String;

/// A few commits of a side: rows are changed, deleted and added, from a small choice of values, so that both
/// sides sometimes do the same.
async fn edited(
    tables: &mut Tables,
    on: TableHandle,
    line: Line,
    chance: &mut Chance,
    compacts: bool,
) -> TableHandle {
    let mut table = on;
    for _ in 0..1 + chance.below(3) {
        let present: BTreeSet<String> = tables.content(&table).await.into_keys().collect();
        let (mut gone, mut added) = (BTreeSet::new(), BTreeMap::new());
        for _ in 0..1 + chance.below(8) {
            let key = format!("k{:02}", chance.below(30));
            let value = 100 + chance.below(2) as u32;
            if present.contains(&key) && !added.contains_key(&key) {
                gone.insert(key.clone());
            }
            if chance.below(3) > 0 {
                added.insert(key.clone(), line(&key, value));
            }
        }
        let (gone, added): (Vec<_>, Vec<_>) =
            (gone.into_iter().collect(), added.into_values().collect());
        if !gone.is_empty() || !added.is_empty() {
            table = tables.change(&table, &gone, &added).await;
        }
        if compacts && chance.below(3) == 0 {
            table = tables.compact(&table).await;
        }
    }
    table
}

/// The content after the merge, and the keys that are conflicts.
fn reference(bases: &[Content], source: &Content, target: &Content) -> (Content, usize) {
    let (mut after, mut conflicts) = (target.clone(), 0);
    let keys: BTreeSet<&String> =
        bases.iter().chain([source, target]).flat_map(Content::keys).collect();
    for key in keys {
        let (source, target) = (source.get(key), target.get(key));
        let of_base = |base: &Content| match base.get(key) {
            base if base == source || source == target => Some(target),
            base if base == target => Some(source),
            _ => None,
        };
        let results: BTreeSet<_> = bases.iter().map(of_base).collect();
        match results.into_iter().collect::<Vec<_>>().as_slice() {
            [Some(Some(row))] => drop(after.insert(key.clone(), (*row).clone())),
            [Some(None)] => drop(after.remove(key)),
            _ => conflicts += 1,
        }
    }
    (after, conflicts)
}

struct Case<'a> {
    tables: &'a Tables,
    bases: Vec<Option<&'a TableHandle>>,
    source: Option<&'a TableHandle>,
    target: Option<&'a TableHandle>,
}

impl Case<'_> {
    async fn merge(&self, options: &MergeOptions) -> MergedTable {
        let Self { tables, bases, source, target } = self;
        let table = &tables.table;
        let sides = MergeTables {
            bases: bases.clone(),
            older: Vec::new(),
            source: *source,
            target: *target,
        };
        merge_table(&table.schema.schema, table.def(), &sides, options).await.unwrap()
    }

    async fn content(&self, of: Option<&TableHandle>) -> Content {
        match of {
            Some(table) => self.tables.content(table).await,
            None => Content::new(),
        }
    }

    /// By both routes, against the reference. Gives what was discovered by the first.
    async fn check(&self) -> Discovery {
        let all = MergeOptions { conflicts_listed_max: 1_000, ..MergeOptions::default() };
        let found = self.merge(&all).await;
        let ordered = self.merge(&MergeOptions { ordered: true, ..all }).await;
        assert_eq!(ordered.discovery().route, MergeRoute::Ordered);
        assert_eq!(found.counts(), ordered.counts());
        assert_eq!(found.conflicts(), ordered.conflicts());
        assert!(found.leaving().eq(ordered.leaving()));
        let mut bases = Vec::new();
        for base in &self.bases {
            bases.push(self.content(*base).await);
        }
        let (source, target) = (self.content(self.source).await, self.content(self.target).await);
        let (after, conflicts) = reference(&bases, &source, &target);
        let expected: BTreeSet<String> = after.into_values().collect();
        for merged in [&found, &ordered] {
            let rows = match self.target {
                Some(target) => self.tables.rows_of(target).await,
                None => self.tables.table.rows(&[]),
            };
            assert_eq!(self.tables.table.after(&rows, merged), expected);
            assert_eq!(merged.conflicts().counts().total(), conflicts as u64);
        }
        assert!(found.discovery().rows_read <= ordered.discovery().rows_read);
        found.discovery()
    }
}

async fn random_histories(name: &'static str, line: Line, compacts: bool) {
    let (mut routes, mut chance) = (BTreeSet::new(), Chance::new(11));
    for _ in 0..6 {
        let mut tables = Tables::new(name);
        let lines: Vec<_> = (0..20).map(|key| line(&format!("k{key:02}"), key)).collect();
        let first = tables.create(&lines).await;
        // The base has a history too, so that its files have deleted rows.
        let base = edited(&mut tables, first, line, &mut chance, compacts).await;
        let forked = tables.fork(&base).await;
        let source = edited(&mut tables, forked, line, &mut chance, compacts).await;
        let target = edited(&mut tables, base.clone(), line, &mut chance, compacts).await;
        let (source, target) = (Some(&source), Some(&target));
        let one = Case { tables: &tables, bases: vec![Some(&base)], source, target };
        routes.insert(one.check().await.route.name());
        // Two bases that are alike in most; either side may stand for a merged commit.
        let bases = vec![Some(&base), target];
        Case { tables: &tables, bases, source, target }.check().await;
    }
    assert!(routes.contains("provenance"), "{routes:?}");
    assert_eq!(routes.contains("ordered"), compacts, "{routes:?}");
}

#[tokio::test]
async fn nodes_of_random_histories_are_merged_the_same_by_either_route() {
    random_histories("Person", node, false).await;
}

#[tokio::test]
async fn edges_of_random_histories_are_merged_the_same_by_either_route() {
    random_histories("Visits", edge, false).await;
}

#[tokio::test]
async fn rows_whose_files_were_compacted_are_merged_the_same_by_either_route() {
    random_histories("Person", node, true).await;
}

#[tokio::test]
async fn a_type_that_both_sides_have_loaded_first_is_merged_across_its_datasets() {
    let mut tables = Tables::new("Person");
    let source = tables.create(&[node("a", 1), node("b", 1), node("c", 1)]).await;
    let target = tables.create(&[node("b", 1), node("c", 2), node("d", 2)]).await;
    let (source, target) = (Some(&source), Some(&target));
    for bases in [vec![None], vec![None, None]] {
        let case = Case { tables: &tables, bases, source, target };
        assert_eq!(case.check().await.route, MergeRoute::Ordered);
        let merged = case.merge(&MergeOptions::default()).await;
        assert_eq!((merged.counts().adopted, merged.counts().converged), (1, 1));
        assert_eq!(merged.conflicts().counts().of(ConflictKind::DivergentInsert), 1);
    }
}

#[tokio::test]
async fn a_table_without_rows_on_a_side_has_all_its_rows_deleted_or_added() {
    let mut tables = Tables::new("Person");
    let rows = tables.create(&[node("a", 1), node("b", 1)]).await;
    let rows = Some(&rows);
    let sides = [(None, None), (None, rows), (rows, None), (rows, rows)];
    for base in [None, rows] {
        for (source, target) in sides {
            Case { tables: &tables, bases: vec![base], source, target }.check().await;
        }
    }
}

#[tokio::test]
async fn what_the_source_has_not_changed_is_not_read_whatever_the_target_has_done() {
    let mut tables = Tables::new("Person");
    let base = tables.create(&[node("a", 1), node("b", 1)]).await;
    let source = tables.fork(&base).await;
    let target = tables.change(&base, &["a".to_owned()], &[node("c", 1)]).await;
    let target = tables.compact(&target).await;
    let (bases, source, target) = (vec![Some(&base)], Some(&source), Some(&target));
    let found = Case { tables: &tables, bases, source, target }.check().await;
    assert_eq!((found.route, found.rows_read), (MergeRoute::Provenance, 0));
}

#[tokio::test]
async fn a_file_whose_deleted_rows_only_the_target_changed_is_not_taken_for_changed() {
    let mut tables = Tables::new("Person");
    let first = tables.create(&[node("a", 1), node("b", 1), node("c", 1)]).await;
    let base = tables.change(&first, &["a".to_owned()], &[]).await;
    let forked = tables.fork(&base).await;
    let source = tables.change(&forked, &[], &[node("b2", 1)]).await;
    let target = tables.change(&base, &["c".to_owned()], &[]).await;
    let (bases, source, target) = (vec![Some(&base)], Some(&source), Some(&target));
    let found = Case { tables: &tables, bases, source, target }.check().await;
    assert_eq!((found.route, found.rows_read), (MergeRoute::Provenance, 1));
}

/// Rows read, and requests, of a merge of ten changed rows into so many.
async fn cost_of(rows: u32) -> (u64, u64) {
    let mut tables = Tables::new("Person");
    let key = |row: u32| format!("k{row:06}");
    let lines: Vec<_> = (0..rows).map(|row| node(&key(row), row)).collect();
    let base = tables.create(&lines).await;
    let forked = tables.fork(&base).await;
    let at = |part: u32| (0..10).map(|n| n * (rows / 10) + part).collect::<Vec<_>>();
    let changed = |part, value| {
        let keys: Vec<_> = at(part).into_iter().map(key).collect();
        let lines: Vec<_> = keys.iter().map(|key| node(key, value)).collect();
        (keys, lines)
    };
    let (keys, lines) = changed(0, 1_000_000);
    let source = tables.change(&forked, &keys, &lines).await;
    let (keys, lines) = changed(1, 2_000_000);
    let target = tables.change(&base, &keys, &lines).await;
    let (counted, counter) = tables.store.counting();
    let mut again = Vec::new();
    for table in [&base, &source, &target] {
        let pin = table.identity().await.unwrap().pin();
        let opened = TableHandle::open_pin(&counted, table.path(), table.physical_ref(), &pin);
        again.push(opened.await.unwrap());
    }
    let [base, source, target] = again.as_slice() else { unreachable!() };
    let (bases, source, target) = (vec![Some(base)], Some(source), Some(target));
    let case = Case { tables: &tables, bases, source, target };
    counter.take();
    let merged = case.merge(&MergeOptions::default()).await;
    assert_eq!((merged.counts().rewritten, merged.conflicts().counts().total()), (10, 0));
    (merged.discovery().rows_read, counter.take().total())
}

#[tokio::test]
async fn the_cost_follows_what_has_changed_and_not_what_there_is() {
    let (small, large) = (cost_of(400).await, cost_of(8_000).await);
    assert_eq!(small.0, large.0, "rows");
    assert!(large.0 <= 30, "{} rows are read for ten", large.0);
    assert!(large.1 <= small.1 + 2, "{small:?} {large:?} requests");
}

#[tokio::test]
async fn tables_with_other_columns_are_refused() {
    let (mut people, mut places) = (Tables::new("Person"), Tables::new("Firm"));
    let one = people.create(&[node("a", 1)]).await;
    let other = places.create(&[r#"{"type":"Firm","data":{"slug":"a"}}"#.to_owned()]).await;
    let tables = MergeTables {
        bases: vec![Some(&one)],
        older: Vec::new(),
        source: Some(&other),
        target: Some(&one),
    };
    let (graph, def) = (&people.table.schema.schema, people.table.def());
    let refused = merge_table(graph, def, &tables, &MergeOptions::default()).await;
    assert!(matches!(refused, Err(MergeError::SchemaDiverges { .. })), "{refused:?}");
}
