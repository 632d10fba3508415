//! What a merge of few rows reads of a large table: what has changed, and nothing that grows with the table.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use graphwrite_protocol_types::{AttemptId, BaseView, TableHeadToken, TxUuid};
use graphwrite_substrate::*;

use super::rows::Table;
use super::tables::Tables;
use crate::change::TableChange;
use crate::merge::constraints::check_merged;
use crate::merge::*;
use crate::probe::BaseTables;
use crate::testing::TestSchema;
use crate::world::World;

pub(super) const TOML: &str = r#"
[node.Person]
key = "slug"
[node.Person.properties]
slug  = { type = "string" }
email = { type = "string", nullable = true, unique = true }
age   = { type = "i32", nullable = true }

[edge.Knows]
from = "Person"
to = "Person"
cardinality = "0..3"
multi = true
"#;

/// Keys in no order that the rows are in.
pub(super) fn key(row: u32) -> String {
    format!("p{:010}", row.wrapping_mul(2_654_435_761))
}

fn texts(values: impl Iterator<Item = String>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

pub(super) fn people(rows: &[u32], age: i32) -> Vec<(&'static str, ArrayRef)> {
    let ages = Int32Array::from_iter_values(rows.iter().map(|_| age));
    let email = |row: &u32| format!("{row}.{age}@example.org");
    vec![
        ("slug", texts(rows.iter().map(|row| key(*row)))),
        ("email", texts(rows.iter().map(email))),
        ("age", Arc::new(ages)),
    ]
}

/// From each of these people to the next.
fn edges(rows: &[u32], to: u32) -> Vec<(&'static str, ArrayRef)> {
    vec![
        ("id", texts(rows.iter().map(|row| format!("k{:010}", row.wrapping_mul(2_654_435_761))))),
        ("src", texts(rows.iter().map(|row| key(*row)))),
        ("dst", texts(rows.iter().map(|row| key(row + to)))),
    ]
}

type Columns = fn(&[u32], i32) -> Vec<(&'static str, ArrayRef)>;

/// One table on the three sides.
struct Sides {
    tables: Tables,
    base: TableHandle,
    source: TableHandle,
    target: TableHandle,
}

pub(super) fn stream(tables: &Tables, columns: Vec<(&'static str, ArrayRef)>) -> BatchStream {
    let schema = tables.table.columns();
    let column = |name: &str| columns.iter().find(|(of, _)| *of == name).unwrap().1.clone();
    let columns = schema.fields().iter().map(|field| column(field.name()));
    let rows = RecordBatch::try_new(schema.clone(), columns.collect()).unwrap();
    BatchStream::of(schema, vec![rows])
}

impl Sides {
    /// A table of so many rows, of which each side has changed fifty.
    async fn of(store: &Store, world: &World, name: &'static str, rows: u32, of: Columns) -> Self {
        let mut tables = Tables::of(store, Table::of(&world.schema.schema, name));
        let all = stream(&tables, of(&(0..rows).collect::<Vec<_>>(), 1));
        let base = tables.create_of(all).await;
        let forked = tables.fork(&base).await;
        let mut sides = Vec::new();
        for (part, on) in [&forked, &base].into_iter().enumerate() {
            let changed: Vec<u32> = (0..50).map(|n| 100 * n + 2 * part as u32).collect();
            let gone = changed.iter().map(|row| u64::from(*row)).collect();
            let again = stream(&tables, of(&changed, 2));
            sides.push(tables.commit(on, &gone, Some(again)).await);
        }
        let [source, target] = sides.try_into().unwrap();
        Self { tables, base, source, target }
    }

    async fn opened_in(self, store: &Store) -> Self {
        let open = async |table: &TableHandle| {
            let pin = table.identity().await.unwrap().pin();
            TableHandle::open_pin(store, table.path(), table.physical_ref(), &pin).await.unwrap()
        };
        let [base, source, target] =
            [open(&self.base).await, open(&self.source).await, open(&self.target).await];
        Self { base, source, target, ..self }
    }

    async fn add_to(&self, (source, target): (&mut BaseView, &mut BaseView)) {
        for (view, table) in [(source, &self.source), (target, &self.target)] {
            let head = self.tables.head(table).await;
            view.heads.insert(head.identity, TableHeadToken::Live(Box::new(head)));
        }
    }
}

/// Rows that a merge of both tables reads, and what it asks of the storage from the first look to the staged
/// files.
async fn cost_of(rows: u32) -> (u64, RequestCounts) {
    let world = World::of(TestSchema::of(TOML)).await;
    let schema = &world.schema.schema;
    let store = &world.store;
    let people = Sides::of(store, &world, "Person", rows, people).await;
    let edges = Sides::of(store, &world, "Knows", rows, |rows, to| edges(rows, to as u32)).await;
    let (counted, counter) = store.counting();
    let sides = [people.opened_in(&counted).await, edges.opened_in(&counted).await];
    let (mut source, mut target) = (world.base().await, world.base().await);
    for side in &sides {
        side.add_to((&mut source, &mut target)).await;
    }
    counter.take();
    let (mut merged, mut rows_read) = (Vec::new(), 0);
    for Sides { tables, base, source, target } in &sides {
        let sides = MergeTables {
            bases: vec![Some(base)],
            older: Vec::new(),
            source: Some(source),
            target: Some(target),
        };
        let table = merge_table(schema, tables.table.def(), &sides, &MergeOptions::default()).await;
        let table = table.unwrap();
        assert_eq!((table.counts().rewritten, table.conflicts().counts().total()), (50, 0));
        rows_read += table.discovery().rows_read;
        merged.push(table);
    }
    let (mut of_source, mut of_target) =
        (BaseTables::new(&counted, &source), BaseTables::new(&counted, &target));
    for Sides { tables, source, target, .. } in &sides {
        let identity = tables.table.def().identity;
        of_source.hold(identity, Some(source));
        of_target.hold(identity, Some(target));
    }
    let views = (Some(&mut of_source), &mut of_target);
    let found = check_merged(schema, &merged, 10, views).await;
    assert_eq!(found.unwrap(), MergedConstraints::default());
    for (number, (side, merged)) in (7..).zip(sides.iter().zip(&merged)) {
        let change = TableChange { rows: &merged.input, changes: merged.changes.clone() };
        let uuid = TxUuid::effect(AttemptId::from_u128(number), 0, 0);
        let added = Some(change.added().stream());
        Box::pin(stage_change(&side.target, &change.changes.replaced, added, uuid)).await.unwrap();
    }
    (rows_read, counter.take())
}

#[tokio::test]
async fn a_merge_of_few_rows_and_its_constraints_cost_the_same_in_a_large_table() {
    let ((rows, small), (rows_of_large, large)) = (cost_of(100_000).await, cost_of(300_000).await);
    assert_eq!(rows, rows_of_large);
    assert_eq!(small.by_kind, large.by_kind);
    let (small, large) = (small.bytes_read, large.bytes_read);
    assert!(large < small * 5 / 4, "{small} bytes, and {large} of the large table");
}
