//! The recovery barrier (RFC 4.1): one LIST, then every intent that overlaps the request is taken
//! to its end in place, a batch of them at a time, or the request gets a typed answer. It never goes
//! around an intent, and it never needs a restart, a reopen, or a file deleted by hand.

use std::collections::BTreeMap;

use graphwrite_protocol_types::{
    AttemptId, CodecError, Contention, Footprint, Intent, RecoveryMode, Unresolved,
};
use thiserror::Error;

use crate::explain::{Explanation, explain, table_name};
use crate::interpreter::Interpreter;
use crate::look::{Subject, look_at};
use crate::port::{Listing, LoadedIntent, Publishing, RecordSet, RecoveryPort};
use crate::resolution::{Resolution, Stopped};
use crate::side_by_side::{WIDTH, side_by_side};
use crate::track::Pending;
use crate::wait::{LocalProcess, Owner, WaitRules, owner_of};

/// How many intents are resolved together: what bounds the memory of a barrier and the rows of one
/// manifest commit.
pub const BATCH: usize = 256;

/// The answer of a barrier.
#[must_use = "a request may go on only behind a clean barrier"]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BarrierOutcome {
    /// Nothing is in the way of the request.
    Clean,
    /// An owner that may be alive is in the way, and patience is over.
    Contended(Contention),
    /// An intent is in the way that cannot be ended here and now.
    RecoveryRequired(Unresolved),
    /// An object that cannot be understood is in the way of every write to the branch.
    Blocked(BlockingObject),
    /// Nothing was done: `pending` of the report says what there is.
    Probed,
}

/// An object among the branch's records that cannot be understood. It is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{object}` {}: {reason}", stops_whom(*.is_orphan))]
pub struct BlockingObject {
    /// Its name.
    pub object: String,
    /// The attempt in its name, where there is one.
    pub attempt: Option<AttemptId>,
    /// What is wrong with it.
    pub reason: String,
    /// What to do.
    pub remedy: &'static str,
    /// Whether its branch is deleted, so that it stops nobody.
    pub is_orphan: bool,
}

fn stops_whom(is_orphan: bool) -> &'static str {
    match is_orphan {
        true => "is left of a deleted branch and stops nobody",
        false => "blocks writes to this branch",
    }
}

impl BlockingObject {
    /// A record of `attempt` that does not decode.
    pub fn unreadable(object: String, attempt: AttemptId, cause: &CodecError) -> Self {
        let (reason, remedy) = (cause.to_string(), cause.remedy());
        Self { object, attempt: Some(attempt), reason, remedy, is_orphan: false }
    }

    /// An object whose name is none of a record.
    pub fn foreign(object: String) -> Self {
        let remedy =
            "If a newer build wrote it, use that build; otherwise move it out of the graph";
        let reason = "its name is not that of a recovery record".into();
        Self { object, attempt: None, reason, remedy, is_orphan: false }
    }
}

/// What a barrier found and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BarrierReport {
    /// The answer.
    pub outcome: BarrierOutcome,
    /// Every intent that was taken up, in attempt order, with how it ended.
    pub resolved: Vec<(AttemptId, Resolution)>,
    /// Intents that do not concern the request.
    pub left_alone: Vec<AttemptId>,
    /// Attempts that run in this process; their gates order the request behind them.
    pub live: Vec<AttemptId>,
    /// Attempts of which only a confirm object or signs of progress were left.
    pub swept: Vec<AttemptId>,
    /// Objects that cannot be understood.
    pub blocking: Vec<BlockingObject>,
    /// In `Probe` mode: what is pending and what would be done.
    pub pending: Vec<Explanation>,
}

impl BarrierReport {
    /// Whether the branch may have changed under this barrier, so that a base that was read beside
    /// it must be read again.
    pub fn has_changed_anything(&self) -> bool {
        !self.resolved.is_empty()
    }

    /// Whether the barrier met nothing at all.
    pub fn is_empty(&self) -> bool {
        let Self { outcome: _, resolved, left_alone, live, swept, blocking, pending } = self;
        let attempts = [left_alone, live, swept];
        attempts.iter().all(|of| of.is_empty())
            && resolved.is_empty()
            && blocking.is_empty()
            && pending.is_empty()
    }

    /// Both reports in one: the answer is that of `self`, unless there nothing is in the way.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        if matches!(self.outcome, BarrierOutcome::Clean | BarrierOutcome::Probed) {
            self.outcome = other.outcome;
        }
        self.resolved.extend(other.resolved);
        self.left_alone.extend(other.left_alone);
        self.live.extend(other.live);
        self.swept.extend(other.swept);
        self.blocking.extend(other.blocking);
        self.pending.extend(other.pending);
        self
    }

    /// The same report about the records of deleted branches: what cannot be understood of them
    /// stops nobody.
    #[must_use]
    pub fn of_orphans(mut self) -> Self {
        self.blocking.iter_mut().for_each(|object| object.is_orphan = true);
        if let BarrierOutcome::Blocked(object) = &mut self.outcome {
            object.is_orphan = true;
        }
        self
    }
}

/// A fault of the port stopped the barrier. The request did nothing; it may be sent again.
#[derive(Debug, Error)]
#[error("the recovery barrier stopped while {doing}")]
pub struct BarrierError<E: std::error::Error + 'static> {
    /// What it was doing.
    pub doing: &'static str,
    /// The attempt it was looking at.
    pub attempt: Option<AttemptId>,
    /// The fault.
    pub source: E,
}

/// Runs the barrier for a request with this `footprint`; for every intent of the branch if there is
/// none.
///
/// # Errors
/// A fault of the port. Whatever was done until then stays done.
pub async fn run<P: RecoveryPort, L: LocalProcess>(
    port: &P,
    mode: &RecoveryMode,
    footprint: Option<&Footprint>,
    local: &L,
    waits: &WaitRules,
) -> Result<BarrierReport, BarrierError<P::Error>> {
    let scope = Scope { footprint, only: None, owner_is_dead: false };
    Barrier { port, mode, local, waits, scope }.run().await
}

/// Takes one intent to its end, for an operator. `owner_is_dead` is the operator's word that its
/// owner does not run any more.
///
/// # Errors
/// A fault of the port. Whatever was done until then stays done.
pub async fn resolve_attempt<P: RecoveryPort, L: LocalProcess>(
    port: &P,
    mode: &RecoveryMode,
    attempt: AttemptId,
    owner_is_dead: bool,
    local: &L,
    waits: &WaitRules,
) -> Result<BarrierReport, BarrierError<P::Error>> {
    let scope = Scope { footprint: None, only: Some(attempt), owner_is_dead };
    Barrier { port, mode, local, waits, scope }.run().await
}

/// Which intents are meant.
#[derive(Clone, Copy)]
struct Scope<'a> {
    footprint: Option<&'a Footprint>,
    only: Option<AttemptId>,
    owner_is_dead: bool,
}

struct Barrier<'a, P, L> {
    port: &'a P,
    mode: &'a RecoveryMode,
    local: &'a L,
    waits: &'a WaitRules,
    scope: Scope<'a>,
}

/// What one pass over the records leaves.
struct Pass<E: std::error::Error + 'static> {
    blocking: Vec<BlockingObject>,
    unresolved: Option<Unresolved>,
    contended: Option<Contention>,
    left_alone: Vec<AttemptId>,
    live: Vec<AttemptId>,
    pending: Vec<Explanation>,
    /// The first fault that concerned single intents; the others were taken up all the same.
    fault: Option<BarrierError<E>>,
}

/// What is kept from one pass to the next.
#[derive(Default)]
struct Memory {
    /// Intents that are waited for.
    intents: BTreeMap<AttemptId, Intent>,
    resolved: BTreeMap<AttemptId, Resolution>,
    swept: Vec<AttemptId>,
}

/// An intent with its records.
struct Loaded<'a> {
    intent: Intent,
    records: &'a RecordSet,
    owner: Owner,
}

impl<P: RecoveryPort, L: LocalProcess> Barrier<'_, P, L> {
    async fn run(&self) -> Result<BarrierReport, BarrierError<P::Error>> {
        let started_ms = self.port.now_ms();
        let mut memory = Memory::default();
        let mut looks = 0;
        loop {
            let mut pass = self.pass(&mut memory).await?;
            if let Some(fault) = pass.fault.take() {
                return Err(fault);
            }
            let waited_ms = self.port.now_ms().saturating_sub(started_ms);
            if !pass.only_waits() || waited_ms >= self.waits.contention_wait_ms {
                return Ok(self.report(pass, memory));
            }
            self.port.pause(self.waits.backoff_ms(looks)).await;
            looks += 1;
        }
    }

    /// One LIST, and every intent in it, a batch at a time, in attempt order.
    async fn pass(&self, memory: &mut Memory) -> Result<Pass<P::Error>, BarrierError<P::Error>> {
        let listed = self.port.list_records().await;
        let listing = listed.map_err(fault("listing the branch's records", None))?;
        memory.forget_waits();
        let mut pass = Pass::default();
        if self.scope.only.is_none() {
            pass.blocking = foreign_objects(&listing);
        }
        let concerned = |attempt| self.scope.only.is_none_or(|only| only == attempt);
        let (live, others): (Vec<_>, Vec<_>) = listing
            .records
            .iter()
            .filter(|(attempt, _)| concerned(**attempt))
            .partition(|(attempt, _)| self.local.is_live(**attempt));
        pass.live = live.into_iter().map(|(attempt, _)| *attempt).collect();
        let (armed, leftovers): (Vec<Records<'_>>, Vec<_>) =
            others.into_iter().partition(|(_, records)| records.intent);
        self.sweep(&leftovers, memory).await;
        for batch in armed.chunks(BATCH) {
            Box::pin(self.batch(batch, memory, &mut pass)).await?;
        }
        Ok(pass)
    }

    /// A confirm object or a sign of progress is created after its intent and deleted before it:
    /// without one, it is left over from an attempt that is over.
    async fn sweep(&self, leftovers: &[Records<'_>], memory: &mut Memory) {
        let Some(right) = Publishing::of(self.mode) else { return };
        let deletions =
            leftovers.iter().map(|(attempt, records)| self.port.retire(right, **attempt, records));
        let retired = side_by_side(WIDTH, deletions).await;
        let swept = leftovers.iter().zip(retired).filter(|(_, retired)| retired.left.is_empty());
        memory.swept.extend(swept.map(|((attempt, _), _)| **attempt));
    }

    async fn batch(
        &self,
        batch: &[Records<'_>],
        memory: &mut Memory,
        pass: &mut Pass<P::Error>,
    ) -> Result<(), BarrierError<P::Error>> {
        let mut concerned = Vec::new();
        for loaded in self.intents(batch, memory, pass).await {
            if self.scope.footprint.is_none_or(|f| f.overlaps(&loaded.intent.footprint())) {
                concerned.push(loaded);
            } else {
                pass.left_alone.push(loaded.intent.attempt);
            }
        }
        if concerned.is_empty() {
            return Ok(());
        }
        match self.mode {
            RecoveryMode::Probe => self.probe(&concerned, pass).await,
            RecoveryMode::RollForward(_) | RecoveryMode::Full(_) => {
                self.resolve(concerned, memory, pass).await
            }
        }
    }

    /// Reads the intents of a batch side by side, each once. LIST and GET race with the owner's own
    /// deletion: gone means done.
    async fn intents<'r>(
        &self,
        batch: &[Records<'r>],
        memory: &mut Memory,
        pass: &mut Pass<P::Error>,
    ) -> Vec<Loaded<'r>> {
        let known = &memory.intents;
        let new = batch.iter().filter(|(attempt, _)| !known.contains_key(attempt));
        let reads: Vec<_> = new.map(|(attempt, _)| **attempt).collect();
        let read =
            side_by_side(WIDTH, reads.iter().map(|attempt| self.port.load_intent(*attempt))).await;
        let mut found = std::mem::take(&mut memory.intents);
        for (attempt, loaded) in reads.into_iter().zip(read) {
            match loaded {
                Ok(LoadedIntent::Found(intent)) => {
                    found.insert(attempt, *intent);
                }
                Ok(LoadedIntent::Vanished) => {}
                Ok(LoadedIntent::Unreadable { object, cause }) => {
                    pass.blocking.push(BlockingObject::unreadable(object, attempt, &cause));
                }
                Err(error) => pass.note_fault("reading an intent", attempt, error),
            }
        }
        let taken = batch.iter().filter_map(|(attempt, records)| {
            let intent = found.remove(attempt)?;
            let owner = self.owner(&intent, records);
            Some(Loaded { intent, records, owner })
        });
        let taken = taken.collect();
        memory.intents = found;
        taken
    }

    fn owner(&self, intent: &Intent, records: &RecordSet) -> Owner {
        let dead = self.scope.owner_is_dead;
        owner_of(&intent.owner, intent.attempt, records.age_ms, self.local, dead)
    }

    async fn probe(
        &self,
        batch: &[Loaded<'_>],
        pass: &mut Pass<P::Error>,
    ) -> Result<(), BarrierError<P::Error>> {
        let subjects: Vec<Subject<'_>> =
            batch.iter().map(|loaded| (&loaded.intent, &loaded.owner)).collect();
        let found = look_at(self.port, &subjects, self.waits, WIDTH).await;
        let found = found.map_err(fault("looking at intents", attempt_of(batch)))?;
        if let Some((attempt, error)) = found.fault {
            pass.note_fault("looking at an intent", attempt, error);
        }
        let looks = batch.iter().zip(found.looks);
        let explained = looks.filter_map(|(loaded, look)| {
            Some(explain(&loaded.intent, loaded.records, &loaded.owner, &look?))
        });
        pass.pending.extend(explained);
        Ok(())
    }

    async fn resolve(
        &self,
        batch: Vec<Loaded<'_>>,
        memory: &mut Memory,
        pass: &mut Pass<P::Error>,
    ) -> Result<(), BarrierError<P::Error>> {
        let pending: Vec<Pending<'_>> = batch.iter().map(Loaded::pending).collect();
        let interpreter = Interpreter::new(self.port, self.mode, self.waits);
        let ended = interpreter.resolve_all(&pending).await;
        let mut ended = ended.map_err(fault("resolving intents", attempt_of(&batch)))?;
        if let Some((attempt, error)) = ended.fault {
            pass.note_fault("resolving an intent", attempt, error);
        }
        ended.resolutions.sort_by_key(|(attempt, _)| *attempt);
        let mut batch: BTreeMap<AttemptId, Loaded<'_>> =
            batch.into_iter().map(|loaded| (loaded.intent.attempt, loaded)).collect();
        for (attempt, resolution) in ended.resolutions {
            let Some(Loaded { intent, records, .. }) = batch.remove(&attempt) else { continue };
            if resolution.blocks(&intent, self.scope.footprint) {
                pass.note_block(&intent, records.age_ms, &resolution, self.waits);
            }
            if matches!(resolution, Resolution::Waiting(_)) {
                memory.intents.insert(attempt, intent);
            }
            memory.resolved.insert(attempt, resolution);
        }
        Ok(())
    }

    fn report(&self, pass: Pass<P::Error>, memory: Memory) -> BarrierReport {
        let outcome = match self.mode {
            RecoveryMode::Probe => BarrierOutcome::Probed,
            RecoveryMode::RollForward(_) | RecoveryMode::Full(_) => pass.outcome(),
        };
        BarrierReport {
            outcome,
            resolved: memory.resolved.into_iter().collect(),
            left_alone: pass.left_alone,
            live: pass.live,
            swept: memory.swept,
            blocking: pass.blocking,
            pending: pass.pending,
        }
    }
}

/// The attempt and its records, as listed.
type Records<'a> = (&'a AttemptId, &'a RecordSet);

impl Loaded<'_> {
    fn pending(&self) -> Pending<'_> {
        Pending { intent: &self.intent, records: self.records, owner: &self.owner }
    }
}

/// The attempt, if it is one.
fn attempt_of(batch: &[Loaded<'_>]) -> Option<AttemptId> {
    match batch {
        [one] => Some(one.intent.attempt),
        _ => None,
    }
}

impl<E: std::error::Error + 'static> Default for Pass<E> {
    fn default() -> Self {
        Self {
            blocking: Vec::new(),
            unresolved: None,
            contended: None,
            left_alone: Vec::new(),
            live: Vec::new(),
            pending: Vec::new(),
            fault: None,
        }
    }
}

impl<E: std::error::Error + 'static> Pass<E> {
    fn note_fault(&mut self, doing: &'static str, attempt: AttemptId, error: E) {
        let new = || BarrierError { doing, attempt: Some(attempt), source: error };
        self.fault.get_or_insert_with(new);
    }

    /// The worst first: what waiting cannot cure, then what needs somebody, then what takes time.
    fn outcome(&self) -> BarrierOutcome {
        if let Some(object) = self.blocking.first() {
            BarrierOutcome::Blocked(object.clone())
        } else if let Some(unresolved) = &self.unresolved {
            BarrierOutcome::RecoveryRequired(unresolved.clone())
        } else if let Some(contention) = &self.contended {
            BarrierOutcome::Contended(contention.clone())
        } else {
            BarrierOutcome::Clean
        }
    }

    fn only_waits(&self) -> bool {
        self.blocking.is_empty() && self.unresolved.is_none() && self.contended.is_some()
    }

    fn note_block(&mut self, intent: &Intent, age_ms: u64, found: &Resolution, waits: &WaitRules) {
        match found {
            Resolution::Waiting(_) => {
                self.contended.get_or_insert_with(|| contention(intent, age_ms, waits));
            }
            Resolution::Stopped(stopped) => {
                self.unresolved.get_or_insert_with(|| unresolved(intent, stopped));
            }
            Resolution::Committed { .. }
            | Resolution::RolledBack { .. }
            | Resolution::Empty { .. }
            | Resolution::Discarded { .. }
            | Resolution::Vanished => {}
        }
    }
}

impl Memory {
    /// An attempt that was waited for and is not listed any more has ended itself.
    fn forget_waits(&mut self) {
        for resolution in self.resolved.values_mut() {
            if matches!(resolution, Resolution::Waiting(_)) {
                *resolution = Resolution::Vanished;
            }
        }
    }
}

fn contention(intent: &Intent, age_ms: u64, waits: &WaitRules) -> Contention {
    Contention {
        attempt: intent.attempt,
        operation: intent.operation.clone(),
        owner: intent.owner.clone(),
        age_ms,
        retry_after_ms: waits.retry_after_ms(age_ms),
    }
}

fn unresolved(intent: &Intent, stopped: &Stopped) -> Unresolved {
    let effect = stopped.effect.and_then(|index| intent.effects.get(index as usize));
    Unresolved {
        attempt: intent.attempt,
        operation: Some(intent.operation.clone()),
        table: effect.map(|effect| table_name(intent, effect.target.identity)),
        reason: stopped.reason.to_string(),
    }
}

fn foreign_objects(listing: &Listing) -> Vec<BlockingObject> {
    listing.foreign.iter().cloned().map(BlockingObject::foreign).collect()
}

fn fault<E: std::error::Error + 'static>(
    doing: &'static str,
    attempt: Option<AttemptId>,
) -> impl FnOnce(E) -> BarrierError<E> {
    move |source| BarrierError { doing, attempt, source }
}
