//! The counters behind an [`Activity`]. They only grow, and nobody waits for anybody: neither who
//! counts nor who reads takes a lock. They must not know what they count.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use graphwrite_protocol_types::{Answer, WriteOutcome, WriterKind};
use graphwrite_recovery::Resolution;

use crate::activity::{Activity, Durations};
use crate::{RestartReason, WriteError};

/// What one process has done with one graph.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    requests: Tally<(&'static str, &'static str), 128>,
    pub(crate) attempts: Count,
    restarts: Tally<&'static str, 32>,
    conflicts: Tally<&'static str, 32>,
    recoveries: Tally<&'static str, 16>,
    pub(crate) gate_wait: Timer,
    pub(crate) gate_hold: Timer,
    pub(crate) lane_wait: Timer,
    pub(crate) progress_signs: Count,
}

impl Counters {
    pub(crate) fn restarted(&self, reason: RestartReason) {
        self.restarts.add(reason.name());
    }

    pub(crate) fn resolved(&self, resolution: &Resolution) {
        self.recoveries.add(resolution.name());
    }

    pub(crate) fn read(&self) -> Activity {
        Activity {
            requests: self.requests.read(),
            attempts: self.attempts.read(),
            restarts: self.restarts.read(),
            conflicts: self.conflicts.read(),
            recoveries: self.recoveries.read(),
            gate_wait: self.gate_wait.read(),
            gate_hold: self.gate_hold.read(),
            lane_wait: self.lane_wait.read(),
            progress_signs: self.progress_signs.read(),
        }
    }
}

/// One request on its way to its answer. If it goes before that, its caller went away.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    counters: &'a Counters,
    writer: WriterKind,
    is_answered: bool,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(counters: &'a Counters, writer: WriterKind) -> Self {
        Self { counters, writer, is_answered: false }
    }

    pub(crate) fn answered(mut self, answered: &Result<WriteOutcome, WriteError>) {
        self.is_answered = true;
        self.count(match answered {
            Ok(outcome) => outcome.code(),
            Err(error) => error.code(),
        });
        if let Ok(WriteOutcome::Conflict(conflict)) = answered {
            self.counters.conflicts.add(conflict.code());
        }
    }

    fn count(&self, code: &'static str) {
        self.counters.requests.add((self.writer.name(), code));
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            self.count("abandoned");
        }
    }
}

/// One number.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn read(&self) -> u64 {
        AtomicU64::load(&self.0, Ordering::Relaxed)
    }
}

/// A number for each label. A label takes a place the first time and keeps it; labels are codes of
/// this workspace, so there are few. One that finds no place is not counted by itself.
#[derive(Debug)]
struct Tally<K, const N: usize>([OnceLock<(K, Count)>; N]);

impl<K, const N: usize> Default for Tally<K, N> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| OnceLock::new()))
    }
}

impl<K: Copy + Ord, const N: usize> Tally<K, N> {
    fn add(&self, label: K) {
        let mut places = self.0.iter().map(|place| place.get_or_init(|| (label, Count::default())));
        if let Some((_, count)) = places.find(|(known, _)| *known == label) {
            count.add();
        }
    }

    fn read(&self) -> BTreeMap<K, u64> {
        let taken = self.0.iter().map_while(OnceLock::get);
        taken.map(|(label, count)| (*label, count.read())).collect()
    }
}

/// Bucket `n` holds durations below 2^n microseconds; the last one holds all that are longer.
const BUCKETS: usize = 40;

/// Durations of one kind.
#[derive(Debug)]
pub(crate) struct Timer {
    buckets: [AtomicU64; BUCKETS],
    us_total: AtomicU64,
    us_max: AtomicU64,
}

impl Default for Timer {
    fn default() -> Self {
        let buckets = std::array::from_fn(|_| AtomicU64::new(0));
        Self { buckets, us_total: AtomicU64::new(0), us_max: AtomicU64::new(0) }
    }
}

impl Timer {
    pub(crate) fn add(&self, us: u64) {
        let bucket = (u64::BITS - us.leading_zeros()) as usize;
        self.buckets[bucket.min(BUCKETS - 1)].fetch_add(1, Ordering::Relaxed);
        self.us_total.fetch_add(us, Ordering::Relaxed);
        self.us_max.fetch_max(us, Ordering::Relaxed);
    }

    fn read(&self) -> Durations {
        let buckets =
            self.buckets.each_ref().map(|count| AtomicU64::load(count, Ordering::Relaxed));
        let us_max = AtomicU64::load(&self.us_max, Ordering::Relaxed);
        Durations {
            count: buckets.iter().sum(),
            us_total: AtomicU64::load(&self.us_total, Ordering::Relaxed),
            us_max,
            us_p50: quantile_us(&buckets, 50).min(us_max),
            us_p99: quantile_us(&buckets, 99).min(us_max),
        }
    }
}

/// The upper end of the bucket that holds the duration which `percent` of all do not exceed.
fn quantile_us(buckets: &[u64; BUCKETS], percent: u64) -> u64 {
    let count: u64 = buckets.iter().sum();
    let rank = count.saturating_mul(percent).div_ceil(100);
    let mut seen = 0;
    for (bucket, held) in buckets.iter().enumerate() {
        seen += held;
        if seen >= rank {
            return if bucket == BUCKETS - 1 { u64::MAX } else { (1 << bucket) - 1 };
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn durations(us: impl IntoIterator<Item = u64>) -> Durations {
        let timer = Timer::default();
        us.into_iter().for_each(|us| timer.add(us));
        timer.read()
    }

    #[test]
    fn nothing_measured_is_nothing() {
        assert_eq!(durations([]), Durations::default());
    }

    #[test]
    fn quantiles_are_rounded_up_within_their_power_of_two_and_never_above_the_longest() {
        let of = durations((1..=98).map(|_| 100).chain([5_000, 9_000]));
        assert_eq!((of.count, of.us_total, of.us_max), (100, 98 * 100 + 14_000, 9_000));
        assert_eq!((of.us_p50, of.us_p99), (127, 8_191));
        let of = durations([100, 100]);
        assert_eq!((of.us_p50, of.us_p99), (100, 100));
        assert_eq!(durations([u64::MAX]).us_p99, u64::MAX);
        assert_eq!(durations([0, 0, 0]).us_p99, 0);
    }

    #[test]
    fn labels_are_counted_apart_and_one_too_many_takes_no_other_place() {
        let tally = Tally::<u8, 3>::default();
        for label in [7, 9, 7, 8, 7, 1, 9] {
            tally.add(label);
        }
        assert_eq!(tally.read(), BTreeMap::from([(7, 3), (8, 1), (9, 2)]));
    }

    #[test]
    fn labels_that_are_new_to_many_threads_at_once_keep_one_place_each() {
        let tally = Tally::<u64, 8>::default();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let tally = &tally;
                scope.spawn(move || (0..400).for_each(|n| tally.add((n + thread) % 8)));
            }
        });
        assert_eq!(tally.read(), (0..8).map(|label| (label, 200)).collect());
    }

    #[test]
    fn a_request_is_counted_once_whether_it_is_answered_or_left() {
        let counters = Counters::default();
        let reused = graphwrite_protocol_types::Conflict::OperationReused {
            commit: graphwrite_protocol_types::CommitId::from_u128(1),
        };
        Asked::new(&counters, WriterKind::Load).answered(&Ok(WriteOutcome::Conflict(reused)));
        drop(Asked::new(&counters, WriterKind::Load));
        let activity = counters.read();
        let requests = [(("load", "abandoned"), 1), (("load", "operation_reused"), 1)];
        assert_eq!(activity.requests, BTreeMap::from(requests));
        assert_eq!(activity.conflicts, BTreeMap::from([("operation_reused", 1)]));
    }
}
