//! Verdicts that are known: storages with the same bytes, of which the same is demanded, are judged
//! once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::StreamExt;
use graphwrite_coordinator::{MemoryStorage, Store};

use super::cells::{CELLS_AT_ONCE, guarded};
use super::subject::{Said, Scene};
use crate::judge::Verdict;

/// A storage that a dead process left, and the cell that it is of.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) id: String,
    pub(super) storage: MemoryStorage,
}

pub(super) type Judged = Result<Arc<Verdict>, String>;

/// Digest of a storage, and what is demanded of it.
type Key = ([u8; 32], String);

#[derive(Debug, Default)]
pub(super) struct Memo {
    known: Mutex<BTreeMap<Key, Judged>>,
    hits: AtomicUsize,
}

impl Memo {
    /// How many verdicts were known already.
    pub(super) fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }

    /// Judges what dead processes of the scene left, in the order of the states.
    pub(super) async fn judge_all(
        &self,
        scene: &Scene,
        states: Vec<State>,
    ) -> Vec<(State, Judged)> {
        let demand = format!("{:?} {:?}", scene.subject, scene.case());
        let mut keyed = Vec::new();
        let mut fresh = BTreeMap::new();
        for state in states {
            let key = (state.storage.digest().await.expect("a digest"), demand.clone());
            let is_known =
                self.known.lock().unwrap().contains_key(&key) || fresh.contains_key(&key);
            self.hits.fetch_add(usize::from(is_known), Ordering::SeqCst);
            if !is_known {
                fresh.insert(key.clone(), state.storage.fork());
            }
            keyed.push((state, key));
        }
        self.judge_fresh(scene, fresh).await;
        let known = self.known.lock().unwrap();
        keyed.into_iter().map(|(state, key)| (state, known[&key].clone())).collect()
    }

    async fn judge_fresh(&self, scene: &Scene, fresh: BTreeMap<Key, MemoryStorage>) {
        let mut judged = futures::stream::iter(fresh)
            .map(|(key, storage)| async move {
                let store = Store::memory(&storage);
                let judged =
                    guarded(Box::pin(scene.judged(&store, &Said::Nothing, None, &[]))).await;
                (key, judged.map(Arc::new))
            })
            .buffer_unordered(CELLS_AT_ONCE);
        while let Some((key, judged)) = judged.next().await {
            self.known.lock().unwrap().insert(key, judged);
        }
    }
}
