//! Reading the rows of one side that were picked, into the order of their keys: from their addresses where
//! they are few, by a scan of their fragments where they are many. It decides on no row.

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use futures::TryStreamExt;
use graphwrite_substrate::{
    ROW_ADDRESS, RowAddresses, RowFilter, ScanRequest, SubstrateError, TableHandle,
};

use super::candidates::{Pick, Picked};
use crate::change::addresses;
use crate::probe::NAMED_VALUES_MAX;

/// A fragment of which at least one row in so many is picked is scanned as a whole.
const SCANNED_FROM: u64 = 16;
/// Rows that are read by address at a time.
const ROWS_AT_ONCE: usize = 4_096;

/// The keys of rows that were read, while they are few enough to be named in a condition.
#[derive(Debug, Default)]
pub(super) struct Keys {
    columns: Vec<ArrayRef>,
    count: usize,
}

impl Keys {
    pub(super) fn add(&mut self, column: &ArrayRef) {
        self.count += column.len();
        if self.count <= NAMED_VALUES_MAX {
            self.columns.push(ArrayRef::clone(column));
        } else {
            self.columns = Vec::new();
        }
    }

    /// The condition that a row has one of these keys; none when they are too many.
    pub(super) fn filter(&self, column: &str) -> Result<Option<RowFilter>, ArrowError> {
        if self.count > NAMED_VALUES_MAX || self.columns.is_empty() {
            return Ok(None);
        }
        let columns: Vec<&dyn Array> = self.columns.iter().map(AsRef::as_ref).collect();
        let values = arrow_select::concat::concat(&columns)?;
        Ok(Some(RowFilter::In { column: column.to_owned(), values }))
    }
}

/// The picked rows of a version.
pub(super) struct PickedRows<'a> {
    pub(super) table: &'a TableHandle,
    /// The columns that are read, then the address.
    pub(super) schema: &'a SchemaRef,
    pub(super) picked: &'a [Picked],
}

impl PickedRows<'_> {
    /// Reads at least those that `filter` holds for.
    pub(super) async fn read<E: From<SubstrateError> + From<ArrowError>>(
        &self,
        filter: Option<RowFilter>,
        mut take: impl FnMut(RecordBatch) -> Result<(), E>,
    ) -> Result<(), E> {
        let (scanned, few): (Vec<_>, Vec<_>) = self.picked.iter().partition(|of| is_scanned(of));
        let few: Vec<u64> = few.into_iter().flat_map(picked_addresses).collect();
        for portion in few.chunks(ROWS_AT_ONCE) {
            let portion: RowAddresses = portion.iter().copied().collect();
            let rows = Box::pin(self.table.rows_at(&self.columns(), &portion)).await?;
            take(self.in_order(&rows)?)?;
        }
        if scanned.is_empty() {
            return Ok(());
        }
        let request = ScanRequest {
            columns: Some(self.columns()),
            filter,
            fragments: Some(scanned.iter().map(|picked| picked.fragment).collect()),
            with_row_address: true,
            ..ScanRequest::default()
        };
        let mut batches = Box::pin(self.table.scan(request)).await?;
        while let Some(batch) = batches.try_next().await? {
            take(self.in_order(&only_picked(batch, &scanned)?)?)?;
        }
        Ok(())
    }

    fn columns(&self) -> Vec<String> {
        let names = self.schema.fields().iter().map(|field| field.name().clone());
        names.filter(|name| name != ROW_ADDRESS).collect()
    }

    /// The engine may give columns in another order.
    fn in_order(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let column = |field: &std::sync::Arc<Field>| {
            Ok(ArrayRef::clone(batch.column(batch.schema_ref().index_of(field.name())?)))
        };
        let columns = self.schema.fields().iter().map(column).collect::<Result<_, ArrowError>>()?;
        RecordBatch::try_new(SchemaRef::clone(self.schema), columns)
    }
}

/// The columns of a table and the address of each row.
pub(super) fn with_address(columns: &SchemaRef) -> SchemaRef {
    let address = Field::new(ROW_ADDRESS, DataType::UInt64, true);
    let fields = columns.fields().iter().cloned().chain([address.into()]);
    SchemaRef::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn is_scanned(picked: &Picked) -> bool {
    match (&picked.rows, picked.physical_rows) {
        (Pick::Only(offsets), Some(rows)) => offsets.len().saturating_mul(SCANNED_FROM) >= rows,
        _ => true,
    }
}

fn picked_addresses(picked: &Picked) -> impl Iterator<Item = u64> + '_ {
    let offsets = match &picked.rows {
        Pick::Only(offsets) => Some(offsets.iter()),
        Pick::All => None,
    };
    offsets.into_iter().flatten().map(|offset| picked.fragment << 32 | u64::from(offset))
}

/// The rows of scanned fragments that were picked.
fn only_picked(batch: RecordBatch, scanned: &[&Picked]) -> Result<RecordBatch, ArrowError> {
    if scanned.iter().all(|picked| matches!(picked.rows, Pick::All)) {
        return Ok(batch);
    }
    let is_picked = |address: &u64| {
        let of = scanned.iter().find(|picked| picked.fragment == address >> 32);
        of.is_some_and(|picked| match &picked.rows {
            Pick::All => true,
            Pick::Only(offsets) => offsets.contains(*address as u32),
        })
    };
    let keep: BooleanArray =
        addresses(&batch)?.values().iter().map(|address| Some(is_picked(address))).collect();
    filter_record_batch(&batch, &keep)
}
