//! Mutations and overwrites as scenarios: rows that go as well as rows that come.

use graphwrite_coordinator::LoadMode;
use serde_json::json;

use super::scenario::{Scenario, THREE_APPEND, TWO_EXISTING_UPSERT};
use crate::judge::Reference;
use crate::request::Mutation;

const P1: &str = r#"{"type":"Person","data":{"slug":"p1","email":"p1@x","age":1}}"#;
const P2: &str = r#"{"type":"Person","data":{"slug":"p2","age":2}}"#;
const P3: &str = r#"{"type":"Person","data":{"slug":"p3","age":3}}"#;
const C1: &str = r#"{"type":"Company","data":{"slug":"c1","name":"One"}}"#;
const C2: &str = r#"{"type":"Company","data":{"slug":"c2"}}"#;
const KNOWS_12: &str = r#"{"edge":"Knows","from":"p1","to":"p2","data":{"since":12}}"#;
const KNOWS_23: &str = r#"{"edge":"Knows","from":"p2","to":"p3","data":{"since":23}}"#;
const KNOWS_13: &str = r#"{"edge":"Knows","from":"p1","to":"p3","data":{"since":13}}"#;
const WORKS_21: &str = r#"{"edge":"WorksAt","from":"p2","to":"c1"}"#;
const N1: &str = r#"{"type":"Person","data":{"slug":"n1","age":31}}"#;
const NEW_COMPANY: &str = r#"{"type":"Company","data":{"slug":"n1"}}"#;
const KNOWS_N1: &str = r#"{"edge":"Knows","from":"n1","to":"n1","data":{"since":1}}"#;

const fn mutation(
    statements: &'static [&'static str],
    over: fn(&Reference) -> Reference,
) -> Option<Mutation> {
    Some(Mutation { statements, over })
}

/// One new table.
pub(crate) const MUTATE_ONE_FIRST: Scenario = Scenario {
    name: "one first touch, mutation",
    base: &[],
    tables: &["Person"],
    mutation: mutation(
        &[
            r#"{"insert":{"type":"Person","data":{"slug":"n1","age":30}}}"#,
            r#"{"update":{"type":"Person","key":"n1","set":{"age":31}}}"#,
        ],
        |before| before.with(&[N1]),
    ),
    ..THREE_APPEND
};

/// One table: a row comes, one changes, one goes.
pub(crate) const MUTATE_ONE: Scenario = Scenario {
    name: "one existing table, mutation",
    base: &[P1, P2],
    tables: &["Person"],
    mutation: mutation(
        &[
            r#"{"insert":{"type":"Person","data":{"slug":"n1","age":31}}}"#,
            r#"{"update":{"type":"Person","key":"p1","set":{"age":100}}}"#,
            r#"{"delete":{"type":"Person","where":"age = 2"}}"#,
        ],
        |before| before.with(&[N1]).set(P1, "age", &json!(100)).without(&[P2]),
    ),
    ..THREE_APPEND
};

/// Three new tables.
pub(crate) const MUTATE_THREE_FIRST: Scenario = Scenario {
    name: "three first touches, mutation",
    base: &[],
    mutation: mutation(
        &[
            r#"{"insert":{"type":"Person","data":{"slug":"n1","age":31}}}"#,
            r#"{"upsert":{"type":"Company","data":{"slug":"n1"}}}"#,
            r#"{"insert":{"edge":"Knows","from":"n1","to":"n1","data":{"since":1}}}"#,
        ],
        |before| before.with(&[N1, NEW_COMPANY, KNOWS_N1]),
    ),
    ..THREE_APPEND
};

/// Three tables that exist, each with rows that change and rows that come.
pub(crate) const MUTATE_THREE: Scenario = Scenario {
    name: "three existing tables, mutation",
    base: &[P1, P2, C1, KNOWS_12],
    rows: &[P1, C1],
    mutation: mutation(
        &[
            r#"{"update":{"type":"Person","key":"p1","set":{"age":100}}}"#,
            r#"{"upsert":{"type":"Person","data":{"slug":"n1","age":31}}}"#,
            r#"{"update":{"type":"Company","key":"c1","set":{"name":"First"}}}"#,
            r#"{"update":{"edge":"Knows","from":"p1","to":"p2","set":{"since":99}}}"#,
            r#"{"upsert":{"edge":"Knows","from":"n1","to":"n1","data":{"since":1}}}"#,
        ],
        |before| {
            let before = before.with(&[N1, KNOWS_N1]).set(P1, "age", &json!(100));
            before.set(C1, "name", &json!("First")).set(KNOWS_12, "since", &json!(99))
        },
    ),
    ..THREE_APPEND
};

/// Rows change in one table and go from three.
pub(crate) const UPDATE_AND_DELETE: Scenario = Scenario {
    name: "updates and deletions, mutation",
    base: &[P1, P2, P3, C1, C2, KNOWS_12, KNOWS_13],
    mutation: mutation(
        &[
            r#"{"delete":{"type":"Person","key":"p2"}}"#,
            r#"{"delete":{"edge":"Knows","from":"p1","to":"p2"}}"#,
            r#"{"update":{"type":"Person","key":"p1","set":{"age":null}}}"#,
            r#"{"delete":{"type":"Company","where":"slug = 'c2'"}}"#,
        ],
        |before| {
            let before = before.without(&[P2, KNOWS_12, C2]);
            before.with(&[r#"{"type":"Person","data":{"slug":"p1","email":"p1@x"}}"#])
        },
    ),
    ..THREE_APPEND
};

/// One node goes, and with it edges of two types, at either end.
pub(crate) const CASCADE: Scenario = Scenario {
    name: "a deletion with all edges, mutation",
    base: &[P1, P2, P3, C1, KNOWS_12, KNOWS_23, KNOWS_13, WORKS_21],
    tables: &["Person", "Knows", "WorksAt"],
    mutation: mutation(&[r#"{"delete":{"type":"Person","key":"p2","cascade":true}}"#], |before| {
        before.without(&[P2]).without_edges_of("p2")
    }),
    ..THREE_APPEND
};

/// All rows of two tables are replaced; some stay as they are.
pub(crate) const OVERWRITE: Scenario = Scenario {
    name: "two existing tables, overwrite",
    mode: LoadMode::Overwrite,
    rows: &[P1, N1, NEW_COMPANY],
    ..TWO_EXISTING_UPSERT
};
