//! The records of branch names and the native branches that they speak of: each is what its records
//! say, or is named. It must not know what is on a branch.

use graphwrite_manifest::NativeFork;
use graphwrite_protocol_types::{PhysicalFact, Unfinished};
use graphwrite_substrate::{RefProbe, SubstrateError};

use super::kinds;
use super::listing::Listing;
use crate::census::{BadRecord, Census, Dead, End, Living, Undecided};
use crate::core::Core;
use crate::report::Finding;
use crate::side_by_side::side_by_side;

const PROBED_AT_ONCE: usize = 16;

/// What is to be said of the branches.
///
/// # Errors
/// The storage failed.
pub(crate) async fn branch_findings(
    core: &Core,
    census: &Census,
    listing: &Listing,
) -> Result<Vec<Finding>, SubstrateError> {
    let mut findings: Vec<Finding> = census.bad.iter().map(bad_record).collect();
    let living = census.living.iter().map(|living| of_living(core, living));
    let living = side_by_side(living, PROBED_AT_ONCE).await;
    let undecided = census.undecided.iter().map(|undecided| of_undecided(core, undecided));
    let undecided = side_by_side(undecided, PROBED_AT_ONCE).await;
    let dead = census.dead.iter().filter(|dead| is_there(listing, dead));
    let dead = side_by_side(dead.map(|dead| of_dead(core, dead)), PROBED_AT_ONCE).await;
    for found in living.into_iter().chain(dead) {
        findings.extend(found?);
    }
    for found in undecided {
        findings.push(found?);
    }
    Ok(findings)
}

/// Whether the listing shows anything of the native branch of a dead incarnation.
pub(crate) fn is_there(listing: &Listing, dead: &Dead) -> bool {
    let native = &dead.native;
    !listing.below(&format!("__manifest/tree/{native}/")).is_empty()
        || listing.contains(&format!("__manifest/_refs/branches/{native}.json"))
}

fn bad_record(record: &BadRecord) -> Finding {
    let kind = if record.decides { &kinds::UNUSABLE_NAME } else { &kinds::UNREADABLE_NAME_RECORD };
    kind.at(&record.path, &record.message)
}

async fn of_living(core: &Core, living: &Living) -> Result<Option<Finding>, SubstrateError> {
    let Some(native) = NativeFork::of_live(&living.branch) else { return Ok(None) };
    let probe = native.probe(&core.store).await?;
    let (own, native) = (PhysicalFact::Own, &living.branch.token.native);
    if (probe.clone, probe.contents) == (own, own) {
        return Ok(None);
    }
    let message = format!("its native branch {native} is not whole: {}", said(&probe));
    Ok(Some(kinds::DAMAGED_BRANCH.at(living.name.as_str(), message)))
}

async fn of_undecided(core: &Core, undecided: &Undecided) -> Result<Finding, SubstrateError> {
    let begun = &undecided.begun;
    let probe = NativeFork::of_begun(begun).probe(&core.store).await?;
    let unfinished = Unfinished::of(probe.clone, probe.contents);
    let (owner, age_ms) = (&begun.owner, undecided.age_ms);
    let message = format!(
        "incarnation {} was begun {age_ms} ms ago by process {} on {}; {}",
        begun.number,
        owner.pid,
        owner.host,
        said(&probe)
    );
    let kind = match unfinished {
        Unfinished::Damaged => &kinds::DAMAGED_BRANCH,
        _ => &kinds::CREATING_BRANCH,
    };
    Ok(kind.at(begun.name.as_str(), message))
}

/// Only what is foreign is worth a word: the rest is left for maintenance.
async fn of_dead(core: &Core, dead: &Dead) -> Result<Option<Finding>, SubstrateError> {
    let of_begun = dead.begun.as_ref().map(NativeFork::of_begun);
    let of_branch = || dead.branch.as_ref().and_then(NativeFork::of_live);
    let Some(native) = of_begun.or_else(of_branch) else { return Ok(None) };
    let probe = native.probe(&core.store).await?;
    let foreign = PhysicalFact::Foreign;
    if probe.clone != foreign && probe.contents != foreign {
        return Ok(None);
    }
    let was = match dead.end {
        End::Deleted => "deleted",
        End::GivenUp => "given up",
    };
    let Dead { number, native, .. } = dead;
    let message =
        format!("incarnation {number} was {was}, {native} is not what it made: {}", said(&probe));
    Ok(Some(kinds::DAMAGED_BRANCH.at(dead.name.as_str(), message)))
}

fn said(probe: &RefProbe) -> String {
    let word = |fact| match fact {
        PhysicalFact::NotAsked => "not asked",
        PhysicalFact::Absent => "absent",
        PhysicalFact::Own => "there",
        PhysicalFact::Foreign => "foreign",
    };
    format!("clone {}, record of Lance {}", word(probe.clone), word(probe.contents))
}
