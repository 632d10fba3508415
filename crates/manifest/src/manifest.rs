//! The handle of one branch's manifest: opening it, and its newest state. It keeps what it has read
//! so that an unchanged manifest costs one listing.

use std::sync::Arc;

use graphwrite_protocol_types::{Env, NativeBranch, Purpose};
use graphwrite_substrate::Store;
use parking_lot::Mutex;

use crate::error::{ManifestError, OpenError};
use crate::landing::Patience;
use crate::reading::{ReadFault, open_newest, read_state};
use crate::state::ManifestState;

/// The authority of one branch of a graph (K2).
#[derive(Debug)]
pub struct Manifest {
    pub(crate) store: Store,
    pub(crate) env: Arc<dyn Env>,
    pub(crate) patience: Patience,
    purpose: Purpose,
    newest: Mutex<ManifestState>,
}

impl Manifest {
    /// Opens the manifest of a branch. A graph whose stamp this build does not understand for
    /// `purpose` is refused before any row is read.
    ///
    /// # Errors
    /// Why there is nothing to open.
    pub async fn open(
        store: &Store,
        env: Arc<dyn Env>,
        branch: &NativeBranch,
        purpose: Purpose,
    ) -> Result<Self, OpenError> {
        let root = store.canonical_root();
        if !branch.is_main() {
            return Err(OpenError::NoSuchBranch { root: root.into(), branch: branch.clone() });
        }
        let state = read_newest(store, purpose).await.map_err(|fault| fault.on_open(root))?;
        Ok(Self::over(store, env, purpose, state))
    }

    pub(crate) fn over(
        store: &Store,
        env: Arc<dyn Env>,
        purpose: Purpose,
        state: ManifestState,
    ) -> Self {
        let newest = Mutex::new(state);
        Self { store: store.clone(), env, patience: Patience::default(), purpose, newest }
    }

    /// The same handle with another patience towards unknown answers.
    #[must_use]
    pub fn with_patience(self, patience: Patience) -> Self {
        Self { patience, ..self }
    }

    pub(crate) fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// The storage.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The newest state that this handle has read or made, without asking the storage.
    pub fn known_state(&self) -> ManifestState {
        self.newest.lock().clone()
    }

    /// The newest state. One listing when nothing has changed.
    ///
    /// # Errors
    /// The storage failed, or what it holds is not a manifest that this build reads.
    pub async fn state(&self) -> Result<ManifestState, ManifestError> {
        let table = open_newest(&self.store).await.map_err(ReadFault::from)?;
        let known = self.known_state();
        if known.version() >= table.version() {
            return Ok(known);
        }
        let state = read_state(table, self.purpose).await?;
        self.remember(&state);
        Ok(state)
    }

    /// Keeps a state unless a newer one is known.
    pub(crate) fn remember(&self, state: &ManifestState) {
        let mut newest = self.newest.lock();
        if newest.version() < state.version() {
            *newest = state.clone();
        }
    }
}

async fn read_newest(store: &Store, purpose: Purpose) -> Result<ManifestState, ReadFault> {
    read_state(open_newest(store).await?, purpose).await
}
