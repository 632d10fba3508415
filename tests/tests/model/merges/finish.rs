//! The end of a random history of branches: a fresh process sees every commit of every branch as the model
//! has it, and nothing is wrong.

use std::collections::BTreeSet;

use graphwrite_coordinator::Graph;
use graphwrite_protocol_types::CommitId;

use super::machine::Machine;
use crate::judge::check_faults;
use crate::model::machine::{recover, sorted};
use crate::world::rows_of;

/// What attempts and branches may leave behind that are over.
const HARMLESS: [&str; 4] =
    ["abandoned_dataset", "unnamed_files", "abandoned_ref", "reclaim_pending"];

impl Machine {
    pub(super) async fn finish(&mut self) {
        self.reopen().await;
        for branch in self.branches.values() {
            recover(&branch.graph).await;
        }
        self.check_heads("in the end").await;
        let left = self.store.list("_recovery").await.expect("a listing");
        assert!(left.is_empty(), "{left:#?}");
        let mut read = BTreeSet::new();
        for (name, branch) in &self.branches {
            self.check_line(name, &branch.graph, &mut read).await;
        }
        // It looks at the whole graph.
        let report = check_faults(&self.branches["main"].graph).await.expect("no fault");
        assert_eq!(report.pending, 0, "{report:#?}");
        let codes = report.findings.iter().map(|finding| finding.code);
        let loud: Vec<_> = codes.filter(|code| !HARMLESS.contains(code)).collect();
        assert!(loud.is_empty(), "{loud:?} {report:#?}");
    }

    /// Every commit of the line is there with its parents and its request, and can be read as it was: those
    /// that branches have in common by the first of them.
    async fn check_line(&self, name: &str, graph: &Graph, read: &mut BTreeSet<CommitId>) {
        let line = self.dag.line(self.head(name));
        let log = graph.log(usize::MAX).await.expect("a log");
        assert_eq!(log.iter().map(|found| found.commit).collect::<Vec<_>>(), line, "{name}");
        for found in &log {
            let commit = self.dag.get(found.commit);
            assert_eq!((&found.parents, &found.operation), (&commit.parents(), &commit.operation));
            if !read.insert(found.commit) {
                continue;
            }
            let snapshot = graph.snapshot_at(found.commit).await.expect("a commit of the line");
            assert_eq!(sorted(&rows_of(&snapshot).await), commit.state.all(), "{}", found.commit);
        }
    }
}
