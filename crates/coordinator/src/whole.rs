//! The whole graph in a few numbers: how many branches it has, what nothing names, and what waits for
//! maintenance. No version of a table is read, so files inside a ref are taken for its own.

use std::collections::BTreeSet;
use std::sync::Arc;

use graphwrite_manifest::{Manifest, ManifestState};
use graphwrite_protocol_types::{AttemptId, NativeBranch, Purpose};

use crate::ReadError;
use crate::census::{Census, Counted, Living, owned_by_the_dead};
use crate::core::Core;
use crate::report::{BranchCounts, Finding, NewBranch, Waiting};
use crate::side_by_side::side_by_side;
use crate::tree::{Tree, objects_of};
use crate::verify::{Listing, is_there, orphans};

/// Branches that are shown by name.
const NEWEST_MAX: usize = 5;
const OPENED_AT_ONCE: usize = 16;
const NAMES: &str = "_control/branch/";

/// The numbers.
#[derive(Debug, Default)]
pub(crate) struct Whole {
    pub(crate) branches: BranchCounts,
    pub(crate) garbage: Vec<Finding>,
    pub(crate) waiting: Vec<Waiting>,
    pub(crate) orphans: u64,
}

impl Whole {
    /// One LIST of everything; beside it, the records of names and the head of each branch.
    pub(crate) async fn of(core: &Core) -> Result<Self, ReadError> {
        // Listed before names and records, so that what is made in between is not taken for garbage.
        let listing = Listing::of(&core.store).await?;
        let census = match listing.below(NAMES).is_empty() {
            true => Census::default(),
            false => Census::of(core).await?,
        };
        let mut tree = Tree::of(&census);
        tree.pending = pending(core, &listing, &census).await?;
        tree.orphans = orphans(core, &listing, &census).await?;
        let heads = side_by_side(census.living.iter().map(|it| head(core, it)), OPENED_AT_ONCE);
        let heads = heads.await;
        heads.iter().flatten().for_each(|state| tree.seen_at(state));
        tree.seen_at(&main(core).await?);
        let dead = census.dead.iter().filter(|dead| is_there(&listing, dead)).collect();
        tree.left_by(owned_by_the_dead(core, dead).await);
        let objects = objects_of(&tree, listing.objects());
        let mut waiting = objects.waiting;
        waiting.extend(outlived(census.outlived));
        let told = |finding: &Finding| waiting.is_empty() || finding.code != "reclaim_pending";
        let garbage = objects.findings.into_iter().filter(told).collect();
        let branches = counts(core, &census, &heads);
        Ok(Self { branches, garbage, waiting, orphans: objects.orphans.count })
    }
}

/// The newest state of main, whatever branch the handle is on.
async fn main(core: &Core) -> Result<ManifestState, ReadError> {
    if core.branch().native.is_main() {
        return Ok(core.manifest.state().await?);
    }
    let (env, native) = (Arc::clone(&core.options.env), NativeBranch::main());
    let opened = Manifest::open(&core.store, env, &native, Purpose::Read);
    let opened = Box::pin(opened).await;
    let manifest = opened.map_err(|error| ReadError::Reopen(Box::new(error)))?;
    Ok(manifest.known_state())
}

/// The newest state of a branch; none where it cannot be read, which `verify` looks into.
async fn head(core: &Core, living: &Living) -> Option<ManifestState> {
    let env = Arc::clone(&core.options.env);
    let opened = Manifest::open_branch(&core.store, env, &living.branch, Purpose::Read);
    Box::pin(opened).await.ok().map(|manifest| manifest.known_state())
}

/// The attempts with records on live branches.
async fn pending(
    core: &Core,
    listing: &Listing,
    census: &Census,
) -> Result<BTreeSet<AttemptId>, ReadError> {
    let mut pending = BTreeSet::new();
    let living = census.living.iter().map(|living| living.branch.token.native.clone());
    for native in living.chain([NativeBranch::main()]) {
        if !listing.below(&format!("_recovery/{native}/")).is_empty() {
            pending.extend(core.intents.list(&native).await?.attempts.into_keys());
        }
    }
    Ok(pending)
}

fn outlived(records: Counted) -> Option<Waiting> {
    let Counted { count, bytes } = records;
    let waiting = Waiting { what: "name records", count, objects: count, bytes };
    (count > 0).then_some(waiting)
}

fn counts(core: &Core, census: &Census, heads: &[Option<ManifestState>]) -> BranchCounts {
    let now_unix_us = core.options.env.unix_micros();
    let mut newest: Vec<(&Living, &Option<ManifestState>)> =
        census.living.iter().zip(heads).collect();
    newest.sort_by_key(|(living, _)| std::cmp::Reverse(living.since_unix_us));
    let shown = newest.into_iter().take(NEWEST_MAX).map(|(living, head)| NewBranch {
        name: living.name.to_string(),
        incarnation: living.branch.token.record,
        source: living.branch.fork.source.name.clone(),
        head: head.as_ref().and_then(|state| state.base().graph_head.0),
        age_ms: now_unix_us.saturating_sub(living.since_unix_us) / 1_000,
    });
    BranchCounts {
        live: 1 + census.living.len() as u64,
        creating: census.undecided.len() as u64,
        unusable: census.unusable,
        newest: shown.collect(),
    }
}
