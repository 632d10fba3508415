//! The manifest as it was at a commit: the version that the commit's lineage row names, if it is
//! still there and still that commit. A version number alone is no identity (BLOCKER-05).

use graphwrite_protocol_types::Pin;
use graphwrite_substrate::{SubstrateError, TableHandle, Version};

use crate::error::ManifestError;
use crate::manifest::Manifest;
use crate::reading::{MANIFEST_PATH, ReadFault, read_state};
use crate::rows::CommitRow;
use crate::state::ManifestState;

/// What the version of a commit came to.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum PastState {
    /// It is there: the graph as the commit left it.
    Found(ManifestState),
    /// It is not there any more.
    Gone,
    /// Something else has its number.
    Other {
        /// What that is.
        found: Pin,
    },
}

impl Manifest {
    /// The state that `commit` made.
    ///
    /// # Errors
    /// The storage failed, or what it holds is not a manifest that this build reads.
    pub async fn state_at(&self, commit: &CommitRow) -> Result<PastState, ManifestError> {
        let known = self.known_state();
        if is_state_of(&known, commit) {
            return Ok(PastState::Found(known));
        }
        let version = Version::Exact(commit.manifest_version);
        // A branch has its own versions only from its fork on; the older ones are where it came from.
        let holder = self.ref_holding(commit.manifest_version);
        let opened = TableHandle::open(self.store(), MANIFEST_PATH, &holder, version);
        let table = match Box::pin(opened).await {
            Err(SubstrateError::TableNotFound { .. }) => return Ok(PastState::Gone),
            opened => opened.map_err(ReadFault::from)?,
        };
        let state = read_state(table, self.purpose(), self.token()).await?;
        if is_state_of(&state, commit) {
            return Ok(PastState::Found(state));
        }
        Ok(PastState::Other { found: state.base().manifest.clone() })
    }
}

/// The version was made for the commit's attempt, its head is the commit, and its own row of the
/// commit says what the row of the history says.
fn is_state_of(state: &ManifestState, commit: &CommitRow) -> bool {
    let pin = &state.base().manifest;
    pin.version == commit.manifest_version
        && pin.tx_uuid.as_authority() == Some(commit.attempt)
        && state.base().graph_head.0 == Some(commit.commit)
        && state.recent_commits().next() == Some(commit)
}
