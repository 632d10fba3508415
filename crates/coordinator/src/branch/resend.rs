//! Writing a record of a name whose answer may be lost. It must not know what the record decides.

use graphwrite_protocol_types::BranchName;
use graphwrite_substrate::{NameError, RecordPut};

use crate::BranchError;

/// How often a record or a phase whose fate is not known is sent again: it lands at most once.
pub(super) const RESENDS_MAX: u32 = 2;

/// What became of the record that `put` writes, which is sent again while nobody knows.
pub(super) async fn put_record<R, F>(
    name: &BranchName,
    put: impl Fn() -> F,
) -> Result<RecordPut<R>, BranchError>
where
    F: Future<Output = Result<RecordPut<R>, NameError>>,
{
    let mut resends = 0;
    loop {
        match put().await.map_err(|error| BranchError::of_names(error, name))? {
            RecordPut::Unknown(_) if resends < RESENDS_MAX => resends += 1,
            came => return Ok(came),
        }
    }
}
