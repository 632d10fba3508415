//! A handle on a branch: the incarnation that its name means, captured as a value (BLOCKER-05).

use std::sync::Arc;

use graphwrite_manifest::Manifest;
use graphwrite_protocol_types::{BranchName, BranchSelector, NativeBranch, Purpose};
use graphwrite_substrate::{Store, look_at_unknown_graph};

use super::source::{live, meant_by};
use crate::core::Core;
use crate::{BranchError, GraphOptions};

/// The core of the first handle on a graph. A branch is opened without a look at main, for two requests
/// more than main costs. Whatever stands in the way is judged behind main: a place that holds no graph,
/// or one that this build may not read, says nothing true of names.
///
/// # Errors
/// There is no such graph or branch, or it cannot be opened.
pub(crate) async fn open_first(
    store: Store,
    selector: &BranchSelector,
    options: GraphOptions,
    purpose: Purpose,
) -> Result<Arc<Core>, BranchError> {
    if let BranchSelector::Named(name) = selector
        && let Some(manifest) = at_once(&store, name, &options, purpose).await
    {
        return Ok(Core::new(store, manifest, options, purpose));
    }
    let (env, main) = (Arc::clone(&options.env), NativeBranch::main());
    let manifest = Box::pin(Manifest::open(&store, env, &main, purpose)).await?;
    Box::pin(open(&Core::new(store, manifest, options, purpose), selector)).await
}

/// The manifest of a branch, from its name's records alone. None when anything is not as it should be;
/// a record that was read before its graph was known must be of that graph.
async fn at_once(
    store: &Store,
    name: &BranchName,
    options: &GraphOptions,
    purpose: Purpose,
) -> Option<Manifest> {
    let (look, domain) = look_at_unknown_graph(store, name).await.ok()?;
    let (live, env) = (meant_by(&look).ok()?, Arc::clone(&options.env));
    let opened = Manifest::open_branch(store, env, &live, purpose);
    let manifest = Box::pin(opened).await.ok()?;
    (domain == Some(manifest.known_state().domain())).then_some(manifest)
}

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
