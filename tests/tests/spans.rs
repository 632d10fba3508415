//! Spans: which ones a write crosses, whose they are, and that the page for operators names them all.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use graphwrite_coordinator::{
    Graph, GraphOptions, Hooks, Injected, LoadMode, LoadRequest, MemoryStorage, SPANS, Store,
};
use graphwrite_protocol_types::{Failpoint, WriteOutcome};
use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

use crate::judge::open_impatient;
use crate::world::{BASE, append, create, input, own_process, reopen};

const STAGES: [&str; 8] =
    ["barrier", "prepare", "gates", "revalidate", "arm", "effects", "publish", "finalize"];

/// One span: its name, what it lies in, and its fields as they were when it ended.
#[derive(Debug, Clone, Default)]
struct Seen {
    name: &'static str,
    parent: Option<&'static str>,
    fields: BTreeMap<&'static str, String>,
}

impl Seen {
    fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

impl Visit for Seen {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

type Spans = Arc<Mutex<Vec<(Id, Seen)>>>;

/// Keeps every span of this thread, in the order in which they began.
struct Capture(Spans);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Capture {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if !attributes.metadata().target().starts_with("graphwrite") {
            return;
        }
        let parent = context.span(id).and_then(|span| span.parent());
        let parent = parent.map(|parent| parent.name());
        let mut seen = Seen { name: attributes.metadata().name(), parent, ..Seen::default() };
        attributes.record(&mut seen);
        self.0.lock().push((id.clone(), seen));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut spans = self.0.lock();
        // An id may be used again once its span has ended: the youngest is meant.
        if let Some((_, seen)) = spans.iter_mut().rev().find(|(known, _)| known == id) {
            values.record(seen);
        }
    }
}

/// While a process has one subscriber only, `tracing` asks the thread that meets a span first whether
/// anybody wants it, and remembers the answer for all threads. A second one makes it ask them all.
static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Registry::default()));

/// Captures until the guard goes. A test runs on one thread, so nothing else is captured.
fn capture() -> (Spans, DefaultGuard) {
    LazyLock::force(&SECOND);
    let spans = Spans::default();
    let subscriber = Registry::default().with(Capture(Arc::clone(&spans)));
    (spans, tracing::subscriber::set_default(subscriber))
}

fn of_operation(spans: &Spans, operation: &str) -> Vec<Seen> {
    let spans = spans.lock();
    let all = spans.iter().map(|(_, seen)| seen);
    all.filter(|seen| seen.field("operation") == operation).cloned().collect()
}

fn names(spans: &[Seen]) -> Vec<&'static str> {
    spans.iter().map(|seen| seen.name).collect()
}

async fn load_as(graph: &Graph, operation: &str, lines: &[&str]) -> WriteOutcome {
    let mut request = LoadRequest::new(input(graph, lines).await, LoadMode::Append);
    request.operation = Some(operation.parse().unwrap());
    let outcome = graph.load(request).await.unwrap();
    graph.settled().await;
    outcome
}

#[tokio::test]
async fn a_write_crosses_each_stage_once_and_each_span_has_both_ids() {
    let graph = create(&Store::memory(&MemoryStorage::new())).await;
    let (spans, _guard) = capture();
    let WriteOutcome::Committed(receipt) = load_as(&graph, "mine", BASE).await else { panic!() };
    let seen = of_operation(&spans, "mine");
    assert_eq!(names(&seen), [&["write", "attempt"][..], &STAGES].concat());
    let attempt = receipt.attempt.to_string();
    for span in &seen {
        assert_eq!(span.field("attempt"), attempt, "{span:?}");
        assert_eq!((span.field("branch"), span.field("writer")), ("main", "load"), "{span:?}");
    }
    assert!(seen[2..].iter().all(|stage| stage.parent == Some("attempt")), "{seen:#?}");
    let (write, attempt) = (&seen[0], &seen[1]);
    let results = ["outcome", "restarts", "tables", "rows"].map(|name| write.field(name));
    assert_eq!(results, ["committed", "0", "3", "4"]);
    assert_eq!((attempt.parent, attempt.field("outcome")), (Some("write"), "committed"));
    for measure in ["gate_wait_us", "gate_hold_us"] {
        attempt.field(measure).parse::<u64>().expect(measure);
    }
    let all = spans.lock().len();
    assert_eq!(all, seen.len(), "nothing else was crossed: {:#?}", spans.lock());
}

/// Loads through another process when the write has prepared for the first time.
#[derive(Debug)]
struct Intruder {
    graph: Graph,
    load: Mutex<Option<LoadRequest>>,
}

impl Intruder {
    async fn into(store: &Store) -> Arc<Self> {
        let graph = reopen(store).await;
        let rows = [r#"{"type":"Person","data":{"slug":"intruder"}}"#];
        let load = LoadRequest::new(input(&graph, &rows).await, LoadMode::Append);
        Arc::new(Self { graph, load: Mutex::new(Some(load)) })
    }
}

#[async_trait]
impl Hooks for Intruder {
    async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
        let load = if self.wants(point) { self.load.lock().take() } else { None };
        if let Some(load) = load {
            let outcome = self.graph.load(load).await.expect("an outcome");
            assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
        }
        Ok(())
    }

    fn wants(&self, point: Failpoint) -> bool {
        point == Failpoint::PostPrepare
    }
}

#[tokio::test]
async fn a_restart_is_a_second_attempt_under_the_same_operation() {
    let store = Store::memory(&MemoryStorage::new());
    append(&create(&store).await, BASE).await;
    let options = GraphOptions { hooks: Intruder::into(&store).await, ..own_process() };
    let graph = Graph::open(store.reopened(), options).await.unwrap();
    let (spans, _guard) = capture();
    let rows = [r#"{"type":"Person","data":{"slug":"mine"}}"#];
    let WriteOutcome::Committed(receipt) = load_as(&graph, "mine", &rows).await else { panic!() };
    let seen = of_operation(&spans, "mine");
    let lost = &STAGES[..4];
    let expected = [&["write", "attempt"], lost, &["attempt"], &STAGES[..]].concat();
    assert_eq!(names(&seen), expected);
    let attempts: Vec<_> = seen.iter().filter(|span| span.name == "attempt").collect();
    let [first, second] = attempts[..] else { panic!("{attempts:#?}") };
    assert_ne!(first.field("attempt"), second.field("attempt"));
    assert_eq!(second.field("attempt"), receipt.attempt.to_string());
    assert_eq!((first.field("outcome"), second.field("outcome")), ("restart", "committed"));
    assert!(first.field("obstacle").contains("changed while the write was prepared"), "{first:?}");
    assert_eq!((first.field("restarts"), second.field("restarts")), ("0", "1"));
    assert_eq!(seen[0].field("restarts"), "1");
}

/// Fails at one failpoint; what was armed then stays, as after a crash.
#[derive(Debug)]
struct FailsAt(Failpoint);

#[async_trait]
impl Hooks for FailsAt {
    async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
        if point == self.0 { Err(Injected(point)) } else { Ok(()) }
    }

    fn wants(&self, point: Failpoint) -> bool {
        point == self.0
    }
}

async fn leave_an_intent(store: &Store, at: Failpoint, operation: &str, rows: &[&str]) -> String {
    let options = GraphOptions { hooks: Arc::new(FailsAt(at)), ..own_process() };
    let graph = Graph::open(store.reopened(), options).await.unwrap();
    match load_as(&graph, operation, rows).await {
        WriteOutcome::OutcomeUnknown(unknown) => unknown.attempt.to_string(),
        other => panic!("not stopped: {other:?}"),
    }
}

#[tokio::test]
async fn what_a_barrier_ends_is_a_span_with_its_attempt_and_the_rules_that_decided() {
    for (at, rules, resolution) in [
        (Failpoint::PostArm, "TakeBack,Aborted,RolledBack", "rolled_back"),
        (Failpoint::PrePublish, "Complete,Committed", "rolled_forward"),
    ] {
        let store = Store::memory(&MemoryStorage::new());
        append(&create(&store).await, BASE).await;
        let rows = [r#"{"type":"Person","data":{"slug":"left"}}"#];
        let left = leave_an_intent(&store, at, "left", &rows).await;
        let graph = open_impatient(&store).await;
        let (spans, _guard) = capture();
        let rows = [r#"{"type":"Person","data":{"slug":"next"}}"#];
        let outcome = load_as(&graph, "next", &rows).await;
        assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
        let seen = of_operation(&spans, "left");
        let [resolve] = &seen[..] else { panic!("{seen:#?}") };
        assert_eq!((resolve.name, resolve.parent), ("resolve", Some("barrier")));
        assert_eq!(resolve.field("attempt"), left);
        assert_eq!((resolve.field("rules"), resolve.field("resolution")), (rules, resolution));
    }
}

#[test]
fn the_page_for_operators_names_every_span_and_no_other() {
    let page = include_str!("../../docs/operations.md");
    let table = page.split("| span | covers |").nth(1).expect("the table of spans");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let named: Vec<_> = rows.map(|row| row.split('`').nth(1).expect("a name")).collect();
    assert_eq!(named, SPANS);
}
