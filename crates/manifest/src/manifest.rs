//! The handle of one branch's manifest: opening it, and its newest state. It keeps what it has read
//! so that an unchanged manifest costs one listing.

use std::sync::Arc;

use graphwrite_protocol_types::{
    BranchToken, Env, ForkPoint, LiveBranch, NativeBranch, PhysicalRef, Purpose,
};
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
    /// The branch; none for main.
    branch: Option<Box<LiveBranch>>,
    newest: Mutex<ManifestState>,
}

impl Manifest {
    /// Opens the manifest of main. A graph whose stamp this build does not understand for
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
        let state = read_newest(store, purpose, None).await.map_err(|fault| fault.on_open(root))?;
        Ok(Self::over(store, env, purpose, state, None))
    }

    /// Opens the manifest of an incarnation of a branch. Whether it is what its name means is said
    /// by the name's records, not here: the native branch of a deleted one opens until it is gone.
    ///
    /// # Errors
    /// As for [`Manifest::open`]; [`OpenError::NoSuchBranch`] when its native branch is gone.
    pub async fn open_branch(
        store: &Store,
        env: Arc<dyn Env>,
        branch: &LiveBranch,
        purpose: Purpose,
    ) -> Result<Self, OpenError> {
        let root = store.canonical_root();
        let state = match read_newest(store, purpose, Some(&branch.token)).await {
            Ok(state) => state,
            Err(ReadFault::NotAGraph) => {
                let branch = branch.token.native.clone();
                return Err(OpenError::NoSuchBranch { root: root.into(), branch });
            }
            Err(fault) => return Err(fault.on_open(root)),
        };
        Ok(Self::over(store, env, purpose, state, Some(Box::new(branch.clone()))))
    }

    pub(crate) fn over(
        store: &Store,
        env: Arc<dyn Env>,
        purpose: Purpose,
        state: ManifestState,
        branch: Option<Box<LiveBranch>>,
    ) -> Self {
        let newest = Mutex::new(state);
        let (store, patience) = (store.clone(), Patience::default());
        Self { store, env, patience, purpose, branch, newest }
    }

    /// The same handle with another patience towards unknown answers.
    #[must_use]
    pub fn with_patience(self, patience: Patience) -> Self {
        Self { patience, ..self }
    }

    pub(crate) fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// What the branch was made of; none for main.
    pub fn fork(&self) -> Option<&ForkPoint> {
        self.branch.as_ref().map(|branch| &branch.fork)
    }

    pub(crate) fn token(&self) -> Option<&BranchToken> {
        self.branch.as_ref().map(|branch| &branch.token)
    }

    /// The ref of the manifest's dataset that holds `version` of the branch's line.
    pub(crate) fn ref_holding(&self, version: u64) -> PhysicalRef {
        let Some(branch) = &self.branch else { return PhysicalRef::Main };
        let holder = branch.fork.holder_of(version).unwrap_or(&branch.token.native);
        holder.physical_ref()
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
        let own = physical_ref(self.token());
        let table = open_newest(&self.store, &own).await.map_err(ReadFault::from)?;
        let known = self.known_state();
        if known.version() >= table.version() {
            return Ok(known);
        }
        let state = read_state(table, self.purpose, self.token()).await?;
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

async fn read_newest(
    store: &Store,
    purpose: Purpose,
    branch: Option<&BranchToken>,
) -> Result<ManifestState, ReadFault> {
    let table = open_newest(store, &physical_ref(branch)).await?;
    read_state(table, purpose, branch).await
}

fn physical_ref(branch: Option<&BranchToken>) -> PhysicalRef {
    branch.map_or(PhysicalRef::Main, |branch| branch.native.physical_ref())
}
