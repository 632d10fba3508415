//! Several attempts in one manifest commit: all of them or none, each arbitrated by itself (K2).

use std::collections::BTreeSet;

use super::world::*;
use crate::*;

/// `count` attempts on tables in turn, none of them decided.
fn attempts(world: &World, base: &ManifestState, count: u64) -> Vec<Write> {
    let write =
        |n: u64| world.write(base).writes(table(1 + n % TABLES)).of_operation(&format!("op-{n}"));
    (0..count).map(write).collect()
}

async fn kinds_of(state: &ManifestState, writes: &[Write]) -> Vec<Option<OutcomeKind>> {
    let asked = writes.iter().map(|write| (write.intent.attempt, Some(&write.intent.operation)));
    let outcomes = state.outcomes_of(asked).await.unwrap();
    let kind = |write: &Write| {
        let by_attempt = outcomes.of_attempt(write.intent.attempt);
        assert_eq!(by_attempt, outcomes.of_operation(&write.intent.operation));
        by_attempt.map(|row| row.kind.clone())
    };
    writes.iter().map(kind).collect()
}

fn is_aborted(kind: &Option<OutcomeKind>) -> bool {
    matches!(kind, Some(OutcomeKind::Aborted { .. }))
}

fn rolled_back(writes: &[Write]) -> Transition<'static> {
    let attempts = writes.iter().map(|write| compensated(write.intent.attempt, vec![], true));
    Transition::MovePins { attempts: attempts.collect() }
}

#[tokio::test]
async fn many_attempts_are_aborted_and_rolled_back_by_one_commit_each() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let base = manifest.known_state();
    let writes = attempts(&world, &base, 9);
    let aborted = manifest.publish(abort_all(&writes), &base).await.unwrap();
    let PublishOutcome::Aborted { state, outcomes } = aborted else { panic!("{aborted:?}") };
    let recorded: Vec<_> = outcomes.iter().map(|row| row.attempt).collect();
    assert_eq!(recorded, writes.iter().map(|write| write.intent.attempt).collect::<Vec<_>>());
    assert!(outcomes.iter().all(|row| row.manifest_version == base.version() + 1));
    assert!(kinds_of(&world.open().await.known_state(), &writes).await.iter().all(is_aborted));
    let over = manifest.publish(rolled_back(&writes), &state).await.unwrap();
    assert_eq!(over.state().version(), base.version() + 2);
    let kinds = kinds_of(&world.open().await.known_state(), &writes).await;
    assert!(kinds.iter().all(|kind| *kind == Some(OutcomeKind::RolledBack)), "{kinds:?}");
}

#[tokio::test]
async fn pins_of_several_attempts_move_in_one_commit() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    commit_many(&world, &manifest, 2).await;
    let base = manifest.known_state();
    let writes: Vec<_> = (1..=2).map(|n| world.write(&base).writes(table(n))).collect();
    let aborted = manifest.publish(abort_all(&writes), &base).await.unwrap();
    let close = |n: u64, write: &Write| {
        let from = base.base().head(table(n)).live().unwrap().pin.clone();
        let to = fence(write.intent.attempt, &from);
        vec![PinMove { identity: table(n), from, to }]
    };
    let attempts: Vec<_> = (1..)
        .zip(&writes)
        .map(|(n, write)| compensated(write.intent.attempt, close(n, write), n == 1))
        .collect();
    let expected: Vec<_> = attempts.iter().map(|of| of.moves[0].to.clone()).collect();
    let moved = manifest.publish(Transition::MovePins { attempts }, aborted.state()).await.unwrap();
    assert_eq!(moved.state().version(), base.version() + 2);
    let state = world.open().await.known_state();
    let pins = (1..=2).map(|n| state.base().head(table(n)).live().unwrap().pin.clone());
    assert_eq!(pins.collect::<Vec<_>>(), expected);
    let kinds = kinds_of(&state, &writes).await;
    assert_eq!(kinds[0], Some(OutcomeKind::RolledBack));
    assert!(is_aborted(&kinds[1]), "the second attempt is not settled yet");
}

/// Whichever of them has a row, and wherever the row is.
#[tokio::test]
async fn one_decided_attempt_among_many_keeps_all_of_them_from_being_aborted() {
    for (decided, commits) in [(0, 0), (2, 0), (1, 70)] {
        let world = World::in_memory().await;
        let (manifest, other) = (world.open().await, world.open().await);
        let base = manifest.known_state();
        let writes = attempts(&world, &base, 3);
        writes[decided].commit(&other, &base).await;
        commit_many(&world, &other, commits).await;
        let over = world.open().await.known_state();
        for base in [&base, &over] {
            match manifest.publish(abort_all(&writes), base).await.unwrap() {
                PublishOutcome::AlreadyDecided { outcome, .. } => {
                    assert_eq!(outcome.attempt, writes[decided].intent.attempt);
                }
                published => panic!("{published:?}"),
            }
        }
        let state = world.open().await.known_state();
        assert_eq!(state.version(), over.version(), "nothing was written");
        let kinds = kinds_of(&state, &writes).await;
        assert_eq!(kinds.iter().flatten().count(), 1, "{kinds:?}");
    }
}

#[tokio::test]
async fn an_attempt_that_was_not_aborted_keeps_the_others_from_being_rolled_back() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let base = manifest.known_state();
    let writes = attempts(&world, &base, 3);
    let aborted = manifest.publish(abort_all(&writes[..2]), &base).await.unwrap();
    let error = manifest.publish(rolled_back(&writes), aborted.state()).await.unwrap_err();
    let refused = InvalidTransition::NotAborted { attempt: writes[2].intent.attempt };
    assert!(matches!(&error, ManifestError::Invalid(found) if *found == refused), "{error}");
    assert_eq!(manifest.state().await.unwrap().version(), base.version() + 1);
}

#[tokio::test]
async fn a_lost_slot_is_followed_by_a_new_arbitration_of_all_attempts() {
    let world = World::in_memory().await;
    let (recoverer, writer) = (world.open().await, world.open().await);
    let base = recoverer.known_state();
    let writes = attempts(&world, &base, 3);
    let stranger = world.write(&base).writes(table(TABLES));
    stranger.commit(&writer, &base).await;
    let aborted = recoverer.publish(abort_all(&writes), &base).await.unwrap();
    let PublishOutcome::Aborted { outcomes, .. } = aborted else { panic!("{aborted:?}") };
    assert!(outcomes.iter().all(|row| row.manifest_version == base.version() + 2));
    check_history(&world).await;
}

#[tokio::test]
async fn two_recoverers_of_the_same_attempts_write_one_row_for_each() {
    let world = World::in_memory().await;
    let (a, b) = (world.open().await, world.open().await);
    let base = a.known_state();
    let writes = attempts(&world, &base, 5);
    let (first, second) =
        futures::join!(a.publish(abort_all(&writes), &base), b.publish(abort_all(&writes), &base));
    let outcomes = [first.unwrap(), second.unwrap()];
    let aborted = |outcome: &&PublishOutcome| matches!(outcome, PublishOutcome::Aborted { .. });
    assert_eq!(outcomes.iter().filter(aborted).count(), 1, "{outcomes:?}");
    let state = world.open().await.known_state();
    let (a, b) = futures::join!(
        a.publish(rolled_back(&writes), &state),
        b.publish(rolled_back(&writes), &state)
    );
    assert_eq!([a, b].map(|outcome| outcome.unwrap().state().version()), [state.version() + 1; 2]);
    let state = world.open().await.known_state();
    for write in &writes {
        assert_eq!(hot_rows_of(&state, write.intent.attempt).len(), 2);
    }
}

/// So many rows are not written again by every commit that follows, and all of them are found.
#[tokio::test]
async fn a_commit_of_very_many_rows_leaves_none_of_them_hot() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    commit_many(&world, &manifest, 3).await;
    let base = manifest.known_state();
    let writes = attempts(&world, &base, 256);
    let aborted = manifest.publish(abort_all(&writes), &base).await.unwrap();
    let over = manifest.publish(rolled_back(&writes), aborted.state()).await.unwrap();
    assert_eq!(over.state().recent_outcomes().count(), 0);
    let state = world.open().await.known_state();
    assert!(state.cold_fragments().len() <= 2, "{:?}", state.cold_fragments());
    let kinds = kinds_of(&state, &writes).await;
    assert!(kinds.iter().all(|kind| *kind == Some(OutcomeKind::RolledBack)));
    let audited: BTreeSet<_> =
        state.audit(usize::MAX).await.unwrap().into_iter().map(|row| row.attempt).collect();
    assert_eq!(audited.len(), writes.len());
    check_history(&world).await;
    let next = world.write(&state).writes(table(1));
    next.commit(&manifest, &state).await;
    check_history(&world).await;
}

#[tokio::test]
async fn a_late_commit_finds_its_abort_among_many_that_spilled() {
    let world = World::in_memory().await;
    let (recoverer, writer) = (world.open().await, world.open().await);
    let base = recoverer.known_state();
    let writes = attempts(&world, &base, 200);
    let _ = recoverer.publish(abort_all(&writes), &base).await.unwrap();
    for late in [&writes[0], &writes[117], &writes[199]] {
        let outcome = writer.publish(late.transition(), &base).await.unwrap();
        assert!(matches!(outcome, PublishOutcome::AlreadyDecided { .. }), "{outcome:?}");
    }
    assert!(check_history(&world).await.is_empty());
}

#[tokio::test]
async fn a_transition_of_no_attempt_or_of_one_twice_is_refused() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let base = manifest.known_state();
    let write = world.write(&base).writes(table(1));
    let attempt = write.intent.attempt;
    for (transition, expected) in [
        (abort_all([]), InvalidTransition::NoAttempt),
        (rolled_back(&[]), InvalidTransition::NoAttempt),
        (abort_all([&write, &write]), InvalidTransition::AttemptTwice { attempt }),
    ] {
        let error = manifest.publish(transition, &base).await.unwrap_err();
        assert!(matches!(&error, ManifestError::Invalid(found) if *found == expected), "{error}");
    }
    assert_eq!(manifest.state().await.unwrap().version(), base.version());
}
