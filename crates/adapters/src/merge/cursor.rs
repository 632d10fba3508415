//! One side of a merge as it is read: rows in the order of their keys, batch by batch, each with its key
//! and its values as comparable bytes. It judges nothing.

use arrow_array::{RecordBatch, UInt32Array};
use arrow_row::{Row, Rows};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::take::take_record_batch;

use crate::input::RowsError;
use crate::keys::Encoder;

/// Rows of one side, ordered by key; the table's columns, then the address.
pub(super) type SortedRows = Box<dyn Iterator<Item = Result<RecordBatch, RowsError>> + Send>;

/// How rows of the table are compared.
#[derive(Debug)]
pub(super) struct Layout {
    /// The table's columns.
    pub(super) schema: SchemaRef,
    key: usize,
    keys: Encoder,
    values: Encoder,
}

impl Layout {
    pub(super) fn new(schema: SchemaRef, key: &str) -> Result<Self, ArrowError> {
        let key = schema.index_of(key)?;
        let types = schema.fields().iter().map(|field| field.data_type().clone());
        let keys = Encoder::new([schema.field(key).data_type().clone()])?;
        let values = Encoder::new(types)?;
        Ok(Self { schema, key, keys, values })
    }

    /// The table's columns of a batch.
    pub(super) fn without_address(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let columns = batch.columns()[..self.schema.fields().len()].to_vec();
        RecordBatch::try_new(SchemaRef::clone(&self.schema), columns)
    }

    /// One row of a batch, by itself.
    pub(super) fn one_row(
        &self,
        batch: &RecordBatch,
        row: usize,
    ) -> Result<RecordBatch, ArrowError> {
        let row = UInt32Array::from(vec![row as u32]);
        take_record_batch(&self.without_address(batch)?, &row)
    }

    fn keys(&self, batch: &RecordBatch) -> Result<Rows, ArrowError> {
        self.keys.rows(std::slice::from_ref(batch.column(self.key)))
    }

    fn values(&self, batch: &RecordBatch) -> Result<Rows, ArrowError> {
        self.values.rows(&batch.columns()[..self.schema.fields().len()])
    }
}

/// Where the reading of a side stands.
pub(super) struct Cursor {
    rest: SortedRows,
    page: Option<Page>,
}

/// The batch at hand.
struct Page {
    batch: RecordBatch,
    keys: Rows,
    /// Where one of its rows was compared.
    values: Option<Rows>,
    row: usize,
}

impl Cursor {
    /// Stands at the first row.
    pub(super) fn open(rest: SortedRows, layout: &Layout) -> Result<Self, RowsError> {
        let mut cursor = Self { rest, page: None };
        cursor.turn(layout)?;
        Ok(cursor)
    }

    /// The key at hand; none at the end.
    pub(super) fn key(&self) -> Option<Row<'_>> {
        self.page.as_ref().map(|page| page.keys.row(page.row))
    }

    /// Makes the values of the batch at hand comparable.
    pub(super) fn open_values(&mut self, layout: &Layout) -> Result<(), ArrowError> {
        if let Some(page) = self.page.as_mut().filter(|page| page.values.is_none()) {
            page.values = Some(layout.values(&page.batch)?);
        }
        Ok(())
    }

    /// The values at hand, where they were opened.
    pub(super) fn values(&self) -> Option<Row<'_>> {
        let page = self.page.as_ref()?;
        page.values.as_ref().map(|values| values.row(page.row))
    }

    /// The batch at hand and the row in it.
    pub(super) fn place(&self) -> Option<(&RecordBatch, usize)> {
        self.page.as_ref().map(|page| (&page.batch, page.row))
    }

    /// Whether the row at hand is the last one of its batch.
    pub(super) fn ends_batch(&self) -> bool {
        self.page.as_ref().is_some_and(|page| page.row + 1 == page.batch.num_rows())
    }

    /// Goes to the next row; false when that has the same key.
    pub(super) fn advance(&mut self, layout: &Layout) -> Result<bool, RowsError> {
        let Some(page) = &mut self.page else { return Ok(true) };
        if page.row + 1 < page.batch.num_rows() {
            page.row += 1;
            return Ok(page.keys.row(page.row) != page.keys.row(page.row - 1));
        }
        let last = page.keys.row(page.row).data().to_vec();
        self.turn(layout)?;
        Ok(self.key().is_none_or(|key| key.data() != last))
    }

    /// Takes the next batch that has rows to hand.
    fn turn(&mut self, layout: &Layout) -> Result<(), RowsError> {
        self.page = None;
        for batch in self.rest.by_ref() {
            let batch = batch?;
            if batch.num_rows() > 0 {
                let keys = layout.keys(&batch)?;
                self.page = Some(Page { batch, keys, values: None, row: 0 });
                break;
            }
        }
        Ok(())
    }
}
