//! Graph commits: what lands, what is stale, what is refused.

use graphwrite_protocol_types::*;

use super::world::*;
use crate::*;

async fn publish(write: &Write, on: &Manifest, base: &ManifestState) -> PublishOutcome {
    on.publish(write.transition(), base).await.unwrap()
}

fn stale_of(outcome: PublishOutcome) -> Stale {
    match outcome {
        PublishOutcome::Stale { stale, .. } => stale,
        other => panic!("not stale: {other:?}"),
    }
}

async fn invalid_of(write: &Write, on: &Manifest) -> InvalidTransition {
    let base = on.known_state();
    let error = on.publish(write.transition(), &base).await.unwrap_err();
    assert!(error.had_no_effect());
    assert_eq!(on.state().await.unwrap().version(), base.version(), "nothing was written");
    match error {
        ManifestError::Invalid(invalid) => invalid,
        other => panic!("not invalid: {other:?}"),
    }
}

#[tokio::test]
async fn a_commit_makes_its_heads_lineage_and_outcome_visible_at_once() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let base = manifest.known_state();
    let write = world.write(&base).writes(table(1)).writes(table(2));
    let state = write.commit(&manifest, &base).await;
    let fresh = world.open().await.known_state();
    assert_eq!(fresh.base(), state.base());
    assert_eq!(fresh.version(), 2);
    assert_eq!(fresh.base().graph_head.0, Some(write.intent.lineage.commit));
    let head = fresh.base().head(table(1)).live().unwrap();
    assert_eq!(head.pin, pin(write.intent.attempt, 1));
    assert_eq!(*fresh.base().head(table(3)), TableHeadToken::Absent);
    let outcome = fresh.outcome_of_operation(&write.intent.operation).await.unwrap().unwrap();
    assert_eq!(outcome.commit(), Some(write.intent.lineage.commit));
    assert_eq!(outcome.request, Some(write.intent.request));
}

#[tokio::test]
async fn the_state_that_a_publish_returns_is_the_state_that_a_reader_reads() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    commit_many(&world, &manifest, 3).await;
    let (known, read) = (manifest.known_state(), world.open().await.known_state());
    assert_eq!(known.hot(), read.hot());
    assert_eq!(known.base(), read.base());
    assert_eq!(known.hot_fragment(), read.hot_fragment());
    assert_eq!(known.facts(), read.facts());
}

#[tokio::test]
async fn writers_of_disjoint_tables_both_land_and_the_second_descends_from_the_first() {
    let world = World::in_memory().await;
    let (a, b) = (world.open().await, world.open().await);
    let base = a.known_state();
    let first = world.write(&base).writes(table(1));
    let second = world.write(&base).writes(table(2));
    first.commit(&a, &base).await;
    let state = second.commit(&b, &base).await;
    let newest = state.recent_commits().next().unwrap();
    assert_eq!(newest.parents, [first.intent.lineage.commit]);
    assert!(state.base().head(table(1)).live().is_some());
    assert!(state.base().head(table(2)).live().is_some());
    assert_eq!(check_history(&world).await.len(), 2);
}

#[tokio::test]
async fn the_second_writer_of_one_table_is_stale_and_writes_nothing() {
    let world = World::in_memory().await;
    let (a, b) = (world.open().await, world.open().await);
    let base = a.known_state();
    let (first, second) =
        (world.write(&base).writes(table(1)), world.write(&base).writes(table(1)));
    first.commit(&a, &base).await;
    let stale = stale_of(publish(&second, &b, &base).await);
    assert_eq!(stale, Stale::Table { identity: table(1), access: Access::Written });
    assert_eq!(check_history(&world).await.len(), 1);
}

#[tokio::test]
async fn a_probed_table_whose_rows_changed_is_stale() {
    let world = World::in_memory().await;
    let (a, b) = (world.open().await, world.open().await);
    let base = a.known_state();
    let second = world.write(&base).writes(table(2)).probes(table(1));
    world.write(&base).writes(table(1)).commit(&a, &base).await;
    let stale = stale_of(publish(&second, &b, &base).await);
    assert_eq!(stale, Stale::Table { identity: table(1), access: Access::Probed });
}

#[tokio::test]
async fn a_probed_table_whose_pin_moved_over_the_same_rows_is_not_stale() {
    let world = World::in_memory().await;
    let (a, b) = (world.open().await, world.open().await);
    commit_many(&world, &a, 1).await;
    let base = a.known_state();
    let from = base.base().head(table(1)).live().unwrap().pin.clone();
    let to = fence(attempt(500), &from);
    let adopt = Transition::AdoptFence(PinMove { identity: table(1), from, to });
    let second = world.write(&base).writes(table(2)).probes(table(1));
    let written = world.write(&base).writes(table(1));
    let _ = a.publish(adopt, &base).await.unwrap();
    second.commit(&b, &base).await;
    let stale = stale_of(publish(&written, &b, &base).await);
    assert_eq!(stale, Stale::Table { identity: table(1), access: Access::Written });
}

#[tokio::test]
async fn a_commit_that_depends_on_the_head_is_stale_when_the_head_moved() {
    let world = World::in_memory().await;
    let (a, b) = (world.open().await, world.open().await);
    let base = a.known_state();
    let second = world.write(&base).writes(table(2)).reads_head();
    let first = world.write(&base).writes(table(1));
    first.commit(&a, &base).await;
    let expected = GraphHeadToken(None);
    let actual = GraphHeadToken(Some(first.intent.lineage.commit));
    assert_eq!(stale_of(publish(&second, &b, &base).await), Stale::GraphHead { expected, actual });
}

#[tokio::test]
async fn exact_parents_without_the_head_in_the_read_set_are_refused() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let mut write = world.write(&manifest.known_state()).writes(table(1));
    write.intent.lineage.parents = Parents::Exact(vec![]);
    assert_eq!(invalid_of(&write, &manifest).await, InvalidTransition::ParentsNotRead);
    let write = write.reads_head();
    write.commit(&manifest, &manifest.known_state()).await;
}

#[tokio::test]
async fn a_schema_change_declares_tables_and_makes_other_writers_stale() {
    let world = World::in_memory().await;
    let (a, b) = (world.open().await, world.open().await);
    let base = a.known_state();
    let tables: Vec<_> = (1..=TABLES + 1).map(table).collect();
    let apply = world.write(&base).declares(&tables);
    let other = world.write(&base).writes(table(1));
    let state = apply.commit(&a, &base).await;
    assert_eq!(state.base().heads.get(&table(TABLES + 1)), Some(&TableHeadToken::Absent));
    assert_eq!(state.base().schema.0, apply.delta.schema.as_ref().unwrap().hash);
    assert_eq!(stale_of(publish(&other, &b, &base).await), Stale::Schema);
    assert_eq!(world.open().await.known_state().base(), state.base());
}

#[tokio::test]
async fn a_table_that_is_no_longer_declared_must_be_dropped_and_stays_dropped() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let fewer: Vec<_> = (2..=TABLES).map(table).collect();
    let undropped = world.write(&manifest.known_state()).declares(&fewer);
    let refused = InvalidTransition::NotDropped { identity: table(1) };
    assert_eq!(invalid_of(&undropped, &manifest).await, refused);
    let dropped = undropped.drops(table(1));
    let state = dropped.commit(&manifest, &manifest.known_state()).await;
    assert_eq!(*state.base().head(table(1)), TableHeadToken::Tombstoned);
    let gone = InvalidTransition::Tombstoned { identity: table(1) };
    let write = world.write(&state).writes(table(1));
    assert_eq!(invalid_of(&write, &manifest).await, gone);
    let all: Vec<_> = (1..=TABLES).map(table).collect();
    let revived = world.write(&state).declares(&all);
    assert_eq!(invalid_of(&revived, &manifest).await, gone);
}

#[tokio::test]
async fn an_incarnation_id_is_never_used_by_two_tables() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let clash = TableIdentity { incarnation: table(1).incarnation, ..table(9) };
    let mut tables: Vec<_> = (2..=TABLES).map(table).collect();
    tables.push(clash);
    let state = manifest.known_state();
    let write = world.write(&state).drops(table(1)).declares(&tables);
    let shared = InvalidTransition::SharedIdentity { identity: clash, other: table(1) };
    assert_eq!(invalid_of(&write, &manifest).await, shared);
}

#[tokio::test]
async fn a_delta_that_contradicts_itself_or_the_schema_is_refused() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let state = manifest.known_state();
    let undeclared = world.write(&state).writes(table(9));
    let identity = table(9);
    assert_eq!(
        invalid_of(&undeclared, &manifest).await,
        InvalidTransition::Undeclared { identity }
    );
    let identity = table(1);
    let twice = world.write(&state).writes(identity).writes(identity);
    assert_eq!(invalid_of(&twice, &manifest).await, InvalidTransition::Twice { identity });
    let mut open = world.write(&state).writes(identity);
    if let NextHead::Live { pin, .. } = &mut open.delta.heads[0].next {
        *pin = PinSlot::Output { effect: 0 };
    }
    let open = open.armed();
    assert_eq!(invalid_of(&open, &manifest).await, InvalidTransition::Unbound { identity });
}

#[tokio::test]
async fn a_bound_output_slot_is_published_and_any_other_change_of_the_delta_is_refused() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let mut write = world.write(&manifest.known_state()).writes(table(1));
    if let NextHead::Live { pin, .. } = &mut write.intent.delta.heads[0].next {
        *pin = PinSlot::Output { effect: 0 };
    }
    let refused = InvalidTransition::OtherDelta { attempt: write.intent.attempt };
    let mut widened = write.clone();
    widened.delta.heads.push(HeadChange { identity: table(2), next: NextHead::Tombstoned });
    assert_eq!(invalid_of(&widened, &manifest).await, refused);
    let mut moved = write.clone();
    moved.intent.delta = moved.delta.clone();
    if let NextHead::Live { pin, .. } = &mut moved.delta.heads[0].next {
        *pin = PinSlot::Exact(super::world::pin(attempt(1), 9));
    }
    let refused = InvalidTransition::OtherDelta { attempt: moved.intent.attempt };
    assert_eq!(invalid_of(&moved, &manifest).await, refused);
    let state = write.commit(&manifest, &manifest.known_state()).await;
    assert_eq!(state.base().head(table(1)).live().unwrap().pin, pin(write.intent.attempt, 1));
}

#[tokio::test]
async fn a_schema_whose_bytes_are_not_its_hash_is_refused() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let tables: Vec<_> = (1..=TABLES + 1).map(table).collect();
    let mut write = world.write(&manifest.known_state()).declares(&tables);
    write.delta.schema.as_mut().unwrap().hash = SchemaHash([1; 32]);
    let write = write.armed();
    let invalid = invalid_of(&write, &manifest).await;
    assert!(matches!(invalid, InvalidTransition::Schema(SchemaFault::Hash { .. })), "{invalid}");
}

#[tokio::test]
async fn many_writers_of_disjoint_tables_all_land_in_one_line() {
    let world = World::in_memory().await;
    let base = world.open().await.known_state();
    let mut writers = Vec::new();
    for n in 1..=TABLES {
        let (manifest, base) = (world.open().await, base.clone());
        let write = world.write(&base).writes(table(n));
        writers.push(async move { write.commit(&manifest, &base).await });
    }
    futures::future::join_all(writers).await;
    assert_eq!(check_history(&world).await.len(), TABLES as usize);
    assert_eq!(world.open().await.known_state().version(), 1 + TABLES);
}

async fn ahead(write: &Write, on: &Manifest, base: &ManifestState) -> StagedAhead {
    on.stage_ahead(&write.intent, &write.delta, base).await.unwrap()
}

#[tokio::test]
async fn what_was_staged_ahead_is_seen_by_nobody_and_is_what_is_published() {
    let world = World::in_memory().await;
    let (counted, counter) = world.store.counting();
    let manifest = world.open_through(&counted).await;
    let base = manifest.known_state();
    let write = world.write(&base).writes(table(1));
    let staged = ahead(&write, &manifest, &base).await;
    assert_eq!(world.open().await.known_state().base(), base.base());
    counter.take();
    let outcome = manifest.publish_staged(write.transition(), &base, Some(staged)).await.unwrap();
    assert_eq!(counter.take().total(), 3, "no data is written again");
    assert!(matches!(&outcome, PublishOutcome::Committed { commit, .. }
        if commit.commit == write.intent.lineage.commit));
    let fresh = world.open().await.known_state();
    assert_eq!(fresh.base(), outcome.state().base());
    assert_eq!(fresh.hot(), outcome.state().hot());
    assert!(fresh.base().head(table(1)).live().is_some());
}

#[tokio::test]
async fn what_was_staged_ahead_is_decided_again_when_another_took_the_slot() {
    let world = World::in_memory().await;
    let (a, b) = (world.open().await, world.open().await);
    let base = a.known_state();
    let (disjoint, stale) =
        (world.write(&base).writes(table(2)), world.write(&base).writes(table(1)));
    let (of_disjoint, of_stale) =
        (ahead(&disjoint, &b, &base).await, ahead(&stale, &b, &base).await);
    world.write(&base).writes(table(1)).commit(&a, &base).await;
    let outcome = b.publish_staged(stale.transition(), &base, Some(of_stale)).await.unwrap();
    assert_eq!(stale_of(outcome), Stale::Table { identity: table(1), access: Access::Written });
    let outcome = b.publish_staged(disjoint.transition(), &base, Some(of_disjoint)).await.unwrap();
    let state = outcome.state();
    assert!(matches!(&outcome, PublishOutcome::Committed { .. }));
    assert!(state.base().head(table(1)).live().is_some(), "the winner's rows are kept");
    assert!(state.base().head(table(2)).live().is_some());
    assert_eq!(check_history(&world).await.len(), 2);
}

#[tokio::test]
async fn what_was_staged_ahead_for_another_change_or_state_is_not_used() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let base = manifest.known_state();
    let (one, other) = (world.write(&base).writes(table(1)), world.write(&base).writes(table(2)));
    let of_one = ahead(&one, &manifest, &base).await;
    let outcome = manifest.publish_staged(other.transition(), &base, Some(of_one)).await.unwrap();
    assert!(outcome.state().base().head(table(1)).live().is_none());
    assert!(outcome.state().base().head(table(2)).live().is_some());
    let of_one = ahead(&one, &manifest, &base).await;
    let newer = manifest.known_state();
    let outcome = manifest.publish_staged(one.transition(), &newer, Some(of_one)).await.unwrap();
    assert!(outcome.state().base().head(table(2)).live().is_some(), "nothing is taken back");
    assert_eq!(check_history(&world).await.len(), 2);
}

#[tokio::test]
async fn nothing_is_staged_ahead_for_what_would_not_be_published() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let base = manifest.known_state();
    let write = world.write(&base).writes(table(1));
    world.write(&base).writes(table(1)).commit(&manifest, &base).await;
    let newer = manifest.known_state();
    assert!(manifest.stage_ahead(&write.intent, &write.delta, &newer).await.is_none());
}
