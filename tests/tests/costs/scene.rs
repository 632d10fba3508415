//! The graphs on which costs are measured, and the operations. Each is performed through the public
//! handle, on a storage that counts and holds.

use std::sync::Arc;

use async_trait::async_trait;
use graphwrite_coordinator::{
    Graph, GraphOptions, Hooks, Injected, LoadLimits, LoadMode, LoadRequest, MemoryStorage,
    MutateRequest, OperationOutcome, OutcomeRequest, RecoverMode, RecoverRequest, Store, SystemEnv,
};
use graphwrite_protocol_types::{Failpoint, OperationId, WriteOutcome};
use graphwrite_schema::{SchemaDocument, declare};
use graphwrite_substrate::{RequestCounter, RequestCounts};
use parking_lot::Mutex;

use super::table::{Cost, Costs};
use super::waves::{Releaser, Waves, in_waves};
use crate::world::{BASE, SCHEMA, append, input, own_process};

/// Measures every operation on every graph.
pub(super) async fn all() -> Costs {
    let mut costs = Costs::default();
    for (tables, depth) in [(3, 10), (3, 100), (50, 10)] {
        let scene = Scene::new(tables, depth).await;
        let mut measured = scene.measure().await;
        if depth > BUDGET_DEPTH {
            measured.iter_mut().for_each(|cost| cost.budget = None);
        }
        costs.add(format!("{tables} tables, {depth} commits"), measured);
    }
    super::merges::measure(&mut costs).await;
    super::branches::measure(&mut costs).await;
    costs
}

/// A graph with so many tables that have rows, after so many commits.
pub(super) struct Scene {
    pub(super) graph: Graph,
    pub(super) meter: Meter,
    published: Arc<Published>,
}

/// What has been asked, and in how many round trips.
pub(super) struct Meter {
    pub(super) store: Store,
    counter: RequestCounter,
    waves: Waves,
    releaser: Releaser,
}

/// Notes what the publication of the last write has cost.
#[derive(Debug)]
struct Published {
    counter: RequestCounter,
    waves: Waves,
    marks: Mutex<Vec<Mark>>,
}

/// What has been asked until a moment of a write.
#[derive(Debug)]
struct Mark {
    requests: RequestCounts,
    waves: usize,
}

#[async_trait]
impl Hooks for Published {
    async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
        if matches!(point, Failpoint::PrePublish | Failpoint::PostPublish) {
            let (requests, waves) = (self.counter.snapshot(), self.waves.count());
            self.marks.lock().push(Mark { requests, waves });
        }
        Ok(())
    }

    fn wants(&self, _: Failpoint) -> bool {
        false
    }
}

pub(super) fn person(name: &str) -> String {
    format!(r#"{{"type":"Person","data":{{"slug":"{name}","age":3}}}}"#)
}

/// A schema with further node types.
fn schema_text(schema: &str, further: usize) -> String {
    let further = (0..further).map(|number| {
        format!("[node.T{number}]\nkey = \"slug\"\n[node.T{number}.properties]\nslug = {{ type = \"string\" }}\n")
    });
    further.fold(schema.to_owned(), |text, node| text + &node)
}

/// A row for each of them.
fn first_rows(further: usize) -> impl Iterator<Item = String> {
    (0..further).map(|number| format!(r#"{{"type":"T{number}","data":{{"slug":"t"}}}}"#))
}

impl Scene {
    /// The fixture with further node types.
    pub(super) async fn new(tables: usize, depth: usize) -> Self {
        let further = tables - 3;
        let first = BASE.iter().map(|line| (*line).to_owned()).chain(first_rows(further));
        let later = (1..depth).map(|number| person(&format!("n{number}")));
        Self::over(&schema_text(SCHEMA, further), first.collect(), later.collect()).await
    }

    /// So many node types that have nothing to do with each other.
    pub(super) async fn plain(tables: usize, depth: usize) -> Self {
        let later =
            (1..depth).map(|number| format!(r#"{{"type":"T0","data":{{"slug":"n{number}"}}}}"#));
        Self::over(&schema_text("", tables), first_rows(tables).collect(), later.collect()).await
    }

    async fn over(schema: &str, first: Vec<String>, later: Vec<String>) -> Self {
        let (counted, counter) = Store::memory(&MemoryStorage::new()).counting();
        let (store, waves, releaser) = in_waves(&counted);
        let published = Arc::new(Published {
            counter: counter.clone(),
            waves: waves.clone(),
            marks: Mutex::default(),
        });
        let document = SchemaDocument::parse(schema).unwrap();
        let schema = declare(&document, &SystemEnv::new()).unwrap();
        let options = GraphOptions { hooks: Arc::clone(&published) as _, ..own_process() };
        let graph = Graph::create(store.clone(), &schema, "ada", options).await.unwrap();
        append(&graph, &first).await;
        for row in later {
            append(&graph, &[row]).await;
        }
        graph.settled().await;
        Self { graph, meter: Meter { store, counter, waves, releaser }, published }
    }

    async fn measure(self) -> Vec<Cost> {
        let mut costs =
            vec![self.write("load: insert 1 row into 1 node type", INSERT, &[person("new")]).await];
        costs.push(self.publication(&costs[0]));
        let insert = r#"[{"insert":{"type":"Person","data":{"slug":"m"}}}]"#;
        costs.push(self.mutate("mutate: insert 1 row", INSERT, insert).await);
        let edge = [r#"{"edge":"Knows","from":"p2","to":"p1"}"#];
        costs.push(self.write("load: insert 1 edge, both ends probed", EDGE, &edge).await);
        costs.push(
            self.load("load: upsert touching 3 tables", UPSERT, LoadMode::Upsert, &THREE).await,
        );
        let companies = [r#"{"type":"Company","data":{"slug":"c9"}}"#];
        costs.push(
            self.load("load: overwrite 1 table", None, LoadMode::Overwrite, &companies).await,
        );
        costs.extend(self.mutations().await);
        costs.extend(self.answers().await);
        costs.push(self.recover("barrier with nothing pending", BARRIER).await);
        costs.push(self.snapshot().await);
        costs.push(self.cold().await);
        costs
    }

    pub(super) async fn write(
        &self,
        what: &'static str,
        budget: Budget,
        lines: &[impl AsRef<str>],
    ) -> Cost {
        self.load(what, budget, LoadMode::Append, lines).await
    }

    pub(super) async fn load(
        &self,
        what: &'static str,
        budget: Budget,
        mode: LoadMode,
        lines: &[impl AsRef<str>],
    ) -> Cost {
        let request = LoadRequest::new(input(&self.graph, lines).await, mode);
        let (cost, outcome) = self.meter.cost(what, budget, 1, self.graph.load(request)).await;
        assert!(matches!(outcome, Ok(WriteOutcome::Committed(_))), "{what}: {outcome:?}");
        self.settled(cost).await
    }

    async fn mutations(&self) -> Vec<Cost> {
        let update = r#"[{"update":{"type":"Person","key":"m","set":{"age":9}}}]"#;
        let delete = r#"[{"delete":{"type":"Person","key":"m"}}]"#;
        let cascade = r#"[{"delete":{"type":"Person","key":"p1","cascade":true}}]"#;
        vec![
            self.mutate("mutate: update 1 row by its key", None, update).await,
            self.mutate("mutate: delete 1 node that no edge names", None, delete).await,
            self.mutate("mutate: delete 1 node and its edges", None, cascade).await,
        ]
    }

    pub(super) async fn mutate(
        &self,
        what: &'static str,
        budget: Budget,
        statements: &str,
    ) -> Cost {
        let mut builder = self.graph.mutation(LoadLimits::default()).await.unwrap();
        builder.push_json(statements).unwrap();
        let request = MutateRequest::new(builder.finish().unwrap());
        let (cost, outcome) = self.meter.cost(what, budget, 1, self.graph.mutate(request)).await;
        assert!(matches!(outcome, Ok(WriteOutcome::Committed(_))), "{what}: {outcome:?}");
        self.settled(cost).await
    }

    async fn answers(&self) -> Vec<Cost> {
        let known = append(&self.graph, &[person("known")]).await.operation;
        self.graph.settled().await;
        let never: OperationId = "never-sent".parse().unwrap();
        let committed = |outcome: &_| matches!(outcome, OperationOutcome::Committed(_));
        let unknown = |outcome: &_| matches!(outcome, OperationOutcome::Unknown);
        let sealed =
            |outcome: &_| matches!(outcome, OperationOutcome::Aborted { is_final: true, .. });
        let ask = OutcomeRequest::new;
        let seal = OutcomeRequest { seal: true, ..ask(never.clone()) };
        vec![
            self.ask("outcome of a committed operation", ask(known), committed).await,
            self.ask("outcome of an operation that never was", ask(never), unknown).await,
            self.ask("seal of an operation that never was", seal, sealed).await,
        ]
    }

    async fn ask(
        &self,
        what: &'static str,
        request: OutcomeRequest,
        expected: impl Fn(&OperationOutcome) -> bool,
    ) -> Cost {
        let (cost, outcome) = self.meter.cost(what, None, 1, self.graph.outcome(request)).await;
        let outcome = outcome.unwrap();
        assert!(expected(&outcome), "{what}: {outcome:?}");
        self.settled(cost).await
    }

    /// The same graph through a handle on another branch.
    pub(super) fn on(self, graph: Graph) -> Self {
        Self { graph, ..self }
    }

    /// The cost with what goes on behind the answer.
    pub(super) async fn settled(&self, mut cost: Cost) -> Cost {
        self.graph.settled().await;
        cost.requests = self.meter.counter.take();
        cost
    }

    /// The manifest commit of the write before.
    fn publication(&self, write: &Cost) -> Cost {
        let marks = std::mem::take(&mut *self.published.marks.lock());
        let [.., before, after] = marks.as_slice() else { panic!("no publication") };
        Cost {
            what: "of which publication",
            requests: difference(&after.requests, &before.requests),
            waves: write.waves[before.waves..after.waves].to_vec(),
            budget: PUBLISH,
            growth: 1,
        }
    }

    /// On main this asks what the barrier of a write asks: its LIST also shows what deleted branches have
    /// left. On a branch it first asks for the name.
    pub(super) async fn recover(&self, what: &'static str, budget: Budget) -> Cost {
        let request =
            RecoverRequest { attempt: None, mode: RecoverMode::Full, owner_is_dead: false };
        let (cost, report) = self.meter.cost(what, budget, 0, self.graph.recover(request)).await;
        assert!(report.unwrap().pending.is_empty());
        self.settled(cost).await
    }

    async fn snapshot(&self) -> Cost {
        let (cost, snapshot) = self.meter.cost("snapshot", None, 0, self.graph.snapshot()).await;
        snapshot.unwrap();
        self.settled(cost).await
    }

    async fn cold(&self) -> Cost {
        let store = self.meter.store.reopened();
        let opening = async {
            let graph = Graph::open(store, own_process()).await.unwrap();
            graph.snapshot().await.unwrap();
        };
        let (cost, ()) = self.meter.cost("cold open and snapshot", COLD, 2, opening).await;
        self.settled(cost).await
    }
}

impl Meter {
    /// What has been asked since the last time.
    pub(super) fn taken(&self) -> RequestCounts {
        self.counter.take()
    }

    /// Performs an operation while the storage holds, until its answer.
    pub(super) async fn cost<T>(
        &self,
        what: &'static str,
        budget: Budget,
        growth: u64,
        operation: impl Future<Output = T>,
    ) -> (Cost, T) {
        self.counter.take();
        let before = self.waves.count();
        self.waves.hold(&self.releaser);
        let answer = operation.await;
        let waves = self.waves.since(before);
        self.waves.let_pass();
        (Cost { what, requests: RequestCounts::default(), waves, budget, growth }, answer)
    }
}

fn difference(after: &RequestCounts, before: &RequestCounts) -> RequestCounts {
    let kinds = after.by_kind.iter().map(|(kind, count)| (*kind, count - before.of(*kind)));
    RequestCounts {
        by_kind: kinds.filter(|(_, count)| *count > 0).collect(),
        bytes_read: after.bytes_read - before.bytes_read,
        bytes_written: after.bytes_written - before.bytes_written,
    }
}

pub(super) const THREE: [&str; 3] = [
    r#"{"type":"Person","data":{"slug":"p1","age":9}}"#,
    r#"{"type":"Company","data":{"slug":"c2"}}"#,
    r#"{"edge":"Knows","from":"p2","to":"p2"}"#,
];

/// The depth for which the budgets are.
const BUDGET_DEPTH: usize = 10;

/// Requests and round trips (design 05 section 2).
pub(super) type Budget = Option<(u64, usize)>;

pub(super) const INSERT: Budget = Some((20, 12));
pub(super) const UPSERT: Budget = Some((40, 13));
pub(super) const EDGE: Budget = Some((28, 13));
pub(super) const COLD: Budget = Some((7, 5));
const PUBLISH: Budget = Some((5, 4));
pub(super) const BARRIER: Budget = Some((1, 1));
