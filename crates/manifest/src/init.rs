//! `init`: a graph comes into being with one Lance commit that carries stamp, identity domain,
//! schema and an absent head for every table, or not at all.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::try_join_all;
use graphwrite_protocol_types::{
    AttemptId, BranchToken, CommitPermit, Env, FormatStamp, IdentityDomain, PhysicalRef, Purpose,
    SchemaChange, TableHeadToken, TableIdentity, TxUuid,
};
use graphwrite_substrate::{
    BatchStream, StagedCommit, Store, SubstrateError, create_dataset, head, stage_create,
};

use crate::around::{graph_around, graph_below};
use crate::batch::{batch_of, columns};
use crate::declared::declared_tables;
use crate::error::InitError;
use crate::facts::{AGE_FLOOR_S_MIN, GraphFacts};
use crate::hot::{HotRows, Written};
use crate::landing::{LandingFault, Patience, Verdict, settle};
use crate::manifest::Manifest;
use crate::reading::MANIFEST_PATH;
use crate::root::{RootContents, judge_root};
use crate::rows::{GraphHeadRow, SchemaRow};
use crate::state::ManifestState;

/// The version that the creating commit makes.
const GENESIS: u64 = 1;

/// What a new graph is made of.
#[derive(Debug, Clone)]
pub struct InitRequest {
    /// The first schema.
    pub schema: SchemaChange,
    /// The tables that it declares.
    pub tables: Vec<TableIdentity>,
    /// The graph's identity.
    pub domain: IdentityDomain,
    /// Who creates it.
    pub actor: String,
    /// Age in seconds below which nothing may be deleted; at least [`AGE_FLOOR_S_MIN`].
    pub age_floor_s: u64,
}

impl Manifest {
    /// Creates the manifest, exclusively: of racing calls one succeeds and the others answer
    /// [`InitError::AlreadyExists`]. A call that dies leaves a complete graph or none, and the
    /// files of one that left none are no obstacle.
    ///
    /// # Errors
    /// Why there is no new graph; only [`InitError::Unknown`] leaves that open.
    pub async fn init(
        store: &Store,
        env: Arc<dyn Env>,
        request: InitRequest,
    ) -> Result<Self, InitError> {
        Self::init_patiently(store, env, request, Patience::default()).await
    }

    pub(crate) async fn init_patiently(
        store: &Store,
        env: Arc<dyn Env>,
        request: InitRequest,
        patience: Patience,
    ) -> Result<Self, InitError> {
        let hot = first_rows(&request)?;
        check_place(store).await?;
        let facts = GraphFacts {
            stamp: FormatStamp::current(),
            domain: request.domain,
            age_floor_s: request.age_floor_s,
            created_by: request.actor,
            created_at_unix_us: env.unix_micros(),
        };
        let attempt = AttemptId::mint(env.as_ref());
        let uuid = TxUuid::authority(attempt, env.random_u128());
        let staged = stage(store, &facts, &hot, uuid).await?;
        let state = create(store, attempt, staged, patience, (facts, hot)).await?;
        Ok(Self::over(store, env, Purpose::Write, state, None).with_patience(patience))
    }
}

fn first_rows(request: &InitRequest) -> Result<HotRows, InitError> {
    if request.age_floor_s < AGE_FLOOR_S_MIN {
        let given_s = request.age_floor_s;
        return Err(InitError::AgeFloor { given_s, min_s: AGE_FLOOR_S_MIN });
    }
    let SchemaChange { hash, canonical } = &request.schema;
    let absent = |identity| (identity, Written { version: GENESIS, value: TableHeadToken::Absent });
    let heads: BTreeMap<_, _> = request.tables.iter().copied().map(absent).collect();
    let declared = declared_tables(*hash, canonical)?;
    if let Some(identity) = heads
        .keys()
        .find(|table| !declared.contains(table))
        .or_else(|| declared.iter().find(|table| !heads.contains_key(table)))
    {
        return Err(InitError::Tables { identity: *identity });
    }
    let schema = SchemaRow { hash: *hash, canonical: canonical.clone() };
    let hot = HotRows {
        schema: Written { version: GENESIS, value: schema },
        graph_head: Written { version: GENESIS, value: GraphHeadRow { head: None } },
        heads,
        commits: Vec::new(),
        outcomes: Vec::new(),
        reaches: Vec::new(),
    };
    hot.check_identities()?;
    Ok(hot)
}

/// The directories of a graph. One that is there without a manifest belonged to a graph that lost
/// it, and a new graph must not take it over.
const DIRECTORIES: [&str; 4] = [MANIFEST_PATH, "tables", "_recovery", "_control"];

/// What may be where a graph is to be: nothing, or what a killed `init` left.
async fn check_place(store: &Store) -> Result<(), InitError> {
    check_surroundings(store).await?;
    let listings = DIRECTORIES.map(|directory| store.list(directory));
    let listings = try_join_all(listings).await.map_err(SubstrateError::from)?;
    let root = store.canonical_root().to_owned();
    match judge_root(listings.iter().flatten().map(|object| object.path.as_str())) {
        RootContents::Empty | RootContents::Residue => Ok(()),
        RootContents::Graph => Err(InitError::AlreadyExists { root }),
        RootContents::Foreign { path } => Err(InitError::NotEmpty { root, found: path }),
    }
}

/// A graph around it or below it would take the objects of the new one for its own, and the other way
/// round; and what is a file cannot be a directory of the graph.
async fn check_surroundings(store: &Store) -> Result<(), InitError> {
    let root = store.canonical_root().to_owned();
    if let Some(graph) = store.directory().and_then(graph_around) {
        return Err(InitError::InsideGraph { root, graph: graph.display().to_string() });
    }
    let files = try_join_all(DIRECTORIES.map(|directory| store.head(directory)));
    let (files, below) =
        tokio::try_join!(files, graph_below(store)).map_err(SubstrateError::from)?;
    if let Some(file) = files.into_iter().flatten().next() {
        return Err(InitError::NotEmpty { root, found: file.path });
    }
    match below {
        Some(graph) => Err(InitError::AroundGraph { root, graph }),
        None => Ok(()),
    }
}

async fn stage(
    store: &Store,
    facts: &GraphFacts,
    hot: &HotRows,
    uuid: TxUuid,
) -> Result<StagedCommit, InitError> {
    let schema = columns().as_ref().clone().with_metadata(facts.to_metadata());
    let batch = batch_of(&hot.to_rows())?;
    let schema = Arc::new(schema);
    let batch = batch.with_schema(Arc::clone(&schema)).map_err(crate::RowEncodeError::from)?;
    let batches = BatchStream::of(schema, vec![batch]);
    match Box::pin(stage_create(store, MANIFEST_PATH, batches, uuid)).await {
        Ok(staged) => Ok(staged),
        Err(error) => Err(lost_while_staging(store, error).await),
    }
}

/// Staging refuses a place that is taken; the storage says whether that was the reason.
async fn lost_while_staging(store: &Store, error: SubstrateError) -> InitError {
    match head(store, MANIFEST_PATH, &PhysicalRef::Main).await {
        Ok(Some(_)) => InitError::AlreadyExists { root: store.canonical_root().to_owned() },
        _ => error.into(),
    }
}

async fn create(
    store: &Store,
    attempt: AttemptId,
    staged: StagedCommit,
    patience: Patience,
    (facts, hot): (GraphFacts, HotRows),
) -> Result<ManifestState, InitError> {
    let root = || store.canonical_root().to_owned();
    let permit = CommitPermit::authority(attempt);
    let verdict = settle(patience, || {
        Box::pin(create_dataset(&permit, store, MANIFEST_PATH, staged.clone()))
    });
    match verdict.await {
        Ok(Verdict::Landed(version, table)) => {
            let main = BranchToken::main(facts.domain);
            ManifestState::new(facts, hot, &version, table, main)
                .map_err(|damage| InitError::Damaged { root: root(), damage })
        }
        Ok(Verdict::SlotTaken) => Err(InitError::AlreadyExists { root: root() }),
        Err(LandingFault::NotSent(error)) => Err(lost_while_staging(store, error).await),
        Err(LandingFault::Unknown(cause)) => Err(InitError::Unknown { root: root(), cause }),
    }
}
