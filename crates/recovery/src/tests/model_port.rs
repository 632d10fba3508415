//! The port over the simulated store. Every call gives up its turn once, so that a scheduler decides
//! who acts next; durable changes are counted, and one of them can go wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Poll;

use graphwrite_protocol_types::*;

use super::world::{Change, Compensated, World};
use crate::facts::SlotFacts;
use crate::*;

/// The actor is dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the process died")]
pub(crate) struct Died;

/// What goes wrong with durable change number `n`, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// It is applied, and the actor dies. 0: it dies before its first one.
    DieAfter(usize),
    /// It is applied, and the answer is lost.
    LoseAnswer(usize),
    /// The answer is lost, and it is applied `turns` calls later, if it still can be.
    Late {
        change: usize,
        turns: usize,
    },
}

/// What a durable change came to.
pub(crate) enum Answer {
    Landed,
    Refused(Option<TxUuid>),
    Unknown,
}

pub(crate) type Shared = Arc<Mutex<World>>;

pub(crate) struct ModelPort {
    pub(crate) world: Shared,
    branch: BranchToken,
    actor: u128,
    fault: Fault,
    dead: AtomicBool,
    pub(crate) changes: AtomicUsize,
    turns: AtomicUsize,
    clock_ms: AtomicU64,
    late: Mutex<Vec<(usize, Intent, Change)>>,
    pub(crate) reached: Mutex<Vec<Failpoint>>,
    /// Every read of a ref, in order.
    pub(crate) observed: Mutex<Vec<RefName>>,
    /// How often the manifest was read.
    pub(crate) authorities: AtomicUsize,
    /// How often the manifest was to be changed.
    pub(crate) manifest_changes: AtomicUsize,
    /// Datasets whose reads fail as a transport does.
    pub(crate) failing: BTreeSet<DatasetPath>,
}

impl ModelPort {
    pub(crate) fn new(world: &Shared, actor: u128, fault: Fault) -> Self {
        let branch = world.lock().expect("not poisoned").view.branch.clone();
        Self {
            world: Arc::clone(world),
            branch,
            actor,
            fault,
            dead: AtomicBool::new(fault == Fault::DieAfter(0)),
            changes: AtomicUsize::new(0),
            turns: AtomicUsize::new(0),
            clock_ms: AtomicU64::new(0),
            late: Mutex::new(Vec::new()),
            reached: Mutex::new(Vec::new()),
            observed: Mutex::new(Vec::new()),
            authorities: AtomicUsize::new(0),
            manifest_changes: AtomicUsize::new(0),
            failing: BTreeSet::new(),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, World> {
        self.world.lock().expect("not poisoned")
    }

    /// Lets others act, then goes on, if still alive.
    pub(crate) async fn turn(&self) -> Result<(), Died> {
        let mut yielded = false;
        poll_fn(|context| {
            let ready = std::mem::replace(&mut yielded, true);
            // Calls that are made side by side are polled only when woken.
            context.waker().wake_by_ref();
            if ready { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        let turn = self.turns.fetch_add(1, Ordering::Relaxed) + 1;
        self.deliver(turn);
        if self.dead.load(Ordering::Relaxed) { Err(Died) } else { Ok(()) }
    }

    /// Late changes arrive, whoever waits for them.
    pub(crate) fn deliver(&self, turn: usize) {
        let mut late = self.late.lock().expect("not poisoned");
        late.retain(|(due, intent, change)| {
            let arrives = *due <= turn;
            if arrives {
                let _ = self.lock().apply(intent, change);
            }
            !arrives
        });
    }

    /// A manifest transaction that no other commit shares.
    fn nonce(&self, attempt: AttemptId) -> TxUuid {
        let number = self.changes.load(Ordering::Relaxed) as u128;
        TxUuid::authority(attempt, self.actor * 1000 + number)
    }

    pub(crate) async fn durable(&self, intent: &Intent, change: Change) -> Result<Answer, Died> {
        self.turn().await?;
        let number = self.changes.fetch_add(1, Ordering::Relaxed) + 1;
        if let Fault::Late { change: at, turns } = self.fault
            && at == number
        {
            let due = self.turns.load(Ordering::Relaxed) + turns;
            self.late.lock().expect("not poisoned").push((due, intent.clone(), change));
            return Ok(Answer::Unknown);
        }
        let applied = self.lock().apply(intent, &change);
        match (self.fault, applied) {
            (Fault::DieAfter(at), _) if at == number => {
                self.dead.store(true, Ordering::Relaxed);
                Err(Died)
            }
            (Fault::LoseAnswer(at), _) if at == number => Ok(Answer::Unknown),
            (_, Ok(())) => Ok(Answer::Landed),
            (_, Err(winner)) => Ok(Answer::Refused(winner)),
        }
    }

    async fn manifest(&self, intent: &Intent, change: Change) -> Result<Recorded, Died> {
        self.manifest_changes.fetch_add(1, Ordering::Relaxed);
        Ok(match self.durable(intent, change).await? {
            Answer::Landed => Recorded::Landed(self.lock().view.manifest.clone()),
            Answer::Refused(_) => Recorded::Lost,
            Answer::Unknown => Recorded::Unknown { cause: "no answer".into() },
        })
    }

    async fn table(&self, intent: &Intent, change: Change) -> Result<Landing, Died> {
        Ok(match self.durable(intent, change).await? {
            Answer::Landed => Landing::Landed,
            Answer::Refused(winner) => Landing::SlotTaken { winner },
            Answer::Unknown => Landing::Unknown { cause: "no answer".into() },
        })
    }

    async fn removal(&self, intent: &Intent, effect: u32) -> Result<Removal, Died> {
        let change = Change::Remove { effect: effect as usize };
        Ok(match self.durable(intent, change).await? {
            Answer::Landed | Answer::Refused(_) => Removal::Removed,
            Answer::Unknown => Removal::Unknown { cause: "no answer".into() },
        })
    }

    fn slots(&self, of: &RefName, slots: &BTreeSet<u64>) -> RefFacts {
        let world = self.lock();
        if world.unreadable.contains(&of.path) {
            return RefFacts::Unreadable { reason: "input/output error".into() };
        }
        let key = (of.path.clone(), of.physical_ref.clone());
        let Some(line) = world.lines.get(&key) else { return RefFacts::Absent };
        let pin = |version: u64| {
            let found = line.get(version)?;
            Some(Pin { version, tx_uuid: found.tx.clone() })
        };
        let slots: BTreeMap<u64, SlotFacts> = slots
            .iter()
            .filter_map(|version| Some((*version, SlotFacts::Taken(pin(*version)?.tx_uuid))))
            .collect();
        RefFacts::Present { head: pin(line.head()).expect("a head"), slots }
    }
}

impl RecoveryPort for ModelPort {
    type Error = Died;

    fn branch(&self) -> &BranchToken {
        &self.branch
    }

    async fn list_records(&self) -> Result<Listing, Died> {
        self.turn().await?;
        let world = self.lock();
        let record = |records: &super::world::Records| RecordSet {
            intent: records.intent.is_some(),
            confirm: records.confirm.is_some(),
            alive: Vec::new(),
            age_ms: records.age_ms,
        };
        let records = world.records.iter().map(|(at, records)| (*at, record(records)));
        Ok(Listing { records: records.collect(), foreign: world.strangers.clone() })
    }

    async fn load_intent(&self, attempt: AttemptId) -> Result<LoadedIntent, Died> {
        self.turn().await?;
        let world = self.lock();
        if world.damaged.contains(&attempt) {
            let object = format!("_recovery/main/{attempt}.intent");
            let cause = CodecError::Checksum { record: "intent" };
            return Ok(LoadedIntent::Unreadable { object, cause });
        }
        let intent = world.records.get(&attempt).and_then(|records| records.intent.clone());
        Ok(intent.map_or(LoadedIntent::Vanished, |intent| LoadedIntent::Found(Box::new(intent))))
    }

    async fn load_confirm(&self, intent: &Intent) -> Result<ConfirmFacts, Died> {
        self.turn().await?;
        let world = self.lock();
        let records = world.records.get(&intent.attempt);
        let confirm = records.and_then(|records| records.confirm.clone());
        Ok(confirm.map_or(ConfirmFacts::Missing, ConfirmFacts::Present))
    }

    async fn observe(&self, of: &RefName, slots: &BTreeSet<u64>) -> Result<RefFacts, Died> {
        self.turn().await?;
        self.observed.lock().expect("not poisoned").push(of.clone());
        if self.failing.contains(&of.path) {
            return Err(Died);
        }
        Ok(self.slots(of, slots))
    }

    async fn data_files_exist(&self, _: &Intent, _: u32) -> Result<bool, Died> {
        self.turn().await?;
        Ok(!self.lock().files_missing)
    }

    async fn authority(&self, intents: &[&Intent]) -> Result<Vec<AuthorityFacts>, Died> {
        self.turn().await?;
        self.authorities.fetch_add(1, Ordering::Relaxed);
        let world = self.lock();
        let facts = |intent: &&Intent| {
            let authority = if world.branch_gone {
                Authority::BranchGone
            } else {
                Authority::Branch(Box::new(world.view.clone()))
            };
            let outcome = world.outcome.get(&intent.attempt).copied();
            let outcome = outcome.unwrap_or(AttemptOutcome::None);
            AuthorityFacts { authority, outcome, operation: world.operation }
        };
        Ok(intents.iter().map(facts).collect())
    }

    async fn record_aborted(
        &self,
        _: &Full,
        aborting: &[Aborting<'_>],
        over: &Pin,
    ) -> Result<Recorded, Died> {
        for aborted in aborting {
            assert_ne!(aborted.reason, "nothing", "a complete attempt is aborted");
        }
        let first = aborting[0].intent;
        let attempts = aborting.iter().map(|aborted| aborted.intent.attempt).collect();
        let (over, by) = (over.version, self.nonce(first.attempt));
        self.manifest(first, Change::Aborted { over, by, attempts }).await
    }

    async fn fence(
        &self,
        _: &Full,
        intent: &Intent,
        effect: u32,
        read_version: u64,
        tx_uuid: &TxUuid,
    ) -> Result<Landing, Died> {
        let (effect, tx) = (effect as usize, tx_uuid.clone());
        self.table(intent, Change::Fence { effect, read_version, tx }).await
    }

    async fn restore(
        &self,
        _: &Full,
        intent: &Intent,
        effect: u32,
        to: &Pin,
        read_version: u64,
        tx_uuid: &TxUuid,
    ) -> Result<Landing, Died> {
        let (effect, to, tx) = (effect as usize, to.version, tx_uuid.clone());
        self.table(intent, Change::Restore { effect, to, read_version, tx }).await
    }

    async fn delete_dataset(
        &self,
        _: &Full,
        intent: &Intent,
        effect: u32,
    ) -> Result<Removal, Died> {
        self.removal(intent, effect).await
    }

    async fn delete_ref(&self, _: &Full, intent: &Intent, effect: u32) -> Result<Removal, Died> {
        self.removal(intent, effect).await
    }

    async fn move_pins(
        &self,
        _: &Full,
        taken_back: &[TakenBack<'_>],
        over: &Pin,
    ) -> Result<Recorded, Died> {
        let first = taken_back[0].intent;
        let compensated = taken_back.iter().map(|of| Compensated {
            attempt: of.intent.attempt,
            moves: of.moves.to_vec(),
            complete: of.complete,
        });
        let (over, by) = (over.version, self.nonce(first.attempt));
        let change = Change::MovePins { over, by, compensated: compensated.collect() };
        self.manifest(first, change).await
    }

    async fn publish(
        &self,
        _: Publishing<'_>,
        intent: &Intent,
        over: &Pin,
        delta: &ManifestDelta,
    ) -> Result<Recorded, Died> {
        let (over, delta, by) = (over.version, delta.clone(), self.nonce(intent.attempt));
        self.manifest(intent, Change::Publish { over, delta, by }).await
    }

    async fn retire(&self, _: Publishing<'_>, attempt: AttemptId, _: &RecordSet) -> Retired {
        let intent = {
            let world = self.lock();
            world.records.get(&attempt).and_then(|records| records.intent.clone())
        };
        let intent = intent.unwrap_or_else(|| super::fixture::intent(&[]));
        let deleted = self.durable(&intent, Change::Delete(attempt)).await;
        let left = vec![(format!("{attempt}.intent"), "no answer".to_owned())];
        match deleted {
            Ok(Answer::Landed | Answer::Refused(_)) => Retired::default(),
            Ok(Answer::Unknown) | Err(Died) => Retired { left },
        }
    }

    async fn audit_orphans(&self, _: &Full, orphans: &[&Intent]) -> Result<Recorded, Died> {
        let own = super::fixture::intent(&[]);
        let first = orphans.first().map_or(&own, |intent| *intent);
        self.manifest(first, Change::Audit).await
    }

    async fn pause(&self, milliseconds: u64) {
        self.clock_ms.fetch_add(milliseconds, Ordering::Relaxed);
        for records in self.lock().records.values_mut() {
            records.age_ms += milliseconds;
        }
        let _ = self.turn().await;
    }

    fn now_ms(&self) -> u64 {
        self.clock_ms.load(Ordering::Relaxed)
    }

    async fn reach(&self, failpoint: Failpoint) -> Result<(), Died> {
        self.reached.lock().expect("not poisoned").push(failpoint);
        Ok(())
    }
}
