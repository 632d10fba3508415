//! Races for one key: every write entry point that can make a row, against every one.

use graphwrite_protocol_types::WriteOutcome;

use super::ring::{Meeting, RING, taken_key};
use crate::request::{Request, append, mutation, overwrite, upsert};

/// A write entry point that makes the person `k1` beside those of the base: twice, with ages of their
/// own, so that two of one kind differ.
struct Entry {
    requests: [Request; 2],
    /// Whether it refuses a key that is there.
    is_strict: bool,
}

const ENTRIES: &[Entry] = &[
    Entry {
        requests: [
            append(&[r#"{"type":"Person","data":{"slug":"k1","age":11}}"#]),
            append(&[r#"{"type":"Person","data":{"slug":"k1","age":21}}"#]),
        ],
        is_strict: true,
    },
    Entry {
        requests: [
            upsert(&[r#"{"type":"Person","data":{"slug":"k1","age":12}}"#]),
            upsert(&[r#"{"type":"Person","data":{"slug":"k1","age":22}}"#]),
        ],
        is_strict: false,
    },
    Entry {
        requests: [
            overwrite(&[
                r#"{"type":"Person","data":{"slug":"p1","age":1}}"#,
                r#"{"type":"Person","data":{"slug":"p2","age":2}}"#,
                r#"{"type":"Person","data":{"slug":"k1","age":13}}"#,
            ]),
            overwrite(&[
                r#"{"type":"Person","data":{"slug":"p1","age":1}}"#,
                r#"{"type":"Person","data":{"slug":"p2","age":2}}"#,
                r#"{"type":"Person","data":{"slug":"k1","age":23}}"#,
            ]),
        ],
        is_strict: false,
    },
    Entry {
        requests: [
            mutation(
                &[r#"{"insert":{"type":"Person","data":{"slug":"k1","age":14}}}"#],
                |before| before.with(&[r#"{"type":"Person","data":{"slug":"k1","age":14}}"#]),
            ),
            mutation(
                &[r#"{"insert":{"type":"Person","data":{"slug":"k1","age":24}}}"#],
                |before| before.with(&[r#"{"type":"Person","data":{"slug":"k1","age":24}}"#]),
            ),
        ],
        is_strict: true,
    },
    Entry {
        requests: [
            mutation(
                &[r#"{"upsert":{"type":"Person","data":{"slug":"k1","age":15}}}"#],
                |before| before.with(&[r#"{"type":"Person","data":{"slug":"k1","age":15}}"#]),
            ),
            mutation(
                &[r#"{"upsert":{"type":"Person","data":{"slug":"k1","age":25}}}"#],
                |before| before.with(&[r#"{"type":"Person","data":{"slug":"k1","age":25}}"#]),
            ),
        ],
        is_strict: false,
    },
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_new_key_by_any_two_entry_points_is_one_row() {
    let mut refused = 0;
    for (at, one) in ENTRIES.iter().enumerate() {
        for other in &ENTRIES[at..] {
            for meeting in Meeting::few() {
                let entries = [one, other];
                let raced = RING.race(meeting, [one.requests[0], other.requests[1]]).await;
                let order = raced.order().await;
                let second = 1 - order[0];
                if entries[second].is_strict {
                    let taken = taken_key(raced.loser());
                    assert_eq!(taken, Some(("Person", "k1")), "{:?}", raced.answers);
                    refused += 1;
                } else {
                    assert_eq!(raced.both().await, [order[0], second]);
                    let Ok(WriteOutcome::Committed(receipt)) = &raced.answers[second] else {
                        panic!()
                    };
                    let table = &receipt.tables[0];
                    let counts = (table.inserted, table.updated, table.deleted);
                    assert_eq!(counts, (0, 1, 0), "the second found the key of the first");
                    assert!(receipt.restarts > 0, "it was prepared again");
                }
                raced.judge().await;
            }
        }
    }
    assert!(refused > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn upserts_of_the_same_new_keys_leave_one_row_per_key() {
    let one = upsert(&[
        r#"{"type":"Person","data":{"slug":"k1","age":11}}"#,
        r#"{"type":"Person","data":{"slug":"k2","age":12}}"#,
    ]);
    let other = upsert(&[
        r#"{"type":"Person","data":{"slug":"k2","age":22}}"#,
        r#"{"type":"Person","data":{"slug":"k3","age":23}}"#,
    ]);
    for meeting in Meeting::all() {
        let raced = RING.race(meeting, [one, other]).await;
        let order = raced.both().await;
        let Ok(WriteOutcome::Committed(second)) = &raced.answers[order[1]] else { panic!() };
        let counts = (second.tables[0].inserted, second.tables[0].updated);
        assert_eq!(counts, (1, 1), "{meeting:?}: the second found the first's key");
        assert!(second.restarts > 0, "{meeting:?}: it was prepared again");
        raced.judge().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn equal_upserts_of_new_keys_commit_once_and_change_nothing_once() {
    let load = upsert(&[r#"{"type":"Person","data":{"slug":"k1","age":11}}"#]);
    for meeting in Meeting::prepared() {
        let raced = RING.race(meeting, [load, load]).await;
        let loser = raced.loser();
        assert!(matches!(loser, Ok(WriteOutcome::NoChange(_))), "{meeting:?}: {loser:?}");
        raced.judge().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_strict_request_that_loses_one_key_leaves_nothing_in_its_other_tables() {
    let one = append(&[
        r#"{"type":"Person","data":{"slug":"k1","age":1}}"#,
        r#"{"type":"Company","data":{"slug":"d1"}}"#,
    ]);
    let other = append(&[
        r#"{"type":"Person","data":{"slug":"k1","age":2}}"#,
        r#"{"type":"Company","data":{"slug":"d2"}}"#,
    ]);
    for meeting in Meeting::all() {
        let raced = RING.race(meeting, [one, other]).await;
        assert_eq!(taken_key(raced.loser()), Some(("Person", "k1")), "{:?}", raced.answers);
        raced.judge().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_first_edge_of_a_table_that_is_not_there_yet_is_one_row() {
    let one = append(&[r#"{"edge":"Knows","from":"p1","to":"p2","data":{"since":1}}"#]);
    let other = append(&[r#"{"edge":"Knows","from":"p1","to":"p2","data":{"since":2}}"#]);
    for meeting in Meeting::all() {
        let raced = RING.race(meeting, [one, other]).await;
        let taken = taken_key(raced.loser()).map(|(table, _)| table);
        assert_eq!(taken, Some("Knows"), "{:?}", raced.answers);
        raced.judge().await;
    }
}
