//! Branches that are made and deleted: what a name means before, who asks, and what a fresh process finds
//! afterwards. It must not know what is demanded of it.

use graphwrite_coordinator::{
    BranchError, BranchFrom, BranchInfo, BranchStanding, BranchStatus, CreateBranch, DeleteBranch,
    Graph, LoadMode, LoadRequest, MemoryStorage, Store,
};
use graphwrite_protocol_types::{
    BranchName, BranchToken, CommitId, NameState, Wholeness, WriteOutcome,
};
use graphwrite_substrate::{Fault, Operation, OperationKind};

use super::log::is_manifest_commit;
use super::matrix::at_nth;
use super::pending::Pending;
use super::refs::is_contents;
use super::scenario::{SINCE, Stage};
use crate::ground::{Beside, on};
use crate::judge::{Complaint, Promise, Reference, impatient, open_impatient};
use crate::world::{input, own_process};

/// The branch that is made or deleted.
pub(crate) const NAME: &str = "agent/1";
/// A branch that another is made of.
pub(crate) const SOURCE: &str = "source";
/// A branch that was made of the one that goes.
pub(super) const CHILD: &str = "child";

/// What a branch is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The head of main.
    Main,
    /// The head of another branch.
    Branch,
    /// A commit of main that is not its head.
    Commit,
}

/// What the name meant before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Earlier {
    Free,
    /// A branch with rows of its own, which was deleted.
    Deleted,
    /// A creation from another branch whose owner died: it was begun,
    Begun,
    /// its native branch was cloned,
    Cloned,
    /// or was complete, and undecided.
    Complete,
}

/// What there is of a branch that is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alive {
    /// Rows of its own.
    Plain,
    /// And a branch that was made of it.
    Parent,
    /// And an intent that is pending on it.
    Pending,
}

impl Origin {
    /// What somebody else makes the same name of.
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Main | Self::Branch => Self::Commit,
            Self::Commit => Self::Main,
        }
    }
}

/// Makes a branch of another one's head.
pub(crate) async fn create_branch(graph: &Graph, name: &str, from: &str) -> BranchInfo {
    let from = BranchFrom::Head(from.parse().expect("a name"));
    graph.create_branch(request(name, from)).await.expect("a new branch")
}

fn request(name: &str, from: BranchFrom) -> CreateBranch {
    CreateBranch { name: branch(name), from, actor: "ada".to_owned() }
}

fn branch(name: &str) -> BranchName {
    name.parse().expect("a name")
}

pub(crate) async fn delete_branch(graph: &Graph) -> Result<(), BranchError> {
    delete_named(graph, NAME).await
}

pub(crate) async fn delete_named(graph: &Graph, name: &str) -> Result<(), BranchError> {
    let request = DeleteBranch { name: branch(name), actor: "ada".to_owned(), expect_head: None };
    graph.delete_branch(request).await
}

/// Makes the branch of `origin`.
pub(crate) async fn fork(
    graph: &Graph,
    origin: Origin,
    older: CommitId,
) -> Result<BranchInfo, BranchError> {
    let from = match origin {
        Origin::Main => BranchFrom::Head("main".parse().expect("a name")),
        Origin::Branch => BranchFrom::Head(SOURCE.parse().expect("a name")),
        Origin::Commit => BranchFrom::Commit(older),
    };
    graph.create_branch(request(NAME, from)).await
}

/// What the name means to a fresh process.
pub(crate) async fn standing(graph: &Graph) -> Option<BranchStanding> {
    let all = graph.branches().await.expect("the names");
    all.into_iter().find(|(name, _)| name == NAME).map(|(_, standing)| standing)
}

/// The branch, if the name means one.
pub(crate) async fn live(graph: &Graph) -> Option<BranchInfo> {
    match standing(graph).await {
        Some(BranchStanding::Live(info)) => Some(*info),
        _ => None,
    }
}

/// Nothing is missing of a branch that the name means.
pub(crate) async fn check_whole(graph: &Graph) -> Result<(), Complaint> {
    let status = graph.branch_status(&NAME.parse().expect("a name")).await;
    let is_whole = |it: &BranchStatus| it.state == NameState::Live(Wholeness::Whole);
    if status.as_ref().is_ok_and(is_whole) { Ok(()) } else { Err(Promise::Atomic.broken(status)) }
}

/// The incarnation that the name means.
pub(crate) async fn incarnation(graph: &Graph) -> Option<BranchToken> {
    live(graph).await.map(|info| info.token)
}

/// The rows and commits that a branch of `origin` begins with.
pub(crate) fn begins_with(stage: &Stage, origin: Origin) -> (Reference, usize) {
    let base = Reference::default().with(stage.scenario.base);
    match origin {
        Origin::Main => (base.with(SINCE), 2),
        Origin::Branch => (stage.before.clone(), stage.commits),
        Origin::Commit => (base, 1),
    }
}

/// What a branch was made of, as its records say.
pub(crate) fn origin_of(info: &BranchInfo, older: CommitId) -> Option<Origin> {
    let fork = info.fork.as_ref()?;
    match fork.source.name.as_str() {
        "main" if fork.commit == Some(older) => Some(Origin::Commit),
        "main" => Some(Origin::Main),
        SOURCE => Some(Origin::Branch),
        _ => None,
    }
}

/// The oldest commit of main.
pub(super) async fn older(storage: &MemoryStorage) -> CommitId {
    older_of(&open_impatient(&Store::memory(storage)).await).await
}

pub(crate) async fn older_of(main: &Graph) -> CommitId {
    main.log(usize::MAX).await.expect("a log").last().expect("a commit").commit
}

/// The branches that nobody touches who makes `NAME` of a branch of the stage.
pub(super) fn beside_a_fork(stage: &Stage) -> Vec<Beside> {
    let source =
        Beside { branch: stage.ground.branch, rows: stage.before.clone(), commits: stage.commits };
    stage.ground.beside.iter().cloned().chain([source]).collect()
}

/// Rows that are written to a branch which goes.
const LOST: &[&str] = &[r#"{"type":"Person","data":{"slug":"lost"}}"#];

/// The stage's storage, with what the name meant before.
pub(super) async fn before_a_fork(stage: &Stage, earlier: Earlier) -> MemoryStorage {
    let storage = stage.base.fork();
    let store = Store::memory(&storage);
    match earlier {
        Earlier::Free => {}
        Earlier::Deleted => {
            let main = open_impatient(&store).await;
            create_branch(&main, NAME, SOURCE).await;
            upsert(&on(main.clone(), Some(NAME)).await, LOST).await;
            delete_branch(&main).await.expect("a deletion");
        }
        Earlier::Begun => creator_dies(stage, &storage, is_begun).await,
        Earlier::Cloned => creator_dies(stage, &storage, is_manifest_commit).await,
        Earlier::Complete => creator_dies(stage, &storage, is_contents).await,
    }
    storage
}

pub(crate) fn is_begun(operation: &Operation) -> bool {
    operation.kind == OperationKind::PutIfAbsent && operation.path.ends_with(".begin")
}

async fn creator_dies(stage: &Stage, storage: &MemoryStorage, at: fn(&Operation) -> bool) {
    let older = older(&stage.base).await;
    let (client, faults) = Store::memory(storage).faulty(at_nth(1, at, Fault::DieAfter));
    let creator = Graph::open(client, own_process()).await.expect("a graph");
    let _ = fork(&creator, Origin::Branch, older).await;
    assert!(faults.is_dead(), "the creator died");
}

/// The stage's storage, with what there is of the branch that goes.
pub(super) async fn before_a_removal(
    stage: &Stage,
    alive: Alive,
    pending: Pending,
) -> MemoryStorage {
    match alive {
        Alive::Plain => stage.base.fork(),
        Alive::Parent => {
            let storage = stage.base.fork();
            let main = open_impatient(&Store::memory(&storage)).await;
            create_branch(&main, CHILD, NAME).await;
            storage
        }
        Alive::Pending => Box::pin(pending.over(stage)).await.0,
    }
}

/// The branches that nobody touches who deletes `NAME`.
pub(super) fn beside_a_removal(stage: &Stage, alive: Alive) -> Vec<Beside> {
    let child = Beside { branch: Some(CHILD), rows: stage.before.clone(), commits: stage.commits };
    let child = (alive == Alive::Parent).then_some(child);
    stage.ground.beside.iter().cloned().chain(child).collect()
}

/// Rows of somebody else, in one commit on the branch that the name means now.
pub(crate) async fn upsert(graph: &Graph, rows: &[impl AsRef<str>]) {
    let request = LoadRequest::new(input(graph, rows).await, LoadMode::Upsert);
    let outcome = graph.load(request).await;
    assert!(matches!(outcome, Ok(WriteOutcome::Committed(_))), "{outcome:?}");
    graph.settled().await;
}

/// The branch that the name means now, opened by a fresh process that waits for nobody.
pub(crate) async fn fresh(store: &Store) -> Graph {
    crate::ground::open_on(Some(NAME), store.reopened(), impatient()).await
}
