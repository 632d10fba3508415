//! The protocol of branches, read off the operation log: refs come after what announces them and before
//! what is committed to them, control operations commit nothing, and nobody writes to what belongs to
//! another branch. It must not know what the storage holds.

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_substrate::{Operation, OperationKind, OperationLog};
use parking_lot::Mutex;

use super::log::{
    Broken, Commits, Steps, dataset_of, is_arming, is_delete, is_effect, is_manifest_commit,
    is_retirement,
};

const RECORDS: &str = "_control/branch/";

/// The ref that an object belongs to, by its place: `<dataset>/tree/<ref>`. None in main.
pub(super) fn ref_of(path: &str) -> Option<String> {
    if let Some((dataset, below)) = path.split_once("/tree/") {
        return Some(format!("{dataset}/tree/{}", below.split('/').next()?));
    }
    let (dataset, file) = path.split_once("/_refs/branches/")?;
    Some(format!("{dataset}/tree/{}", file.strip_suffix(".json")?))
}

/// Whether Lance is told of a ref.
pub(crate) fn is_contents(operation: &Operation) -> bool {
    operation.kind == OperationKind::PutIfAbsent && operation.path.contains("/_refs/branches/")
}

/// Picks commits of rows to tables. The first version of a ref that is not `known` is a clone, however
/// often it is sent.
pub(crate) fn is_step(
    known: &BTreeSet<String>,
) -> impl Fn(&Operation) -> bool + Send + Sync + 'static {
    let clones = Clones::beside(known);
    move |operation| is_effect(operation) && !clones.has(operation)
}

/// Picks clones that become refs of tables.
pub(crate) fn is_clone(
    known: &BTreeSet<String>,
) -> impl Fn(&Operation) -> bool + Send + Sync + 'static {
    let clones = Clones::beside(known);
    move |operation| is_effect(operation) && clones.has(operation)
}

/// The first versions of refs.
struct Clones(Mutex<BTreeMap<String, String>>);

impl Clones {
    fn beside(known: &BTreeSet<String>) -> Self {
        Self(Mutex::new(known.iter().map(|it| (it.clone(), String::new())).collect()))
    }

    fn has(&self, commit: &Operation) -> bool {
        let Some(of_ref) = ref_of(&commit.path) else { return false };
        *self.0.lock().entry(of_ref).or_insert_with(|| commit.path.clone()) == commit.path
    }
}

/// What the log of an undisturbed write on a branch must be: the intent before any ref, each ref before
/// what is committed to it, as many commits per table as are planned, one publication on the branch, the intent last.
pub(crate) fn check_write_on_branch(
    log: &OperationLog,
    commits: Commits,
    known: &BTreeSet<String>,
) -> Result<(), Broken> {
    let steps = Steps::of(log);
    let [armed] = steps.all(is_arming)[..] else { return Err("not exactly one intent") };
    let [published] = steps.all(is_manifest_commit)[..] else {
        return Err("not exactly one publication");
    };
    if !steps.0[published].path.starts_with("__manifest/tree/") {
        return Err("a publication beside the branch");
    }
    let landed = steps.all(is_step(known));
    if landed.iter().any(|step| *step < armed) {
        return Err("an effect before the intent is durable");
    }
    if landed.iter().any(|step| published < *step) {
        return Err("a publication before an effect has landed");
    }
    let touched = landed.iter().filter_map(|step| dataset_of(&steps.0[*step].path));
    commits.check(landed.len(), touched)?;
    let deletions = steps.all(is_delete);
    if deletions != steps.all(is_retirement) || deletions != [steps.0.len() - 1] {
        return Err("the intent does not go last, or something else goes");
    }
    check_refs(&steps, armed, (commits, known))?;
    check_source(log, known)
}

/// Every new ref: intent, clone, contents, files, commit.
fn check_refs(
    steps: &Steps<'_>,
    armed: usize,
    (planned, known): (Commits, &BTreeSet<String>),
) -> Result<(), Broken> {
    let of_tables = |it: &&Operation| it.path.starts_with("tables/");
    let refs = steps.0.iter().copied().filter(of_tables).filter_map(|it| ref_of(&it.path));
    let refs: BTreeSet<_> = refs.filter(|it| !known.contains(it)).collect();
    for of_ref in refs {
        let inside = |it: &Operation| ref_of(&it.path).as_ref() == Some(&of_ref);
        let touches = steps.all(inside);
        let commits = steps.all(|it| inside(it) && is_effect(it));
        let contents = steps.all(|it| inside(it) && is_contents(it));
        let files = steps.all(|it| inside(it) && is_file(it));
        let (&[cloned, landed, ..], &[contents]) = (&commits[..], &contents[..]) else {
            return Err("not one clone, one record and one commit of a ref");
        };
        if commits.len() != 1 + planned.each() {
            return Err("not as many commits of a ref as are planned");
        }
        if touches.iter().any(|step| *step < armed) {
            return Err("a ref before the intent is durable");
        }
        if contents < cloned || landed < contents {
            return Err("the record of a ref is not between its clone and its commit");
        }
        if files.iter().any(|step| *step < contents || landed < *step) {
            return Err("files of a ref before it is there, or after its commit");
        }
    }
    Ok(())
}

fn is_file(operation: &Operation) -> bool {
    ["/data/", "/_deletions/"].iter().any(|it| operation.path.contains(it))
}

/// Nothing is written where the branch's source lives: tables that were there, in main.
pub(crate) fn check_source(log: &OperationLog, known: &BTreeSet<String>) -> Result<(), Broken> {
    let of_source = |it: &Operation| {
        let is_known = dataset_of(&it.path).is_some_and(|dataset| known.contains(dataset));
        is_known && ref_of(&it.path).is_none()
            || it.path.starts_with("__manifest/_versions/")
            || it.path.starts_with("_recovery/main/")
    };
    if log.operations().any(of_source) { Err("something is written to the source") } else { Ok(()) }
}

/// A merge, and whoever recovers it, writes to its target alone: to no ref, no manifest and no record of
/// another branch, and to no record of a name.
pub(crate) fn check_merge(
    log: &OperationLog,
    known: &BTreeSet<String>,
    target: Option<&str>,
) -> Result<(), Broken> {
    // Nothing but its manifest belongs to a branch that owns no ref of a table.
    let native = target.map(native_begins);
    let is_of_target = |of_ref: &str| {
        let in_manifest = of_ref.strip_prefix("__manifest/tree/");
        native.as_ref().zip(in_manifest).is_some_and(|(native, it)| it.starts_with(native))
    };
    let of_others = |it: &Operation| {
        let other_ref = ref_of(&it.path).filter(|it| known.contains(it));
        let records = it.path.strip_prefix("_recovery/").map(|it| match &native {
            Some(native) => !it.starts_with(native),
            None => !it.starts_with("main/"),
        });
        it.path.starts_with("_control/")
            || other_ref.is_some_and(|it| !is_of_target(&it))
            || records.unwrap_or(false)
    };
    if log.operations().any(of_others) {
        return Err("a merge writes to what is not its target's");
    }
    Ok(())
}

/// How the native branches of a name begin.
fn native_begins(name: &str) -> String {
    format!("{}.", name.replace('/', "-"))
}

/// What holds for whoever makes or deletes a branch, whatever goes wrong: records are written once, no
/// version is made but the first one of a new native branch, after its beginning.
pub(super) fn check_control(log: &OperationLog, known: &BTreeSet<String>) -> Result<(), Broken> {
    let steps = Steps::of(log);
    let is_record = |it: &Operation| it.path.starts_with(RECORDS);
    let is_native = |it: &Operation| {
        it.path.starts_with("__manifest/")
            && ref_of(&it.path).is_some_and(|it| !known.contains(&it))
    };
    if log.operations().any(|it| !is_record(it) && !is_native(it)) {
        return Err(
            "a control operation writes elsewhere than to its records and its native branch",
        );
    }
    if log.operations().any(|it| is_record(it) && it.kind != OperationKind::PutIfAbsent) {
        return Err("a record that is not written for the first time");
    }
    let begun = steps.all(|it| is_record(it) && it.path.ends_with(".begin"));
    for step in steps.all(is_native) {
        if begun.first().is_none_or(|begun| step < *begun) {
            return Err("a native branch before its beginning is durable");
        }
    }
    let versions: BTreeMap<_, BTreeSet<_>> = steps
        .all(is_manifest_commit)
        .into_iter()
        .map(|step| steps.0[step].path.as_str())
        .fold(BTreeMap::new(), |mut all, path| {
            all.entry(ref_of(path)).or_default().insert(path);
            all
        });
    if versions.values().any(|versions| versions.len() > 1) {
        return Err("a version above the clone");
    }
    Ok(())
}

/// What the log of an undisturbed creation must be.
pub(crate) fn check_creation_of_branch(
    log: &OperationLog,
    known: &BTreeSet<String>,
) -> Result<(), Broken> {
    check_control(log, known)?;
    let steps = Steps::of(log);
    let records = |ending: &'static str| {
        steps.all(move |it| it.path.starts_with(RECORDS) && it.path.ends_with(ending))
    };
    let (cloned, contents) = (steps.all(is_manifest_commit), steps.all(is_contents));
    let begun = records(".begin").pop();
    // What was decided before the beginning is about the incarnation below.
    let is_own = |step: &usize| begun.is_none_or(|begun| begun < *step);
    let Some(decided) = records(".decided").into_iter().find(is_own) else {
        return Err("nothing is decided");
    };
    if contents.iter().any(|step| decided < *step) {
        return Err("decided before it is complete");
    }
    if decided + 1 != steps.0.len() {
        return Err("something after the decision");
    }
    match (begun, &cloned[..], &contents[..]) {
        (Some(begun), &[cloned], &[contents]) if begun < cloned && cloned < contents => Ok(()),
        // A name that is complete already is decided, and nothing else.
        (None, [], []) if decided == 0 => Ok(()),
        _ => Err("not one clone, then one record of it"),
    }
}

/// A deletion is one record.
pub(crate) fn check_removal(log: &OperationLog) -> Result<(), Broken> {
    match Steps::of(log).0[..] {
        [record] if record.path.starts_with(RECORDS) && record.path.ends_with(".deleted") => Ok(()),
        _ => Err("not exactly one record"),
    }
}
