//! Descent of real commits on real branches: what their rows say, against the graph of all commits, and
//! what it costs to ask.

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_protocol_types::*;
use graphwrite_substrate::delete_dataset;

use super::branches::*;
use super::world::*;
use crate::rows::{REACH, RowBody};
use crate::*;

/// A merge of the newest commit of `source` into `target`.
async fn merging(world: &World, target: &Manifest, source: &Manifest) -> Write {
    let (into, of) = (target.known_state(), source.known_state());
    let (merged, theirs) = (of.head_tip().unwrap(), of.head_reach().await.unwrap());
    let parents = into.merge_parents(merged, &theirs).await.unwrap();
    let mut write = world.write(&into).writes(table(1)).reads_head();
    write.intent.lineage.parents = Parents::Merge(Box::new(parents));
    write
}

async fn merge(world: &World, target: &Manifest, source: &Manifest) -> CommitId {
    let write = merging(world, target, source).await;
    write.commit(target, &target.known_state()).await;
    write.intent.lineage.commit
}

async fn commit(world: &World, on: &Manifest) -> CommitId {
    commit_one(world, on, 1).await.intent.lineage.commit
}

/// The bases of a merge of the newest states, as another process finds them.
async fn bases_of(target: &Manifest, source: &Manifest) -> Result<MergeBases, BasesError> {
    let (into, of) = (target.known_state(), source.known_state());
    let (ours, theirs) = (into.head_reach().await?, of.head_reach().await?);
    let (into, of) = (into.head_tip(), of.head_tip());
    let target_side = MergeSide { tip: into.as_ref(), reach: &ours };
    let source_side = MergeSide { tip: of.as_ref(), reach: &theirs };
    target.merge_bases(target_side, source_side).await
}

async fn bases(target: &Manifest, source: &Manifest) -> BTreeSet<CommitId> {
    match bases_of(target, source).await.unwrap() {
        MergeBases::Diverged(bases) => bases
            .iter()
            .map(|base| {
                assert_eq!(base.state.base().graph_head.0, Some(base.tip.commit));
                base.tip.commit
            })
            .collect(),
        MergeBases::FastForward => target.known_state().base().graph_head.0.into_iter().collect(),
        MergeBases::Contained => source.known_state().base().graph_head.0.into_iter().collect(),
        MergeBases::Unrelated => BTreeSet::new(),
    }
}

/// All commits of some branches by their parents.
async fn graph_of(branches: &[&Manifest]) -> BTreeMap<CommitId, Vec<CommitId>> {
    let mut graph = BTreeMap::new();
    for branch in branches {
        let history = branch.known_state().history().await.unwrap();
        graph.extend(history.commits.into_iter().map(|row| (row.commit, row.parents)));
    }
    graph
}

fn ancestors(graph: &BTreeMap<CommitId, Vec<CommitId>>, of: CommitId) -> BTreeSet<CommitId> {
    let (mut found, mut open) = (BTreeSet::new(), vec![of]);
    while let Some(at) = open.pop() {
        if found.insert(at) {
            open.extend(&graph[&at]);
        }
    }
    found
}

fn best_by_the_graph(
    graph: &BTreeMap<CommitId, Vec<CommitId>>,
    one: CommitId,
    other: CommitId,
) -> BTreeSet<CommitId> {
    let common = &ancestors(graph, one) & &ancestors(graph, other);
    let reached = |at: &CommitId| {
        common.iter().any(|other| other != at && ancestors(graph, *other).contains(at))
    };
    common.iter().copied().filter(|at| !reached(at)).collect()
}

#[tokio::test]
async fn three_branches_that_merge_each_other_at_random_have_the_bases_of_the_graph() {
    let (world, main) = with_commits(1).await;
    let mut all = vec![main];
    for name in ["a", "b"] {
        all.push(branch(&world, name, &all[0]).await);
    }
    let (mut several, mut random) = (0, 7_u64);
    for _ in 0..60 {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let pick = |shift: u32| (random >> shift) as usize % 3;
        let (into, of) = (&all[pick(40)], &all[pick(50)]);
        let is_news = matches!(
            bases_of(into, of).await.unwrap(),
            MergeBases::Diverged(_) | MergeBases::FastForward
        );
        if is_news && pick(33) > 0 {
            merge(&world, into, of).await
        } else {
            commit(&world, into).await
        };
        let graph = graph_of(&all.iter().collect::<Vec<_>>()).await;
        let head = |of: &Manifest| of.known_state().base().graph_head.0.unwrap();
        for (one, other) in [(0, 1), (1, 2), (2, 0)] {
            let (one, other) = (&all[one], &all[other]);
            let best = best_by_the_graph(&graph, head(one), head(other));
            assert_eq!(bases(one, other).await, best);
            several += usize::from(best.len() > 1);
        }
    }
    assert!(several > 0, "the history never went crosswise");
}

#[tokio::test]
async fn the_first_commit_of_a_branch_records_what_was_forked_and_the_next_ones_nothing() {
    let (world, main) = with_commits(2).await;
    let branch = branch(&world, "b", &main).await;
    let forked = main.known_state().head_tip().unwrap();
    assert_eq!(
        branch.known_state().head_tip(),
        Some(forked.clone()),
        "it has no commit of its own"
    );
    commit_many(&world, &branch, 3).await;
    let state = open_branch_again(&world, &branch).await.known_state();
    let rows = &state.hot().reaches;
    assert_eq!(rows.len(), 1);
    assert_eq!(
        (rows[0].key, rows[0].tips.as_slice()),
        (ReachKey::Fork(1), [forked.clone()].as_slice())
    );
    let tip = state.head_tip().unwrap();
    assert_eq!((tip.line, tip.generation), (state.base().branch.native.clone(), 5));
    assert!(state.head_reach().await.unwrap().covers(&forked));
    assert!(main.known_state().hot().reaches.is_empty());
}

async fn open_branch_again(world: &World, branch: &Manifest) -> Manifest {
    let token = branch.known_state().base().branch.clone();
    let live = LiveBranch { token, fork: branch.fork().unwrap().clone() };
    open_branch(world, &live).await
}

#[tokio::test]
async fn what_two_branches_merged_of_a_deleted_third_is_found_where_it_still_is() {
    let (world, main) = with_commits(1).await;
    let [x, s, t] = ["x", "s", "t"].map(|name| branch(&world, name, &main));
    let (x, s, t) = futures::join!(x, s, t);
    let on_x = commit(&world, &x).await;
    merge(&world, &s, &x).await;
    merge(&world, &t, &x).await;
    commit(&world, &s).await;
    commit(&world, &t).await;
    assert_eq!(bases(&t, &s).await, BTreeSet::from([on_x]));
    // A deleted name leaves the native branch in place. When that is gone as well, no older commit is
    // taken in its place.
    let native = x.known_state().base().branch.native.clone();
    let removed = format!("{MANIFEST_PATH}/tree/{native}");
    assert!(!world.store.list(&removed).await.unwrap().is_empty());
    let permit = CommitPermit::authority(native.attempt().unwrap());
    delete_dataset(&permit, &world.store, &removed).await.unwrap();
    let (s, t) = (open_branch_again(&world, &s).await, open_branch_again(&world, &t).await);
    let gone = bases_of(&t, &s).await.unwrap_err();
    assert!(matches!(&gone, BasesError::Gone { tip } if tip.commit == on_x), "{gone:?}");
}

#[tokio::test]
async fn a_merge_has_two_parents_and_is_not_merged_again() {
    let (world, main) = with_commits(1).await;
    let branch = branch(&world, "b", &main).await;
    let theirs = commit(&world, &branch).await;
    assert!(matches!(bases_of(&main, &branch).await, Ok(MergeBases::FastForward)));
    let ours = main.known_state().base().graph_head.0.unwrap();
    let merged = merge(&world, &main, &branch).await;
    let row = main.known_state().commit(merged).await.unwrap().unwrap();
    assert_eq!(row.parents, [ours, theirs]);
    assert_eq!((row.position.generation, row.position.merges), (3, 1));
    assert!(matches!(bases_of(&main, &branch).await, Ok(MergeBases::Contained)));
    assert!(matches!(bases_of(&branch, &main).await, Ok(MergeBases::FastForward)));
}

#[tokio::test]
async fn branches_of_a_graph_without_commits_have_the_empty_graph_in_common() {
    let (world, main) = with_commits(0).await;
    let branch = branch(&world, "b", &main).await;
    assert!(matches!(bases_of(&main, &branch).await, Ok(MergeBases::Contained)));
    commit(&world, &branch).await;
    assert!(matches!(bases_of(&main, &branch).await, Ok(MergeBases::FastForward)));
    commit(&world, &main).await;
    assert!(matches!(bases_of(&main, &branch).await, Ok(MergeBases::Unrelated)));
    merge(&world, &main, &branch).await;
    assert!(matches!(bases_of(&main, &branch).await, Ok(MergeBases::Contained)));
}

#[tokio::test]
async fn too_many_bases_are_refused_with_the_number() {
    let (world, main) = with_commits(1).await;
    let (a, b) = futures::join!(branch(&world, "a", &main), branch(&world, "b", &main));
    for round in 0..=MERGE_BASES_MAX {
        // Both take the same commit of a third branch, which has nothing to do with the others.
        let third = branch(&world, &format!("x{round}"), &main).await;
        commit(&world, &third).await;
        merge(&world, &a, &third).await;
        merge(&world, &b, &third).await;
        let found = bases_of(&a, &b).await;
        match (round < MERGE_BASES_MAX, found) {
            (true, Ok(MergeBases::Diverged(bases))) => assert_eq!(bases.len(), round + 1),
            (false, Err(BasesError::TooMany { max })) => assert_eq!(max, MERGE_BASES_MAX),
            (_, other) => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn parents_that_do_not_follow_from_the_head_are_refused() {
    let (world, main) = with_commits(1).await;
    let branch = branch(&world, "b", &main).await;
    commit(&world, &branch).await;
    let good = merging(&world, &main, &branch).await;
    let Parents::Merge(parents) = good.intent.lineage.parents.clone() else { unreachable!() };
    let base = main.known_state();
    let other = CommitId::from_u128(0xbad);
    let defects = [
        Parents::Exact(vec![other]),
        Parents::Exact(vec![]),
        Parents::Merge(Box::new(MergeParents { head: Some(other), ..(*parents).clone() })),
        Parents::Merge(Box::new(MergeParents { number: 2, ..(*parents).clone() })),
        Parents::Merge(Box::new(MergeParents { gained: Vec::new(), ..(*parents).clone() })),
    ];
    for parents in defects {
        let mut write = good.clone();
        write.intent.lineage.parents = parents;
        let refused = main.publish(write.transition(), &base).await;
        let Err(ManifestError::Invalid(invalid)) = refused else { panic!("{refused:?}") };
        assert_eq!(invalid, InvalidTransition::ForeignParents);
    }
    good.commit(&main, &base).await;
}

#[tokio::test]
async fn a_merge_over_a_head_that_moved_is_stale() {
    let (world, main) = with_commits(1).await;
    let branch = branch(&world, "b", &main).await;
    commit(&world, &branch).await;
    let write = merging(&world, &main, &branch).await.intent;
    let prepared = main.known_state();
    commit(&world, &main).await;
    let delta = write.delta.clone();
    let transition = Transition::Commit { intent: &write, delta: &delta };
    let outcome = main.publish(transition, &prepared).await.unwrap();
    assert!(matches!(outcome, PublishOutcome::Stale { .. }), "{outcome:?}");
}

#[tokio::test]
async fn bases_cost_the_same_at_any_depth_and_after_any_number_of_merges() {
    let (world, main) = with_commits(1).await;
    let branch = branch(&world, "b", &main).await;
    let mut costs = Vec::new();
    for _ in 0..4 {
        for _ in 0..20 {
            commit(&world, &branch).await;
            merge(&world, &main, &branch).await;
        }
        commit(&world, &branch).await;
        commit(&world, &main).await;
        let (counted, counter) = world.store.counting();
        let target = world.open_through(&counted).await;
        let source = branch.known_state();
        counter.take();
        let (ours, theirs) = (target.known_state().head_reach().await, source.head_reach().await);
        let (into, of) = (target.known_state().head_tip(), source.head_tip());
        let (ours, theirs) = (ours.unwrap(), theirs.unwrap());
        let target_side = MergeSide { tip: into.as_ref(), reach: &ours };
        let source_side = MergeSide { tip: of.as_ref(), reach: &theirs };
        let found = target.merge_bases(target_side, source_side).await.unwrap();
        let MergeBases::Diverged(bases) = found else { panic!("{found:?}") };
        assert_eq!(bases.len(), 1);
        costs.push((counter.take().total(), target.known_state().cold_fragments().len()));
    }
    // A scan of each cold fragment for the rows by key, and one state for the base and its reach.
    assert!(costs.iter().all(|(cost, cold)| *cost <= 10 + 6 * *cold as u64), "{costs:?}");
    assert!(costs.iter().any(|(_, cold)| *cold > 0), "{costs:?}");
}

#[tokio::test]
async fn a_reach_row_that_is_not_there_is_damage_by_name() {
    let (world, main) = with_commits(1).await;
    let branch = branch(&world, "b", &main).await;
    commit(&world, &branch).await;
    let row = branch.known_state().recent_commits().next().unwrap().clone();
    let of_more = Position { merges: 1, ..row.position.clone() };
    let damaged = branch.known_state().reach_of(&CommitRow { position: of_more, ..row }).await;
    let Err(ManifestError::Damaged(damage)) = damaged else { panic!("{damaged:?}") };
    assert_eq!(damage, Damage::MissingRow { kind: REACH, key: "merge-1".to_owned() });
    let hot = branch.known_state().hot().to_rows();
    assert_eq!(hot.iter().filter(|row| matches!(row.body, RowBody::Reach(_))).count(), 1);
}
