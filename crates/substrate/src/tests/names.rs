//! The name records: create-only, listed, read, and honest about what is not known.

use bytes::Bytes;
use graphwrite_protocol_types::{
    AttemptId, BegunFact, BranchName, BranchToken, DecidedFact, ForkPoint, IdentityDomain,
    NameBegun, NameDecided, NameDeleted, NameState, OwnerRecord, Pin, ProcessInstanceId, Remains,
    Unfinished, Wholeness,
};

use super::world::*;
use crate::*;

fn domain() -> IdentityDomain {
    IdentityDomain::from_u128(1)
}

fn names(store: &Store) -> NameStore {
    NameStore::new(store.clone(), domain())
}

fn name(text: &str) -> BranchName {
    text.parse().unwrap()
}

fn actor() -> ProcessInstanceId {
    ProcessInstanceId::from_u128(5)
}

fn begun(text: &str, number: u64, by: u128) -> NameBegun {
    let main = BranchToken::main(domain());
    NameBegun {
        name: name(text),
        number,
        attempt: AttemptId::from_u128(by),
        fork: ForkPoint::of(&main, None, None, Pin { version: 1, tx_uuid: uuid(1) }),
        owner: OwnerRecord {
            instance: actor(),
            pid: 1,
            pid_namespace: None,
            boot_id: None,
            process_start_ticks: None,
            host: "h".to_owned(),
        },
        actor: "ada".to_owned(),
        begun_at_unix_us: 3,
    }
}

fn live(begun: &NameBegun) -> NameDecided {
    begun.decided_live(actor(), 4)
}

fn void(begun: &NameBegun) -> NameDecided {
    begun.decided_void("its owner died", ProcessInstanceId::from_u128(6), 5)
}

fn deleted(text: &str, number: u64) -> NameDeleted {
    let (name, by, actor) = (name(text), actor(), "ada".to_owned());
    NameDeleted { name, number, by, actor, deleted_at_unix_us: 6 }
}

#[track_caller]
fn written<R: std::fmt::Debug>(put: Result<RecordPut<R>, NameError>) {
    let put = put.unwrap();
    assert!(matches!(put, RecordPut::Written), "{put:?}");
}

#[track_caller]
fn taken<R: std::fmt::Debug>(put: Result<RecordPut<R>, NameError>) -> R {
    match put.unwrap() {
        RecordPut::Taken(stands) => *stands,
        other => panic!("not taken: {other:?}"),
    }
}

/// A live branch of that name.
async fn created(names: &NameStore, text: &str, by: u128) -> NameBegun {
    let begun = begun(text, 1, by);
    written(names.put_begun(&begun).await);
    written(names.put_decided(&live(&begun)).await);
    begun
}

#[tokio::test]
async fn a_name_goes_through_its_states_and_starts_again_at_the_next_number() {
    let (_directory, on_disk) = local();
    for store in [memory(), on_disk] {
        let names = names(&store);
        let a = name("A/b");
        let state = async || names.look(&a).await.unwrap().state();
        assert_eq!(state().await, NameState::Free);
        let first = begun("A/b", 1, 1);
        written(names.put_begun(&first).await);
        assert_eq!(state().await, NameState::Creating(Unfinished::NotAsked));
        assert_eq!(names.look(&a).await.unwrap().begun(), Some(&first));
        written(names.put_decided(&live(&first)).await);
        assert_eq!(state().await, NameState::Live(Wholeness::NotAsked));
        let found = names.look(&a).await.unwrap().live().unwrap();
        assert_eq!((found.token, found.fork), (first.token(), first.fork.clone()));
        written(names.put_deleted(&deleted("A/b", 1)).await);
        let look = names.look(&a).await.unwrap();
        assert_eq!(look.state(), NameState::Deleted(Remains::NotAsked));
        assert_eq!((look.live(), look.listing.next_number()), (None, 2));
        let second = begun("A/b", 2, 2);
        written(names.put_begun(&second).await);
        written(names.put_decided(&void(&second)).await);
        assert_eq!(state().await, NameState::Void(Remains::NotAsked));
    }
}

#[tokio::test]
async fn of_two_beginnings_and_of_two_decisions_the_first_stands() {
    let names = names(&memory());
    let (first, second) = (begun("a", 1, 1), begun("a", 1, 2));
    written(names.put_begun(&first).await);
    assert_eq!(taken(names.put_begun(&second).await), first);
    written(names.put_decided(&void(&first)).await);
    assert_eq!(taken(names.put_decided(&live(&first)).await), void(&first));
    assert_eq!(names.look(&name("a")).await.unwrap().live(), None);
}

#[tokio::test]
async fn racing_decisions_leave_one_and_both_sides_know_which() {
    for _ in 0..16 {
        let names = names(&memory());
        let begun = begun("a", 1, 1);
        written(names.put_begun(&begun).await);
        let (owner, other) = (live(&begun), void(&begun));
        let (a, b) = tokio::join!(names.put_decided(&owner), names.put_decided(&other));
        match (a.unwrap(), b.unwrap()) {
            (RecordPut::Written, RecordPut::Taken(stands)) => assert_eq!(*stands, owner),
            (RecordPut::Taken(stands), RecordPut::Written) => assert_eq!(*stands, other),
            both => panic!("{both:?}"),
        }
    }
}

#[tokio::test]
async fn writing_the_same_record_again_finds_it_written() {
    let names = names(&memory());
    let begun = begun("a", 1, 1);
    written(names.put_begun(&begun).await);
    written(names.put_begun(&begun).await);
    written(names.put_deleted(&deleted("a", 1)).await);
    written(names.put_deleted(&deleted("a", 1)).await);
}

#[tokio::test]
async fn a_record_whose_put_lost_its_answer_is_written() {
    let (store, _) = memory().faulty(|_| Fault::LoseAck);
    written(names(&store).put_begun(&begun("a", 1, 1)).await);
}

#[tokio::test]
async fn a_record_that_another_wrote_while_the_answer_was_lost_is_taken() {
    let store = memory();
    written(names(&store).put_begun(&begun("a", 1, 1)).await);
    let (faulty, _) = store.faulty(|_| Fault::LoseAck);
    assert_eq!(taken(names(&faulty).put_begun(&begun("a", 1, 2)).await), begun("a", 1, 1));
}

#[tokio::test]
async fn a_record_whose_put_failed_is_unknown_and_settled_by_writing_it_again() {
    let store = memory();
    let (faulty, _) = store.faulty(|operation| match operation.number {
        1 => Fault::Fail,
        _ => Fault::Proceed,
    });
    let begun = begun("a", 1, 1);
    let put = names(&faulty).put_begun(&begun).await.unwrap();
    assert!(matches!(put, RecordPut::Unknown(_)), "{put:?}");
    written(names(&faulty).put_begun(&begun).await);
}

#[tokio::test]
async fn a_beginning_that_lands_late_below_the_highest_number_means_nothing() {
    let store = memory();
    let (dying, handle) = store.faulty(|_| Fault::LateDead);
    let put = names(&dying).put_begun(&begun("a", 1, 9)).await.unwrap();
    assert!(matches!(put, RecordPut::Unknown(_)), "{put:?}");
    let names = names(&store);
    let first = created(&names, "a", 1).await;
    written(names.put_deleted(&deleted("a", 1)).await);
    let second = begun("a", 2, 2);
    written(names.put_begun(&second).await);
    written(names.put_decided(&live(&second)).await);
    assert_eq!(handle.release_late().await, 1);
    let look = names.look(&name("a")).await.unwrap();
    assert!(look.is_of(&second.token()) && !look.is_of(&first.token()));
    assert!(names.still_means(&name("a"), 2).await.unwrap());
    assert!(!names.still_means(&name("a"), 1).await.unwrap());
}

#[tokio::test]
async fn a_deleted_incarnation_is_not_what_the_name_means() {
    let names = names(&memory());
    created(&names, "a", 1).await;
    assert!(names.still_means(&name("a"), 1).await.unwrap());
    written(names.put_deleted(&deleted("a", 1)).await);
    assert!(!names.still_means(&name("a"), 1).await.unwrap());
}

#[tokio::test]
async fn all_names_are_found_by_one_listing_and_one_read_each() {
    let store = memory();
    let records = names(&store);
    for (by, text) in ["a", "A", "a/b", "x.y"].into_iter().enumerate() {
        created(&records, text, by as u128 + 1).await;
    }
    written(records.put_deleted(&deleted("x.y", 1)).await);
    let (counted, counter) = store.counting();
    let looks = names(&counted).look_all().await.unwrap();
    let states: Vec<_> = looks.iter().map(|look| (look.name.as_str(), look.state())).collect();
    let live = NameState::Live(Wholeness::NotAsked);
    let dead = NameState::Deleted(Remains::NotAsked);
    assert_eq!(states, [("A", live), ("a", live), ("a/b", live), ("x.y", dead)]);
    let counts = counter.take();
    assert_eq!((counts.of(OperationKind::List), counts.total()), (1, 4), "{counts:?}");
}

#[tokio::test]
async fn the_records_of_a_name_are_not_those_of_one_that_begins_alike() {
    let names = names(&memory());
    created(&names, "a/b", 1).await;
    assert_eq!(names.list(&name("a")).await.unwrap(), NameListing::default());
}

#[tokio::test]
async fn objects_that_are_no_records_are_reported_and_change_nothing() {
    let store = memory();
    let records = names(&store);
    let first = created(&records, "a", 1).await;
    let inside = ["01.begin", "0.begin", "2", "2.live", "1.begin.bak", "x/2.begin", "-1.deleted"];
    let outside = ["A/1.begin", "loose", "_x/1.begin"];
    let inside = inside.map(|file| format!("a/{file}"));
    for path in inside.iter().map(String::as_str).chain(outside) {
        let path = format!("_control/branch/{path}");
        let id = AttemptId::from_u128(1);
        let _ = store.put_if_absent(&path, Bytes::from_static(b"?"), id).await.unwrap();
    }
    let all = records.list_all().await.unwrap();
    assert_eq!((all.names.len(), all.foreign.len()), (1, outside.len()));
    let look = records.look(&name("a")).await.unwrap();
    assert_eq!(look.listing.foreign.len(), inside.len());
    assert!(look.is_of(&first.token()));
}

#[tokio::test]
async fn a_record_that_cannot_be_understood_is_a_fact_that_names_the_object() {
    let store = memory();
    let records = names(&store);
    for (path, state) in [
        ("_control/branch/a/1.begin", (BegunFact::Unusable, DecidedFact::Absent)),
        ("_control/branch/b/1.decided", (BegunFact::Absent, DecidedFact::Unusable)),
    ] {
        let id = AttemptId::from_u128(1);
        let _ = store.put_if_absent(path, Bytes::from_static(b"short"), id).await.unwrap();
        let text = &path["_control/branch/".len()..][..1];
        let look = records.look(&name(text)).await.unwrap();
        assert_eq!((look.facts.begun, look.facts.decided), state);
        assert_eq!(look.state(), NameState::Unusable);
        let Some(LookedAt::Unusable(error)) = &look.record else { panic!("{look:?}") };
        assert!(error.to_string().contains(path), "{error}");
        written(records.put_deleted(&deleted(text, 1)).await);
        let look = records.look(&name(text)).await.unwrap();
        assert_eq!(look.state(), NameState::Deleted(Remains::NotAsked));
    }
}

#[tokio::test]
async fn a_record_of_another_graph_or_name_is_refused() {
    let store = memory();
    created(&names(&store), "a", 1).await;
    let foreign = NameStore::new(store.clone(), IdentityDomain::from_u128(99));
    assert_eq!(foreign.look(&name("a")).await.unwrap().state(), NameState::Unusable);
    let bytes = store.get("_control/branch/a/1.decided").await.unwrap().unwrap();
    let id = AttemptId::from_u128(1);
    let _ = store.put_if_absent("_control/branch/b/1.decided", bytes, id).await.unwrap();
    let look = names(&store).look(&name("b")).await.unwrap();
    assert_eq!(look.state(), NameState::Unusable);
}

#[tokio::test]
async fn a_record_in_the_place_of_ours_that_cannot_be_understood_is_refused() {
    let store = memory();
    let id = AttemptId::from_u128(1);
    let path = "_control/branch/a/1.begin";
    let _ = store.put_if_absent(path, Bytes::from_static(b"?"), id).await.unwrap();
    let refused = names(&store).put_begun(&begun("a", 1, 1)).await.unwrap_err();
    assert!(matches!(refused, NameError::Unusable { .. }), "{refused}");
}

#[tokio::test]
async fn a_delete_costs_three_requests() {
    let store = memory();
    let first = created(&names(&store), "a", 1).await;
    let (counted, counter) = store.counting();
    let names = names(&counted);
    let look = names.look(&name("a")).await.unwrap();
    assert!(look.state().rights().delete && look.is_of(&first.token()));
    written(names.put_deleted(&deleted("a", 1)).await);
    assert_eq!(counter.take().total(), 3);
}

#[tokio::test]
async fn a_name_whose_record_goes_while_it_is_read_is_looked_at_again() {
    let store = memory();
    let records = names(&store);
    created(&records, "a", 1).await;
    let (held, mut requests) = store.holding(|operation| operation.kind == OperationKind::Get);
    let names = names(&held);
    let wanted = name("a");
    let (look, ()) = tokio::join!(names.look(&wanted), async {
        let request = requests.next().await.unwrap();
        written(records.put_deleted(&deleted("a", 1)).await);
        written(records.put_begun(&begun("a", 2, 2)).await);
        store.delete("_control/branch/a/1.decided").await.unwrap();
        request.release();
        requests.next().await.unwrap().release();
    });
    assert_eq!(look.unwrap().state(), NameState::Creating(Unfinished::NotAsked));
}
