//! A HEAD that is not its pin, met a second time: behind a barrier either something explains it or
//! nothing ever will, and then the request ends before it stages anything again.

use graphwrite_manifest::ManifestState;
use graphwrite_protocol_types::{LiveHead, NotValid, Pin, TableIdentity};
use graphwrite_substrate::{head, read_slot};

use crate::core::Core;
use crate::error::WriteErrorKind;
use crate::fence::is_fence_above;
use crate::restart::Obstacle;

/// What stage D of an earlier attempt found at a table.
#[derive(Debug, Clone)]
pub(crate) struct MovedHead {
    identity: TableIdentity,
    pin: Pin,
    found: Option<Pin>,
}

impl MovedHead {
    /// What kept an attempt, if it was this.
    pub(crate) fn of(obstacle: &Obstacle) -> Option<Self> {
        let Obstacle::NotValid(NotValid::HeadMoved { identity, pin, found }) = obstacle else {
            return None;
        };
        Some(Self { identity: *identity, pin: pin.clone(), found: found.clone() })
    }

    /// Refuses the request if HEAD and pin are still what they were. `state` was read behind a barrier
    /// that came after HEAD was seen: whoever made that HEAD had armed before, so either the barrier met
    /// the intent and ended it, which moves the pin or HEAD, or the intent was done with, and so was the
    /// pin. What has moved neither has no intent, and will not get one.
    pub(crate) async fn is_explained(
        &self,
        core: &Core,
        state: &ManifestState,
    ) -> Result<(), WriteErrorKind> {
        let base = state.base().head(self.identity);
        let Some(live) = base.live().filter(|live| live.pin == self.pin) else { return Ok(()) };
        let is_inherited = state.inherited().contains(&self.identity);
        if self.now(core, live, is_inherited).await? != self.found {
            return Ok(());
        }
        if let Some(found) = &self.found {
            let (path, physical_ref) = (&live.path, &live.physical_ref);
            // Stage D adopts it; that it has not says only that somebody was faster.
            if is_fence_above(&core.store, path, physical_ref, &self.pin, found).await? {
                return Ok(());
            }
        }
        let (identity, pin, found) = (self.identity, self.pin.clone(), self.found.clone());
        Err(WriteErrorKind::UnexplainedHead { identity, pin, found })
    }

    /// What stage D would find: HEAD, or the version itself on a ref that others may go on with.
    async fn now(
        &self,
        core: &Core,
        live: &LiveHead,
        is_inherited: bool,
    ) -> Result<Option<Pin>, WriteErrorKind> {
        let (path, physical_ref) = (live.path.as_str(), &live.physical_ref);
        if is_inherited {
            let slot = read_slot(&core.store, path, physical_ref, self.pin.version).await?;
            return Ok(slot.map(|slot| slot.version.pin()));
        }
        Ok(head(&core.store, path, physical_ref).await?.map(|newest| newest.pin()))
    }
}
