//! What stage D reads, with all gates held: the manifest, HEAD of every target, and the intents that
//! were armed since the barrier, all at once (RFC 4.4).

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::try_join_all;
use graphwrite_manifest::{ManifestState, PinMove, Transition};
use graphwrite_protocol_types::{
    AttemptId, Defect, EffectTarget, Footprint, LiveHead, Observed, Pin, PreState, PreparedWrite,
    TableIdentity,
};
use graphwrite_recovery::LocalProcess;
use graphwrite_substrate::{IntentError, RecoveryListing, head_expected, read_slot};

use crate::core::Core;
use crate::error::WriteErrorKind;
use crate::fence::is_fence_above;

/// Reads what the plan of `write` is compared with. A fence directly above a pin is adopted on the
/// way; the plan then does not hold, and the next attempt starts from the moved pin.
pub(crate) async fn observe(
    core: &Arc<Core>,
    write: &PreparedWrite,
) -> Result<(Observed, ManifestState), WriteErrorKind> {
    let (state, heads, listing) = tokio::try_join!(
        async { core.manifest.state().await.map_err(WriteErrorKind::from) },
        heads_of(core, write),
        async { core.intents.list(&write.base.branch.native).await.map_err(WriteErrorKind::from) },
    )?;
    adopt_fences(core, write, &state, &heads).await?;
    let pending = pending(core, write, &listing).await?;
    Ok((Observed { authority: state.base().clone(), heads, pending }, state))
}

type Heads = BTreeMap<TableIdentity, Option<Pin>>;

async fn heads_of(core: &Core, write: &PreparedWrite) -> Result<Heads, WriteErrorKind> {
    let reads = write.effects.iter().map(|effect| async move {
        let identity = effect.target.identity;
        let source = write.base.head(identity).live();
        let found = match (&effect.pre, source) {
            (PreState::At(pin), _) => newest_of(core, &effect.target, pin).await?,
            (PreState::Absent, Some(source)) => pinned(core, source).await?,
            (PreState::Absent, None) => return Ok(None),
        };
        Ok::<_, WriteErrorKind>(Some((identity, found)))
    });
    Ok(try_join_all(reads).await?.into_iter().flatten().collect())
}

async fn newest_of(
    core: &Core,
    target: &EffectTarget,
    pin: &Pin,
) -> Result<Option<Pin>, WriteErrorKind> {
    if core.store.has(Defect::ArmedOverDrift) {
        return Ok(Some(pin.clone()));
    }
    let path = target.path.as_str();
    let newest = head_expected(&core.store, path, &target.physical_ref, pin.version).await?;
    Ok(newest.map(|newest| newest.pin()))
}

/// The version that a ref is to be made from. Whoever owns its ref may go on with it.
async fn pinned(core: &Core, source: &LiveHead) -> Result<Option<Pin>, WriteErrorKind> {
    let path = source.path.as_str();
    let slot = read_slot(&core.store, path, &source.physical_ref, source.pin.version).await?;
    Ok(slot.map(|slot| slot.version.pin()))
}

/// A fence directly above the pin may be left by a recoverer that died, or come late, with or
/// without its intent. Moving the pin to it is always safe: the content is the same.
async fn adopt_fences(
    core: &Core,
    write: &PreparedWrite,
    state: &ManifestState,
    heads: &Heads,
) -> Result<(), WriteErrorKind> {
    for effect in &write.effects {
        let (PreState::At(pin), Some(Some(found))) =
            (&effect.pre, heads.get(&effect.target.identity))
        else {
            continue;
        };
        let target = &effect.target;
        if is_fence_above(&core.store, &target.path, &target.physical_ref, pin, found).await? {
            let adoption =
                PinMove { identity: target.identity, from: pin.clone(), to: found.clone() };
            let _ = core.manifest.publish(Transition::AdoptFence(adoption), state).await?;
        }
    }
    Ok(())
}

/// The armed intents that concern the plan. An attempt that is live in this process is ordered by
/// its gates; one whose record cannot be read counts, and the next barrier says why.
async fn pending(
    core: &Core,
    write: &PreparedWrite,
    listing: &RecoveryListing,
) -> Result<Vec<AttemptId>, WriteErrorKind> {
    let footprint = Footprint::of(&write.read_set, &write.effects, &write.delta);
    let mut pending = Vec::new();
    for (attempt, records) in &listing.attempts {
        if records.intent.is_none() || core.options.process.is_live(*attempt) {
            continue;
        }
        let concerns = match core.intents.intent(&write.base.branch.native, *attempt).await {
            Ok(intent) => intent.is_some_and(|intent| footprint.overlaps(&intent.footprint())),
            Err(IntentError::Unusable { .. }) => true,
            Err(error) => return Err(WriteErrorKind::Read(error.into())),
        };
        if concerns {
            pending.push(*attempt);
        }
    }
    Ok(pending)
}
