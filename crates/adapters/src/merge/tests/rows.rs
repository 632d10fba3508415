//! Sides of a merge made of lines, and the rows that its result leaves in the target.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use graphwrite_schema::{GraphSchema, TypeDef};
use graphwrite_substrate::ROW_ADDRESS;

use crate::change::addresses;
use crate::input::identity_column;
use crate::merge::cursor::SortedRows;
use crate::merge::table::{Sides, TableMerge};
use crate::merge::*;
use crate::testing::TestSchema;
use crate::{RowRenderer, RowSorter};

/// A type of the test schema.
pub(super) struct Table {
    pub(super) schema: TestSchema,
    name: &'static str,
}

impl Table {
    pub(super) fn new(name: &'static str) -> Self {
        Self { schema: TestSchema::new(), name }
    }

    /// The type of a graph.
    pub(super) fn of(schema: &GraphSchema, name: &'static str) -> Self {
        Self { schema: TestSchema { schema: schema.clone() }, name }
    }

    pub(super) fn def(&self) -> &TypeDef {
        self.schema.schema.by_name(self.name).unwrap()
    }

    pub(super) fn columns(&self) -> SchemaRef {
        self.schema.schema.arrow_schema(self.def().identity).unwrap()
    }

    /// The rows of lines, with an address each, as a scan gives them.
    pub(super) fn rows(&self, lines: &[String]) -> RecordBatch {
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        let input = self.schema.input(&lines);
        let batches = input.tables().iter().flat_map(|table| table.batches());
        let batches: Vec<_> = batches.map(Result::unwrap).collect();
        let rows = arrow_select::concat::concat_batches(&self.columns(), &batches).unwrap();
        with_addresses(&rows)
    }

    pub(super) fn sorted(&self, rows: &[RecordBatch], bytes_max: u64) -> SortedRows {
        let key = identity_column(self.def());
        let schema = addressed(&self.columns());
        let mut sorter = RowSorter::new(schema, &[key], bytes_max).unwrap();
        rows.iter().for_each(|batch| sorter.push(batch.clone()).unwrap());
        sorter.finish().unwrap()
    }

    pub(super) fn merge(
        &self,
        bases: &[RecordBatch],
        source: &RecordBatch,
        target: &RecordBatch,
        options: &MergeOptions,
    ) -> Result<MergedTable, MergeError> {
        self.merge_by((bases, None), source, target, options)
    }

    /// With what two bases are merged with each other by.
    pub(super) fn merge_by(
        &self,
        (bases, older): (&[RecordBatch], Option<&RecordBatch>),
        source: &RecordBatch,
        target: &RecordBatch,
        options: &MergeOptions,
    ) -> Result<MergedTable, MergeError> {
        let side = |rows: &RecordBatch| self.sorted(std::slice::from_ref(rows), 1 << 20);
        let sides = Sides {
            bases: bases.iter().map(side).collect(),
            older: older.map(side).into_iter().collect(),
            source: side(source),
            target: side(target),
        };
        let (graph, def) = (&self.schema.schema, self.def());
        let merge = TableMerge::new(graph, def, self.columns(), sides, options)?;
        let older_of = vec![older.map(|_| vec![0])];
        merge.with_older(older_of).run(Discovery::default())
    }

    /// The lines of rows.
    pub(super) fn lines(&self, rows: &RecordBatch) -> BTreeSet<String> {
        let renderer = RowRenderer::new(&self.schema.schema, self.def().identity).unwrap();
        let mut text = String::new();
        renderer.render(&self.plain(rows), &mut text).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn plain(&self, rows: &RecordBatch) -> RecordBatch {
        let columns = rows.columns()[..self.columns().fields().len()].to_vec();
        RecordBatch::try_new(self.columns(), columns).unwrap()
    }

    /// The target's rows with what the merge does to them.
    pub(super) fn after(&self, target: &RecordBatch, merged: &MergedTable) -> BTreeSet<String> {
        let leaving: BTreeSet<u64> = merged.leaving().collect();
        let at = addresses(target).unwrap();
        let stays = at.values().iter().map(|address| Some(!leaving.contains(address))).collect();
        let mut lines = self.lines(&filter_record_batch(target, &stays).unwrap());
        let before = lines.len();
        let mut put = 0;
        for batch in merged.rows().batches() {
            let batch = batch.unwrap();
            put += batch.num_rows();
            lines.extend(self.lines(&batch));
        }
        assert_eq!(lines.len(), before + put, "no row is put twice");
        lines
    }
}

pub(super) fn addressed(columns: &SchemaRef) -> SchemaRef {
    let mut fields: Vec<_> = columns.fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new(ROW_ADDRESS, DataType::UInt64, true)));
    Arc::new(Schema::new(fields))
}

fn with_addresses(rows: &RecordBatch) -> RecordBatch {
    let addresses: ArrayRef =
        Arc::new(UInt64Array::from_iter_values((0..rows.num_rows() as u64).map(|row| row + 1000)));
    let columns = rows.columns().iter().cloned().chain([addresses]);
    RecordBatch::try_new(addressed(&rows.schema()), columns.collect()).unwrap()
}

pub(super) fn with(strategy: MergeStrategy) -> MergeOptions {
    MergeOptions { strategy, ..MergeOptions::default() }
}
