//! Signs of progress of a long attempt, so that others do not take it for one that has stalled. They
//! are tied to effects that landed: a process that merely runs gives none.

use graphwrite_protocol_types::{Alive, AttemptId, NativeBranch};
use graphwrite_recovery::RecordSet;
use parking_lot::Mutex;

use crate::core::Core;

/// Signs are no closer together than this, in microseconds, however small the waiting rules are.
const APART_US_MIN: u64 = 1_000_000;

/// What one armed attempt has shown of itself.
#[derive(Debug)]
pub(crate) struct Progress {
    attempt: AttemptId,
    branch: NativeBranch,
    shown: Mutex<Shown>,
}

#[derive(Debug)]
struct Shown {
    last_us: u64,
    beats: Vec<u32>,
}

impl Progress {
    /// The intent itself is the first sign.
    pub(crate) fn of_armed(core: &Core, attempt: AttemptId, branch: NativeBranch) -> Self {
        let last_us = core.options.env.monotonic_micros();
        Self { attempt, branch, shown: Mutex::new(Shown { last_us, beats: Vec::new() }) }
    }

    /// An effect has landed: shows it, if the last sign is old enough for that to matter. Best
    /// effort; without it another process may close the attempt, which is safe.
    pub(crate) async fn landed(&self, core: &Core) {
        let Some(beat) = self.next_beat(core) else { return };
        let at_unix_us = core.options.env.unix_micros();
        let alive = Alive { attempt: self.attempt, beat, at_unix_us };
        if let Err(error) = core.intents.beat(&self.branch, &alive).await {
            tracing::debug!(attempt = %self.attempt, %error, "no sign of progress was left");
            return;
        }
        core.counters.progress_signs.add();
    }

    fn next_beat(&self, core: &Core) -> Option<u32> {
        let now_us = core.options.env.monotonic_micros();
        let apart_us = core.options.waits.fence_after_ms.saturating_mul(1_000) / 4;
        let mut shown = self.shown.lock();
        if now_us.saturating_sub(shown.last_us) < apart_us.max(APART_US_MIN) {
            return None;
        }
        shown.last_us = now_us;
        let beat = shown.beats.len() as u32 + 1;
        shown.beats.push(beat);
        Some(beat)
    }

    /// The records that the attempt has left.
    pub(crate) fn records(&self) -> RecordSet {
        let alive = self.shown.lock().beats.clone();
        RecordSet { intent: true, alive, ..RecordSet::default() }
    }
}
