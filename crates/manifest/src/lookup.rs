//! Looking back: outcomes and commits of a state, in the hot rows first and then in the cold
//! fragments. No outcome is claimed to be absent before both were searched.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::StringArray;
use graphwrite_protocol_types::{AttemptId, BranchToken, CommitId, Defect, OperationId};
use graphwrite_substrate::RowFilter;

use crate::arbitration::outcome_of;
use crate::batch::{KEY, KIND, OPERATION};
use crate::error::ManifestError;
use crate::hot::Concerned;
use crate::outcome_row::{OutcomeKind, OutcomeRow};
use crate::reading::{one_of, read_rows};
use crate::rows::{COMMIT, CommitRow, OUTCOME, Row, RowBody};
use crate::state::ManifestState;

/// How a branch came to be what it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    /// The commit that the others go on from; none where they begin the line.
    pub base: Option<CommitRow>,
    /// Every commit, oldest first.
    pub commits: Vec<CommitRow>,
    /// Every outcome, oldest first.
    pub outcomes: Vec<OutcomeRow>,
}

impl ManifestState {
    /// How the attempt ended; none when it has not been decided. `rolled_back` is preferred to the
    /// `aborted` that it follows.
    pub async fn outcome_of_attempt(
        &self,
        attempt: AttemptId,
    ) -> Result<Option<OutcomeRow>, ManifestError> {
        let asked = Concerned::one(attempt, None);
        let mut found = self.cold_outcomes(self.cold_ids(), &asked).await?;
        found.extend(self.hot().outcomes_of(&asked).cloned());
        Ok(outcome_of(attempt, &found).cloned())
    }

    /// How these attempts and their operations ended, from one search for all of them.
    pub async fn outcomes_of<'a>(
        &self,
        asked: impl IntoIterator<Item = (AttemptId, Option<&'a OperationId>)>,
    ) -> Result<Outcomes, ManifestError> {
        let asked = Concerned::of(asked);
        let mut found = self.cold_outcomes(self.cold_ids(), &asked).await?;
        found.extend(self.hot().outcomes_of(&asked).cloned());
        Ok(Outcomes::new(found, &self.base().branch))
    }

    /// How the operation ended on this incarnation of the branch: the row that decides it, or else
    /// the newest row of its attempts, which does not exclude that another attempt commits later.
    pub async fn outcome_of_operation(
        &self,
        operation: &OperationId,
    ) -> Result<Option<OutcomeRow>, ManifestError> {
        self.outcome_of_operation_in(operation, self.cold_ids()).await
    }

    /// The same, where `earlier` has been searched already: only rows that came since are looked
    /// for, which costs no request unless rows have spilled in between.
    pub async fn outcome_of_operation_since(
        &self,
        earlier: &Self,
        operation: &OperationId,
    ) -> Result<Option<OutcomeRow>, ManifestError> {
        let known = earlier.cold_ids();
        let added = self.cold_ids().into_iter().filter(|id| !known.contains(id)).collect();
        self.outcome_of_operation_in(operation, added).await
    }

    /// The newest commits, newest first, `limit` at most.
    pub async fn commits(&self, limit: usize) -> Result<Vec<CommitRow>, ManifestError> {
        let hot = self.recent_commits().take(limit).cloned().collect();
        self.newest(hot, limit, COMMIT, commits_of, |row| row.manifest_version).await
    }

    /// The commits that the branch's line has after manifest version `version`, newest first: what it
    /// is ahead of a fork at that version.
    pub async fn commits_since(&self, version: u64) -> Result<Vec<CommitRow>, ManifestError> {
        let is_since = |row: &CommitRow| row.manifest_version > version;
        let mut found: Vec<CommitRow> =
            self.recent_commits().take_while(|row| is_since(row)).cloned().collect();
        if found.len() < self.recent_commits().count() {
            return Ok(found);
        }
        for fragment in self.cold_ids().into_iter().rev() {
            let mut older = commits_of(self.cold_rows(vec![fragment], of_kind(COMMIT)).await?);
            older.sort_by_key(|row| std::cmp::Reverse(row.manifest_version));
            let is_all = older.iter().all(is_since);
            found.extend(older.into_iter().filter(is_since));
            if !is_all {
                break;
            }
        }
        Ok(found)
    }

    /// What others than the owners of attempts have decided on this branch, newest first, `limit` at
    /// most: every outcome that is not an owner's own commit.
    pub async fn audit(&self, limit: usize) -> Result<Vec<OutcomeRow>, ManifestError> {
        let branch = &self.base().branch;
        let is_audit = |row: &OutcomeRow| {
            row.is_of(branch) && !matches!(row.kind, OutcomeKind::Committed { .. })
        };
        let hot = self.recent_outcomes().filter(|row| is_audit(row)).take(limit).cloned().collect();
        let audit_of = |rows| outcomes_of(rows).into_iter().filter(is_audit).collect();
        self.newest(hot, limit, OUTCOME, audit_of, |row| row.manifest_version).await
    }

    /// The whole history of this branch: every commit and every outcome, each oldest first.
    pub async fn history(&self) -> Result<History, ManifestError> {
        self.history_since(0).await
    }

    /// The history after manifest version `version`, and the commit that it goes on from. Older rows
    /// are read only where they share a fragment with younger ones.
    pub async fn history_since(&self, version: u64) -> Result<History, ManifestError> {
        let mut commits = self.hot().commits.clone();
        let mut outcomes = self.hot().outcomes.clone();
        // Commits leave the hot rows oldest first, so one that is old enough ends the search.
        let is_known = |commits: &[CommitRow]| {
            version > 0 && commits.iter().any(|row| row.manifest_version <= version)
        };
        let all = RowFilter::Any(vec![of_kind(COMMIT), of_kind(OUTCOME)]);
        for fragment in self.cold_ids().into_iter().rev() {
            if is_known(&commits) {
                break;
            }
            let cold = self.cold_rows(vec![fragment], all.clone()).await?;
            commits.extend(commits_of(cold.clone()));
            outcomes.extend(outcomes_of(cold));
        }
        commits.sort_by_key(|row| row.manifest_version);
        outcomes.sort_by_key(|row| row.manifest_version);
        let since = commits.partition_point(|row| row.manifest_version <= version);
        let base = commits.drain(..since).next_back();
        outcomes.retain(|row| row.manifest_version > version);
        Ok(History { base, commits, outcomes })
    }

    /// The newest rows, newest first, `limit` at most: after those in `found` the cold ones, fragment
    /// by fragment.
    async fn newest<T>(
        &self,
        mut found: Vec<T>,
        limit: usize,
        kind: &str,
        of: impl Fn(Vec<Row>) -> Vec<T>,
        version: impl Fn(&T) -> u64,
    ) -> Result<Vec<T>, ManifestError> {
        for fragment in self.cold_ids().into_iter().rev() {
            if found.len() >= limit {
                break;
            }
            let mut older = of(self.cold_rows(vec![fragment], of_kind(kind)).await?);
            older.sort_by_key(|row| std::cmp::Reverse(version(row)));
            found.extend(older);
        }
        found.truncate(limit);
        Ok(found)
    }

    /// The commit with this id, if it is in the history of this branch.
    pub async fn commit(&self, id: CommitId) -> Result<Option<CommitRow>, ManifestError> {
        if let Some(row) = self.recent_commits().find(|row| row.commit == id) {
            return Ok(Some(row.clone()));
        }
        let filter = RowFilter::All(vec![of_kind(COMMIT), is(KEY, &id.to_string())]);
        let found = commits_of(self.cold_rows(self.cold_ids(), filter).await?);
        Ok(found.into_iter().next())
    }

    async fn outcome_of_operation_in(
        &self,
        operation: &OperationId,
        cold: Vec<u64>,
    ) -> Result<Option<OutcomeRow>, ManifestError> {
        let branch = &self.base().branch;
        let own = |row: &&OutcomeRow| row.operation == *operation && row.is_of_request_to(branch);
        let mut found: Vec<OutcomeRow> = self.recent_outcomes().filter(own).cloned().collect();
        if !found.iter().any(OutcomeRow::decides_operation) {
            let filter = RowFilter::All(vec![of_kind(OUTCOME), is(OPERATION, operation.as_str())]);
            let older = self.cold_outcome_rows(cold, filter).await?;
            found.extend(older.into_iter().filter(|row| own(&row)));
        }
        let decided = found.iter().find(|row| row.decides_operation());
        Ok(decided.or_else(|| found.iter().max_by_key(|row| row.manifest_version)).cloned())
    }

    /// The outcome rows in these cold fragments that speak of what is asked about.
    pub(crate) async fn cold_outcomes(
        &self,
        fragments: Vec<u64>,
        asked: &Concerned<'_>,
    ) -> Result<Vec<OutcomeRow>, ManifestError> {
        let attempts = asked.attempts.iter().map(ToString::to_string);
        let by_attempt = one_of(KEY, Arc::new(StringArray::from_iter_values(attempts)));
        let operations = asked.operations.iter().map(|operation| operation.as_str());
        let by_operation = one_of(OPERATION, Arc::new(StringArray::from_iter_values(operations)));
        let either = [
            (!asked.attempts.is_empty()).then_some(by_attempt),
            (!asked.operations.is_empty()).then_some(by_operation),
        ];
        let either = RowFilter::Any(either.into_iter().flatten().collect());
        let filter = RowFilter::All(vec![of_kind(OUTCOME), either]);
        self.cold_outcome_rows(fragments, filter).await
    }

    async fn cold_outcome_rows(
        &self,
        fragments: Vec<u64>,
        filter: RowFilter,
    ) -> Result<Vec<OutcomeRow>, ManifestError> {
        if self.table().planted().has(Defect::ColdNotSearched) {
            return Ok(Vec::new());
        }
        Ok(outcomes_of(self.cold_rows(fragments, filter).await?))
    }

    pub(crate) async fn cold_rows(
        &self,
        fragments: Vec<u64>,
        filter: RowFilter,
    ) -> Result<Vec<Row>, ManifestError> {
        Ok(read_rows(self.table(), fragments, Some(filter)).await?)
    }

    pub(crate) fn cold_ids(&self) -> Vec<u64> {
        self.cold_fragments().iter().map(|fragment| fragment.id).collect()
    }
}

/// How several attempts and operations ended.
#[derive(Debug, Clone, Default)]
pub struct Outcomes {
    attempts: BTreeMap<AttemptId, OutcomeRow>,
    operations: BTreeMap<OperationId, OutcomeRow>,
}

impl Outcomes {
    fn new(found: Vec<OutcomeRow>, branch: &BranchToken) -> Self {
        let mut outcomes = Self::default();
        for row in found {
            if row.is_of_request_to(branch) {
                let newest = outcomes.operations.entry(row.operation.clone());
                let newest = newest.or_insert_with(|| row.clone());
                if rank_in_operation(newest) < rank_in_operation(&row) {
                    *newest = row.clone();
                }
            }
            let last = outcomes.attempts.entry(row.attempt).or_insert_with(|| row.clone());
            if row.kind == OutcomeKind::RolledBack {
                *last = row;
            }
        }
        outcomes
    }

    /// As [`ManifestState::outcome_of_attempt`], of an attempt that was asked for.
    pub fn of_attempt(&self, attempt: AttemptId) -> Option<&OutcomeRow> {
        self.attempts.get(&attempt)
    }

    /// As [`ManifestState::outcome_of_operation`], of an operation that was asked for.
    pub fn of_operation(&self, operation: &OperationId) -> Option<&OutcomeRow> {
        self.operations.get(operation)
    }
}

/// The row that decides an operation says more than the newest one.
fn rank_in_operation(row: &OutcomeRow) -> (bool, u64) {
    (row.decides_operation(), row.manifest_version)
}

pub(crate) fn of_kind(kind: &str) -> RowFilter {
    is(KIND, kind)
}

fn is(column: &str, value: &str) -> RowFilter {
    one_of(column, Arc::new(StringArray::from(vec![value])))
}

fn commits_of(rows: Vec<Row>) -> Vec<CommitRow> {
    let commit = |row: Row| match row.body {
        RowBody::Commit(commit) => Some(commit),
        _ => None,
    };
    rows.into_iter().filter_map(commit).collect()
}

fn outcomes_of(rows: Vec<Row>) -> Vec<OutcomeRow> {
    let outcome = |row: Row| match row.body {
        RowBody::Outcome(outcome) => Some(outcome),
        _ => None,
    };
    rows.into_iter().filter_map(outcome).collect()
}
