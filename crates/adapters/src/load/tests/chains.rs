//! What is too much for one commit becomes several, planned before the first and made in order.

use graphwrite_protocol_types::*;
use graphwrite_substrate::{
    Landing, OperationKind, TableHandle, Version, head, stage_fence, strict_commit,
};

use crate::load::LoadMode::{Append, Upsert};
use crate::world::{Came, World, committed};
use crate::*;

const BOUNDS: CommitBounds = CommitBounds { rows: 2, bytes: u64::MAX };

fn persons(slugs: std::ops::Range<u32>, age: u32) -> Vec<String> {
    let line = |n| format!(r#"{{"type":"Person","data":{{"slug":"p{n}","age":{age}}}}}"#);
    slugs.map(line).collect()
}

fn lines(of: &[String]) -> Vec<&str> {
    of.iter().map(String::as_str).collect()
}

/// Five persons in three fragments; from now on a commit carries two rows.
async fn world() -> World {
    let mut world = World::new().await;
    for slugs in [0..2, 2..3, 3..5] {
        let came = world.load(Append, &lines(&persons(slugs, 1))).await;
        assert!(matches!(came, Came::Committed(_)), "{came:?}");
    }
    world.bounds = BOUNDS;
    world
}

#[tokio::test]
async fn more_rows_than_one_commit_carries_are_a_chain_above_the_pin() {
    let world = world().await;
    let base = world.base().await;
    let pin = base.head(world.identity("Person")).live().unwrap().pin.clone();
    let write = world.planned(Upsert, &lines(&persons(1..8, 2))).await;
    let [effect] = write.write().effects.as_slice() else { panic!("one effect") };
    assert_eq!((effect.kind, effect.steps.len()), (EffectKind::Chain, 4));
    for (at, step) in (0..).zip(&effect.steps) {
        let uuid = TxUuid::effect(write.write().attempt, 0, at);
        assert_eq!((step.read_version, &step.tx_uuid), (pin.version + u64::from(at), &uuid));
    }
    assert_eq!(effect.exact_post(), Some(&effect.steps[3].pin()));
    assert_eq!(effect.compensation, Compensation::Restore);
}

#[tokio::test]
async fn a_chain_leaves_the_rows_that_one_commit_would_leave() {
    let world = world().await;
    let came = world.load(Upsert, &lines(&persons(1..8, 2))).await;
    assert_eq!(came, committed(&[("Person", 3, 4, 0)]));
    let rows = [persons(0..1, 1), persons(1..8, 2)].concat();
    assert_eq!(world.rows("Person").await, rows);
    let table = world.open("Person").await.unwrap();
    assert_eq!((table.version(), table.count_rows().await.unwrap()), (7, 8));
}

#[tokio::test]
async fn a_first_load_and_a_load_of_several_tables_go_in_chains_too() {
    let mut world = World::new().await;
    world.bounds = BOUNDS;
    let mut rows = persons(0..5, 1);
    rows.push(r#"{"edge":"Knows","from":"p0","to":"p1","data":{}}"#.to_owned());
    let came = world.load(Append, &lines(&rows)).await;
    assert_eq!(came, committed(&[("Knows", 1, 0, 0), ("Person", 5, 0, 0)]));
    assert_eq!(world.rows("Person").await, persons(0..5, 1));
    let versions = [("Person", 3), ("Knows", 1)];
    for (name, version) in versions {
        assert_eq!(world.open(name).await.unwrap().version(), version, "{name}");
    }
    assert_eq!(world.load(Upsert, &lines(&persons(0..5, 1))).await, Came::NoChange);
}

#[tokio::test]
async fn bytes_bound_a_commit_as_rows_do() {
    let mut world = World::new().await;
    world.bounds = CommitBounds { rows: u64::MAX, bytes: 1 };
    let write = world.planned(Append, &lines(&persons(0..3, 1))).await;
    assert_eq!(write.write().effects[0].steps.len(), 3);
}

#[tokio::test]
async fn a_chain_that_meets_another_commit_stops_and_says_how_far_it_came() {
    let world = world().await;
    let slot = format!("_versions/{}.manifest", u64::MAX - 5);
    let (held, mut requests) = world.store.holding(move |request| {
        request.kind == OperationKind::PutIfAbsent && request.path.ends_with(&slot)
    });
    let input = world.schema.input(&lines(&persons(1..8, 2)));
    let write = match world.prepare_input(Upsert, &input, &held, None).await {
        Ok(WritePlan::Write(write)) => *write,
        other => panic!("{other:?}"),
    };
    let armed = world.arm(write).await.unwrap();
    let (payload, permit) = (armed.payload(), armed.permit());
    assert_eq!(payload.landed(0), 0);
    let target = &armed.intent().effects[0].target;
    let place = (target.path.as_str(), &target.physical_ref);
    let somebody = async {
        let second = requests.next().await.expect("the second commit");
        let table = TableHandle::open(&world.store, place.0, place.1, Version::Exact(4));
        let fence = stage_fence(4, TxUuid::fence(AttemptId::from_u128(9), 0));
        let landing = strict_commit(&permit, &table.await.unwrap(), fence).await.unwrap();
        assert!(matches!(landing, Landing::Landed { .. }), "{landing:?}");
        second.release();
    };
    let chain = perform(0, payload, armed.intent(), &permit, &held);
    let (performed, ()) = tokio::join!(chain, somebody);
    let performed = performed.unwrap();
    assert!(matches!(performed, Landing::SlotTaken { winner: Some(_) }), "{performed:?}");
    assert_eq!(payload.landed(0), 1);
    let found = head(&world.store, place.0, place.1).await.unwrap();
    assert_eq!(found.unwrap().version, 5);
}
