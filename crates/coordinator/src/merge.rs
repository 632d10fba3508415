//! A merge: the captured commit of another branch, the bases that it has in common with the target, and what
//! is told of both (RFC 6.2, BLOCKER-10). The stages are those of every write; rows are compared elsewhere.

mod captured;
mod report;
mod work;

use std::sync::Arc;

use crate::core::Core;
use crate::operation::{Caller, Work};
use crate::write::write;
use crate::{MergeRequest, WriteError};

pub(crate) use captured::Captured;
pub(crate) use work::MergeWork;

pub use report::{MergeAnswer, MergeRelation, MergeReport, MergedSource};

/// Merges, and tells what was compared.
pub(crate) async fn merge(
    core: &Arc<Core>,
    request: MergeRequest,
) -> Result<MergeAnswer, WriteError> {
    let MergeRequest { source, options, bounds, operation, actor, message, expect_head } = request;
    let work = Arc::new(MergeWork::new(source, options, bounds));
    let caller = Caller { operation, actor, message, expect_head };
    let outcome = write(core, (Work::Merge(Arc::clone(&work)), caller)).await?;
    let report = work.told_of(&outcome);
    Ok(MergeAnswer { outcome, report })
}

/// The same comparison without effects; a handle that cannot write may ask for it.
pub(crate) async fn preview(
    core: &Arc<Core>,
    request: MergeRequest,
) -> Result<MergeReport, WriteError> {
    let MergeRequest { source, options, bounds, operation, .. } = request;
    let work = MergeWork::new(source, options, bounds);
    let previewed = Box::pin(work.preview(core)).await;
    previewed.map_err(|kind| WriteError { operation, kind })
}
