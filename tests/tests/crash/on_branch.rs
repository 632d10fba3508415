//! Writes on a branch: to tables that it inherits, owns, or that were never loaded.

use graphwrite_coordinator::LoadMode;

use super::control::{NAME, SOURCE};
use super::mutations::MUTATE_ONE;
use super::scenario::{
    Branch, ONE_APPEND, ONE_UPSERT, Scenario, THREE_APPEND, THREE_UPSERT, TWO_EXISTING_UPSERT,
};
use crate::request::Mutation;

const OWN_PERSON: &str = r#"{"type":"Person","data":{"slug":"o1","age":8}}"#;

/// A branch that inherits everything.
const HEIR: Option<Branch> = Some(Branch { name: NAME, own: &[] });
/// A branch that owns persons.
const OWNER: Option<Branch> = Some(Branch { name: NAME, own: &[OWN_PERSON] });

/// Three tables, each for the first time.
pub(crate) const BRANCH_THREE: Scenario =
    Scenario { name: "three inherited tables, append", branch: HEIR, ..THREE_APPEND };

/// One inherited table: a row comes, one changes, one goes.
pub(crate) const BRANCH_MUTATE: Scenario =
    Scenario { name: "one inherited table, mutation", branch: HEIR, ..MUTATE_ONE };

/// One inherited table from which rows go, and none come.
pub(crate) const BRANCH_DELETION: Scenario = Scenario {
    name: "one inherited table, deletion",
    mutation: Some(Mutation {
        statements: &[r#"{"delete":{"type":"Person","key":"p2"}}"#],
        over: |before| before.without(&[r#"{"type":"Person","data":{"slug":"p2"}}"#]),
    }),
    ..BRANCH_MUTATE
};

/// One inherited table, new rows.
pub(crate) const BRANCH_APPEND: Scenario =
    Scenario { name: "one inherited table, append", branch: HEIR, ..ONE_APPEND };

/// One inherited table.
pub(crate) const BRANCH_ONE: Scenario =
    Scenario { name: "one inherited table, upsert", branch: HEIR, ..ONE_UPSERT };

/// Two inherited tables.
pub(crate) const BRANCH_TWO: Scenario =
    Scenario { name: "two inherited tables, upsert", branch: HEIR, ..TWO_EXISTING_UPSERT };

/// One table that the branch owns, one that it inherits, and one that was never loaded.
pub(crate) const BRANCH_MIXED: Scenario = Scenario {
    name: "an own, an inherited and a new table, upsert",
    base: TWO_EXISTING_UPSERT.base,
    rows: &[
        r#"{"type":"Person","data":{"slug":"n1","email":"n1@x","age":31}}"#,
        r#"{"type":"Person","data":{"slug":"p1","age":100}}"#,
        r#"{"type":"Company","data":{"slug":"c1","name":"First"}}"#,
        r#"{"edge":"Knows","from":"n1","to":"p2","data":{"since":1}}"#,
    ],
    branch: OWNER,
    ..THREE_UPSERT
};

/// One inherited table, to which main has not written since.
pub(crate) const BRANCH_COMPANY: Scenario = Scenario {
    name: "one inherited table of two, upsert",
    base: TWO_EXISTING_UPSERT.base,
    rows: &[
        r#"{"type":"Company","data":{"slug":"n1"}}"#,
        r#"{"type":"Company","data":{"slug":"c1","name":"First"}}"#,
    ],
    tables: &["Company"],
    ..BRANCH_ONE
};

/// One table that the branch owns.
pub(crate) const BRANCH_OWNED: Scenario =
    Scenario { name: "one own table, upsert", branch: OWNER, ..ONE_UPSERT };

/// A graph with another branch, which has rows of its own; main has gone on.
pub(crate) const FORKED: Scenario = Scenario {
    name: "a branch of main",
    tables: &["Person"],
    branch: Some(Branch { name: SOURCE, own: &[OWN_PERSON] }),
    mode: LoadMode::Upsert,
    ..TWO_EXISTING_UPSERT
};

/// The same with the branch that goes, and a write to it that may be pending.
pub(crate) const LEAVING: Scenario =
    Scenario { name: "a branch that goes", branch: OWNER, ..TWO_EXISTING_UPSERT };
