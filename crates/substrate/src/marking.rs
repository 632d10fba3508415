//! Marking rows as removed: new deletion files beside fragments that stay as they are. Nothing that
//! a reader sees changes until the commit that names the files.

use futures::{StreamExt, TryStreamExt, stream};
use lance::dataset::fragment::FileFragment;
use lance_table::format::Fragment;
use roaring::RoaringBitmap;

use crate::unwinding::whole;
use crate::{RowAddresses, SubstrateError, TableHandle};

const FRAGMENTS_AT_ONCE: usize = 16;

/// Rows to remove that are known to be live rows of the table's version.
pub(crate) struct Removal {
    table: TableHandle,
    touched: Vec<Touched>,
}

struct Touched {
    fragment: FileFragment,
    offsets: RoaringBitmap,
}

/// What becomes of the fragments that lose rows.
#[derive(Default)]
pub(crate) struct Marked {
    /// Fragments with a new deletion file.
    pub(crate) updated: Vec<Fragment>,
    /// Ids of fragments that have no row left.
    pub(crate) emptied: Vec<u64>,
}

impl Removal {
    /// Refuses addresses of another version before anything is written. Deletion files that the
    /// scan has read are not read again.
    pub(crate) async fn checked(
        table: &TableHandle,
        rows: &RowAddresses,
    ) -> Result<Self, SubstrateError> {
        // Owned, since a future over borrowed parts could not be sent to another thread.
        let parts = rows.by_fragment().map(|(id, offsets)| (table.clone(), id, offsets.clone()));
        let parts: Vec<_> = parts.collect();
        let checks = stream::iter(parts).map(|(table, id, offsets)| checked(table, id, offsets));
        let touched = checks.buffered(FRAGMENTS_AT_ONCE).try_collect().await?;
        Ok(Self { table: table.clone(), touched })
    }

    /// Writes one deletion file for each fragment that keeps rows, and none for the others.
    pub(crate) async fn mark(self) -> Result<Marked, SubstrateError> {
        let Self { table, touched } = self;
        let marks = stream::iter(touched).map(Touched::mark).buffered(FRAGMENTS_AT_ONCE);
        let marks = marks.map_err(|error| table.engine("marking removed rows", error));
        let collect = |mut marked: Marked, mark| async move {
            match mark {
                Ok(fragment) => marked.updated.push(fragment),
                Err(id) => marked.emptied.push(id),
            }
            Ok(marked)
        };
        marks.try_fold(Marked::default(), collect).await
    }
}

impl Touched {
    /// The fragment with its new deletion file, or its id if no row is left.
    async fn mark(self) -> lance::Result<Result<Fragment, u64>> {
        let id = self.fragment.id() as u64;
        let left = whole(Box::pin(self.fragment.extend_deletions(self.offsets))).await?;
        Ok(left.map(|left| left.metadata().clone()).ok_or(id))
    }
}

async fn checked(
    table: TableHandle,
    id: u32,
    offsets: RoaringBitmap,
) -> Result<Touched, SubstrateError> {
    let refused = |what: String| {
        let reason = format!("cannot remove rows of version {}: {what}", table.version());
        SubstrateError::invalid(table.path(), reason)
    };
    let failed = |error| table.engine("reading which rows are removed", error);
    let fragment = table.dataset().get_fragment(id as usize);
    let fragment = fragment.ok_or_else(|| refused(format!("no fragment {id}")))?;
    let rows = whole(Box::pin(fragment.physical_rows())).await.map_err(failed)?;
    if let Some(beyond) = offsets.max().filter(|offset| *offset as usize >= rows) {
        return Err(refused(format!("no row {beyond} in fragment {id} of {rows} rows")));
    }
    let removed = whole(Box::pin(fragment.get_deletion_vector())).await.map_err(failed)?;
    let again = |removed: &lance_core::utils::deletion::DeletionVector| {
        offsets.iter().find(|offset| removed.contains(*offset))
    };
    if let Some(again) = removed.as_deref().and_then(again) {
        return Err(refused(format!("row {again} of fragment {id} is removed already")));
    }
    Ok(Touched { fragment, offsets })
}
