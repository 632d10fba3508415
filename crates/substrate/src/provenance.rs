//! Where the rows of a version physically are, and reading some of them from there. Data files are written
//! once under names that are never used again, so rows at the same place of the same file are the same
//! rows, in whatever version, ref or dataset. It must not know what is compared, or why.

use std::sync::Arc;

use arrow_array::RecordBatch;
use lance::dataset::{ProjectionRequest, TakeBuilder};
use roaring::RoaringBitmap;

use crate::{RowAddresses, SubstrateError, TableHandle};

/// Where the rows of a fragment are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FragmentPlace {
    /// The fragment's id, which means nothing in another version of another ref.
    pub id: u64,
    /// The files that have its rows, by their paths below the graph's root, which are different for
    /// different content. None when they do not say everything about the rows.
    pub files: Option<Vec<String>>,
    /// Rows in the files, deleted ones included; none for files of very old writers.
    pub physical_rows: Option<u64>,
    /// The file that names the deleted rows.
    pub deletion: Option<String>,
}

impl TableHandle {
    /// The places of all rows, in the order of a scan. No request.
    ///
    /// # Errors
    /// A file is relative to something that the version does not name.
    pub fn places(&self) -> Result<Vec<FragmentPlace>, SubstrateError> {
        let files = self.files();
        let place = |fragment| {
            let named = files.of(fragment)?;
            let is_told_by_files = fragment.overlays.is_empty() && !named.data.is_empty();
            Ok(FragmentPlace {
                id: named.id,
                files: is_told_by_files.then_some(named.data),
                physical_rows: named.physical_rows,
                deletion: named.deletion,
            })
        };
        self.dataset().fragments().iter().map(place).collect()
    }

    /// The offsets of the deleted rows of a fragment. One read, if there are any.
    ///
    /// # Errors
    /// [`SubstrateError::InvalidRequest`] for a fragment that the version does not have, or the storage
    /// failed.
    pub async fn deleted_offsets(&self, fragment: u64) -> Result<RoaringBitmap, SubstrateError> {
        let found = usize::try_from(fragment).ok().and_then(|id| self.dataset().get_fragment(id));
        let found = found.ok_or_else(|| {
            SubstrateError::invalid(self.path(), format!("no fragment {fragment} in this version"))
        })?;
        let deleted = Box::pin(found.get_deletion_vector()).await;
        let deleted =
            deleted.map_err(|error| self.engine("reading which rows are removed", error))?;
        Ok(deleted.map(|deleted| deleted.iter().collect()).unwrap_or_default())
    }

    /// The live rows at these addresses of this version, in their order, with the columns named and the
    /// column [`ROW_ADDRESS`](crate::ROW_ADDRESS). Reads what is near them in the files, not the table.
    ///
    /// # Errors
    /// [`SubstrateError::InvalidRequest`] for a column or an address that is not there.
    pub async fn rows_at(
        &self,
        columns: &[String],
        addresses: &RowAddresses,
    ) -> Result<RecordBatch, SubstrateError> {
        columns.iter().try_for_each(|column| self.require_column(column))?;
        let failed = |error| self.engine("reading rows by address", error);
        let plan = ProjectionRequest::from_columns(columns, self.dataset().schema());
        let plan = plan.into_projection_plan(Arc::clone(self.dataset())).map_err(failed)?;
        let wanted = addresses.iter().collect();
        let taken =
            TakeBuilder::try_new_from_addresses(Arc::clone(self.dataset()), wanted, Arc::new(plan));
        let taken = taken.map_err(failed)?.with_row_address(true);
        match Box::pin(taken.execute()).await {
            Ok(rows) => Ok(rows),
            // All other causes would have shown when the table was opened or its columns were found.
            Err(lance::Error::NotSupported { .. }) => {
                let reason = "a row that is asked for by its address is deleted in this version";
                Err(SubstrateError::invalid(self.path(), reason.to_owned()))
            }
            Err(error) => Err(failed(error)),
        }
    }
}
