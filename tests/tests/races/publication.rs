//! Races for the commit of the graph: both writers have made their effects, and only one can be the next
//! version of the manifest. The other arbitrates its whole read set again (BLOCKER-11), and goes on or is
//! taken back.

use graphwrite_protocol_types::{Conflict, WriteOutcome};

use super::ring::{Meeting, RING, Ring};
use crate::request::{append, mutation};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writes_that_have_nothing_in_common_both_commit_without_being_prepared_again() {
    let one = append(&[r#"{"type":"Person","data":{"slug":"k1"}}"#]);
    let other = append(&[r#"{"type":"Company","data":{"slug":"d1"}}"#]);
    for meeting in Meeting::published() {
        let raced = RING.race(meeting, [one, other]).await;
        raced.both().await;
        for answer in &raced.answers {
            let Ok(WriteOutcome::Committed(receipt)) = answer else { panic!() };
            assert_eq!(receipt.restarts, 0, "{meeting:?}: its effects are good over any of these");
        }
        let log = raced.graphs[0].log(2).await.unwrap();
        assert_eq!(log[0].parents, [log[1].commit], "{meeting:?}");
        raced.judge().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_head_that_moves_after_the_effects_takes_back_the_write_that_expected_it() {
    let one = append(&[
        r#"{"type":"Person","data":{"slug":"k1"}}"#,
        r#"{"edge":"Knows","from":"k1","to":"k1"}"#,
    ]);
    let other = mutation(&[r#"{"upsert":{"type":"Company","data":{"slug":"d1"}}}"#], |before| {
        before.with(&[r#"{"type":"Company","data":{"slug":"d1"}}"#])
    });
    for meeting in Meeting::published() {
        let raced = Ring { expects_head: true, ..RING }.race(meeting, [one, other]).await;
        let loser = raced.loser();
        let is_told = matches!(loser, Ok(WriteOutcome::Conflict(Conflict::ExpectedHead { .. })));
        assert!(is_told, "{meeting:?}: {loser:?}");
        raced.judge().await;
    }
}
