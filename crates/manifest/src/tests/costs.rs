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
