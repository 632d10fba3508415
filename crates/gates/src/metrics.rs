//! How long gates were waited for and held. Owns the sums; knows no clock.

use crate::GateKind;

/// Wait and hold times of one kind of gate. All times are in microseconds of
/// `Env::monotonic_micros`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateTimes {
    /// Waits that ended: by admission, by time-out or because the caller went away.
    pub wait_count: u64,
    /// Sum of those waits.
    pub wait_us_total: u64,
    /// The longest of those waits.
    pub wait_us_max: u64,
    /// Holds that ended.
    pub hold_count: u64,
    /// Sum of those holds.
    pub hold_us_total: u64,
    /// The longest of those holds.
    pub hold_us_max: u64,
}

impl GateTimes {
    pub(crate) fn add_wait(&mut self, wait_us: u64) {
        self.wait_count += 1;
        self.wait_us_total = self.wait_us_total.saturating_add(wait_us);
        self.wait_us_max = self.wait_us_max.max(wait_us);
    }

    pub(crate) fn add_hold(&mut self, hold_us: u64) {
        self.hold_count += 1;
        self.hold_us_total = self.hold_us_total.saturating_add(hold_us);
        self.hold_us_max = self.hold_us_max.max(hold_us);
    }
}

/// A snapshot of all measures of one manager since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateMetrics {
    /// Schema control. The wait at a gate ends when the request's turn has come *there*, so the
    /// three kinds tell which one a slow set waited for.
    pub schema_control: GateTimes,
    /// Branch control, all branches together.
    pub branch_control: GateTimes,
    /// Tables, all tables together, each gate of a set counted by itself.
    pub table: GateTimes,
    /// Complete sets: from the request to the grant, and from the grant to the release. This is
    /// the gate hold time of RFC-022 section 11.5.
    pub set: GateTimes,
    /// Sets that were granted.
    pub granted_count: u64,
    /// Sets whose wait reached its bound.
    pub timed_out_count: u64,
    /// Sets whose caller went away while waiting.
    pub cancelled_count: u64,
}

impl GateMetrics {
    pub(crate) fn of_kind(&mut self, kind: GateKind) -> &mut GateTimes {
        match kind {
            GateKind::SchemaControl => &mut self.schema_control,
            GateKind::BranchControl => &mut self.branch_control,
            GateKind::Table => &mut self.table,
        }
    }
}
