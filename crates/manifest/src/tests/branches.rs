//! Branches: what a native branch inherits, what is its own, and that its commits are as strict, as
//! cheap and as final as those of main.

use graphwrite_protocol_types::*;
use graphwrite_substrate::{
    Cloning, Fault, ForkCheck, NameStore, OperationKind, PutOutcome, RecordPut, RequestCounts,
    Store,
};

use super::world::*;
use crate::*;

/// A beginning of number 1 of `name`, of the state `of` in the line of `source`.
pub(super) fn begun(world: &World, name: &str, source: &Manifest, of: &ManifestState) -> NameBegun {
    let base = of.base();
    let (commit, pin) = (base.graph_head.0, base.manifest.clone());
    NameBegun {
        name: name.parse().unwrap(),
        number: 1,
        attempt: attempt(world.next_id()),
        fork: ForkPoint::of(&base.branch, source.fork(), commit, pin),
        owner: owner(),
        actor: "tester".to_owned(),
        begun_at_unix_us: 9_000_000,
    }
}

/// Both phases.
async fn make_native(store: &Store, begun: &NameBegun) {
    let native = NativeFork::of_begun(begun);
    let check = native.check(store).await.unwrap();
    finish_native(store, &native, check).await;
}

async fn finish_native(store: &Store, native: &NativeFork, check: ForkCheck) {
    let ForkCheck::Ready(ready) = check else { panic!("no source: {check:?}") };
    let cloning = native.clone_source(store, &ready).await.unwrap();
    let Cloning::Cloned(cloned) = cloning else { panic!("not cloned: {cloning:?}") };
    let contents = native.write_contents(store, &cloned).await.unwrap();
    assert!(matches!(contents, PutOutcome::Created), "{contents:?}");
}

pub(super) async fn made(world: &World, begun: &NameBegun) -> LiveBranch {
    make_native(&world.store, begun).await;
    begun.decided_live(ProcessInstanceId::from_u128(5), 1).live().unwrap()
}

pub(super) async fn open_branch(world: &World, live: &LiveBranch) -> Manifest {
    let (store, seed) = (world.store.reopened(), world.next_id() as u64);
    let opened = Manifest::open_branch(&store, CountingEnv::seeded(seed), live, Purpose::Write);
    opened.await.unwrap().with_patience(quick())
}

/// A branch of the newest state of `source`.
pub(super) async fn branch(world: &World, name: &str, source: &Manifest) -> Manifest {
    let begun = begun(world, name, source, &source.known_state());
    open_branch(world, &made(world, &begun).await).await
}

/// A main with `count` commits.
pub(super) async fn with_commits(count: u64) -> (World, Manifest) {
    let world = World::in_memory().await;
    let main = world.open().await;
    commit_many(&world, &main, count).await;
    (world, main)
}

pub(super) async fn commit_one(world: &World, on: &Manifest, to: u64) -> Write {
    let base = on.known_state();
    let write = world.write(&base).writes(table(to));
    write.commit(on, &base).await;
    write
}

fn ids(rows: &[CommitRow]) -> Vec<CommitId> {
    rows.iter().map(|row| row.commit).collect()
}

#[tokio::test]
async fn a_branch_inherits_heads_schema_and_history_under_its_own_token() {
    let (world, main) = with_commits(3).await;
    let branch = branch(&world, "a/b", &main).await;
    let (of_main, of_branch) = (main.known_state(), branch.known_state());
    assert_eq!(of_branch.base().heads, of_main.base().heads);
    assert_eq!(of_branch.base().schema, of_main.base().schema);
    assert_eq!(of_branch.base().graph_head, of_main.base().graph_head);
    assert_eq!(of_branch.version(), of_main.version());
    assert_eq!(of_branch.domain(), of_main.domain());
    let token = &of_branch.base().branch;
    assert_eq!((token.name.as_str(), token.record), ("a/b", 1));
    let history = of_branch.commits(9).await.unwrap();
    assert_eq!(history, of_main.commits(9).await.unwrap());
}

#[tokio::test]
async fn making_a_branch_makes_no_version_and_no_lineage() {
    let (world, main) = with_commits(2).await;
    let before = main.known_state();
    let branch = branch(&world, "b", &main).await;
    assert_eq!(main.state().await.unwrap().base(), before.base());
    assert_eq!(branch.known_state().version(), before.version());
    assert!(branch.known_state().commits_since(before.version()).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_branch_and_its_source_move_apart() {
    let (world, main) = with_commits(2).await;
    let branch = branch(&world, "b", &main).await;
    let fork = branch.fork().unwrap().clone();
    let ours = commit_one(&world, &branch, 1).await;
    let theirs = [commit_one(&world, &main, 1).await, commit_one(&world, &main, 2).await];
    let (of_main, of_branch) = (world.open().await.known_state(), branch.state().await.unwrap());
    assert_eq!(of_branch.base().graph_head.0, Some(ours.intent.lineage.commit));
    assert_eq!(of_main.base().graph_head.0, Some(theirs[1].intent.lineage.commit));
    let ahead = of_branch.commits_since(fork.manifest.version).await.unwrap();
    assert_eq!(ids(&ahead), [ours.intent.lineage.commit]);
    assert_eq!(ahead[0].parents, fork.commit.into_iter().collect::<Vec<_>>());
    let behind = of_main.commits_since(fork.manifest.version).await.unwrap();
    let newest_first = [&theirs[1], &theirs[0]].map(|write| write.intent.lineage.commit);
    assert_eq!(ids(&behind), newest_first);
}

#[tokio::test]
async fn a_write_that_was_prepared_on_another_branch_is_stale() {
    let (world, main) = with_commits(1).await;
    let branch = branch(&world, "b", &main).await;
    let write = world.write(&main.known_state()).writes(table(1));
    let outcome = branch.publish(write.transition(), &branch.known_state()).await.unwrap();
    assert!(
        matches!(&outcome, PublishOutcome::Stale { stale: Stale::Branch { .. }, .. }),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn of_two_writers_on_a_branch_one_takes_the_slot_and_the_other_arbitrates_again() {
    let (world, main) = with_commits(1).await;
    let begun = begun(&world, "b", &main, &main.known_state());
    let live = made(&world, &begun).await;
    let (a, b) = (open_branch(&world, &live).await, open_branch(&world, &live).await);
    let base = a.known_state();
    let (first, second) =
        (world.write(&base).writes(table(1)), world.write(&base).writes(table(1)));
    first.commit(&a, &base).await;
    let outcome = b.publish(second.transition(), &base).await.unwrap();
    assert!(
        matches!(&outcome, PublishOutcome::Stale { stale: Stale::Table { .. }, .. }),
        "{outcome:?}"
    );
    let third = world.write(&b.known_state()).writes(table(2));
    third.commit(&b, &base).await;
    assert_eq!(b.known_state().version(), base.version() + 2);
}

#[tokio::test]
async fn outcomes_that_a_branch_inherits_are_not_those_of_its_own_operations() {
    let (world, main) = with_commits(0).await;
    let base = main.known_state();
    let on_main = world.write(&base).writes(table(1)).of_operation("nightly");
    on_main.commit(&main, &base).await;
    let _ = main.publish(seal("closed", world.next_id()), &main.known_state()).await.unwrap();
    let parent = branch(&world, "p", &main).await;
    // The record number of both branches is 1, so only the fork tells their rows apart.
    for (source, name) in [(&main, "a"), (&parent, "b")] {
        let branch = branch(&world, name, source).await;
        for operation_id in ["nightly", "closed"] {
            let state = branch.known_state();
            let found = state.outcome_of_operation(&operation(operation_id)).await.unwrap();
            assert_eq!(found, None);
            let write = world.write(&state).writes(table(2)).of_operation(operation_id);
            write.commit(&branch, &state).await;
            let again = world.write(&branch.known_state()).writes(table(3));
            let again = again.of_operation(operation_id);
            let outcome = branch.publish(again.transition(), &state).await.unwrap();
            assert!(matches!(outcome, PublishOutcome::OperationTaken { .. }), "{outcome:?}");
        }
        assert!(branch.known_state().audit(9).await.unwrap().is_empty());
    }
    let write = world.write(&parent.known_state()).writes(table(2)).of_operation("nightly");
    write.commit(&parent, &parent.known_state()).await;
    let child = branch(&world, "c", &parent).await;
    let found = child.known_state().outcome_of_operation(&operation("nightly")).await.unwrap();
    assert_eq!(found, None);
}

#[tokio::test]
async fn inherited_outcomes_do_not_count_from_cold_fragments_either() {
    let (world, main) = with_commits(1).await;
    let parent = branch(&world, "p", &main).await;
    let base = parent.known_state();
    let on_parent = world.write(&base).writes(table(1)).of_operation("nightly");
    on_parent.commit(&parent, &base).await;
    commit_many(&world, &parent, 70).await;
    assert!(!parent.known_state().cold_fragments().is_empty());
    let branch = branch(&world, "b", &parent).await;
    let state = branch.known_state();
    assert_eq!(state.outcome_of_operation(&operation("nightly")).await.unwrap(), None);
    world.write(&state).of_operation("nightly").writes(table(2)).commit(&branch, &state).await;
    commit_many(&world, &branch, 70).await;
    let found = branch.known_state().outcome_of_operation(&operation("nightly")).await.unwrap();
    assert!(found.is_some_and(|row| row.attempt != on_parent.intent.attempt));
    let history = branch.known_state().commits(usize::MAX).await.unwrap();
    assert_eq!(history.len(), 143);
    assert!(history.windows(2).all(|pair| pair[0].parents == [pair[1].commit]));
    let fork = branch.fork().unwrap().manifest.version;
    assert_eq!(branch.known_state().commits_since(fork).await.unwrap().len(), 71);
}

#[tokio::test]
async fn every_commit_of_the_line_is_found_where_its_version_is() {
    let (world, main) = with_commits(2).await;
    let parent = branch(&world, "p", &main).await;
    commit_one(&world, &parent, 1).await;
    commit_one(&world, &main, 3).await;
    let child = branch(&world, "c", &parent).await;
    commit_one(&world, &child, 2).await;
    commit_one(&world, &parent, 4).await;
    let history = child.known_state().commits(9).await.unwrap();
    assert_eq!(history.len(), 4);
    for commit in &history {
        let found = child.state_at(commit).await.unwrap();
        let PastState::Found(state) = found else { panic!("{found:?}") };
        assert_eq!(state.base().graph_head.0, Some(commit.commit));
        assert_eq!(state.base().branch, child.known_state().base().branch);
    }
    let of_other = &main.known_state().commits(1).await.unwrap()[0];
    let found = child.state_at(of_other).await.unwrap();
    assert!(!matches!(found, PastState::Found(_)), "{found:?}");
}

#[tokio::test]
async fn a_branch_of_an_older_commit_is_the_graph_of_that_commit() {
    let (world, main) = with_commits(4).await;
    let parent = branch(&world, "p", &main).await;
    commit_one(&world, &parent, 1).await;
    let old = &parent.known_state().commits(9).await.unwrap()[3];
    let PastState::Found(state) = parent.state_at(old).await.unwrap() else { panic!("lost") };
    let begun = begun(&world, "old", &parent, &state);
    assert_eq!(begun.fork.cloned_from(), &NativeBranch::main());
    let branch = open_branch(&world, &made(&world, &begun).await).await;
    assert_eq!(branch.known_state().base().heads, state.base().heads);
    assert_eq!(branch.known_state().base().graph_head.0, Some(old.commit));
    commit_one(&world, &branch, 2).await;
}

#[tokio::test]
async fn a_branch_of_a_branch_without_commits_is_made_of_what_that_was_made_of() {
    let (world, main) = with_commits(1).await;
    let parent = branch(&world, "p", &main).await;
    let child = branch(&world, "c", &parent).await;
    assert_eq!(child.fork().unwrap().cloned_from(), &NativeBranch::main());
    assert_eq!(child.known_state().base().heads, main.known_state().base().heads);
}

#[tokio::test]
async fn a_source_that_is_another_version_is_not_cloned() {
    let (world, main) = with_commits(1).await;
    let mut begun = begun(&world, "b", &main, &main.known_state());
    begun.fork.manifest.tx_uuid = TxUuid::observed("another");
    let check = NativeFork::of_begun(&begun).check(&world.store).await.unwrap();
    assert!(matches!(check, ForkCheck::SourceGone { found: Some(_) }), "{check:?}");
}

#[tokio::test]
async fn a_branch_whose_native_branch_is_gone_is_no_branch() {
    let (world, main) = with_commits(1).await;
    let begun = begun(&world, "b", &main, &main.known_state());
    let live = begun.decided_live(ProcessInstanceId::from_u128(5), 1).live().unwrap();
    let opened =
        Manifest::open_branch(&world.store, CountingEnv::seeded(1), &live, Purpose::Write).await;
    assert!(matches!(opened, Err(OpenError::NoSuchBranch { .. })), "{opened:?}");
}

/// Moves the head of table 1 to a ref, as the first write of a branch does.
fn on_ref(world: &World, base: &ManifestState, at: PhysicalRef, version: u64) -> Write {
    let mut write = world.write(base).writes(table(1));
    let live = base.base().head(table(1)).live().unwrap().clone();
    let NextHead::Live { path, physical_ref, ref_identifier, pin, .. } =
        &mut write.delta.heads[0].next
    else {
        panic!("a live head")
    };
    *ref_identifier = live.ref_identifier.forked(live.pin.version, write.intent.attempt);
    (*path, *physical_ref) = (live.path.clone(), at);
    let tx_uuid = TxUuid::effect(write.intent.attempt, 0, 0);
    *pin = PinSlot::Exact(Pin { version, tx_uuid });
    write.armed()
}

#[tokio::test]
async fn a_first_write_moves_the_head_from_the_inherited_ref_to_the_branchs_own() {
    let (world, main) = with_commits(1).await;
    let branch = branch(&world, "b", &main).await;
    let base = branch.known_state();
    let own = PhysicalRef::of_first_write(attempt(77));
    let state = on_ref(&world, &base, own.clone(), 2).commit(&branch, &base).await;
    let head = state.base().head(table(1)).live().unwrap().clone();
    assert_eq!((&head.physical_ref, head.ref_identifier.forked_at()), (&own, 1));
    let state = on_ref(&world, &state, own.clone(), 3).commit(&branch, &state).await;
    assert_eq!(state.base().head(table(1)).live().unwrap().pin.version, 3);
    let of_main = main.state().await.unwrap();
    assert_eq!(of_main.base().head(table(1)), base.base().head(table(1)));
}

#[tokio::test]
async fn a_branch_cannot_publish_a_version_of_a_ref_that_it_has_inherited() {
    let (world, main) = with_commits(1).await;
    let branch = branch(&world, "b", &main).await;
    let base = branch.known_state();
    let write = on_ref(&world, &base, PhysicalRef::Main, 2);
    let refused = branch.publish(write.transition(), &base).await.unwrap_err();
    let expected = InvalidTransition::InheritedRef { identity: table(1) };
    assert!(
        matches!(&refused, ManifestError::Invalid(invalid) if *invalid == expected),
        "{refused}"
    );
    let on_main = on_ref(&world, &main.known_state(), PhysicalRef::Main, 2);
    on_main.commit(&main, &main.known_state()).await;
}

#[tokio::test]
async fn an_attempt_is_aborted_and_rolled_back_on_its_branch_and_nowhere_else() {
    let (world, main) = with_commits(1).await;
    let branch = branch(&world, "b", &main).await;
    let base = branch.known_state();
    let write = world.write(&base).writes(table(1));
    let _ = branch.publish(write.abort(), &base).await.unwrap();
    let id = write.intent.attempt;
    let settled = move_pins_of(id, Vec::new(), true);
    let _ = branch.publish(settled, &branch.known_state()).await.unwrap();
    let outcome = branch.known_state().outcome_of_attempt(id).await.unwrap().unwrap();
    assert_eq!(outcome.kind, OutcomeKind::RolledBack);
    assert_eq!(branch.known_state().audit(9).await.unwrap().len(), 2);
    assert_eq!(main.state().await.unwrap().outcome_of_attempt(id).await.unwrap(), None);
}

#[tokio::test]
async fn a_branch_costs_to_open_and_to_publish_what_main_does() {
    let (world, main) = with_commits(10).await;
    let begun = begun(&world, "b", &main, &main.known_state());
    let (counted, counter) = world.store.counting();
    make_native(&counted, &begun).await;
    let making = counter.take();
    assert!(making.total() <= 7, "{making:?}");
    let live = begun.decided_live(ProcessInstanceId::from_u128(5), 1).live().unwrap();
    let (cold, counter) = world.store.counting();
    let opened = Manifest::open_branch(&cold, CountingEnv::seeded(3), &live, Purpose::Write);
    let branch = opened.await.unwrap();
    let opening = counter.take();
    assert!(opening.total() <= 4, "{opening:?}");
    let mut publishes = Vec::new();
    for _ in 0..3 {
        commit_one(&world, &branch, 1).await;
        publishes.push(counter.take().total());
    }
    assert!(publishes.iter().all(|requests| *requests <= 4), "{publishes:?}");
}

#[tokio::test]
async fn making_a_branch_costs_the_same_at_any_depth() {
    let (world, main) = with_commits(1).await;
    let mut costs = Vec::new();
    for round in 0..3 {
        let begun = begun(&world, &format!("b{round}"), &main, &main.known_state());
        let (counted, counter) = world.store.counting();
        make_native(&counted, &begun).await;
        costs.push(counter.take().by_kind);
        commit_many(&world, &main, 80).await;
    }
    assert!(costs.iter().all(|cost| *cost == costs[0]), "{costs:?}");
}

#[tokio::test]
async fn a_publish_on_a_branch_whose_answer_was_lost_is_found_to_have_landed() {
    let (world, main) = with_commits(1).await;
    let begun = begun(&world, "b", &main, &main.known_state());
    let live = made(&world, &begun).await;
    let (faulty, _) = world.store.faulty(|operation| match operation.kind {
        OperationKind::PutIfAbsent => Fault::LoseAck,
        _ => Fault::Proceed,
    });
    let opened = Manifest::open_branch(&faulty, CountingEnv::seeded(3), &live, Purpose::Write);
    let branch = opened.await.unwrap().with_patience(quick());
    let write = commit_one(&world, &branch, 1).await;
    let found = open_branch(&world, &live).await.known_state();
    assert_eq!(found.base().graph_head.0, Some(write.intent.lineage.commit));
}

#[track_caller]
fn written<R: std::fmt::Debug>(put: RecordPut<R>) {
    assert!(matches!(put, RecordPut::Written), "{put:?}");
}

/// The whole control operation, in the order of the protocol: the records, and between them the
/// looks at the source and the two phases.
async fn create_and_delete(
    store: &Store,
    source: &Manifest,
    begun: &NameBegun,
    counts: impl Fn() -> RequestCounts,
) -> [RequestCounts; 2] {
    let (names, name) = (NameStore::new(store.clone(), source.known_state().domain()), &begun.name);
    let by = ProcessInstanceId::from_u128(5);
    let look = names.look(name).await.unwrap();
    assert!(look.state().rights().begin && look.listing.next_number() == begun.number);
    written(names.put_begun(begun).await.unwrap());
    let native = NativeFork::of_begun(begun);
    let of_source = async {
        let token = &begun.fork.source;
        match token.name.parse() {
            Ok(name) => names.still_means(&name, token.record).await.unwrap(),
            Err(_) => token.native.is_main(),
        }
    };
    let (check, head, holds) = futures::join!(native.check(store), source.state(), of_source);
    assert!(holds && head.unwrap().base().graph_head.0 == begun.fork.commit);
    finish_native(store, &native, check.unwrap()).await;
    written(names.put_decided(&begun.decided_live(by, 1)).await.unwrap());
    assert!(names.still_means(name, begun.number).await.unwrap());
    let create = counts();
    let look = names.look(name).await.unwrap();
    assert!(look.state().rights().delete);
    let (name, number, actor) = (begun.name.clone(), begun.number, "tester".to_owned());
    let deleted = NameDeleted { name, number, by, actor, deleted_at_unix_us: 2 };
    written(names.put_deleted(&deleted).await.unwrap());
    [create, counts()]
}

#[tokio::test]
async fn a_branch_is_created_by_fourteen_requests_and_deleted_by_three_at_most() {
    let (world, main) = with_commits(10).await;
    let begun_parent = begun(&world, "p", &main, &main.known_state());
    let parent = made(&world, &begun_parent).await;
    let records = NameStore::new(world.store.clone(), main.known_state().domain());
    written(records.put_begun(&begun_parent).await.unwrap());
    let decided = begun_parent.decided_live(ProcessInstanceId::from_u128(5), 1);
    written(records.put_decided(&decided).await.unwrap());
    let (counted, counter) = world.store.counting();
    let main = world.open_through(&counted).await;
    let seed = CountingEnv::seeded(world.next_id() as u64);
    let parent = Manifest::open_branch(&counted, seed, &parent, Purpose::Write).await.unwrap();
    let mut costs = Vec::new();
    for (name, source) in [("a", &main), ("b", &parent)] {
        commit_one(&world, source, 1).await;
        let begun = begun(&world, name, source, &source.known_state());
        counter.take();
        let [create, delete] =
            Box::pin(create_and_delete(&counted, source, &begun, || counter.take())).await;
        assert!(create.total() <= 14, "{create:?}");
        assert_eq!(delete.total(), 3, "{delete:?}");
        costs.push((create.total(), create.durable()));
    }
    // One listing more than from main: whether the source still is what its name means. Durable are
    // two records, the clone's two files, and its contents.
    assert_eq!(costs, [(12, 5), (13, 5)]);
}
