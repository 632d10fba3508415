//! Values that must be unique are not those of another row of the base. Rows with a null among them
//! are not judged, and rows that go do not count.

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::ArrowError;
use arrow_select::concat::concat;
use arrow_select::filter::filter;
use futures::TryStreamExt;
use graphwrite_substrate::TableHandle;

use super::PostImage;
use crate::change::{TableChange, addresses};
use crate::error::PrepareError;
use crate::input::within::{index_of, unique_sets};
use crate::input::{Faults, Rule, Violation, quoted, row_key_text};
use crate::keys::RowIndex;
use crate::probe::{BaseTables, scan_matching};

/// Does another row have one of these values?
pub(super) struct UniqueQuestion<'a> {
    pub(super) table: &'a TableChange<'a>,
    columns: Vec<String>,
    /// The rows of the input that have a value in every column.
    index: RowIndex,
}

pub(super) fn questions<'a>(post: &PostImage<'a>) -> Result<Vec<UniqueQuestion<'a>>, ArrowError> {
    let mut questions = Vec::new();
    for (_, table) in post.tables().filter(|(_, table)| table.changes.puts()) {
        for columns in unique_sets(post.schema, table.identity()) {
            let index = index_of(table.rows, &columns)?;
            if index.len() > 0 {
                questions.push(UniqueQuestion { table, columns, index });
            }
        }
    }
    Ok(questions)
}

/// A row of the input and the key of the row of the base that has its value.
type Taken = (u32, String);

impl UniqueQuestion<'_> {
    pub(super) async fn ask(
        &self,
        post: &PostImage<'_>,
        tables: &BaseTables<'_>,
    ) -> Result<Faults, PrepareError> {
        let mut taken = match tables.get(self.table.identity()) {
            Some(table) => self.taken(post, table).await?,
            None => Vec::new(),
        };
        taken.sort_unstable();
        let mut faults = post.faults();
        for (row, other) in taken {
            faults.push(self.violation(row as usize, &other)?);
        }
        Ok(faults)
    }

    async fn taken(
        &self,
        post: &PostImage<'_>,
        table: &TableHandle,
    ) -> Result<Vec<Taken>, PrepareError> {
        let mut columns = self.table.rows.named_by.clone();
        for column in &self.columns {
            if !columns.contains(column) {
                columns.push(column.clone());
            }
        }
        let mut taken = Vec::new();
        let mut batches = scan_matching(table, columns, self.values()?).await?;
        while let Some(batch) = batches.try_next().await? {
            taken.extend(self.taken_in(post, &batch)?);
        }
        Ok(taken)
    }

    /// The values that changed rows have, column by column.
    fn values(&self) -> Result<Vec<(String, ArrayRef)>, ArrowError> {
        let values = |column: &String| {
            let mut first = 0;
            let mut pieces = Vec::new();
            for piece in self.table.rows.columns(&[column])?.into_iter().flatten() {
                let rows = first..first + piece.len();
                first = rows.end;
                let keep: BooleanArray =
                    rows.map(|row| Some(self.table.changes.changes(row))).collect();
                pieces.push(filter(&piece, &keep)?);
            }
            let pieces: Vec<_> = pieces.iter().map(AsRef::as_ref).collect();
            Ok((column.clone(), concat(&pieces)?))
        };
        self.columns.iter().map(values).collect()
    }

    fn taken_in(
        &self,
        post: &PostImage<'_>,
        batch: &RecordBatch,
    ) -> Result<Vec<Taken>, ArrowError> {
        let column = |name: &String| {
            let at = batch.schema().index_of(name)?;
            Ok(ArrayRef::clone(batch.column(at)))
        };
        let values = self.columns.iter().map(column).collect::<Result<Vec<_>, ArrowError>>()?;
        let values = self.index.encode(&values)?;
        let (stands, places) = (post.stands(self.table.identity()), addresses(batch)?);
        let rows = (0..batch.num_rows()).filter_map(|at| {
            let row = self.index.find(values.row(at))?;
            // A row that is put as it is meets itself.
            let is_taken = self.table.changes.changes(row as usize) && stands(places.value(at));
            is_taken.then(|| (row, row_key_text(batch, &self.table.rows.named_by, at)))
        });
        Ok(rows.collect())
    }

    fn violation(&self, row: usize, other: &str) -> Result<Violation, ArrowError> {
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
