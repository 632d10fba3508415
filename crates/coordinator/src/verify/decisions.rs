//! What the outcome and lineage rows say of attempts, for whoever asks where a version comes from
//! (K2). It must not know what versions there are.

use std::collections::BTreeMap;

use graphwrite_manifest::{CommitRow, History, OutcomeKind};
use graphwrite_protocol_types::{AttemptId, NativeBranch, TableIdentity};

/// An attempt that has committed, and where.
#[derive(Debug)]
struct Committed<'a> {
    row: Option<&'a CommitRow>,
    native: NativeBranch,
}

/// The decided attempts, of all lines.
#[derive(Debug, Default)]
pub(crate) struct Decisions<'a> {
    committed: BTreeMap<AttemptId, Committed<'a>>,
    aborted: BTreeMap<AttemptId, NativeBranch>,
}

impl<'a> Decisions<'a> {
    /// Adds the rows of a line, or of a part of one. `native_of` says on which native branch a version
    /// of the line is.
    pub(crate) fn add(&mut self, history: &'a History, native_of: impl Fn(u64) -> NativeBranch) {
        let commits: BTreeMap<_, _> = history.commits.iter().map(|row| (row.commit, row)).collect();
        for row in &history.outcomes {
            let native = native_of(row.manifest_version);
            match (row.commit(), &row.kind) {
                (Some(commit), _) => {
                    let row_of = commits.get(&commit).copied();
                    self.committed.insert(row.attempt, Committed { row: row_of, native });
                }
                (None, OutcomeKind::Aborted { .. }) => {
                    self.aborted.insert(row.attempt, native);
                }
                (None, _) => {}
            }
        }
    }

    /// The native branch on which the attempt has committed.
    pub(crate) fn native_of(&self, attempt: AttemptId) -> Option<&NativeBranch> {
        self.committed.get(&attempt).map(|committed| &committed.native)
    }

    /// Whether the attempt's commit is part of the graph and its lineage row names the table. Only the
    /// branch that owns a ref commits to it.
    pub(crate) fn has_committed_to(
        &self,
        attempt: AttemptId,
        table: TableIdentity,
        owner: Option<&NativeBranch>,
    ) -> bool {
        let committed = self.committed.get(&attempt);
        let by_owner = committed.filter(|it| owner.is_none_or(|owner| it.native == *owner));
        let row = by_owner.and_then(|committed| committed.row);
        row.is_some_and(|row| row.tables.iter().any(|summary| summary.identity == table))
    }

    pub(crate) fn is_aborted(&self, attempt: AttemptId, owner: Option<&NativeBranch>) -> bool {
        let aborted = self.aborted.get(&attempt);
        aborted.is_some_and(|native| owner.is_none_or(|owner| native == owner))
    }

    /// The attempts and tables of which a version must exist, each with its commit: those whose rows
    /// a commit changed.
    pub(crate) fn changes(
        &self,
    ) -> impl Iterator<Item = (AttemptId, TableIdentity, &'a CommitRow)> {
        let rows = self.committed.iter().filter_map(|(attempt, it)| Some((*attempt, it.row?)));
        rows.flat_map(|(attempt, row)| {
            let changed = row.tables.iter();
            let changed = changed.filter(|it| it.inserted + it.updated + it.deleted > 0);
            changed.map(move |summary| (attempt, summary.identity, row))
        })
    }
}
