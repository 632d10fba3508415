//! The writes whose every durable operation is a place to crash, with what they start from.

use graphwrite_coordinator::{Graph, LoadMode, MemoryStorage, Store};
use graphwrite_protocol_types::WriteOutcome;
use graphwrite_substrate::{Fault, OperationLog};

use super::control::create_branch;
use super::merges::Merging;
use crate::ground::{Beside, Ground, on, open_on};
use crate::judge::{Case, Heard, Reference};
use crate::request::{Mutation, Request, Terms};
use crate::world::{append, create, load, own_process};

/// A write, and the graph that it meets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) base: &'static [&'static str],
    pub(crate) mode: LoadMode,
    /// What is loaded; for a mutation or a merge, rows of its tables that others contest.
    pub(crate) rows: &'static [&'static str],
    /// The statements, if the write is no load.
    pub(crate) mutation: Option<Mutation>,
    /// What is merged, if the write is a merge.
    pub(crate) merge: Option<Merging>,
    /// The types that are written.
    pub(crate) tables: &'static [&'static str],
    /// The branch that is written to; main for none.
    pub(crate) branch: Option<Branch>,
}

/// A branch of main, which has gone on since.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Branch {
    pub(crate) name: &'static str,
    /// What was upserted on it: it owns these tables and inherits the others.
    pub(crate) own: &'static [&'static str],
}

const PERSON_1: &str = r#"{"type":"Person","data":{"slug":"p1","email":"p1@x","age":1}}"#;
const PERSON_2: &str = r#"{"type":"Person","data":{"slug":"p2","age":2}}"#;
const COMPANY_1: &str = r#"{"type":"Company","data":{"slug":"c1","name":"One"}}"#;
const COMPANY_2: &str = r#"{"type":"Company","data":{"slug":"c2"}}"#;
const KNOWS_12: &str = r#"{"edge":"Knows","from":"p1","to":"p2","data":{"since":12}}"#;

const NEW_PERSON: &str = r#"{"type":"Person","data":{"slug":"n1","email":"n1@x","age":31}}"#;
const NEW_COMPANY: &str = r#"{"type":"Company","data":{"slug":"n1","name":"New"}}"#;
const NEW_KNOWS: &str = r#"{"edge":"Knows","from":"n1","to":"p2","data":{"since":1}}"#;
const SELF_KNOWS: &str = r#"{"edge":"Knows","from":"n1","to":"n1","data":{"since":1}}"#;
const CHANGED_PERSON: &str = r#"{"type":"Person","data":{"slug":"p1","age":100}}"#;
const CHANGED_COMPANY: &str = r#"{"type":"Company","data":{"slug":"c1","name":"First"}}"#;
const CHANGED_KNOWS: &str = r#"{"edge":"Knows","from":"p1","to":"p2","data":{"since":99}}"#;

const TWO: &[&str] = &["Person", "Company"];
const THREE: &[&str] = &["Person", "Company", "Knows"];

pub(crate) const TWO_EXISTING_APPEND: Scenario = Scenario {
    name: "two existing tables, append",
    base: &[PERSON_1, PERSON_2, COMPANY_1, COMPANY_2],
    mode: LoadMode::Append,
    rows: &[NEW_PERSON, NEW_COMPANY],
    mutation: None,
    merge: None,
    tables: TWO,
    branch: None,
};

pub(crate) const TWO_EXISTING_UPSERT: Scenario = Scenario {
    name: "two existing tables, upsert",
    mode: LoadMode::Upsert,
    rows: &[NEW_PERSON, CHANGED_PERSON, NEW_COMPANY, CHANGED_COMPANY],
    ..TWO_EXISTING_APPEND
};

pub(crate) const TWO_FIRST_APPEND: Scenario =
    Scenario { name: "two first touches, append", base: &[], ..TWO_EXISTING_APPEND };

pub(crate) const TWO_FIRST_UPSERT: Scenario =
    Scenario { name: "two first touches, upsert", mode: LoadMode::Upsert, ..TWO_FIRST_APPEND };

pub(crate) const MIXED_APPEND: Scenario = Scenario {
    name: "one existing table and one first touch, append",
    base: &[PERSON_1, PERSON_2],
    ..TWO_EXISTING_APPEND
};

pub(crate) const MIXED_UPSERT: Scenario = Scenario {
    name: "one existing table and one first touch, upsert",
    mode: LoadMode::Upsert,
    rows: &[NEW_PERSON, CHANGED_PERSON, NEW_COMPANY],
    ..MIXED_APPEND
};

pub(crate) const THREE_APPEND: Scenario = Scenario {
    name: "three tables, append",
    base: &[PERSON_1, PERSON_2, COMPANY_1, KNOWS_12],
    mode: LoadMode::Append,
    rows: &[NEW_PERSON, NEW_COMPANY, NEW_KNOWS],
    mutation: None,
    merge: None,
    tables: THREE,
    branch: None,
};

pub(crate) const THREE_UPSERT: Scenario = Scenario {
    name: "three tables, upsert",
    mode: LoadMode::Upsert,
    rows: &[NEW_PERSON, CHANGED_PERSON, NEW_COMPANY, CHANGED_COMPANY, NEW_KNOWS, CHANGED_KNOWS],
    ..THREE_APPEND
};

pub(crate) const THREE_FIRST_APPEND: Scenario =
    Scenario { name: "three first touches, append", base: &[], rows: FIRST_ROWS, ..THREE_APPEND };

pub(crate) const THREE_OVERWRITE: Scenario = Scenario {
    name: "three tables, overwrite",
    mode: LoadMode::Overwrite,
    rows: &[NEW_PERSON, PERSON_2, NEW_COMPANY, NEW_KNOWS],
    ..THREE_APPEND
};

const FIRST_ROWS: &[&str] = &[NEW_PERSON, NEW_COMPANY, SELF_KNOWS];

pub(crate) const ONE_APPEND: Scenario = Scenario {
    name: "one table, append",
    base: &[PERSON_1, PERSON_2],
    mode: LoadMode::Append,
    rows: &[NEW_PERSON],
    mutation: None,
    merge: None,
    tables: &["Person"],
    branch: None,
};

pub(crate) const ONE_UPSERT: Scenario = Scenario {
    name: "one table, upsert",
    mode: LoadMode::Upsert,
    rows: &[NEW_PERSON, CHANGED_PERSON],
    ..ONE_APPEND
};

pub(crate) const ONE_OVERWRITE: Scenario = Scenario {
    name: "one table, overwrite",
    mode: LoadMode::Overwrite,
    rows: &[NEW_PERSON, CHANGED_PERSON],
    ..ONE_APPEND
};

pub(crate) const ONE_FIRST_APPEND: Scenario =
    Scenario { name: "one first touch, append", base: &[], ..ONE_APPEND };

/// What main gets after a branch was made of it.
pub(crate) const SINCE: &[&str] = &[r#"{"type":"Person","data":{"slug":"m1","age":5}}"#];

/// A scenario's graph, ready to be forked for every cell.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) scenario: Scenario,
    pub(crate) base: MemoryStorage,
    pub(crate) before: Reference,
    pub(crate) commits: usize,
    /// Where the write is judged.
    pub(crate) ground: Ground,
}

impl Stage {
    pub(crate) async fn of(scenario: Scenario) -> Self {
        let base = MemoryStorage::new();
        let graph = create(&Store::memory(&base)).await;
        let commits = usize::from(!scenario.base.is_empty());
        if commits > 0 {
            append(&graph, scenario.base).await;
        }
        graph.settled().await;
        let before = Reference::default().with(scenario.base);
        let stage = Self { scenario, base, before, commits, ground: Ground::default() };
        match (scenario.merge, scenario.branch) {
            (Some(merging), _) => stage.apart(merging, &graph).await,
            (None, Some(branch)) => stage.on(branch, &graph).await,
            (None, None) => stage,
        }
    }

    /// The same with a branch that is written to.
    async fn on(self, branch: Branch, main: &Graph) -> Self {
        create_branch(main, branch.name, "main").await;
        append(main, SINCE).await;
        main.settled().await;
        let beside =
            Beside { branch: None, rows: self.before.with(SINCE), commits: self.commits + 1 };
        let ground = Ground { branch: Some(branch.name), beside: vec![beside] };
        let commits = self.commits + usize::from(!branch.own.is_empty());
        let before = self.before.with(branch.own);
        if !branch.own.is_empty() {
            let graph = on(main.clone(), ground.branch).await;
            let outcome = load(&graph, LoadMode::Upsert, branch.own).await;
            assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
            graph.settled().await;
        }
        Self { before, commits, ground, ..self }
    }

    /// The branch that is written to, opened by a fresh process that waits for nobody.
    pub(crate) async fn fresh(&self, store: &Store) -> Graph {
        self.ground.fresh(store).await
    }

    /// The durable operations of the write when nothing goes wrong.
    pub(crate) async fn operations(&self) -> OperationLog {
        let (client, faults) = Store::memory(&self.base.fork()).faulty(|_| Fault::Proceed);
        let (_, heard) = self.scenario.write(&client).await;
        assert!(heard.receipt().is_some(), "{heard:?}");
        faults.log()
    }

    /// What the write is judged by.
    pub(crate) fn case(&self) -> Case {
        Case {
            before: self.before.clone(),
            after: self.scenario.over(&self.before),
            commits: self.commits,
            next: self.scenario.next("next"),
        }
    }
}

impl Scenario {
    /// Rows of a later write to the same tables, legal whether or not this one happened.
    pub(crate) fn next(&self, tag: &str) -> Vec<String> {
        let row = |table: &&str| match *table {
            "Knows" => format!(r#"{{"edge":"Knows","from":"{tag}","to":"{tag}"}}"#),
            "WorksAt" => format!(r#"{{"edge":"WorksAt","from":"{tag}","to":"c1"}}"#),
            table => format!(r#"{{"type":"{table}","data":{{"slug":"{tag}"}}}}"#),
        };
        self.tables.iter().map(row).collect()
    }

    pub(crate) fn request(&self) -> Request {
        match (self.merge, self.mutation) {
            (Some(merging), _) => Request::Merge(merging.request(self.branch)),
            (None, Some(mutation)) => Request::Mutation(mutation),
            (None, None) => Request::Load(self.mode, self.rows),
        }
    }

    /// The rows after the write, if it commits over `before`.
    pub(crate) fn over(&self, before: &Reference) -> Reference {
        self.request().over(before)
    }

    /// Whether the write is refused for a key of its own that is there.
    pub(crate) fn is_strict(&self) -> bool {
        matches!(self.request(), Request::Load(LoadMode::Append, _))
    }

    /// Commits to each of the tables.
    pub(crate) fn chain(&self) -> usize {
        self.merge.map_or(1, |it| it.chain)
    }

    /// All commits to tables.
    pub(crate) fn steps(&self) -> usize {
        self.tables.len() * self.chain()
    }

    /// Performs the write through `client`, as a process of its own.
    pub(crate) async fn write(&self, client: &Store) -> (Graph, Heard) {
        let graph = self.open(client.clone()).await;
        let heard = self.write_by(&graph).await;
        (graph, heard)
    }

    /// The branch that is written to, opened by a process of its own.
    pub(crate) async fn open(&self, client: Store) -> Graph {
        open_on(self.branch.map(|it| it.name), client, own_process()).await
    }

    pub(crate) async fn write_by(&self, graph: &Graph) -> Heard {
        self.write_as(graph, Terms::default()).await
    }

    /// The same, on the caller's terms.
    pub(crate) async fn write_as(&self, graph: &Graph, terms: Terms) -> Heard {
        let answer = self.request().send(graph, terms).await;
        graph.settled().await;
        if let Ok(WriteOutcome::Contended(_) | WriteOutcome::NoChange(_)) = &answer {
            panic!("the scenario is not what it says: {answer:?}");
        }
        Heard::Answer(Box::new(answer))
    }
}
