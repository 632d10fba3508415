//! What a prepare costs in requests, whatever the number of rows.

use crate::load::LoadMode;
use crate::load::LoadMode::{Append, Upsert};
use crate::world::World;

async fn world() -> World {
    let people = (0..4_000)
        .map(|n| format!(r#"{{"type":"Person","data":{{"slug":"p{n}","email":"{n}@x"}}}}"#));
    let places = (0..100).map(|n| {
        format!(r#"{{"type":"Place","data":{{"slug":"q{n}","city":"{n}","country":"c"}}}}"#)
    });
    let visits = (0..100).map(|n| {
        format!(r#"{{"edge":"Visits","from":"p{n}","to":"q{n}","data":{{"id":"v{n}"}}}}"#)
    });
    let lines: Vec<_> = people.chain(places).chain(visits).collect();
    World::with(&lines.iter().map(String::as_str).collect::<Vec<_>>()).await
}

/// Reads of a prepare of `rows` new nodes, `rows` new edges, and, in an upsert, `rows` replaced
/// nodes. Every constraint is asked.
async fn reads(world: &World, mode: LoadMode, rows: usize) -> u64 {
    let nodes = (0..rows)
        .map(|n| format!(r#"{{"type":"Person","data":{{"slug":"new{n}","email":"new{n}"}}}}"#));
    let edges = (0..rows).map(|n| {
        let to = n % 100;
        format!(r#"{{"edge":"Visits","from":"p{n}","to":"q{to}","data":{{"id":"w{n}"}}}}"#)
    });
    let replaced = (0..rows)
        .filter(|_| mode == Upsert)
        .map(|n| format!(r#"{{"type":"Person","data":{{"slug":"p{n}","email":"other{n}"}}}}"#));
    let lines: Vec<_> = nodes.chain(edges).chain(replaced).collect();
    let input = world.schema.input(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let (store, counter) = world.store.counting();
    let prepared = world.prepare_input(mode, &input, &store, None).await.unwrap();
    assert!(matches!(prepared, crate::WritePlan::Write(_)), "{prepared:?}");
    counter.take().reads()
}

#[tokio::test]
async fn the_number_of_reads_does_not_grow_with_the_rows() {
    let world = world().await;
    for mode in [Append, Upsert] {
        let few = reads(&world, mode, 10).await;
        let many = reads(&world, mode, 3_000).await;
        assert!(many <= few + 2, "{mode}: {few} reads for 10 rows, {many} for 3000");
    }
}
