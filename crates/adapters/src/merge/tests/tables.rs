//! Real tables on several refs, and edits of them as commits.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use graphwrite_protocol_types::*;
use graphwrite_substrate::*;

use super::rows::Table;
use crate::change::addresses;
use crate::input::identity_column;
use crate::merge::picked::with_address;

/// The storage of a test, and the next transaction.
pub(super) struct Tables {
    pub(super) store: Store,
    pub(super) table: Table,
    next: u128,
}

impl Tables {
    pub(super) fn new(name: &'static str) -> Self {
        let store = Store::memory(&MemoryStorage::new());
        Self { store, table: Table::new(name), next: 1 }
    }

    /// Over a table of a graph.
    pub(super) fn of(store: &Store, table: Table) -> Self {
        // Far from the attempts of the graph's own writers, and of each other.
        static WORLDS: AtomicU64 = AtomicU64::new(1);
        let first = u128::from(WORLDS.fetch_add(1, Ordering::Relaxed)) << 100;
        Self { store: store.clone(), table, next: first }
    }

    fn attempt(&mut self) -> AttemptId {
        self.next += 1;
        AttemptId::from_u128(self.next)
    }

    fn columns(&self) -> SchemaRef {
        self.table.columns()
    }

    fn stream(&self, lines: &[String]) -> BatchStream {
        let rows = self.table.rows(lines);
        let columns: Vec<usize> = (0..self.columns().fields().len()).collect();
        BatchStream::of(self.columns(), vec![rows.project(&columns).unwrap()])
    }

    /// A dataset of its own.
    pub(super) async fn create(&mut self, lines: &[String]) -> TableHandle {
        let rows = self.stream(lines);
        self.create_of(rows).await
    }

    /// A dataset of these rows.
    pub(super) async fn create_of(&mut self, rows: BatchStream) -> TableHandle {
        let attempt = self.attempt();
        let path = DatasetPath::of_first_load(self.table.def().identity, attempt);
        let uuid = TxUuid::effect(attempt, 0, 0);
        let staged = stage_create(&self.store, path.as_str(), rows, uuid).await;
        let permit = CommitPermit::authority(attempt);
        let landing = create_dataset(&permit, &self.store, path.as_str(), staged.unwrap()).await;
        landed(landing.unwrap())
    }

    /// A ref of a version of main, with that version's rows and nothing of its own.
    pub(super) async fn fork(&mut self, of: &TableHandle) -> TableHandle {
        let attempt = self.attempt();
        let head = self.head(of).await;
        let fork = RefFork::of_first_write(attempt, 0, &head, 1);
        let ForkCheck::Ready(ready) = check_fork(&self.store, &fork).await.unwrap() else {
            panic!("the version is gone")
        };
        let permit = CommitPermit::authority(attempt);
        match clone_ref(&permit, &self.store, &ready).await.unwrap() {
            Cloning::Cloned(cloned) => cloned.table().clone(),
            other => panic!("{other:?}"),
        }
    }

    /// As a branch has it as its head.
    pub(super) async fn head(&self, of: &TableHandle) -> LiveHead {
        LiveHead {
            identity: self.table.def().identity,
            path: of.path().parse().unwrap(),
            physical_ref: of.physical_ref().clone(),
            ref_identifier: RefIdentifier::Main(IdentityDomain::from_u128(1)),
            pin: of.identity().await.unwrap().pin(),
            e_tag: None,
            content: ContentId::from_u128(1),
            table_schema: SchemaHash([0; 32]),
        }
    }

    /// One commit: rows with these keys go, and these are added.
    pub(super) async fn change(
        &mut self,
        on: &TableHandle,
        gone: &[String],
        added: &[String],
    ) -> TableHandle {
        let found = self.rows_of(on).await;
        let removed = self.keyed(&found).filter(|(key, _)| gone.contains(key));
        let removed: RowAddresses = removed.map(|(_, address)| address).collect();
        let adds = (!added.is_empty()).then(|| self.stream(added));
        self.commit(on, &removed, adds).await
    }

    /// The same rows in new files, as a compaction leaves them.
    pub(super) async fn compact(&mut self, on: &TableHandle) -> TableHandle {
        let rows = self.rows_of(on).await;
        let removed: RowAddresses = self.keyed(&rows).map(|(_, address)| address).collect();
        let columns: Vec<usize> = (0..self.columns().fields().len()).collect();
        let again = BatchStream::of(self.columns(), vec![rows.project(&columns).unwrap()]);
        self.commit(on, &removed, Some(again)).await
    }

    /// One commit.
    pub(super) async fn commit(
        &mut self,
        on: &TableHandle,
        removed: &RowAddresses,
        adds: Option<BatchStream>,
    ) -> TableHandle {
        let attempt = self.attempt();
        let uuid = TxUuid::effect(attempt, 0, 0);
        let staged = Box::pin(stage_change(on, removed, adds, uuid)).await.unwrap();
        let permit = CommitPermit::authority(attempt);
        landed(Box::pin(strict_commit(&permit, on, staged)).await.unwrap())
    }

    /// All rows with their addresses.
    pub(super) async fn rows_of(&self, on: &TableHandle) -> RecordBatch {
        let request = ScanRequest { with_row_address: true, ..ScanRequest::default() };
        let batches = on.scan(request).await.unwrap().collect_all().await.unwrap();
        let schema = with_address(&self.columns());
        let columns = |batch: &RecordBatch| {
            let column = |name: &String| batch.column_by_name(name).unwrap().clone();
            let columns: Vec<ArrayRef> =
                schema.fields().iter().map(|field| column(field.name())).collect();
            RecordBatch::try_new(Arc::clone(&schema), columns).unwrap()
        };
        concat_batches(&schema, &batches.iter().map(columns).collect::<Vec<_>>()).unwrap()
    }

    fn keyed<'r>(&self, rows: &'r RecordBatch) -> impl Iterator<Item = (String, u64)> + 'r {
        let keys = rows.column_by_name(identity_column(self.table.def())).unwrap().clone();
        let at = addresses(rows).unwrap();
        (0..rows.num_rows()).map(move |row| {
            let keys = keys.as_any().downcast_ref::<StringArray>().unwrap();
            (keys.value(row).to_owned(), at.value(row))
        })
    }

    /// The line of each key.
    pub(super) async fn content(&self, of: &TableHandle) -> BTreeMap<String, String> {
        let rows = self.rows_of(of).await;
        let keyed = self.keyed(&rows).enumerate();
        let line = |row: usize| self.table.lines(&rows.slice(row, 1)).pop_first().unwrap();
        keyed.map(|(row, (key, _))| (key, line(row))).collect()
    }
}

#[track_caller]
fn landed(landing: Landing) -> TableHandle {
    match landing {
        Landing::Landed { table, .. } => table,
        other => panic!("{other:?}"),
    }
}
