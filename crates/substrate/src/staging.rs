//! Staging: data files are written and a transaction is built, and nothing that anybody can see
//! changes. What is staged becomes visible through the strict path or never.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures::TryStreamExt;
use graphwrite_protocol_types::TxUuid;
use lance::dataset::transaction::{Operation, Transaction, UpdateMode};
use lance::dataset::{InsertBuilder, WriteMode, WriteParams};
use lance::deps::datafusion::error::DataFusionError;
use lance::deps::datafusion::execution::SendableRecordBatchStream;
use lance::deps::datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use lance_table::format::Fragment;

use crate::addresses::RowAddresses;
use crate::marking::{Marked, Removal};
use crate::scan::BatchStream;
use crate::store::object_path;
use crate::tables::{TableHandle, missing_files};
use crate::unwinding::whole;
use crate::{Store, SubstrateError};

/// A commit that is complete but for its manifest. Cloning it clones no data: both are the same
/// commit, which lands at most once.
#[derive(Debug, Clone)]
pub struct StagedCommit {
    uuid: TxUuid,
    rows: u64,
    new_files: Vec<String>,
    transaction: Box<Transaction>,
    attempted: Arc<AtomicBool>,
}

impl StagedCommit {
    /// The version that it was staged over; 0 for the creation of a dataset.
    pub fn read_version(&self) -> u64 {
        self.transaction.read_version
    }

    /// The same commit, to land `steps` versions higher: directly above that many commits of its own
    /// attempt, none of which touches a fragment that this one touches. Anything else than those in
    /// between is refused like every other (K1).
    pub fn above(mut self, steps: u64) -> Self {
        self.transaction.read_version += steps;
        self
    }

    /// The transaction uuid that its version will carry.
    pub fn uuid(&self) -> &TxUuid {
        &self.uuid
    }

    /// Rows in its new data files.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The files that staging has written, by their paths below the graph's root.
    pub fn new_files(&self) -> &[String] {
        &self.new_files
    }

    /// The staged files that storage does not have. A commit never checks them: one over missing
    /// files lands and cannot be read.
    pub async fn missing_files(&self, store: &Store) -> Result<Vec<String>, SubstrateError> {
        missing_files(store, self.new_files.clone()).await
    }

    /// Whether all staged files exist.
    pub async fn data_files_exist(&self, store: &Store) -> Result<bool, SubstrateError> {
        Ok(self.missing_files(store).await?.is_empty())
    }

    /// Whether this call is the first to ask, over all clones: what was never sent cannot have
    /// landed, and needs no look at its slot.
    pub(crate) fn is_first_attempt(&self) -> bool {
        !self.attempted.swap(true, Ordering::SeqCst)
    }

    pub(crate) fn into_transaction(self) -> Transaction {
        *self.transaction
    }

    fn new(uuid: TxUuid, read_version: u64, operation: Operation, new_files: Vec<String>) -> Self {
        let rows = new_fragments(&operation).iter().filter_map(|f| f.physical_rows).sum::<usize>();
        let transaction = Transaction {
            read_version,
            uuid: uuid.as_str().to_owned(),
            operation,
            tag: None,
            transaction_properties: None,
        };
        Self {
            uuid,
            rows: rows as u64,
            new_files,
            transaction: Box::new(transaction),
            attempted: Arc::default(),
        }
    }

    /// A commit over `table`, with the files that it brings.
    pub(crate) fn over(
        table: &TableHandle,
        uuid: TxUuid,
        operation: Operation,
    ) -> Result<Self, SubstrateError> {
        let files = new_files(table, &operation)?;
        Ok(Self::new(uuid, table.version(), operation, files))
    }
}

fn new_fragments(operation: &Operation) -> &[Fragment] {
    match operation {
        Operation::Append { fragments } | Operation::Overwrite { fragments, .. } => fragments,
        Operation::Update { new_fragments, .. } => new_fragments,
        _ => &[],
    }
}

fn changed_fragments(operation: &Operation) -> &[Fragment] {
    match operation {
        Operation::Delete { updated_fragments, .. }
        | Operation::Update { updated_fragments, .. } => updated_fragments,
        _ => &[],
    }
}

fn new_files(table: &TableHandle, operation: &Operation) -> Result<Vec<String>, SubstrateError> {
    let data =
        new_fragments(operation).iter().flat_map(|f| &f.files).map(|f| table.files().data_path(f));
    let deletions = changed_fragments(operation).iter().filter_map(|fragment| {
        let file = fragment.deletion_file.as_ref()?;
        Some(table.files().deletion_path(fragment.id, file))
    });
    data.chain(deletions).collect()
}

/// Stages the creation of a dataset at `path` with the rows of `batches`, which may be none. The
/// metadata of the stream's schema becomes part of version 1 and stays in every later version.
///
/// # Errors
///
/// [`SubstrateError::TableExists`] when there is a dataset at `path`.
pub async fn stage_create(
    store: &Store,
    path: &str,
    batches: BatchStream,
    uuid: TxUuid,
) -> Result<StagedCommit, SubstrateError> {
    object_path(path)?;
    let params = WriteParams {
        mode: WriteMode::Create,
        session: Some(store.session()),
        commit_handler: Some(store.listing_handler()),
        enable_stable_row_ids: true,
        ..common_params()
    };
    let uri = store.uri_of(path);
    let insert = InsertBuilder::new(uri.as_str()).with_params(&params);
    let staged = whole(Box::pin(insert.execute_uncommitted_stream(engine_stream(batches)))).await;
    let staged = staged.map_err(|error| match error {
        lance::Error::DatasetAlreadyExists { .. } => {
            SubstrateError::TableExists { path: path.to_owned() }
        }
        other => SubstrateError::engine("staging a creation", path, other),
    })?;
    let files = new_fragments(&staged.operation).iter().flat_map(|fragment| &fragment.files);
    let files = files.map(|file| format!("{path}/data/{}", file.path)).collect();
    Ok(StagedCommit::new(uuid, 0, staged.operation, files))
}

/// Stages more rows for a dataset whose creation is staged and has not landed: an append that lands
/// over its version 1, or higher by [`StagedCommit::above`].
///
/// # Errors
///
/// As for [`stage_create`].
pub async fn stage_following(
    store: &Store,
    path: &str,
    batches: BatchStream,
    uuid: TxUuid,
) -> Result<StagedCommit, SubstrateError> {
    let staged = Box::pin(stage_create(store, path, batches, uuid)).await?;
    let fragments = new_fragments(&staged.transaction.operation).to_vec();
    let operation = Operation::Append { fragments };
    Ok(StagedCommit::new(staged.uuid, 1, operation, staged.new_files))
}

/// Stages one commit that removes the rows at `removes`, which are addresses of the table's exact
/// version, and adds `adds`: an insert, an update, a delete, or all three at once. Removed rows are
/// marked in their fragments, which are not rewritten; added rows get new row ids. Nothing checks
/// keys: the caller knows which keys the table has.
///
/// # Errors
///
/// [`SubstrateError::InvalidRequest`], before anything is written, for an address that names no
/// live row of that version.
pub async fn stage_change(
    table: &TableHandle,
    removes: &RowAddresses,
    adds: Option<BatchStream>,
    uuid: TxUuid,
) -> Result<StagedCommit, SubstrateError> {
    let removal = Removal::checked(table, removes).await?;
    let written = async {
        match adds {
            Some(batches) => write_fragments(table, batches).await,
            None => Ok(Vec::new()),
        }
    };
    let (marked, fragments) = futures::try_join!(Box::pin(removal.mark()), Box::pin(written))?;
    // An append of no fragments would be a fence (K3).
    let operation = if removes.is_empty() && !fragments.is_empty() {
        Operation::Append { fragments }
    } else {
        update(table, marked, fragments)
    };
    StagedCommit::over(table, uuid, operation)
}

/// Stages a fence over `read_version`: it takes the next slot and changes nothing (K3).
pub fn stage_fence(read_version: u64, uuid: TxUuid) -> StagedCommit {
    StagedCommit::new(uuid, read_version, Operation::Append { fragments: Vec::new() }, Vec::new())
}

/// Stages the return from `read_version` to the content of `to_version` (K3).
pub fn stage_restore(read_version: u64, to_version: u64, uuid: TxUuid) -> StagedCommit {
    StagedCommit::new(uuid, read_version, Operation::Restore { version: to_version }, Vec::new())
}

/// Stages the replacement of whole fragments: those named go, and each batch becomes one new
/// fragment, in order. What is not named is untouched.
///
/// # Errors
///
/// When a fragment is not in the table's version, or a batch has no rows.
pub async fn stage_replace(
    table: &TableHandle,
    removed_fragment_ids: Vec<u64>,
    batches: Vec<RecordBatch>,
    uuid: TxUuid,
) -> Result<StagedCommit, SubstrateError> {
    let known = |id: &u64| table.dataset().fragments().iter().any(|fragment| fragment.id == *id);
    if let Some(id) = removed_fragment_ids.iter().find(|id| !known(id)) {
        let reason = format!("no fragment {id} in version {}", table.version());
        return Err(SubstrateError::invalid(table.path(), reason));
    }
    let writes = batches.into_iter().map(|batch| write_one_fragment(table, batch));
    let new_fragments = futures::future::try_join_all(writes).await?;
    let marked = Marked { emptied: removed_fragment_ids, updated: Vec::new() };
    let operation = update(table, marked, new_fragments);
    StagedCommit::over(table, uuid, operation)
}

/// The operation that replaces rows. Lance lets an index claim a new fragment when it takes the
/// fragment's rows for moved ones whose indexed values are the same. Ours are new rows, so every
/// field is named as changed, nested ones too, and no index claims what it does not cover.
fn update(table: &TableHandle, marked: Marked, new_fragments: Vec<Fragment>) -> Operation {
    let fields = table.dataset().schema().fields_pre_order();
    Operation::Update {
        removed_fragment_ids: marked.emptied,
        updated_fragments: marked.updated,
        new_fragments,
        fields_modified: Vec::new(),
        compacted_sstables: Vec::new(),
        fields_for_preserving_frag_bitmap: fields.map(|field| field.id.unsigned_abs()).collect(),
        update_mode: Some(UpdateMode::RewriteRows),
        inserted_rows_filter: None,
        updated_fragment_offsets: None,
    }
}

async fn write_one_fragment(
    table: &TableHandle,
    batch: RecordBatch,
) -> Result<Fragment, SubstrateError> {
    if batch.num_rows() == 0 {
        return Err(SubstrateError::invalid(table.path(), "a fragment cannot be empty"));
    }
    let batches = BatchStream::of(batch.schema(), vec![batch]);
    let mut fragments = write_fragments_with(table, batches, whole_fragment()).await?;
    match (fragments.pop(), fragments.is_empty()) {
        (Some(fragment), true) => Ok(fragment),
        _ => Err(SubstrateError::invalid(table.path(), "a batch does not fit into one fragment")),
    }
}

async fn write_fragments(
    table: &TableHandle,
    batches: BatchStream,
) -> Result<Vec<Fragment>, SubstrateError> {
    write_fragments_with(table, batches, common_params()).await
}

async fn write_fragments_with(
    table: &TableHandle,
    batches: BatchStream,
    params: WriteParams,
) -> Result<Vec<Fragment>, SubstrateError> {
    let params = WriteParams { mode: WriteMode::Append, ..params };
    let insert = InsertBuilder::new(Arc::clone(table.dataset())).with_params(&params);
    let staged = whole(Box::pin(insert.execute_uncommitted_stream(engine_stream(batches)))).await;
    match staged.map_err(|error| table.engine("staging rows", error))?.operation {
        Operation::Append { fragments } => Ok(fragments),
        other => Err(SubstrateError::invalid(table.path(), format!("staged as {}", other.name()))),
    }
}

fn common_params() -> WriteParams {
    // Cleanup is the graph's own workflow; Lance's would take versions that the graph pins.
    WriteParams { auto_cleanup: None, skip_auto_cleanup: true, ..Default::default() }
}

fn whole_fragment() -> WriteParams {
    WriteParams { max_rows_per_file: usize::MAX, max_bytes_per_file: usize::MAX, ..common_params() }
}

fn engine_stream(batches: BatchStream) -> SendableRecordBatchStream {
    let schema: SchemaRef = batches.schema();
    let batches = batches.map_err(|error| DataFusionError::External(Box::new(error)));
    Box::pin(RecordBatchStreamAdapter::new(schema, batches))
}
