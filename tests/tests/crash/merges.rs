//! Merges as scenarios: two sides that have gone apart, or of which one is ahead; tables that the target
//! owns, inherits or never loaded; one commit to each of them, several, and none.

use graphwrite_coordinator::{Graph, MergeStrategy};
use graphwrite_protocol_types::WriteOutcome;

use super::control::{NAME, SOURCE, create_branch};
use super::scenario::{Branch, Scenario, Stage, THREE_APPEND};
use crate::ground::{Beside, Ground, on};
use crate::request::{Merge, Mutation, Request, Terms, upsert};

/// What is merged, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Merging {
    /// What the source has changed since both were one.
    pub(crate) changes: Mutation,
    /// What was upserted to the target since.
    pub(crate) since: &'static [&'static str],
    pub(crate) strategy: MergeStrategy,
    /// Commits to each table.
    pub(crate) chain: usize,
}

/// Rows of one commit of a chain.
const ROWS_MAX: u64 = 2;

impl Merging {
    /// The request, for a target of this name.
    pub(crate) fn request(&self, target: Option<Branch>) -> Merge {
        let source = if target.is_some() { "main" } else { SOURCE };
        let rows_max = if self.chain > 1 { ROWS_MAX } else { u64::MAX };
        Merge { source, strategy: self.strategy, rows_max, over: self.changes.over }
    }
}

impl Stage {
    /// The same with both sides of a merge: the branch of the scenario that main is merged into, or a branch
    /// that is merged into main.
    pub(super) async fn apart(self, merging: Merging, main: &Graph) -> Self {
        let target = self.scenario.branch.map(|it| it.name);
        let forked = target.unwrap_or(SOURCE);
        create_branch(main, forked, "main").await;
        let branch = on(main.clone(), Some(forked)).await;
        let (source, target_handle) = match target {
            Some(_) => (main, &branch),
            None => (&branch, main),
        };
        commit(source, Request::Mutation(merging.changes)).await;
        if !merging.since.is_empty() {
            commit(target_handle, upsert(merging.since)).await;
        }
        let beside = Beside {
            branch: if target.is_some() { None } else { Some(SOURCE) },
            rows: (merging.changes.over)(&self.before),
            commits: self.commits + 1,
        };
        let commits = self.commits + usize::from(!merging.since.is_empty());
        let before = self.before.with(merging.since);
        Self { before, commits, ground: Ground { branch: target, beside: vec![beside] }, ..self }
    }
}

async fn commit(graph: &Graph, request: Request) {
    let outcome = request.send(graph, Terms::default()).await;
    assert!(matches!(outcome, Ok(WriteOutcome::Committed(_))), "{outcome:?}");
    graph.settled().await;
}

const P1: &str = r#"{"type":"Person","data":{"slug":"p1","email":"p1@x","age":1}}"#;
const P1_CHANGED: &str = r#"{"type":"Person","data":{"slug":"p1","email":"p1@x","age":100}}"#;
const P2: &str = r#"{"type":"Person","data":{"slug":"p2","age":2}}"#;
const P3: &str = r#"{"type":"Person","data":{"slug":"p3","age":3}}"#;
const C1: &str = r#"{"type":"Company","data":{"slug":"c1","name":"One"}}"#;
const C1_CHANGED: &str = r#"{"type":"Company","data":{"slug":"c1","name":"First"}}"#;
const C2: &str = r#"{"type":"Company","data":{"slug":"c2"}}"#;
const KNOWS_12: &str = r#"{"edge":"Knows","from":"p1","to":"p2","data":{"since":12}}"#;
const KNOWS_12_CHANGED: &str = r#"{"edge":"Knows","from":"p1","to":"p2","data":{"since":99}}"#;
const KNOWS_21: &str = r#"{"edge":"Knows","from":"p2","to":"p1","data":{"since":21}}"#;

const NEW_PERSONS: &[&str] = &[
    r#"{"type":"Person","data":{"slug":"n1","age":31}}"#,
    r#"{"type":"Person","data":{"slug":"n2","age":32}}"#,
    r#"{"type":"Person","data":{"slug":"n3","age":33}}"#,
    r#"{"type":"Person","data":{"slug":"n4","age":34}}"#,
];
const NEW_COMPANIES: &[&str] = &[
    r#"{"type":"Company","data":{"slug":"n1","name":"New"}}"#,
    r#"{"type":"Company","data":{"slug":"n2"}}"#,
    r#"{"type":"Company","data":{"slug":"n3"}}"#,
    r#"{"type":"Company","data":{"slug":"n4"}}"#,
];
const NEW_KNOWS: &[&str] = &[
    r#"{"edge":"Knows","from":"n1","to":"p2","data":{"since":1}}"#,
    r#"{"edge":"Knows","from":"n2","to":"p2","data":{"since":2}}"#,
    r#"{"edge":"Knows","from":"n3","to":"p2","data":{"since":3}}"#,
    r#"{"edge":"Knows","from":"n4","to":"p2","data":{"since":4}}"#,
];

const ADD_PERSON: &str = r#"{"insert":{"type":"Person","data":{"slug":"n1","age":31}}}"#;
const ADD_PERSONS: [&str; 4] = [
    ADD_PERSON,
    r#"{"insert":{"type":"Person","data":{"slug":"n2","age":32}}}"#,
    r#"{"insert":{"type":"Person","data":{"slug":"n3","age":33}}}"#,
    r#"{"insert":{"type":"Person","data":{"slug":"n4","age":34}}}"#,
];
const ADD_COMPANIES: [&str; 4] = [
    r#"{"insert":{"type":"Company","data":{"slug":"n1","name":"New"}}}"#,
    r#"{"insert":{"type":"Company","data":{"slug":"n2"}}}"#,
    r#"{"insert":{"type":"Company","data":{"slug":"n3"}}}"#,
    r#"{"insert":{"type":"Company","data":{"slug":"n4"}}}"#,
];
const ADD_KNOWS: [&str; 4] = [
    r#"{"insert":{"edge":"Knows","from":"n1","to":"p2","data":{"since":1}}}"#,
    r#"{"insert":{"edge":"Knows","from":"n2","to":"p2","data":{"since":2}}}"#,
    r#"{"insert":{"edge":"Knows","from":"n3","to":"p2","data":{"since":3}}}"#,
    r#"{"insert":{"edge":"Knows","from":"n4","to":"p2","data":{"since":4}}}"#,
];
const CHANGE_P1: &str = r#"{"update":{"type":"Person","key":"p1","set":{"age":100}}}"#;
const CHANGE_C1: &str = r#"{"update":{"type":"Company","key":"c1","set":{"name":"First"}}}"#;
const CHANGE_KNOWS: &str =
    r#"{"update":{"edge":"Knows","from":"p1","to":"p2","set":{"since":99}}}"#;
const REMOVE_P3: &str = r#"{"delete":{"type":"Person","key":"p3"}}"#;
const REMOVE_C2: &str = r#"{"delete":{"type":"Company","key":"c2"}}"#;
const REMOVE_KNOWS: &str = r#"{"delete":{"edge":"Knows","from":"p2","to":"p1"}}"#;

const SINCE_THREE: &[&str] = &[
    r#"{"type":"Person","data":{"slug":"m1","age":5}}"#,
    r#"{"type":"Company","data":{"slug":"m1"}}"#,
    r#"{"edge":"Knows","from":"m1","to":"m1"}"#,
];

/// Rows come, change and go in three tables; the target has gone on in all of them.
pub(crate) const MERGE_THREE: Scenario = Scenario {
    name: "three tables, merge",
    base: &[P1, P2, P3, C1, C2, KNOWS_12, KNOWS_21],
    rows: &[P1, C1],
    merge: Some(Merging {
        changes: Mutation {
            statements: &[
                ADD_PERSON,
                CHANGE_P1,
                REMOVE_P3,
                ADD_COMPANIES[0],
                CHANGE_C1,
                REMOVE_C2,
                ADD_KNOWS[0],
                CHANGE_KNOWS,
                REMOVE_KNOWS,
            ],
            over: |before| {
                let (person, company, knows) =
                    (&NEW_PERSONS[..1], &NEW_COMPANIES[..1], &NEW_KNOWS[..1]);
                let before = before.with(person).with(company).with(knows);
                let before = before.with(&[P1_CHANGED, C1_CHANGED, KNOWS_12_CHANGED]);
                before.without(&[P3, C2, KNOWS_21])
            },
        },
        since: SINCE_THREE,
        strategy: MergeStrategy::Theirs,
        chain: 1,
    }),
    ..THREE_APPEND
};

/// The same with more rows, in three commits to each table. Whoever contests a row prevents it.
pub(crate) const MERGE_CHAINS: Scenario = Scenario {
    name: "three tables, merge by chains",
    merge: Some(Merging {
        changes: Mutation {
            statements: &[
                ADD_PERSONS[0],
                ADD_PERSONS[1],
                ADD_PERSONS[2],
                ADD_PERSONS[3],
                CHANGE_P1,
                REMOVE_P3,
                ADD_COMPANIES[0],
                ADD_COMPANIES[1],
                ADD_COMPANIES[2],
                ADD_COMPANIES[3],
                CHANGE_C1,
                ADD_KNOWS[0],
                ADD_KNOWS[1],
                ADD_KNOWS[2],
                ADD_KNOWS[3],
                CHANGE_KNOWS,
            ],
            over: |before| {
                let before = before.with(NEW_PERSONS).with(NEW_COMPANIES).with(NEW_KNOWS);
                before.with(&[P1_CHANGED, C1_CHANGED, KNOWS_12_CHANGED]).without(&[P3])
            },
        },
        since: SINCE_THREE,
        strategy: MergeStrategy::Fail,
        chain: 3,
    }),
    ..MERGE_THREE
};

/// One table, in three commits to it.
pub(crate) const MERGE_CHAIN: Scenario = Scenario {
    name: "one table, merge by a chain",
    base: &[P1, P2, P3],
    tables: &["Person"],
    rows: &[P1],
    merge: Some(Merging {
        changes: Mutation {
            statements: &[
                ADD_PERSONS[0],
                ADD_PERSONS[1],
                ADD_PERSONS[2],
                ADD_PERSONS[3],
                CHANGE_P1,
                REMOVE_P3,
            ],
            over: |before| before.with(NEW_PERSONS).with(&[P1_CHANGED]).without(&[P3]),
        },
        since: &[r#"{"type":"Person","data":{"slug":"m1","age":5}}"#],
        strategy: MergeStrategy::Theirs,
        chain: 3,
    }),
    ..MERGE_THREE
};

/// One table that the target inherits, in three commits to a ref of its own.
pub(crate) const MERGE_INHERITED: Scenario = Scenario {
    name: "one inherited table, merge by a chain",
    branch: Some(Branch { name: NAME, own: &[] }),
    merge: Some(Merging { since: &[], ..CHAIN }),
    ..MERGE_CHAIN
};

/// One table that the target never loaded, in three commits to a dataset of its own.
pub(crate) const MERGE_FIRST: Scenario = Scenario {
    name: "one new table, merge by a chain",
    base: &[P1],
    tables: &["Company"],
    rows: &[r#"{"type":"Company","data":{"slug":"n1","name":"Other"}}"#],
    merge: Some(Merging {
        changes: Mutation {
            statements: &[
                ADD_COMPANIES[0],
                ADD_COMPANIES[1],
                ADD_COMPANIES[2],
                ADD_COMPANIES[3],
                r#"{"insert":{"type":"Company","data":{"slug":"n5"}}}"#,
            ],
            over: |before| {
                before.with(NEW_COMPANIES).with(&[r#"{"type":"Company","data":{"slug":"n5"}}"#])
            },
        },
        ..CHAIN
    }),
    ..MERGE_CHAIN
};

/// The source is ahead of the target.
pub(crate) const MERGE_FORWARD: Scenario = Scenario {
    name: "one table, fast-forward",
    merge: Some(Merging {
        changes: Mutation {
            statements: &[ADD_PERSON, CHANGE_P1, REMOVE_P3],
            over: |before| before.with(&NEW_PERSONS[..1]).with(&[P1_CHANGED]).without(&[P3]),
        },
        since: &[],
        strategy: MergeStrategy::Fail,
        chain: 1,
    }),
    ..MERGE_CHAIN
};

/// Both sides have made the same change: the merge is a commit without effects.
pub(crate) const MERGE_NOTHING: Scenario = Scenario {
    name: "one table, merge without a change",
    merge: Some(Merging {
        changes: Mutation { statements: &[CHANGE_P1], over: |before| before.with(&[P1_CHANGED]) },
        since: &[P1_CHANGED],
        strategy: MergeStrategy::Theirs,
        chain: 0,
    }),
    ..MERGE_CHAIN
};

/// Rows come in one table, to which the target has added others.
pub(crate) const MERGE_ADDED: Scenario = Scenario {
    name: "one table, merge of new rows",
    merge: Some(Merging {
        changes: Mutation {
            statements: &[ADD_PERSON],
            over: |before| before.with(&NEW_PERSONS[..1]),
        },
        strategy: MergeStrategy::Fail,
        chain: 1,
        ..CHAIN
    }),
    ..MERGE_CHAIN
};

const CHAIN: Merging = match MERGE_CHAIN.merge {
    Some(merging) => merging,
    None => panic!("it is a merge"),
};
