//! Recognising a fence from storage: an empty commit directly above a pin, made by recovery (K3).

use graphwrite_protocol_types::{DatasetPath, PhysicalRef, Pin};
use graphwrite_substrate::{SlotAction, Store, SubstrateError, read_slot};

/// Whether `found`, the newest version of a ref, is a fence directly above `pin`: then its content is
/// that of the pin, whoever made it and for whatever attempt.
pub(crate) async fn is_fence_above(
    store: &Store,
    path: &DatasetPath,
    physical_ref: &PhysicalRef,
    pin: &Pin,
    found: &Pin,
) -> Result<bool, SubstrateError> {
    if found.version != pin.version + 1 || found.tx_uuid.as_fence().is_none() {
        return Ok(false);
    }
    let slot = read_slot(store, path.as_str(), physical_ref, found.version).await?;
    Ok(slot.is_some_and(|slot| slot.action == SlotAction::EmptyAppend))
}
