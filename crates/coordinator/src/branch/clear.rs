//! What the state of a name means for somebody who wants it: a number to begin with, or who is in the
//! way.

use graphwrite_protocol_types::NameState;
use graphwrite_substrate::{LookedAt, NameLook};

use crate::BranchError;

/// The number of the next incarnation.
pub(super) fn next_number(look: &NameLook) -> Result<u64, BranchError> {
    usable(look)?;
    if let Some(live) = look.live() {
        return Err(BranchError::Exists {
            name: look.name.clone(),
            incarnation: live.token.record,
        });
    }
    if look.listing.is_exhausted() {
        let cause = "its newest record has the last number that there is, which counting does not \
                     reach: it was put there from outside, move it away"
            .to_owned();
        return Err(BranchError::Unusable { name: look.name.clone(), cause });
    }
    Ok(look.listing.next_number())
}

/// Fails when the record that decides cannot be understood.
pub(super) fn usable(look: &NameLook) -> Result<(), BranchError> {
    match (&look.record, look.state()) {
        (Some(LookedAt::Unusable(cause)), _) => {
            Err(BranchError::Unusable { name: look.name.clone(), cause: cause.to_string() })
        }
        (_, NameState::Unusable) => Err(BranchError::Unusable {
            name: look.name.clone(),
            cause: "its decision is of a kind that this build does not know".to_owned(),
        }),
        _ => Ok(()),
    }
}
