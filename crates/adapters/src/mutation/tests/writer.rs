//! One mutation taken through the stages, and what it came to.

use graphwrite_protocol_types::{Conflict, GraphHeadToken};
use graphwrite_substrate::Store;

use crate::mutation::{MutationAdapter, MutationBuilder, MutationInput};
use crate::world::{World, Write, brief};
use crate::{LoadLimits, PrepareError, WritePlan};

/// What a mutation came to, briefly.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Did {
    /// `table +inserted ~updated -deleted =unchanged` of each table, sorted; zeros are left out.
    Committed(Vec<String>),
    NoChange,
    /// `kind table key place total`.
    Conflict(String),
    /// `place table.field rule` of each fault.
    Invalid(Vec<String>),
}

/// A graph in which everything that the rules speak of is there.
pub(super) async fn world() -> World {
    World::with(&[
        r#"{"type":"Person","data":{"slug":"a","email":"a@x","age":1}}"#,
        r#"{"type":"Person","data":{"slug":"b","email":"b@x","age":5}}"#,
        r#"{"type":"Person","data":{"slug":"c"}}"#,
        r#"{"type":"Place","data":{"slug":"q","city":"Q"}}"#,
        r#"{"type":"Place","data":{"slug":"r","city":"R","country":"X"}}"#,
        r#"{"edge":"Knows","from":"a","to":"b","data":{"since":"2020-01-01"}}"#,
        r#"{"edge":"Knows","from":"b","to":"c"}"#,
        r#"{"edge":"Knows","from":"c","to":"c"}"#,
        r#"{"edge":"Visits","from":"a","to":"q","data":{"id":"v1","note":"x"}}"#,
        r#"{"edge":"Visits","from":"a","to":"q","data":{"id":"v2"}}"#,
        r#"{"edge":"Visits","from":"b","to":"r","data":{"id":"v3"}}"#,
        r#"{"type":"Firm","data":{"slug":"f"}}"#,
        r#"{"edge":"Seat","from":"f","to":"r","data":{"id":"s1"}}"#,
    ])
    .await
}

pub(super) fn did(tables: &[&str]) -> Did {
    Did::Committed(tables.iter().map(|table| (*table).to_owned()).collect())
}

pub(super) fn invalid(faults: &[&str]) -> Did {
    Did::Invalid(faults.iter().map(|fault| (*fault).to_owned()).collect())
}

pub(super) fn conflict(text: &str) -> Did {
    Did::Conflict(text.to_owned())
}

fn conflict_text(conflict: Conflict) -> String {
    match conflict {
        Conflict::KeyExists { table, key, place, total } => {
            format!("exists {table} {key} {} {total}", place.unwrap())
        }
        Conflict::KeyMissing { table, key, place, total } => {
            format!("missing {table} {key} {} {total}", place.unwrap())
        }
        other => panic!("{other}"),
    }
}

fn summary_text(write: &Write) -> Vec<String> {
    let mut tables: Vec<_> = write
        .write()
        .lineage
        .tables
        .iter()
        .map(|table| {
            let counts = [
                ('+', table.inserted),
                ('~', table.updated),
                ('-', table.deleted),
                ('=', table.unchanged),
            ];
            let counts = counts.iter().filter(|(_, count)| *count > 0);
            counts.fold(table.name.clone(), |text, (sign, count)| format!("{text} {sign}{count}"))
        })
        .collect();
    tables.sort();
    tables
}

pub(super) fn read(world: &World, statements: &[&str]) -> MutationInput {
    read_within(world, statements, LoadLimits::default())
}

pub(super) fn read_within(world: &World, statements: &[&str], limits: LoadLimits) -> MutationInput {
    let mut builder =
        MutationBuilder::new(&world.schema.schema).with_errors_max(100).with_limits(limits);
    builder.push_json(&format!("[{}]", statements.join(","))).unwrap();
    builder.finish().unwrap()
}

pub(super) async fn prepare_on(
    world: &World,
    store: &Store,
    input: &MutationInput,
    expected_head: Option<GraphHeadToken>,
) -> Result<WritePlan, PrepareError> {
    let (base, operation) = (world.base().await, world.operation());
    let context = world.context(store, &base, &operation, expected_head);
    Box::pin(MutationAdapter.prepare(&context, input)).await
}

pub(super) async fn prepare(world: &World, statements: &[&str]) -> Result<WritePlan, PrepareError> {
    prepare_on(world, &world.store, &read(world, statements), None).await
}

/// Prepares and, if there is something to write, commits.
pub(super) async fn mutate_input(world: &World, input: &MutationInput) -> Did {
    match prepare_on(world, &world.store, input, None).await {
        Ok(WritePlan::Write(write)) => {
            let summary = summary_text(&write);
            world.commit(*write).await.unwrap();
            Did::Committed(summary)
        }
        Ok(WritePlan::NoChange { .. }) => Did::NoChange,
        Ok(WritePlan::Conflict(conflict)) => Did::Conflict(conflict_text(conflict)),
        Err(PrepareError::Invalid(found)) => {
            Did::Invalid(found.listed().iter().map(brief).collect())
        }
        Err(other) => panic!("{other}"),
    }
}

pub(super) async fn mutate(world: &World, statements: &[&str]) -> Did {
    mutate_input(world, &read(world, statements)).await
}

/// The graph of [`world`] after these statements: what they did, and the rows of a table.
pub(super) async fn after(statements: &[&str], table: &str) -> (Did, Vec<String>) {
    let world = world().await;
    let did = mutate(&world, statements).await;
    (did, world.rows(table).await)
}

/// What these statements do to the graph of [`world`].
pub(super) async fn outcome(statements: &[&str]) -> Did {
    after(statements, "Person").await.0
}
