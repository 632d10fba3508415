//! What is left of a name that means no branch: an incarnation that is on its way, was given up, or was
//! deleted. Reads only.

use std::collections::BTreeSet;

use graphwrite_manifest::{MANIFEST_PATH, NativeFork};
use graphwrite_protocol_types::{BranchName, NameBegun, NameFacts, NativeBranch};
use graphwrite_substrate::{NameLook, ObjectEntry, StoreError};

use super::describe::{BranchInfo, BranchStatus};
use crate::BranchError;
use crate::census::{Census, Counted, Dead, owned_by_the_dead};
use crate::core::Core;
use crate::report::Waiting;

/// An incarnation on its way, and how far it has come: it has no head before it is decided.
pub(super) async fn creating(
    core: &Core,
    begun: &NameBegun,
    look: &NameLook,
) -> Result<BranchStatus, BranchError> {
    let probe = NativeFork::of_begun(begun).probe(&core.store).await?;
    let facts = NameFacts { clone: probe.clone, contents: probe.contents, ..look.facts };
    let info = BranchInfo::new(begun.token(), Some(&begun.fork));
    let native = native_branch(core, &begun.native()).await?;
    let entry = look.listing.highest().and_then(|(_, records)| records.begun.as_ref());
    let now_unix_us = core.options.env.unix_micros();
    let age_ms = entry.map_or(0, |entry| entry.age_ms(now_unix_us));
    Ok(BranchStatus {
        left: waiting("native branches", [native]).into_iter().collect(),
        maker: Some((begun.owner.clone(), age_ms)),
        ..BranchStatus::without_head(info, facts.state())
    })
}

/// A name whose newest incarnation is over; none for one that was never used, or whose records do not
/// say what it was.
pub(super) async fn gone(
    core: &Core,
    name: &BranchName,
    look: &NameLook,
) -> Result<Option<BranchStatus>, BranchError> {
    let census = Census::of(core).await.map_err(BranchError::Names)?;
    let dead: Vec<&Dead> = census.dead.iter().filter(|dead| dead.name == *name).collect();
    let highest = look.listing.highest().map(|(number, _)| number);
    let newest = dead.iter().find(|dead| Some(dead.number) == highest);
    let Some((info, native)) = newest.and_then(|dead| known(dead)) else { return Ok(None) };
    let probe = native.remains(&core.store).await?;
    let facts = NameFacts { clone: probe.clone, contents: probe.contents, ..look.facts };
    let pending = core.intents.list(&info.token.native).await?;
    let pending = pending.attempts.values().filter(|records| records.intent.is_some()).count();
    Ok(Some(BranchStatus {
        pending: pending as u64,
        left: left_by(core, &dead).await?,
        needed_by: needed_by(&census, &dead),
        ..BranchStatus::without_head(info, facts.state())
    }))
}

fn known(dead: &Dead) -> Option<(BranchInfo, NativeFork)> {
    match (&dead.branch, &dead.begun) {
        (Some(branch), _) => {
            let info = BranchInfo::new(branch.token.clone(), Some(&branch.fork));
            Some((info, NativeFork::of_live(branch)?))
        }
        (None, Some(begun)) => {
            let info = BranchInfo::new(begun.token(), Some(&begun.fork));
            Some((info, NativeFork::of_begun(begun)))
        }
        (None, None) => None,
    }
}

/// The live branches whose lines go through a dead incarnation.
fn needed_by(census: &Census, dead: &[&Dead]) -> Vec<String> {
    let natives: BTreeSet<&NativeBranch> = dead.iter().map(|dead| &dead.native).collect();
    let living = census.living.iter().filter(|living| {
        let mut ancestry = living.branch.fork.ancestry.iter();
        ancestry.any(|ancestor| natives.contains(&ancestor.native))
    });
    living.map(|living| living.name.to_string()).collect()
}

/// What the incarnations have left, by what it is.
async fn left_by(core: &Core, dead: &[&Dead]) -> Result<Vec<Waiting>, StoreError> {
    let (mut natives, mut refs, mut datasets) = (Vec::new(), Vec::new(), Vec::new());
    let mut records = Counted::default();
    for incarnation in dead {
        natives.push(native_branch(core, &incarnation.native).await?);
        records.add_all(&core.store.list(&format!("_recovery/{}", incarnation.native)).await?);
    }
    let owned = owned_by_the_dead(core, dead.to_vec()).await;
    for directory in owned.into_values().flatten() {
        match directory.split_once("/tree/") {
            Some((dataset, name)) => refs.push(a_ref(core, dataset, name).await?),
            None => datasets.push(sum(&core.store.list(&directory).await?)),
        }
    }
    let Counted { count, bytes } = records;
    let records = Waiting { what: "records of attempts", count, objects: count, bytes };
    let left = [
        waiting("native branches", natives),
        waiting("refs of tables", refs),
        waiting("datasets", datasets),
        (count > 0).then_some(records),
    ];
    Ok(left.into_iter().flatten().collect())
}

async fn native_branch(core: &Core, native: &NativeBranch) -> Result<Counted, StoreError> {
    a_ref(core, MANIFEST_PATH, native.as_str()).await
}

/// A ref lies in two places: its own directory, and Lance's record of it.
async fn a_ref(core: &Core, dataset: &str, name: &str) -> Result<Counted, StoreError> {
    let (tree, contents) =
        (format!("{dataset}/tree/{name}"), format!("{dataset}/_refs/branches/{name}.json"));
    let (objects, contents) = futures::join!(core.store.list(&tree), core.store.head(&contents));
    let mut found = sum(&objects?);
    found.add_all(contents?.iter());
    Ok(found)
}

fn sum(objects: &[ObjectEntry]) -> Counted {
    let mut found = Counted::default();
    found.add_all(objects);
    found
}

fn waiting(what: &'static str, found: impl IntoIterator<Item = Counted>) -> Option<Waiting> {
    let mut all = Waiting { what, count: 0, objects: 0, bytes: 0 };
    for Counted { count, bytes } in found.into_iter().filter(|it| it.count > 0) {
        all.count += 1;
        all.objects += count;
        all.bytes += bytes;
    }
    (all.count > 0).then_some(all)
}
