//! Older rows: they spill to cold fragments, and whoever looks back finds them there.

use std::collections::BTreeSet;

use graphwrite_protocol_types::CommitId;

use super::world::*;
use crate::*;

#[tokio::test]
async fn nothing_spills_before_the_sixty_fifth_commit() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    commit_many(&world, &manifest, 64).await;
    assert!(manifest.known_state().cold_fragments().is_empty());
    assert_eq!(manifest.known_state().recent_commits().count(), 64);
    commit_many(&world, &manifest, 1).await;
    let state = world.open().await.known_state();
    assert_eq!(state.cold_fragments().len(), 1);
    assert_eq!(state.recent_commits().count(), 16);
}

#[tokio::test]
async fn every_commit_and_outcome_is_found_after_many_spills() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let writes = commit_many(&world, &manifest, 200).await;
    let state = world.open().await.known_state();
    assert!(!state.cold_fragments().is_empty());
    assert_eq!(state.hot(), manifest.known_state().hot());
    for write in writes.iter().step_by(13) {
        let id = write.intent.lineage.commit;
        let commit = state.commit(id).await.unwrap().unwrap();
        assert_eq!(commit.message, write.intent.lineage.message);
        let by_attempt = state.outcome_of_attempt(write.intent.attempt).await.unwrap().unwrap();
        let by_operation =
            state.outcome_of_operation(&write.intent.operation).await.unwrap().unwrap();
        assert_eq!(by_attempt, by_operation);
        assert_eq!(by_attempt.commit(), Some(id));
    }
    assert_eq!(check_history(&world).await.len(), 200);
}

#[tokio::test]
async fn the_log_is_newest_first_and_stops_at_its_limit() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let writes = commit_many(&world, &manifest, 150).await;
    let newest_first: Vec<CommitId> =
        writes.iter().rev().map(|write| write.intent.lineage.commit).collect();
    let state = world.open().await.known_state();
    for limit in [0, 1, 16, 17, 100, 150, 1_000] {
        let log = state.commits(limit).await.unwrap();
        let log: Vec<CommitId> = log.into_iter().map(|row| row.commit).collect();
        assert_eq!(log, newest_first[..limit.min(150)], "limit {limit}");
    }
}

#[tokio::test]
async fn what_never_happened_is_not_found() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    commit_many(&world, &manifest, 70).await;
    let state = manifest.known_state();
    assert_eq!(state.outcome_of_attempt(attempt(1 << 70)).await.unwrap(), None);
    assert_eq!(state.outcome_of_operation(&operation("never")).await.unwrap(), None);
    assert_eq!(state.commit(CommitId::from_u128(3)).await.unwrap(), None);
}

#[tokio::test]
async fn an_operation_that_committed_and_spilled_since_the_base_is_taken() {
    let world = World::in_memory().await;
    let (a, b) = (world.open().await, world.open().await);
    let base = b.known_state();
    let second = world.write(&base).probes(table(9)).of_operation("import");
    let first = world.write(&base).writes(table(1)).of_operation("import");
    first.commit(&a, &base).await;
    commit_many(&world, &a, 70).await;
    let in_hot = a.known_state().recent_outcomes().any(|row| row.operation == operation("import"));
    assert!(!in_hot, "the row must have spilled for this test to say anything");
    let outcome = b.publish(second.transition(), &base).await.unwrap();
    assert!(matches!(outcome, PublishOutcome::OperationTaken { .. }), "{outcome:?}");
}

#[tokio::test]
async fn an_attempt_that_was_aborted_and_spilled_since_the_base_is_decided() {
    let world = World::in_memory().await;
    let (a, b) = (world.open().await, world.open().await);
    let base = b.known_state();
    let write = world.write(&base);
    let _ = a.publish(write.abort(), &base).await.unwrap();
    commit_many(&world, &a, 70).await;
    let outcome = b.publish(write.transition(), &base).await.unwrap();
    assert!(matches!(outcome, PublishOutcome::AlreadyDecided { .. }), "{outcome:?}");
}

#[tokio::test]
async fn a_roll_forward_over_a_later_base_searches_the_cold_rows_too() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let armed_over = manifest.known_state();
    let write = world.write(&armed_over);
    let first = world.write(&armed_over).of_operation(write.intent.operation.as_str());
    first.commit(&manifest, &armed_over).await;
    commit_many(&world, &manifest, 70).await;
    let later = manifest.known_state();
    let outcome = manifest.publish(write.transition(), &later).await.unwrap();
    assert!(matches!(outcome, PublishOutcome::OperationTaken { .. }), "{outcome:?}");
    let aborting = manifest.publish(first.abort(), &later).await.unwrap();
    assert!(matches!(aborting, PublishOutcome::AlreadyDecided { .. }), "{aborting:?}");
}

#[tokio::test]
async fn a_search_since_an_earlier_state_sees_what_has_spilled_in_between() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let earlier = manifest.known_state();
    let writes = commit_many(&world, &manifest, 70).await;
    let later = manifest.known_state();
    let operation = &writes[0].intent.operation;
    let found = later.outcome_of_operation_since(&earlier, operation).await.unwrap();
    assert_eq!(found.unwrap().attempt, writes[0].intent.attempt);
    let nothing_new = later.outcome_of_operation_since(&later, operation).await.unwrap();
    assert_eq!(nothing_new, None, "its only row is in a fragment that was searched");
}

#[tokio::test]
async fn every_row_is_in_exactly_one_fragment() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    commit_many(&world, &manifest, 180).await;
    let state = world.open().await.known_state();
    let cold: u64 = state.cold_fragments().iter().map(|fragment| fragment.rows).sum();
    let hot = state.recent_commits().count() + state.recent_outcomes().count();
    assert_eq!(cold + hot as u64, 2 * 180);
    let commits = state.commits(usize::MAX).await.unwrap();
    let distinct: BTreeSet<CommitId> = commits.iter().map(|row| row.commit).collect();
    assert_eq!((commits.len(), distinct.len()), (180, 180));
}

#[tokio::test]
async fn operation_ids_with_quotes_are_found_as_they_are() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let base = manifest.known_state();
    let tricky = "'or''1'='1";
    let write = world.write(&base).writes(table(1)).of_operation(tricky);
    write.commit(&manifest, &base).await;
    commit_many(&world, &manifest, 70).await;
    let state = manifest.known_state();
    let found = state.outcome_of_operation(&operation(tricky)).await.unwrap().unwrap();
    assert_eq!(found.attempt, write.intent.attempt);
    assert_eq!(state.outcome_of_operation(&operation("'")).await.unwrap(), None);
}

#[tokio::test]
async fn every_commit_opens_the_state_that_it_made_and_no_other() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let mut made = Vec::new();
    for _ in 0..70 {
        commit_many(&world, &manifest, 1).await;
        made.push(manifest.known_state().base().clone());
    }
    let fresh = world.open().await;
    let commits = fresh.known_state().commits(usize::MAX).await.unwrap();
    for (commit, base) in commits.iter().rev().zip(&made).step_by(7) {
        match fresh.state_at(commit).await.unwrap() {
            PastState::Found(state) => assert_eq!(state.base(), base),
            other => panic!("{other:?}"),
        }
    }
    let (young, old) = (&commits[3], &commits[4]);
    let mixed = CommitRow { manifest_version: old.manifest_version, ..young.clone() };
    let other = fresh.state_at(&mixed).await.unwrap();
    assert!(matches!(other, PastState::Other { .. }), "a number is no identity: {other:?}");
    let gone = CommitRow { manifest_version: 10_000, ..young.clone() };
    assert!(matches!(fresh.state_at(&gone).await.unwrap(), PastState::Gone));
}

#[tokio::test]
async fn the_audit_has_every_decision_of_others_newest_first_hot_and_cold() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let mut expected = Vec::new();
    for n in 0..5_u128 {
        let base = manifest.known_state();
        let write = world.write(&base).writes(table(1));
        let (transition, attempt) = match n % 3 {
            0 => (seal(&format!("sealed-{n}"), n + 1), attempt(n + 1)),
            1 => (write.abort(), write.intent.attempt),
            _ => (write.roll_forward(77), write.intent.attempt),
        };
        let _ = manifest.publish(transition, &base).await.unwrap();
        expected.insert(0, attempt);
        commit_many(&world, &manifest, 30).await;
    }
    let state = world.open().await.known_state();
    assert!(!state.cold_fragments().is_empty());
    for limit in [0, 1, 3, 5, 50] {
        let audit = state.audit(limit).await.unwrap();
        let found: Vec<_> = audit.iter().map(|row| row.attempt).collect();
        assert_eq!(found, expected[..limit.min(5)], "limit {limit}");
    }
}
