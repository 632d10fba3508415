//! A parent that writes on and is deleted while its child reads and writes; and a branch that is deleted
//! and made again until its numbers are those of the first, under a writer that has prepared over that.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use graphwrite_coordinator::{Graph, GraphOptions, Hooks, Injected, LoadMode, LoadRequest, Store};
use graphwrite_protocol_types::{Failpoint, WriteOutcome};

use crate::branches::scene::{delete, fork, graph, open, selector};
use crate::judge::{Reference, open_impatient, seen_by};
use crate::world::{BASE, append, input, load, own_process};

const N1: &[&str] = &[r#"{"type":"Person","data":{"slug":"n1"}}"#];
const N2: &[&str] = &[r#"{"type":"Person","data":{"slug":"n2"}}"#];
const N3: &[&str] = &[r#"{"type":"Person","data":{"slug":"n3"}}"#];

fn base() -> Reference {
    Reference::default().with(BASE)
}

/// A warm handle and a fresh process see the same.
async fn both_see(store: &Store, warm: &Graph, branch: &str, rows: &Reference) {
    rows.assert_seen(&seen_by(warm).await);
    let fresh = open(&open_impatient(store).await, branch).await;
    rows.assert_seen(&seen_by(&fresh).await);
}

#[tokio::test]
async fn a_child_has_the_rows_of_its_fork_whatever_becomes_of_its_parent() {
    let (store, main) = graph().await;
    let b0 = fork(&main, "b0", "main").await;
    append(&b0, N1).await;
    let b1 = fork(&main, "b1", "b0").await;
    let of_fork = base().with(N1);
    both_see(&store, &b1, "b1", &of_fork).await;
    append(&b0, N2).await;
    both_see(&store, &b1, "b1", &of_fork).await;
    both_see(&store, &b0, "b0", &base().with(N1).with(N2)).await;
    delete(&main, "b0").await.unwrap();
    both_see(&store, &b1, "b1", &of_fork).await;
    append(&b1, N3).await;
    let written = base().with(N1).with(N3);
    both_see(&store, &b1, "b1", &written).await;
    // A parent of the same name writes to other places than those that the child has inherited.
    let again = fork(&main, "b0", "main").await;
    append(&again, N2).await;
    both_see(&store, &b1, "b1", &written).await;
    both_see(&store, &again, "b0", &base().with(N2)).await;
    both_see(&store, &main, "main", &base()).await;
}

/// Refs that first writes of branches have made, each with the names of its versions.
async fn refs(store: &Store) -> Vec<BTreeSet<String>> {
    let objects = store.list("tables").await.unwrap();
    let versions = objects.iter().filter_map(|object| {
        let (_, of_ref) = object.path.split_once("/tree/")?;
        let (name, version) = of_ref.split_once("/_versions/")?;
        Some((name.to_owned(), version.to_owned()))
    });
    let mut refs = std::collections::BTreeMap::<String, BTreeSet<String>>::new();
    versions.for_each(|(name, version)| {
        refs.entry(name).or_default().insert(version);
    });
    refs.into_values().collect()
}

/// Replaces the branch by another of its name, whose table has come to the same version.
async fn replaced(store: &Store, lines: &[&[&str]]) {
    let other = open_impatient(store).await;
    delete(&other, "b").await.unwrap();
    let again = fork(&other, "b", "main").await;
    for rows in lines {
        append(&again, rows).await;
    }
    again.settled().await;
    let refs = refs(store).await;
    assert_eq!(refs.len(), 2, "{refs:#?}");
    assert_eq!(refs[0], refs[1], "both have come to one number");
}

/// Replaces the branch once the write has prepared.
#[derive(Debug)]
struct Between {
    store: Store,
    point: Failpoint,
    has_met: AtomicBool,
}

#[async_trait]
impl Hooks for Between {
    async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
        if point == self.point && !self.has_met.swap(true, Ordering::SeqCst) {
            Box::pin(replaced(&self.store, &[N1])).await;
        }
        Ok(())
    }

    fn wants(&self, point: Failpoint) -> bool {
        point == self.point
    }
}

#[tokio::test]
async fn a_write_that_prepared_over_a_branch_does_not_reach_one_of_the_same_numbers() {
    for point in [Failpoint::PostPrepare, Failpoint::PreArm, Failpoint::PostArm] {
        let (store, main) = graph().await;
        append(&fork(&main, "b", "main").await, N3).await;
        let hooks =
            Arc::new(Between { store: store.clone(), point, has_met: AtomicBool::new(false) });
        let options = GraphOptions { hooks, ..own_process() };
        let stale = Graph::open_on(store.reopened(), &selector("b"), options).await.unwrap();
        let request = LoadRequest::new(input(&stale, N2).await, LoadMode::Append);
        let outcome = stale.load(request).await.unwrap();
        assert!(matches!(outcome, WriteOutcome::BranchDeleted(_)), "{point}: {outcome:?}");
        stale.settled().await;
        let again = open(&main, "b").await;
        both_see(&store, &again, "b", &base().with(N1)).await;
        append(&again, N2).await;
        both_see(&store, &again, "b", &base().with(N1).with(N2)).await;
    }
}

#[tokio::test]
async fn a_process_that_knew_a_branch_changes_the_rows_of_the_next_one_by_their_keys() {
    let (store, main) = graph().await;
    let first = fork(&main, "b", "main").await;
    append(&first, N3).await;
    seen_by(&first).await;
    replaced(&store, &[N1]).await;
    let again = main.branch(&selector("b")).await.unwrap();
    let changed = &[r#"{"type":"Person","data":{"slug":"n1","age":42}}"#];
    let outcome = load(&again, LoadMode::Upsert, changed).await;
    assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
    both_see(&store, &again, "b", &base().with(changed)).await;
    assert!(
        first
            .load(LoadRequest::new(input(&first, N2).await, LoadMode::Append))
            .await
            .is_ok_and(|outcome| matches!(outcome, WriteOutcome::BranchDeleted(_)),)
    );
}
