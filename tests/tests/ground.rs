//! Where a storage is judged: the branch that a workflow is on, and the branches beside it, which it must
//! leave as they are.

use graphwrite_coordinator::{Graph, GraphOptions, Store};
use graphwrite_protocol_types::BranchSelector;

use crate::judge::{Complaint, Promise, Reference, check_commits, impatient, seen_by};

/// A branch, and what is beside it. By default main, alone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ground {
    /// None for main.
    pub(crate) branch: Option<&'static str>,
    pub(crate) beside: Vec<Beside>,
}

/// A branch that nobody touches.
#[derive(Debug, Clone)]
pub(crate) struct Beside {
    /// None for main.
    pub(crate) branch: Option<&'static str>,
    pub(crate) rows: Reference,
    pub(crate) commits: usize,
}

impl Ground {
    /// Whether the graph has main alone.
    pub(crate) fn is_plain(&self) -> bool {
        self.branch.is_none() && self.beside.is_empty()
    }

    /// The branch, opened by a fresh process that waits for nobody.
    pub(crate) async fn fresh(&self, store: &Store) -> Graph {
        open_on(self.branch, store.reopened(), impatient()).await
    }

    /// Nothing has changed beside the branch: neither rows nor lineage.
    pub(crate) async fn check_beside(&self, store: &Store) -> Result<(), Complaint> {
        for beside in &self.beside {
            let graph = open_on(beside.branch, store.reopened(), impatient()).await;
            let seen = seen_by(&graph).await;
            if seen != beside.rows.rows() {
                return Err(Promise::Agreement.broken((beside, seen)));
            }
            check_commits(&graph, beside.commits, false).await?;
        }
        Ok(())
    }
}

/// Opens a branch, main for none.
pub(crate) async fn open_on(branch: Option<&str>, client: Store, options: GraphOptions) -> Graph {
    let branch: BranchSelector = branch.unwrap_or("main").parse().expect("a name");
    Graph::open_on(client, &branch, options).await.expect("a branch")
}

/// The handle on a branch, `main` itself for none.
pub(crate) async fn on(main: Graph, branch: Option<&str>) -> Graph {
    let Some(name) = branch else { return main };
    let name: BranchSelector = name.parse().expect("a name");
    main.branch(&name).await.expect("a branch")
}
