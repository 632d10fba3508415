//! What a branch is to be made of, or what is merged into one: the head of a branch, or a commit in the line
//! of one, captured.

use std::sync::Arc;

use graphwrite_manifest::{Manifest, ManifestState};
use graphwrite_protocol_types::{
    BranchName, BranchSelector, CommitId, ForkPoint, LiveBranch, NativeBranch, Purpose,
};
use graphwrite_substrate::NameLook;

use super::create::BranchFrom;
use crate::BranchError;
use crate::core::Core;

/// The source of a branch or of a merge, captured.
#[derive(Debug)]
pub(crate) struct ForkSource {
    manifest: SourceManifest,
    selector: BranchSelector,
    /// The graph as the captured commit left it, or as its branch has it without one.
    pub(crate) state: ManifestState,
    pub(crate) fork: ForkPoint,
    is_head: bool,
}

/// The manifest of a source: of a handle that is on it and knows it, or opened for this.
#[derive(Debug)]
enum SourceManifest {
    Handle(Arc<Core>),
    Opened(Box<Manifest>),
}

impl SourceManifest {
    /// The manifest of a branch at its newest state.
    async fn newest(core: &Arc<Core>, selector: &BranchSelector) -> Result<Self, BranchError> {
        if core.branch().name == selector.to_string() {
            // The name may mean another incarnation than the one that the handle is on.
            let (is_there, state) = tokio::join!(core.refuse_deleted(), core.manifest.state());
            is_there?;
            state.map_err(crate::ReadError::from)?;
            return Ok(Self::Handle(Arc::clone(core)));
        }
        Ok(Self::Opened(Box::new(manifest_of(core, selector).await?)))
    }

    fn get(&self) -> &Manifest {
        match self {
            Self::Handle(core) => &core.manifest,
            Self::Opened(manifest) => manifest,
        }
    }
}

impl ForkSource {
    /// Captures what is asked for.
    pub(crate) async fn capture(core: &Arc<Core>, from: &BranchFrom) -> Result<Self, BranchError> {
        match from {
            BranchFrom::Head(selector) => {
                let manifest = SourceManifest::newest(core, selector).await?;
                let state = manifest.get().known_state();
                Ok(Self::at(manifest, state, selector.clone(), true))
            }
            BranchFrom::Commit(commit) => Self::holding(core, *commit).await,
        }
    }

    /// The first branch that has the commit in its line, main before all others. The others are not even
    /// listed unless it is theirs.
    async fn holding(core: &Arc<Core>, commit: CommitId) -> Result<Self, BranchError> {
        if let Some(of_main) = Self::on(core, BranchSelector::Main, commit).await? {
            return Ok(of_main);
        }
        for name in super::describe::live_names(core).await? {
            match Self::on(core, BranchSelector::Named(name), commit).await {
                // It was deleted since it was listed.
                Ok(None) | Err(BranchError::NoSuchBranch { .. }) => {}
                Ok(Some(found)) => return Ok(found),
                Err(error) => return Err(error),
            }
        }
        Err(BranchError::NoSuchCommit { commit })
    }

    /// The commit in the line of this branch, if it has it.
    async fn on(
        core: &Arc<Core>,
        selector: BranchSelector,
        commit: CommitId,
    ) -> Result<Option<Self>, BranchError> {
        let manifest = SourceManifest::newest(core, &selector).await?;
        let state = manifest.get().known_state();
        let is_head = state.base().graph_head.0 == Some(commit);
        let past = state_of(manifest.get(), &state, commit).await?;
        Ok(past.map(|past| Self::at(manifest, past, selector, is_head)))
    }

    fn at(
        manifest: SourceManifest,
        state: ManifestState,
        selector: BranchSelector,
        is_head: bool,
    ) -> Self {
        let base = state.base();
        let (commit, at) = (base.graph_head.0, base.manifest.clone());
        let fork = ForkPoint::of(&base.branch, manifest.get().fork(), commit, at);
        Self { manifest, selector, state, fork, is_head }
    }

    /// Whether what was captured was the head of a branch.
    pub(crate) fn was_head(&self) -> bool {
        self.is_head
    }

    /// Whether the source still is what was captured: its name means the same incarnation, and its head
    /// is the captured one. Asked after the beginning is durable, which keeps maintenance away from
    /// what is current (design 01 section 8).
    pub(crate) async fn is_still_head(&self, core: &Core) -> Result<bool, BranchError> {
        let (means, state) = tokio::join!(self.still_means(core), self.manifest.get().state());
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

/// The state that a commit made; none when it is not in the line of the branch.
async fn state_of(
    manifest: &Manifest,
    state: &ManifestState,
    commit: CommitId,
) -> Result<Option<ManifestState>, BranchError> {
    use graphwrite_manifest::PastState;
    let Some(row) = state.commit(commit).await? else { return Ok(None) };
    match manifest.state_at(&row).await? {
        PastState::Found(state) => Ok(Some(state)),
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
pub(super) async fn live(core: &Core, name: &BranchName) -> Result<LiveBranch, BranchError> {
    let look = core.names.look(name).await.map_err(|error| BranchError::of_names(error, name))?;
    meant_by(&look)
}

/// The same of a look that was taken.
pub(super) fn meant_by(look: &NameLook) -> Result<LiveBranch, BranchError> {
    super::clear::usable(look)?;
    let name = &look.name;
    look.live()
        .ok_or_else(|| BranchError::NoSuchBranch { name: BranchSelector::Named(name.clone()) })
}
