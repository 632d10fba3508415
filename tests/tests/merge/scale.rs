//! What a merge takes of time and memory on a graph of many rows: it follows what has changed. Each graph is
//! measured in a process of its own, whose peak is that of its merges.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use futures::TryStreamExt;
use graphwrite_coordinator::{
    BatchStream, Durability, Graph, LoadLimits, LoadMode, LoadRequest, MergeRoute, Store,
};
use graphwrite_protocol_types::{AttemptId, CommitPermit, TxUuid, WriteOutcome};
use graphwrite_substrate::{
    RequestCounter, RowAddresses, TableHandle, create_dataset, stage_change, stage_create,
    strict_commit,
};
use tempfile::TempDir;

use super::scene::{merge, request, try_merge};
use crate::branches::scene::{fork, fork_at};
use crate::world::create_with;

const SCHEMA: &str = r#"
[node.Person]
key = "slug"
[node.Person.properties]
slug = { type = "string" }
note = { type = "string" }
age = { type = "i32" }
"#;

/// Of which graph the process measures, as `<what> <rows>`.
const MEASURES: &str = "GRAPHWRITE_MERGE_MEASURES";
/// The sizes, where others than the ordinary ones are asked for.
const SIZES: &str = "GRAPHWRITE_MERGE_ROWS";
const ORDINARY: &str = "10000 100000";
const NEW_ROWS: usize = 100_000;
/// Rows that each side changes.
const CHANGED: usize = 50;
/// Of so many merges the fastest counts: a machine that does other work makes any of them slow.
const TIMES: usize = 5;
const BATCH: usize = 8_192;

/// What one process has measured.
#[derive(Debug)]
struct Measured {
    best_ms: f64,
    /// The same rows read where the merge reads them, and appended, without any protocol.
    raw_ms: f64,
    /// Of that, the append alone.
    append_ms: f64,
    requests: u64,
    rows_read: u64,
    peak_mib: u64,
}

#[test]
fn the_merge_of_fifty_rows_takes_the_same_whatever_the_table_holds() {
    if let Some(rows) = asked_for("few") {
        return tell(&run(of_few_changes(rows)));
    }
    let sizes = std::env::var(SIZES).unwrap_or_else(|_| ORDINARY.to_owned());
    let measured: Vec<Measured> = sizes
        .split(' ')
        .map(|rows| {
            elsewhere(
                "the_merge_of_fifty_rows_takes_the_same_whatever_the_table_holds",
                &format!("few {rows}"),
            )
        })
        .collect();
    let [first, .., last] = measured.as_slice() else { panic!("two sizes") };
    for of in &measured {
        assert_eq!(of.rows_read, first.rows_read, "{measured:?}");
        // Where changed rows lie far apart each is a read of its own, of each side.
        assert!(of.requests <= first.requests + 2 * CHANGED as u64, "{measured:?}");
    }
    let ratio = last.best_ms / first.best_ms;
    say(&format!("{sizes} rows: {measured:#?}, ratio {ratio:.2}"));
    assert!(ratio < 2.0, "{ratio}: {measured:?}");
}

/// Both are timed in turn in one process.
#[test]
fn a_merge_of_new_rows_costs_little_more_than_to_append_them() {
    if asked_for("new").is_some() {
        return tell(&run(of_new_rows()));
    }
    let measured = elsewhere("a_merge_of_new_rows_costs_little_more_than_to_append_them", "new 0");
    let ratio = measured.best_ms / measured.raw_ms;
    say(&format!("{NEW_ROWS} new rows: {measured:#?}, ratio {ratio:.2}"));
    assert!(ratio < 2.0, "{ratio}: {measured:?}");
}

fn asked_for(what: &str) -> Option<usize> {
    let asked = std::env::var(MEASURES).ok()?;
    let (of, rows) = asked.split_once(' ')?;
    (of == what).then(|| rows.parse().unwrap())
}

fn run<T>(measuring: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(measuring)
}

fn tell(measured: &Measured) {
    let Measured { best_ms, raw_ms, append_ms, requests, rows_read, peak_mib } = measured;
    let figures =
        format!("measured {best_ms} {raw_ms} {append_ms} {requests} {rows_read} {peak_mib}");
    say(&format!("\n{figures}"));
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").unwrap();
}

fn elsewhere(test: &str, what: &str) -> Measured {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([&format!("merge::scale::{test}"), "--exact", "--nocapture"])
        .env(MEASURES, what)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let figures = said.lines().find_map(|line| line.strip_prefix("measured ")).unwrap();
    let figures: Vec<f64> = figures.split(' ').map(|figure| figure.parse().unwrap()).collect();
    let [best_ms, raw_ms, append_ms, requests, rows_read, peak_mib] = figures[..] else {
        panic!("{said}")
    };
    let [requests, rows_read, peak_mib] = [requests, rows_read, peak_mib].map(|of| of as u64);
    Measured { best_ms, raw_ms, append_ms, requests, rows_read, peak_mib }
}

fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

/// People of these numbers, as batches.
fn people(numbers: impl Iterator<Item = usize>, note: &str) -> Vec<RecordBatch> {
    let text = |name| Field::new(name, DataType::Utf8, false);
    let age = Field::new("age", DataType::Int32, false);
    let schema = Arc::new(Schema::new(vec![text("slug"), text("note"), age]));
    let numbers: Vec<usize> = numbers.collect();
    let batch = |numbers: &[usize]| {
        let slugs = numbers.iter().map(|number| format!("person-{number:08}"));
        let notes =
            numbers.iter().map(|number| format!("{note} {number}, who lives by the harbour"));
        let ages = numbers.iter().map(|number| (number % 90) as i32);
        RecordBatch::try_new(
            Arc::clone(&schema),
            vec![
                Arc::new(StringArray::from_iter_values(slugs)),
                Arc::new(StringArray::from_iter_values(notes)),
                Arc::new(Int32Array::from_iter_values(ages)),
            ],
        )
        .unwrap()
    };
    numbers.chunks(BATCH).map(batch).collect()
}

async fn put(graph: &Graph, mode: LoadMode, rows: &[RecordBatch]) {
    let mut builder = graph.input(LoadLimits::default()).await.unwrap();
    rows.iter().for_each(|batch| builder.push_batch("Person", batch).unwrap());
    let outcome = graph.load(LoadRequest::new(builder.finish().unwrap(), mode)).await.unwrap();
    assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
    graph.settled().await;
}

async fn graph_of(directory: &Path, rows: usize) -> (Store, RequestCounter, Graph) {
    let (store, counter) = Store::local(directory, Durability::Relaxed).unwrap().counting();
    let graph = create_with(&store, SCHEMA).await;
    put(&graph, LoadMode::Append, &people(0..rows, "first")).await;
    (store, counter, graph)
}

/// Both sides change rows all over the table, each others.
async fn of_few_changes(rows: usize) -> Measured {
    let directory = TempDir::new().unwrap();
    let (_, counter, main) = graph_of(directory.path(), rows).await;
    let mut measured = Measured {
        best_ms: f64::MAX,
        raw_ms: 0.0,
        append_ms: 0.0,
        requests: u64::MAX,
        rows_read: 0,
        peak_mib: 0,
    };
    for time in 0..TIMES {
        let step = rows / CHANGED;
        let changed = |side: usize| (0..CHANGED).map(move |at| at * step + 2 * time + side);
        let name = format!("b{time}");
        let branch = fork(&main, &name, "main").await;
        put(&branch, LoadMode::Upsert, &people(changed(0), "theirs")).await;
        put(&main, LoadMode::Upsert, &people(changed(1), "ours")).await;
        counter.take();
        let began = Instant::now();
        let (receipt, report) = merge(&main, &name).await;
        measured.best_ms = measured.best_ms.min(milliseconds(began.elapsed()));
        measured.requests = measured.requests.min(counter.take().total());
        assert_eq!(receipt.tables[0].updated, CHANGED as u64);
        let discovery = report.review.tables[0].discovery;
        assert_eq!(discovery.route, MergeRoute::Provenance);
        measured.rows_read = measured.rows_read.max(discovery.rows_read);
    }
    Measured { peak_mib: peak_mib(), ..measured }
}

/// In turn: a merge of new rows into main, and the same rows, read where the merge reads them, appended to a
/// dataset without any protocol.
async fn of_new_rows() -> Measured {
    let directory = TempDir::new().unwrap();
    let (store, _, main) = graph_of(directory.path(), BATCH).await;
    let mut raw = raw_dataset(&store, &main).await;
    let first = main.log(1).await.unwrap()[0].commit;
    let (mut merges, mut raws, mut appends) = (f64::MAX, f64::MAX, f64::MAX);
    for time in 1..=3 {
        let branch = fork_at(&main, &format!("b{time}"), first).await;
        let numbers = time * NEW_ROWS..(time + 1) * NEW_ROWS;
        put(&branch, LoadMode::Append, &people(numbers, "new")).await;
        let began = Instant::now();
        let answer = try_merge(&main, request(&format!("b{time}"))).await;
        merges = merges.min(milliseconds(began.elapsed()));
        let WriteOutcome::Committed(receipt) = answer.outcome else { panic!("{answer:?}") };
        assert_eq!(receipt.tables[0].inserted, NEW_ROWS as u64);
        let began = Instant::now();
        let rows = newest_rows(&branch, NEW_ROWS).await;
        let read = Instant::now();
        raw = append_raw(raw, rows, time as u32).await;
        raws = raws.min(milliseconds(began.elapsed()));
        appends = appends.min(milliseconds(read.elapsed()));
    }
    let (requests, rows_read) = (0, 0);
    let (best_ms, raw_ms, append_ms) = (merges, raws, appends);
    Measured { best_ms, raw_ms, append_ms, requests, rows_read, peak_mib: peak_mib() }
}

async fn newest_rows(graph: &Graph, rows: usize) -> BatchStream {
    let table = graph.snapshot().await.unwrap().table("Person").await.unwrap();
    let all: Vec<RecordBatch> = table.scan().await.unwrap().try_collect().await.unwrap();
    let (mut left, mut last) = (rows, Vec::new());
    for batch in all.into_iter().rev() {
        let taken = left.min(batch.num_rows());
        last.push(batch.slice(batch.num_rows() - taken, taken));
        left -= taken;
    }
    BatchStream::of(Arc::clone(table.columns()), last)
}

fn stranger() -> AttemptId {
    AttemptId::from_u128(7)
}

async fn raw_dataset(store: &Store, graph: &Graph) -> TableHandle {
    let (rows, uuid) = (newest_rows(graph, BATCH).await, TxUuid::effect(stranger(), 0, 0));
    let staged = stage_create(store, "raw/person", rows, uuid).await.unwrap();
    let permit = CommitPermit::authority(stranger());
    let landing = create_dataset(&permit, store, "raw/person", staged).await.unwrap();
    landing.landed().unwrap().1.clone()
}

async fn append_raw(table: TableHandle, rows: BatchStream, step: u32) -> TableHandle {
    let uuid = TxUuid::effect(stranger(), 0, step);
    let staged = stage_change(&table, &RowAddresses::default(), Some(rows), uuid).await.unwrap();
    let permit = CommitPermit::authority(stranger());
    let landing = strict_commit(&permit, &table, staged).await.unwrap();
    landing.landed().unwrap().1.clone()
}

fn milliseconds(of: Duration) -> f64 {
    of.as_secs_f64() * 1_000.0
}
