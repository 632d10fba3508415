//! The closed list of scenarios: every entry point has some, and each is a test of its own.

use graphwrite_coordinator::{LoadMode, RecoverMode};

use super::cells;
use super::control::{Alive, Earlier, Origin};
use super::merges::{
    MERGE_CHAIN, MERGE_CHAINS, MERGE_FIRST, MERGE_FORWARD, MERGE_INHERITED, MERGE_NOTHING,
    MERGE_THREE,
};
use super::mutations::{
    CASCADE, MUTATE_ONE, MUTATE_ONE_FIRST, MUTATE_THREE, MUTATE_THREE_FIRST, UPDATE_AND_DELETE,
};
use super::on_branch::{
    BRANCH_APPEND, BRANCH_DELETION, BRANCH_MIXED, BRANCH_MUTATE, BRANCH_ONE, BRANCH_OWNED,
    BRANCH_THREE, BRANCH_TWO, FORKED, LEAVING,
};
use super::pending::Pending;
use super::readers;
use super::report::told;
use super::scenario::{
    MIXED_APPEND, MIXED_UPSERT, ONE_APPEND, ONE_FIRST_APPEND, ONE_OVERWRITE, ONE_UPSERT, Scenario,
    THREE_APPEND, THREE_FIRST_APPEND, THREE_OVERWRITE, THREE_UPSERT, TWO_EXISTING_UPSERT,
    TWO_FIRST_APPEND, TWO_FIRST_UPSERT,
};
use super::subject::{Act, Subject};

/// Entry points that act, by the first word of their scenarios. A command stands beside the function
/// of the library that it is.
pub(super) const ACTING: &[(&str, &[&str])] = &[
    ("create", &["Graph::create", "graphwrite init"]),
    ("load", &["Graph::load", "graphwrite load"]),
    ("mutate", &["Graph::mutate", "graphwrite mutate"]),
    ("merge", &["Graph::merge", "graphwrite merge"]),
    ("seal", &["Graph::outcome", "graphwrite outcome"]),
    ("recover", &["Graph::recover", "graphwrite intent resolve"]),
    ("resolve", &["Graph::recover", "graphwrite intent resolve"]),
    ("branch-create", &["Graph::create_branch", "graphwrite branch create"]),
    ("branch-delete", &["Graph::delete_branch", "graphwrite branch delete"]),
];

/// Scenarios whose recoveries are always crashed too.
pub(super) const DEEP: &[&str] = &[
    "mutate/three-existing",
    "load/three-first-append",
    "load/branch-three-inherited",
    "merge/three-chains",
    "merge/no-change",
];

/// The entry points that a scenario is of.
pub(super) fn entries(scenario: &str) -> Vec<&str> {
    let (kind, name) = scenario.split_once('/').unwrap_or((scenario, ""));
    match ACTING.iter().find(|(acting, _)| *acting == kind) {
        Some((_, entries)) => entries.to_vec(),
        None => vec![name],
    }
}

/// Those of `entries` that have no cell.
pub(super) fn without_cells<'a>(entries: &[&'a str], scenarios: &[&str]) -> Vec<&'a str> {
    let covered: Vec<_> = scenarios.iter().flat_map(|scenario| self::entries(scenario)).collect();
    entries.iter().filter(|entry| !covered.contains(entry)).copied().collect()
}

/// All scenarios, those of readers included.
pub(super) fn scenarios() -> Vec<&'static str> {
    SUBJECTS.iter().map(|it| it.id).chain(readers::scenarios()).collect()
}

pub(super) fn subject(id: &str) -> Subject {
    let found = SUBJECTS.iter().find(|it| it.id == id);
    *found.unwrap_or_else(|| panic!("no scenario `{id}`"))
}

const fn write(id: &'static str, scenario: Scenario) -> Subject {
    Subject { id, act: Act::Write, scenario, pending: Pending::Nothing, is_thin: false }
}

const fn over(id: &'static str, act: Act, scenario: Scenario, pending: Pending) -> Subject {
    Subject { id, act, scenario, pending, is_thin: false }
}

/// The same, with one operation of each kind that does not answer, comes late or is waited for.
const fn thin(subject: Subject) -> Subject {
    Subject { is_thin: true, ..subject }
}

const fn first(scenario: Scenario, mode: LoadMode) -> Scenario {
    Scenario { mode, ..scenario }
}

const fn fork(id: &'static str, origin: Origin, earlier: Earlier) -> Subject {
    over(id, Act::Fork(origin, earlier), FORKED, Pending::Nothing)
}

const fn remove(id: &'static str, alive: Alive, pending: Pending) -> Subject {
    over(id, Act::Remove(alive), LEAVING, pending)
}

const FULL: Act = Act::Recover(RecoverMode::Full);
const FORWARD: Act = Act::Recover(RecoverMode::RollForward);
const TWO: Scenario = TWO_EXISTING_UPSERT;

macro_rules! subjects {
    ($($test:ident: $subject:expr;)*) => {
        /// Every scenario that has durable operations.
        pub(super) const SUBJECTS: &[Subject] = &[$($subject),*];

        $(
            #[tokio::test]
            async fn $test() {
                let subject: Subject = $subject;
                told(subject.id, async |wanted| Box::pin(cells::run(subject, wanted)).await).await;
            }
        )*
    };
}

subjects! {
    create: over("create/empty", Act::Create, TWO_FIRST_APPEND, Pending::Nothing);
    load_one_first_append: write("load/one-first-append", ONE_FIRST_APPEND);
    load_one_first_upsert:
        write("load/one-first-upsert", first(ONE_FIRST_APPEND, LoadMode::Upsert));
    load_one_first_overwrite:
        write("load/one-first-overwrite", first(ONE_FIRST_APPEND, LoadMode::Overwrite));
    load_one_existing_append: write("load/one-existing-append", ONE_APPEND);
    load_one_existing_upsert: write("load/one-existing-upsert", ONE_UPSERT);
    load_one_existing_overwrite: write("load/one-existing-overwrite", ONE_OVERWRITE);
    load_three_first_append: write("load/three-first-append", THREE_FIRST_APPEND);
    load_three_first_upsert:
        write("load/three-first-upsert", first(THREE_FIRST_APPEND, LoadMode::Upsert));
    load_three_first_overwrite:
        write("load/three-first-overwrite", first(THREE_FIRST_APPEND, LoadMode::Overwrite));
    load_three_existing_append: write("load/three-existing-append", THREE_APPEND);
    load_three_existing_upsert: write("load/three-existing-upsert", THREE_UPSERT);
    load_three_existing_overwrite: write("load/three-existing-overwrite", THREE_OVERWRITE);
    load_mixed_append: write("load/mixed-append", MIXED_APPEND);
    load_mixed_upsert: write("load/mixed-upsert", MIXED_UPSERT);
    mutate_one_first: write("mutate/one-first", MUTATE_ONE_FIRST);
    mutate_one_existing: write("mutate/one-existing", MUTATE_ONE);
    mutate_three_first: write("mutate/three-first", MUTATE_THREE_FIRST);
    mutate_three_existing: write("mutate/three-existing", MUTATE_THREE);
    mutate_deletions: write("mutate/three-existing-deletions", UPDATE_AND_DELETE);
    mutate_cascade: write("mutate/three-existing-cascade", CASCADE);
    seal_unknown: over("seal/unknown", Act::Seal, TWO, Pending::Nothing);
    seal_armed: over("seal/armed", Act::Seal, TWO, Pending::Armed);
    seal_half: over("seal/half", Act::Seal, TWO, Pending::Half);
    seal_whole: over("seal/whole", Act::Seal, TWO, Pending::Whole);
    seal_published: over("seal/published", Act::Seal, TWO, Pending::Published);
    seal_aborted: over("seal/aborted", Act::Seal, TWO, Pending::Aborted);
    seal_first_half: over("seal/first-half", Act::Seal, TWO_FIRST_UPSERT, Pending::Half);
    seal_beside_a_paused_writer: over("seal/paused-writer", Act::Seal, TWO, Pending::Paused);
    recover_armed: over("recover/full-armed", FULL, TWO, Pending::Armed);
    recover_half: over("recover/full-half", FULL, TWO, Pending::Half);
    recover_whole: over("recover/full-whole", FULL, TWO, Pending::Whole);
    recover_published: over("recover/full-published", FULL, TWO, Pending::Published);
    recover_aborted: over("recover/full-aborted", FULL, TWO, Pending::Aborted);
    recover_closed: over("recover/full-closed", FULL, TWO, Pending::Closed);
    recover_rolled_back: over("recover/full-rolled-back", FULL, TWO, Pending::RolledBack);
    recover_first_half: over("recover/full-first-half", FULL, TWO_FIRST_APPEND, Pending::Half);
    recover_first_whole: over("recover/full-first-whole", FULL, TWO_FIRST_APPEND, Pending::Whole);
    recover_first_aborted:
        over("recover/full-first-aborted", FULL, TWO_FIRST_APPEND, Pending::Aborted);
    recover_mixed_half: over("recover/full-mixed-half", FULL, MIXED_UPSERT, Pending::Half);
    forward_armed: over("recover/forward-armed", FORWARD, TWO, Pending::Armed);
    forward_half: over("recover/forward-half", FORWARD, TWO, Pending::Half);
    forward_whole: over("recover/forward-whole", FORWARD, TWO, Pending::Whole);
    forward_published: over("recover/forward-published", FORWARD, TWO, Pending::Published);
    forward_aborted: over("recover/forward-aborted", FORWARD, TWO, Pending::Aborted);
    forward_rolled_back: over("recover/forward-rolled-back", FORWARD, TWO, Pending::RolledBack);
    forward_first_whole:
        over("recover/forward-first-whole", FORWARD, TWO_FIRST_APPEND, Pending::Whole);
    resolve_armed: over("resolve/armed", Act::Resolve, TWO, Pending::Armed);
    resolve_half: over("resolve/half", Act::Resolve, TWO, Pending::Half);
    resolve_whole: over("resolve/whole", Act::Resolve, TWO, Pending::Whole);
    resolve_published: over("resolve/published", Act::Resolve, TWO, Pending::Published);
    resolve_aborted: over("resolve/aborted", Act::Resolve, TWO, Pending::Aborted);
    resolve_first_half: over("resolve/first-half", Act::Resolve, TWO_FIRST_APPEND, Pending::Half);
    create_branch_of_main: fork("branch-create/of-main", Origin::Main, Earlier::Free);
    create_branch_again:
        fork("branch-create/of-branch-over-deleted", Origin::Branch, Earlier::Deleted);
    create_branch_over_begun:
        fork("branch-create/of-commit-over-begun", Origin::Commit, Earlier::Begun);
    create_branch_over_cloned: fork("branch-create/over-cloned", Origin::Main, Earlier::Cloned);
    create_branch_over_complete:
        fork("branch-create/over-complete", Origin::Main, Earlier::Complete);
    delete_branch: remove("branch-delete/plain", Alive::Plain, Pending::Nothing);
    delete_parent: remove("branch-delete/parent", Alive::Parent, Pending::Nothing);
    delete_under_armed: remove("branch-delete/armed", Alive::Pending, Pending::Armed);
    delete_under_half: remove("branch-delete/half", Alive::Pending, Pending::Half);
    delete_under_whole: remove("branch-delete/whole", Alive::Pending, Pending::Whole);
    load_on_branch_append: write("load/branch-one-inherited-append", BRANCH_APPEND);
    load_on_branch_three: write("load/branch-three-inherited", BRANCH_THREE);
    load_on_branch_mixed: write("load/branch-mixed", BRANCH_MIXED);
    load_on_branch_owned: write("load/branch-one-owned", BRANCH_OWNED);
    mutate_on_branch: write("mutate/branch-one-inherited", BRANCH_MUTATE);
    mutate_on_branch_deletion: write("mutate/branch-one-inherited-deletion", BRANCH_DELETION);
    recover_branch_armed: over("recover/branch-armed", FULL, BRANCH_ONE, Pending::Armed);
    recover_branch_cloned: over("recover/branch-cloned", FULL, BRANCH_ONE, Pending::Cloned);
    recover_branch_half: over("recover/branch-half", FULL, BRANCH_TWO, Pending::Half);
    recover_branch_whole: over("recover/branch-whole", FULL, BRANCH_ONE, Pending::Whole);
    recover_branch_published:
        over("recover/branch-published", FULL, BRANCH_ONE, Pending::Published);
    recover_branch_aborted: over("recover/branch-aborted", FULL, BRANCH_TWO, Pending::Aborted);
    forward_branch_half: over("recover/forward-branch-half", FORWARD, BRANCH_TWO, Pending::Half);
    resolve_branch_forked: over("resolve/branch-forked", Act::Resolve, BRANCH_ONE, Pending::Forked);
    seal_branch_half: over("seal/branch-half", Act::Seal, BRANCH_TWO, Pending::Half);
    merge_three: thin(write("merge/three-existing", MERGE_THREE));
    merge_three_chains: thin(write("merge/three-chains", MERGE_CHAINS));
    merge_inherited: thin(write("merge/branch-inherited-chain", MERGE_INHERITED));
    merge_first: thin(write("merge/first-chain", MERGE_FIRST));
    merge_forward: thin(write("merge/fast-forward", MERGE_FORWARD));
    merge_nothing: write("merge/no-change", MERGE_NOTHING);
    recover_merge_armed: thin(over("recover/merge-armed", FULL, MERGE_CHAIN, Pending::Armed));
    recover_merge_one: thin(over("recover/merge-one", FULL, MERGE_CHAIN, Pending::Prefix(1)));
    recover_merge_two: thin(over("recover/merge-two", FULL, MERGE_CHAIN, Pending::Prefix(2)));
    recover_merge_whole: thin(over("recover/merge-whole", FULL, MERGE_CHAIN, Pending::Whole));
    recover_merge_nothing:
        thin(over("recover/merge-no-change", FULL, MERGE_NOTHING, Pending::Armed));
    recover_merge_first:
        thin(over("recover/merge-first-two", FULL, MERGE_FIRST, Pending::Prefix(2)));
    recover_merge_inherited:
        thin(over("recover/merge-inherited-one", FULL, MERGE_INHERITED, Pending::Prefix(1)));
    recover_merge_inherited_whole:
        thin(over("recover/merge-inherited-whole", FULL, MERGE_INHERITED, Pending::Whole));
    forward_merge_two:
        over("recover/forward-merge-two", FORWARD, MERGE_CHAIN, Pending::Prefix(2));
    forward_merge_nothing:
        over("recover/forward-merge-no-change", FORWARD, MERGE_NOTHING, Pending::Armed);
    resolve_merge_two:
        thin(over("resolve/merge-two", Act::Resolve, MERGE_CHAIN, Pending::Prefix(2)));
    resolve_merge_nothing:
        thin(over("resolve/merge-no-change", Act::Resolve, MERGE_NOTHING, Pending::Armed));
    seal_merge_one: over("seal/merge-one", Act::Seal, MERGE_CHAIN, Pending::Prefix(1));
    seal_merge_whole: over("seal/merge-whole", Act::Seal, MERGE_CHAIN, Pending::Whole);
    seal_merge_nothing: over("seal/merge-no-change", Act::Seal, MERGE_NOTHING, Pending::Armed);
    seal_branch_whole: over("seal/branch-whole", Act::Seal, BRANCH_ONE, Pending::Whole);
}

/// Whatever only reads: one call each, over a graph with a pending intent.
#[tokio::test]
async fn read() {
    Box::pin(readers::library()).await;
}

/// The commands that only read, as processes.
#[tokio::test]
async fn read_commands() {
    readers::commands().await;
}

/// The entry points of docs/entrypoints.md, which the audit holds to the sources.
fn entry_points() -> Vec<String> {
    let page = [env!("CARGO_MANIFEST_DIR"), "..", "docs", "entrypoints.md"];
    let page: std::path::PathBuf = page.iter().collect();
    let page = std::fs::read_to_string(page).expect("docs/entrypoints.md");
    let tables = page
        .split("\n## ")
        .filter(|it| it.starts_with("Library\n") || it.starts_with("Operator tool\n"));
    let rows = tables.flat_map(str::lines).filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| row.split_once('`')).map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn every_entry_point_of_the_audit_has_cells() {
    let entries = entry_points();
    let entries: Vec<_> = entries.iter().map(String::as_str).collect();
    for known in ["Graph::load", "graphwrite intent resolve", "Hooks::reach"] {
        assert!(entries.contains(&known), "the page cannot be read: no {known} in {entries:?}");
    }
    let missing = without_cells(&entries, &scenarios());
    assert!(missing.is_empty(), "no cells: {missing:?}");
    let covered = scenarios();
    let covered = covered.iter().flat_map(|it| self::entries(it));
    let gone: Vec<_> = covered.filter(|it| !entries.contains(it)).collect();
    assert!(gone.is_empty(), "cells of what is no entry point: {gone:?}");
}

#[test]
fn an_entry_point_without_cells_is_reported() {
    let entries = ["Graph::load", "Graph::optimize", "graphwrite optimize"];
    assert_eq!(without_cells(&entries, &scenarios()), ["Graph::optimize", "graphwrite optimize"]);
    assert_eq!(without_cells(&entries[..1], &["seal/half"]), ["Graph::load"]);
}

#[test]
fn no_two_scenarios_have_one_name_and_all_that_always_go_deep_exist() {
    let mut all = scenarios();
    assert!(DEEP.iter().all(|it| all.contains(it)));
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
}
