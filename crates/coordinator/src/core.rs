//! What all parts of a handle share.

use std::sync::Arc;

use graphwrite_gates::GateManager;
use graphwrite_manifest::Manifest;
use graphwrite_protocol_types::{AttemptId, BranchToken, Purpose};
use graphwrite_recovery::RecordSet;
use graphwrite_substrate::{IntentStore, Store, StoreError};

use crate::GraphOptions;
use crate::background::Background;
use crate::counters::Counters;

/// The inside of a handle.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) store: Store,
    pub(crate) manifest: Manifest,
    pub(crate) intents: IntentStore,
    pub(crate) gates: Arc<GateManager>,
    pub(crate) lanes: Arc<GateManager>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) options: GraphOptions,
    pub(crate) purpose: Purpose,
    pub(crate) background: Background,
}

impl Core {
    pub(crate) fn new(
        store: Store,
        manifest: Manifest,
        options: GraphOptions,
        purpose: Purpose,
    ) -> Arc<Self> {
        let domain = manifest.known_state().domain();
        let gates = options.process.gates(store.canonical_root(), &options.env);
        let lanes = options.process.lanes(store.canonical_root(), &options.env);
        let counters = options.process.counters(store.canonical_root());
        let intents = IntentStore::new(store.clone(), domain);
        let background = Background::default();
        Arc::new(Self {
            store,
            manifest,
            intents,
            gates,
            lanes,
            counters,
            options,
            purpose,
            background,
        })
    }

    /// The branch that this build works on.
    pub(crate) fn branch(&self) -> BranchToken {
        self.manifest.known_state().base().branch.clone()
    }

    /// Deletes an attempt's records: the intent last (RFC 4.8).
    pub(crate) async fn delete_records(
        &self,
        attempt: AttemptId,
        records: &RecordSet,
    ) -> Result<(), StoreError> {
        self.intents.delete(&self.branch().native, attempt, records.confirm, &records.alive).await
    }
}
