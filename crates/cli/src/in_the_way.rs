//! An earlier write whose owner may be alive, in words and as programs read it. It must not know which
//! command met it.

use graphwrite_protocol_types::Contention;
use serde::Serialize;

use crate::text;

/// Who is in the way, since when, and when to try again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct InTheWay {
    pub(crate) attempt_id: String,
    pub(crate) operation_id: String,
    pub(crate) owner: Owner,
    /// Age of the last sign of progress.
    pub(crate) age_ms: u64,
    pub(crate) retry_after_ms: u64,
}

/// The process that armed the write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Owner {
    pub(crate) host: String,
    pub(crate) pid: u32,
    pub(crate) instance: String,
}

impl From<&Contention> for InTheWay {
    fn from(contention: &Contention) -> Self {
        let Contention { attempt, operation, owner, age_ms, retry_after_ms } = contention;
        Self {
            attempt_id: attempt.to_string(),
            operation_id: operation.to_string(),
            owner: Owner {
                host: owner.host.clone(),
                pid: owner.pid,
                instance: owner.instance.to_string(),
            },
            age_ms: *age_ms,
            retry_after_ms: *retry_after_ms,
        }
    }
}

impl InTheWay {
    /// In words, without the remedy.
    pub(crate) fn message(&self) -> String {
        let Self { attempt_id, operation_id, owner: Owner { host, pid, .. }, age_ms, .. } = self;
        let age = text::age(*age_ms);
        format!(
            "attempt {attempt_id} of operation {operation_id} is in the way and its owner, pid {pid} \
             on {host}, may be alive; its last sign of progress is {age} old"
        )
    }
}
