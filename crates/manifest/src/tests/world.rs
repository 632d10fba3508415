//! The world of the tests: a graph of a few node types on some storage, and writers that publish.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use graphwrite_protocol_types::*;
use graphwrite_schema::{
    GraphSchema, PropertyDef, PropertyId, PropertyType, ScalarType, TypeDef, TypeKind,
};
use graphwrite_substrate::{MemoryStorage, Store};

use crate::hot::Concerned;
use crate::*;

/// A clock and a source of ids that only count, so that every run is the same.
#[derive(Debug, Default)]
pub(super) struct CountingEnv {
    seed: u64,
    count: AtomicU64,
}

impl CountingEnv {
    pub(super) fn seeded(seed: u64) -> Arc<Self> {
        Arc::new(Self { seed, count: AtomicU64::new(1) })
    }

    fn next(&self) -> u64 {
        self.count.fetch_add(1, Ordering::Relaxed)
    }
}

impl Env for CountingEnv {
    fn unix_micros(&self) -> u64 {
        1_795_000_000_000_000 + self.next()
    }

    fn monotonic_micros(&self) -> u64 {
        self.next()
    }

    fn random_u128(&self) -> u128 {
        let mut mixed = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ self.next();
        let mut half = || {
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            u128::from(mixed ^ (mixed >> 31))
        };
        (half() << 64) | half()
    }
}

/// The identity of the `n`th test table.
pub(super) fn table(n: u64) -> TableIdentity {
    TableIdentity {
        table: StableTableId::new(n).unwrap(),
        incarnation: IncarnationId::new(100 + n).unwrap(),
    }
}

pub(super) fn attempt(n: u128) -> AttemptId {
    AttemptId::from_u128(n)
}

pub(super) fn operation(name: &str) -> OperationId {
    name.parse().unwrap()
}

/// A schema with the node types of these identities.
pub(super) fn schema_of(tables: &[TableIdentity]) -> SchemaChange {
    let types = tables.iter().map(|identity| TypeDef {
        identity: *identity,
        name: format!("T{}", identity.incarnation.get()),
        kind: TypeKind::Node { key: PropertyId(1) },
        properties: vec![PropertyDef {
            id: PropertyId(1),
            name: "key".to_owned(),
            property_type: PropertyType::Scalar(ScalarType::String),
            nullable: false,
            unique: false,
            index: false,
        }],
        unique: Vec::new(),
        index: false,
        next_property_id: 2,
    });
    let schema = GraphSchema::new(types.collect()).unwrap();
    SchemaChange { hash: schema.hash(), canonical: schema.to_bytes() }
}

pub(super) const TABLES: u64 = 4;

pub(super) fn init_request() -> InitRequest {
    let tables: Vec<_> = (1..=TABLES).map(table).collect();
    InitRequest {
        schema: schema_of(&tables),
        tables,
        domain: IdentityDomain::from_u128(7),
        actor: "tester".to_owned(),
        age_floor_s: AGE_FLOOR_S_DEFAULT,
    }
}

/// Enough to see a retry, short enough not to be noticed.
pub(super) fn quick() -> Patience {
    Patience { retries: 3, first_wait: Duration::from_millis(1) }
}

/// A graph on some storage.
pub(super) struct World {
    pub(super) store: Store,
    ids: AtomicU64,
}

impl World {
    pub(super) async fn in_memory() -> Self {
        Self::on(Store::memory(&MemoryStorage::new())).await
    }

    pub(super) async fn on(store: Store) -> Self {
        Manifest::init(&store, CountingEnv::seeded(1), init_request()).await.unwrap();
        Self::over(store)
    }

    /// A graph that exists already; its next writes are unlike any before.
    pub(super) fn over(store: Store) -> Self {
        static WORLDS: AtomicU64 = AtomicU64::new(1);
        let first = WORLDS.fetch_add(1, Ordering::Relaxed) << 32;
        Self { store, ids: AtomicU64::new(first) }
    }

    /// A handle of its own, as another process would have.
    pub(super) async fn open(&self) -> Manifest {
        self.open_through(&self.store.reopened()).await
    }

    pub(super) async fn open_through(&self, store: &Store) -> Manifest {
        open(store, self.ids.fetch_add(1, Ordering::Relaxed) + 10).await
    }

    /// A number that nothing of this world has had.
    pub(super) fn next_id(&self) -> u128 {
        u128::from(self.ids.fetch_add(1, Ordering::Relaxed))
    }

    /// A write of its own attempt and operation, prepared over `base`.
    pub(super) fn write(&self, base: &ManifestState) -> Write {
        let n = self.ids.fetch_add(1, Ordering::Relaxed);
        Write::new(base, u128::from(n), &format!("operation-{n}"))
    }
}

pub(super) async fn open(store: &Store, seed: u64) -> Manifest {
    let main = NativeBranch::main();
    let opened = Manifest::open(store, CountingEnv::seeded(seed), &main, Purpose::Write);
    opened.await.unwrap().with_patience(quick())
}

/// A write in the making.
#[derive(Debug, Clone)]
pub(super) struct Write {
    pub(super) base: BaseView,
    pub(super) intent: Intent,
    pub(super) delta: ManifestDelta,
}

impl Write {
    pub(super) fn new(base: &ManifestState, n: u128, operation_id: &str) -> Self {
        let base = base.base().clone();
        let intent = Intent {
            attempt: attempt(n),
            operation: operation(operation_id),
            request: RequestDigest([n as u8; 32]),
            writer: WriterKind::Load,
            branch: base.branch.clone(),
            manifest: base.manifest.clone(),
            read_set: ReadSet::new(&base),
            effects: Vec::new(),
            delta: ManifestDelta::default(),
            lineage: LineageIntent {
                commit: CommitId::from_u128(n + (1 << 64)),
                parents: Parents::HeadAtPublish,
                actor: "tester".to_owned(),
                message: Some(format!("write {n}")),
                tables: Vec::new(),
            },
            recovery: RecoveryPlan { confirmation: Confirmation::NotNeeded },
            owner: owner(),
            armed_at_unix_us: 1,
        };
        Self { base, intent, delta: ManifestDelta::default() }
    }

    /// Changes the rows of a table: its head goes one version up.
    pub(super) fn writes(mut self, identity: TableIdentity) -> Self {
        self.intent.read_set.add_table(&self.base, identity, Access::Written);
        let below = self.base.head(identity).live().map_or(0, |head| head.pin.version);
        let pin = pin(self.intent.attempt, below + 1);
        let next = self.live(identity, pin);
        self.changes(HeadChange { identity, next })
    }

    pub(super) fn probes(mut self, identity: TableIdentity) -> Self {
        self.intent.read_set.add_table(&self.base, identity, Access::Probed);
        self
    }

    pub(super) fn reads_head(mut self) -> Self {
        self.intent.read_set.add_graph_head(self.base.graph_head);
        self
    }

    pub(super) fn of_operation(mut self, name: &str) -> Self {
        self.intent.operation = operation(name);
        self
    }

    pub(super) fn drops(mut self, identity: TableIdentity) -> Self {
        self.intent.read_set.add_table(&self.base, identity, Access::Written);
        self.changes(HeadChange { identity, next: NextHead::Tombstoned })
    }

    pub(super) fn declares(mut self, tables: &[TableIdentity]) -> Self {
        self.delta.schema = Some(schema_of(tables));
        self.armed()
    }

    fn changes(mut self, change: HeadChange) -> Self {
        self.delta.heads.push(change);
        self.armed()
    }

    /// The intent is armed with the delta as it is now.
    pub(super) fn armed(mut self) -> Self {
        self.intent.delta = self.delta.clone();
        self
    }

    fn live(&self, identity: TableIdentity, pin: Pin) -> NextHead {
        NextHead::Live {
            path: DatasetPath::of_first_load(identity, self.intent.attempt),
            physical_ref: PhysicalRef::Main,
            ref_identifier: RefIdentifier::Main(IdentityDomain::from_u128(7)),
            pin: PinSlot::Exact(pin),
            content: ContentId::from_u128(self.intent.attempt.as_u128()),
            table_schema: self.base.schema.0,
        }
    }

    pub(super) fn transition(&self) -> Transition<'_> {
        Transition::Commit { intent: &self.intent, delta: &self.delta }
    }

    pub(super) fn abort(&self) -> Transition<'static> {
        abort_all([self])
    }

    pub(super) fn roll_forward(&self, by: u128) -> Transition<'_> {
        let by = ProcessInstanceId::from_u128(by);
        Transition::RollForward { intent: &self.intent, delta: &self.delta, by }
    }

    /// Publishes and expects to have committed.
    pub(super) async fn commit(&self, on: &Manifest, base: &ManifestState) -> ManifestState {
        match on.publish(self.transition(), base).await.unwrap() {
            PublishOutcome::Committed { state, commit } => {
                assert_eq!(commit.commit, self.intent.lineage.commit);
                state
            }
            other => panic!("not committed: {other:?}"),
        }
    }
}

/// The abort of several attempts at once.
pub(super) fn abort_all<'a>(writes: impl IntoIterator<Item = &'a Write>) -> Transition<'static> {
    let aborted = |write: &Write| AbortedAttempt {
        attempt: write.intent.attempt,
        operation: write.intent.operation.clone(),
        request: write.intent.request,
        reason: "its owner died".to_owned(),
    };
    let attempts = writes.into_iter().map(aborted).collect();
    Transition::Abort { attempts, by: ProcessInstanceId::from_u128(99) }
}

/// What the manifest follows of the compensation of one attempt.
pub(super) fn compensated(
    attempt: AttemptId,
    moves: Vec<PinMove>,
    rolled_back: bool,
) -> CompensatedAttempt {
    CompensatedAttempt { attempt, moves, rolled_back }
}

pub(super) fn move_pins_of(
    attempt: AttemptId,
    moves: Vec<PinMove>,
    rolled_back: bool,
) -> Transition<'static> {
    Transition::MovePins { attempts: vec![compensated(attempt, moves, rolled_back)] }
}

/// The hot outcome rows of an attempt.
pub(super) fn hot_rows_of(state: &ManifestState, attempt: AttemptId) -> Vec<OutcomeRow> {
    state.hot().outcomes_of(&Concerned::one(attempt, None)).cloned().collect()
}

/// A seal of an operation under an id of its own.
pub(super) fn seal(name: &str, n: u128) -> Transition<'static> {
    Transition::Seal {
        operation: operation(name),
        attempt: attempt(n),
        by: ProcessInstanceId::from_u128(99),
        reason: "sent again elsewhere".to_owned(),
    }
}

pub(super) fn pin(of: AttemptId, version: u64) -> Pin {
    Pin { version, tx_uuid: TxUuid::effect(of, 0, version as u32) }
}

pub(super) fn fence(of: AttemptId, above: &Pin) -> Pin {
    Pin { version: above.version + 1, tx_uuid: TxUuid::fence(of, 0) }
}

pub(super) fn owner() -> OwnerRecord {
    OwnerRecord {
        instance: ProcessInstanceId::from_u128(5),
        pid: 1,
        pid_namespace: None,
        boot_id: None,
        process_start_ticks: None,
        host: "host".to_owned(),
    }
}

/// Commits `count` writes one after the other, each to the next table in turn.
pub(super) async fn commit_many(world: &World, on: &Manifest, count: u64) -> Vec<Write> {
    let mut writes = Vec::new();
    for n in 0..count {
        let state = on.known_state();
        let write = world.write(&state).writes(table(1 + n % TABLES));
        write.commit(on, &state).await;
        writes.push(write);
    }
    writes
}

/// What must be true of every manifest, read afresh: lineage is one line, every commit has one
/// `committed` row, no attempt has two terminal rows.
pub(super) async fn check_history(world: &World) -> Vec<CommitRow> {
    let state = world.open().await.known_state();
    let commits = state.commits(usize::MAX).await.unwrap();
    assert_eq!(commits.first().map(|row| row.commit), state.base().graph_head.0);
    for pair in commits.windows(2) {
        assert_eq!(pair[0].parents, [pair[1].commit]);
        assert!(pair[0].manifest_version > pair[1].manifest_version);
    }
    if let Some(first) = commits.last() {
        assert!(first.parents.is_empty());
    }
    for row in &commits {
        let outcome = state.outcome_of_attempt(row.attempt).await.unwrap().unwrap();
        assert_eq!(outcome.commit(), Some(row.commit));
        assert_eq!(outcome.manifest_version, row.manifest_version);
    }
    commits
}
