//! One merge of a random history: what the model says of it, and what the graph answers.

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_coordinator::{
    ConflictKind, ConstraintConflict, Graph, MergeAnswer, MergeOptions, MergeRelation, MergeReport,
    MergeRequest, MergeReview, MergeStrategy, WriteError,
};
use graphwrite_protocol_types::{
    Answer as _, CommitId, Conflict, OperationId, Receipt, TableSummary, WriteOutcome,
};

use super::constraints::{Broken, broken};
use super::machine::Machine;
use super::rule::{Counted, Merged, merged};
use super::steps::{From, Merging};
use crate::branches::scene::selector;
use crate::model::client::Answer;
use crate::model::steps::Fate;
use graphwrite_coordinator::{BranchFrom, SystemEnv};

/// The best common ancestors that a merge takes at most.
const BASES_MAX: usize = 32;

/// What the model says of a merge.
#[derive(Debug)]
pub(super) struct Expected {
    source: Option<CommitId>,
    target: Option<CommitId>,
    relation: MergeRelation,
    bases: BTreeSet<CommitId>,
    strategy: MergeStrategy,
    merged: Merged,
    broken: Broken,
}

impl Expected {
    /// Contradicting rows and broken constraints that keep the merge from being carried out.
    fn conflicts(&self) -> (u64, u64) {
        let rows = match self.strategy {
            MergeStrategy::Fail => self.merged.row_conflicts(),
            MergeStrategy::Ours | MergeStrategy::Theirs => 0,
        };
        (rows, self.broken.values().sum())
    }

    fn is_commit(&self) -> bool {
        self.relation != MergeRelation::Contained && self.conflicts() == (0, 0)
    }

    fn parents(&self) -> Vec<CommitId> {
        self.target.into_iter().chain(self.source).collect()
    }
}

impl Machine {
    pub(super) async fn merge(&mut self, merging: &Merging) {
        let (at, from, source) = self.sides(merging);
        let request = || request_of(from.clone(), merging);
        let Some(source) = source else {
            let error = self.branches[at].graph.merge(request()).await.expect_err("no branch");
            assert_eq!(error.code(), "no_such_commit");
            return;
        };
        let expected = self.expected(at, source, merging.strategy);
        if expected.bases.len() > BASES_MAX {
            let error = self.branches[at].graph.merge(request()).await.expect_err("too many");
            assert_eq!(error.code(), "too_many_merge_bases");
            return;
        }
        if merging.previews {
            let previewed = self.branches[at].graph.preview_merge(request()).await;
            hold_report(&expected, &previewed.expect("a report"));
        }
        let operation = OperationId::mint(&SystemEnv::new());
        let request = MergeRequest { operation: Some(operation.clone()), ..request() };
        if let Fate::None = merging.fate {
            let answer = merge(&self.branches[at].graph, request).await;
            let receipt = hold(&expected, answer.expect("an outcome"));
            self.tell(&expected, matches!(from, BranchFrom::Commit(_)), merging);
            if let Some(receipt) = receipt {
                let commit = receipt.commit.expect("a commit has an id");
                self.commit(at, (commit, operation), expected.source, expected.merged.after);
            }
            return;
        }
        let doomed = self.doomed(at, merging.fate).await;
        let answer = merge(&doomed, request).await;
        let told = Answer::from(answer.map(|answer| answer.outcome)).is_committed();
        let found = self.after(at, told).await;
        let when = if found.is_some() { "after" } else { "before" };
        self.count(&format!("merge disturbed, {when}"));
        if let Some(found) = found {
            assert!(expected.is_commit(), "{expected:#?} is there");
            assert_eq!((&found.operation, &found.parents), (&operation, &expected.parents()));
            self.commit(at, (found.commit, operation), expected.source, expected.merged.after);
        }
    }

    /// Two branches of which one has something to merge into the other, if there are any: into the target
    /// of the step, or into any other.
    fn sides(&self, merging: &Merging) -> (&'static str, BranchFrom, Option<Option<CommitId>>) {
        let at = self.at(merging.target);
        let other = |from| {
            let (from, head) = self.source(from);
            (at, from, head)
        };
        let From::Head(index) = &merging.source else { return other(&merging.source) };
        let new = |at: &'static str| {
            let known = self.dag.ancestors(self.head(at));
            let new = self.branches.iter().filter_map(move |(name, branch)| {
                let is_new = branch.head.is_some_and(|head| !known.contains(&head));
                is_new.then_some((at, *name, branch.head))
            });
            new.collect::<Vec<_>>()
        };
        let mut pairs = new(at);
        if pairs.is_empty() {
            pairs = self.branches.keys().flat_map(|at| new(at)).collect();
        }
        if pairs.is_empty() {
            return other(&merging.source);
        }
        let (at, name, head) = pairs[index.index(pairs.len())];
        (at, BranchFrom::Head(selector(name)), Some(head))
    }

    fn expected(&self, at: &str, source: Option<CommitId>, strategy: MergeStrategy) -> Expected {
        let target = self.head(at);
        let of_target = self.dag.ancestors(target);
        let of_source = self.dag.ancestors(source);
        let (relation, bases) = match (source, target) {
            (Some(source), Some(target)) if !of_target.contains(&source) => {
                let bases = self.dag.best_common(source, target);
                let relation = match (of_source.contains(&target), bases.is_empty()) {
                    (true, _) => MergeRelation::FastForward,
                    (false, true) => MergeRelation::Unrelated,
                    (false, false) => MergeRelation::Diverged,
                };
                (relation, bases)
            }
            (Some(_), None) => (MergeRelation::FastForward, BTreeSet::new()),
            _ => (MergeRelation::Contained, BTreeSet::new()),
        };
        let states = self.dag.in_turn(&bases);
        let (of_source, of_target) = (self.dag.state(source), self.dag.state(target));
        let merged = match relation {
            MergeRelation::Contained => Merged { after: of_target, ..Merged::default() },
            _ => merged(self.schema, &states, &of_source, &of_target, strategy),
        };
        let broken = broken(self.schema, &merged);
        Expected { source, target, relation, bases, strategy, merged, broken }
    }

    fn tell(&mut self, expected: &Expected, is_commit: bool, merging: &Merging) {
        self.count(expected.relation.name());
        let tables = || expected.merged.tables.values();
        for kind in tables().flat_map(|counted| counted.conflicts.keys()) {
            self.count(kind);
        }
        for (kind, _) in expected.broken.keys() {
            self.count(kind);
        }
        if expected.bases.len() > 1 {
            self.count("several bases");
        }
        if tables().any(|counted| counted.converged > 0) {
            self.count("converged");
        }
        if !expected.is_commit() {
            return;
        }
        let changed = |of: &Counted| of.adopted + of.rewritten + of.removed;
        let source = self.dag.get(expected.source.expect("a commit of it"));
        let notes = [
            (source.merges.is_some(), "merged a merge"),
            (is_commit, "merged an older commit"),
            (
                tables().any(|of| changed(of) > merging.bounds.rows),
                "merged into several commits of a table",
            ),
            (tables().all(|of| changed(of) == 0), "no row changed"),
            (
                expected.relation == MergeRelation::Diverged && tables().any(|of| changed(of) > 0),
                "rows changed on both sides",
            ),
            (
                expected.merged.row_conflicts() > 0,
                match expected.strategy {
                    MergeStrategy::Theirs => "strategy theirs",
                    _ => "strategy ours",
                },
            ),
        ];
        notes.into_iter().filter(|(is_it, _)| *is_it).for_each(|(_, what)| self.count(what));
    }
}

fn request_of(from: BranchFrom, merging: &Merging) -> MergeRequest {
    let options = MergeOptions {
        strategy: merging.strategy,
        ordered: merging.ordered,
        ..MergeOptions::default()
    };
    MergeRequest { options, bounds: merging.bounds, ..MergeRequest::new(from) }
}

async fn merge(graph: &Graph, request: MergeRequest) -> Result<MergeAnswer, WriteError> {
    let answer = graph.merge(request).await;
    graph.settled().await;
    answer
}

/// Holds an answer to what the model says; gives the receipt of a commit.
fn hold(expected: &Expected, answer: MergeAnswer) -> Option<Receipt> {
    let MergeAnswer { outcome, report } = answer;
    hold_report(expected, &report.expect("a report"));
    match outcome {
        WriteOutcome::Committed(receipt) if expected.is_commit() => {
            hold_counts(&expected.merged.tables, &receipt.tables);
            Some(receipt)
        }
        WriteOutcome::NoChange(receipt) if expected.relation == MergeRelation::Contained => {
            assert_eq!(receipt.commit, expected.target);
            None
        }
        WriteOutcome::Conflict(Conflict::Merge { rows, constraints, schema: false, .. }) => {
            assert!(rows + constraints > 0);
            assert_eq!((rows, constraints), expected.conflicts());
            None
        }
        outcome => panic!("the model says {expected:#?}, the graph {outcome:#?}"),
    }
}

/// A commit tells the rows of each table by what became of them.
pub(super) fn hold_counts(tables: &BTreeMap<&str, Counted>, told: &[TableSummary]) {
    for (name, counted) in tables {
        let found = told.iter().find(|it| it.name == *name);
        let found = found.map(|it| [it.inserted, it.updated, it.deleted]).unwrap_or_default();
        assert_eq!(found, [counted.adopted, counted.rewritten, counted.removed], "{name}");
        let unchanged = told.iter().find(|it| it.name == *name).map(|it| it.unchanged);
        assert!(unchanged.is_none_or(|same| same == counted.converged), "{name}: {told:#?}");
    }
}

fn hold_report(expected: &Expected, report: &MergeReport) {
    let sides = (report.source.commit, report.target, report.relation);
    assert_eq!(sides, (expected.source, expected.target, expected.relation));
    let bases: BTreeSet<CommitId> = report.bases.iter().copied().collect();
    assert_eq!((&bases, bases.len()), (&expected.bases, report.bases.len()));
    assert_eq!(report.strategy, expected.strategy);
    hold_review(expected, &report.review);
}

fn hold_review(expected: &Expected, review: &MergeReview) {
    assert!(!review.schema_diverges);
    for (name, counted) in &expected.merged.tables {
        match review.tables.iter().find(|table| table.name == *name) {
            Some(table) => {
                let counts = table.conflicts.counts();
                let conflicts = ConflictKind::ALL.map(|kind| (kind.name(), counts.of(kind)));
                let conflicts = conflicts.into_iter().filter(|(_, times)| *times > 0).collect();
                let told = Counted {
                    adopted: table.counts.adopted,
                    rewritten: table.counts.rewritten,
                    removed: table.counts.removed,
                    converged: table.counts.converged,
                    conflicts,
                };
                assert_eq!(told, *counted, "{name} of {review:#?}");
                assert_eq!(table.conflicts.listed().len() as u64, counts.total());
            }
            // Not looked at: the source has not changed it, or the target has it already.
            None => {
                let quiet = Counted { converged: counted.converged, ..Counted::default() };
                assert_eq!(*counted, quiet, "{name} was left out of {review:#?}");
            }
        }
    }
    let mut told = Broken::new();
    for (kind, table) in review.constraints.listed.iter().map(|conflict| place(expected, conflict))
    {
        *told.entry((kind, table)).or_default() += 1;
    }
    assert_eq!(told, expected.broken, "{review:#?}");
    assert_eq!(review.constraints.total, told.values().sum::<u64>());
}

fn place(expected: &Expected, conflict: &ConstraintConflict) -> (&'static str, &'static str) {
    let named = conflict.violation.table.as_deref().expect("a table");
    let table = expected.merged.tables.keys().find(|name| **name == named);
    (conflict.kind.name(), table.expect("a table of the schema"))
}
