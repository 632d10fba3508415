//! Pins that move over the same rows: compensation and adopted fences (K3).

use graphwrite_protocol_types::*;

use super::world::*;
use crate::*;

/// A graph in which tables 1 and 2 have rows and an attempt on them was aborted.
async fn aborted() -> (World, Manifest, Write) {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    commit_many(&world, &manifest, 2).await;
    let base = manifest.known_state();
    let write = world.write(&base).writes(table(1)).writes(table(2));
    let _ = manifest.publish(write.abort(), &base).await.unwrap();
    (world, manifest, write)
}

fn pin_of(state: &ManifestState, identity: TableIdentity) -> Pin {
    state.base().head(identity).live().unwrap().pin.clone()
}

fn close(state: &ManifestState, identity: TableIdentity, write: &Write) -> PinMove {
    let from = pin_of(state, identity);
    PinMove { identity, to: fence(write.intent.attempt, &from), from }
}

fn fates(outcome: &PublishOutcome) -> Vec<PinFate> {
    match outcome {
        PublishOutcome::PinsMoved { fates, .. } => fates.iter().map(|(_, fate)| *fate).collect(),
        other => panic!("no pins moved: {other:?}"),
    }
}

fn move_pins(write: &Write, moves: Vec<PinMove>, rolled_back: bool) -> Transition<'static> {
    move_pins_of(write.intent.attempt, moves, rolled_back)
}

#[tokio::test]
async fn pins_move_with_the_rolled_back_row_and_keep_content_and_lineage() {
    let (world, manifest, write) = aborted().await;
    let before = manifest.known_state();
    let moves = vec![close(&before, table(1), &write), close(&before, table(2), &write)];
    let outcome = manifest.publish(move_pins(&write, moves.clone(), true), &before).await.unwrap();
    assert_eq!(fates(&outcome), [PinFate::Moved, PinFate::Moved]);
    let after = world.open().await.known_state();
    for step in &moves {
        let (old, new) = (before.base().head(step.identity), after.base().head(step.identity));
        assert!(old.same_content(new));
        assert_eq!(pin_of(&after, step.identity), step.to);
    }
    assert_eq!(after.base().graph_head, before.base().graph_head);
    let row = after.outcome_of_attempt(write.intent.attempt).await.unwrap().unwrap();
    assert_eq!(row.kind, OutcomeKind::RolledBack);
    assert_eq!(row.operation, write.intent.operation);
    check_history(&world).await;
}

#[tokio::test]
async fn a_pin_that_is_not_where_its_move_starts_is_left_alone_and_reported() {
    let (world, manifest, write) = aborted().await;
    let base = manifest.known_state();
    let moves = vec![
        close(&base, table(1), &write),
        close(&base, table(2), &write),
        PinMove { identity: table(3), ..close(&base, table(1), &write) },
    ];
    let winner = world.write(&base).writes(table(2));
    winner.commit(&world.open().await, &base).await;
    let outcome = manifest.publish(move_pins(&write, moves, false), &base).await.unwrap();
    assert_eq!(fates(&outcome), [PinFate::Moved, PinFate::Elsewhere, PinFate::Elsewhere]);
    assert_eq!(pin_of(outcome.state(), table(2)), pin(winner.intent.attempt, 2));
}

#[tokio::test]
async fn moving_pins_again_changes_nothing() {
    let (_world, manifest, write) = aborted().await;
    let base = manifest.known_state();
    let moves = vec![close(&base, table(1), &write)];
    let first = manifest.publish(move_pins(&write, moves.clone(), true), &base).await.unwrap();
    let again = manifest.publish(move_pins(&write, moves, true), first.state()).await.unwrap();
    assert_eq!(fates(&again), [PinFate::AlreadyThere]);
    assert_eq!(again.state().version(), first.state().version());
}

#[tokio::test]
async fn two_recoverers_write_one_rolled_back_row() {
    let (world, a, write) = aborted().await;
    let b = world.open().await;
    let base = a.known_state();
    let moves = vec![close(&base, table(1), &write)];
    let (first, second) = futures::join!(
        a.publish(move_pins(&write, moves.clone(), true), &base),
        b.publish(move_pins(&write, moves, true), &base),
    );
    let versions = [first.unwrap().state().version(), second.unwrap().state().version()];
    assert_eq!(versions, [base.version() + 1; 2]);
    let state = world.open().await.known_state();
    let rows = hot_rows_of(&state, write.intent.attempt);
    assert_eq!(rows.iter().filter(|row| row.kind == OutcomeKind::RolledBack).count(), 1);
}

#[tokio::test]
async fn nothing_of_an_attempt_that_is_undecided_or_committed_is_taken_back() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let committed = commit_many(&world, &manifest, 1).await.remove(0);
    let base = manifest.known_state();
    let undecided = world.write(&base).writes(table(1));
    for write in [committed, undecided] {
        let moves = vec![close(&base, table(1), &write)];
        let error = manifest.publish(move_pins(&write, moves, true), &base).await.unwrap_err();
        let refused = InvalidTransition::NotAborted { attempt: write.intent.attempt };
        assert!(matches!(&error, ManifestError::Invalid(found) if *found == refused), "{error}");
    }
    assert_eq!(manifest.state().await.unwrap().version(), base.version());
}

#[tokio::test]
async fn a_fence_is_adopted_without_an_outcome_row() {
    let (world, manifest, write) = aborted().await;
    let base = manifest.known_state();
    let adopt = close(&base, table(1), &write);
    let outcome = manifest.publish(Transition::AdoptFence(adopt.clone()), &base).await.unwrap();
    assert_eq!(fates(&outcome), [PinFate::Moved]);
    let state = world.open().await.known_state();
    assert_eq!(pin_of(&state, table(1)), adopt.to);
    assert_eq!(state.hot().outcomes, base.hot().outcomes);
}

#[tokio::test]
async fn what_is_not_a_fence_directly_above_the_pin_is_not_adopted() {
    let (_world, manifest, write) = aborted().await;
    let base = manifest.known_state();
    let good = close(&base, table(1), &write);
    let above = Pin { version: good.to.version + 1, ..good.to.clone() };
    let foreign = Pin { tx_uuid: TxUuid::observed("somebody's"), ..good.to.clone() };
    for to in [above, foreign] {
        let adopt = Transition::AdoptFence(PinMove { to, ..good.clone() });
        let error = manifest.publish(adopt, &base).await.unwrap_err();
        let is_refusal = |error: &ManifestError| {
            matches!(error, ManifestError::Invalid(InvalidTransition::NotAFence { .. }))
        };
        assert!(is_refusal(&error), "{error}");
    }
}
