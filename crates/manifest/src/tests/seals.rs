//! A sealed operation never commits, and a committed one is never sealed (design 01 section 5).

use graphwrite_protocol_types::ProcessInstanceId;

use super::world::*;
use crate::hot::Concerned;
use crate::*;

fn sealed(outcome: PublishOutcome) -> OutcomeRow {
    match outcome {
        PublishOutcome::Sealed { outcome, .. } => *outcome,
        other => panic!("not sealed: {other:?}"),
    }
}

/// The rows that decide the operation, hot and cold; one at most may ever exist.
async fn deciding_rows(world: &World, name: &str) -> Vec<OutcomeRow> {
    let state = world.open().await.known_state();
    let name = operation(name);
    let asked = Concerned::one(attempt(0), Some(&name));
    let cold = state.cold_outcomes(state.cold_ids(), &asked).await.unwrap();
    let hot = state.hot().outcomes_of(&asked).cloned();
    cold.into_iter().chain(hot).filter(OutcomeRow::decides_operation).collect()
}

#[tokio::test]
async fn a_seal_is_one_commit_that_changes_no_head_and_makes_no_lineage() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    commit_many(&world, &manifest, 1).await;
    let base = manifest.known_state();
    let outcome = manifest.publish(seal("import", 1 << 80), &base).await.unwrap();
    let state = outcome.state().clone();
    let row = sealed(outcome);
    assert_eq!((row.attempt, row.request), (attempt(1 << 80), None));
    assert_eq!(row.sealed(), Some("sent again elsewhere"));
    assert_eq!(state.version(), base.version() + 1);
    assert_eq!(state.base().heads, base.base().heads);
    assert_eq!(state.base().graph_head, base.base().graph_head);
    assert_eq!(check_history(&world).await.len(), 1);
}

#[tokio::test]
async fn a_commit_of_a_sealed_operation_finds_the_seal_and_writes_nothing() {
    let world = World::in_memory().await;
    let (writer, other) = (world.open().await, world.open().await);
    let base = writer.known_state();
    let write = world.write(&base).writes(table(1)).of_operation("import");
    let row = sealed(other.publish(seal("import", 1 << 80), &base).await.unwrap());
    for transition in [write.transition(), write.roll_forward(77)] {
        match writer.publish(transition, &base).await.unwrap() {
            PublishOutcome::OperationSealed { outcome, .. } => assert_eq!(*outcome, row),
            other => panic!("not refused: {other:?}"),
        }
    }
    assert!(check_history(&world).await.is_empty());
}

#[tokio::test]
async fn a_seal_of_a_committed_operation_answers_with_the_commit() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let base = manifest.known_state();
    let write = world.write(&base).writes(table(1)).of_operation("import");
    write.commit(&manifest, &base).await;
    match manifest.publish(seal("import", 1 << 80), &base).await.unwrap() {
        PublishOutcome::OperationTaken { outcome, state } => {
            assert_eq!(outcome.commit(), Some(write.intent.lineage.commit));
            assert_eq!(state.version(), base.version() + 1, "nothing was written");
        }
        other => panic!("sealed all the same: {other:?}"),
    }
}

#[tokio::test]
async fn a_second_seal_converges_on_the_first() {
    let world = World::in_memory().await;
    let (a, b) = (world.open().await, world.open().await);
    let base = a.known_state();
    let first = sealed(a.publish(seal("import", 1 << 80), &base).await.unwrap());
    let second = sealed(b.publish(seal("import", 1 << 81), &base).await.unwrap());
    assert_eq!(second, first);
    assert_eq!(deciding_rows(&world, "import").await, [first]);
}

#[tokio::test]
async fn a_seal_racing_a_commit_leaves_exactly_one_deciding_row() {
    let (mut committed, mut seals) = (0, 0);
    for round in 0..24_u64 {
        let world = World::in_memory().await;
        let (writer, other) = (world.open().await, world.open().await);
        let base = writer.known_state();
        let write = world.write(&base).writes(table(1)).of_operation("import");
        let (commit, seal) = if round % 2 == 0 {
            futures::join!(
                writer.publish(write.transition(), &base),
                other.publish(seal("import", 1 << 80), &base)
            )
        } else {
            let (seal, commit) = futures::join!(
                other.publish(seal("import", 1 << 80), &base),
                writer.publish(write.transition(), &base)
            );
            (commit, seal)
        };
        match (commit.unwrap(), seal.unwrap()) {
            (PublishOutcome::Committed { .. }, PublishOutcome::OperationTaken { .. }) => {
                committed += 1;
            }
            (PublishOutcome::OperationSealed { .. }, PublishOutcome::Sealed { .. }) => seals += 1,
            other => panic!("{other:?}"),
        }
        assert_eq!(deciding_rows(&world, "import").await.len(), 1);
    }
    assert_eq!(committed + seals, 24);
    assert!(committed > 0 && seals > 0, "{committed} committed, {seals} sealed");
}

#[tokio::test]
async fn a_seal_that_spilled_since_the_base_still_refuses_the_commit() {
    let world = World::in_memory().await;
    let (a, b) = (world.open().await, world.open().await);
    let base = b.known_state();
    let write = world.write(&base).probes(table(9)).of_operation("import");
    sealed(a.publish(seal("import", 1 << 80), &base).await.unwrap());
    commit_many(&world, &a, 70).await;
    let in_hot = a.known_state().recent_outcomes().any(|row| row.sealed().is_some());
    assert!(!in_hot, "the row must have spilled for this test to say anything");
    let outcome = b.publish(write.transition(), &base).await.unwrap();
    assert!(matches!(outcome, PublishOutcome::OperationSealed { .. }), "{outcome:?}");
    let again = b.publish(seal("import", 1 << 81), &b.known_state()).await.unwrap();
    assert_eq!(sealed(again).attempt, attempt(1 << 80));
}

#[tokio::test]
async fn a_commit_that_spilled_is_found_by_the_seal() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let base = manifest.known_state();
    let write = world.write(&base).writes(table(1)).of_operation("import");
    write.commit(&manifest, &base).await;
    commit_many(&world, &manifest, 70).await;
    let outcome = manifest.publish(seal("import", 1 << 80), &manifest.known_state()).await.unwrap();
    assert!(matches!(outcome, PublishOutcome::OperationTaken { .. }), "{outcome:?}");
}

#[tokio::test]
async fn an_attempt_of_a_sealed_operation_can_be_aborted_and_the_seal_still_answers() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let base = manifest.known_state();
    let write = world.write(&base).writes(table(1)).of_operation("import");
    sealed(manifest.publish(seal("import", 1 << 80), &base).await.unwrap());
    let aborted = manifest.publish(write.abort(), &base).await.unwrap();
    let PublishOutcome::Aborted { state, .. } = aborted else { panic!("{aborted:?}") };
    let moves = move_pins_of(write.intent.attempt, vec![], true);
    let state = manifest.publish(moves, &state).await.unwrap().state().clone();
    let row = state.outcome_of_operation(&operation("import")).await.unwrap().unwrap();
    assert_eq!(row.attempt, attempt(1 << 80), "younger rows of attempts do not hide it");
}

#[tokio::test]
async fn a_seal_takes_nothing_back() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let base = manifest.known_state();
    sealed(manifest.publish(seal("import", 1 << 80), &base).await.unwrap());
    let moves = move_pins_of(attempt(1 << 80), vec![], true);
    let refused = manifest.publish(moves, &manifest.known_state()).await.unwrap_err();
    let invalid = InvalidTransition::NotAborted { attempt: attempt(1 << 80) };
    assert!(matches!(&refused, ManifestError::Invalid(found) if *found == invalid), "{refused}");
}

#[tokio::test]
async fn a_roll_forward_names_who_published_unless_it_was_the_owner() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let owner = 5;
    for by in [owner, 77] {
        let base = manifest.known_state();
        let write = world.write(&base).writes(table(1));
        let outcome = manifest.publish(write.roll_forward(by), &base).await.unwrap();
        assert!(matches!(outcome, PublishOutcome::Committed { .. }), "{outcome:?}");
        let state = world.open().await.known_state();
        let row = state.outcome_of_attempt(write.intent.attempt).await.unwrap().unwrap();
        let commit = write.intent.lineage.commit;
        let expected = if by == owner {
            OutcomeKind::Committed { commit }
        } else {
            OutcomeKind::RolledForward { commit, by: ProcessInstanceId::from_u128(by) }
        };
        assert_eq!((row.kind.clone(), row.commit()), (expected, Some(commit)));
    }
    assert_eq!(check_history(&world).await.len(), 2);
}
