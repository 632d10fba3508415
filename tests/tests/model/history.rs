//! The end of a random history: a fresh process sees every commit as the model has it, and nothing is
//! wrong.

use std::collections::BTreeSet;

use graphwrite_coordinator::{CommitInfo, DiffRequest, Graph, OperationOutcome, OutcomeRequest};

use super::machine::{Entry, Machine, recover, sorted};
use super::request::Request;
use super::shape::Table;
use super::state::State;
use crate::judge::{check_settled, open_impatient};
use crate::world::rows_of;

impl Machine {
    /// Judges the graph and its history.
    pub(super) async fn finish(&mut self) {
        self.release_late().await;
        let fresh = open_impatient(&self.store).await;
        recover(&fresh).await;
        self.check_rows(&fresh, "in the end").await;
        self.check_log(&fresh.log(usize::MAX).await.expect("a log"));
        self.check_outcomes(&fresh).await;
        self.check_states(&fresh).await;
        let left = self.store.list("_recovery").await.expect("a listing");
        assert!(left.is_empty(), "{left:#?}");
        check_settled(&fresh).await.expect("a settled graph");
    }

    /// The graph says of every request that committed that it did.
    async fn check_outcomes(&self, fresh: &Graph) {
        for entry in &self.history {
            let request = OutcomeRequest::new(entry.operation.clone());
            let outcome = fresh.outcome(request).await.expect("an answer");
            let OperationOutcome::Committed(receipt) = outcome else { panic!("{outcome:#?}") };
            assert_eq!(receipt.commit, Some(entry.commit));
        }
    }

    /// Every commit can be read as it was, and differs from the one before it and from the newest in
    /// what the model says.
    async fn check_states(&self, fresh: &Graph) {
        let newest = self.history.last();
        let mut before: Option<&Entry> = None;
        for entry in &self.history {
            let snapshot = fresh.snapshot_at(entry.commit).await.expect("a commit of the history");
            assert_eq!(sorted(&rows_of(&snapshot).await), entry.state.all(), "{}", entry.commit);
            self.check_diff(fresh, before, entry).await;
            self.check_diff(fresh, before, newest.expect("there is one")).await;
            before = Some(entry);
        }
    }

    async fn check_diff(&self, fresh: &Graph, from: Option<&Entry>, to: &Entry) {
        let nothing = State::default();
        let (from, before) = (from.map(|it| it.commit), from.map_or(&nothing, |it| &it.state));
        let request = DiffRequest { to: Some(to.commit), ..DiffRequest::since(from) };
        let diff = fresh.diff(request).await.expect("a comparison");
        for table in self.schema.tables {
            let [added, changed, removed, _] = to.state.counts(before, table, &BTreeSet::new());
            let told = diff.tables.iter().find(|it| it.name == table.name);
            let told = told.map(|it| {
                [&it.rows.added, &it.rows.changed, &it.rows.removed].map(|keys| keys.count)
            });
            let told = told.unwrap_or_default();
            assert_eq!(told, [added, changed, removed], "{} since {from:?}", table.name);
        }
    }

    /// One line of commits, each with the operation and the counts of its request.
    fn check_log(&self, log: &[CommitInfo]) {
        assert_eq!(log.len(), self.history.len());
        let mut before = (None, &State::default());
        for (found, entry) in log.iter().rev().zip(&self.history) {
            assert_eq!((found.commit, &found.operation), (entry.commit, &entry.operation));
            assert_eq!(found.parents, Vec::from_iter(before.0), "{found:#?}");
            for table in self.schema.tables {
                self.check_counts(found, entry, table, before.1);
            }
            before = (Some(entry.commit), &entry.state);
        }
    }

    fn check_counts(&self, found: &CommitInfo, entry: &Entry, table: &Table, before: &State) {
        let touched = entry.request.touched(self.schema);
        let touched = touched.get(table.name).cloned().unwrap_or_else(BTreeSet::new);
        let expected = entry.state.counts(before, table, &touched);
        let told = found.tables.iter().find(|it| it.name == table.name);
        let mut told =
            told.map(|it| [it.inserted, it.updated, it.deleted, it.unchanged]).unwrap_or_default();
        if let Request::Mutation(_) = entry.request {
            // Which rows a mutation looks at and leaves is its own affair.
            told[3] = 0;
        }
        assert_eq!(told, expected, "{}: {entry:#?}", table.name);
    }
}
