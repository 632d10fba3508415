//! What the outcome and lineage rows say of attempts, for whoever asks where a version comes from
//! (K2). It must not know what versions there are.

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_manifest::{CommitRow, History, OutcomeKind};
use graphwrite_protocol_types::{AttemptId, TableIdentity};

/// The decided attempts.
#[derive(Debug, Default)]
pub(crate) struct Decisions<'a> {
    committed: BTreeMap<AttemptId, Option<&'a CommitRow>>,
    aborted: BTreeSet<AttemptId>,
}

impl<'a> Decisions<'a> {
    pub(crate) fn of(history: &'a History) -> Self {
        let commits: BTreeMap<_, _> = history.commits.iter().map(|row| (row.commit, row)).collect();
        let mut decisions = Self::default();
        for row in &history.outcomes {
            match (row.commit(), &row.kind) {
                (Some(commit), _) => {
                    decisions.committed.insert(row.attempt, commits.get(&commit).copied());
                }
                (None, OutcomeKind::Aborted { .. }) => {
                    decisions.aborted.insert(row.attempt);
                }
                (None, _) => {}
            }
        }
        decisions
    }

    /// Whether the attempt's commit is part of the graph and its lineage row names the table.
    pub(crate) fn has_committed_to(&self, attempt: AttemptId, table: TableIdentity) -> bool {
        let row = self.committed.get(&attempt).copied().flatten();
        row.is_some_and(|row| row.tables.iter().any(|summary| summary.identity == table))
    }

    pub(crate) fn is_aborted(&self, attempt: AttemptId) -> bool {
        self.aborted.contains(&attempt)
    }

    /// The attempts and tables of which a version must exist, each with its commit: those whose rows
    /// a commit changed.
    pub(crate) fn changes(
        &self,
    ) -> impl Iterator<Item = (AttemptId, TableIdentity, &'a CommitRow)> {
        let rows = self.committed.iter().filter_map(|(attempt, row)| Some((*attempt, (*row)?)));
        rows.flat_map(|(attempt, row)| {
            let changed = row.tables.iter();
            let changed = changed.filter(|it| it.inserted + it.updated + it.deleted > 0);
            changed.map(move |summary| (attempt, summary.identity, row))
        })
    }
}
