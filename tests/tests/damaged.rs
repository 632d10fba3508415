//! A graph one of whose files has changed: bytes are flipped and ends cut off, one place at a time, in a
//! file of every kind. Whoever reads, writes or verifies then has an error or the right rows.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Once;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use graphwrite_coordinator::{
    Finding, Graph, LoadLimits, LoadMode, LoadRequest, MemoryStorage, RowRenderer, Severity, Store,
};
use graphwrite_protocol_types::{Answer, AttemptId, WriteOutcome};
use graphwrite_substrate::{PutOutcome, RawObjects};

use crate::judge::{impatient, tell};
use crate::world::{BASE, append, create, load, rows};

/// A byte in so many is flipped, unless this says otherwise: `1` for all, which takes an hour.
const STRIDE: &str = "GRAPHWRITE_DAMAGE_STRIDE";
const STRIDE_DEFAULT: usize = 37;
/// Which bits are flipped, in turn.
const BITS: [u8; 5] = [0xff, 0x01, 0x80, 0x10, 0x04];
/// Nothing here takes a second; what takes so long does not end.
const HANGS_AFTER: Duration = Duration::from_secs(60);
const AT_ONCE: usize = 4;
const NEW: &str = r#"{"type":"Person","data":{"slug":"p9","age":9}}"#;

type Rows = BTreeMap<String, Vec<String>>;

/// What is done to an object.
#[derive(Debug, Clone, Copy)]
enum Change {
    Flip(usize, u8),
    Cut(usize),
}

#[derive(Debug, Clone)]
struct Case {
    object: String,
    change: Change,
}

impl Case {
    /// Whether these may be the rows of a graph that has `expected`. Data pages have no checksums, so that
    /// values of a table may be others: docs/assumptions.md. How many rows there are may not.
    fn allows(&self, seen: &Rows, expected: &Rows) -> bool {
        let is_page = self.object.starts_with("tables/") && self.object.contains("/data/");
        let counts = |rows: &Rows| rows.values().map(Vec::len).collect::<Vec<_>>();
        seen == expected || (is_page && counts(seen) == counts(expected))
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {}", self.change, self.object)
    }
}

/// A graph with deleted rows, and what it holds.
struct Ground {
    storage: MemoryStorage,
    before: Rows,
    after: Rows,
}

impl Ground {
    async fn new() -> Self {
        let storage = MemoryStorage::new();
        let graph = create(&Store::memory(&storage)).await;
        append(&graph, BASE).await;
        let _ =
            load(&graph, LoadMode::Upsert, &[r#"{"type":"Person","data":{"slug":"p1","age":7}}"#])
                .await;
        graph.settled().await;
        let before = rows(&graph).await;
        let written = storage.fork();
        let graph = create_copy(&written).await;
        append(&graph, &[NEW]).await;
        Self { storage, before, after: rows(&graph).await }
    }

    /// The newest file of each kind below `top`; what versions name is younger than what they do not.
    async fn objects(&self) -> Vec<(String, usize)> {
        let mut newest = BTreeMap::new();
        let objects = Store::memory(&self.storage).list("").await.unwrap();
        let kinds = ["_versions", "data", "_deletions", "_transactions"];
        for object in objects.iter().filter(|object| !object.path.starts_with("_recovery")) {
            let (directory, _) = object.path.rsplit_once('/').unwrap();
            let kind = directory.rsplit('/').next().unwrap().to_owned();
            assert!(kinds.contains(&kind.as_str()), "{}", object.path);
            // Numbers of versions count down, times of data files go up.
            let is_first = kind == "_versions";
            let place = newest.entry(directory.to_owned());
            let entry = (object.path.clone(), usize::try_from(object.size).unwrap());
            if is_first {
                place.or_insert(entry);
            } else {
                *place.or_default() = entry;
            }
        }
        newest.into_values().collect()
    }

    async fn cases(&self) -> Vec<Case> {
        let stride = std::env::var(STRIDE).ok().and_then(|text| text.parse().ok());
        let stride = stride.unwrap_or(STRIDE_DEFAULT);
        let mut cases = Vec::new();
        for (object, size) in self.objects().await {
            let flips = (0..size).step_by(stride).zip(BITS.iter().cycle());
            let flips = flips.map(|(at, bits)| Change::Flip(at, *bits));
            let cuts =
                [0, 1, 16, size / 2, size - 16, size - 1].map(|at| Change::Cut(at.min(size - 1)));
            cases.extend(flips.chain(cuts).map(|change| Case { object: object.clone(), change }));
        }
        cases
    }

    /// A copy with this damage.
    async fn with(&self, case: &Case) -> MemoryStorage {
        let storage = self.storage.fork();
        let store = Store::memory(&storage);
        let mut bytes = store.get(&case.object).await.unwrap().unwrap().to_vec();
        match case.change {
            Change::Flip(at, bits) => bytes[at] ^= bits,
            Change::Cut(at) => bytes.truncate(at),
        }
        store.delete(&case.object).await.unwrap();
        let put = store.put_if_absent(&case.object, bytes.into(), AttemptId::from_u128(1)).await;
        assert!(matches!(put.unwrap(), PutOutcome::Created));
        storage
    }
}

async fn create_copy(storage: &MemoryStorage) -> Graph {
    Graph::open(Store::memory(storage), impatient()).await.unwrap()
}

type Failed = Box<dyn std::error::Error + Send + Sync>;

/// What `export` writes.
async fn exported(graph: &Graph) -> Result<Rows, Failed> {
    let snapshot = graph.snapshot().await?;
    let mut all = Rows::new();
    for declared in snapshot.schema().types() {
        let renderer = RowRenderer::new(snapshot.schema(), declared.identity).unwrap();
        let mut batches = snapshot.table(&declared.name).await?.scan().await?;
        let mut text = String::new();
        while let Some(batch) = batches.try_next().await? {
            renderer.render(&batch, &mut text)?;
        }
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        all.insert(declared.name.clone(), lines);
    }
    Ok(all)
}

/// An append of [`NEW`]; whether it was acknowledged.
async fn written(graph: &Graph) -> Result<bool, Failed> {
    let mut input = graph.input(LoadLimits::default()).await?;
    input.push_json_line(1, NEW)?;
    let request = LoadRequest::new(input.finish()?, LoadMode::Append);
    match graph.load(request).await {
        Ok(outcome) => Ok(matches!(outcome, WriteOutcome::Committed(_))),
        Err(error) if error.code() == "unexplained_head" => Err("not a word about damage".into()),
        Err(error) => Err(error.into()),
    }
}

/// What readers see, and what they see after a write that was acknowledged.
#[derive(Debug, Default)]
struct Seen {
    before: Option<Rows>,
    after: Option<Rows>,
    /// Faults that `verify` found; none when it answered with an error.
    faults: Option<usize>,
}

async fn command(storage: MemoryStorage, work: fn(Graph) -> Work) -> Result<Seen, String> {
    let run = tokio::spawn(async move {
        let opened = Graph::open(Store::memory(&storage), impatient()).await;
        match opened {
            Ok(graph) => work(graph).await,
            Err(_) => Seen::default(),
        }
    });
    match tokio::time::timeout(HANGS_AFTER, run).await {
        Err(_) => Err("it does not end".to_owned()),
        Ok(Err(panic)) => Err(format!("it panics: {panic}")),
        Ok(Ok(seen)) => Ok(seen),
    }
}

type Work = futures::future::BoxFuture<'static, Seen>;
type Command = fn(Graph) -> Work;

fn export(graph: Graph) -> Work {
    Box::pin(async move { Seen { before: exported(&graph).await.ok(), ..Seen::default() } })
}

fn status(graph: Graph) -> Work {
    Box::pin(async move {
        // It has no rows to be wrong.
        drop(graph.status().await);
        Seen::default()
    })
}

fn verify(graph: Graph) -> Work {
    Box::pin(async move {
        let report = graph.verify().await.ok();
        let is_fault = |finding: &&Finding| finding.severity == Severity::Fault;
        let faults = report.map(|report| report.findings.iter().filter(is_fault).count());
        Seen { faults, ..Seen::default() }
    })
}

fn write(graph: Graph) -> Work {
    Box::pin(async move {
        let after = match written(&graph).await {
            Ok(true) => exported(&graph).await.ok(),
            _ => None,
        };
        graph.settled().await;
        Seen { after, ..Seen::default() }
    })
}

/// What was wrong with a case.
async fn judged(ground: &Ground, case: &Case) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut answers = Vec::new();
    let commands: [(&str, Command); 4] =
        [("export", export), ("status", status), ("verify", verify), ("load", write)];
    for (name, work) in commands {
        match command(ground.with(case).await, work).await {
            Err(text) => wrong.push(format!("{name}: {case}: {text}")),
            Ok(seen) => {
                let is_wrong =
                    seen.before.as_ref().is_some_and(|it| !case.allows(it, &ground.before))
                        || seen.after.as_ref().is_some_and(|it| !case.allows(it, &ground.after));
                if is_wrong {
                    wrong.push(format!("{name}: {case}: other rows"));
                }
                answers.push(seen);
            }
        }
    }
    if let [exported, _, verified, _] = &answers[..] {
        let is_told = match verified.faults {
            // What is damaged in a table hides no other table.
            None => case.object.starts_with("__manifest"),
            Some(faults) => faults > 0 || exported.before.is_some(),
        };
        if !is_told {
            wrong.push(format!("verify: {case}: not a finding"));
        }
    }
    wrong
}

/// Says nothing of panics of the engine: there are hundreds, and who catches them is what is tested.
fn quiet() {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let is_ours = panic.location().is_none_or(|at| !at.file().contains("registry"));
            if is_ours {
                others(panic);
            }
        }));
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_flipped_or_cut_off_is_an_error_or_the_right_rows() {
    quiet();
    let ground = Ground::new().await;
    let cases = ground.cases().await;
    let judged = stream::iter(&cases).map(|case| judged(&ground, case)).buffer_unordered(AT_ONCE);
    let wrong: Vec<String> = judged.concat().await;
    tell(&format!("{} cases of damage, {} wrong", cases.len(), wrong.len()));
    assert!(wrong.is_empty(), "{wrong:#?}");
}
