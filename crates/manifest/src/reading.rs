//! Reads of the manifest dataset: one version as a state, and rows of chosen fragments. It owns the
//! order in which things are believed: the stamp, then the facts, then the rows.

use arrow_array::{ArrayRef, RecordBatch};
use graphwrite_protocol_types::{BranchToken, FormatRefused, PhysicalRef, Purpose};
use graphwrite_substrate::{RowFilter, ScanRequest, Store, SubstrateError, TableHandle, Version};

use crate::batch::{columns, rows_of};
use crate::error::{Damage, ManifestError, OpenError};
use crate::facts::{GraphFacts, stamp_of};
use crate::hot::HotRows;
use crate::rows::Row;
use crate::state::{ManifestState, hot_fragment_of};

/// The manifest's directory below the graph's root.
pub const MANIFEST_PATH: &str = "__manifest";

/// Why a version could not be read.
#[derive(Debug)]
pub(crate) enum ReadFault {
    /// No dataset, or one without a stamp.
    NotAGraph,
    Format(FormatRefused),
    Damaged(Damage),
    Substrate(SubstrateError),
}

impl From<FormatRefused> for ReadFault {
    fn from(refused: FormatRefused) -> Self {
        Self::Format(refused)
    }
}

impl From<Damage> for ReadFault {
    fn from(damage: Damage) -> Self {
        Self::Damaged(damage)
    }
}

impl From<SubstrateError> for ReadFault {
    fn from(error: SubstrateError) -> Self {
        match error {
            SubstrateError::TableNotFound { version: None, .. } => Self::NotAGraph,
            error @ SubstrateError::Damaged { .. } => {
                Self::Damaged(Damage::File { text: error.to_string() })
            }
            error @ SubstrateError::Misnamed { .. } => {
                Self::Damaged(Damage::Misnamed { text: error.to_string() })
            }
            error => Self::Substrate(error),
        }
    }
}

impl ReadFault {
    pub(crate) fn on_open(self, root: &str) -> OpenError {
        let root = root.to_owned();
        match self {
            Self::NotAGraph => OpenError::NotAGraph { root },
            Self::Format(refused) => OpenError::FormatRefused(refused),
            Self::Damaged(damage) => OpenError::Damaged { root, damage },
            Self::Substrate(error) => OpenError::Substrate(error),
        }
    }
}

impl From<ReadFault> for ManifestError {
    fn from(fault: ReadFault) -> Self {
        match fault {
            // It was a graph when it was opened.
            ReadFault::NotAGraph => Self::Gone,
            ReadFault::Format(refused) => Self::FormatRefused(refused),
            ReadFault::Damaged(damage) => Self::Damaged(damage),
            ReadFault::Substrate(error) => Self::Substrate(error),
        }
    }
}

pub(crate) async fn open_newest(
    store: &Store,
    physical_ref: &PhysicalRef,
) -> Result<TableHandle, SubstrateError> {
    let opened = TableHandle::open(store, MANIFEST_PATH, physical_ref, Version::Latest);
    Box::pin(opened).await
}

/// The state at the version of `table`, as a state of `branch`, or of main. No row is read before
/// the stamp is admitted.
pub(crate) async fn read_state(
    table: TableHandle,
    purpose: Purpose,
    branch: Option<&BranchToken>,
) -> Result<ManifestState, ReadFault> {
    let stamp = stamp_of(table.schema_metadata())?.ok_or(ReadFault::NotAGraph)?;
    stamp.admit(purpose)?;
    let facts = GraphFacts::from_metadata(stamp, table.schema_metadata())?;
    let hot = hot_fragment_of(&table)?;
    let (version, rows) = futures::try_join!(
        async { Ok(table.identity().await?.clone()) },
        read_rows(&table, vec![hot], None),
    )?;
    let branch = branch.cloned().unwrap_or_else(|| BranchToken::main(facts.domain));
    Ok(ManifestState::new(facts, HotRows::from_rows(rows)?, &version, table, branch)?)
}

/// The rows of `fragments` that `filter` picks, in the order of the fragments.
pub(crate) async fn read_rows(
    table: &TableHandle,
    fragments: Vec<u64>,
    filter: Option<RowFilter>,
) -> Result<Vec<Row>, ReadFault> {
    let batches = read_batches(table, fragments, filter).await?;
    Ok(rows_of(&batches)?)
}

/// The same as columns, for rows that are moved without being looked at.
pub(crate) async fn read_batches(
    table: &TableHandle,
    fragments: Vec<u64>,
    filter: Option<RowFilter>,
) -> Result<Vec<RecordBatch>, ReadFault> {
    if fragments.is_empty() {
        return Ok(Vec::new());
    }
    let expected = columns();
    let names = expected.fields().iter().map(|field| field.name().clone());
    if names.clone().any(|name| table.schema().field_with_name(&name).is_err()) {
        return Err(Damage::Columns.into());
    }
    let request = ScanRequest {
        columns: Some(names.collect()),
        filter,
        fragments: Some(fragments),
        ..ScanRequest::default()
    };
    let stream = Box::pin(table.scan(request)).await?;
    Ok(stream.collect_all().await?)
}

pub(crate) fn one_of(column: &str, values: ArrayRef) -> RowFilter {
    RowFilter::In { column: column.to_owned(), values }
}
