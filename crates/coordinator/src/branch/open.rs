//! A handle on a branch: the incarnation that its name means, captured as a value (BLOCKER-05).

use std::sync::Arc;

use graphwrite_manifest::Manifest;
use graphwrite_protocol_types::{BranchSelector, NativeBranch};

use super::source::live;
use crate::BranchError;
use crate::core::Core;

/// The core of a handle on another branch of the same graph.
pub(crate) async fn open(
    core: &Arc<Core>,
    selector: &BranchSelector,
) -> Result<Arc<Core>, BranchError> {
    let (store, env, purpose) = (&core.store, Arc::clone(&core.options.env), core.purpose);
    let manifest = match selector {
        BranchSelector::Main if core.branch().native.is_main() => return Ok(Arc::clone(core)),
        BranchSelector::Main => {
            Box::pin(Manifest::open(store, env, &NativeBranch::main(), purpose)).await?
        }
        BranchSelector::Named(name) => {
            let live = live(core, name).await?;
            Box::pin(Manifest::open_branch(store, env, &live, purpose)).await?
        }
    };
    Ok(Core::new(store.clone(), manifest, core.options.clone(), purpose))
}
