//! The protocol, read off the operation log: what a workflow does, and in which order (RFC-022 section
//! 3: no effect without a durable intent, one commit, records go last). It must not know what the
//! storage holds.

use std::collections::BTreeSet;

use graphwrite_coordinator::{MemoryStorage, RecoverMode, Store};
use graphwrite_substrate::{Fault, Operation, OperationKind, OperationLog};

use super::pending::Pending;
use super::refs::{
    check_control, check_creation_of_branch, check_merge, check_removal, check_source,
    check_write_on_branch, ref_of,
};
use super::subject::{Act, Scene};
use crate::judge::{Complaint, Promise};

/// What a log does not keep to.
pub(crate) type Broken = &'static str;

/// Checks the log of a run in which nothing went wrong.
pub(super) fn undisturbed(scene: &Scene, log: &OperationLog) -> Result<(), Complaint> {
    let scenario = &scene.stage.scenario;
    let commits = Commits { tables: scenario.tables.len(), each: scenario.chain() };
    let checked = match scene.subject.act {
        Act::Create => check_creation(log),
        Act::Write if scene.is_on_branch() => check_write_on_branch(log, commits, &scene.existing),
        Act::Write => check_commits(log, commits, &scene.existing),
        Act::Fork(..) => check_creation_of_branch(log, &scene.existing),
        Act::Remove(_) => check_removal(log),
        Act::Seal => check_seal(log, scene.subject.pending),
        Act::Recover(RecoverMode::RollForward) => check_roll_forward(log, scene.subject.pending),
        Act::Recover(RecoverMode::Full) | Act::Resolve => {
            check_recovery(log, scene.subject.pending, &scene.existing)
        }
    };
    checked.and_then(|()| check_scene(log, scene)).map_err(|why| complaint(why, log))
}

/// Checks the log of a run that was disturbed: what no disturbance excuses.
pub(super) fn disturbed(scene: &Scene, log: &OperationLog) -> Result<(), Complaint> {
    let alone = match scene.subject.act {
        Act::Write => check_retirements(log),
        Act::Recover(_) | Act::Resolve => check_disturbed_recovery(log, scene.subject.pending),
        Act::Create | Act::Seal | Act::Fork(..) | Act::Remove(_) => Ok(()),
    };
    alone.map_err(|why| complaint(why, log))?;
    beside_others(scene, log)
}

/// The same where another process may have decided meanwhile.
pub(super) fn beside_others(scene: &Scene, log: &OperationLog) -> Result<(), Complaint> {
    let checked = match scene.subject.act {
        Act::Create | Act::Seal => inside(log, "__manifest/"),
        Act::Write => check_arming(log),
        Act::Fork(..) | Act::Remove(_) => check_control(log, &scene.existing),
        Act::Recover(_) | Act::Resolve => Ok(()),
    };
    checked.and_then(|()| check_scene(log, scene)).map_err(|why| complaint(why, log))
}

/// Checks the log of a recovery whose beginning is not known.
pub(super) fn recovery(scene: &Scene, log: &OperationLog) -> Result<(), Complaint> {
    check_scene(log, scene).map_err(|why| complaint(why, log))
}

fn check_scene(log: &OperationLog, scene: &Scene) -> Result<(), Broken> {
    if scene.is_on_branch() {
        check_source(log, &scene.existing)?;
    }
    if scene.stage.scenario.merge.is_some() {
        check_merge(log, &scene.existing, scene.branch())?;
    }
    check_any(log, &scene.existing)
}

fn complaint(why: Broken, log: &OperationLog) -> Complaint {
    let steps = log
        .0
        .iter()
        .map(|it| format!("{:?} {} {:?}", it.operation.kind, it.operation.path, it.fault));
    Promise::Clean.broken((why, steps.collect::<Vec<_>>()))
}

/// The operations of a log, by their places in it.
pub(super) struct Steps<'a>(pub(super) Vec<&'a Operation>);

impl<'a> Steps<'a> {
    pub(super) fn of(log: &'a OperationLog) -> Self {
        Self(log.operations().collect())
    }

    pub(super) fn all(&self, selects: impl Fn(&Operation) -> bool) -> Vec<usize> {
        let places = self.0.iter().enumerate();
        places.filter(|(_, operation)| selects(operation)).map(|(place, _)| place).collect()
    }
}

pub(super) fn is_delete(operation: &Operation) -> bool {
    operation.kind == OperationKind::Delete
}

pub(crate) fn is_arming(operation: &Operation) -> bool {
    operation.kind == OperationKind::PutIfAbsent && operation.path.ends_with(".intent")
}

pub(crate) fn is_retirement(operation: &Operation) -> bool {
    is_delete(operation) && operation.path.ends_with(".intent")
}

fn is_commit_below(operation: &Operation, place: &str) -> bool {
    operation.kind.is_durable()
        && !is_delete(operation)
        && operation.path.starts_with(place)
        && operation.path.contains("/_versions/")
        && operation.path.ends_with(".manifest")
}

/// Whether the operation commits to a table.
pub(crate) fn is_effect(operation: &Operation) -> bool {
    is_commit_below(operation, "tables/")
}

pub(crate) fn is_manifest_commit(operation: &Operation) -> bool {
    is_commit_below(operation, "__manifest/")
}

pub(super) fn dataset_of(path: &str) -> Option<&str> {
    path.strip_prefix("tables/")?.split('/').next()
}

/// The datasets that a storage has.
pub(crate) async fn datasets(storage: &MemoryStorage) -> BTreeSet<String> {
    let objects = Store::memory(storage).list("tables").await.expect("a listing");
    objects.iter().filter_map(|it| dataset_of(&it.path)).map(str::to_owned).collect()
}

/// The datasets, and the refs in them and in the manifest.
pub(crate) async fn known(storage: &MemoryStorage) -> BTreeSet<String> {
    let objects = Store::memory(storage).list("").await.expect("a listing");
    let refs = objects.iter().filter_map(|it| ref_of(&it.path));
    refs.chain(datasets(storage).await).collect()
}

/// What holds for everybody, whatever goes wrong.
fn check_any(log: &OperationLog, existing: &BTreeSet<String>) -> Result<(), Broken> {
    let is_lost = |it: &Operation| {
        let is_known = match ref_of(&it.path) {
            Some(of_ref) => existing.contains(&of_ref),
            None => dataset_of(&it.path).is_some_and(|dataset| existing.contains(dataset)),
        };
        is_delete(it) && is_known && !is_own_draft(log, it)
    };
    let is_foreign = |it: &Operation| {
        let is_record = it.path.starts_with("_recovery/") || it.path.starts_with("tables/");
        is_delete(it) && !is_record && !is_own_draft(log, it)
    };
    let steps = Steps::of(log);
    if !steps.all(is_lost).is_empty() {
        return Err("a file of a table is deleted");
    }
    if !steps.all(is_foreign).is_empty() {
        return Err("something is deleted that is neither a record nor a table's");
    }
    if !steps.all(may_replace).is_empty() {
        return Err("a decision is written without excluding another one");
    }
    Ok(())
}

/// Whether the operation writes a record or a version in a way that may replace another one.
fn may_replace(operation: &Operation) -> bool {
    let path = &operation.path;
    let is_decision = ["_recovery/", "_control/"].iter().any(|it| path.starts_with(it))
        || ["/_versions/", "/_refs/"].iter().any(|it| path.contains(it));
    let is_exclusive = matches!(
        operation.kind,
        OperationKind::PutIfAbsent
            | OperationKind::CopyIfAbsent
            | OperationKind::RenameIfAbsent
            | OperationKind::Delete
    );
    is_decision && !is_exclusive
}

/// Whether the deletion takes back the description of a transaction that the same process wrote and
/// could not commit; no version names it.
fn is_own_draft(log: &OperationLog, deletion: &Operation) -> bool {
    let is_description = deletion.path.contains("/_transactions/");
    is_description && log.operations().any(|it| !is_delete(it) && it.path == deletion.path)
}

/// Nothing outside of `place`, and nothing deleted.
fn inside(log: &OperationLog, place: &str) -> Result<(), Broken> {
    let inside =
        |it: &Operation| it.path.starts_with(place) && (!is_delete(it) || is_own_draft(log, it));
    if log.operations().all(inside) { Ok(()) } else { Err("an act beside the authority") }
}

/// The commit that makes the graph is the first effect, and the only one.
fn check_creation(log: &OperationLog) -> Result<(), Broken> {
    inside(log, "__manifest/")?;
    let steps = Steps::of(log);
    let [made] = steps.all(is_manifest_commit)[..] else { return Err("not exactly one creation") };
    if made + 1 == steps.0.len() { Ok(()) } else { Err("something after the creation") }
}

/// One manifest commit, if the request was not decided before, and nothing else.
fn check_seal(log: &OperationLog, pending: Pending) -> Result<(), Broken> {
    inside(log, "__manifest/")?;
    let steps = Steps::of(log);
    let decided = usize::from(!pending.is_visible());
    if steps.all(is_manifest_commit).len() != decided {
        return Err("not exactly one commit of the seal");
    }
    if decided == 0 && !steps.0.is_empty() { Err("a seal of what is committed") } else { Ok(()) }
}

/// How many commits a write makes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Commits {
    /// The tables that it touches.
    tables: usize,
    /// The commits to each; none for a write without effects.
    each: usize,
}

impl Commits {
    /// `landed` are the commits that are there, to tables of these names.
    pub(super) fn check<'a>(
        self,
        landed: usize,
        touched: impl Iterator<Item = &'a str>,
    ) -> Result<(), Broken> {
        let tables = if self.each == 0 { 0 } else { self.tables };
        let touched: BTreeSet<_> = touched.collect();
        match landed == tables * self.each && touched.len() == tables {
            true => Ok(()),
            false => Err("not one commit per table, or not as many as planned"),
        }
    }

    pub(super) fn each(self) -> usize {
        self.each
    }
}

/// What the log of an undisturbed write must be that makes one commit to each table.
pub(crate) fn check_write(
    log: &OperationLog,
    tables: usize,
    existing: &BTreeSet<String>,
) -> Result<(), Broken> {
    check_commits(log, Commits { tables, each: 1 }, existing)
}

fn check_commits(
    log: &OperationLog,
    commits: Commits,
    existing: &BTreeSet<String>,
) -> Result<(), Broken> {
    let steps = Steps::of(log);
    let effects = steps.all(is_effect);
    let [armed] = steps.all(is_arming)[..] else { return Err("not exactly one intent") };
    let [published] = steps.all(is_manifest_commit)[..] else {
        return Err("not exactly one publication");
    };
    let retirements = steps.all(is_retirement);
    let Some(&retired) = retirements.last() else { return Err("the intent stays") };
    if effects.iter().any(|effect| *effect < armed) {
        return Err("an effect before the intent is durable");
    }
    if effects.iter().any(|effect| *effect > published) {
        return Err("a publication before an effect has landed");
    }
    if retirements[0] < published {
        return Err("the intent goes before the publication");
    }
    if retired + 1 != steps.0.len() || steps.all(is_delete) != [retired] {
        return Err("a deletion while the intent is pending");
    }
    let touched: BTreeSet<_> =
        effects.iter().filter_map(|effect| dataset_of(&steps.0[*effect].path)).collect();
    commits.check(effects.len(), touched.iter().copied())?;
    // Before the intent, existing tables get files that no version names; nothing else happens.
    let staged = |it: &&&Operation| {
        let inside = dataset_of(&it.path)
            .is_some_and(|dataset| existing.contains(dataset) || touched.contains(dataset));
        inside && (it.path.contains("/data/") || it.path.contains("/_deletions/"))
    };
    if steps.0[..armed].iter().filter(staged).count() != armed {
        return Err("more than staging before the intent");
    }
    Ok(())
}

/// No effect and no publication before an intent has reached the storage.
fn check_arming(log: &OperationLog) -> Result<(), Broken> {
    let steps = Steps::of(log);
    let armed = log.0.iter().position(|it| is_arming(&it.operation) && is_applied(it.fault));
    let first = |selects: fn(&Operation) -> bool| steps.all(selects).first().copied();
    let is_after = |step: Option<usize>, other: Option<usize>| match (step, other) {
        (Some(step), Some(other)) => other < step,
        (Some(_), None) => false,
        (None, _) => true,
    };
    if !is_after(first(is_effect), armed) {
        return Err("an effect before the intent is durable");
    }
    if !is_after(first(is_manifest_commit), armed) {
        return Err("a publication before the intent is durable");
    }
    Ok(())
}

/// An intent with effects, and what it has made, stay until something is decided.
fn check_retirements(log: &OperationLog) -> Result<(), Broken> {
    let steps = Steps::of(log);
    let has = |steps: Vec<usize>, before: usize| steps.first().is_some_and(|step| *step < before);
    let is_undecided = |step: &usize| !has(steps.all(is_manifest_commit), *step);
    let is_early = |step: &usize| is_undecided(step) && has(steps.all(is_effect), *step);
    if steps.all(is_retirement).iter().any(is_early) {
        return Err("the intent goes before anything is decided");
    }
    let is_removal =
        |it: &Operation| is_delete(it) && it.path.starts_with("tables/") && !is_own_draft(log, it);
    if steps.all(is_removal).iter().any(is_undecided) {
        return Err("a dataset goes before the abort is decided");
    }
    Ok(())
}

fn is_applied(fault: Fault) -> bool {
    matches!(fault, Fault::Proceed | Fault::DieAfter | Fault::LoseAck)
}

/// What an undisturbed recovery must do, by where it begins.
fn check_recovery(
    log: &OperationLog,
    pending: Pending,
    existing: &BTreeSet<String>,
) -> Result<(), Broken> {
    match pending {
        Pending::Armed | Pending::Cloned | Pending::Forked | Pending::Half | Pending::Prefix(_) => {
            check_abort(log, existing)
        }
        Pending::Aborted => check_compensation(log, 1),
        Pending::Closed => check_compensation(log, 1).and_then(|()| touches_no_table(log)),
        Pending::Whole | Pending::Published | Pending::RolledBack => {
            check_roll_forward(log, pending)
        }
        Pending::Nothing | Pending::Paused => Ok(()),
    }
}

/// What is complete is published, what is decided is tidied, and nothing else is touched.
fn check_roll_forward(log: &OperationLog, pending: Pending) -> Result<(), Broken> {
    touches_no_table(log)?;
    let steps = Steps::of(log);
    let commits = usize::from(pending == Pending::Whole);
    if steps.all(is_manifest_commit).len() != commits {
        return Err("not as many publications as complete attempts");
    }
    let is_over = matches!(pending, Pending::Whole | Pending::Published | Pending::RolledBack);
    let retired = if is_over { vec![steps.0.len().saturating_sub(1)] } else { vec![] };
    if steps.all(is_retirement) != retired || steps.all(is_delete) != retired {
        return Err("the intent does not go last, or something else goes");
    }
    Ok(())
}

fn touches_no_table(log: &OperationLog) -> Result<(), Broken> {
    let touched = log.operations().any(|it| it.path.starts_with("tables/"));
    if touched { Err("a table is touched") } else { Ok(()) }
}

/// What the log of a recovery must be that takes a write back.
pub(super) fn check_abort(log: &OperationLog, existing: &BTreeSet<String>) -> Result<(), Broken> {
    let steps = Steps::of(log);
    let [aborted, _] = steps.all(is_manifest_commit)[..] else {
        return Err("not one commit that aborts and one that moves the pins");
    };
    if steps.all(|it| it.path.starts_with("tables/")).iter().any(|step| *step < aborted) {
        return Err("a table is touched outside the compensation");
    }
    check_compensation(log, 2)?;
    check_any(log, existing)
}

/// Tables are closed before the last of `commits` moves the pins, and the intent goes last.
fn check_compensation(log: &OperationLog, commits: usize) -> Result<(), Broken> {
    let steps = Steps::of(log);
    let decided = steps.all(is_manifest_commit);
    if decided.len() != commits {
        return Err("not one commit that moves the pins");
    }
    let [retired] = steps.all(is_retirement)[..] else { return Err("the intent stays") };
    if retired + 1 != steps.0.len() {
        return Err("something after the intent is gone");
    }
    let touches = steps.all(|it| it.path.starts_with("tables/"));
    if touches.iter().any(|step| decided.last().is_some_and(|last| last < step)) {
        return Err("a table is touched outside the compensation");
    }
    Ok(())
}

/// Before the abort is decided no table is touched.
fn check_disturbed_recovery(log: &OperationLog, pending: Pending) -> Result<(), Broken> {
    let is_decided = pending.is_aborted();
    let decided =
        log.0.iter().position(|it| is_manifest_commit(&it.operation) && is_applied(it.fault));
    let touched = Steps::of(log).all(|it| it.path.starts_with("tables/"));
    let is_lawful = |step: &usize| decided.is_some_and(|decided| decided < *step);
    if is_decided || touched.iter().all(is_lawful) {
        Ok(())
    } else {
        Err("a table is touched before the abort is decided")
    }
}
