//! The recovery records, as far as `verify` reads them: what is pending, and what cannot be
//! understood. What is done about them is the barrier's.

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::Arc;

use graphwrite_protocol_types::{Alive, AttemptId, CodecError, decode};
use graphwrite_recovery::{BarrierReport, BlockingObject, Explanation};
use graphwrite_substrate::{AttemptRecords, IntentError, ObjectEntry};

use super::kinds;
use super::line::place_on;
use crate::core::Core;
use crate::recover::probe;
use crate::report::Finding;
use crate::{ReadError, RecoverError};

/// What the records say.
#[derive(Debug, Default)]
pub(crate) struct Records {
    /// The attempts with any record.
    pub(crate) attempts: BTreeSet<AttemptId>,
    /// The armed intents that can be read.
    pub(crate) armed: u64,
    /// The datasets on which an attempt is pending.
    pub(crate) paths: BTreeSet<String>,
    pub(crate) findings: Vec<Finding>,
}

impl Records {
    pub(crate) fn add(&mut self, other: Self) {
        self.attempts.extend(other.attempts);
        self.armed += other.armed;
        self.paths.extend(other.paths);
        self.findings.extend(other.findings);
    }

    pub(crate) async fn of(core: &Arc<Core>) -> Result<Self, ReadError> {
        let mut records = Self::default();
        let listing = core.intents.list(&core.branch().native).await?;
        records.attempts = listing.attempts.keys().copied().collect();
        for (attempt, of_attempt) in &listing.attempts {
            records.leftovers(core, *attempt, of_attempt).await?;
        }
        match probe(core).await {
            Ok(found) => records.probed(core, &found),
            Err(error) => records.failed(&error),
        }
        Ok(records)
    }

    fn probed(&mut self, core: &Core, found: &BarrierReport) {
        self.armed = found.pending.len() as u64;
        found.pending.iter().for_each(|intent| self.intent(core, intent));
        found.blocking.iter().for_each(|object| self.blocking(object));
    }

    fn failed(&mut self, error: &RecoverError) {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        let message = format!("{error}{cause}");
        self.findings.push(kinds::UNREADABLE_RECORDS.at("_recovery", message));
    }

    fn intent(&mut self, core: &Core, intent: &Explanation) {
        self.paths.extend(intent.effects.iter().map(|effect| effect.path.clone()));
        let message = format!("pending; the next overlapping write will {}", intent.decision);
        let branch = core.branch();
        let place = place_on(&branch.name, branch.native.is_main(), intent.attempt.to_string());
        self.findings.push(kinds::PENDING_INTENT.at(place, message));
    }

    /// It stops every write to the branch, so it is a fault although reads go on.
    fn blocking(&mut self, object: &BlockingObject) {
        let message = format!("stops writes: {}. {}", object.reason, object.remedy);
        self.findings.push(kinds::UNUSABLE_RECORD.at(&object.object, message));
    }

    /// The records beside an intent, which the barrier reads only when they matter.
    async fn leftovers(
        &mut self,
        core: &Core,
        attempt: AttemptId,
        records: &AttemptRecords,
    ) -> Result<(), ReadError> {
        if let Some(object) = &records.confirm {
            match core.intents.confirmed(&core.branch().native, attempt).await {
                Ok(_) => {}
                Err(IntentError::Unusable { cause, .. }) => self.undecodable(object, &cause),
                Err(error) => return Err(error.into()),
            }
        }
        for object in records.alive.values() {
            let Some(bytes) = core.store.get(&object.path).await? else { continue };
            let domain = core.manifest.known_state().domain();
            if let Err(cause) = decode::<Alive>(domain, attempt, &bytes) {
                self.undecodable(object, &cause);
            }
        }
        Ok(())
    }

    /// Nothing is decided by it: an attempt that is not confirmed is taken back, whoever it is of.
    fn undecodable(&mut self, object: &ObjectEntry, cause: &CodecError) {
        let message = format!("it cannot be read: {cause}");
        self.findings.push(kinds::UNREADABLE_PROGRESS.at(&object.path, message));
    }
}
