//! Races in which each side alone keeps every constraint and both together would not (RFC 11.2).

use graphwrite_coordinator::Rule;
use graphwrite_protocol_types::{Conflict, WriteOutcome};

use super::ring::{Meeting, RING, Ring};
use crate::request::{Request, append, mutation, overwrite, upsert};

/// Edges exist before: `p1` knows `p2`. Nobody knows `p3`.
const KNOWN: Ring = Ring {
    base: &[
        r#"{"type":"Person","data":{"slug":"p1"}}"#,
        r#"{"type":"Person","data":{"slug":"p2"}}"#,
        r#"{"type":"Person","data":{"slug":"p3"}}"#,
        r#"{"edge":"Knows","from":"p1","to":"p2"}"#,
    ],
    next: &[
        r#"{"type":"Person","data":{"slug":"next"}}"#,
        r#"{"edge":"Knows","from":"p2","to":"p1"}"#,
    ],
    ..RING
};

/// No edge exists before, nor a table for them.
pub(crate) const UNKNOWN: Ring = Ring {
    base: &[
        r#"{"type":"Person","data":{"slug":"p1"}}"#,
        r#"{"type":"Person","data":{"slug":"p2"}}"#,
        r#"{"type":"Person","data":{"slug":"p3"}}"#,
    ],
    ..KNOWN
};

pub(crate) const WITHOUT_P3: Request = overwrite(&[
    r#"{"type":"Person","data":{"slug":"p1"}}"#,
    r#"{"type":"Person","data":{"slug":"p2"}}"#,
]);

pub(crate) const TO_P3: Request = append(&[r#"{"edge":"Knows","from":"p1","to":"p3"}"#]);

/// Everybody works somewhere, at two companies at most.
const EMPLOYED: Ring = Ring {
    schema: r#"
[node.Person]
key = "slug"
[node.Person.properties]
slug = { type = "string" }
[node.Company]
key = "slug"
[node.Company.properties]
slug = { type = "string" }
[edge.WorksAt]
from = "Person"
to = "Company"
cardinality = "1..2"
"#,
    base: &[
        r#"{"type":"Person","data":{"slug":"p1"}}"#,
        r#"{"type":"Person","data":{"slug":"p2"}}"#,
        r#"{"type":"Company","data":{"slug":"c1"}}"#,
        r#"{"type":"Company","data":{"slug":"c2"}}"#,
        r#"{"edge":"WorksAt","from":"p1","to":"c1"}"#,
        r#"{"edge":"WorksAt","from":"p1","to":"c2"}"#,
        r#"{"edge":"WorksAt","from":"p2","to":"c1"}"#,
    ],
    next: &[
        r#"{"type":"Person","data":{"slug":"next"}}"#,
        r#"{"edge":"WorksAt","from":"next","to":"c1"}"#,
    ],
    ..RING
};

/// A removal of a node that no edge names, against the first edge that names it.
async fn removal_against_edge(removal: Request) {
    for ring in [KNOWN, UNKNOWN] {
        for meeting in Meeting::all_disjoint() {
            let raced = ring.race(meeting, [removal, TO_P3]).await;
            let winner = raced.order().await[0];
            raced.loser_breaks([Rule::Endpoint, Rule::Referenced][winner]);
            raced.judge().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_edge_and_an_overwrite_that_takes_its_end_away_are_never_both_there() {
    removal_against_edge(WITHOUT_P3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_edge_and_the_deletion_of_its_end_are_never_both_there() {
    let deletion = mutation(&[r#"{"delete":{"type":"Person","key":"p3"}}"#], |before| {
        before.without(&[r#"{"type":"Person","data":{"slug":"p3"}}"#])
    });
    removal_against_edge(deletion).await;
}

/// `p2` goes with all of its edges.
const CASCADE: Request =
    mutation(&[r#"{"delete":{"type":"Person","key":"p2","cascade":true}}"#], |before| {
        before.without(&[r#"{"type":"Person","data":{"slug":"p2"}}"#]).without_edges_of("p2")
    });

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_deletion_with_all_edges_takes_the_edge_that_came_meanwhile_too() {
    let edge = mutation(&[r#"{"insert":{"edge":"Knows","from":"p3","to":"p2"}}"#], |before| {
        before.with(&[r#"{"edge":"Knows","from":"p3","to":"p2"}"#])
    });
    let next = &[r#"{"edge":"Knows","from":"p1","to":"p3"}"#];
    // Where no edge is there, the deletion writes no table of edges, and both can hold their gates.
    let none = Ring { next, ..UNKNOWN };
    let some = Ring { next, ..KNOWN };
    for (ring, meetings) in [(none, Meeting::all_disjoint()), (some, Meeting::all())] {
        for meeting in meetings {
            let raced = ring.race(meeting, [CASCADE, edge]).await;
            match raced.order().await[0] {
                0 => raced.loser_breaks(Rule::Endpoint),
                _ => assert_eq!(raced.both().await, [1, 0]),
            }
            raced.judge().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_deletions_that_each_leave_an_edge_one_leaves_too_few() {
    let one = mutation(&[r#"{"delete":{"edge":"WorksAt","from":"p1","to":"c1"}}"#], |before| {
        before.without(&[r#"{"edge":"WorksAt","from":"p1","to":"c1"}"#])
    });
    let other =
        mutation(&[r#"{"delete":{"type":"Company","key":"c2","cascade":true}}"#], |before| {
            before.without(&[r#"{"type":"Company","data":{"slug":"c2"}}"#]).without_edges_of("c2")
        });
    for meeting in Meeting::all() {
        let raced = EMPLOYED.race(meeting, [one, other]).await;
        raced.loser_breaks(Rule::Cardinality);
        raced.judge().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_update_of_a_row_that_goes_meanwhile_finds_it_missing() {
    let update =
        mutation(&[r#"{"update":{"type":"Person","key":"p3","set":{"age":9}}}"#], |before| {
            before.with(&[r#"{"type":"Person","data":{"slug":"p3","age":9}}"#])
        });
    let deletion = mutation(&[r#"{"delete":{"type":"Person","where":"slug = 'p3'"}}"#], |before| {
        before.without(&[r#"{"type":"Person","data":{"slug":"p3"}}"#])
    });
    for meeting in Meeting::all() {
        let raced = UNKNOWN.race(meeting, [update, deletion]).await;
        match raced.order().await[0] {
            0 => assert_eq!(raced.both().await, [0, 1]),
            _ => {
                let loser = raced.loser();
                let is_missing =
                    matches!(loser, Ok(WriteOutcome::Conflict(Conflict::KeyMissing { .. })));
                assert!(is_missing, "{meeting:?}: {loser:?}");
            }
        }
        raced.judge().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_deletion_by_condition_meets_the_row_that_comes_to_match_meanwhile() {
    let deletion = mutation(&[r#"{"delete":{"type":"Person","where":"age > 40"}}"#], |before| {
        // Whoever is 50 by then.
        before
            .without(&[r#"{"type":"Person","data":{"slug":"p3"}}"#])
            .without_row(r#"{"type":"Person","data":{"slug":"p2","age":50}}"#)
    });
    let update =
        mutation(&[r#"{"update":{"type":"Person","key":"p2","set":{"age":50}}}"#], |before| {
            before.with(&[r#"{"type":"Person","data":{"slug":"p2","age":50}}"#])
        });
    let aged = Ring {
        base: &[
            r#"{"type":"Person","data":{"slug":"p1"}}"#,
            r#"{"type":"Person","data":{"slug":"p2"}}"#,
            r#"{"type":"Person","data":{"slug":"p3","age":50}}"#,
        ],
        next: &[r#"{"type":"Person","data":{"slug":"next"}}"#],
        ..UNKNOWN
    };
    for meeting in Meeting::all() {
        let raced = aged.race(meeting, [deletion, update]).await;
        raced.both().await;
        raced.judge().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_edge_races_a_change_of_its_endpoints_table() {
    let edge = append(&[r#"{"edge":"Knows","from":"p1","to":"p2"}"#]);
    let change = upsert(&[
        r#"{"type":"Person","data":{"slug":"p1","age":50}}"#,
        r#"{"type":"Person","data":{"slug":"k1"}}"#,
    ]);
    for meeting in Meeting::all_disjoint() {
        let raced = RING.race(meeting, [edge, change]).await;
        let order = raced.both().await;
        let Ok(WriteOutcome::Committed(receipt)) = &raced.answers[0] else { panic!() };
        if order == [1, 0] {
            assert!(receipt.restarts > 0, "{meeting:?}: what it probed has changed");
        }
        raced.judge().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writes_to_disjoint_tables_both_commit_in_one_line() {
    let one = append(&[r#"{"type":"Person","data":{"slug":"k1"}}"#]);
    let other = append(&[r#"{"type":"Company","data":{"slug":"d1"}}"#]);
    for meeting in Meeting::all_disjoint() {
        let raced = RING.race(meeting, [one, other]).await;
        raced.both().await;
        let log = raced.graphs[0].log(3).await.unwrap();
        assert_eq!(log[0].parents, [log[1].commit], "{meeting:?}");
        assert_eq!(log[1].parents, [log[2].commit], "{meeting:?}");
        raced.judge().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_edges_from_a_source_that_may_have_one_are_never_both_there() {
    let one = append(&[r#"{"edge":"WorksAt","from":"p1","to":"c1"}"#]);
    let other = append(&[r#"{"edge":"WorksAt","from":"p1","to":"c2"}"#]);
    for meeting in Meeting::all() {
        let raced = RING.race(meeting, [one, other]).await;
        raced.loser_breaks(Rule::Cardinality);
        raced.judge().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_new_node_with_its_edge_against_edges_that_are_all_replaced_keeps_its_minimum() {
    let node = append(&[
        r#"{"type":"Person","data":{"slug":"k1"}}"#,
        r#"{"edge":"WorksAt","from":"k1","to":"c1"}"#,
    ]);
    // Right over the base; over the new node it takes that one's only edge.
    let edges = overwrite(&[
        r#"{"edge":"WorksAt","from":"p1","to":"c2"}"#,
        r#"{"edge":"WorksAt","from":"p2","to":"c2"}"#,
    ]);
    for meeting in Meeting::all() {
        let raced = EMPLOYED.race(meeting, [node, edges]).await;
        match raced.order().await[0] {
            0 => raced.loser_breaks(Rule::Cardinality),
            _ => assert_eq!(raced.both().await, [1, 0]),
        }
        raced.judge().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_rows_with_one_unique_value_are_never_both_there() {
    let one = append(&[r#"{"type":"Person","data":{"slug":"k1","email":"k@x"}}"#]);
    let other = append(&[r#"{"type":"Person","data":{"slug":"k2","email":"k@x"}}"#]);
    let replaced = overwrite(&[r#"{"type":"Person","data":{"slug":"k2","email":"k@x"}}"#]);
    for meeting in Meeting::all() {
        let raced = RING.race(meeting, [one, other]).await;
        raced.loser_breaks(Rule::Unique);
        raced.judge().await;
    }
    let set =
        mutation(&[r#"{"update":{"type":"Person","key":"p1","set":{"email":"k@x"}}}"#], |before| {
            before.with(&[r#"{"type":"Person","data":{"slug":"p1","email":"k@x","age":1}}"#])
        });
    for meeting in Meeting::few() {
        let raced = RING.race(meeting, [one, set]).await;
        raced.loser_breaks(Rule::Unique);
        raced.judge().await;
    }
    for meeting in Meeting::few() {
        let raced = RING.race(meeting, [one, replaced]).await;
        match raced.order().await[0] {
            // All rows go, that of the other side too.
            0 => assert_eq!(raced.both().await, [0, 1]),
            _ => raced.loser_breaks(Rule::Unique),
        }
        raced.judge().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_first_loads_of_the_same_new_tables_both_commit_one_after_the_other() {
    // Both tables are new to the graph, and each side writes both.
    let empty = Ring { base: &[r#"{"type":"Company","data":{"slug":"c1"}}"#], ..RING };
    let one = append(&[
        r#"{"type":"Person","data":{"slug":"k1"}}"#,
        r#"{"edge":"Knows","from":"k1","to":"k1"}"#,
    ]);
    let other = append(&[
        r#"{"type":"Person","data":{"slug":"k2"}}"#,
        r#"{"edge":"Knows","from":"k2","to":"k2"}"#,
    ]);
    for meeting in Meeting::all() {
        let raced = empty.race(meeting, [one, other]).await;
        let order = raced.both().await;
        let Ok(WriteOutcome::Committed(second)) = &raced.answers[order[1]] else { panic!() };
        assert!(second.restarts > 0, "{meeting:?}: the tables are there now");
        raced.judge().await;
    }
}
