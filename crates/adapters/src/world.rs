//! A graph in memory and one writer that takes requests through the stages without gates.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::TryStreamExt;
use graphwrite_manifest::{AGE_FLOOR_S_DEFAULT, InitRequest, Manifest, PublishOutcome, Transition};
use graphwrite_protocol_types::*;
use graphwrite_substrate::{
    Arming, IntentStore, MemoryStorage, ScanRequest, Store, TableHandle, Version, head,
};

use crate::testing::{CountingEnv, TestSchema};
use crate::*;

pub(super) struct World {
    pub(super) store: Store,
    pub(super) schema: TestSchema,
    pub(super) domain: IdentityDomain,
    env: Arc<CountingEnv>,
    manifest: Manifest,
    /// What the branch inherits: nothing, unless a test says otherwise.
    pub(super) inherited: BTreeSet<TableIdentity>,
    pub(super) bounds: CommitBounds,
}

/// What a load came to, briefly.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// Per table that the input names, sorted: inserted, updated, unchanged.
    Committed(Vec<(String, u64, u64, u64)>),
    NoChange,
    Conflict(Conflict),
    /// `place table.field rule` of each fault.
    Invalid(Vec<String>),
}

pub(super) type Write = Prepared<StagedPayload>;

impl World {
    pub(super) async fn new() -> Self {
        Self::of(TestSchema::new()).await
    }

    pub(super) async fn of(schema: TestSchema) -> Self {
        let env = Arc::new(CountingEnv::default());
        let store = Store::memory(&MemoryStorage::new());
        let domain = IdentityDomain::mint(env.as_ref());
        let request = InitRequest {
            schema: SchemaChange {
                hash: schema.schema.hash(),
                canonical: schema.schema.to_bytes(),
            },
            tables: schema.schema.types().iter().map(|def| def.identity).collect(),
            domain,
            actor: "tester".into(),
            age_floor_s: AGE_FLOOR_S_DEFAULT,
        };
        let manifest = Manifest::init(&store, env.clone(), request).await.unwrap();
        Self {
            store,
            schema,
            domain,
            env,
            manifest,
            inherited: BTreeSet::new(),
            bounds: CommitBounds::NONE,
        }
    }

    /// A graph with these rows.
    pub(super) async fn with(lines: &[&str]) -> Self {
        let world = Self::new().await;
        let came = world.load(LoadMode::Append, lines).await;
        assert!(matches!(came, Came::Committed(_)), "{came:?}");
        world
    }

    pub(super) fn identity(&self, name: &str) -> TableIdentity {
        self.schema.schema.by_name(name).unwrap().identity
    }

    pub(super) fn name(&self, identity: TableIdentity) -> String {
        self.schema.schema.by_identity(identity).unwrap().name.clone()
    }

    pub(super) async fn base(&self) -> BaseView {
        self.manifest.state().await.unwrap().base().clone()
    }

    pub(super) fn operation(&self) -> OperationId {
        OperationId::mint(self.env.as_ref())
    }

    /// A new attempt over `base`.
    pub(super) fn context<'c>(
        &'c self,
        store: &'c Store,
        base: &'c BaseView,
        operation: &'c OperationId,
        expected_head: Option<GraphHeadToken>,
    ) -> PrepareContext<'c> {
        PrepareContext {
            store,
            base,
            schema: &self.schema.schema,
            inherited: &self.inherited,
            domain: self.domain,
            attempt: AttemptId::mint(self.env.as_ref()),
            operation,
            actor: "tester",
            message: Some("a test"),
            expected_head,
            bounds: self.bounds,
            env: self.env.as_ref(),
        }
    }

    pub(super) async fn prepare_input(
        &self,
        mode: LoadMode,
        input: &LoadInput,
        store: &Store,
        expected_head: Option<GraphHeadToken>,
    ) -> Result<WritePlan, PrepareError> {
        let (base, operation) = (self.base().await, self.operation());
        let context = self.context(store, &base, &operation, expected_head);
        Box::pin(LoadAdapter::new(mode).prepare(&context, input)).await
    }

    pub(super) async fn prepare(
        &self,
        mode: LoadMode,
        lines: &[&str],
    ) -> Result<WritePlan, PrepareError> {
        self.prepare_input(mode, &self.schema.input(lines), &self.store, None).await
    }

    /// A plan that must have something to write.
    pub(super) async fn planned(&self, mode: LoadMode, lines: &[&str]) -> Write {
        match self.prepare(mode, lines).await {
            Ok(WritePlan::Write(write)) => *write,
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn load(&self, mode: LoadMode, lines: &[&str]) -> Came {
        match self.prepare(mode, lines).await {
            Ok(WritePlan::Write(write)) => match self.commit(*write).await {
                Ok(tables) => Came::Committed(tables),
                Err(stale) => panic!("{stale}"),
            },
            Ok(WritePlan::NoChange { .. }) => Came::NoChange,
            Ok(WritePlan::Conflict(conflict)) => Came::Conflict(conflict),
            Err(PrepareError::Invalid(found)) => {
                Came::Invalid(found.listed().iter().map(brief).collect())
            }
            Err(other) => panic!("{other}"),
        }
    }

    /// Takes a plan through stages C to G.
    pub(super) async fn commit(
        &self,
        write: Write,
    ) -> Result<Vec<(String, u64, u64, u64)>, NotValid> {
        let armed = self.arm(write).await?;
        let mut achieved = Vec::new();
        for effect in 0..armed.payload().effects() {
            let performed =
                perform(effect, armed.payload(), armed.intent(), &armed.permit(), &self.store)
                    .await;
            let (version, _) = performed.unwrap().landed().expect("nobody else is here");
            achieved.push(Some(version.pin()));
        }
        let applied = armed.applied(&achieved).map_err(|(outside, _)| outside).unwrap();
        let transition = Transition::Commit { intent: applied.intent(), delta: applied.delta() };
        let published = self.manifest.publish(transition, &self.manifest.known_state()).await;
        match published.unwrap() {
            PublishOutcome::Committed { .. } => {}
            other => panic!("{other:?}"),
        }
        let tables = applied.write().lineage.tables.iter();
        let mut tables: Vec<_> = tables
            .map(|table| (table.name.clone(), table.inserted, table.updated, table.unchanged))
            .collect();
        tables.sort();
        Ok(tables)
    }

    pub(super) async fn arm(&self, write: Write) -> Result<Armed<StagedPayload, ()>, NotValid> {
        let authority = self.base().await;
        let heads = self.heads(write.write()).await;
        let observed = Observed { authority, heads, pending: Vec::new() };
        let revalidated = write.gated(()).revalidate(&observed)?;
        let intent = revalidated.intent(self.owner(), self.env.unix_micros());
        let intents = IntentStore::new(self.store.clone(), self.domain);
        match intents.arm(intent).await.unwrap() {
            Arming::Armed(durable) => Ok(revalidated.arm(*durable).unwrap()),
            other => panic!("{other:?}"),
        }
    }

    /// Rows in the files that an upsert stages.
    pub(super) async fn staged_rows(&self, lines: &[&str]) -> u64 {
        let armed = self.arm(self.planned(LoadMode::Upsert, lines).await).await.unwrap();
        armed.payload().rows()
    }

    async fn heads(&self, write: &PreparedWrite) -> BTreeMap<TableIdentity, Option<Pin>> {
        let mut heads = BTreeMap::new();
        for effect in &write.effects {
            let target = &effect.target;
            let found = head(&self.store, target.path.as_str(), &target.physical_ref).await;
            heads.insert(target.identity, found.unwrap().map(|version| version.pin()));
        }
        heads
    }

    fn owner(&self) -> OwnerRecord {
        OwnerRecord {
            instance: ProcessInstanceId::mint(self.env.as_ref()),
            pid: 1,
            pid_namespace: None,
            boot_id: None,
            process_start_ticks: None,
            host: "test".into(),
        }
    }

    pub(super) async fn open(&self, name: &str) -> Option<TableHandle> {
        let base = self.base().await;
        let live = base.head(self.identity(name)).live()?.clone();
        let version = Version::Exact(live.pin.version);
        let opened =
            TableHandle::open(&self.store, live.path.as_str(), &live.physical_ref, version);
        Some(opened.await.unwrap())
    }

    /// The rows of a table as lines, sorted.
    pub(super) async fn rows(&self, name: &str) -> Vec<String> {
        let Some(table) = self.open(name).await else { return Vec::new() };
        let mut batches = table.scan(ScanRequest::default()).await.unwrap();
        let renderer = RowRenderer::new(&self.schema.schema, self.identity(name)).unwrap();
        let mut text = String::new();
        while let Some(batch) = batches.try_next().await.unwrap() {
            renderer.render(&batch, &mut text).unwrap();
        }
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }
}

pub(super) fn brief(violation: &Violation) -> String {
    let table = violation.table.as_deref().unwrap_or("-");
    let field = violation.field.as_deref().unwrap_or("-");
    format!("{} {table}.{field} {}", violation.place, violation.rule.code())
}

pub(super) fn committed(tables: &[(&str, u64, u64, u64)]) -> Came {
    let named = tables.iter().map(|(name, inserted, updated, unchanged)| {
        ((*name).to_owned(), *inserted, *updated, *unchanged)
    });
    Came::Committed(named.collect())
}

pub(super) fn invalid(faults: &[&str]) -> Came {
    Came::Invalid(faults.iter().map(|fault| (*fault).to_owned()).collect())
}
