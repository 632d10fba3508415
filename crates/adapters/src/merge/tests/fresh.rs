//! Many rows of the source that no other side has, beside some that others have too: merged as in the order of
//! their keys.

use std::collections::BTreeSet;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt64Array};
use graphwrite_substrate::{MemoryStorage, RowAddresses, Store, TableHandle};

use super::cost::{TOML, key, people, stream};
use super::rows::Table;
use super::tables::Tables;
use crate::merge::*;
use crate::testing::TestSchema;

/// New rows of the source; enough that they are not asked for by name.
const NEW: std::ops::Range<u32> = 1_000..11_000;

struct Graph {
    tables: Tables,
    base: TableHandle,
    source: TableHandle,
    target: TableHandle,
}

impl Graph {
    async fn commit(
        &mut self,
        on: &TableHandle,
        gone: &[u64],
        rows: &[u32],
        age: i32,
    ) -> TableHandle {
        let gone: RowAddresses = gone.iter().copied().collect();
        let rows = stream(&self.tables, people(rows, age));
        self.tables.commit(on, &gone, Some(rows)).await
    }

    /// A hundred rows, of which each side has changed some, alike and not alike. Both have added ten with
    /// the same keys, half of them alike, and the source very many.
    async fn new() -> Self {
        let store = Store::memory(&MemoryStorage::new());
        let schema = TestSchema::of(TOML);
        let mut tables = Tables::of(&store, Table::of(&schema.schema, "Person"));
        let first = stream(&tables, people(&(0..100).collect::<Vec<_>>(), 1));
        let base = tables.create_of(first).await;
        let forked = tables.fork(&base).await;
        let mut graph = Self { tables, source: forked.clone(), target: base.clone(), base };
        let source = graph.commit(&forked, &[0, 1, 2, 3, 8], &[0, 1, 2, 3], 2).await;
        let source = graph.commit(&source, &[], &NEW.collect::<Vec<_>>(), 2).await;
        graph.source = graph.commit(&source, &[], &(500..510).collect::<Vec<_>>(), 2).await;
        let base = graph.base.clone();
        let target = graph.commit(&base, &[2, 3, 4, 9], &[2, 4], 2).await;
        let target = graph.commit(&target, &[], &(500..505).collect::<Vec<_>>(), 2).await;
        graph.target = graph.commit(&target, &[], &(505..520).collect::<Vec<_>>(), 3).await;
        graph
    }

    async fn merge(&self, options: MergeOptions) -> Result<MergedTable, MergeError> {
        let Self { tables, base, source, target } = self;
        let sides = MergeTables {
            bases: vec![Some(base)],
            older: Vec::new(),
            source: Some(source),
            target: Some(target),
        };
        let (graph, def) = (&tables.table.schema.schema, tables.table.def());
        merge_table(graph, def, &sides, &options).await
    }
}

fn keys(merged: &MergedTable) -> Vec<String> {
    let mut keys = Vec::new();
    for batch in merged.rows().batches().map(Result::unwrap) {
        let column = batch.column_by_name("slug").unwrap().clone();
        let texts = column.as_any().downcast_ref::<StringArray>().unwrap();
        keys.extend((0..texts.len()).map(|row| texts.value(row).to_owned()));
    }
    keys
}

/// With no addresses, since those of the target are what is told of it.
fn rows(of: &MergedTable, table: &Table) -> BTreeSet<String> {
    let with_address = |batch: RecordBatch| {
        let none: ArrayRef = std::sync::Arc::new(UInt64Array::from(vec![0; batch.num_rows()]));
        let columns = batch.columns().iter().cloned().chain([none]);
        let schema = super::rows::addressed(&table.columns());
        RecordBatch::try_new(schema, columns.collect()).unwrap()
    };
    let batches = of.rows().batches().map(|batch| with_address(batch.unwrap()));
    batches.flat_map(|batch| table.lines(&batch)).collect()
}

#[tokio::test]
async fn rows_that_only_the_source_has_are_merged_as_in_the_order_of_their_keys() {
    let graph = Graph::new().await;
    for (strategy, bytes_max) in [
        (MergeStrategy::Fail, 256 << 20),
        (MergeStrategy::Ours, 4 << 20),
        (MergeStrategy::Theirs, 4 << 20),
    ] {
        let options = MergeOptions { strategy, bytes_max, ..MergeOptions::default() };
        let found = graph.merge(options.clone()).await.unwrap();
        let ordered = graph.merge(MergeOptions { ordered: true, ..options }).await.unwrap();
        assert_eq!(found.counts(), ordered.counts());
        assert_eq!(found.conflicts(), ordered.conflicts());
        assert!(found.leaving().eq(ordered.leaving()));
        assert_eq!(rows(&found, &graph.tables.table), rows(&ordered, &graph.tables.table));
        assert_eq!(keys(&found).len(), keys(&ordered).len());
        let counts = found.counts();
        assert_eq!(counts.adopted, 10_000 + u64::from(strategy == MergeStrategy::Theirs));
        assert!(counts.converged > 0 && counts.removed == 1, "{counts:?}");
        assert!(found.conflicts().counts().total() >= 6);
        // They are not put in order for it, but for some that may be known by their hash.
        assert!(keys(&ordered).is_sorted());
        let as_they_came: Vec<_> = NEW.map(key).collect();
        let places = keys(&found)
            .into_iter()
            .map_while(|key| as_they_came.iter().take(1_000).position(|of| *of == key));
        let places: Vec<_> = places.collect();
        assert!(places.len() > 900 && places.is_sorted(), "{} rows", places.len());
    }
}

#[tokio::test]
async fn a_key_that_the_source_has_added_twice_is_refused_among_many_new_ones() {
    let mut graph = Graph::new().await;
    let source = graph.source.clone();
    graph.source = graph.commit(&source, &[], &[7_000], 9).await;
    let Err(MergeError::DuplicateKey { key: found, side, .. }) =
        graph.merge(MergeOptions::default()).await
    else {
        panic!("it is merged")
    };
    assert_eq!((found, side), (key(7_000), "source"));
}
