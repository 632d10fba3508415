//! Whether the rows of the history agree with each other: lineage is one connected line that ends at
//! the head, and every outcome is decided once (K2). Pure.

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_manifest::{CommitRow, History, OutcomeKind, OutcomeRow};
use graphwrite_protocol_types::{AttemptId, CommitId, WriterKind};
use graphwrite_substrate::SlotRecord;

use super::kinds;
use crate::report::Finding;

/// The rows of a line, or of the part of it that no other line has shown, the head that the state
/// names, and the manifest's own versions.
pub(crate) struct Lineage<'a> {
    pub(crate) history: &'a History,
    pub(crate) head: Option<CommitId>,
    /// The version of the state.
    pub(crate) newest: u64,
    /// The versions of the part, whichever native branches hold them.
    pub(crate) slots: &'a BTreeMap<u64, SlotRecord>,
    /// The versions at which the line went on on another native branch.
    pub(crate) forks: &'a [u64],
}

impl Lineage<'_> {
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let mut found = self.line();
        found.extend(self.heads());
        found.extend(self.commits_without_outcome());
        found.extend(self.outcomes_without_commit());
        found.extend(self.undecided_twice());
        found.extend(self.foreign_versions());
        found
    }

    /// Every commit follows one of an earlier version, so that there is no cycle, and only one follows none.
    /// What was merged may be on another branch; where it is known, it is of a lower generation.
    fn line(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        let place = |row: &CommitRow| (row.commit, (row.manifest_version, row.position.generation));
        let mut known: BTreeMap<CommitId, (u64, u64)> =
            self.history.base.iter().map(place).collect();
        let mut roots = known.len();
        for row in &self.history.commits {
            let place = row.commit.to_string();
            if known.contains_key(&row.commit) {
                found.push(kinds::LINEAGE.at(&place, "two commits share this id"));
            }
            let follows = followed(row);
            for parent in &row.parents {
                let is_earlier = match known.get(parent) {
                    Some((version, generation)) => {
                        *version < row.manifest_version && *generation < row.position.generation
                    }
                    None => follows != Some(parent),
                };
                if !is_earlier {
                    let message =
                        format!("its parent {parent} is no earlier commit of the history");
                    found.push(kinds::LINEAGE.at(&place, message));
                }
            }
            roots += usize::from(follows.is_none());
            known.insert(row.commit, (row.manifest_version, row.position.generation));
        }
        if roots > 1 {
            found.push(kinds::LINEAGE.at("commits", format!("{roots} commits follow none")));
        }
        found
    }

    /// The only commit without a child is the head.
    fn heads(&self) -> Option<Finding> {
        let commits = self.history.base.iter().chain(&self.history.commits);
        let parents: BTreeSet<CommitId> =
            self.history.commits.iter().flat_map(|row| row.parents.iter().copied()).collect();
        let childless = commits.map(|row| row.commit);
        let childless: Vec<CommitId> = childless.filter(|it| !parents.contains(it)).collect();
        let head: Vec<CommitId> = self.head.into_iter().collect();
        if childless == head {
            return None;
        }
        let names = |ids: &[CommitId]| match ids {
            [] => "none".to_owned(),
            ids => ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        };
        let message =
            format!("it is {}, and without a child is {}", names(&head), names(&childless));
        Some(kinds::LINEAGE.at("graph head", message))
    }

    fn commits_without_outcome(&self) -> Vec<Finding> {
        let mut outcomes: BTreeMap<CommitId, Vec<&OutcomeRow>> = BTreeMap::new();
        for row in &self.history.outcomes {
            if let Some(commit) = row.commit() {
                outcomes.entry(commit).or_default().push(row);
            }
        }
        let agrees = |row: &CommitRow| match outcomes.get(&row.commit).map(Vec::as_slice) {
            Some([outcome]) => {
                (outcome.attempt, &outcome.operation, outcome.manifest_version)
                    == (row.attempt, &row.operation, row.manifest_version)
            }
            _ => false,
        };
        let broken = self.history.commits.iter().filter(|row| !agrees(row));
        let message = "no outcome row, or not exactly one, says that its attempt committed it";
        broken.map(|row| kinds::OUTCOMES.at(row.commit.to_string(), message)).collect()
    }

    fn outcomes_without_commit(&self) -> Vec<Finding> {
        let known: BTreeSet<CommitId> = self.history.commits.iter().map(|row| row.commit).collect();
        let missing = self.history.outcomes.iter().filter_map(|row| {
            let commit = row.commit().filter(|commit| !known.contains(commit))?;
            let message = format!("it committed {commit}, which is not in the history");
            Some(kinds::OUTCOMES.at(row.attempt.to_string(), message))
        });
        missing.collect()
    }

    /// On how many native branches the line was before it came to `version`.
    fn stretch_of(&self, version: u64) -> usize {
        self.forks.iter().filter(|fork| **fork < version).count()
    }

    /// At most one row decides an operation, and one an attempt; `rolled_back` follows `aborted`. An
    /// operation is of one incarnation, and a line goes through several.
    fn undecided_twice(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        let mut operations = BTreeSet::new();
        let mut attempts: BTreeMap<AttemptId, Vec<&OutcomeKind>> = BTreeMap::new();
        for row in &self.history.outcomes {
            let stretch = self.stretch_of(row.manifest_version);
            let operation = (&row.operation, row.branch_record, stretch);
            if row.decides_operation() && !operations.insert(operation) {
                let message = "two rows decide this operation";
                found.push(kinds::OUTCOMES.at(row.operation.as_str(), message));
            }
            attempts.entry(row.attempt).or_default().push(&row.kind);
        }
        for (attempt, kinds_of) in attempts {
            let is_legal = match kinds_of.as_slice() {
                [OutcomeKind::RolledBack] => false,
                [_] => true,
                [OutcomeKind::Aborted { .. }, OutcomeKind::RolledBack] => true,
                _ => false,
            };
            if !is_legal {
                let message = "its outcome rows contradict each other";
                found.push(kinds::OUTCOMES.at(attempt.to_string(), message));
            }
        }
        found
    }

    /// Every version of the manifest is a decision for an attempt, and the rows that it recorded are
    /// that attempt's.
    fn foreign_versions(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        for (version, slot) in self.slots {
            let uuid = &slot.version.tx_uuid;
            let is_first = *version == 1;
            if uuid.as_authority().is_none() || (!is_first && slot.read_version + 1 != *version) {
                let message = format!("it was made by {uuid} over version {}", slot.read_version);
                found.push(
                    kinds::FOREIGN_MANIFEST.at(format!("__manifest version {version}"), message),
                );
            }
        }
        found.extend(self.rows_of_other_versions());
        found
    }

    /// A version records rows of the attempt that it was made for; one that takes attempts back, or
    /// discards intents of deleted branches, which records nothing else, also those of the others.
    fn rows_of_other_versions(&self) -> Vec<Finding> {
        let taken_back = |row: &&OutcomeRow| {
            row.is_discarded()
                || matches!(row.kind, OutcomeKind::Aborted { .. } | OutcomeKind::RolledBack)
        };
        let aborted: BTreeSet<AttemptId> =
            self.history.outcomes.iter().filter(taken_back).map(|row| row.attempt).collect();
        let commits = self.history.commits.iter().map(|row| (row.manifest_version, row.attempt));
        let commits: BTreeSet<(u64, AttemptId)> = commits.collect();
        let committing: BTreeSet<u64> = commits.iter().map(|(version, _)| *version).collect();
        let mut rows: BTreeMap<(u64, AttemptId), bool> =
            commits.into_iter().map(|row| (row, false)).collect();
        for row in &self.history.outcomes {
            let together = taken_back(&row) && !committing.contains(&row.manifest_version);
            let all = rows.entry((row.manifest_version, row.attempt)).or_insert(true);
            *all &= together;
        }
        let mut found = Vec::new();
        for ((version, attempt), together) in rows {
            let slot = self.slots.get(&version);
            let recorder = slot.and_then(|slot| slot.version.tx_uuid.as_authority());
            let is_own = recorder == Some(attempt);
            let with_it = together && recorder.is_some_and(|recorder| aborted.contains(&recorder));
            if version > self.newest || (slot.is_some() && !is_own && !with_it) {
                let message = format!("version {version} of the manifest did not record its rows");
                found.push(kinds::OUTCOMES.at(attempt.to_string(), message));
            }
        }
        found
    }
}

/// The head that a commit was made on. A merge into a branch without commits has the merged one as its only
/// parent.
fn followed(row: &CommitRow) -> Option<&CommitId> {
    match row.parents.as_slice() {
        [_] if row.writer == WriterKind::Merge => None,
        parents => parents.first(),
    }
}
