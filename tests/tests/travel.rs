//! Time travel: every commit of a history can be opened as it was, and any two can be compared. The
//! oracle is what was seen at the time, kept outside of the product.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use graphwrite_coordinator::{
    CommitDiff, DiffRequest, Graph, LoadMode, MemoryStorage, ReadError, RowChanges, Snapshot, Store,
};
use graphwrite_protocol_types::{Answer, AttemptId, CommitId, WriteOutcome};
use graphwrite_substrate::{Fault, RawObjects};
use serde_json::Value;

use crate::judge::open_impatient;
use crate::world::{assert_clean, create, load, own_process, reopen, rows_of};

type Rows = BTreeMap<String, Vec<String>>;

/// A history with what a reader saw after each commit.
struct History {
    store: Store,
    graph: Graph,
    seen: Vec<(CommitId, Rows)>,
}

impl History {
    async fn new() -> Self {
        let store = Store::memory(&MemoryStorage::new());
        let graph = create(&store).await;
        Self { store, graph, seen: Vec::new() }
    }

    async fn write(&mut self, mode: LoadMode, lines: &[String]) {
        let outcome = load(&self.graph, mode, lines).await;
        let WriteOutcome::Committed(receipt) = outcome else { panic!("{outcome:?}") };
        let snapshot = self.graph.snapshot().await.unwrap();
        assert_eq!(snapshot.commit(), receipt.commit);
        self.seen.push((receipt.commit.unwrap(), rows_of(&snapshot).await));
    }

    /// Inserts, updates, edges and replaced tables, so that rows come, change and go; the numbers are
    /// mixed, not random, so that every run is the same.
    async fn grow(&mut self, commits: u64) {
        let first = self.seen.len() as u64;
        for n in first..first + commits {
            let mixed = |salt: u64| (n * 7_919 + salt * 104_729) % 23;
            let person = |slug: u64, age: u64| {
                format!(r#"{{"type":"Person","data":{{"slug":"p{slug}","age":{age}}}}}"#)
            };
            let company = |slug: u64, name: u64| {
                format!(r#"{{"type":"Company","data":{{"slug":"c{slug}","name":"n{name}"}}}}"#)
            };
            match n % 5 {
                0 => {
                    // Persons are put first, so that the edge has its ends.
                    let (from, to) = (mixed(1), mixed(2));
                    let edge = format!(
                        r#"{{"edge":"Knows","from":"p{from}","to":"p{to}","data":{{"since":{n}}}}}"#
                    );
                    let rows = [person(from, n), person(to, n), edge];
                    let rows = if from == to { &rows[1..] } else { &rows[..] };
                    self.write(LoadMode::Upsert, rows).await;
                }
                3 => {
                    let rows: Vec<_> = (0..=mixed(3) % 7).map(|at| company(at, n)).collect();
                    self.write(LoadMode::Overwrite, &rows).await;
                }
                _ => {
                    let rows = [person(mixed(4), 100 + n), company(mixed(5), 100 + n)];
                    self.write(LoadMode::Upsert, &rows).await;
                }
            }
        }
        self.graph.settled().await;
    }
}

#[tokio::test]
async fn every_commit_of_a_history_is_read_as_it_was_seen_at_its_time() {
    let mut history = History::new().await;
    history.grow(75).await;
    let fresh = Graph::open_read_only(history.store.reopened(), own_process()).await.unwrap();
    let oldest = &history.seen[..1];
    let asked = history.seen.iter().map(|it| (&fresh, it));
    for (graph, (commit, seen)) in asked.chain(oldest.iter().map(|it| (&history.graph, it))) {
        let snapshot = graph.snapshot_at(*commit).await.unwrap();
        assert_eq!(snapshot.commit(), Some(*commit));
        assert_eq!(rows_of(&snapshot).await, *seen);
    }
}

#[tokio::test]
async fn a_snapshot_of_the_past_does_not_move_when_the_graph_does() {
    let mut history = History::new().await;
    history.grow(6).await;
    let (commit, seen) = history.seen[2].clone();
    let snapshot = history.graph.snapshot_at(commit).await.unwrap();
    history.grow(6).await;
    assert_eq!(rows_of(&snapshot).await, seen);
    assert_clean(&history.graph).await;
}

#[tokio::test]
async fn a_commit_that_the_branch_does_not_have_is_refused_by_its_id() {
    let mut history = History::new().await;
    history.grow(2).await;
    let unknown = CommitId::from_u128(1);
    let error = history.graph.snapshot_at(unknown).await.unwrap_err();
    assert!(matches!(error, ReadError::NoSuchCommit { commit } if commit == unknown), "{error}");
    for (from, to) in [(Some(unknown), None), (None, Some(unknown))] {
        let request = DiffRequest { to, ..DiffRequest::since(from) };
        let error = history.graph.diff(request).await.unwrap_err();
        assert!(matches!(error, ReadError::NoSuchCommit { commit } if commit == unknown));
    }
}

/// The object of a version of the manifest.
async fn version_object(store: &Store, version: u64) -> String {
    let name = format!("{}.manifest", u64::MAX - version);
    let objects = store.list("__manifest/_versions").await.unwrap();
    let found = objects.into_iter().map(|it| it.path).find(|path| path.ends_with(&name));
    found.expect("the version is there")
}

async fn manifest_version(graph: &Graph, commit: CommitId) -> u64 {
    graph.commit(commit).await.unwrap().expect("a commit").manifest_version
}

#[tokio::test]
async fn a_commit_whose_version_is_no_longer_there_says_so_and_the_others_are_read() {
    let mut history = History::new().await;
    history.grow(4).await;
    let (commit, _) = history.seen[1];
    let version = manifest_version(&history.graph, commit).await;
    let object = version_object(&history.store, version).await;
    history.store.delete(&object).await.unwrap();
    let graph = reopen(&history.store).await;
    let error = graph.snapshot_at(commit).await.unwrap_err();
    assert!(matches!(error, ReadError::VersionGone { version: gone, .. } if gone == version));
    assert!(!error.may_retry() && error.had_no_effect());
    let (other, seen) = &history.seen[2];
    assert_eq!(rows_of(&graph.snapshot_at(*other).await.unwrap()).await, *seen);
}

/// A number is no identity: what another graph has under the number of a commit is not the commit,
/// although it can be read.
#[tokio::test]
async fn another_version_under_the_number_of_a_commit_is_not_taken_for_it() {
    let (mut history, mut foreign) = (History::new().await, History::new().await);
    history.grow(4).await;
    foreign.grow(4).await;
    let (commit, _) = history.seen[1];
    let version = manifest_version(&history.graph, commit).await;
    let object = version_object(&history.store, version).await;
    history.store.delete(&object).await.unwrap();
    let mut copied = vec![version_object(&foreign.store, version).await];
    let files = foreign.store.list("__manifest/data").await.unwrap();
    copied.extend(files.into_iter().map(|it| it.path));
    for path in copied {
        let bytes = foreign.store.get(&path).await.unwrap().expect("an object");
        let by = AttemptId::from_u128(1);
        let _ = history.store.put_if_absent(&path, bytes, by).await.unwrap();
    }
    let graph = reopen(&history.store).await;
    let error = graph.snapshot_at(commit).await.unwrap_err();
    let is_told = matches!(error, ReadError::OtherVersion { commit: asked, .. } if asked == commit);
    assert!(is_told, "{error:?}");
}

/// Keys of a table's rows, with the rows, from the lines of an export.
fn keyed(lines: Option<&Vec<String>>) -> BTreeMap<String, &String> {
    let key = |line: &String| {
        let value: Value = serde_json::from_str(line).unwrap();
        let text = |place: &Value| place.as_str().unwrap().to_owned();
        match value.get("edge") {
            Some(_) => format!("{} -> {}", text(&value["from"]), text(&value["to"])),
            None => text(&value["data"]["slug"]),
        }
    };
    lines.into_iter().flatten().map(|line| (key(line), line)).collect()
}

/// Added, removed and changed keys of every table, found by comparing everything with everything.
fn brute_force(old: &Rows, new: &Rows) -> BTreeMap<String, [BTreeSet<String>; 3]> {
    let tables: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let compared = tables.into_iter().map(|table| {
        let (old, new) = (keyed(old.get(table)), keyed(new.get(table)));
        let only = |a: &BTreeMap<String, &String>, b: &BTreeMap<String, &String>| {
            a.keys().filter(|key| !b.contains_key(*key)).cloned().collect()
        };
        let differs = |(key, row): &(&String, &&String)| new.get(*key).is_some_and(|it| it != *row);
        let changed: BTreeSet<String> =
            old.iter().filter(differs).map(|(key, _)| key.clone()).collect();
        (table.clone(), [only(&new, &old), only(&old, &new), changed])
    });
    compared.filter(|(_, kinds)| kinds.iter().any(|keys| !keys.is_empty())).collect()
}

fn kinds(rows: &RowChanges) -> [(u64, BTreeSet<String>); 3] {
    [&rows.added, &rows.removed, &rows.changed]
        .map(|keys| (keys.count, keys.first.iter().cloned().collect()))
}

fn agrees(diff: &CommitDiff, old: &Rows, new: &Rows) {
    let expected = brute_force(old, new);
    let found: BTreeMap<_, _> =
        diff.tables.iter().map(|table| (table.name.clone(), kinds(&table.rows))).collect();
    let expected: BTreeMap<_, _> = expected
        .into_iter()
        .map(|(table, kinds)| (table, kinds.map(|keys| (keys.len() as u64, keys))))
        .collect();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn the_difference_of_any_two_commits_is_what_comparing_all_rows_gives() {
    let mut history = History::new().await;
    history.grow(20).await;
    let (mut changes, mut passes) = (0, 0);
    for from in (0..history.seen.len()).step_by(3) {
        for to in (0..history.seen.len()).step_by(4).chain([history.seen.len() - 1]) {
            for rows_held_max in [2, DiffRequest::ROWS_HELD_MAX] {
                let ((old, old_rows), (new, new_rows)) = (&history.seen[from], &history.seen[to]);
                let request = DiffRequest {
                    from: Some(*old),
                    to: Some(*new),
                    keys_max: usize::MAX,
                    rows_held_max,
                };
                let diff = history.graph.diff(request).await.unwrap();
                assert_eq!((diff.from, diff.to), (Some(*old), Some(*new)));
                agrees(&diff, old_rows, new_rows);
                changes += diff.tables.len();
                passes += 1;
            }
        }
    }
    assert!(changes > passes, "most pairs differ: {changes} tables in {passes} comparisons");
}

#[tokio::test]
async fn the_difference_to_the_graph_without_commits_is_every_row_and_to_itself_is_none() {
    let mut history = History::new().await;
    history.grow(12).await;
    let (head, seen) = history.seen.last().unwrap();
    let all = DiffRequest { keys_max: usize::MAX, ..DiffRequest::since(None) };
    let diff = history.graph.diff(all).await.unwrap();
    assert_eq!((diff.from, diff.to), (None, Some(*head)));
    agrees(&diff, &Rows::new(), seen);
    let same = history.graph.diff(DiffRequest::since(Some(*head))).await.unwrap();
    assert!(same.tables.is_empty() && !same.schema_changed);
}

#[tokio::test]
async fn the_first_keys_are_listed_in_the_order_of_keys_and_all_are_counted() {
    let mut history = History::new().await;
    let person = |n: u64| format!(r#"{{"type":"Person","data":{{"slug":"k{n:02}"}}}}"#);
    let rows: Vec<_> = (0..20).rev().map(person).collect();
    history.write(LoadMode::Append, &rows).await;
    for rows_held_max in [3, DiffRequest::ROWS_HELD_MAX] {
        let (commit, _) = history.seen[0];
        let added = DiffRequest { keys_max: 3, rows_held_max, ..DiffRequest::since(None) };
        let added = history.graph.diff(added).await.unwrap();
        let removed = DiffRequest { from: Some(commit), ..DiffRequest::since(None) };
        assert_eq!(added.tables[0].rows.added.count, 20);
        assert_eq!(added.tables[0].rows.added.first, ["k00", "k01", "k02"]);
        assert!(history.graph.diff(removed).await.unwrap().tables.is_empty());
    }
    let other = r#"{"type":"Person","data":{"slug":"other"}}"#.to_owned();
    history.write(LoadMode::Overwrite, &[other]).await;
    for rows_held_max in [3, DiffRequest::ROWS_HELD_MAX] {
        let from = Some(history.seen[0].0);
        let gone = DiffRequest { keys_max: 2, rows_held_max, ..DiffRequest::since(from) };
        let gone = history.graph.diff(gone).await.unwrap();
        assert_eq!(gone.tables[0].rows.removed.count, 20);
        assert_eq!(gone.tables[0].rows.removed.first, ["k00", "k01"]);
        assert_eq!(gone.tables[0].rows.added.first, ["other"]);
    }
}

/// A store whose requests are written down.
fn noted(store: &Store) -> (Store, Arc<Mutex<Vec<String>>>) {
    let paths = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&paths);
    let (noted, _) = store.holding(move |operation| {
        notes.lock().unwrap().push(operation.path.clone());
        false
    });
    (noted, paths)
}

#[tokio::test]
async fn tables_and_fragments_that_both_sides_share_are_not_read() {
    let mut history = History::new().await;
    history.grow(10).await;
    let (from, _) = *history.seen.last().map(|(commit, rows)| (*commit, rows)).as_ref().unwrap();
    let company = |slug: &str| format!(r#"{{"type":"Company","data":{{"slug":"{slug}"}}}}"#);
    history.write(LoadMode::Append, &[company("late")]).await;
    history.graph.settled().await;
    let before: BTreeSet<String> = data_files(&history.store).await;
    history.write(LoadMode::Append, &[company("later")]).await;
    history.graph.settled().await;
    let last = data_files(&history.store).await;
    let new: Vec<&String> = last.difference(&before).collect();
    assert_eq!(new.len(), 1, "one row, one file");
    let (store, paths) = noted(&history.store);
    let graph = reopen(&store).await;
    let (head, late) = (history.seen.len() - 1, history.seen.len() - 2);
    paths.lock().unwrap().clear();
    let request = DiffRequest {
        to: Some(history.seen[head].0),
        ..DiffRequest::since(Some(history.seen[late].0))
    };
    let diff = graph.diff(request).await.unwrap();
    assert_eq!(kinds(&diff.tables[0].rows).map(|(count, _)| count), [1, 0, 0]);
    let read: BTreeSet<String> = paths.lock().unwrap().drain(..).collect();
    let of_tables = |path: &&String| path.starts_with("tables/") && path.contains("/data/");
    assert_eq!(read.iter().filter(of_tables).collect::<Vec<_>>(), new);
    let only = |path: &String| new[0].split("/data/").next().is_some_and(|it| path.starts_with(it));
    assert!(read.iter().filter(|path| path.starts_with("tables/")).all(only), "{read:?}");
    let both = graph.diff(DiffRequest::since(Some(from))).await.unwrap();
    assert_eq!(kinds(&both.tables[0].rows).map(|(count, _)| count), [2, 0, 0]);
}

async fn data_files(store: &Store) -> BTreeSet<String> {
    let objects = store.list("tables").await.unwrap();
    objects.into_iter().map(|it| it.path).filter(|path| path.contains("/data/")).collect()
}

/// Compensation makes versions of the same content; they are no difference, and nothing is read.
#[tokio::test]
async fn a_table_that_recovery_has_restored_does_not_differ() {
    use crate::crash::at;
    use crate::crash::scenario::{Stage, TWO_EXISTING_UPSERT};
    use graphwrite_coordinator::{RecoverMode, RecoverRequest};
    use graphwrite_substrate::OperationKind;

    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let log = stage.operations().await;
    let publish = log.find(OperationKind::PutIfAbsent, "__manifest/_versions").map(|it| it.number);
    let store = Store::memory(&stage.base.fork());
    let place = publish.unwrap_or(log.0.len() as u64) - 1;
    let (client, faults) = store.faulty(at(place, Fault::DieAfter));
    stage.scenario.write(&client).await;
    assert!(faults.is_dead());
    let graph = open_impatient(&store).await;
    let before: Snapshot = graph.snapshot().await.unwrap();
    let full = RecoverRequest { attempt: None, mode: RecoverMode::Full, owner_is_dead: false };
    let seal = graphwrite_coordinator::OutcomeRequest {
        seal: true,
        ..graphwrite_coordinator::OutcomeRequest::new(pending_operation(&graph).await)
    };
    let _ = graph.outcome(seal).await.unwrap();
    graph.recover(full).await.unwrap();
    let after = graph.snapshot().await.unwrap();
    assert!(after.manifest_version() > before.manifest_version());
    assert_eq!(rows_of(&after).await, rows_of(&before).await);
    let diff = graph.diff(DiffRequest::since(before.commit())).await.unwrap();
    assert!(diff.tables.is_empty(), "{diff:?}");
}

async fn pending_operation(graph: &Graph) -> graphwrite_protocol_types::OperationId {
    let pending = graph.pending_intents().await.unwrap();
    pending.intents[0].operation.parse().unwrap()
}
