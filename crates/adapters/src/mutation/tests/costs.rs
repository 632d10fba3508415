//! What a prepare costs in requests, whatever the number of statements.

use super::writer::{prepare_on, read};
use crate::WritePlan;
use crate::world::World;

async fn world() -> World {
    let people = (0..2_000)
        .map(|n| format!(r#"{{"type":"Person","data":{{"slug":"p{n}","email":"{n}@x"}}}}"#));
    let places = (0..100).map(|n| {
        format!(r#"{{"type":"Place","data":{{"slug":"q{n}","city":"{n}","country":"c"}}}}"#)
    });
    let visits = (0..2_000).map(|n| {
        let to = n % 100;
        format!(r#"{{"edge":"Visits","from":"p{n}","to":"q{to}","data":{{"id":"v{n}"}}}}"#)
    });
    let knows = (0..1_000).map(|n| {
        let to = n + 1;
        format!(r#"{{"edge":"Knows","from":"p{n}","to":"p{to}"}}"#)
    });
    let lines: Vec<_> = people.chain(places).chain(visits).chain(knows).collect();
    World::with(&lines.iter().map(String::as_str).collect::<Vec<_>>()).await
}

/// Reads of a prepare of `count` statements of one kind.
async fn reads(world: &World, count: usize, statement: impl Fn(usize) -> String) -> u64 {
    let statements: Vec<_> = (0..count).map(statement).collect();
    let input = read(world, &statements.iter().map(String::as_str).collect::<Vec<_>>());
    let (store, counter) = world.store.counting();
    let prepared = prepare_on(world, &store, &input, None).await.unwrap();
    assert!(matches!(prepared, WritePlan::Write(_)), "{prepared:?}");
    counter.take().reads()
}

type Kind = (&'static str, fn(usize) -> String);

const KINDS: [Kind; 8] = [
    ("insert", |n| {
        format!(r#"{{"insert":{{"type":"Person","data":{{"slug":"n{n}","email":"n{n}"}}}}}}"#)
    }),
    ("upsert", |n| {
        format!(r#"{{"upsert":{{"type":"Person","data":{{"slug":"p{n}","email":"o{n}"}}}}}}"#)
    }),
    ("update", |n| format!(r#"{{"update":{{"type":"Person","key":"p{n}","set":{{"age":{n}}}}}}}"#)),
    ("edge insert", |n| format!(r#"{{"insert":{{"edge":"Knows","from":"p{n}","to":"p{n}"}}}}"#)),
    ("edge delete", |n| format!(r#"{{"delete":{{"edge":"Visits","id":"v{n}"}}}}"#)),
    ("delete by ends", |n| {
        format!(r#"{{"delete":{{"edge":"Visits","from":"p{n}","to":"q{}"}}}}"#, n % 100)
    }),
    ("cascade", |n| format!(r#"{{"delete":{{"type":"Person","key":"p{n}","cascade":true}}}}"#)),
    ("turns", |n| match n % 3 {
        0 => format!(r#"{{"insert":{{"type":"Person","data":{{"slug":"n{n}"}}}}}}"#),
        1 => format!(r#"{{"update":{{"type":"Person","key":"p{n}","set":{{"age":{n}}}}}}}"#),
        _ => format!(r#"{{"delete":{{"edge":"Visits","id":"v{n}"}}}}"#),
    }),
];

#[tokio::test]
async fn the_number_of_reads_does_not_grow_with_the_statements() {
    let world = world().await;
    for (kind, statement) in KINDS {
        let few = reads(&world, 10, statement).await;
        let many = reads(&world, 1_000, statement).await;
        assert!(many <= few, "{kind}: {few} reads for 10 statements, {many} for 1,000");
    }
}
