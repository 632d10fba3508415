//! What only reads makes no durable operation, whatever is pending: every reader of the library over a
//! client that logs, every command that reads over a directory that must not change.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;
use graphwrite_coordinator::{
    BranchFrom, DiffRequest, Durability, Graph, GraphOptions, Hooks, Injected, LoadLimits,
    MemoryStorage, MergeRelation, MergeRequest, OperationOutcome, OutcomeRequest, Snapshot, Store,
};
use graphwrite_protocol_types::{AttemptId, CommitId, Failpoint, NameState};
use graphwrite_substrate::{Fault, OperationKind, OperationLog};
use tempfile::TempDir;

use super::cells::guarded;
use super::control::{NAME, Origin, SOURCE, create_branch, fork, is_begun};
use super::matrix::at_nth;
use super::pending::{Pending, operation};
use super::report::{Row, told};
use super::scenario::{Stage, TWO_EXISTING_UPSERT};
use crate::judge::{Complaint, Promise, impatient};
use crate::process::command;
use crate::world::{append, own_process, reopen};

/// A graph with two commits and a pending intent of which half has landed.
#[derive(Debug)]
pub(super) struct Left {
    storage: MemoryStorage,
    commits: [CommitId; 2],
    attempt: AttemptId,
    operation: String,
}

impl Left {
    async fn new() -> Self {
        let stage = Stage::of(TWO_EXISTING_UPSERT).await;
        let graph = reopen(&Store::memory(&stage.base)).await;
        let receipt = append(&graph, &[r#"{"type":"Company","data":{"slug":"c9"}}"#]).await;
        graph.settled().await;
        let log = graph.log(2).await.expect("a log");
        let commits = [log[1].commit, log[0].commit];
        create_branch(&graph, SOURCE, "main").await;
        let undecided = at_nth(1, is_begun, Fault::DieAfter);
        let (client, _) = Store::memory(&stage.base).faulty(undecided);
        let creator = Graph::open(client, own_process()).await.expect("a graph");
        assert!(fork(&creator, Origin::Main, commits[0]).await.is_err(), "it dies");
        let (storage, attempt) = Pending::Half.over(&stage).await;
        let attempt = attempt.expect("it is pending");
        Self { storage, commits, attempt, operation: receipt.operation.to_string() }
    }

    /// The same for one reader.
    fn fork(&self) -> Self {
        Self { storage: self.storage.fork(), operation: self.operation.clone(), ..*self }
    }
}

/// A reader, with the graph that it reads and a handle that may write.
pub(super) struct Asked<'a> {
    client: Store,
    graph: Graph,
    left: &'a Left,
}

impl Asked<'_> {
    async fn snapshot(&self) -> Snapshot {
        self.graph.snapshot().await.expect("a snapshot")
    }
}

type Call = for<'a> fn(Asked<'a>) -> BoxFuture<'a, ()>;

/// One way to read.
pub(super) struct Reader {
    /// `read/<entry point>`.
    pub(super) scenario: &'static str,
    call: Call,
}

const fn reader(scenario: &'static str, call: Call) -> Reader {
    Reader { scenario, call }
}

/// Every reader of the library, and the ports that it calls.
pub(super) const LIBRARY: &[Reader] = &[
    reader("read/Graph::open", |it| {
        async move { drop(Graph::open(it.client, own_process()).await.unwrap()) }.boxed()
    }),
    reader("read/Graph::open_read_only", |it| {
        async move { drop(Graph::open_read_only(it.client, own_process()).await.unwrap()) }.boxed()
    }),
    reader("read/Graph::open_on", |it| {
        let branch = SOURCE.parse().unwrap();
        async move { drop(Graph::open_on(it.client, &branch, own_process()).await.unwrap()) }
            .boxed()
    }),
    reader("read/Graph::open_read_only_on", |it| {
        let branch = SOURCE.parse().unwrap();
        async move {
            drop(Graph::open_read_only_on(it.client, &branch, own_process()).await.unwrap());
        }
        .boxed()
    }),
    reader("read/Graph::mutation", |it| {
        async move {
            let mut builder = it.graph.mutation(LoadLimits::default()).await.unwrap();
            builder.push_json(r#"[{"delete":{"type":"Person","key":"p1"}}]"#).unwrap();
            drop(builder.finish().unwrap());
        }
        .boxed()
    }),
    reader("read/Graph::input", |it| {
        async move {
            let row = r#"{"type":"Person","data":{"slug":"p1"}}"#;
            drop(crate::world::input(&it.graph, &[row]).await);
        }
        .boxed()
    }),
    reader("read/Graph::snapshot", |it| {
        async move { assert_eq!(it.snapshot().await.commit(), Some(it.left.commits[1])) }.boxed()
    }),
    reader("read/Snapshot::table", |it| {
        async move { drop(it.snapshot().await.table("Person").await.unwrap()) }.boxed()
    }),
    reader("read/SnapshotTable::count_rows", |it| {
        async move {
            let table = it.snapshot().await.table("Company").await.unwrap();
            assert_eq!(table.count_rows().await.unwrap(), 3);
        }
        .boxed()
    }),
    reader("read/SnapshotTable::scan", |it| scans(it).boxed()),
    reader("read/BatchStream::collect_all", |it| scans(it).boxed()),
    reader("read/Graph::log", |it| {
        async move { assert_eq!(it.graph.log(9).await.unwrap().len(), 2) }.boxed()
    }),
    reader("read/Graph::commit", |it| {
        async move { assert!(it.graph.commit(it.left.commits[0]).await.unwrap().is_some()) }.boxed()
    }),
    reader("read/Graph::snapshot_at", |it| {
        async move {
            let older = it.graph.snapshot_at(it.left.commits[0]).await.unwrap();
            let companies = older.table("Company").await.unwrap().count_rows().await.unwrap();
            assert_eq!(companies, 2);
        }
        .boxed()
    }),
    reader("read/Graph::diff", |it| {
        async move {
            let since = DiffRequest::since(Some(it.left.commits[0]));
            assert_eq!(it.graph.diff(since).await.unwrap().tables.len(), 1);
        }
        .boxed()
    }),
    reader("read/Graph::preview_merge", |it| {
        async move {
            let source = BranchFrom::Head(SOURCE.parse().unwrap());
            let preview = it.graph.preview_merge(MergeRequest::new(source)).await.unwrap();
            assert_eq!(preview.relation, MergeRelation::Contained);
        }
        .boxed()
    }),
    reader("read/Graph::branches", |it| {
        async move {
            let names = it.graph.branches().await.unwrap();
            assert_eq!(names.len(), 3, "main, one that is live, one that is undecided");
        }
        .boxed()
    }),
    reader("read/Graph::branch", |it| {
        async move {
            let branch = it.graph.branch(&SOURCE.parse().unwrap()).await.unwrap();
            assert!(!branch.log(1).await.unwrap().is_empty());
        }
        .boxed()
    }),
    reader("read/Graph::branch_status", |it| {
        async move {
            let status = it.graph.branch_status(&SOURCE.parse().unwrap()).await.unwrap();
            assert_eq!((status.ahead, status.behind, status.pending), (0, Some(0), 0));
            let undecided = it.graph.branch_status(&NAME.parse().unwrap()).await.unwrap();
            assert!(matches!(undecided.state, NameState::Creating(_)), "{undecided:?}");
        }
        .boxed()
    }),
    reader("read/Graph::audit", |it| {
        async move { assert!(it.graph.audit(9).await.unwrap().is_empty()) }.boxed()
    }),
    reader("read/Graph::status", |it| {
        async move { assert!(!it.graph.status().await.unwrap().tables.is_empty()) }.boxed()
    }),
    reader("read/Graph::pending_intents", |it| {
        async move { assert_eq!(it.graph.pending_intents().await.unwrap().intents.len(), 1) }
            .boxed()
    }),
    reader("read/Graph::intent", |it| {
        async move { assert!(it.graph.intent(it.left.attempt).await.unwrap().is_some()) }.boxed()
    }),
    reader("read/Graph::verify", |it| {
        async move { assert_eq!(it.graph.verify().await.unwrap().pending, 1) }.boxed()
    }),
    reader("read/Graph::settled", |it| async move { it.graph.settled().await }.boxed()),
    reader("read/Graph::outcome", |it| {
        async move {
            let asked = OutcomeRequest::new(operation());
            let outcome = it.graph.outcome(asked).await.unwrap();
            assert!(matches!(outcome, OperationOutcome::Pending { .. }), "{outcome:?}");
        }
        .boxed()
    }),
    reader("read/Store::get", |it| {
        async move { assert!(it.client.get(&record(&it).await).await.unwrap().is_some()) }.boxed()
    }),
    reader("read/Store::head", |it| {
        async move { assert!(it.client.head(&record(&it).await).await.unwrap().is_some()) }.boxed()
    }),
    reader("read/Store::directory_with", |it| {
        async move {
            let found = it.client.directory_with("_versions", ".manifest").await.unwrap();
            assert_eq!(found.as_deref(), Some("__manifest"));
        }
        .boxed()
    }),
    reader("read/Store::list", |it| async move { drop(record(&it).await) }.boxed()),
    reader("read/MemoryStorage::digest", |it| {
        async move {
            let storage = &it.left.storage;
            assert_eq!(storage.digest().await.unwrap(), storage.fork().digest().await.unwrap());
        }
        .boxed()
    }),
    reader("read/FaultHandle::release_late", |it| {
        async move {
            let (client, faults) = it.client.faulty(|_| Fault::LateHanging);
            let graph = Graph::open(client, own_process()).await.unwrap();
            graph.verify().await.unwrap();
            assert_eq!(faults.release_late().await, 0, "nothing that reads comes late");
        }
        .boxed()
    }),
    reader("read/HoldHandle::next", |it| {
        async move {
            let (client, mut handle) = it.client.holding(|it| it.kind == OperationKind::List);
            let listing = tokio::spawn(async move { client.list("_recovery").await });
            handle.next().await.unwrap().release();
            assert_eq!(listing.await.unwrap().unwrap().len(), 1);
        }
        .boxed()
    }),
    reader("read/Hooks::reach", |it| {
        async move {
            let options = GraphOptions { hooks: Arc::new(Heedless), ..own_process() };
            Heedless.reach(Failpoint::PreArm).await.unwrap();
            let graph = Graph::open_read_only(it.client, options).await.unwrap();
            graph.verify().await.unwrap();
        }
        .boxed()
    }),
];

/// A port that is asked at every failpoint and stops nothing.
#[derive(Debug)]
struct Heedless;

#[async_trait]
impl Hooks for Heedless {
    async fn reach(&self, _: Failpoint) -> Result<(), Injected> {
        Ok(())
    }

    fn wants(&self, _: Failpoint) -> bool {
        true
    }
}

async fn scans(it: Asked<'_>) {
    let table = it.snapshot().await.table("Person").await.unwrap();
    let batches = table.scan().await.unwrap().collect_all().await.unwrap();
    assert_eq!(batches.iter().map(arrow_array::RecordBatch::num_rows).sum::<usize>(), 2);
}

/// The object of the pending intent.
async fn record(it: &Asked<'_>) -> String {
    let mut listed = it.client.list("_recovery").await.unwrap();
    assert_eq!(listed.len(), 1);
    listed.remove(0).path
}

/// Calls a reader over a client that logs.
async fn call(reader: &Reader, left: &Left) -> Row {
    row(reader.scenario, guarded(Box::pin(called(reader, left.fork())))).await
}

/// Calls every reader of the library.
pub(super) async fn library() {
    let left = &Left::new().await;
    for reader in LIBRARY {
        told(reader.scenario, async |_| Box::pin(call(reader, left)).await).await;
    }
}

async fn row(scenario: &str, cell: impl Future<Output = Result<(), String>>) -> Row {
    let began = Instant::now();
    let mut row = Row::new(scenario);
    row.calm = 1;
    if let Err(why) = cell.await {
        row.fail(format!("{scenario}/calm"), why);
    }
    row.seconds = began.elapsed().as_secs_f64();
    row
}

async fn called(reader: &Reader, left: Left) -> Result<(), Complaint> {
    let before = left.storage.digest().await.expect("a digest");
    let (client, faults) = Store::memory(&left.storage).faulty(|_| Fault::Proceed);
    let graph = Graph::open(client.clone(), impatient()).await.expect("a graph");
    (reader.call)(Asked { client, graph, left: &left }).await;
    let is_same = before == left.storage.digest().await.expect("a digest");
    if is_same && faults.log() == OperationLog::default() {
        return Ok(());
    }
    Err(Promise::Stable.broken((is_same, faults.log())))
}

/// The words of every command that only reads; what is in braces depends on the graph.
const COMMANDS: &[(&str, &[&str])] = &[
    ("read/graphwrite export", &["export", "{graph}"]),
    ("read/graphwrite status", &["status", "{graph}"]),
    ("read/graphwrite commit log", &["commit", "log", "{graph}"]),
    ("read/graphwrite commit show", &["commit", "show", "{graph}", "{commit}"]),
    ("read/graphwrite commit diff", &["commit", "diff", "{graph}", "{older}", "{commit}"]),
    ("read/graphwrite branch list", &["branch", "list", "{graph}"]),
    ("read/graphwrite branch status", &["branch", "status", "{graph}", "here"]),
    ("read/graphwrite audit", &["audit", "{graph}"]),
    ("read/graphwrite intent list", &["intent", "list", "{graph}"]),
    ("read/graphwrite intent show", &["intent", "show", "{graph}", "{attempt}"]),
    ("read/graphwrite intent explain", &["intent", "explain", "{graph}", "{attempt}"]),
    ("read/graphwrite outcome", &["outcome", "{graph}", "{operation}"]),
    ("read/graphwrite verify", &["verify", "{graph}"]),
    ("read/graphwrite version", &["version"]),
    ("read/graphwrite completions", &["completions", "bash"]),
];

/// The scenarios of what reads.
pub(super) fn scenarios() -> impl Iterator<Item = &'static str> {
    let commands = COMMANDS.iter().map(|(scenario, _)| *scenario);
    LIBRARY.iter().map(|it| it.scenario).chain(commands)
}

/// Runs every command over one directory.
pub(super) async fn commands() {
    let left = Left::new().await;
    let directory = TempDir::new().expect("a directory");
    lay_out(&left.storage, directory.path()).await;
    // A branch that was made in memory names that storage, and is read in no other.
    let store = Store::open(directory.path().to_str().expect("a path"), Durability::default());
    let graph = Graph::open(store.expect("a storage"), own_process()).await.expect("a graph");
    create_branch(&graph, "here", "main").await;
    for (scenario, words) in COMMANDS {
        let words: Vec<_> = words.iter().map(|it| filled(it, &left, directory.path())).collect();
        let ran = async { ran(&words, directory.path()) };
        told(scenario, async |_| row(scenario, ran).await).await;
    }
}

fn filled(word: &str, left: &Left, directory: &Path) -> String {
    match word {
        "{graph}" => directory.display().to_string(),
        "{older}" => left.commits[0].to_string(),
        "{commit}" => left.commits[1].to_string(),
        "{attempt}" => left.attempt.to_string(),
        "{operation}" => left.operation.clone(),
        word => word.to_owned(),
    }
}

/// Puts what a storage in memory holds under a directory.
async fn lay_out(storage: &MemoryStorage, directory: &Path) {
    let store = Store::memory(storage);
    for object in store.list("").await.expect("a listing") {
        let file = directory.join(&object.path);
        std::fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
        let bytes = store.get(&object.path).await.expect("bytes").expect("an object");
        std::fs::write(file, bytes).expect("a file");
    }
}

fn ran(words: &[String], directory: &Path) -> Result<(), String> {
    let before = files(directory);
    let output = command(words).output().map_err(|error| error.to_string())?;
    let answers =
        output.status.success() || output.status.code().is_some() && !output.stdout.is_empty();
    if !answers {
        return Err(format!("`{}` does not answer: {output:?}", words.join(" ")));
    }
    if before == files(directory) {
        Ok(())
    } else {
        Err(format!("`{}` has changed the directory", words.join(" ")))
    }
}

fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.insert(path.display().to_string(), std::fs::read(path).expect("bytes"));
            }
        }
    }
    found
}

#[tokio::test]
async fn a_reader_that_writes_is_found_out() {
    let writer = Reader {
        scenario: "read/Graph::load",
        call: |it| {
            let row = r#"{"type":"Person","data":{"slug":"x"}}"#;
            async move { drop(append(&it.graph, &[row]).await) }.boxed()
        },
    };
    assert_eq!(call(&writer, &Left::new().await).await.failures.len(), 1);
}

#[tokio::test]
async fn a_command_that_writes_is_found_out() {
    let left = Left::new().await;
    let directory = TempDir::new().unwrap();
    lay_out(&left.storage, directory.path()).await;
    let graph = directory.path().display().to_string();
    let words = ["outcome", &graph, "another-request", "--seal"].map(str::to_owned);
    assert!(ran(&words, directory.path()).unwrap_err().contains("has changed"));
}
