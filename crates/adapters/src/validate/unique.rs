//! Values that must be unique are not those of another row of the base. Rows with a null among them
//! are not judged, and rows that the input replaces do not count.

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::ArrowError;
use arrow_select::concat::concat;
use arrow_select::filter::filter;
use futures::TryStreamExt;
use graphwrite_substrate::TableHandle;

use super::PostImage;
use crate::input::within::{index_of, unique_sets};
use crate::input::{Faults, Rule, TableInput, Violation, quoted, row_key_text};
use crate::keys::RowIndex;
use crate::load::{Changes, LoadError};
use crate::probe::{BaseTables, scan_matching};

/// Does another row have one of these values?
pub(super) struct UniqueQuestion<'a> {
    pub(super) table: &'a TableInput,
    changes: &'a Changes,
    columns: Vec<String>,
    /// The rows of the input that have a value in every column.
    index: RowIndex,
}

pub(super) fn questions<'a>(post: &PostImage<'a>) -> Result<Vec<UniqueQuestion<'a>>, ArrowError> {
    let mut questions = Vec::new();
    for (_, table, changes) in post.tables().filter(|(_, _, changes)| changes.any()) {
        for columns in unique_sets(post.schema, table.identity) {
            let index = index_of(table, &columns)?;
            if index.len() > 0 {
                questions.push(UniqueQuestion { table, changes, columns, index });
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
    ) -> Result<Faults, LoadError> {
        let mut taken = match tables.get(self.table.identity) {
            Some(table) => self.taken(table).await?,
            None => Vec::new(),
        };
        taken.sort_unstable();
        let mut faults = post.faults();
        for (row, other) in taken {
            faults.push(self.violation(row as usize, &other)?);
        }
        Ok(faults)
    }

    async fn taken(&self, table: &TableHandle) -> Result<Vec<Taken>, LoadError> {
        let mut columns = self.table.named_by.clone();
        for column in std::iter::once(&self.table.key_column).chain(&self.columns) {
            if !columns.contains(column) {
                columns.push(column.clone());
            }
        }
        let mut taken = Vec::new();
        let mut batches = scan_matching(table, columns, self.values()?).await?;
        while let Some(batch) = batches.try_next().await? {
            taken.extend(self.taken_in(&batch)?);
        }
        Ok(taken)
    }

    /// The values that changed rows have, column by column.
    fn values(&self) -> Result<Vec<(String, ArrayRef)>, ArrowError> {
        let values = |column: &String| {
            let mut first = 0;
            let mut pieces = Vec::new();
            for piece in self.table.columns(&[column])?.into_iter().flatten() {
                let rows = first..first + piece.len();
                first = rows.end;
                let keep: BooleanArray = rows.map(|row| Some(self.changes.changes(row))).collect();
                pieces.push(filter(&piece, &keep)?);
            }
            let pieces: Vec<_> = pieces.iter().map(AsRef::as_ref).collect();
            Ok((column.clone(), concat(&pieces)?))
        };
        self.columns.iter().map(values).collect()
    }

    fn taken_in(&self, batch: &RecordBatch) -> Result<Vec<Taken>, ArrowError> {
        let column = |name: &String| {
            let at = batch.schema().index_of(name)?;
            Ok(ArrayRef::clone(batch.column(at)))
        };
        let values = self.columns.iter().map(column).collect::<Result<Vec<_>, ArrowError>>()?;
        let values = self.index.encode(&values)?;
        let keys = self.table.keys.encode(&[column(&self.table.key_column)?])?;
        let rows = (0..batch.num_rows()).filter_map(|at| {
            let row = self.index.find(values.row(at))?;
            // The row of the base is replaced, so its value is free.
            let replaced = self.table.keys.find(keys.row(at)).is_some();
            (!replaced).then(|| (row, row_key_text(batch, &self.table.named_by, at)))
        });
        Ok(rows.collect())
    }

    fn violation(&self, row: usize, other: &str) -> Result<Violation, ArrowError> {
        let value = self.table.value_text(&self.columns, row)?;
        let other = quoted(other);
        Ok(Violation {
            place: self.table.place(row),
            table: Some(self.table.name.clone()),
            field: Some(self.columns.join(", ")),
            rule: Rule::Unique,
            message: format!("`{value}` must be unique and is the value of `{other}` already"),
            found: Some(value),
        })
    }
}
