//! What a handle is opened with. Every default is the safe one.

use std::sync::Arc;
use std::time::Duration;

use graphwrite_protocol_types::Env;
use graphwrite_recovery::WaitRules;

use crate::{Hooks, NoHooks, ProcessContext, SystemEnv};

/// How a handle of a graph behaves.
#[derive(Debug, Clone)]
pub struct GraphOptions {
    /// Clock and randomness.
    pub env: Arc<dyn Env>,
    /// The process that the handle belongs to: its gates and its live attempts.
    pub process: Arc<ProcessContext>,
    /// How long a barrier waits for another process, and when it fences one.
    pub waits: WaitRules,
    /// How long a write waits for its gates.
    pub gate_wait_max: Duration,
    /// How often a write is prepared again after a conflict.
    pub restarts_max: u32,
    /// Failpoints.
    pub hooks: Arc<dyn Hooks>,
}

impl Default for GraphOptions {
    fn default() -> Self {
        Self {
            env: Arc::new(SystemEnv::new()),
            process: ProcessContext::global(),
            waits: WaitRules::default(),
            gate_wait_max: Duration::from_secs(30),
            restarts_max: 32,
            hooks: Arc::new(NoHooks),
        }
    }
}
