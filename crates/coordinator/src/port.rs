//! What recovery needs from the world, over this graph's storage and manifest. It reads facts and
//! performs single durable steps; what they mean is recovery's to judge.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, StreamExt, TryStreamExt};
use graphwrite_manifest::{
    AbortedAttempt, CompensatedAttempt, ManifestError, ManifestState, OutcomeKind, OutcomeRow,
    PublishOutcome, Transition,
};
use graphwrite_protocol_types::{
    AttemptId, BranchToken, CommitId, Defect, Effect, Failpoint, Full, Intent, ManifestDelta,
    NativeBranch, Pin, Planted, TxUuid,
};
use graphwrite_recovery::{
    Aborting, AttemptOutcome, Authority, AuthorityFacts, ConfirmFacts, Landing, Listing,
    LoadedIntent, OperationOutcome, PinMove, Publishing, RecordSet, Recorded, RecoveryPort,
    RefFacts, RefName, Removal, Retired, SlotFacts, TakenBack, WIDTH,
};
use graphwrite_substrate::{
    AttemptRecords, IntentError, NameError, RecoveryListing, RefFork, RefRemoval, SubstrateError,
    TableHandle, Version, delete_dataset, delete_ref, head, read_slot, stage_fence, stage_restore,
    strict_commit,
};
use parking_lot::Mutex;
use thiserror::Error;

use crate::core::Core;
use crate::orphans::say_discarded;
use crate::{Injected, ReadError};

/// A fault that ends a recovery pass and leaves things as they are.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PortError {
    /// The storage or the manifest failed.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The interpreter named an effect that the intent does not have; a fault of ours.
    #[error("attempt {attempt} has no effect {effect}")]
    NoSuchEffect {
        /// The attempt.
        attempt: AttemptId,
        /// Index of the effect.
        effect: u32,
    },
    /// An attempt was to be finished or taken back on a branch that may be deleted; a fault of ours.
    #[error("attempt {attempt} is to be discarded, and nothing else")]
    NotAnOrphan {
        /// The attempt.
        attempt: AttemptId,
    },
    /// The records of branch names cannot be read.
    #[error(transparent)]
    Names(#[from] NameError),
    /// A failpoint was told to fail.
    #[error(transparent)]
    Injected(#[from] Injected),
}

impl From<ManifestError> for PortError {
    fn from(error: ManifestError) -> Self {
        Self::Read(error.into())
    }
}

impl From<SubstrateError> for PortError {
    fn from(error: SubstrateError) -> Self {
        Self::Read(error.into())
    }
}

impl From<graphwrite_substrate::StoreError> for PortError {
    fn from(error: graphwrite_substrate::StoreError) -> Self {
        Self::Read(error.into())
    }
}

/// The world of the branch that a handle is on.
#[derive(Debug)]
pub(crate) struct Port {
    core: Arc<Core>,
    branch: BranchToken,
    /// What whoever made the port has listed already, for the first who asks.
    listed: Mutex<Option<RecoveryListing>>,
}

impl Port {
    pub(crate) fn new(core: &Arc<Core>) -> Self {
        Self { core: Arc::clone(core), branch: core.branch(), listed: Mutex::default() }
    }

    /// A port whose records have just been listed.
    pub(crate) fn over(core: &Arc<Core>, listed: RecoveryListing) -> Self {
        Self { listed: Mutex::new(Some(listed)), ..Self::new(core) }
    }

    /// The state that a decision was made on, if it still is the newest one known.
    async fn state_at(&self, over: &Pin) -> Result<Option<ManifestState>, PortError> {
        let known = self.core.manifest.known_state();
        let state =
            if known.base().manifest == *over { known } else { self.core.manifest.state().await? };
        Ok((state.base().manifest == *over).then_some(state))
    }

    async fn record_row(
        &self,
        over: &Pin,
        transition: Transition<'_>,
    ) -> Result<Recorded, PortError> {
        let Some(state) = self.state_at(over).await? else { return Ok(Recorded::Lost) };
        match self.core.manifest.publish(transition, &state).await {
            Ok(outcome) => Ok(recorded(&outcome)),
            Err(ManifestError::Unknown { cause, .. }) => {
                Ok(Recorded::Unknown { cause: cause.to_string() })
            }
            Err(ManifestError::Contended { .. }) => Ok(Recorded::Lost),
            Err(error) => Err(error.into()),
        }
    }

    /// One slot of a ref; none if it was collected.
    async fn slot(
        &self,
        of: &RefName,
        version: u64,
    ) -> Result<Option<(u64, SlotFacts)>, PortError> {
        let read = read_slot(&self.core.store, of.path.as_str(), &of.physical_ref, version).await;
        Ok(match read {
            Ok(slot) => slot.map(|slot| (version, SlotFacts::Taken(slot.version.tx_uuid))),
            Err(SubstrateError::Store(error)) => return Err(error.into()),
            Err(error) => Some((version, SlotFacts::Unreadable { reason: error.to_string() })),
        })
    }

    /// The intent of an attempt, from the records of a branch.
    pub(crate) async fn intent_in(
        &self,
        branch: &NativeBranch,
        attempt: AttemptId,
    ) -> Result<LoadedIntent, PortError> {
        match self.core.intents.intent(branch, attempt).await {
            Ok(Some(intent)) => Ok(LoadedIntent::Found(Box::new(intent))),
            Ok(None) => Ok(LoadedIntent::Vanished),
            Err(IntentError::Unusable { path, cause }) => {
                Ok(LoadedIntent::Unreadable { object: path, cause })
            }
            Err(error) => Err(ReadError::from(error).into()),
        }
    }

    /// The confirm object of an intent, from the records of a branch.
    pub(crate) async fn confirm_in(
        &self,
        branch: &NativeBranch,
        intent: &Intent,
    ) -> Result<ConfirmFacts, PortError> {
        if !ConfirmFacts::needed_by(intent) {
            return Ok(ConfirmFacts::NotNeeded);
        }
        match self.core.intents.confirmed(branch, intent.attempt).await {
            Ok(Some(confirm)) => Ok(ConfirmFacts::Present(confirm)),
            Ok(None) => Ok(ConfirmFacts::Missing),
            Err(IntentError::Unusable { cause, .. }) => {
                Ok(ConfirmFacts::Unreadable { reason: cause.to_string() })
            }
            Err(error) => Err(ReadError::from(error).into()),
        }
    }

    /// Deletes the records of an attempt among those of a branch: the intent last.
    pub(crate) async fn retire_in(
        &self,
        branch: &NativeBranch,
        attempt: AttemptId,
        records: &RecordSet,
    ) -> Retired {
        let RecordSet { confirm, alive, .. } = records;
        match self.core.intents.delete(branch, attempt, *confirm, alive).await {
            Ok(()) => Retired::default(),
            Err(error) => Retired { left: vec![(attempt.to_string(), error.to_string())] },
        }
    }

    async fn close_slot(
        &self,
        full: &Full,
        intent: &Intent,
        effect: u32,
        read_version: u64,
        staged: graphwrite_substrate::StagedCommit,
    ) -> Result<Landing, PortError> {
        let target = &effect_of(intent, effect)?.target;
        let version = Version::Exact(read_version);
        let path = target.path.as_str();
        let table =
            TableHandle::open(&self.core.store, path, &target.physical_ref, version).await?;
        let landing = strict_commit(&full.permit(intent.attempt), &table, staged).await?;
        Ok(match landing {
            graphwrite_substrate::Landing::Landed { .. } => Landing::Landed,
            graphwrite_substrate::Landing::SlotTaken { winner } => Landing::SlotTaken { winner },
            graphwrite_substrate::Landing::Unknown(cause) => {
                Landing::Unknown { cause: cause.to_string() }
            }
        })
    }
}

fn recorded(outcome: &PublishOutcome) -> Recorded {
    match outcome {
        PublishOutcome::Committed { state, .. }
        | PublishOutcome::Aborted { state, .. }
        | PublishOutcome::PinsMoved { state, .. } => {
            Recorded::Landed(state.base().manifest.clone())
        }
        _ => Recorded::Lost,
    }
}

fn attempt_outcome(row: &OutcomeRow) -> AttemptOutcome {
    match (row.commit(), &row.kind) {
        (Some(commit), _) => AttemptOutcome::Committed { commit },
        (None, OutcomeKind::RolledBack) => AttemptOutcome::RolledBack,
        (None, _) => AttemptOutcome::Aborted,
    }
}

/// What the row that speaks for the operation says to an attempt that is not its own.
fn operation_outcome(intent: &Intent, row: Option<&OutcomeRow>) -> OperationOutcome {
    match row {
        Some(row) if row.sealed().is_some() => OperationOutcome::Sealed,
        Some(row) if row.attempt != intent.attempt && row.commit().is_some() => {
            OperationOutcome::CommittedElsewhere
        }
        _ => OperationOutcome::None,
    }
}

/// What is said of every intent of a branch that was deleted.
pub(crate) fn gone() -> AuthorityFacts {
    AuthorityFacts {
        authority: Authority::BranchGone,
        outcome: AttemptOutcome::None,
        operation: OperationOutcome::None,
    }
}

fn effect_of(intent: &Intent, effect: u32) -> Result<&Effect, PortError> {
    let known = intent.effects.get(effect as usize);
    known.ok_or(PortError::NoSuchEffect { attempt: intent.attempt, effect })
}

/// The intent whose ids a roll-forward publishes: those of arming.
fn published_as<'a>(intent: &'a Intent, core: &Core) -> Cow<'a, Intent> {
    let mut published = Cow::Borrowed(intent);
    if core.store.has(Defect::IdsMintedAtRecovery) {
        published.to_mut().lineage.commit = CommitId::mint(core.options.env.as_ref());
    }
    published
}

impl RecoveryPort for Port {
    type Error = PortError;

    fn branch(&self) -> &BranchToken {
        &self.branch
    }

    fn planted(&self) -> Planted {
        self.core.store.planted()
    }

    async fn list_records(&self) -> Result<Listing, PortError> {
        let listed = self.listed.lock().take();
        let listing = match listed {
            Some(listing) => listing,
            None => self.core.intents.list(&self.branch.native).await?,
        };
        Ok(listing_of(&listing, self.core.options.env.unix_micros()))
    }

    async fn load_intent(&self, attempt: AttemptId) -> Result<LoadedIntent, PortError> {
        self.intent_in(&self.branch.native, attempt).await
    }

    async fn load_confirm(&self, intent: &Intent) -> Result<ConfirmFacts, PortError> {
        self.confirm_in(&self.branch.native, intent).await
    }

    async fn observe(&self, of: &RefName, slots: &BTreeSet<u64>) -> Result<RefFacts, PortError> {
        let (path, physical_ref) = (of.path.as_str(), &of.physical_ref);
        let newest = match head(&self.core.store, path, physical_ref).await {
            Ok(None) => return Ok(RefFacts::Absent),
            Ok(Some(newest)) => newest.pin(),
            Err(SubstrateError::Store(error)) => return Err(error.into()),
            Err(error) => return Ok(RefFacts::Unreadable { reason: error.to_string() }),
        };
        // What is not above HEAD never changes hands, so it may be read in any order; HEAD itself
        // has been read.
        let below = slots.range(..newest.version).map(|version| self.slot(of, *version));
        let below: Vec<_> = below.collect();
        let read: Vec<_> = stream::iter(below).buffered(WIDTH).try_collect().await?;
        let mut found: BTreeMap<u64, SlotFacts> = read.into_iter().flatten().collect();
        if slots.contains(&newest.version) {
            found.insert(newest.version, SlotFacts::Taken(newest.tx_uuid.clone()));
        }
        Ok(RefFacts::Present { head: newest, slots: found })
    }

    async fn data_files_exist(&self, intent: &Intent, effect: u32) -> Result<bool, PortError> {
        let effect = effect_of(intent, effect)?;
        let Some(last) = effect.steps.last() else { return Ok(true) };
        let version = Version::Exact(last.version());
        let target = &effect.target;
        let opened = TableHandle::open(
            &self.core.store,
            target.path.as_str(),
            &target.physical_ref,
            version,
        );
        match opened.await {
            Ok(table) => Ok(table.missing_files().await?.is_empty()),
            Err(SubstrateError::TableNotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    async fn authority(&self, intents: &[&Intent]) -> Result<Vec<AuthorityFacts>, PortError> {
        // The records first: a name that means this incarnation meant it while its manifest is read.
        if !self.core.is_current().await? {
            return Ok(intents.iter().map(|_| gone()).collect());
        }
        let state = self.core.manifest.state().await?;
        let asked = intents.iter().map(|intent| (intent.attempt, Some(&intent.operation)));
        let outcomes = state.outcomes_of(asked).await?;
        let facts = |intent: &&Intent| {
            let own = outcomes.of_attempt(intent.attempt);
            let other = outcomes.of_operation(&intent.operation);
            AuthorityFacts {
                authority: Authority::Branch(Box::new(state.base().clone())),
                outcome: own.map_or(AttemptOutcome::None, attempt_outcome),
                operation: operation_outcome(intent, other),
            }
        };
        Ok(intents.iter().map(facts).collect())
    }

    async fn record_aborted(
        &self,
        _: &Full,
        aborting: &[Aborting<'_>],
        over: &Pin,
    ) -> Result<Recorded, PortError> {
        let attempts = aborting.iter().map(|aborted| AbortedAttempt {
            attempt: aborted.intent.attempt,
            operation: aborted.intent.operation.clone(),
            request: aborted.intent.request,
            reason: aborted.reason.to_owned(),
        });
        let (attempts, by) = (attempts.collect(), self.core.options.process.instance());
        self.record_row(over, Transition::Abort { attempts, by }).await
    }

    async fn fence(
        &self,
        full: &Full,
        intent: &Intent,
        effect: u32,
        read_version: u64,
        tx_uuid: &TxUuid,
    ) -> Result<Landing, PortError> {
        let staged = stage_fence(read_version, tx_uuid.clone());
        self.close_slot(full, intent, effect, read_version, staged).await
    }

    async fn restore(
        &self,
        full: &Full,
        intent: &Intent,
        effect: u32,
        to: &Pin,
        read_version: u64,
        tx_uuid: &TxUuid,
    ) -> Result<Landing, PortError> {
        let staged = stage_restore(read_version, to.version, tx_uuid.clone());
        self.close_slot(full, intent, effect, read_version, staged).await
    }

    async fn delete_dataset(
        &self,
        full: &Full,
        intent: &Intent,
        effect: u32,
    ) -> Result<Removal, PortError> {
        let path = effect_of(intent, effect)?.target.path.as_str();
        match delete_dataset(&full.permit(intent.attempt), &self.core.store, path).await {
            Ok(()) => Ok(Removal::Removed),
            Err(error) => Ok(Removal::Unknown { cause: error.to_string() }),
        }
    }

    async fn delete_ref(
        &self,
        full: &Full,
        intent: &Intent,
        effect: u32,
    ) -> Result<Removal, PortError> {
        let no_ref = PortError::NoSuchEffect { attempt: intent.attempt, effect };
        let fork = RefFork::of_effect(intent, effect).ok_or(no_ref)?;
        match delete_ref(&full.permit(intent.attempt), &self.core.store, &fork).await {
            Ok(RefRemoval::Removed) => Ok(Removal::Removed),
            Ok(foreign) => Ok(Removal::Unknown { cause: format!("{foreign:?}") }),
            Err(error) => Ok(Removal::Unknown { cause: error.to_string() }),
        }
    }

    async fn move_pins(
        &self,
        _: &Full,
        taken_back: &[TakenBack<'_>],
        over: &Pin,
    ) -> Result<Recorded, PortError> {
        let pin_move = |pin: &PinMove| graphwrite_manifest::PinMove {
            identity: pin.identity,
            from: pin.from.clone(),
            to: pin.to.clone(),
        };
        let attempts = taken_back.iter().map(|of| CompensatedAttempt {
            attempt: of.intent.attempt,
            moves: of.moves.iter().map(pin_move).collect(),
            rolled_back: of.complete,
        });
        self.record_row(over, Transition::MovePins { attempts: attempts.collect() }).await
    }

    async fn publish(
        &self,
        _: Publishing<'_>,
        intent: &Intent,
        over: &Pin,
        delta: &ManifestDelta,
    ) -> Result<Recorded, PortError> {
        let by = self.core.options.process.instance();
        let intent = &published_as(intent, &self.core);
        self.record_row(over, Transition::RollForward { intent, delta, by }).await
    }

    async fn retire(&self, _: Publishing<'_>, attempt: AttemptId, records: &RecordSet) -> Retired {
        self.retire_in(&self.branch.native, attempt, records).await
    }

    async fn audit_orphans(&self, _: &Full, orphans: &[&Intent]) -> Result<Recorded, PortError> {
        say_discarded(&self.core, orphans).await
    }

    async fn pause(&self, milliseconds: u64) {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }

    fn now_ms(&self) -> u64 {
        self.core.options.env.monotonic_micros() / 1_000
    }

    async fn reach(&self, failpoint: Failpoint) -> Result<(), PortError> {
        Ok(self.core.options.hooks.reach(failpoint).await?)
    }
}

/// The listing as recovery sees it. Ages are taken from the local clock: they choose between
/// waiting and acting, and both are safe.
pub(crate) fn listing_of(listing: &RecoveryListing, now_unix_us: u64) -> Listing {
    let records = listing.attempts.iter();
    Listing {
        records: records
            .map(|(attempt, found)| (*attempt, record_set(found, now_unix_us)))
            .collect(),
        foreign: listing.foreign.iter().map(|foreign| foreign.entry.path.clone()).collect(),
    }
}

fn record_set(found: &AttemptRecords, now_unix_us: u64) -> RecordSet {
    let objects = found.intent.iter().chain(&found.confirm).chain(found.alive.values());
    let youngest = objects.max_by_key(|object| object.modified_unix_us);
    RecordSet {
        intent: found.intent.is_some(),
        confirm: found.confirm.is_some(),
        alive: found.alive.keys().copied().collect(),
        age_ms: youngest.map_or(now_unix_us / 1_000, |object| object.age_ms(now_unix_us)),
    }
}

#[cfg(test)]
mod tests {
    use graphwrite_substrate::ObjectEntry;

    use super::*;

    fn age_ms(modified_unix_us: i64, now_unix_us: u64) -> u64 {
        let intent = ObjectEntry { path: "x".into(), size: 1, modified_unix_us };
        let found = AttemptRecords { intent: Some(intent), ..AttemptRecords::default() };
        record_set(&found, now_unix_us).age_ms
    }

    #[test]
    fn the_age_of_records_is_that_of_their_youngest_sign() {
        assert_eq!(age_ms(1_000_000, 4_000_000), 3_000);
    }

    #[test]
    fn a_record_of_the_future_does_not_stay_young_for_ever() {
        assert_eq!(age_ms(90_000_000, 1_000_000), 89_000);
    }
}
