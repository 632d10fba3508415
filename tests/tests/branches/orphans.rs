//! What a deleted branch leaves in flight is discarded: said on main, and its records go. It stands
//! in nobody's way before, and nothing that it made is touched (RFC 7, delete disposition).

use graphwrite_coordinator::{
    AuditedDecision, BarrierOutcome, Graph, LoadMode, LoadRequest, RecoverMode, RecoverRequest,
    Resolution, Store,
};
use graphwrite_protocol_types::{AttemptId, BranchToken, WriteOutcome};
use graphwrite_substrate::Fault;

use super::left::{Left, ROWS, everything, intents, is_record_of_deletion, plant};
use super::scene::{delete, fork, graph, open};
use crate::crash::at_nth;
use crate::crash::log::{is_effect, is_manifest_commit};
use crate::judge::{Reference, open_impatient, seen_by};
use crate::world::{BASE, append, input, load, own_process};

fn base() -> Reference {
    Reference::default().with(BASE)
}

/// The attempts that the audit of main calls discarded, each with the incarnation that it was on.
async fn discarded(main: &Graph) -> Vec<(AttemptId, BranchToken)> {
    let audit = main.audit(usize::MAX).await.unwrap();
    let of = |decision| match decision {
        AuditedDecision::Discarded { branch } => Some(*branch),
        _ => None,
    };
    let found = audit.into_iter().filter_map(|it| Some((it.attempt, of(it.decision)?)));
    let mut found: Vec<_> = found.collect();
    found.sort_by_key(|(attempt, _)| *attempt);
    found
}

/// Everything but control records and the manifest of main.
async fn data(store: &Store) -> Vec<String> {
    let all = store.list("").await.unwrap().into_iter().map(|object| object.path);
    let is_data = |path: &String| path.starts_with("tables/") || path.contains("/tree/");
    all.filter(is_data).collect()
}

/// Main and its next writes are as if the branch had never been.
async fn main_goes_on(store: &Store) {
    let main = open_impatient(store).await;
    base().assert_seen(&seen_by(&main).await);
    append(&main, &[r#"{"type":"Person","data":{"slug":"next"}}"#]).await;
    main.settled().await;
}

/// Deletes the branch by a process that dies as soon as the record stands.
async fn delete_and_die(store: &Store, branch: &str) {
    let selects = at_nth(1, is_record_of_deletion, Fault::DieAfter);
    let (client, faults) = store.reopened().faulty(selects);
    let main = Graph::open(client, own_process()).await.unwrap();
    let _ = delete(&main, branch).await;
    main.settled().await;
    assert!(faults.is_dead(), "no test passes because nothing happened");
}

#[tokio::test]
async fn an_intent_in_any_state_is_discarded_behind_the_deletion_of_its_branch() {
    for left in Left::ALL {
        let (store, main) = graph().await;
        let token = fork(&main, "a", "main").await.on_branch();
        let attempt = left.on(&store, "a").await;
        let before = data(&store).await;
        let deleter = open_impatient(&store).await;
        delete(&deleter, "a").await.unwrap();
        deleter.settled().await;
        assert_eq!(intents(&store).await, Vec::<String>::new(), "{left:?}");
        assert_eq!(discarded(&main).await, [(attempt, token)], "{left:?}");
        assert_eq!(data(&store).await, before, "{left:?}: nothing physical goes");
        main_goes_on(&store).await;
    }
}

#[tokio::test]
async fn an_intent_that_a_dead_deleter_left_is_explained_and_discarded_by_a_recovery_of_main() {
    for left in Left::ALL {
        let (store, main) = graph().await;
        fork(&main, "a", "main").await;
        let attempt = left.on(&store, "a").await;
        delete_and_die(&store, "a").await;
        main_goes_on(&store).await;
        let recoverer = open_impatient(&store).await;
        let pending = recoverer.pending_intents().await.unwrap();
        let [orphan] = &pending.intents[..] else { panic!("{left:?}: {pending:?}") };
        assert_eq!((orphan.attempt.as_str(), orphan.rule), (attempt.to_string().as_str(), 3));
        assert_eq!((orphan.branch.as_str(), orphan.decision.as_str()), ("a", "discard orphan"));
        let intent = recoverer.intent(attempt).await.unwrap().expect("it can be shown");
        assert_eq!(intent.attempt, attempt);
        let report = recoverer.recover(everything()).await.unwrap();
        assert_eq!(report.outcome, BarrierOutcome::Clean, "{left:?}");
        let [(ended, Resolution::Discarded { .. })] = &report.resolved[..] else {
            panic!("{report:?}")
        };
        assert_eq!(*ended, attempt);
        assert_eq!(discarded(&main).await.len(), 1);
        assert_eq!(intents(&store).await, Vec::<String>::new());
        assert!(recoverer.pending_intents().await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn one_orphan_is_resolved_by_its_attempt_and_the_others_stay() {
    let (store, main) = graph().await;
    for name in ["a", "b"] {
        fork(&main, name, "main").await;
    }
    let (one, other) = (Left::Half.on(&store, "a").await, Left::Whole.on(&store, "b").await);
    delete_and_die(&store, "a").await;
    delete_and_die(&store, "b").await;
    let recoverer = open_impatient(&store).await;
    let request = RecoverRequest { attempt: Some(one), ..everything() };
    let report = recoverer.recover(request).await.unwrap();
    assert!(matches!(&report.resolved[..], [(it, Resolution::Discarded { .. })] if *it == one));
    let pending = recoverer.pending_intents().await.unwrap().intents;
    let pending: Vec<_> = pending.into_iter().map(|intent| intent.attempt).collect();
    assert_eq!(pending, [other.to_string()]);
}

#[tokio::test]
async fn the_intent_of_a_branch_that_lives_is_not_one_of_mains() {
    let (store, main) = graph().await;
    fork(&main, "a", "main").await;
    Left::Half.on(&store, "a").await;
    let recoverer = open_impatient(&store).await;
    assert!(recoverer.pending_intents().await.unwrap().is_empty());
    let report = recoverer.recover(everything()).await.unwrap();
    assert!(report.resolved.is_empty() && report.outcome == BarrierOutcome::Clean, "{report:?}");
    assert_eq!(intents(&store).await.len(), 1);
    let branch = open(&recoverer, "a").await;
    assert_eq!(branch.recover(everything()).await.unwrap().resolved.len(), 1);
}

#[tokio::test]
async fn a_recovery_that_may_only_go_forward_discards_nothing_and_says_so() {
    let (store, main) = graph().await;
    fork(&main, "a", "main").await;
    let attempt = Left::Whole.on(&store, "a").await;
    delete_and_die(&store, "a").await;
    let recoverer = open_impatient(&store).await;
    let request = RecoverRequest { mode: RecoverMode::RollForward, ..everything() };
    let report = recoverer.recover(request).await.unwrap();
    assert!(matches!(&report.resolved[..], [(it, Resolution::Stopped(_))] if *it == attempt));
    assert!(matches!(report.outcome, BarrierOutcome::RecoveryRequired(_)), "{report:?}");
    assert_eq!(intents(&store).await.len(), 1);
    assert_eq!(discarded(&main).await, []);
}

#[tokio::test]
async fn many_orphans_of_many_branches_are_discarded_by_one_commit() {
    let (store, main) = graph().await;
    let mut expected = Vec::new();
    for number in 0..6 {
        let name = format!("agent/{number}");
        let token = fork(&main, &name, "main").await.on_branch();
        expected.push((Left::ALL[number % 4].on(&store, &name).await, token));
        delete_and_die(&store, &name).await;
    }
    expected.sort_by_key(|(attempt, _)| *attempt);
    let recoverer = open_impatient(&store).await;
    let before = recoverer.snapshot().await.unwrap().manifest_version();
    let report = recoverer.recover(everything()).await.unwrap();
    assert_eq!((report.resolved.len(), &report.outcome), (6, &BarrierOutcome::Clean));
    assert_eq!(recoverer.snapshot().await.unwrap().manifest_version(), before + 1);
    assert_eq!(discarded(&main).await, expected);
    assert_eq!(main.log(usize::MAX).await.unwrap().len(), 1, "no lineage");
}

#[tokio::test]
async fn a_recoverer_that_dies_after_the_row_is_followed_by_one_that_writes_no_second_row() {
    let (store, main) = graph().await;
    fork(&main, "a", "main").await;
    let attempt = Left::Half.on(&store, "a").await;
    delete_and_die(&store, "a").await;
    let selects = at_nth(1, is_manifest_commit, Fault::DieAfter);
    let (client, faults) = store.reopened().faulty(selects);
    let first = Graph::open(client, own_process()).await.unwrap();
    let _ = first.recover(everything()).await;
    assert!(faults.is_dead());
    assert_eq!(intents(&store).await.len(), 1);
    let second = open_impatient(&store).await;
    let before = second.snapshot().await.unwrap().manifest_version();
    let report = second.recover(everything()).await.unwrap();
    assert!(matches!(&report.resolved[..], [(it, Resolution::Discarded { .. })] if *it == attempt));
    assert_eq!(second.snapshot().await.unwrap().manifest_version(), before);
    assert_eq!(discarded(&main).await.len(), 1);
}

#[tokio::test]
async fn a_record_that_comes_back_after_its_discard_goes_without_a_second_row() {
    let (store, main) = graph().await;
    fork(&main, "a", "main").await;
    Left::Armed.on(&store, "a").await;
    let path = intents(&store).await.remove(0);
    let bytes = store.get(&path).await.unwrap().unwrap();
    delete(&main, "a").await.unwrap();
    main.settled().await;
    assert_eq!(discarded(&main).await.len(), 1);
    plant(&store, &path, bytes.into()).await;
    open_impatient(&store).await.recover(everything()).await.unwrap();
    assert_eq!(intents(&store).await, Vec::<String>::new());
    assert_eq!(discarded(&main).await.len(), 1);
}

#[tokio::test]
async fn a_record_that_cannot_be_read_stops_neither_main_nor_the_other_orphans() {
    let (store, main) = graph().await;
    for name in ["a", "b"] {
        fork(&main, name, "main").await;
    }
    Left::Half.on(&store, "a").await;
    let damaged = intents(&store).await.remove(0);
    let other = Left::Half.on(&store, "b").await;
    let mut bytes = store.get(&damaged).await.unwrap().unwrap().to_vec();
    bytes.truncate(bytes.len() / 2);
    plant(&store, &damaged, bytes).await;
    delete_and_die(&store, "a").await;
    delete_and_die(&store, "b").await;
    main_goes_on(&store).await;
    let recoverer = open_impatient(&store).await;
    let report = recoverer.recover(everything()).await.unwrap();
    assert!(matches!(&report.resolved[..], [(it, Resolution::Discarded { .. })] if *it == other));
    let BarrierOutcome::Blocked(object) = &report.outcome else { panic!("{report:?}") };
    assert_eq!((object.object.as_str(), object.is_orphan), (damaged.as_str(), true));
    assert!(object.to_string().contains("stops nobody"), "{object}");
    assert_eq!(intents(&store).await, [damaged]);
    let again = fork(&main, "a", "main").await;
    append(&again, &[r#"{"type":"Person","data":{"slug":"again"}}"#]).await;
}

#[tokio::test]
async fn an_owner_that_lives_is_not_waited_for_and_is_told_when_it_goes_on() {
    let (store, main) = graph().await;
    fork(&main, "a", "main").await;
    let (client, mut held) = store.reopened().holding(is_effect);
    let owner = open(&Graph::open(client, own_process()).await.unwrap(), "a").await;
    let request = LoadRequest::new(input(&owner, ROWS).await, LoadMode::Upsert);
    let writing = tokio::spawn({
        let owner = owner.clone();
        async move { owner.load(request).await }
    });
    let first = held.next().await.expect("it is held before its first effect");
    delete(&main, "a").await.unwrap();
    main.settled().await;
    assert_eq!(discarded(&main).await.len(), 1, "its owner lives and is young");
    let fresh = fork(&main, "a", "main").await;
    first.release();
    let releasing = tokio::spawn(async move {
        while let Some(next) = held.next().await {
            next.release();
        }
    });
    let outcome = writing.await.unwrap().unwrap();
    let WriteOutcome::BranchDeleted(deleted) = &outcome else { panic!("{outcome:?}") };
    assert!(deleted.landed.is_some(), "its commit is on the dead branch: {deleted:?}");
    owner.settled().await;
    releasing.abort();
    base().assert_seen(&seen_by(&fresh).await);
    main_goes_on(&store).await;
    assert_eq!(intents(&store).await, Vec::<String>::new());
}

#[tokio::test]
async fn what_main_records_of_an_orphan_says_nothing_of_a_request_of_that_id_on_main() {
    let (store, main) = graph().await;
    fork(&main, "a", "main").await;
    let (client, faults) = store.reopened().faulty(at_nth(1, is_effect, Fault::DieAfter));
    let branch = open(&Graph::open(client, own_process()).await.unwrap(), "a").await;
    let mut request = LoadRequest::new(input(&branch, ROWS).await, LoadMode::Upsert);
    request.operation = Some("nightly".parse().unwrap());
    let _ = branch.load(request).await;
    assert!(faults.is_dead());
    delete(&main, "a").await.unwrap();
    main.settled().await;
    assert_eq!(discarded(&main).await.len(), 1);
    let mut request = LoadRequest::new(input(&main, ROWS).await, LoadMode::Upsert);
    request.operation = Some("nightly".parse().unwrap());
    let outcome = main.load(request).await.unwrap();
    assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
}

#[tokio::test]
async fn what_is_left_of_attempts_that_are_over_is_swept_with_the_orphans() {
    let (store, main) = graph().await;
    let branch = fork(&main, "a", "main").await;
    let attempt = load(&branch, LoadMode::Upsert, ROWS).await;
    let WriteOutcome::Committed(receipt) = attempt else { panic!("{attempt:?}") };
    branch.settled().await;
    let path = format!("_recovery/{}/{}.confirm", branch.on_branch().native, receipt.attempt);
    plant(&store, &path, b"left".to_vec()).await;
    delete_and_die(&store, "a").await;
    let report = open_impatient(&store).await.recover(everything()).await.unwrap();
    assert_eq!(report.swept, [receipt.attempt]);
    assert_eq!(store.list("_recovery").await.unwrap(), []);
}
