//! A storage to plant faults in, and what `verify` says of it. Faults are planted below the graph:
//! objects are exchanged, and versions committed that no attempt has armed.

use graphwrite_coordinator::{
    Finding, Graph, LoadMode, MemoryStorage, Severity, Store, VerifyReport,
};
use graphwrite_protocol_types::{AttemptId, CommitPermit, PhysicalRef, TxUuid};
use graphwrite_substrate::{
    BatchStream, Fault, OperationLog, PutOutcome, RawObjects, RowAddresses, ScanRequest,
    StagedCommit, TableHandle, Version, read_slot, stage_change, strict_commit,
};

use crate::judge::{impatient, open_impatient};
use crate::world::{BASE, append, create, load};

pub(super) const ADA: &str = r#"{"type":"Person","data":{"slug":"ada","age":36}}"#;
pub(super) const BOB: &str = r#"{"type":"Person","data":{"slug":"bob","age":40}}"#;

/// A storage with a graph that has the rows of [`BASE`].
pub(super) struct Ground {
    pub(super) storage: MemoryStorage,
    /// The dataset of the type `Person`.
    pub(super) persons: String,
}

/// A graph without rows.
pub(super) async fn without_rows() -> (Store, Graph) {
    let store = Store::memory(&MemoryStorage::new());
    let graph = create(&store).await;
    (store, graph)
}

impl Ground {
    pub(super) async fn new() -> Self {
        let storage = MemoryStorage::new();
        let graph = create(&Store::memory(&storage)).await;
        append(&graph, BASE).await;
        graph.settled().await;
        let persons = dataset_of(&graph, &storage, "Person").await;
        Self { storage, persons }
    }

    /// The same, and two more commits to `Person`: its versions are 1, 2 and 3.
    pub(super) async fn with_history() -> Self {
        let ground = Self::new().await;
        ground.append(ADA).await;
        ground.append(BOB).await;
        ground
    }

    pub(super) fn fork(&self) -> Self {
        Self { storage: self.storage.fork(), persons: self.persons.clone() }
    }

    pub(super) fn store(&self) -> Store {
        Store::memory(&self.storage)
    }

    pub(super) async fn open(&self) -> Graph {
        open_impatient(&self.store()).await
    }

    pub(super) async fn append(&self, line: &str) {
        self.load(LoadMode::Append, &[line]).await;
    }

    pub(super) async fn load(&self, mode: LoadMode, lines: &[&str]) {
        let graph = self.open().await;
        let outcome = load(&graph, mode, lines).await;
        assert!(matches!(outcome, graphwrite_protocol_types::WriteOutcome::Committed(_)));
        graph.settled().await;
    }

    pub(super) async fn verified(&self) -> VerifyReport {
        verified(&self.storage).await
    }

    pub(super) async fn put(&self, path: &str, bytes: &[u8]) {
        let bytes = bytes.to_vec().into();
        let put = self.store().put_if_absent(path, bytes, AttemptId::from_u128(1)).await.unwrap();
        assert!(matches!(put, PutOutcome::Created), "{path}");
    }

    pub(super) async fn delete(&self, path: &str) {
        let store = self.store();
        assert!(store.head(path).await.unwrap().is_some(), "{path}");
        store.delete(path).await.unwrap();
    }

    pub(super) async fn change(&self, path: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = self.store().get(path).await.unwrap().unwrap().to_vec();
        change(&mut bytes);
        self.delete(path).await;
        self.put(path, &bytes).await;
    }

    /// Takes over the object at `path` from another storage, and every object that is there alone.
    pub(super) async fn take(&self, path: &str, other: &Self) {
        self.delete(path).await;
        let (store, from) = (self.store(), other.store());
        for object in from.list("").await.unwrap() {
            if store.head(&object.path).await.unwrap().is_none() {
                self.put(&object.path, &from.get(&object.path).await.unwrap().unwrap()).await;
            }
        }
        assert!(store.head(path).await.unwrap().is_some(), "{path}");
    }

    /// The object of a version of `Person`.
    pub(super) fn version(&self, version: u64) -> String {
        version_of(&self.persons, version)
    }

    pub(super) async fn uuid_of(&self, version: u64) -> TxUuid {
        let slot = read_slot(&self.store(), &self.persons, &PhysicalRef::Main, version).await;
        slot.unwrap().unwrap().version.tx_uuid
    }

    /// The data files of `Person`, oldest first by the versions that brought them.
    pub(super) async fn data_of(&self, version: u64) -> Vec<String> {
        let table = self.person_table(Version::Exact(version)).await;
        table.fragments().unwrap().into_iter().flat_map(|fragment| fragment.data).collect()
    }

    pub(super) async fn person_table(&self, version: Version) -> TableHandle {
        let store = self.store();
        TableHandle::open(&store, &self.persons, &PhysicalRef::Main, version).await.unwrap()
    }

    /// A writer beside the protocol appends the rows of a ref of a table once more.
    pub(super) async fn foreign_append_to(&self, dataset: &str, name: &str) {
        let (store, of) = (self.store(), PhysicalRef::Named(name.to_owned()));
        let table = TableHandle::open(&store, dataset, &of, Version::Latest).await.unwrap();
        append_again(&table, foreign()).await;
    }

    /// The same to `Person`.
    pub(super) async fn foreign_append(&self, uuid: TxUuid) {
        append_again(&self.person_table(Version::Latest).await, uuid).await;
    }
}

async fn append_again(table: &TableHandle, uuid: TxUuid) {
    let rows = table.scan(ScanRequest::default()).await.unwrap();
    let (schema, rows) = (rows.schema(), rows.collect_all().await.unwrap());
    let adds = Some(BatchStream::of(schema, rows));
    let staged = stage_change(table, &RowAddresses::new(), adds, uuid).await.unwrap();
    land(table, staged).await;
}

pub(super) async fn land(table: &TableHandle, staged: StagedCommit) {
    let permit = CommitPermit::authority(AttemptId::from_u128(1));
    let landing = strict_commit(&permit, table, staged).await.unwrap();
    assert!(landing.landed().is_some());
}

pub(super) fn foreign() -> TxUuid {
    TxUuid::observed("0f8fad5b-d9cb-469f-a165-70867728950e")
}

pub(super) fn version_of(dataset: &str, version: u64) -> String {
    format!("{dataset}/_versions/{:020}.manifest", u64::MAX - version)
}

async fn dataset_of(graph: &Graph, storage: &MemoryStorage, name: &str) -> String {
    let snapshot = graph.snapshot().await.unwrap();
    let identity = snapshot.schema().by_name(name).unwrap().identity;
    let objects = Store::memory(storage).list("tables").await.unwrap();
    let datasets = objects.iter().filter_map(|object| object.path.split('/').nth(1));
    let mut datasets = datasets.filter(|dataset| dataset.starts_with(&identity.to_string()));
    format!("tables/{}", datasets.next().unwrap())
}

/// What `verify` says of a storage. It writes nothing, whatever it finds.
pub(super) async fn verified(storage: &MemoryStorage) -> VerifyReport {
    let (client, faults) = Store::memory(storage).faulty(|_| Fault::Proceed);
    let graph = Graph::open_read_only(client, impatient()).await.unwrap();
    let report = graph.verify().await.unwrap();
    assert_eq!(faults.log(), OperationLog::default());
    report
}

/// The findings of a code; each says what to do.
pub(super) fn of<'a>(report: &'a VerifyReport, code: &str) -> Vec<&'a Finding> {
    let found: Vec<_> = report.findings.iter().filter(|it| it.code == code).collect();
    assert!(!found.is_empty(), "no `{code}` in {report:#?}");
    assert!(found.iter().all(|it| !it.remedy.is_empty() && !it.place.is_empty()), "{report:#?}");
    found
}

/// The faults, each code once.
pub(super) fn faults(report: &VerifyReport) -> Vec<&'static str> {
    codes(report, Severity::Fault)
}

pub(super) fn notes(report: &VerifyReport) -> Vec<&'static str> {
    codes(report, Severity::Note)
}

fn codes(report: &VerifyReport, severity: Severity) -> Vec<&'static str> {
    let found = report.findings.iter().filter(|it| it.severity == severity).map(|it| it.code);
    let found: std::collections::BTreeSet<_> = found.collect();
    found.into_iter().collect()
}
