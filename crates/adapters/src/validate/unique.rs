//! Values that must be unique are not those of another row of the base. Rows with a null among them
//! are not judged, and rows that go do not count.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::ArrowError;
use futures::TryStreamExt;
use graphwrite_substrate::TableHandle;

use super::{Asking, Doubted, Doubts, PostImage, Room};
use crate::change::{TableChange, addresses};
use crate::error::PrepareError;
use crate::input::within::unique_sets;
use crate::input::{Earliest, Faults, RowsError, Rule, Violation, quoted, row_key_text};
use crate::keys::{Pass, RowIndex};
use crate::probe::{BaseTables, NAMED_VALUES_MAX, scan_matching};

/// Does another row have one of these values?
pub(super) struct UniqueQuestion<'a> {
    pub(super) table: &'a TableChange<'a>,
    columns: Vec<String>,
    doubted: Option<Doubted>,
    asking: Asking,
    /// The rows of the input that have a value in every column, where they are asked at once.
    ready: Option<Arc<RowIndex>>,
}

pub(super) fn questions<'a>(
    post: &PostImage<'a>,
    room: &mut Room,
    doubts: &Doubts,
) -> Result<Vec<UniqueQuestion<'a>>, PrepareError> {
    let mut questions = Vec::new();
    for (_, table) in post.tables().filter(|(_, table)| table.changes.puts()) {
        for columns in unique_sets(post.schema, table.identity()) {
            let doubted = doubts.unique(table.identity(), &columns).cloned();
            if doubted.as_ref().is_some_and(|values| values.len() == 0) {
                continue;
            }
            let question = UniqueQuestion::new(room, table, columns, doubted)?;
            if question.ready.as_ref().is_none_or(|index| index.len() > 0) {
                questions.push(question);
            }
        }
    }
    Ok(questions)
}

/// A row of the input and the key of the row of the base that has its value.
type Taken = (u32, String);

impl<'a> UniqueQuestion<'a> {
    fn new(
        room: &mut Room,
        table: &'a TableChange<'a>,
        columns: Vec<String>,
        doubted: Option<Doubted>,
    ) -> Result<Self, PrepareError> {
        let names: Vec<&str> = columns.iter().map(String::as_str).collect();
        let asking = room.plan(table.rows.rows() as u64, table.rows.width(&names)?);
        let mut question = Self { table, columns, doubted, asking, ready: None };
        if asking == Asking::AtOnce {
            question.ready = Some(Arc::new(question.index(Pass::ALL)?));
        }
        Ok(question)
    }

    pub(super) fn is_ready(&self) -> bool {
        self.ready.is_some()
    }

    pub(super) async fn ask(
        &self,
        post: &PostImage<'_>,
        tables: &BaseTables<'_>,
    ) -> Result<Faults, PrepareError> {
        let mut faults = post.faults();
        let mut taken = faults.earliest();
        if let Some(table) = tables.get(self.table.identity()) {
            for pass in self.asking.passes() {
                let index = match &self.ready {
                    Some(index) => Arc::clone(index),
                    None => Arc::new(self.index(pass)?),
                };
                self.find_taken(post, table, &index, &mut taken).await?;
            }
        }
        faults.append_earliest(taken, |(row, other)| self.violation(row as usize, &other))?;
        Ok(faults)
    }

    fn index(&self, pass: Pass) -> Result<RowIndex, RowsError> {
        let names: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        match &self.doubted {
            Some(doubted) => self.table.rows.index_among(&names, pass, doubted),
            None => self.table.rows.index(&names, pass),
        }
    }

    async fn find_taken(
        &self,
        post: &PostImage<'_>,
        table: &TableHandle,
        index: &RowIndex,
        taken: &mut Earliest<Taken>,
    ) -> Result<(), PrepareError> {
        let mut columns = self.table.rows.named_by.clone();
        for column in &self.columns {
            if !columns.contains(column) {
                columns.push(column.clone());
            }
        }
        let mut batches = scan_matching(table, columns, self.values(index)?).await?;
        while let Some(batch) = batches.try_next().await? {
            self.find_taken_in(post, &batch, index, taken)?;
        }
        Ok(())
    }

    /// The values that changed rows have, column by column, where they are few enough to be named.
    fn values(&self, index: &RowIndex) -> Result<Vec<(String, ArrayRef)>, ArrowError> {
        let changes = |at: &u32| self.table.changes.changes(index.number(*at) as usize);
        let changed = index.groups().flatten().copied().filter(changes);
        let changed: Vec<u32> = changed.take(NAMED_VALUES_MAX + 1).collect();
        if changed.len() > NAMED_VALUES_MAX {
            return Ok(Vec::new());
        }
        Ok(self.columns.iter().cloned().zip(index.values(&changed)?).collect())
    }

    fn find_taken_in(
        &self,
        post: &PostImage<'_>,
        batch: &RecordBatch,
        index: &RowIndex,
        taken: &mut Earliest<Taken>,
    ) -> Result<(), ArrowError> {
        let column = |name: &String| {
            let at = batch.schema().index_of(name)?;
            Ok(ArrayRef::clone(batch.column(at)))
        };
        let values = self.columns.iter().map(column).collect::<Result<Vec<_>, ArrowError>>()?;
        let values = index.encode(&values)?;
        let (stands, places) = (post.stands(self.table.identity()), addresses(batch)?);
        for at in 0..batch.num_rows() {
            let Some(row) = index.find(values.row(at)) else { continue };
            // A row that is put as it is meets itself.
            if self.table.changes.changes(row as usize) && stands(places.value(at)) {
                taken.push((row, row_key_text(batch, &self.table.rows.named_by, at)));
            }
        }
        Ok(())
    }

    fn violation(&self, row: usize, other: &str) -> Result<Violation, RowsError> {
        let value = self.table.rows.value_text(&self.columns, row)?;
        let other = quoted(other);
        Ok(Violation {
            place: self.table.rows.place(row),
            table: Some(self.table.rows.name.clone()),
            field: Some(self.columns.join(", ")),
            rule: Rule::Unique,
            message: format!("`{value}` must be unique and is the value of `{other}` already"),
            found: Some(value),
        })
    }
}
