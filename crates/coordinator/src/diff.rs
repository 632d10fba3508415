//! What differs between two commits, table by table and row by row. Two snapshots are compared; how
//! rows are compared is the adapters'.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use futures::TryStreamExt;
use graphwrite_adapters::{RowChanges, RowDiff};
use graphwrite_protocol_types::{CommitId, LiveHead, TableIdentity};
use graphwrite_schema::TypeDef;
use graphwrite_substrate::{FragmentFiles, ScanRequest, Store, TableHandle};

use crate::core::Core;
use crate::snapshot::{open_pinned, snapshot_at};
use crate::{ReadError, Snapshot};

/// Which commits are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffRequest {
    /// The older side; none for the graph without any commit.
    pub from: Option<CommitId>,
    /// The newer side; none for the newest state.
    pub to: Option<CommitId>,
    /// Keys that are listed of each table and each kind of change.
    pub keys_max: usize,
    /// Rows of the older side that are held at a time: the key and a digest of each. A table in
    /// which more rows may differ is read several times, a share of the keys in each pass.
    pub rows_held_max: u64,
}

impl DiffRequest {
    /// Rows that are held when nothing else is said: about 100 MB.
    pub const ROWS_HELD_MAX: u64 = 1_000_000;

    /// Counts only, between `from` and the newest state.
    pub fn since(from: Option<CommitId>) -> Self {
        Self { from, to: None, keys_max: 0, rows_held_max: Self::ROWS_HELD_MAX }
    }
}

/// What differs between two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitDiff {
    /// The older side; none for the graph without any commit.
    pub from: Option<CommitId>,
    /// The newer side; none if it has no commit yet.
    pub to: Option<CommitId>,
    /// Whether the accepted schema differs.
    pub schema_changed: bool,
    /// The tables whose rows differ: node types by name, then edge types by name.
    pub tables: Vec<TableDiff>,
}

/// What differs in one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableDiff {
    /// The type's name on the newer side, or the older one's if the type is gone.
    pub name: String,
    /// `node` or `edge`.
    pub kind: &'static str,
    /// Its rows.
    pub rows: RowChanges,
}

/// Compares the snapshots of two commits.
pub(crate) async fn diff(core: &Core, request: DiffRequest) -> Result<CommitDiff, ReadError> {
    let old = match request.from {
        Some(commit) => Some(snapshot_at(core, commit).await?),
        None => None,
    };
    let new = match request.to {
        Some(commit) => snapshot_at(core, commit).await?,
        None => Snapshot::new(core.store.clone(), core.manifest.state().await?)?,
    };
    let mut tables = Vec::new();
    for pair in pairs(old.as_ref(), &new) {
        let rows = pair.rows(&core.store, &request).await?;
        if !rows.is_empty() {
            let (name, kind) = (pair.declared().name.clone(), kind_of(pair.declared()));
            tables.push(TableDiff { name, kind, rows });
        }
    }
    tables.sort_by(|a, b| (a.kind != "node", &a.name).cmp(&(b.kind != "node", &b.name)));
    let hash = |snapshot: &Snapshot| snapshot.schema().hash();
    let schema_changed = old.as_ref().is_some_and(|old| hash(old) != hash(&new));
    Ok(CommitDiff { from: request.from, to: new.commit(), schema_changed, tables })
}

fn kind_of(declared: &TypeDef) -> &'static str {
    if declared.is_node() { "node" } else { "edge" }
}

/// One side of a table.
#[derive(Clone)]
struct Side<'a> {
    declared: &'a TypeDef,
    columns: SchemaRef,
    head: Option<&'a LiveHead>,
}

/// A type on both sides, by its identity: a name is a label.
struct Pair<'a> {
    old: Option<Side<'a>>,
    new: Option<Side<'a>>,
    /// The side that says what the type is called.
    named: Side<'a>,
}

fn pairs<'a>(old: Option<&'a Snapshot>, new: &'a Snapshot) -> Vec<Pair<'a>> {
    let (mut old, mut new) = (old.map(sides).unwrap_or_default(), sides(new));
    let identities: BTreeSet<TableIdentity> = old.keys().chain(new.keys()).copied().collect();
    let pair = |identity: TableIdentity| {
        let (old, new) = (old.remove(&identity), new.remove(&identity));
        let named = new.clone().or_else(|| old.clone())?;
        Some(Pair { old, new, named })
    };
    identities.into_iter().filter_map(pair).collect()
}

fn sides(snapshot: &Snapshot) -> BTreeMap<TableIdentity, Side<'_>> {
    let schema = snapshot.schema();
    let sides = schema.types().iter().filter_map(|declared| {
        let columns = schema.arrow_schema(declared.identity)?;
        Some((declared.identity, Side { declared, columns, head: snapshot.head(declared) }))
    });
    sides.collect()
}

impl Pair<'_> {
    fn declared(&self) -> &TypeDef {
        self.named.declared
    }

    async fn rows(&self, store: &Store, request: &DiffRequest) -> Result<RowChanges, ReadError> {
        let head = |side: &Option<Side<'_>>| side.as_ref().and_then(|side| side.head.cloned());
        let (old, new) = (head(&self.old), head(&self.new));
        if LiveHead::have_same_rows(old.as_ref(), new.as_ref()) {
            return Ok(RowChanges::default());
        }
        let (old, new) = (opened(store, old).await?, opened(store, new).await?);
        let old_columns = self.old.as_ref().unwrap_or(&self.named).columns.clone();
        let new_columns = self.new.as_ref().unwrap_or(&self.named).columns.clone();
        let (old, new) = (Part::new(old, old_columns), Part::new(new, new_columns));
        let (old, new) = apart(old, new)?;
        compare(self.declared(), &old, &new, request).await
    }
}

async fn opened(store: &Store, head: Option<LiveHead>) -> Result<Option<TableHandle>, ReadError> {
    match head {
        Some(head) => Ok(Some(open_pinned(store, &head).await?)),
        None => Ok(None),
    }
}

/// The rows of one side that have to be read.
struct Part {
    table: Option<TableHandle>,
    columns: SchemaRef,
    fragments: Vec<FragmentFiles>,
}

impl Part {
    fn new(table: Option<TableHandle>, columns: SchemaRef) -> Self {
        Self { table, columns, fragments: Vec::new() }
    }

    /// Rows at most.
    fn rows(&self) -> u64 {
        self.fragments.iter().filter_map(|fragment| fragment.physical_rows).sum()
    }
}

/// Both sides without the fragments that they share. Files are never changed, so a fragment with the
/// same files and the same deletions has the same rows.
fn apart(mut old: Part, mut new: Part) -> Result<(Part, Part), ReadError> {
    let of = |part: &Part| part.table.as_ref().map_or(Ok(Vec::new()), TableHandle::fragments);
    let (of_old, of_new) = (of(&old)?, of(&new)?);
    old.fragments = of_old.iter().filter(|it| !of_new.contains(it)).cloned().collect();
    new.fragments = of_new.into_iter().filter(|it| !of_old.contains(it)).collect();
    Ok((old, new))
}

async fn compare(
    declared: &TypeDef,
    old: &Part,
    new: &Part,
    request: &DiffRequest,
) -> Result<RowChanges, ReadError> {
    let broken = |cause| incomparable(declared, cause);
    let shares = old.rows().div_ceil(request.rows_held_max.max(1));
    let key = declared.key_columns();
    let diff = RowDiff::new(&key, &old.columns, &new.columns, shares, request.keys_max);
    let mut diff = diff.map_err(broken)?;
    while diff.is_open() {
        feed(old, |rows| diff.old_rows(rows).map_err(broken)).await?;
        feed(new, |rows| diff.new_rows(rows).map_err(broken)).await?;
        diff.end_share();
    }
    diff.finish().map_err(broken)
}

fn incomparable(declared: &TypeDef, cause: ArrowError) -> ReadError {
    ReadError::Incomparable { name: declared.name.clone(), cause }
}

/// Streams the rows that have to be read.
async fn feed(
    part: &Part,
    mut rows: impl FnMut(&RecordBatch) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let Some(table) = part.table.as_ref().filter(|_| !part.fragments.is_empty()) else {
        return Ok(());
    };
    let names = part.columns.fields().iter().map(|field| field.name().clone()).collect();
    let request = ScanRequest {
        columns: Some(names),
        fragments: Some(part.fragments.iter().map(|fragment| fragment.id).collect()),
        ..ScanRequest::default()
    };
    let mut batches = Box::pin(table.scan(request)).await?;
    while let Some(batch) = batches.try_next().await? {
        rows(&batch)?;
    }
    Ok(())
}
