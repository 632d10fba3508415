//! What reading and publishing ask of the storage, counted.

use graphwrite_substrate::OperationKind;

use super::world::*;

#[tokio::test]
async fn reading_an_unchanged_manifest_costs_one_listing() {
    let world = World::in_memory().await;
    let (counted, counter) = world.store.counting();
    let manifest = world.open_through(&counted).await;
    counter.take();
    manifest.state().await.unwrap();
    let counts = counter.take();
    assert_eq!((counts.total(), counts.of(OperationKind::List)), (1, 1), "{counts:?}");
}

#[tokio::test]
async fn a_cold_open_costs_four_requests() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    commit_many(&world, &manifest, 10).await;
    let (counted, counter) = world.store.counting();
    world.open_through(&counted).await;
    let counts = counter.take();
    assert!(counts.total() <= 4, "{counts:?}");
}

#[tokio::test]
async fn requests_per_publish_are_flat_and_cold_fragments_few_to_depth_300() {
    let world = World::in_memory().await;
    let (counted, counter) = world.store.counting();
    let manifest = world.open_through(&counted).await;
    let (mut plain, mut spilling) = (Vec::new(), Vec::new());
    for _ in 0..300 {
        let before = manifest.known_state();
        counter.take();
        commit_many(&world, &manifest, 1).await;
        let counts = counter.take();
        let spilled = manifest.known_state().cold_fragments() != before.cold_fragments();
        if spilled { &mut spilling } else { &mut plain }.push(counts.total());
        assert!(manifest.known_state().cold_fragments().len() <= 3);
    }
    assert_eq!(spilling.len(), 5, "every 49th publish after the first 64 spills");
    assert!(plain.iter().all(|requests| *requests == plain[0]), "{plain:?}");
    assert!(plain[0] <= 4, "a publish costs {} requests", plain[0]);
    assert!(spilling.iter().all(|requests| *requests <= plain[0] + 4), "{spilling:?}");
}

#[tokio::test]
async fn bytes_per_publish_depend_on_the_hot_rows_and_not_on_depth() {
    let world = World::in_memory().await;
    let (counted, counter) = world.store.counting();
    let manifest = world.open_through(&counted).await;
    let mut bytes = Vec::new();
    for _ in 0..300 {
        let before = manifest.known_state();
        counter.take();
        commit_many(&world, &manifest, 1).await;
        let spilled = manifest.known_state().cold_fragments() != before.cold_fragments();
        bytes.push(if spilled { 0 } else { counter.take().bytes_written });
    }
    let most = |of: &[u64]| of.iter().copied().max().unwrap_or_default();
    let (early, late) = (most(&bytes[..100]), most(&bytes[200..]));
    assert!(late <= early + early / 10, "{early} bytes early, {late} bytes late");
    let at_ten = bytes[9];
    assert!(late <= 4 * at_ten, "{at_ten} bytes at depth 10, {late} bytes late");
}

#[tokio::test]
async fn a_publish_that_lost_its_slot_does_not_grow_with_depth_either() {
    let world = World::in_memory().await;
    let other = world.open().await;
    let (counted, counter) = world.store.counting();
    let manifest = world.open_through(&counted).await;
    let mut costs = Vec::new();
    for _ in 0..40 {
        let base = manifest.state().await.unwrap();
        other.state().await.unwrap();
        world.write(&base).writes(table(1)).commit(&other, &base).await;
        let write = world.write(&base).writes(table(2));
        counter.take();
        write.commit(&manifest, &base).await;
        costs.push(counter.take().total());
    }
    let dearer = costs.iter().filter(|requests| **requests > costs[0]);
    assert!(dearer.clone().count() <= 2, "only where rows spilled: {costs:?}");
    assert!(dearer.max().is_none_or(|requests| *requests <= costs[0] + 4), "{costs:?}");
    assert!(costs[0] <= 11, "{costs:?}");
}
