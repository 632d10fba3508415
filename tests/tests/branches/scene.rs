//! A graph with branches, by name.

use graphwrite_coordinator::{
    BranchError, BranchFrom, BranchInfo, CreateBranch, DeleteBranch, Graph, MemoryStorage, Store,
};
use graphwrite_protocol_types::{BranchName, BranchSelector, CommitId, GraphHeadToken};

use crate::world::{BASE, append, create};

pub(crate) async fn graph() -> (Store, Graph) {
    let store = Store::memory(&MemoryStorage::new());
    let graph = create(&store).await;
    append(&graph, BASE).await;
    graph.settled().await;
    (store, graph)
}

pub(crate) fn name(text: &str) -> BranchName {
    text.parse().expect("a name")
}

pub(crate) fn selector(text: &str) -> BranchSelector {
    text.parse().expect("a name")
}

pub(crate) fn request(branch: &str, from: BranchFrom) -> CreateBranch {
    CreateBranch { name: name(branch), from, actor: "ada".to_owned() }
}

pub(crate) async fn try_fork(
    graph: &Graph,
    branch: &str,
    from: &str,
) -> Result<BranchInfo, BranchError> {
    graph.create_branch(request(branch, BranchFrom::Head(selector(from)))).await
}

/// Makes a branch and gives a handle on it.
pub(crate) async fn fork(graph: &Graph, branch: &str, from: &str) -> Graph {
    try_fork(graph, branch, from).await.expect("a new branch");
    open(graph, branch).await
}

pub(crate) async fn fork_at(graph: &Graph, branch: &str, commit: CommitId) -> Graph {
    graph.create_branch(request(branch, BranchFrom::Commit(commit))).await.expect("a new branch");
    open(graph, branch).await
}

pub(crate) async fn open(graph: &Graph, branch: &str) -> Graph {
    graph.branch(&selector(branch)).await.expect("a branch")
}

pub(crate) async fn delete(graph: &Graph, branch: &str) -> Result<(), BranchError> {
    delete_expecting(graph, branch, None).await
}

/// Deletes a branch, if a head is named only while it has that.
pub(crate) async fn delete_expecting(
    graph: &Graph,
    branch: &str,
    expect_head: Option<GraphHeadToken>,
) -> Result<(), BranchError> {
    let (name, actor) = (name(branch), "ada".to_owned());
    graph.delete_branch(DeleteBranch { name, actor, expect_head }).await
}
