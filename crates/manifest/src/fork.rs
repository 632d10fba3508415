//! The native branch of an incarnation: a ref of the manifest's dataset, made in two phases that are
//! nobody's visibility point. It makes no manifest version and no lineage; when a phase may be
//! performed, and what the branch's name means, is decided elsewhere (design 01 section 8).

use graphwrite_protocol_types::{AttemptId, CommitPermit, LiveBranch, NameBegun};
use graphwrite_substrate::{
    ClonedRef, Cloning, ForkCheck, PutOutcome, ReadyFork, RefFork, RefProbe, Store, SubstrateError,
    check_fork, clone_ref, probe_ref, probe_remains, refs_with_contents, write_ref_contents,
};

use crate::reading::MANIFEST_PATH;

/// A native branch as its attempt makes it.
#[derive(Debug, Clone)]
pub struct NativeFork {
    attempt: AttemptId,
    fork: RefFork,
}

impl NativeFork {
    /// The native branch that was begun.
    pub fn of_begun(begun: &NameBegun) -> Self {
        let (native, at) = (begun.native(), begun.begun_at_unix_us);
        let fork = RefFork::of_branch(MANIFEST_PATH, &native, begun.attempt, &begun.fork, at);
        Self { attempt: begun.attempt, fork }
    }

    /// The native branch of an incarnation that was decided live, to be looked at. None for main.
    pub fn of_live(live: &LiveBranch) -> Option<Self> {
        let (native, attempt) = (&live.token.native, live.token.native.attempt()?);
        let fork = RefFork::of_branch(MANIFEST_PATH, native, attempt, &live.fork, 0);
        Some(Self { attempt, fork })
    }

    /// Whether the source's version is still the one of the fork. It comes after the record of the
    /// beginning, and may go beside the other looks at the source. Two reads, side by side.
    ///
    /// # Errors
    /// The storage failed.
    pub async fn check(&self, store: &Store) -> Result<ForkCheck, SubstrateError> {
        check_fork(store, &self.fork).await
    }

    /// The first phase: the source's version becomes the first version of the native branch. After an
    /// unknown outcome, checking and sending it again is safe.
    ///
    /// # Errors
    /// This call has sent no commit.
    pub async fn clone_source(
        &self,
        store: &Store,
        ready: &ReadyFork,
    ) -> Result<Cloning, SubstrateError> {
        let permit = CommitPermit::authority(self.attempt);
        Box::pin(clone_ref(&permit, store, ready)).await
    }

    /// The second phase: Lance's own record of the branch. Sending it again is safe.
    ///
    /// # Errors
    /// The record certainly does not exist: refused by the storage.
    pub async fn write_contents(
        &self,
        store: &Store,
        cloned: &ClonedRef,
    ) -> Result<PutOutcome, SubstrateError> {
        let permit = CommitPermit::authority(self.attempt);
        write_ref_contents(&permit, store, cloned).await
    }

    /// What of the two phases is there, past every cache. Two reads, side by side.
    ///
    /// # Errors
    /// The storage failed.
    pub async fn probe(&self, store: &Store) -> Result<RefProbe, SubstrateError> {
        probe_ref(store, &self.fork).await
    }

    /// As [`NativeFork::probe`], for an incarnation that is dead: files of a clone that never got a
    /// version count as something that is left. One LIST more.
    ///
    /// # Errors
    /// The storage failed.
    pub async fn remains(&self, store: &Store) -> Result<RefProbe, SubstrateError> {
        probe_remains(store, &self.fork).await
    }

    /// The native branches of a graph that Lance knows: one LIST.
    ///
    /// # Errors
    /// The storage failed.
    pub async fn known_to_lance(store: &Store) -> Result<Vec<String>, SubstrateError> {
        refs_with_contents(store, MANIFEST_PATH).await
    }
}
