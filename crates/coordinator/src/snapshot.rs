//! Reads: one version of the manifest, and the tables pinned by it. A snapshot never moves, and
//! gives no handle that could write.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use graphwrite_manifest::{ManifestState, PastState};
use graphwrite_protocol_types::{CommitId, LiveHead, Pin, TableHeadToken};
use graphwrite_schema::{GraphSchema, TypeDef};
use graphwrite_substrate::{BatchStream, ScanRequest, Store, SubstrateError, TableHandle, Version};

use crate::ReadError;
use crate::core::Core;

/// One state of a branch.
#[derive(Debug, Clone)]
pub struct Snapshot {
    store: Store,
    state: ManifestState,
    schema: Arc<GraphSchema>,
}

/// One table of a snapshot.
#[derive(Debug, Clone)]
pub struct SnapshotTable {
    name: String,
    columns: SchemaRef,
    table: Option<TableHandle>,
}

impl Snapshot {
    pub(crate) fn new(store: Store, state: ManifestState) -> Result<Self, ReadError> {
        let schema = Arc::new(GraphSchema::from_bytes(state.schema_canonical())?);
        Ok(Self { store, state, schema })
    }

    /// The head commit of the state; none before the first commit.
    pub fn commit(&self) -> Option<CommitId> {
        self.state.base().graph_head.0
    }

    /// The manifest version of the state.
    pub fn manifest_version(&self) -> u64 {
        self.state.version()
    }

    /// The schema of the state.
    pub fn schema(&self) -> &Arc<GraphSchema> {
        &self.schema
    }

    /// The table of the type `name`. A type that was never loaded is an empty table.
    ///
    /// # Errors
    /// When the type is not declared, or its version is not there as published.
    pub async fn table(&self, name: &str) -> Result<SnapshotTable, ReadError> {
        let undeclared = || ReadError::NoSuchType { name: name.to_owned() };
        let declared = self.schema.by_name(name).ok_or_else(undeclared)?;
        let columns = self.schema.arrow_schema(declared.identity).ok_or_else(undeclared)?;
        let table = match self.head(declared) {
            Some(head) => Some(open_pinned(&self.store, head).await?),
            None => None,
        };
        Ok(SnapshotTable { name: name.to_owned(), columns, table })
    }

    /// The live head of a declared type.
    pub(crate) fn head(&self, declared: &TypeDef) -> Option<&LiveHead> {
        self.state.base().heads.get(&declared.identity).and_then(TableHeadToken::live)
    }
}

/// The state that a commit made, from the version that its lineage row names.
pub(crate) async fn snapshot_at(core: &Core, commit: CommitId) -> Result<Snapshot, ReadError> {
    let row = core.manifest.state().await?.commit(commit).await?;
    let row = row.ok_or(ReadError::NoSuchCommit { commit })?;
    match core.manifest.state_at(&row).await? {
        PastState::Found(state) => Snapshot::new(core.store.clone(), state),
        PastState::Other { found } => Err(ReadError::OtherVersion { commit, found }),
        _ => Err(ReadError::VersionGone { commit, version: row.manifest_version }),
    }
}

/// Opens the version that a head names, and makes sure that it is that version: a number alone is
/// no identity (BLOCKER-05).
pub(crate) async fn open_pinned(store: &Store, head: &LiveHead) -> Result<TableHandle, ReadError> {
    let version = Version::Exact(head.pin.version);
    let opened = TableHandle::open(store, head.path.as_str(), &head.physical_ref, version).await;
    let table = match opened {
        Err(SubstrateError::TableNotFound { .. }) => return Err(lost(head, None)),
        opened => opened?,
    };
    let found = table.identity().await?;
    if found.tx_uuid == head.pin.tx_uuid {
        return Ok(table);
    }
    Err(lost(head, Some(found.pin())))
}

fn lost(head: &LiveHead, found: Option<Pin>) -> ReadError {
    ReadError::PinLost { path: head.path.clone(), pin: head.pin.clone(), found }
}

impl SnapshotTable {
    /// The type's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The columns: the key of a node type, or `id`, `src` and `dst` of an edge type, and the
    /// declared properties.
    pub fn columns(&self) -> &SchemaRef {
        &self.columns
    }

    /// Rows of the table.
    pub async fn count_rows(&self) -> Result<u64, ReadError> {
        match &self.table {
            Some(table) => Ok(table.count_rows().await?),
            None => Ok(0),
        }
    }

    /// All rows, as a stream of batches with the columns of [`SnapshotTable::columns`].
    pub async fn scan(&self) -> Result<BatchStream, ReadError> {
        let Some(table) = &self.table else {
            return Ok(BatchStream::of(Arc::clone(&self.columns), Vec::new()));
        };
        let names = self.columns.fields().iter().map(|field| field.name().clone()).collect();
        let request = ScanRequest { columns: Some(names), ..ScanRequest::default() };
        Ok(table.scan(request).await?)
    }
}
