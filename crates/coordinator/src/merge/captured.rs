//! The commit that is merged, captured once for all attempts of a request. What is published later on its
//! branch is not merged and does no harm; that the captured version stays is a precondition of the effects,
//! never a member of the read set: no manifest commit of the target can arbitrate it (BLOCKER-10).

use std::sync::Arc;

use graphwrite_manifest::{MANIFEST_PATH, ManifestState, MergeBases, MergeSide};
use graphwrite_protocol_types::{Defect, MergeParents, Reach, Tip};
use graphwrite_substrate::read_slot;

use crate::branch::{BranchFrom, ForkSource, open_plan};
use crate::core::Core;
use crate::error::WriteErrorKind;
use crate::{BranchError, ReadError};

/// A captured commit with what it descends from.
#[derive(Debug)]
pub(crate) struct Captured {
    source: ForkSource,
    /// None when its branch has no commit yet.
    tip: Option<Tip>,
    reach: Reach,
}

impl Captured {
    pub(super) async fn of(core: &Arc<Core>, from: &BranchFrom) -> Result<Self, WriteErrorKind> {
        let source = Box::pin(ForkSource::capture(core, from)).await?;
        let (tip, reach) = (source.state.head_tip(), source.state.head_reach().await?);
        Ok(Self { source, tip, reach })
    }

    pub(super) fn state(&self) -> &ManifestState {
        &self.source.state
    }

    pub(super) fn tip(&self) -> Option<&Tip> {
        self.tip.as_ref()
    }

    /// How it stands to a head of the target.
    pub(super) async fn bases(
        &self,
        core: &Core,
        target: &ManifestState,
    ) -> Result<MergeBases, WriteErrorKind> {
        let (tip, reach) = (target.head_tip(), target.head_reach().await?);
        let target = MergeSide { tip: tip.as_ref(), reach: &reach };
        let source = MergeSide { tip: self.tip(), reach: &self.reach };
        Ok(Box::pin(core.manifest.merge_bases(target, source)).await?)
    }

    /// What a commit descends from that merges it into the head of `target`.
    pub(super) async fn parents(
        &self,
        tip: Tip,
        target: &ManifestState,
    ) -> Result<MergeParents, WriteErrorKind> {
        Ok(target.merge_parents(tip, &self.reach).await?)
    }

    /// Fails unless the version that the commit made is still there: the lineage must not name what
    /// nobody can read. Asked with all gates held (RFC 4.4).
    pub(crate) async fn is_there(&self, core: &Core) -> Result<(), WriteErrorKind> {
        if core.store.has(Defect::MergeSourceNotAsked) {
            return Ok(());
        }
        let Some(tip) = &self.tip else { return Ok(()) };
        let line = tip.line.physical_ref();
        let slot = read_slot(&core.store, MANIFEST_PATH, &line, tip.version).await?;
        let commit = tip.commit;
        let Some(slot) = slot else {
            return Err(ReadError::VersionGone { commit, version: tip.version }.into());
        };
        let (found, captured) = (slot.version.pin(), self.state().base());
        // A branch without a commit of its own has numbered its versions by itself.
        let is_its_line = captured.branch.native == tip.line;
        let captured = &captured.manifest;
        if is_its_line && captured.version == found.version && *captured != found {
            return Err(ReadError::OtherVersion { commit, found }.into());
        }
        Ok(())
    }

    /// Fails when maintenance may be about to delete the captured version, which the lineage makes a base
    /// of later merges, or has deleted it. Asked once the intent is durable: a plan that is written later
    /// finds it (design 01 section 9), and one that was carried out before is seen by what it deleted.
    /// Maintenance leaves the head of a branch alone.
    pub(crate) async fn is_kept(&self, core: &Core) -> Result<(), WriteErrorKind> {
        if core.store.has(Defect::MergeSourceNotAsked) {
            return Ok(());
        }
        let plan = open_plan(core).await.map_err(BranchError::from)?;
        match plan {
            None => self.is_there(core).await,
            Some(_) if self.is_head(core).await? => Ok(()),
            Some(plan) => Err(BranchError::CleanupPending { plan }.into()),
        }
    }

    /// Whether the captured commit still is the head of a branch that was not deleted.
    async fn is_head(&self, core: &Core) -> Result<bool, BranchError> {
        match self.source.is_still_head(core).await {
            Ok(is_still) => Ok(is_still && self.source.was_head()),
            Err(BranchError::NoSuchBranch { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
