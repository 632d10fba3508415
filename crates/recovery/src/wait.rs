//! Waiting and proof of death (design: recovery waits only out of courtesy). Nothing here is needed
//! for safety: K1 to K3 make acting beside a live owner safe, and waiting is always safe. It must
//! not know what is stored.

use graphwrite_protocol_types::{AttemptId, OwnerRecord, ProcessInstanceId};
use serde::Serialize;

/// How long a barrier is patient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitRules {
    /// How long one barrier waits for owners that may be alive, in milliseconds.
    pub contention_wait_ms: u64,
    /// After how long without a sign of progress an intent is closed although its owner may live,
    /// in milliseconds.
    pub fence_after_ms: u64,
    /// The first pause between two looks, in milliseconds; each pause doubles the one before.
    pub backoff_first_ms: u64,
    /// The longest pause, in milliseconds.
    pub backoff_max_ms: u64,
}

impl Default for WaitRules {
    fn default() -> Self {
        Self {
            contention_wait_ms: 10_000,
            fence_after_ms: 60_000,
            backoff_first_ms: 20,
            backoff_max_ms: 1_000,
        }
    }
}

impl WaitRules {
    /// The pause before look number `look`, counted from 0, in milliseconds.
    pub fn backoff_ms(&self, look: u32) -> u64 {
        let doubled = self.backoff_first_ms.saturating_mul(1_u64 << look.min(32));
        doubled.min(self.backoff_max_ms)
    }

    /// When to try again after `Contended`, in milliseconds: when the owner's time is over, or
    /// sooner, since it may simply finish.
    pub fn retry_after_ms(&self, age_ms: u64) -> u64 {
        let left = self.fence_after_ms.saturating_sub(age_ms);
        left.clamp(self.backoff_max_ms, self.contention_wait_ms.max(self.backoff_max_ms))
    }
}

/// What the system says about a process id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PidState {
    /// There is no such process.
    Gone,
    /// There is one.
    Running {
        /// When it started, in the system's ticks since boot; none where the system does not tell.
        start_ticks: Option<u64>,
    },
    /// The system does not say.
    Unknown,
}

/// What this process knows about itself and its machine.
pub trait LocalProcess: Sync {
    /// This process instance.
    fn instance(&self) -> ProcessInstanceId;
    /// The boot of this machine; none where the system does not tell.
    fn boot_id(&self) -> Option<&str>;
    /// The namespace in which this process sees process ids; none where there are none.
    fn pid_namespace(&self) -> Option<&str>;
    /// What the system says about `pid`.
    fn pid_state(&self, pid: u32) -> PidState;
    /// Whether the attempt is running in this process.
    fn is_live(&self, attempt: AttemptId) -> bool;
}

/// Why an owner can no longer be running its attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum DeathProof {
    /// It was armed by this process, which is not running it.
    NotLiveHere,
    /// Its process id does not exist.
    PidGone,
    /// Its process id belongs to a younger process.
    PidReused,
    /// An operator says so.
    Operator,
}

/// What is known about the owner of an intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// The attempt is running in this process: no recovery case, its gates order the others.
    OwnLive,
    /// The attempt has stopped in this process, which resolves it itself under its gates.
    OwnStopped {
        /// What became of the steps of each effect, by index.
        steps: Vec<OwnSteps>,
    },
    /// It cannot be running any more.
    Dead {
        /// Why.
        proof: DeathProof,
    },
    /// It may be running somewhere.
    MaybeAlive {
        /// Age of the last sign of progress, in milliseconds.
        age_ms: u64,
    },
}

/// What an owner knows about the steps of one of its effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OwnSteps {
    /// None was issued, or every one that was came back as strictly refused.
    NoneLanded,
    /// At least one landed, and every one that was issued came back.
    SomeLanded,
    /// At least one was issued and never answered for certain. It is not settled.
    Unknown,
}

/// The owner of `attempt`, seen from this process. `age_ms` is the age of its last sign of
/// progress, and `declared_dead` is an operator's word.
pub fn owner_of(
    record: &OwnerRecord,
    attempt: AttemptId,
    age_ms: u64,
    local: &impl LocalProcess,
    declared_dead: bool,
) -> Owner {
    if local.is_live(attempt) {
        return Owner::OwnLive;
    }
    let operator = declared_dead.then_some(DeathProof::Operator);
    match proof_of_death(record, local).or(operator) {
        Some(proof) => Owner::Dead { proof },
        None => Owner::MaybeAlive { age_ms },
    }
}

/// Proof that the process in `record` is not running an attempt that is not live here. A process
/// id means something only inside one boot *and* one pid namespace: two containers on one host
/// share the boot, not the ids (pitfall 81).
pub fn proof_of_death(record: &OwnerRecord, local: &impl LocalProcess) -> Option<DeathProof> {
    if record.instance == local.instance() {
        return Some(DeathProof::NotLiveHere);
    }
    let same_boot = record.boot_id.is_some() && record.boot_id.as_deref() == local.boot_id();
    let same_namespace = record.pid_namespace.as_deref() == local.pid_namespace();
    if !(same_boot && same_namespace) {
        return None;
    }
    match local.pid_state(record.pid) {
        PidState::Gone => Some(DeathProof::PidGone),
        PidState::Running { start_ticks } => {
            let (then, now) = record.process_start_ticks.zip(start_ticks)?;
            (then != now).then_some(DeathProof::PidReused)
        }
        PidState::Unknown => None,
    }
}
