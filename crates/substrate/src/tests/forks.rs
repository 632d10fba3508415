//! How refs are made, probed and removed: both phases, each with its crash, and what Lance itself
//! says of the result.

use std::collections::BTreeMap;

use bytes::Bytes;
use graphwrite_protocol_types::{
    Access, AttemptId, BaseView, BranchToken, Compensation, ContentId, DatasetPath, Effect,
    EffectKind, EffectTarget, ForkPoint, GraphHeadToken, IdentityDomain, Intent, LiveHead,
    NameBegun, OwnerRecord, PhysicalFact, PhysicalRef, Pin, PlannedStep, PostState, PreState,
    ProcessInstanceId, RefIdentifier, SchemaHash, TableHeadToken, TableIdentity, TxUuid,
};
use lance::Dataset;
use lance::dataset::builder::DatasetBuilder;

use super::world::*;
use crate::*;

const PATH: &str = "tables/0000000000000001-0000000000000002-00000000000000000000000001";

fn domain() -> IdentityDomain {
    IdentityDomain::from_u128(1)
}

fn identity() -> TableIdentity {
    "0000000000000001-0000000000000002".parse().unwrap()
}

fn inherited(version: u64) -> LiveHead {
    LiveHead {
        identity: identity(),
        path: PATH.parse::<DatasetPath>().unwrap(),
        physical_ref: PhysicalRef::Main,
        ref_identifier: RefIdentifier::Main(domain()),
        pin: Pin { version, tx_uuid: uuid(u32::try_from(version).unwrap()) },
        e_tag: None,
        content: ContentId::from_u128(1),
        table_schema: SchemaHash([1; 32]),
    }
}

/// The ref that the test attempt's first write makes of version `version` of main, which is the
/// commit `uuid(version)`.
pub(super) fn first_write(version: u64) -> RefFork {
    RefFork::of_first_write(attempt(), 0, &inherited(version), 5_000_000).at_path(TABLE)
}

fn begun(by: u128, version: u64) -> NameBegun {
    let main = BranchToken::main(domain());
    let at = Pin { version, tx_uuid: uuid(u32::try_from(version).unwrap()) };
    NameBegun {
        name: "Topic/x".parse().unwrap(),
        number: 1,
        attempt: AttemptId::from_u128(by),
        fork: ForkPoint::of(&main, None, None, at),
        owner: OwnerRecord {
            instance: ProcessInstanceId::from_u128(5),
            pid: 1,
            pid_namespace: None,
            boot_id: None,
            process_start_ticks: None,
            host: "h".to_owned(),
        },
        actor: "ada".to_owned(),
        begun_at_unix_us: 7_000_000,
    }
}

fn of_branch(begun: &NameBegun) -> RefFork {
    let (native, at) = (begun.native(), begun.begun_at_unix_us);
    RefFork::of_branch(TABLE, &native, begun.attempt, &begun.fork, at)
}

async fn ready(store: &Store, fork: &RefFork) -> ReadyFork {
    match check_fork(store, fork).await.unwrap() {
        ForkCheck::Ready(ready) => *ready,
        other => panic!("not ready: {other:?}"),
    }
}

async fn cloned(store: &Store, fork: &RefFork) -> ClonedRef {
    match clone_ref(&permit(), store, &ready(store, fork).await).await.unwrap() {
        Cloning::Cloned(cloned) => *cloned,
        other => panic!("not cloned: {other:?}"),
    }
}

/// Both phases.
pub(super) async fn fork(store: &Store, fork: &RefFork) -> TableHandle {
    let cloned = cloned(store, fork).await;
    let contents = write_ref_contents(&permit(), store, &cloned).await.unwrap();
    assert!(matches!(contents, PutOutcome::Created), "{contents:?}");
    cloned.table().clone()
}

fn probed(clone: PhysicalFact, contents: PhysicalFact) -> RefProbe {
    RefProbe { clone, contents }
}

async fn lance(store: &Store) -> Dataset {
    let builder = DatasetBuilder::from_uri(store.uri_of(TABLE)).with_session(store.session());
    builder.load().await.unwrap()
}

use PhysicalFact::{Absent, Foreign, Own};

#[tokio::test]
async fn each_phase_is_seen_by_a_probe() {
    let (_directory, on_disk) = local();
    for store in [memory(), on_disk] {
        create(&store, &[("a", 1)]).await;
        let fork = of_branch(&begun(0xb1, 1));
        assert_eq!(probe_ref(&store, &fork).await.unwrap(), probed(Absent, Absent));
        let cloned = cloned(&store, &fork).await;
        assert_eq!(probe_ref(&store, &fork).await.unwrap(), probed(Own, Absent));
        let _ = write_ref_contents(&permit(), &store, &cloned).await.unwrap();
        assert_eq!(probe_ref(&store, &fork).await.unwrap(), probed(Own, Own));
    }
}

#[tokio::test]
async fn a_ref_starts_at_the_version_that_it_is_made_of() {
    let store = memory();
    let table = create(&store, &[("a", 1)]).await;
    fences(table, 2..=4).await;
    let forked = fork(&store, &first_write(3)).await;
    assert_eq!(forked.version(), 3);
    let staged = stage_append(&forked, rows(&[("b", 2)]), TxUuid::effect(attempt(), 0, 0));
    let forked = commit(&forked, staged.await.unwrap()).await;
    assert_eq!(forked.version(), 4);
    assert_eq!(content(&forked).await, owned(&[("a", 1), ("b", 2)]));
    assert_eq!(content(&fresh(&store, Version::Latest).await).await, owned(&[("a", 1)]));
}

#[tokio::test]
async fn lance_knows_the_ref_by_the_identity_that_was_known_before() {
    let store = memory();
    create(&store, &[("a", 1)]).await;
    let begun = begun(0xb1, 1);
    let made = of_branch(&begun);
    fork(&store, &made).await;
    let native = begun.native().to_string();
    let dataset = lance(&store).await;
    let branches = dataset.list_branches().await.unwrap();
    assert_eq!(branches.keys().collect::<Vec<_>>(), [&native]);
    let contents = &branches[&native];
    assert_eq!((contents.parent_branch.as_ref(), contents.parent_version), (None, 1));
    assert_eq!(contents.create_at, 7);
    let size = store.head(&manifest_path(1)).await.unwrap().unwrap().size;
    assert_eq!(contents.manifest_size as u64, size);
    let RefIdentifier::Native(mapping) = begun.identifier() else { panic!("a native branch") };
    assert_eq!(contents.identifier.version_mapping, mapping);
    let branch = dataset.checkout_branch(&native).await.unwrap();
    assert_eq!(branch.manifest().branch.as_deref(), Some(native.as_str()));
    assert_eq!(branch.branch_identifier().await.unwrap().version_mapping, mapping);
    assert_eq!(branch.count_rows(None).await.unwrap(), 1);
    assert_eq!(refs_with_contents(&store, TABLE).await.unwrap(), [native]);
}

#[tokio::test]
async fn lance_keeps_what_a_ref_is_made_of() {
    let store = memory();
    let table = create(&store, &[("a", 1)]).await;
    let made = first_write(1);
    fork(&store, &made).await;
    let changed = change(&table, &["a"], Some(rows(&[("b", 2)])), uuid(2)).await;
    commit(&table, changed).await;
    let dataset = lance(&store.reopened()).await;
    let policy = lance::dataset::cleanup::CleanupPolicy {
        before_version: Some(2),
        delete_unverified: true,
        ..Default::default()
    };
    lance::dataset::cleanup::cleanup_old_versions(&dataset, policy).await.unwrap();
    let store = store.reopened();
    let forked = TableHandle::open(&store, TABLE, made.physical_ref(), Version::Latest);
    assert_eq!(content(&forked.await.unwrap()).await, owned(&[("a", 1)]));
}

#[tokio::test]
async fn a_ref_of_a_ref_reads_the_files_of_both() {
    let store = memory();
    create(&store, &[("a", 1)]).await;
    let parent = fork(&store, &first_write(1)).await;
    let step = TxUuid::effect(attempt(), 0, 1);
    let staged = stage_append(&parent, rows(&[("b", 2)]), step.clone()).await.unwrap();
    let parent = commit(&parent, staged).await;
    let mut head = inherited(1);
    head.physical_ref = parent.physical_ref().clone();
    head.ref_identifier = first_write(1).identifier().clone();
    head.pin = Pin { version: 2, tx_uuid: step };
    let by = AttemptId::from_u128(0xc1);
    let child = RefFork::of_first_write(by, 0, &head, 1).at_path(TABLE);
    let forked = fork(&store, &child).await;
    assert_eq!(content(&forked).await, owned(&[("a", 1), ("b", 2)]));
    assert_eq!(child.identifier().forked_at(), 2);
    let branches = lance(&store).await.list_branches().await.unwrap();
    let contents = &branches[&child.physical_ref().to_string()];
    assert_eq!(contents.parent_branch, Some(parent.physical_ref().to_string()));
    assert_eq!(contents.identifier.version_mapping.len(), 2);
}

#[tokio::test]
async fn a_version_that_is_another_or_gone_is_not_cloned() {
    let store = memory();
    let table = create(&store, &[("a", 1)]).await;
    commit(&table, stage_fence(1, uuid(9))).await;
    let before = store.list(TABLE).await.unwrap();
    for (version, expected) in [(2, Some(uuid(9))), (3, None)] {
        match check_fork(&store, &first_write(version)).await.unwrap() {
            ForkCheck::SourceGone { found } => assert_eq!(found, expected),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(store.list(TABLE).await.unwrap(), before);
}

#[tokio::test]
async fn each_phase_may_be_sent_again() {
    let store = memory();
    create(&store, &[("a", 1)]).await;
    let made = first_write(1);
    let first = fork(&store, &made).await;
    let before = store.list(TABLE).await.unwrap();
    let again = fork(&store, &made).await;
    assert_eq!(again.version(), first.version());
    // The same making in another process, which does not know that it was sent.
    let elsewhere = fork(&store.reopened(), &first_write(1)).await;
    assert_eq!(content(&elsewhere).await, owned(&[("a", 1)]));
    assert_eq!(store.list(TABLE).await.unwrap(), before);
}

#[tokio::test]
async fn phases_whose_answers_are_lost_are_done() {
    let store = memory();
    create(&store, &[("a", 1)]).await;
    // Of the file that Lance writes first, a lost answer ends the call before it has sent anything.
    let (faulty, _) = store.faulty(|operation| match operation.kind {
        OperationKind::PutIfAbsent => Fault::LoseAck,
        _ => Fault::Proceed,
    });
    fork(&faulty, &first_write(1)).await;
    assert_eq!(probe_ref(&store, &first_write(1)).await.unwrap(), probed(Own, Own));
}

/// Dies at every durable operation of both phases, before it and after it.
#[tokio::test]
async fn a_crash_leaves_a_state_of_the_table_and_a_removal_leaves_nothing() {
    let mut seen = Vec::new();
    for fault in [Fault::DieBefore, Fault::DieAfter] {
        for nth in 1.. {
            let storage = MemoryStorage::new();
            let store = Store::memory(&storage);
            create(&store, &[("a", 1)]).await;
            let untouched = storage.digest().await.unwrap();
            let (dying, handle) =
                store.faulty(
                    move |operation| {
                        if operation.number == nth { fault } else { Fault::Proceed }
                    },
                );
            let made = first_write(1);
            let ready = ready(&store, &made).await;
            if let Ok(Cloning::Cloned(cloned)) = clone_ref(&permit(), &dying, &ready).await {
                let _ = write_ref_contents(&permit(), &dying, &cloned).await;
            }
            if !handle.is_dead() {
                break;
            }
            let probe = probe_ref(&store, &made).await.unwrap();
            let remains = probe_remains(&store, &made).await.unwrap();
            seen.push((probe.clone, probe.contents, remains.clone));
            let removed = delete_ref(&permit(), &store, &made).await.unwrap();
            assert_eq!(removed, RefRemoval::Removed);
            assert_eq!(storage.digest().await.unwrap(), untouched, "{fault:?} {nth}");
        }
    }
    let of = |state| seen.iter().filter(|found| **found == state).count();
    assert_eq!(of((Absent, Absent, Absent)), 1, "{seen:?}");
    assert_eq!(of((Absent, Absent, Own)), 2, "{seen:?}");
    assert_eq!(of((Own, Absent, Own)), 2, "{seen:?}");
    assert_eq!(of((Own, Own, Own)), 1, "{seen:?}");
}

#[tokio::test]
async fn a_clone_that_lands_late_is_found_when_the_phase_is_sent_again() {
    let store = memory();
    create(&store, &[("a", 1)]).await;
    let (dying, handle) = store.faulty(|operation| match operation.kind {
        OperationKind::PutIfAbsent if operation.path.contains("_versions") => Fault::LateDead,
        _ => Fault::Proceed,
    });
    let made = first_write(1);
    let ready = ready(&store, &made).await;
    let cloning = clone_ref(&permit(), &dying, &ready).await.unwrap();
    assert!(matches!(cloning, Cloning::Unknown(_)), "{cloning:?}");
    assert_eq!(probe_ref(&store, &made).await.unwrap(), probed(Absent, Absent));
    handle.release_late().await;
    assert_eq!(probe_ref(&store, &made).await.unwrap(), probed(Own, Absent));
    fork(&store, &made).await;
}

#[tokio::test]
async fn refs_of_one_name_from_two_versions_are_two_refs() {
    let store = memory();
    let table = create(&store, &[("a", 1)]).await;
    let staged = stage_append(&table, rows(&[("b", 2)]), uuid(2)).await.unwrap();
    commit(&table, staged).await;
    let (one, two) = (begun(0xb1, 1), begun(0xb2, 2));
    let forks = [&one, &two].map(of_branch);
    let (first, second) = tokio::join!(fork(&store, &forks[0]), fork(&store, &forks[1]));
    assert_eq!(content(&first).await, owned(&[("a", 1)]));
    assert_eq!(content(&second).await, owned(&[("a", 1), ("b", 2)]));
    for fork in &forks {
        assert_eq!(probe_ref(&store, fork).await.unwrap(), probed(Own, Own));
    }
}

#[tokio::test]
async fn what_is_foreign_under_the_name_of_a_ref_is_seen_and_not_removed() {
    let store = memory();
    create(&store, &[("a", 1)]).await;
    let made = first_write(1);
    let path = format!("{TABLE}/_refs/branches/{}.json", made.physical_ref());
    let _ = store.put_if_absent(&path, Bytes::from_static(b"{}"), attempt()).await.unwrap();
    assert_eq!(probe_ref(&store, &made).await.unwrap(), probed(Absent, Foreign));
    let refused = delete_ref(&permit(), &store, &made).await.unwrap();
    assert_eq!(refused, RefRemoval::ForeignContents);
    assert!(store.head(&path).await.unwrap().is_some());
}

#[tokio::test]
async fn a_ref_that_another_has_committed_to_is_not_removed() {
    let store = memory();
    create(&store, &[("a", 1)]).await;
    let made = first_write(1);
    let forked = fork(&store, &made).await;
    let other = TxUuid::effect(AttemptId::from_u128(0xee), 0, 0);
    let staged = stage_append(&forked, rows(&[("b", 2)]), other.clone()).await.unwrap();
    commit(&forked, staged).await;
    let before = store.list(TABLE).await.unwrap();
    let refused = delete_ref(&permit(), &store, &made).await.unwrap();
    assert_eq!(refused, RefRemoval::NotOurs { version: 2, found: other });
    assert_eq!(store.list(TABLE).await.unwrap(), before);
}

/// Dies at every deletion; the next one finishes.
#[tokio::test]
async fn a_removal_that_died_is_finished_by_the_next() {
    for nth in 1.. {
        let storage = MemoryStorage::new();
        let store = Store::memory(&storage);
        create(&store, &[("a", 1)]).await;
        let untouched = storage.digest().await.unwrap();
        let made = first_write(1);
        let forked = fork(&store, &made).await;
        let step = TxUuid::effect(attempt(), 0, 0);
        let staged = stage_append(&forked, rows(&[("b", 2)]), step).await.unwrap();
        commit(&forked, staged).await;
        let (dying, handle) =
            store.faulty(
                move |operation| {
                    if operation.number == nth { Fault::DieBefore } else { Fault::Proceed }
                },
            );
        let removed = delete_ref(&permit(), &dying, &made).await;
        if !handle.is_dead() {
            assert_eq!(removed.unwrap(), RefRemoval::Removed);
            break;
        }
        removed.unwrap_err();
        assert_eq!(delete_ref(&permit(), &store, &made).await.unwrap(), RefRemoval::Removed);
        assert_eq!(storage.digest().await.unwrap(), untouched, "{nth}");
    }
}

#[tokio::test]
async fn a_commit_that_arrives_after_the_removal_of_its_ref_is_garbage_that_is_removed_again() {
    let store = memory();
    create(&store, &[("a", 1)]).await;
    let made = first_write(1);
    let forked = fork(&store, &made).await;
    let (dying, handle) = store.faulty(|operation| match operation.kind {
        OperationKind::PutIfAbsent => Fault::LateDead,
        _ => Fault::Proceed,
    });
    let table = TableHandle::open(&dying, TABLE, made.physical_ref(), Version::Latest);
    let step = TxUuid::effect(attempt(), 0, 0);
    let table = table.await.unwrap();
    let staged = stage_fence(table.version(), step);
    let _ = strict_commit(&permit(), &table, staged).await;
    assert_eq!(forked.version(), 1);
    let _ = delete_ref(&permit(), &store, &made).await.unwrap();
    assert_eq!(handle.release_late().await, 1);
    assert_eq!(delete_ref(&permit(), &store, &made).await.unwrap(), RefRemoval::Removed);
    assert_eq!(probe_remains(&store, &made).await.unwrap(), probed(Absent, Absent));
}

#[tokio::test]
async fn both_phases_cost_few_requests() {
    let store = memory();
    create(&store, &[("a", 1)]).await;
    let (counted, counter) = store.counting();
    fork(&counted, &first_write(1)).await;
    let counts = counter.take();
    assert_eq!(counts.total(), 7, "{counts:?}");
}

/// An armed first write to the table that `inherited` is the head of.
fn armed(kind: EffectKind, at: PhysicalRef) -> Intent {
    let mut intent = super::intents::intent(attempt());
    let head = TableHeadToken::Live(Box::new(inherited(3)));
    let base = BaseView {
        branch: intent.branch.clone(),
        manifest: intent.manifest.clone(),
        schema: intent.read_set.schema(),
        heads: BTreeMap::from([(identity(), head)]),
        graph_head: GraphHeadToken(None),
    };
    intent.read_set.add_table(&base, identity(), Access::Written);
    let step = PlannedStep { read_version: 3, tx_uuid: TxUuid::effect(attempt(), 0, 0) };
    let path = PATH.parse().unwrap();
    intent.effects = vec![Effect {
        target: EffectTarget { identity: identity(), path, physical_ref: at },
        pre: PreState::Absent,
        kind,
        post: PostState::Exact(step.pin()),
        steps: vec![step],
        compensation: Compensation::DeleteRef,
        content: ContentId::from_u128(2),
    }];
    intent
}

#[tokio::test]
async fn the_ref_of_an_armed_first_write_follows_from_its_intent() {
    let own = PhysicalRef::of_first_write(attempt());
    let fork = RefFork::of_effect(&armed(EffectKind::CreateRef, own.clone()), 0).unwrap();
    assert_eq!(fork.physical_ref(), &own);
    assert_eq!(fork.clone_pin(), Pin { version: 3, tx_uuid: TxUuid::fork(attempt(), 0) });
    let id = format!("{:032x}", attempt().as_u128());
    assert_eq!(fork.identifier(), &RefIdentifier::Native(vec![(3, id)]));
}

#[tokio::test]
async fn an_effect_that_makes_no_ref_of_its_attempt_has_none_to_remove() {
    let own = PhysicalRef::of_first_write(attempt());
    let others = PhysicalRef::of_first_write(AttemptId::from_u128(0xee));
    for (kind, at, effect) in [
        (EffectKind::CreateDataset, own.clone(), 0),
        (EffectKind::CreateRef, others, 0),
        (EffectKind::CreateRef, PhysicalRef::Main, 0),
        (EffectKind::CreateRef, own, 1),
    ] {
        assert!(RefFork::of_effect(&armed(kind, at.clone()), effect).is_none(), "{kind:?} {at}");
    }
}

#[tokio::test]
async fn what_recovery_observes_tells_a_ref_without_a_step_from_one_with_it() {
    let store = memory();
    create(&store, &[("a", 1)]).await;
    let made = first_write(1);
    let at = made.physical_ref().clone();
    assert_eq!(head(&store, TABLE, &at).await.unwrap(), None);
    let forked = fork(&store, &made).await;
    assert_eq!(head(&store, TABLE, &at).await.unwrap().unwrap().pin(), made.clone_pin());
    assert_eq!(read_slot(&store, TABLE, &at, 1).await.unwrap().unwrap().action, SlotAction::Clone);
    assert_eq!(read_slot(&store, TABLE, &at, 2).await.unwrap(), None);
    let step = TxUuid::effect(attempt(), 0, 0);
    let staged = stage_append(&forked, rows(&[("b", 2)]), step.clone()).await.unwrap();
    commit(&forked, staged).await;
    let found = head(&store, TABLE, &at).await.unwrap().unwrap();
    assert_eq!((found.version, found.tx_uuid), (2, step));
}
