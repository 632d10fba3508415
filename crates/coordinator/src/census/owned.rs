//! What an incarnation owns of the storage beside its native branch: the refs and datasets of tables
//! that it made. What a dead one owned is reclaimed later, unless a branch that was made of it lives.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use graphwrite_manifest::{Manifest, ManifestState};
use graphwrite_protocol_types::{LiveBranch, LiveHead, NativeBranch, PhysicalRef, Purpose};

use super::{Census, Dead};
use crate::core::Core;
use crate::side_by_side::side_by_side;

const OPENED_AT_ONCE: usize = 16;

/// Directories of refs and datasets, by the incarnation that made them.
pub(crate) type Owned = BTreeMap<NativeBranch, BTreeSet<String>>;

/// The directory of the ref of a head.
pub(crate) fn directory_of(head: &LiveHead) -> String {
    match &head.physical_ref {
        PhysicalRef::Main => head.path.to_string(),
        PhysicalRef::Named(name) => format!("{}/tree/{name}", head.path),
    }
}

/// What these dead incarnations owned in the end, as far as their manifests can still be
/// read: they may be damaged, or on their way out.
pub(crate) async fn owned_by_the_dead(core: &Core, dead: Vec<&Dead>) -> Owned {
    let branches = dead.into_iter().filter_map(|dead| dead.branch.as_ref());
    let owned = side_by_side(branches.map(|branch| owned(core, branch)), OPENED_AT_ONCE).await;
    owned.into_iter().collect()
}

async fn owned(core: &Core, branch: &LiveBranch) -> (NativeBranch, BTreeSet<String>) {
    let env = Arc::clone(&core.options.env);
    let opened = Manifest::open_branch(&core.store, env, branch, Purpose::Read);
    let owned = match Box::pin(opened).await {
        Ok(manifest) => owned_in(&manifest.known_state()),
        Err(_) => BTreeSet::new(),
    };
    (branch.token.native.clone(), owned)
}

fn owned_in(state: &ManifestState) -> BTreeSet<String> {
    let inherited = state.inherited();
    let heads = state.base().heads.iter().filter(|(identity, _)| !inherited.contains(identity));
    heads.filter_map(|(_, head)| head.live()).map(directory_of).collect()
}

/// The native branches that hold versions of the lines of live branches and are not live themselves.
pub(crate) fn needed_natives(census: &Census) -> BTreeMap<NativeBranch, u64> {
    let living: BTreeSet<&NativeBranch> =
        census.living.iter().map(|living| &living.branch.token.native).collect();
    let mut needed = BTreeMap::new();
    for ancestor in census.living.iter().flat_map(|living| &living.branch.fork.ancestry) {
        if !ancestor.native.is_main() && !living.contains(&ancestor.native) {
            let until = needed.entry(ancestor.native.clone()).or_insert(0);
            *until = ancestor.until_version.max(*until);
        }
    }
    needed
}
