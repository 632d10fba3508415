//! What a process knows of itself and of its neighbours: facts for the ownership record, the gates
//! that its handles share, and the attempts that are live in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::{Arc, OnceLock};

use graphwrite_gates::{GateManager, GateRegistry};
use graphwrite_protocol_types::{AttemptId, Env, OwnerRecord, ProcessInstanceId};
use graphwrite_recovery::{LocalProcess, PidState};
use parking_lot::Mutex;

use crate::SystemEnv;
use crate::counters::Counters;
use crate::proc_files::ProcFiles;

/// One process, as far as the protocol is concerned. Handles of one process share its gates and
/// know each other's attempts; a test makes several to model several processes.
#[derive(Debug)]
pub struct ProcessContext {
    instance: ProcessInstanceId,
    boot_id: Option<String>,
    pid_namespace: Option<String>,
    live: Mutex<BTreeSet<AttemptId>>,
    gates: GateRegistry,
    lanes: GateRegistry,
    counters: Mutex<BTreeMap<String, Arc<Counters>>>,
}

/// An attempt is live in this process for as long as this exists.
#[derive(Debug)]
pub(crate) struct LiveAttempt {
    process: Arc<ProcessContext>,
    attempt: AttemptId,
}

impl ProcessContext {
    /// The context that all handles of this operating-system process share by default.
    pub fn global() -> Arc<Self> {
        static GLOBAL: OnceLock<Arc<ProcessContext>> = OnceLock::new();
        Arc::clone(GLOBAL.get_or_init(|| Arc::new(Self::new(&SystemEnv::new()))))
    }

    /// A context that shares nothing, as another process would have it.
    pub fn isolated(env: &dyn Env) -> Arc<Self> {
        Arc::new(Self::new(env))
    }

    fn new(env: &dyn Env) -> Self {
        Self {
            instance: ProcessInstanceId::mint(env),
            boot_id: read_trimmed("/proc/sys/kernel/random/boot_id"),
            pid_namespace: pid_namespace(),
            live: Mutex::default(),
            gates: GateRegistry::new(),
            lanes: GateRegistry::new(),
            counters: Mutex::default(),
        }
    }

    /// This instance.
    pub fn instance(&self) -> ProcessInstanceId {
        self.instance
    }

    /// The gates of the graph at `canonical_root`, shared by all handles of this context.
    pub(crate) fn gates(&self, canonical_root: &str, env: &Arc<dyn Env>) -> Arc<GateManager> {
        self.gates.for_root(canonical_root, Arc::clone(env))
    }

    /// Where requests to the graph at `canonical_root` queue after they have lost once. Apart from
    /// the gates, which are held only while effects are made.
    pub(crate) fn lanes(&self, canonical_root: &str, env: &Arc<dyn Env>) -> Arc<GateManager> {
        self.lanes.for_root(canonical_root, Arc::clone(env))
    }

    /// What this context has done with the graph at `canonical_root`, kept for its whole life, so that
    /// no number ever goes down.
    pub(crate) fn counters(&self, canonical_root: &str) -> Arc<Counters> {
        let mut all = self.counters.lock();
        Arc::clone(all.entry(canonical_root.to_owned()).or_default())
    }

    /// The record that an intent of this process carries.
    pub fn owner(&self) -> OwnerRecord {
        let pid = std::process::id();
        OwnerRecord {
            instance: self.instance,
            pid,
            pid_namespace: self.pid_namespace.clone(),
            boot_id: self.boot_id.clone(),
            process_start_ticks: ProcFiles::of_this_system().own_start_ticks(),
            host: host_name(),
        }
    }

    pub(crate) fn enter(self: &Arc<Self>, attempt: AttemptId) -> LiveAttempt {
        self.live.lock().insert(attempt);
        LiveAttempt { process: Arc::clone(self), attempt }
    }
}

impl LocalProcess for ProcessContext {
    fn instance(&self) -> ProcessInstanceId {
        self.instance
    }

    fn boot_id(&self) -> Option<&str> {
        self.boot_id.as_deref()
    }

    fn pid_namespace(&self) -> Option<&str> {
        self.pid_namespace.as_deref()
    }

    fn pid_state(&self, pid: u32) -> PidState {
        ProcFiles::of_this_system().state(pid)
    }

    fn is_live(&self, attempt: AttemptId) -> bool {
        self.live.lock().contains(&attempt)
    }
}

impl Drop for LiveAttempt {
    fn drop(&mut self) {
        self.process.live.lock().remove(&self.attempt);
    }
}

/// The pid namespace of this process: a pid is a proof of death only inside one.
fn pid_namespace() -> Option<String> {
    fs::read_link("/proc/self/ns/pid").ok().map(|link| link.to_string_lossy().into_owned())
}

fn host_name() -> String {
    read_trimmed("/proc/sys/kernel/hostname").unwrap_or_else(|| "unknown".to_owned())
}

fn read_trimmed(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_is_live_until_its_mark_is_dropped() {
        let env = SystemEnv::new();
        let process = ProcessContext::isolated(&env);
        let attempt = AttemptId::mint(&env);
        let mark = process.enter(attempt);
        assert!(process.is_live(attempt));
        drop(mark);
        assert!(!process.is_live(attempt));
    }
}
