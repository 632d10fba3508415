//! The graph of all commits, and what two of them have in common, found by walking it.

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_protocol_types::{CommitId, OperationId};

use crate::model::state::State;

/// A commit that the model knows of.
#[derive(Debug)]
pub(super) struct Commit {
    /// The head that it was made on; none for the first one of its line.
    pub(super) follows: Option<CommitId>,
    pub(super) merges: Option<CommitId>,
    pub(super) operation: OperationId,
    pub(super) state: State,
}

/// All commits, of deleted branches too.
#[derive(Debug, Default)]
pub(super) struct Dag(BTreeMap<CommitId, Commit>);

impl Commit {
    pub(super) fn parents(&self) -> Vec<CommitId> {
        self.follows.into_iter().chain(self.merges).collect()
    }
}

impl Dag {
    pub(super) fn add(&mut self, id: CommitId, commit: Commit) {
        assert!(commit.parents().iter().all(|parent| self.0.contains_key(parent)));
        assert!(self.0.insert(id, commit).is_none(), "{id} is there twice");
    }

    pub(super) fn get(&self, id: CommitId) -> &Commit {
        &self.0[&id]
    }

    /// All commits, in an order of their own.
    pub(super) fn ids(&self) -> Vec<CommitId> {
        self.0.keys().copied().collect()
    }

    /// The rows at a head; none before the first commit.
    pub(super) fn state(&self, head: Option<CommitId>) -> State {
        head.map(|id| self.get(id).state.clone()).unwrap_or_default()
    }

    /// The line of a branch, newest first.
    pub(super) fn line(&self, head: Option<CommitId>) -> Vec<CommitId> {
        std::iter::successors(head, |id| self.get(*id).follows).collect()
    }

    /// What a commit descends from, itself included.
    pub(super) fn ancestors(&self, head: Option<CommitId>) -> BTreeSet<CommitId> {
        let (mut seen, mut open) = (BTreeSet::new(), Vec::from_iter(head));
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                open.extend(self.get(id).parents());
            }
        }
        seen
    }

    /// The common ancestors that no other common ancestor descends from.
    pub(super) fn best_common(&self, one: CommitId, other: CommitId) -> BTreeSet<CommitId> {
        let (one, other) = (self.ancestors(Some(one)), self.ancestors(Some(other)));
        let common: BTreeSet<CommitId> = one.intersection(&other).copied().collect();
        let is_older = |id: &CommitId| {
            common
                .iter()
                .any(|younger| younger != id && self.ancestors(Some(*younger)).contains(id))
        };
        common.iter().filter(|id| !is_older(id)).copied().collect()
    }
}
