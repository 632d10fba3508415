//! One outcome per attempt, one commit per operation (K2).

use super::world::*;
use crate::*;

async fn terminal_rows(world: &World, write: &Write) -> Vec<OutcomeRow> {
    let state = world.open().await.known_state();
    hot_rows_of(&state, write.intent.attempt)
}

fn decided(outcome: PublishOutcome) -> OutcomeRow {
    match outcome {
        PublishOutcome::AlreadyDecided { outcome, .. } => *outcome,
        other => panic!("not decided before: {other:?}"),
    }
}

#[tokio::test]
async fn a_commit_after_an_abort_finds_the_abort_and_writes_nothing() {
    let world = World::in_memory().await;
    let (writer, recoverer) = (world.open().await, world.open().await);
    let base = writer.known_state();
    let write = world.write(&base).writes(table(1));
    let aborted = recoverer.publish(write.abort(), &base).await.unwrap();
    assert!(matches!(aborted, PublishOutcome::Aborted { .. }), "{aborted:?}");
    let row = decided(writer.publish(write.transition(), &base).await.unwrap());
    assert!(matches!(row.kind, OutcomeKind::Aborted { .. }));
    assert_eq!(terminal_rows(&world, &write).await.len(), 1);
    assert!(check_history(&world).await.is_empty());
}

#[tokio::test]
async fn an_abort_after_a_commit_finds_the_commit_and_writes_nothing() {
    let world = World::in_memory().await;
    let (writer, recoverer) = (world.open().await, world.open().await);
    let base = writer.known_state();
    let write = world.write(&base).writes(table(1));
    write.commit(&writer, &base).await;
    let row = decided(recoverer.publish(write.abort(), &base).await.unwrap());
    assert_eq!(row.commit(), Some(write.intent.lineage.commit));
    assert_eq!(terminal_rows(&world, &write).await.len(), 1);
    assert_eq!(check_history(&world).await.len(), 1);
}

#[tokio::test]
async fn an_abort_racing_a_commit_leaves_exactly_one_row_and_the_other_converges() {
    for _ in 0..16 {
        let world = World::in_memory().await;
        let (writer, recoverer) = (world.open().await, world.open().await);
        let base = writer.known_state();
        let write = world.write(&base).writes(table(1));
        let (commit, abort) = futures::join!(
            writer.publish(write.transition(), &base),
            recoverer.publish(write.abort(), &base),
        );
        let committed = matches!(commit.unwrap(), PublishOutcome::Committed { .. });
        let aborted = matches!(abort.unwrap(), PublishOutcome::Aborted { .. });
        assert!(committed != aborted, "committed {committed}, aborted {aborted}");
        let rows = terminal_rows(&world, &write).await;
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].commit().is_some(), committed);
    }
}

#[tokio::test]
async fn a_second_abort_finds_the_first() {
    let world = World::in_memory().await;
    let (a, b) = (world.open().await, world.open().await);
    let base = a.known_state();
    let write = world.write(&base).writes(table(1));
    let _ = a.publish(write.abort(), &base).await.unwrap();
    let row = decided(b.publish(write.abort(), &base).await.unwrap());
    assert!(matches!(row.kind, OutcomeKind::Aborted { .. }));
    assert_eq!(terminal_rows(&world, &write).await.len(), 1);
}

#[tokio::test]
async fn publishing_one_attempt_again_converges_on_its_commit() {
    let world = World::in_memory().await;
    let (writer, recoverer) = (world.open().await, world.open().await);
    let base = writer.known_state();
    let write = world.write(&base).writes(table(1));
    let first = write.commit(&writer, &base).await;
    for over in [&base, &recoverer.state().await.unwrap()] {
        let again = write.commit(&recoverer, over).await;
        assert_eq!(again.version(), first.version());
    }
    assert_eq!(check_history(&world).await.len(), 1);
}

#[tokio::test]
async fn an_operation_commits_once_whatever_its_attempts_touch() {
    let world = World::in_memory().await;
    let (a, b) = (world.open().await, world.open().await);
    let base = a.known_state();
    let first = world.write(&base).writes(table(1)).of_operation("import");
    let second = world.write(&base).writes(table(2)).of_operation("import");
    first.commit(&a, &base).await;
    match b.publish(second.transition(), &base).await.unwrap() {
        PublishOutcome::OperationTaken { outcome, .. } => {
            assert_eq!(outcome.attempt, first.intent.attempt);
            assert_eq!(outcome.request, Some(first.intent.request));
        }
        other => panic!("not taken: {other:?}"),
    }
    assert_eq!(check_history(&world).await.len(), 1);
}

#[tokio::test]
async fn an_aborted_attempt_does_not_stand_in_the_way_of_the_next_one() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let base = manifest.known_state();
    let first = world.write(&base).writes(table(1)).of_operation("import");
    let second = world.write(&base).writes(table(1)).of_operation("import");
    let _ = manifest.publish(first.abort(), &base).await.unwrap();
    let state = second.commit(&manifest, &base).await;
    let outcome = state.outcome_of_operation(&operation("import")).await.unwrap().unwrap();
    assert_eq!(outcome.attempt, second.intent.attempt);
}

#[tokio::test]
async fn an_abort_makes_no_lineage() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    commit_many(&world, &manifest, 1).await;
    let base = manifest.known_state();
    let write = world.write(&base).writes(table(2));
    let outcome = manifest.publish(write.abort(), &base).await.unwrap();
    assert_eq!(outcome.state().base().graph_head, base.base().graph_head);
    assert_eq!(outcome.state().base().heads, base.base().heads);
    assert_eq!(check_history(&world).await.len(), 1);
}
