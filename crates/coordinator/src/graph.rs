//! The public handle of a graph. Everything that writes goes through [`Graph::load`], which goes
//! through every stage; everything else reads, or resolves what is pending.

use std::sync::Arc;

use futures::future::BoxFuture;
use graphwrite_adapters::{InputBuilder, LoadLimits, MutationBuilder};
use graphwrite_gates::GateMetrics;
use graphwrite_manifest::{AGE_FLOOR_S_DEFAULT, CommitRow, InitRequest, Manifest};
use graphwrite_protocol_types::{
    AttemptId, BranchSelector, BranchToken, CommitId, Failpoint, IdentityDomain, Intent,
    NativeBranch, Purpose, SchemaChange, WriteOutcome,
};
use graphwrite_recovery::BarrierReport;
use graphwrite_schema::GraphSchema;
use graphwrite_substrate::Store;

use crate::audit::audit;
use crate::branch;
use crate::core::Core;
use crate::diff::diff;
use crate::merge::{merge, preview};
use crate::operation::{Caller, Work, schema_of};
use crate::orphans::intent;
use crate::outcome::outcome;
use crate::recover::{PendingIntents, RecoverRequest, pending, recover};
use crate::report::{CommitInfo, StatusReport, VerifyReport};
use crate::snapshot::snapshot_at;
use crate::status::status;
use crate::verify::verify;
use crate::write::write;
use crate::{
    Activity, AuditEntry, BranchError, BranchInfo, BranchStanding, BranchStatus, CommitDiff,
    CreateBranch, CreateError, DeleteBranch, DiffRequest, GraphOptions, LoadRequest, MergeAnswer,
    MergeReport, MergeRequest, MutateRequest, OpenError, OperationOutcome, OutcomeError,
    OutcomeRequest, ReadError, RecoverError, Snapshot, WriteError,
};

/// A graph: many tables, one authority. Cheap to clone; clones share everything.
///
/// A handle is on one incarnation of one branch. Once that is deleted, whatever is asked of the branch
/// through it is refused as `branch_deleted`, even if another branch of its name is made; what was
/// captured before can be read on. What is asked of the graph (its branches, and deleting them) and
/// the builders of requests, which need the schema only, go on.
#[derive(Debug, Clone)]
pub struct Graph {
    core: Arc<Core>,
}

impl Graph {
    /// Creates a graph with `schema`, exclusively: of racing calls one succeeds. A call that dies
    /// leaves a complete graph or none.
    ///
    /// # Errors
    /// Why there is no new graph; only an unknown outcome leaves that open.
    pub async fn create(
        store: Store,
        schema: &GraphSchema,
        actor: &str,
        options: GraphOptions,
    ) -> Result<Self, CreateError> {
        options.hooks.reach(Failpoint::PreGenesis).await?;
        let request = InitRequest {
            schema: SchemaChange { hash: schema.hash(), canonical: schema.to_bytes() },
            tables: schema.types().iter().map(|declared| declared.identity).collect(),
            domain: IdentityDomain::mint(options.env.as_ref()),
            actor: actor.to_owned(),
            age_floor_s: AGE_FLOOR_S_DEFAULT,
        };
        let manifest = Box::pin(Manifest::init(&store, Arc::clone(&options.env), request)).await?;
        options.hooks.reach(Failpoint::PostGenesis).await?;
        Ok(Self { core: Core::new(store, manifest, options, Purpose::Write) })
    }

    /// Opens a graph for reading and writing. Nothing is recovered by opening; the first write
    /// resolves what is in its way.
    ///
    /// # Errors
    /// Why there is nothing to open.
    pub async fn open(store: Store, options: GraphOptions) -> Result<Self, OpenError> {
        Self::open_for(store, options, Purpose::Write).await
    }

    /// Opens a graph for reading. This handle never writes, not even to recover.
    ///
    /// # Errors
    /// Why there is nothing to open.
    pub async fn open_read_only(store: Store, options: GraphOptions) -> Result<Self, OpenError> {
        Self::open_for(store, options, Purpose::Read).await
    }

    /// Opens a graph on a branch, for reading and writing: the incarnation that the branch's name means now.
    /// What [`Graph::branch`] says of handles holds.
    ///
    /// # Errors
    /// There is no such graph or branch, or it cannot be opened.
    pub fn open_on(
        store: Store,
        branch: &BranchSelector,
        options: GraphOptions,
    ) -> BoxFuture<'_, Result<Self, BranchError>> {
        Box::pin(Self::open_on_for(store, branch, options, Purpose::Write))
    }

    /// Opens a graph on a branch for reading, as [`Graph::open_on`]. This handle never writes.
    ///
    /// # Errors
    /// As for [`Graph::open_on`].
    pub fn open_read_only_on(
        store: Store,
        branch: &BranchSelector,
        options: GraphOptions,
    ) -> BoxFuture<'_, Result<Self, BranchError>> {
        Box::pin(Self::open_on_for(store, branch, options, Purpose::Read))
    }

    async fn open_on_for(
        store: Store,
        branch: &BranchSelector,
        options: GraphOptions,
        purpose: Purpose,
    ) -> Result<Self, BranchError> {
        Ok(Self { core: branch::open_first(store, branch, options, purpose).await? })
    }

    async fn open_for(
        store: Store,
        options: GraphOptions,
        purpose: Purpose,
    ) -> Result<Self, OpenError> {
        let env = Arc::clone(&options.env);
        let branch = NativeBranch::main();
        let manifest = Box::pin(Manifest::open(&store, env, &branch, purpose)).await?;
        Ok(Self { core: Core::new(store, manifest, options, purpose) })
    }

    /// Loads rows into any number of tables, in one commit.
    ///
    /// The request runs to its end once its intent is durable, even if the returned future is
    /// dropped.
    ///
    /// # Errors
    /// Why the request was refused; the graph is as it was.
    pub fn load(&self, request: LoadRequest) -> BoxFuture<'_, Result<WriteOutcome, WriteError>> {
        self.requested(request.into())
    }

    /// Carries out statements over any number of tables, in order, in one commit.
    ///
    /// The request runs to its end once its intent is durable, even if the returned future is
    /// dropped.
    ///
    /// # Errors
    /// Why the request was refused; the graph is as it was.
    pub fn mutate(
        &self,
        request: MutateRequest,
    ) -> BoxFuture<'_, Result<WriteOutcome, WriteError>> {
        self.requested(request.into())
    }

    /// Merges what another branch has changed into the branch of this handle, in one commit that descends
    /// from both (RFC 6.2).
    ///
    /// The source is captured once; what is committed to its branch later is not merged. Whatever is
    /// committed to the target before the effects makes the merge be computed anew. Rows that contradict
    /// each other are an outcome, all of them counted in the report; nothing is written then, unless the
    /// strategy decides. A source that changes no row is merged by a commit without changes, so that it
    /// is known to be merged.
    ///
    /// The request runs to its end once its intent is durable, even if the returned future is
    /// dropped.
    ///
    /// # Errors
    /// Why the request was refused; the graph is as it was.
    pub fn merge(&self, request: MergeRequest) -> BoxFuture<'_, Result<MergeAnswer, WriteError>> {
        Box::pin(merge(&self.core, request))
    }

    /// What [`Graph::merge`] would do now: the same comparison and the same conflicts, without effects.
    /// Nothing of recovery is waited for. Reads only.
    ///
    /// # Errors
    /// Why nothing was compared.
    pub fn preview_merge(
        &self,
        request: MergeRequest,
    ) -> BoxFuture<'_, Result<MergeReport, WriteError>> {
        Box::pin(preview(&self.core, request))
    }

    /// Erased here, so that a caller may spawn or box it without a higher recursion limit of its own.
    fn requested(&self, asked: (Work, Caller)) -> BoxFuture<'_, Result<WriteOutcome, WriteError>> {
        Box::pin(write(&self.core, asked))
    }

    /// What became of a request, from its operation id alone, in any process (RFC 2.5). With `seal`,
    /// a request that has not committed never will.
    ///
    /// # Errors
    /// Why no answer is claimed. Only [`OutcomeError::SealUnknown`] leaves open whether something was
    /// written.
    pub fn outcome(
        &self,
        request: OutcomeRequest,
    ) -> BoxFuture<'_, Result<OperationOutcome, OutcomeError>> {
        Box::pin(outcome(&self.core, request))
    }

    /// A builder for the rows of a load, which checks them against the accepted schema.
    ///
    /// # Errors
    /// The accepted schema cannot be read.
    pub async fn input(&self, limits: LoadLimits) -> Result<InputBuilder, ReadError> {
        let schema = schema_of(&self.core.manifest.state().await?)?;
        Ok(InputBuilder::new(&schema).with_limits(limits))
    }

    /// A builder for the statements of a mutation, which checks them against the accepted schema.
    ///
    /// # Errors
    /// The accepted schema cannot be read.
    pub async fn mutation(&self, limits: LoadLimits) -> Result<MutationBuilder, ReadError> {
        let schema = schema_of(&self.core.manifest.state().await?)?;
        Ok(MutationBuilder::new(&schema).with_limits(limits))
    }

    /// The newest state of the branch.
    ///
    /// # Errors
    /// The storage failed, or holds no manifest that this build reads.
    pub async fn snapshot(&self) -> Result<Snapshot, ReadError> {
        let newest = async { Ok::<_, ReadError>(self.core.manifest.state().await?) };
        let state = self.core.unless_deleted(newest).await?;
        Snapshot::new(self.core.store.clone(), state)
    }

    /// The branch as the commit left it, with the schema of its time.
    ///
    /// # Errors
    /// The branch has no such commit, its version is not there any more or is another one, or the
    /// storage failed.
    pub fn snapshot_at(&self, commit: CommitId) -> BoxFuture<'_, Result<Snapshot, ReadError>> {
        Box::pin(self.core.unless_deleted(snapshot_at(&self.core, commit)))
    }

    /// Which rows differ between two commits, exactly. Tables and files that both have in common are
    /// not read.
    ///
    /// # Errors
    /// As [`Graph::snapshot_at`], or rows cannot be read.
    pub fn diff(&self, request: DiffRequest) -> BoxFuture<'_, Result<CommitDiff, ReadError>> {
        Box::pin(self.core.unless_deleted(diff(&self.core, request)))
    }

    /// What recovery and seals have decided on this branch, newest first, `limit` at most. An owner's
    /// own commits are history, not audit.
    ///
    /// # Errors
    /// The manifest cannot be read.
    pub async fn audit(&self, limit: usize) -> Result<Vec<AuditEntry>, ReadError> {
        self.core.unless_deleted(audit(&self.core, limit)).await
    }

    /// The newest commits, newest first, `limit` at most.
    ///
    /// # Errors
    /// The manifest cannot be read.
    pub async fn log(&self, limit: usize) -> Result<Vec<CommitInfo>, ReadError> {
        let commits = async {
            let commits = self.core.manifest.state().await?.commits(limit).await?;
            Ok(commits.into_iter().map(CommitInfo::from).collect())
        };
        self.core.unless_deleted(commits).await
    }

    /// The commit with this id; none when the branch has no such commit.
    ///
    /// # Errors
    /// The manifest cannot be read.
    pub async fn commit(&self, id: CommitId) -> Result<Option<CommitInfo>, ReadError> {
        let found = async {
            let found = self.core.manifest.state().await?.commit(id).await?;
            Ok(found.map(CommitInfo::from))
        };
        self.core.unless_deleted(found).await
    }

    /// Makes a branch. It costs the same whatever the graph's size and number of branches, copies no
    /// rows, and makes no commit.
    ///
    /// The creation runs to its end even if the returned future is dropped.
    ///
    /// # Errors
    /// Why there is no new branch.
    pub fn create_branch(
        &self,
        request: CreateBranch,
    ) -> BoxFuture<'_, Result<BranchInfo, BranchError>> {
        Box::pin(branch::create(&self.core, request))
    }

    /// A handle on a branch of this graph: the incarnation that its name means now. What this handle
    /// does on it is refused once the branch is deleted, even if another of its name is made.
    ///
    /// # Errors
    /// There is no such branch, or it cannot be opened.
    pub fn branch(&self, name: &BranchSelector) -> BoxFuture<'_, Result<Self, BranchError>> {
        let name = name.clone();
        Box::pin(async move { Ok(Self { core: branch::open(&self.core, &name).await? }) })
    }

    /// All names that were ever used, main first, with what each means now. Reads only.
    ///
    /// # Errors
    /// The records of names cannot be read.
    pub fn branches(&self) -> BoxFuture<'_, Result<Vec<(String, BranchStanding)>, BranchError>> {
        Box::pin(branch::list(&self.core))
    }

    /// One branch, closely. Reads only.
    ///
    /// # Errors
    /// There is no such branch, or it cannot be read.
    pub fn branch_status(
        &self,
        name: &BranchSelector,
    ) -> BoxFuture<'_, Result<BranchStatus, BranchError>> {
        let name = name.clone();
        Box::pin(async move { branch::describe(&self.core, &name).await })
    }

    /// Deletes a branch, whatever state its data is in. Branches that were forked from it go on; a
    /// write to it that is under way is told, never acknowledged into nothing.
    ///
    /// # Errors
    /// There is no such branch, or whether it is deleted is not known.
    pub fn delete_branch(&self, request: DeleteBranch) -> BoxFuture<'_, Result<(), BranchError>> {
        Box::pin(async move { branch::delete(&self.core, &request).await.map(drop) })
    }

    /// The incarnation of the branch that this handle is on.
    pub fn on_branch(&self) -> BranchToken {
        self.core.branch()
    }

    /// The armed intents, each with what was found, the rule that decides and what would be next,
    /// and the objects among the records that cannot be understood. Reads only.
    ///
    /// # Errors
    /// The storage or the manifest cannot be read.
    pub async fn pending_intents(&self) -> Result<PendingIntents, RecoverError> {
        pending(&self.core).await
    }

    /// The intent of `attempt` as it was armed (RFC 4.5); none when it is over or never was. Reads
    /// only, and judges nothing: [`Graph::pending_intents`] does.
    ///
    /// # Errors
    /// The storage failed, or the record cannot be understood.
    pub async fn intent(&self, attempt: AttemptId) -> Result<Option<Intent>, ReadError> {
        self.core.unless_deleted(intent(&self.core, attempt)).await
    }

    /// Resolves what is pending, all of it or one attempt.
    ///
    /// # Errors
    /// A fault of the storage; whatever was resolved until then stays resolved.
    pub async fn recover(&self, request: RecoverRequest) -> Result<BarrierReport, RecoverError> {
        recover(&self.core, request).await
    }

    /// One screen about the graph. Reads only.
    ///
    /// # Errors
    /// The storage or the manifest cannot be read.
    pub async fn status(&self) -> Result<StatusReport, ReadError> {
        // Erased as well: it reads all tables at once.
        let status: BoxFuture<'_, _> = Box::pin(status(&self.core));
        self.core.unless_deleted(status).await
    }

    /// Checks everything that can be checked, past every cache. Reads only; what is wrong is in the
    /// report.
    ///
    /// # Errors
    /// The graph cannot be read at all.
    pub async fn verify(&self) -> Result<VerifyReport, ReadError> {
        let verified: BoxFuture<'_, _> = Box::pin(verify(&self.core));
        self.core.unless_deleted(verified).await
    }

    /// How long gates were waited for and held in this process, on this graph.
    pub fn gate_metrics(&self) -> GateMetrics {
        self.core.gates.metrics()
    }

    /// What this process has done with this graph so far, by all of its handles. For a monitor to
    /// read as often as it likes: no writer waits for it.
    pub fn activity(&self) -> Activity {
        self.core.counters.read()
    }

    /// Returns when no work of this handle goes on behind its answers. A process calls it before it
    /// ends, so that records are tidied; nothing is lost if it does not.
    pub async fn settled(&self) {
        self.core.background.idle().await;
    }
}

impl From<CommitRow> for CommitInfo {
    fn from(row: CommitRow) -> Self {
        Self {
            commit: row.commit,
            attempt: row.attempt,
            operation: row.operation,
            parents: row.parents,
            actor: row.actor,
            at_unix_us: row.recorded_at_unix_us,
            writer: row.writer,
            message: row.message,
            tables: row.tables,
            manifest_version: row.manifest_version,
        }
    }
}
