//! What a write to a branch may leave in flight: made by real writers and recoverers that died.

use graphwrite_coordinator::{Graph, LoadMode, LoadRequest, RecoverMode, RecoverRequest, Store};
use graphwrite_protocol_types::AttemptId;
use graphwrite_substrate::{Fault, Operation, PutOutcome, RawObjects};

use super::scene::{open, selector};
use crate::crash::at_nth;
use crate::crash::log::{is_arming, is_effect, is_manifest_commit};
use crate::judge::impatient;
use crate::world::{input, own_process};

/// Rows of two tables: a first write of the branch to both.
pub(super) const ROWS: &[&str] = &[
    r#"{"type":"Person","data":{"slug":"p1","age":50}}"#,
    r#"{"type":"Company","data":{"slug":"c1","name":"one"}}"#,
];

/// How far the write came before its process died, and a recovery before its own did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// Armed, without an effect.
    Armed,
    /// One ref is made, nothing has landed on it.
    Begun,
    /// Some of its effects have landed.
    Half,
    /// All of its effects have landed.
    Whole,
    /// It is committed, and its intent is still there.
    Published,
    /// As half, and aborted by a recoverer that took nothing back.
    Aborted,
}

impl Left {
    pub(super) const ALL: [Self; 6] =
        [Self::Armed, Self::Begun, Self::Half, Self::Whole, Self::Published, Self::Aborted];

    /// Lets a write to `branch` of the graph in `store` leave this, and says which attempt did.
    pub(super) async fn on(self, store: &Store, branch: &str) -> AttemptId {
        let known = intents(store).await;
        match self {
            Self::Armed => writer_dies(store, branch, at_nth(1, is_arming, Fault::DieAfter)).await,
            Self::Begun => writer_dies(store, branch, at_nth(1, is_effect, Fault::DieAfter)).await,
            Self::Half | Self::Aborted => {
                writer_dies(store, branch, at_nth(3, is_effect, Fault::DieAfter)).await;
            }
            Self::Whole => {
                writer_dies(store, branch, at_nth(1, is_manifest_commit, Fault::DieBefore)).await;
            }
            Self::Published => {
                writer_dies(store, branch, at_nth(1, is_manifest_commit, Fault::DieAfter)).await;
            }
        }
        if self == Self::Aborted {
            recoverer_dies(store, branch).await;
        }
        let now = intents(store).await;
        let mut new = now.into_iter().filter(|path| !known.contains(path));
        let path = new.next().expect("an intent is left");
        let name = path.rsplit('/').next().unwrap().strip_suffix(".intent").unwrap();
        name.parse().expect("an attempt")
    }
}

/// The objects that hold intents.
pub(super) async fn intents(store: &Store) -> Vec<String> {
    let records = store.list("_recovery").await.unwrap().into_iter().map(|object| object.path);
    records.filter(|path| path.ends_with(".intent")).collect()
}

async fn writer_dies(
    store: &Store,
    branch: &str,
    fault: impl Fn(&Operation) -> Fault + Send + Sync + 'static,
) {
    let (client, faults) = store.reopened().faulty(fault);
    let graph = Graph::open(client, own_process()).await.unwrap();
    let graph = open(&graph, branch).await;
    let request = LoadRequest::new(input(&graph, ROWS).await, LoadMode::Upsert);
    let _ = graph.load(request).await;
    graph.settled().await;
    assert!(faults.is_dead(), "no test passes because nothing happened");
}

async fn recoverer_dies(store: &Store, branch: &str) {
    let selects = at_nth(1, is_manifest_commit, Fault::DieAfter);
    let (client, faults) = store.reopened().faulty(selects);
    let graph = Graph::open(client, impatient()).await.unwrap();
    let graph = graph.branch(&selector(branch)).await.unwrap();
    let _ = graph.recover(everything()).await;
    assert!(faults.is_dead(), "no test passes because nothing happened");
}

pub(super) fn everything() -> RecoverRequest {
    RecoverRequest { attempt: None, mode: RecoverMode::Full, owner_is_dead: false }
}

pub(super) fn is_record_of_deletion(operation: &Operation) -> bool {
    operation.kind.is_durable() && operation.path.ends_with(".deleted")
}

/// Puts an object in the place of whatever is there.
pub(super) async fn plant(store: &Store, path: &str, bytes: Vec<u8>) {
    store.delete(path).await.unwrap();
    let put = store.put_if_absent(path, bytes.into(), AttemptId::from_u128(1)).await.unwrap();
    assert!(matches!(put, PutOutcome::Created), "{put:?}");
}
