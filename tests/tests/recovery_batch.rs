//! Very many attempts of dead owners on one branch, ended by one recovery: what it asks of the
//! storage depends on batches and tables, not on attempts, but for one read and one deletion each.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use graphwrite_coordinator::{
    Graph, GraphOptions, LoadMode, MemoryStorage, RecoverMode, RecoverRequest, Store,
};
use graphwrite_protocol_types::{
    AttemptId, CommitId, Failpoint, HeadChange, Intent, NextHead, PinSlot, PostState, RecoveredHow,
    TxUuid, WriteOutcome,
};
use graphwrite_substrate::{Arming, Fault, IntentStore, Operation, OperationKind, RequestCounts};
use parking_lot::Mutex;

use crate::costs::{TO, waves};
use crate::crash::at_nth;
use crate::hooks::StopAt;
use crate::judge::{impatient, open_impatient, tell};
use crate::world::{append, assert_clean, create_with, load, own_process, reopen, rows};

/// Five tables of equal shape.
const SCHEMA: &str = r#"
[node.A]
key = "slug"
[node.A.properties]
slug = { type = "string" }
[node.B]
key = "slug"
[node.B.properties]
slug = { type = "string" }
[node.C]
key = "slug"
[node.C.properties]
slug = { type = "string" }
[node.D]
key = "slug"
[node.D.properties]
slug = { type = "string" }
[node.E]
key = "slug"
[node.E.properties]
slug = { type = "string" }
"#;

const FABRICATED: usize = 998;
/// Those, one that is complete, and one of which half has landed.
const INTENTS: usize = FABRICATED + 2;
/// As many as recovery takes together.
const BATCH: usize = 256;

/// What recovery asked for, by what it is about.
#[derive(Debug, Clone, Default)]
struct Asked(Arc<Mutex<BTreeMap<(OperationKind, &'static str), u64>>>);

impl Asked {
    fn note(&self, operation: &Operation) {
        let about = match operation.path.as_str() {
            path if path.ends_with(".intent") => "intent",
            path if path.starts_with("_recovery") => "records",
            path if path.starts_with("__manifest/_versions/") => "manifest version",
            path if path.starts_with("__manifest") => "manifest",
            _ => "table",
        };
        *self.0.lock().entry((operation.kind, about)).or_default() += 1;
    }

    fn of(&self, kind: OperationKind, about: &'static str) -> u64 {
        self.0.lock().get(&(kind, about)).copied().unwrap_or_default()
    }
}

fn row(table: &str, slug: &str) -> String {
    format!(r#"{{"type":"{table}","data":{{"slug":"{slug}"}}}}"#)
}

async fn with_rows() -> MemoryStorage {
    let storage = MemoryStorage::new();
    let graph = create_with(&Store::memory(&storage), SCHEMA).await;
    append(&graph, &["A", "B", "C", "D", "E"].map(|table| row(table, "first"))).await;
    graph.settled().await;
    storage
}

/// The intent of a real writer of these tables that stopped when it had armed.
async fn armed(storage: &MemoryStorage, tables: &[&str]) -> Intent {
    let store = Store::memory(&storage.fork());
    let hooks = StopAt::new(Failpoint::PostArm, 1);
    let graph = Graph::open(store.clone(), GraphOptions { hooks, ..own_process() }).await.unwrap();
    let lines: Vec<_> = tables.iter().map(|table| row(table, "never")).collect();
    let outcome = load(&graph, LoadMode::Append, &lines).await;
    let WriteOutcome::OutcomeUnknown(unknown) = outcome else { panic!("{outcome:?}") };
    graph.intent(unknown.attempt).await.unwrap().expect("an intent")
}

/// The intent that another attempt with the same plan would have armed over the same state, in a
/// process that does not exist any more.
fn another(template: &Intent, number: u128) -> Intent {
    let mut intent = template.clone();
    intent.attempt = AttemptId::from_u128(template.attempt.as_u128() + number + 1);
    intent.operation = format!("fabricated-{number}").parse().unwrap();
    intent.lineage.commit = CommitId::from_u128(template.lineage.commit.as_u128() + number + 1);
    // Above what any system gives to a process.
    intent.owner.pid = u32::MAX - 1;
    for (index, effect) in (0..).zip(&mut intent.effects) {
        for (step, planned) in (0..).zip(&mut effect.steps) {
            planned.tx_uuid = TxUuid::effect(intent.attempt, index, step);
        }
        let last = effect.steps.last().expect("a step").pin();
        effect.post = PostState::Exact(last.clone());
        let own = |change: &&mut HeadChange| change.identity == effect.target.identity;
        for change in intent.delta.heads.iter_mut().filter(own) {
            if let NextHead::Live { pin, .. } = &mut change.next {
                *pin = PinSlot::Exact(last.clone());
            }
        }
    }
    intent
}

/// A graph with intents over A and B of which nothing landed, one over C and D of which half did, and
/// a complete one over E.
async fn crowded() -> Store {
    let storage = with_rows().await;
    let mut templates = Vec::new();
    for tables in [&["A"][..], &["B"], &["A", "B"]] {
        templates.push(armed(&storage, tables).await);
    }
    let store = Store::memory(&storage);
    let hooks = StopAt::new(Failpoint::PrePublish, 1);
    let complete =
        Graph::open(store.clone(), GraphOptions { hooks, ..own_process() }).await.unwrap();
    let rows = [row("E", "second")];
    let _ = load(&complete, LoadMode::Append, &rows).await;
    let is_version = |it: &Operation| {
        it.kind.is_durable() && it.path.starts_with("tables/") && it.path.contains("_versions/")
    };
    let (dying, faults) = store.faulty(at_nth(2, is_version, Fault::DieBefore));
    let half = Graph::open(dying, own_process()).await.unwrap();
    let rows = [row("C", "half"), row("D", "half")];
    let _ = load(&half, LoadMode::Append, &rows).await;
    assert!(faults.is_dead());
    let domain = reopen(&store).await.status().await.unwrap().domain;
    let intents = IntentStore::new(store.clone(), domain);
    for number in 0..FABRICATED {
        let intent = another(&templates[number % 3], number as u128);
        let arming = intents.arm(intent).await.unwrap();
        assert!(matches!(arming, Arming::Armed(_)), "{arming:?}");
    }
    store
}

/// What one recovery of everything came to.
struct Measured {
    asked: Asked,
    counts: RequestCounts,
    ms: f64,
    /// Round trips one after the other, if they were counted.
    waves: Option<usize>,
    batches: u64,
    ended: BTreeMap<&'static str, usize>,
}

impl Measured {
    fn manifest_commits(&self) -> u64 {
        self.asked.of(OperationKind::PutIfAbsent, "manifest version")
            + self.asked.of(OperationKind::CopyIfAbsent, "manifest version")
            + self.asked.of(OperationKind::RenameIfAbsent, "manifest version")
    }

    /// The same as a table; `waves` are those of another run, which the counting has slowed down.
    fn table(&self, waves: usize) -> String {
        let row = |what: &str, count: u64| {
            let each = count as f64 / INTENTS as f64;
            format!("| {what} | {count} | {each:.3} |\n")
        };
        let asked = |kind| self.asked.of(kind, "intent");
        let mut table = format!(
            "Recovery of {INTENTS} intents of dead owners on one branch, in {} batches, in memory.\n\n\
             | | all | per intent |\n|---|---|---|\n",
            self.batches
        );
        table += &row("manifest commits", self.manifest_commits());
        table += &row("requests", self.counts.total());
        table += &row("of them reads", self.counts.reads());
        table += &row("GET of intents", asked(OperationKind::Get));
        table += &row("DELETE of intents", asked(OperationKind::Delete));
        table += &row("serial round trips", waves as u64);
        table += &format!("| ms | {:.0} | {:.2} |\n", self.ms, self.ms / INTENTS as f64);
        table
    }

    fn tell(&self) {
        let per_intent = self.ms / INTENTS as f64;
        let (total, reads) = (self.counts.total(), self.counts.reads());
        tell(&format!(
            "recovery of {INTENTS} intents in {} batches: {} manifest commits, {total} requests \
             ({reads} reads), of intents {} GET and {} DELETE, {per_intent:.2} ms per intent; {:?}",
            self.batches,
            self.manifest_commits(),
            self.asked.of(OperationKind::Get, "intent"),
            self.asked.of(OperationKind::Delete, "intent"),
            self.ended,
        ));
    }
}

/// `in_waves` only in a process in which nothing else runs.
async fn recover_all(store: &Store, in_waves: bool) -> Measured {
    let (store, waves, releaser) = waves::in_waves(store);
    let (counting, counter) = store.counting();
    let asked = Asked::default();
    let noting = asked.clone();
    let (client, _held) = counting.holding(move |operation| {
        noting.note(operation);
        false
    });
    let graph = Graph::open(client, impatient()).await.unwrap();
    asked.0.lock().clear();
    counter.take();
    if in_waves {
        waves.hold(&releaser);
    }
    let began = Instant::now();
    let request = RecoverRequest { attempt: None, mode: RecoverMode::Full, owner_is_dead: false };
    let report = graph.recover(request).await.unwrap();
    let ms = began.elapsed().as_secs_f64() * 1_000.0;
    waves.let_pass();
    let mut ended = BTreeMap::new();
    for (attempt, resolution) in &report.resolved {
        assert!(resolution.is_over(), "{attempt}: {resolution:?}");
        *ended.entry(resolution.name()).or_default() += 1;
    }
    assert_eq!(report.resolved.len(), INTENTS);
    let batches = INTENTS.div_ceil(BATCH) as u64;
    let waves = in_waves.then(|| waves.count());
    Measured { asked, counts: counter.take(), ms, waves, batches, ended }
}

#[tokio::test]
async fn a_thousand_intents_cost_a_few_commits_per_batch_and_a_read_and_a_deletion_each() {
    if let Some(to) = std::env::var_os(TO) {
        let waves = recover_all(&crowded().await, true).await.waves.expect("counted");
        let measured = recover_all(&crowded().await, false).await;
        std::fs::write(Path::new(&to).join("recovery.md"), measured.table(waves)).unwrap();
        return;
    }
    let store = crowded().await;
    let measured = recover_all(&store, false).await;
    measured.tell();
    let asked = &measured.asked;
    assert!(measured.manifest_commits() <= 3 * measured.batches, "{asked:?}");
    assert!(measured.manifest_commits() >= 3, "the figure counts something: {asked:?}");
    assert_eq!(asked.of(OperationKind::Get, "intent"), INTENTS as u64, "{asked:?}");
    assert_eq!(asked.of(OperationKind::Delete, "intent"), INTENTS as u64, "{asked:?}");
    let beside = measured.counts.total() - 2 * INTENTS as u64;
    assert!(beside <= 150 * measured.batches, "{beside} requests beside: {asked:?}");
    assert_eq!(measured.ended["rolled_forward"], 1, "{:?}", measured.ended);
    assert!(store.list("_recovery").await.unwrap().is_empty());
    let graph = reopen(&store).await;
    assert_clean(&graph).await;
    append(&graph, &["A", "B", "C", "D", "E"].map(|table| row(table, "next"))).await;
    assert_clean(&graph).await;
    for (table, lines) in rows(&graph).await {
        let expected = if table == "E" { 3 } else { 2 };
        assert_eq!(lines.len(), expected, "{table}: {lines:?}");
    }
}

/// A write needs no recovery before it: its own barrier ends them all.
#[tokio::test]
async fn a_write_that_meets_a_thousand_intents_ends_those_that_overlap_it() {
    let store = crowded().await;
    let graph = open_impatient(&store).await;
    let receipt = append(&graph, &[row("A", "next")]).await;
    graph.settled().await;
    assert_eq!(receipt.restarts, 0);
    let of_a = (0..FABRICATED).filter(|number| number % 3 != 1).count();
    assert_eq!(receipt.recovered.len(), of_a);
    // What was forgotten as empty has no row that names its request.
    let mut rolled_back = receipt.recovered.iter().filter(|it| it.how == RecoveredHow::RolledBack);
    assert!(rolled_back.clone().count() > BATCH / 2, "{:?}", receipt.recovered);
    assert!(rolled_back.all(|it| it.operation.is_some()), "{:?}", receipt.recovered);
    let left = store.list("_recovery").await.unwrap();
    assert_eq!(left.len(), INTENTS - of_a);
}

#[tokio::test]
async fn a_thousand_intents_are_explained_without_reading_a_table_for_each() {
    let store = crowded().await;
    let (client, counter) = store.counting();
    let graph = Graph::open_read_only(client, own_process()).await.unwrap();
    counter.take();
    let pending = graph.pending_intents().await.unwrap();
    assert_eq!(pending.intents.len(), INTENTS);
    let requests = counter.take().total();
    assert!(requests < INTENTS as u64 + 100, "{requests} requests");
}
