//! The recovery records: names, exclusiveness, and the order in which they go.

use std::collections::BTreeMap;

use bytes::Bytes;
use graphwrite_protocol_types::{
    Alive, AttemptId, BaseView, BranchToken, CommitId, Confirm, GraphHeadToken, IdentityDomain,
    Intent, LineageIntent, ManifestDelta, NativeBranch, OwnerRecord, Parents, Pin,
    ProcessInstanceId, ReadSet, RecoveryPlan, RequestDigest, SchemaHash, SchemaToken, WriterKind,
};

use super::world::*;
use crate::*;

fn domain() -> IdentityDomain {
    IdentityDomain::from_u128(1)
}

fn records(store: &Store) -> IntentStore {
    IntentStore::new(store.clone(), domain())
}

fn main() -> NativeBranch {
    NativeBranch::main()
}

/// An armed load without effects.
pub(super) fn intent(attempt: AttemptId) -> Intent {
    let manifest = Pin { version: 3, tx_uuid: uuid(3) };
    let base = BaseView {
        branch: BranchToken::main(domain()),
        manifest: manifest.clone(),
        schema: SchemaToken(SchemaHash([1; 32])),
        heads: BTreeMap::new(),
        graph_head: GraphHeadToken(None),
    };
    Intent {
        attempt,
        operation: "nightly".parse().unwrap(),
        request: RequestDigest([2; 32]),
        writer: WriterKind::Load,
        branch: base.branch.clone(),
        manifest,
        read_set: ReadSet::new(&base),
        effects: Vec::new(),
        delta: ManifestDelta { heads: Vec::new(), schema: None },
        lineage: LineageIntent {
            commit: CommitId::from_u128(4),
            parents: Parents::HeadAtPublish,
            actor: "ada".to_owned(),
            message: None,
            tables: Vec::new(),
        },
        recovery: RecoveryPlan::for_kinds([]),
        owner: OwnerRecord {
            instance: ProcessInstanceId::from_u128(5),
            pid: 1,
            pid_namespace: None,
            boot_id: None,
            process_start_ticks: None,
            host: "h".to_owned(),
        },
        armed_at_unix_us: 6,
    }
}

async fn armed(records: &IntentStore) {
    let arming = records.arm(intent(attempt())).await.unwrap();
    assert!(matches!(arming, Arming::Armed(_)), "{arming:?}");
}

fn alive(beat: u32) -> Alive {
    Alive { attempt: attempt(), beat, at_unix_us: 1 }
}

#[tokio::test]
async fn an_armed_intent_is_listed_and_reads_back_equal() {
    let (_directory, on_disk) = local();
    for store in [memory(), on_disk] {
        let records = records(&store);
        armed(&records).await;
        let listing = records.list(&main()).await.unwrap();
        assert_eq!(listing.attempts.keys().collect::<Vec<_>>(), [&attempt()]);
        assert!(listing.attempts[&attempt()].intent.is_some());
        let found = records.intent(&main(), attempt()).await.unwrap();
        assert_eq!(found, Some(intent(attempt())));
        let all = records.list_all().await.unwrap();
        assert_eq!(all, [(main(), listing)].into());
    }
}

#[tokio::test]
async fn another_intent_under_the_same_attempt_is_refused() {
    let records = records(&memory());
    armed(&records).await;
    let mut other = intent(attempt());
    other.armed_at_unix_us += 1;
    assert!(matches!(records.arm(other).await.unwrap(), Arming::NameTaken));
}

#[tokio::test]
async fn an_intent_whose_put_lost_its_answer_is_armed() {
    let (store, _) = memory().faulty(|_| Fault::LoseAck);
    armed(&records(&store)).await;
}

#[tokio::test]
async fn an_intent_whose_put_failed_is_unknown() {
    let (store, _) = memory().faulty(|_| Fault::Fail);
    let arming = records(&store).arm(intent(attempt())).await.unwrap();
    assert!(matches!(arming, Arming::Unknown(_)), "{arming:?}");
}

#[tokio::test]
async fn an_empty_barrier_is_one_listing() {
    let (store, counter) = memory().counting();
    assert!(records(&store).list(&main()).await.unwrap().is_empty());
    let counts = counter.take();
    assert_eq!((counts.of(OperationKind::List), counts.total()), (1, 1));
}

#[tokio::test]
async fn names_that_are_not_understood_are_reported() {
    let store = memory();
    let id = AttemptId::from_u128(u128::MAX / 3);
    let names = [
        "junk".to_owned(),
        format!("{id}.intent.bak"),
        format!("{id}.alive"),
        format!("{id}.alive.01"),
        format!("{id}.alive.x"),
        format!("{}.intent", id.to_string().to_lowercase()),
        format!("sub/{id}.intent"),
    ];
    for name in &names {
        let path = format!("_recovery/main/{name}");
        let _ = store.put_if_absent(&path, Bytes::from_static(b"?"), id).await.unwrap();
    }
    let listing = records(&store).list(&main()).await.unwrap();
    assert_eq!((listing.attempts.len(), listing.foreign.len()), (0, names.len()));
}

#[tokio::test]
async fn records_of_a_branch_are_not_those_of_another_that_begins_alike() {
    let store = memory();
    armed(&records(&store)).await;
    let other = NativeBranch::of_incarnation("mai", attempt());
    assert!(records(&store).list(&other).await.unwrap().is_empty());
}

#[tokio::test]
async fn all_records_of_an_attempt_go_and_the_intent_goes_last() {
    let (store, handle) = memory().faulty(|_| Fault::Proceed);
    let records = records(&store);
    armed(&records).await;
    let confirm = Confirm { attempt: attempt(), achieved: Vec::new() };
    assert!(matches!(records.confirm(&main(), &confirm).await.unwrap(), PutOutcome::Created));
    for beat in [1, 2, 10] {
        assert!(matches!(records.beat(&main(), &alive(beat)).await.unwrap(), PutOutcome::Created));
    }
    let listing = records.list(&main()).await.unwrap();
    let found = &listing.attempts[&attempt()];
    assert_eq!(found.alive.keys().copied().collect::<Vec<_>>(), [1, 2, 10]);
    assert_eq!(records.confirmed(&main(), attempt()).await.unwrap(), Some(confirm));
    let beats: Vec<u32> = found.alive.keys().copied().collect();
    records.delete(&main(), attempt(), found.confirm.is_some(), &beats).await.unwrap();
    let log = handle.log();
    let deleted: Vec<_> = log
        .operations()
        .filter(|o| o.kind == OperationKind::Delete)
        .map(|o| o.path.clone())
        .collect();
    let suffixes: Vec<_> = deleted.iter().map(|path| path.split_once('.').unwrap().1).collect();
    assert_eq!(suffixes, ["alive.1", "alive.2", "alive.10", "confirm", "intent"]);
    assert!(records.list(&main()).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_intent_that_is_gone_reads_as_none() {
    let found = records(&memory()).intent(&main(), attempt()).await.unwrap();
    assert_eq!(found, None);
}

#[tokio::test]
async fn a_record_of_another_graph_or_with_damage_is_refused_by_its_path() {
    let store = memory();
    armed(&records(&store)).await;
    let foreign = IntentStore::new(store.clone(), IdentityDomain::from_u128(99));
    let refused = foreign.intent(&main(), attempt()).await.unwrap_err();
    assert!(matches!(&refused, IntentError::Unusable { .. }), "{refused}");
    assert!(refused.to_string().contains("_recovery/main/"), "{refused}");
    let other = AttemptId::from_u128(8);
    let path = format!("_recovery/main/{other}.intent");
    let _ = store.put_if_absent(&path, Bytes::from_static(b"short"), other).await.unwrap();
    let refused = records(&store).intent(&main(), other).await.unwrap_err();
    assert!(matches!(refused, IntentError::Unusable { .. }));
}
