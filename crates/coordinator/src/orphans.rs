//! What deleted branches leave in flight (RFC 7, delete disposition): intents that nothing can finish
//! and that stand in nobody's way. They are discarded: said on main, then their records go. What they
//! made stays, since a fork may pin it. It must not know how a branch is deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use graphwrite_manifest::{DiscardedAttempt, Manifest, ManifestError, PublishOutcome, Transition};
use graphwrite_protocol_types::{
    AttemptId, BranchName, BranchToken, CodecError, Failpoint, Full, Intent, ManifestDelta,
    NameState, NativeBranch, Pin, Planted, Purpose, RecoveryMode, TxUuid,
};
use graphwrite_recovery::{
    Aborting, AttemptOutcome, Authority, AuthorityFacts, BarrierError, BarrierReport, ConfirmFacts,
    Landing, Listing, LoadedIntent, OperationOutcome, Publishing, RecordSet, Recorded,
    RecoveryPort, RefFacts, RefName, Removal, Retired, TakenBack, resolve_attempt, run,
};
use graphwrite_substrate::{AllNames, IntentStore, NameLook, RecoveryListing};
use parking_lot::Mutex;

use crate::core::Core;
use crate::port::{Port, PortError, gone, listing_of};
use crate::{ReadError, WaitRules};

/// Whose records are meant.
#[derive(Debug, Clone)]
pub(crate) enum OrphansOf {
    /// Those of every branch that no name means.
    AllBranches,
    /// Those of one branch that was deleted.
    Branch(NativeBranch),
}

/// The world of the intents that outlived their branches.
#[derive(Debug)]
struct Orphans {
    core: Arc<Core>,
    /// Reads and names places as on any branch.
    port: Port,
    of: OrphansOf,
    /// Where the records of an attempt were listed.
    places: Mutex<BTreeMap<AttemptId, NativeBranch>>,
}

/// Looks at the intents of deleted branches, or discards them: all, or one attempt.
pub(crate) async fn run_orphans(
    core: &Arc<Core>,
    of: OrphansOf,
    mode: &RecoveryMode,
    attempt: Option<AttemptId>,
) -> Result<BarrierReport, BarrierError<PortError>> {
    let (local, waits): (_, &WaitRules) = (core.options.process.as_ref(), &core.options.waits);
    let places = Mutex::default();
    let port = Orphans { core: Arc::clone(core), port: Port::new(core), of, places };
    let report = match attempt {
        Some(attempt) => {
            Box::pin(resolve_attempt(&port, mode, attempt, false, local, waits)).await?
        }
        None => Box::pin(run(&port, mode, None, local, waits)).await?,
    };
    Ok(report.of_orphans())
}

/// Discards what a branch that was just deleted has left. Best effort, behind the answer of the
/// deletion: what stays is found by the next recovery of main.
pub(crate) fn discard_behind(core: &Arc<Core>, deleted: NativeBranch) {
    let (core, at_work) = (Arc::clone(core), core.background.enter());
    tokio::spawn(async move {
        let mode = RecoveryMode::Full(Full::granted());
        let ran = run_orphans(&core, OrphansOf::Branch(deleted.clone()), &mode, None).await;
        match ran {
            Ok(report) => report.resolved.iter().for_each(|(_, end)| core.counters.resolved(end)),
            Err(error) => {
                tracing::warn!(branch = %deleted, %error, "orphans stay for the next recovery");
            }
        }
        drop(at_work);
    });
}

/// The intent of an attempt on the branch, on main also of one on a deleted branch; none if there is
/// none.
pub(crate) async fn intent(core: &Core, attempt: AttemptId) -> Result<Option<Intent>, ReadError> {
    let own = core.branch().native;
    let found = core.intents.intent(&own, attempt).await?;
    if found.is_some() || !own.is_main() {
        return Ok(found);
    }
    let all = core.intents.list_all().await?;
    let holds = |listing: &RecoveryListing| listing.attempts.contains_key(&attempt);
    let native = all.iter().find(|(native, listing)| !native.is_main() && holds(listing));
    let Some((native, _)) = native else { return Ok(None) };
    Ok(core.intents.intent(native, attempt).await?)
}

/// Says on main that these intents are discarded: one manifest commit, or none where all of it is
/// said. Of two who say it one finds the rows of the other.
pub(crate) async fn say_discarded(core: &Core, orphans: &[&Intent]) -> Result<Recorded, PortError> {
    let opened;
    let main = if core.branch().native.is_main() {
        &core.manifest
    } else {
        let (env, native) = (Arc::clone(&core.options.env), NativeBranch::main());
        let main = Box::pin(Manifest::open(&core.store, env, &native, Purpose::Write)).await;
        opened = main.map_err(|error| ReadError::Reopen(Box::new(error)))?;
        &opened
    };
    let attempts = orphans.iter().map(|orphan| DiscardedAttempt {
        attempt: orphan.attempt,
        operation: orphan.operation.clone(),
        request: orphan.request,
        branch: orphan.branch.clone(),
    });
    let (attempts, by) = (attempts.collect(), core.options.process.instance());
    match main.publish(Transition::Discard { attempts, by }, &main.known_state()).await {
        Ok(PublishOutcome::Discarded { state }) => {
            Ok(Recorded::Landed(state.base().manifest.clone()))
        }
        Ok(_) | Err(ManifestError::Contended { .. }) => Ok(Recorded::Lost),
        Err(ManifestError::Unknown { cause, .. }) => {
            Ok(Recorded::Unknown { cause: cause.to_string() })
        }
        Err(error) => Err(error.into()),
    }
}

/// Native branches that may be alive, as far as the names say.
struct Protected {
    native: BTreeSet<NativeBranch>,
    /// What shows in the native branches of names that cannot be understood.
    slugs: BTreeSet<String>,
}

impl Protected {
    fn of(looks: &[NameLook]) -> Self {
        let live = looks.iter().filter_map(|look| look.live().map(|live| live.token.native));
        let begun = looks.iter().filter_map(|look| look.begun().map(|begun| begun.native()));
        let unusable = looks.iter().filter(|look| look.state() == NameState::Unusable);
        Self {
            native: live.chain(begun).collect(),
            slugs: unusable.map(|look| look.name.slug()).collect(),
        }
    }

    fn covers(&self, native: &NativeBranch) -> bool {
        native.is_main()
            || self.native.contains(native)
            || native.slug().is_some_and(|slug| self.slugs.contains(slug))
    }
}

impl Orphans {
    async fn listings(&self) -> Result<BTreeMap<NativeBranch, RecoveryListing>, PortError> {
        match &self.of {
            OrphansOf::Branch(native) => {
                let listing = self.core.intents.list(native).await?;
                Ok(BTreeMap::from([(native.clone(), listing)]))
            }
            OrphansOf::AllBranches => {
                let mut all = self.core.intents.list_all().await?;
                all.retain(|native, _| !native.is_main());
                if !all.is_empty() {
                    // An intent that was listed was armed on a branch that was live then: what no
                    // name means now is dead for good.
                    let protected = Protected::of(&self.core.names.look_all().await?);
                    all.retain(|native, _| !protected.covers(native));
                }
                Ok(all)
            }
        }
    }

    fn place_of(&self, attempt: AttemptId) -> Option<NativeBranch> {
        self.places.lock().get(&attempt).cloned()
    }

    /// Whether no name means the incarnation any more, from one listing of all names. Only a highest
    /// number that is neither deleted nor surpassed is read: it may be void.
    async fn is_dead(&self, branch: &BranchToken, names: &AllNames) -> Result<bool, PortError> {
        let Ok(name) = branch.name.parse::<BranchName>() else { return Ok(false) };
        // A name without a record was never the name of a branch here.
        let Some(listing) = names.names.get(&name) else { return Ok(false) };
        if listing.is_over(branch.record) {
            return Ok(true);
        }
        let look = self.core.names.look(&name).await?;
        Ok(match look.state() {
            NameState::Live(_) => !look.is_of(branch),
            NameState::Void(_) | NameState::Deleted(_) => true,
            NameState::Free | NameState::Creating(_) | NameState::Unusable => false,
        })
    }

    /// What is said of an intent whose branch may live: it is not this port's to judge.
    fn not_an_orphan(&self) -> AuthorityFacts {
        let main = self.core.manifest.known_state().base().clone();
        AuthorityFacts {
            authority: Authority::Branch(Box::new(main)),
            outcome: AttemptOutcome::None,
            operation: OperationOutcome::None,
        }
    }
}

/// Of an orphan nothing is published and nothing is taken back.
fn discard_only<T>(attempt: AttemptId) -> Result<T, PortError> {
    Err(PortError::NotAnOrphan { attempt })
}

impl RecoveryPort for Orphans {
    type Error = PortError;

    fn branch(&self) -> &BranchToken {
        self.port.branch()
    }

    fn planted(&self) -> Planted {
        self.port.planted()
    }

    async fn list_records(&self) -> Result<Listing, PortError> {
        let listings = self.listings().await?;
        let now_unix_us = self.core.options.env.unix_micros();
        let (mut places, mut all) = (BTreeMap::new(), Listing::default());
        for (native, listing) in listings {
            let listing = listing_of(&listing, now_unix_us);
            all.foreign.extend(listing.foreign);
            for (attempt, records) in listing.records {
                places.entry(attempt).or_insert_with(|| native.clone());
                all.records.entry(attempt).or_insert(records);
            }
        }
        *self.places.lock() = places;
        Ok(all)
    }

    async fn load_intent(&self, attempt: AttemptId) -> Result<LoadedIntent, PortError> {
        let Some(native) = self.place_of(attempt) else { return Ok(LoadedIntent::Vanished) };
        let loaded = self.port.intent_in(&native, attempt).await?;
        Ok(match loaded {
            // A record in the place of another branch says nothing of this one.
            LoadedIntent::Found(intent) if intent.branch.native != native => {
                let (named, found) = (native.to_string(), intent.branch.native.to_string());
                LoadedIntent::Unreadable {
                    object: IntentStore::intent_object(&native, attempt),
                    cause: CodecError::Place { record: "intent", named, found },
                }
            }
            loaded => loaded,
        })
    }

    async fn load_confirm(&self, intent: &Intent) -> Result<ConfirmFacts, PortError> {
        self.port.confirm_in(&intent.branch.native, intent).await
    }

    /// The data of a deleted branch may be gone or damaged; nothing depends on it.
    async fn observe(&self, of: &RefName, slots: &BTreeSet<u64>) -> Result<RefFacts, PortError> {
        let observed = self.port.observe(of, slots).await;
        Ok(observed.unwrap_or_else(|error| RefFacts::Unreadable { reason: error.to_string() }))
    }

    async fn data_files_exist(&self, intent: &Intent, effect: u32) -> Result<bool, PortError> {
        Ok(self.port.data_files_exist(intent, effect).await.unwrap_or(false))
    }

    async fn authority(&self, intents: &[&Intent]) -> Result<Vec<AuthorityFacts>, PortError> {
        let names = self.core.names.list_all().await?;
        let mut facts = Vec::new();
        for intent in intents {
            let is_dead = self.is_dead(&intent.branch, &names).await?;
            facts.push(if is_dead { gone() } else { self.not_an_orphan() });
        }
        Ok(facts)
    }

    async fn audit_orphans(&self, _: &Full, orphans: &[&Intent]) -> Result<Recorded, PortError> {
        say_discarded(&self.core, orphans).await
    }

    async fn retire(&self, _: Publishing<'_>, attempt: AttemptId, records: &RecordSet) -> Retired {
        let Some(native) = self.place_of(attempt) else { return Retired::default() };
        self.port.retire_in(&native, attempt, records).await
    }

    async fn record_aborted(
        &self,
        _: &Full,
        aborting: &[Aborting<'_>],
        _: &Pin,
    ) -> Result<Recorded, PortError> {
        match aborting.first() {
            Some(aborting) => discard_only(aborting.intent.attempt),
            None => Ok(Recorded::Lost),
        }
    }

    async fn fence(
        &self,
        _: &Full,
        intent: &Intent,
        _: u32,
        _: u64,
        _: &TxUuid,
    ) -> Result<Landing, PortError> {
        discard_only(intent.attempt)
    }

    async fn restore(
        &self,
        _: &Full,
        intent: &Intent,
        _: u32,
        _: &Pin,
        _: u64,
        _: &TxUuid,
    ) -> Result<Landing, PortError> {
        discard_only(intent.attempt)
    }

    async fn delete_dataset(
        &self,
        _: &Full,
        intent: &Intent,
        _: u32,
    ) -> Result<Removal, PortError> {
        discard_only(intent.attempt)
    }

    async fn delete_ref(&self, _: &Full, intent: &Intent, _: u32) -> Result<Removal, PortError> {
        discard_only(intent.attempt)
    }

    async fn move_pins(
        &self,
        _: &Full,
        taken_back: &[TakenBack<'_>],
        _: &Pin,
    ) -> Result<Recorded, PortError> {
        match taken_back.first() {
            Some(taken_back) => discard_only(taken_back.intent.attempt),
            None => Ok(Recorded::Lost),
        }
    }

    async fn publish(
        &self,
        _: Publishing<'_>,
        intent: &Intent,
        _: &Pin,
        _: &ManifestDelta,
    ) -> Result<Recorded, PortError> {
        discard_only(intent.attempt)
    }

    async fn pause(&self, milliseconds: u64) {
        self.port.pause(milliseconds).await;
    }

    fn now_ms(&self) -> u64 {
        self.port.now_ms()
    }

    async fn reach(&self, failpoint: Failpoint) -> Result<(), PortError> {
        self.port.reach(failpoint).await
    }
}
