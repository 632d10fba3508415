//! Defects of single commits: one that lands anywhere, and a newest version that is not the newest.

use graphwrite_coordinator::{MemoryStorage, Store};
use graphwrite_protocol_types::{AttemptId, Defect};
use graphwrite_substrate::{Operation, PutOutcome, RawObjects};

use super::found_out;
use crate::crash::log::is_arming;
use crate::crash::scenario::{Stage, TWO_EXISTING_APPEND};
use crate::judge::{Complaint, Promise, open_impatient, which};
use crate::world::{append, reopen};
use crate::zombie::recovered_while_held;

/// The process stands still as soon as its intent is durable.
fn once_armed() -> impl Fn(&Operation) -> bool {
    let is_armed = std::sync::atomic::AtomicBool::new(false);
    move |operation| {
        let was_armed = is_armed.load(std::sync::atomic::Ordering::SeqCst);
        is_armed.fetch_or(is_arming(operation), std::sync::atomic::Ordering::SeqCst);
        was_armed
    }
}

#[tokio::test]
async fn a_commit_that_is_rebased_over_a_fence_is_found_out_by_a_zombie() {
    let (scenario, promise) = (TWO_EXISTING_APPEND, Promise::NoRestart);
    found_out(scenario, Defect::NoStrictCommit, promise, async |stage| {
        recovered_while_held(stage, once_armed()).await.map(drop)
    })
    .await;
}

const VERSIONS: &str = "__manifest/_versions";

/// A version of the manifest is missing, as after a cleanup, and the hint names the one before it.
async fn sparse_with_old_hint(storage: &MemoryStorage) {
    let store = Store::memory(storage);
    let mut versions = store.list(VERSIONS).await.unwrap();
    versions.retain(|object| object.path.ends_with(".manifest"));
    // Names count down: the newest comes first.
    versions.sort_by(|a, b| a.path.cmp(&b.path));
    store.delete(&versions[1].path).await.unwrap();
    let hint = format!("{VERSIONS}/latest_version_hint.json");
    let _ = store.delete(&hint).await;
    let old = format!(r#"{{"version":{}}}"#, versions.len() - 2);
    let put = store.put_if_absent(&hint, old.into(), AttemptId::from_u128(1)).await.unwrap();
    assert!(matches!(put, PutOutcome::Created), "{put:?}");
}

#[tokio::test]
async fn a_version_hint_that_is_trusted_is_found_out_over_sparse_versions() {
    let (scenario, promise) = (TWO_EXISTING_APPEND, Promise::Atomic);
    found_out(scenario, Defect::HintTrusted, promise, hint_is_old).await;
}

async fn hint_is_old(stage: &Stage) -> Result<(), Complaint> {
    const ROWS: [&str; 3] = [
        r#"{"type":"Person","data":{"slug":"v1"}}"#,
        r#"{"type":"Person","data":{"slug":"v2"}}"#,
        r#"{"type":"Person","data":{"slug":"v3"}}"#,
    ];
    let storage = stage.base.fork();
    let graph = reopen(&Store::memory(&storage)).await;
    for row in ROWS {
        append(&graph, &[row]).await;
    }
    sparse_with_old_hint(&storage).await;
    // The commit of the missing version cannot be opened any more, which is another complaint.
    let state = stage.before.with(&ROWS);
    which(&open_impatient(&Store::memory(&storage)).await, &state, &state).await.map(drop)
}
