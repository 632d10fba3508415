//! What a branch is to be made of: the head of a branch, or a commit in the line of one.

use std::sync::Arc;

use graphwrite_manifest::{Manifest, ManifestState};
use graphwrite_protocol_types::{
    BranchName, BranchSelector, BranchToken, CommitId, ForkPoint, NativeBranch, Pin, Purpose,
};

use super::create::BranchFrom;
use crate::BranchError;
use crate::core::Core;

/// The source of a branch, captured.
#[derive(Debug)]
pub(crate) struct ForkSource {
    manifest: Manifest,
    selector: BranchSelector,
    pub(crate) fork: ForkPoint,
    is_head: bool,
}

impl ForkSource {
    /// Captures what is asked for.
    pub(crate) async fn capture(core: &Core, from: &BranchFrom) -> Result<Self, BranchError> {
        match from {
            BranchFrom::Head(selector) => {
                let manifest = manifest_of(core, selector).await?;
                let state = manifest.known_state();
                let head = state.base().graph_head.0;
                let at = state.base().manifest.clone();
                Ok(Self::at(manifest, selector.clone(), (head, at), true))
            }
            BranchFrom::Commit(commit) => Self::holding(core, *commit).await,
        }
    }

    /// The first branch that has the commit in its line, main before all others.
    async fn holding(core: &Core, commit: CommitId) -> Result<Self, BranchError> {
        let mut selectors = vec![BranchSelector::Main];
        selectors.extend(
            super::describe::live_names(core).await?.into_iter().map(BranchSelector::Named),
        );
        for selector in selectors {
            let manifest = match manifest_of(core, &selector).await {
                // It was deleted since it was listed.
                Err(BranchError::NoSuchBranch { .. }) => continue,
                found => found?,
            };
            let state = manifest.known_state();
            let is_head = state.base().graph_head.0 == Some(commit);
            if let Some(at) = version_of(&manifest, &state, commit).await? {
                return Ok(Self::at(manifest, selector, (Some(commit), at), is_head));
            }
        }
        Err(BranchError::NoSuchCommit { commit })
    }

    fn at(
        manifest: Manifest,
        selector: BranchSelector,
        (commit, at): (Option<CommitId>, Pin),
        is_head: bool,
    ) -> Self {
        let source: BranchToken = manifest.known_state().base().branch.clone();
        let fork = ForkPoint::of(&source, manifest.fork(), commit, at);
        Self { manifest, selector, fork, is_head }
    }

    /// Whether what was captured was the head of a branch.
    pub(crate) fn was_head(&self) -> bool {
        self.is_head
    }

    /// Whether the source still is what was captured: its name means the same incarnation, and its head
    /// is the captured one. Asked after the beginning is durable, which keeps maintenance away from
    /// what is current (design 01 section 8).
    pub(crate) async fn is_still_head(&self, core: &Core) -> Result<bool, BranchError> {
        let (means, state) = tokio::join!(self.still_means(core), self.manifest.state());
        if !means? {
            return Err(BranchError::NoSuchBranch { name: self.selector.clone() });
        }
        Ok(state?.base().manifest == self.fork.manifest)
    }

    async fn still_means(&self, core: &Core) -> Result<bool, BranchError> {
        match &self.selector {
            BranchSelector::Main => Ok(true),
            BranchSelector::Named(name) => {
                Ok(core.names.still_means(name, self.fork.source.record).await?)
            }
        }
    }
}

/// The manifest version that a commit made; none when it is not in the line of the branch.
async fn version_of(
    manifest: &Manifest,
    state: &ManifestState,
    commit: CommitId,
) -> Result<Option<Pin>, BranchError> {
    use graphwrite_manifest::PastState;
    let Some(row) = state.commit(commit).await? else { return Ok(None) };
    match manifest.state_at(&row).await? {
        PastState::Found(state) => Ok(Some(state.base().manifest.clone())),
        PastState::Other { found } => Err(crate::ReadError::OtherVersion { commit, found }.into()),
        _ => {
            let version = row.manifest_version;
            Err(crate::ReadError::VersionGone { commit, version }.into())
        }
    }
}

/// The manifest of a branch at its newest state.
pub(super) async fn manifest_of(
    core: &Core,
    selector: &BranchSelector,
) -> Result<Manifest, BranchError> {
    let env = Arc::clone(&core.options.env);
    match selector {
        BranchSelector::Main => {
            let main = NativeBranch::main();
            Ok(Box::pin(Manifest::open(&core.store, env, &main, Purpose::Read)).await?)
        }
        BranchSelector::Named(name) => {
            let live = live(core, name).await?;
            Ok(Box::pin(Manifest::open_branch(&core.store, env, &live, Purpose::Read)).await?)
        }
    }
}

/// The incarnation that a name means.
pub(super) async fn live(
    core: &Core,
    name: &BranchName,
) -> Result<graphwrite_protocol_types::LiveBranch, BranchError> {
    let look = core.names.look(name).await.map_err(|error| BranchError::of_names(error, name))?;
    super::clear::usable(&look)?;
    look.live()
        .ok_or_else(|| BranchError::NoSuchBranch { name: BranchSelector::Named(name.clone()) })
}
