//! The graph of all commits, and what two of them have in common, found by walking it.

use std::cmp::Reverse;
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
        self.best_in_both(&self.ancestors(Some(one)), &self.ancestors(Some(other)))
    }

    /// Bases in the order in which they are merged with each other, each but the first with the rows of those
    /// that it has in common with what the ones before it come to.
    pub(super) fn in_turn(&self, bases: &BTreeSet<CommitId>) -> Vec<(State, Vec<State>)> {
        let mut bases: Vec<CommitId> = bases.iter().copied().collect();
        let mut known = BTreeMap::new();
        bases.sort_by_key(|id| (Reverse(self.generation(*id, &mut known)), *id));
        let mut before = BTreeSet::new();
        let in_turn = bases.into_iter().map(|id| {
            let own = self.ancestors(Some(id));
            let older = self.best_in_both(&before, &own);
            before.extend(own);
            let older = older.iter().map(|id| self.get(*id).state.clone());
            (self.get(id).state.clone(), older.collect())
        });
        in_turn.collect()
    }

    /// Commits on the longest way to a first one.
    fn generation(&self, id: CommitId, known: &mut BTreeMap<CommitId, usize>) -> usize {
        if let Some(known) = known.get(&id) {
            return *known;
        }
        let parents = self.get(id).parents().into_iter();
        let generation = 1 + parents.map(|of| self.generation(of, known)).max().unwrap_or(0);
        known.insert(id, generation);
        generation
    }

    fn best_in_both(
        &self,
        one: &BTreeSet<CommitId>,
        other: &BTreeSet<CommitId>,
    ) -> BTreeSet<CommitId> {
        let common: BTreeSet<CommitId> = one.intersection(other).copied().collect();
        let is_older = |id: &CommitId| {
            common
                .iter()
                .any(|younger| younger != id && self.ancestors(Some(*younger)).contains(id))
        };
        common.iter().filter(|id| !is_older(id)).copied().collect()
    }
}
