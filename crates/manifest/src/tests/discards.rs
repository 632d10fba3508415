//! Intents of deleted branches, as main records that they are discarded (RFC 7).

use graphwrite_protocol_types::{
    AttemptId, BranchToken, IdentityDomain, NativeBranch, ProcessInstanceId, RefIdentifier,
    RequestDigest,
};

use super::world::*;
use crate::*;

fn deleted_branch() -> BranchToken {
    let main = RefIdentifier::Main(IdentityDomain::from_u128(7));
    BranchToken {
        name: "feature".to_owned(),
        record: 3,
        native: NativeBranch::of_incarnation("feature", attempt(1 << 90)),
        identifier: main.forked(4, attempt(1 << 90)),
    }
}

fn discard(attempts: impl IntoIterator<Item = u128>) -> Transition<'static> {
    let discarded = |n| DiscardedAttempt {
        attempt: attempt(n),
        operation: operation("import"),
        request: RequestDigest([7; 32]),
        branch: deleted_branch(),
    };
    let attempts = attempts.into_iter().map(discarded).collect();
    Transition::Discard { attempts, by: ProcessInstanceId::from_u128(99) }
}

fn discarded(outcome: PublishOutcome) -> ManifestState {
    match outcome {
        PublishOutcome::Discarded { state } => state,
        other => panic!("not discarded: {other:?}"),
    }
}

async fn recorded(state: &ManifestState) -> Vec<AttemptId> {
    let rows = state.audit(usize::MAX).await.unwrap();
    rows.into_iter().filter(OutcomeRow::is_discarded).map(|row| row.attempt).collect()
}

const A: u128 = 1 << 80;
const B: u128 = (1 << 80) + 1;
const C: u128 = (1 << 80) + 2;

#[tokio::test]
async fn many_attempts_are_discarded_by_one_commit_that_changes_no_head_and_makes_no_lineage() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    commit_many(&world, &manifest, 1).await;
    let base = manifest.known_state();
    let state = discarded(manifest.publish(discard([A, B]), &base).await.unwrap());
    assert_eq!(state.version(), base.version() + 1);
    assert_eq!(state.base().heads, base.base().heads);
    assert_eq!(state.base().graph_head, base.base().graph_head);
    assert_eq!(check_history(&world).await.len(), 1);
    let rows = world.open().await.known_state().audit(10).await.unwrap();
    assert!(rows.iter().all(|row| {
        matches!(&row.kind, OutcomeKind::Discarded { branch, .. } if **branch == deleted_branch())
    }));
    assert_eq!(recorded(&state).await, [attempt(B), attempt(A)]);
}

#[tokio::test]
async fn of_two_who_discard_the_same_attempts_one_finds_the_rows_of_the_other() {
    let world = World::in_memory().await;
    let (a, b) = (world.open().await, world.open().await);
    let base = a.known_state();
    discarded(a.publish(discard([A, B]), &base).await.unwrap());
    let state = discarded(b.publish(discard([B, C]), &base).await.unwrap());
    assert_eq!(recorded(&state).await, [attempt(C), attempt(B), attempt(A)]);
    let again = discarded(a.publish(discard([A, B, C]), &base).await.unwrap());
    assert_eq!(again.version(), state.version(), "nothing is left to say");
}

#[tokio::test]
async fn a_row_that_is_cold_is_found_as_well() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    discarded(manifest.publish(discard([A]), &manifest.known_state()).await.unwrap());
    commit_many(&world, &manifest, 80).await;
    let base = manifest.known_state();
    let again = discarded(manifest.publish(discard([A]), &base).await.unwrap());
    assert_eq!(again.version(), base.version());
}

#[tokio::test]
async fn a_request_of_the_same_id_on_main_knows_nothing_of_it_and_commits() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let base = manifest.known_state();
    let state = discarded(manifest.publish(discard([A]), &base).await.unwrap());
    assert_eq!(state.outcome_of_operation(&operation("import")).await.unwrap(), None);
    let asked = state.outcomes_of([(attempt(5), Some(&operation("import")))]).await.unwrap();
    assert_eq!(asked.of_operation(&operation("import")), None);
    let write = world.write(&state).writes(table(1)).of_operation("import");
    write.commit(&manifest, &state).await;
}

#[tokio::test]
async fn an_attempt_that_is_named_twice_or_none_at_all_is_refused() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let base = manifest.known_state();
    for attempts in [vec![], vec![A, A]] {
        let refused = manifest.publish(discard(attempts), &base).await.unwrap_err();
        assert!(matches!(refused, ManifestError::Invalid(_)), "{refused}");
    }
}
