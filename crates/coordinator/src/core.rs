//! What all parts of a handle share.

use std::sync::Arc;

use graphwrite_gates::GateManager;
use graphwrite_manifest::Manifest;
use graphwrite_protocol_types::{AttemptId, BranchName, BranchToken, IdentityDomain, Purpose};
use graphwrite_recovery::RecordSet;
use graphwrite_substrate::{IntentStore, NameStore, Store, StoreError};

use crate::background::Background;
use crate::counters::Counters;
use crate::{GraphOptions, ReadError};

/// The inside of a handle.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) store: Store,
    pub(crate) manifest: Manifest,
    pub(crate) intents: IntentStore,
    pub(crate) names: NameStore,
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
        let names = NameStore::new(store.clone(), domain);
        let background = Background::default();
        Arc::new(Self {
            store,
            manifest,
            intents,
            names,
            gates,
            lanes,
            counters,
            options,
            purpose,
            background,
        })
    }

    /// The branch that the handle is on.
    pub(crate) fn branch(&self) -> BranchToken {
        self.manifest.known_state().base().branch.clone()
    }

    /// The graph's identity.
    pub(crate) fn domain(&self) -> IdentityDomain {
        self.manifest.known_state().domain()
    }

    /// Whether the incarnation that the handle is on still is what its name means. Main always is; for
    /// another branch this is one LIST.
    pub(crate) async fn is_current(&self) -> Result<bool, StoreError> {
        let branch = self.branch();
        match branch.name.parse::<BranchName>() {
            Ok(name) => self.names.still_means(&name, branch.record).await,
            // The name of main is no branch name.
            Err(_) => Ok(branch.native.is_main()),
        }
    }

    /// Fails unless the incarnation that the handle is on still is what its name means (BLOCKER-05).
    pub(crate) async fn refuse_deleted(&self) -> Result<(), ReadError> {
        match self.is_current().await? {
            true => Ok(()),
            false => Err(ReadError::BranchDeleted { branch: Box::new(self.branch()) }),
        }
    }

    /// What `reading` finds on the branch, refused if the branch is deleted. The name is asked beside
    /// it: one LIST on a branch, no wave more, and nothing on main.
    pub(crate) async fn unless_deleted<T, E: From<ReadError>>(
        &self,
        reading: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let (read, is_there) = tokio::join!(Box::pin(reading), self.refuse_deleted());
        // The data of a deleted branch may be gone; that is not what is wrong.
        is_there?;
        read
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
