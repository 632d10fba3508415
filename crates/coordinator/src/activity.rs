//! What a process has done with a graph since it began, as plain numbers. A snapshot of the counters:
//! it knows neither who counts nor when.

use std::collections::BTreeMap;

/// Everything that is counted, of one graph in one process: handles of one [`crate::ProcessContext`]
/// on one root count together, and closing them forgets nothing. Every number only grows; numbers of
/// one snapshot may be a moment apart. Taking one never makes a writer wait.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Activity {
    /// Answered requests, by the kind of writer and the code of the outcome or error. A request whose
    /// caller went away before the answer is `abandoned`.
    pub requests: BTreeMap<(&'static str, &'static str), u64>,
    /// Attempts that were begun.
    pub attempts: u64,
    /// Attempts that were followed by another one, by the name of the [`crate::RestartReason`].
    pub restarts: BTreeMap<&'static str, u64>,
    /// Requests that were answered with a conflict, by its code.
    pub conflicts: BTreeMap<&'static str, u64>,
    /// Intents that were taken up by recovery, by what came of it: one of
    /// [`crate::Resolution::NAMES`]. Attempts of this process that stopped are among them.
    pub recoveries: BTreeMap<&'static str, u64>,
    /// Waits for the gates of an attempt, granted or not (RFC 4.3).
    pub gate_wait: Durations,
    /// How long attempts held their gates: stages D to G, never Prepare (RFC 11.5).
    pub gate_hold: Durations,
    /// Waits of requests behind others of this process that had lost before.
    pub lane_wait: Durations,
    /// Signs of progress that long attempts left.
    pub progress_signs: u64,
}

/// Durations of one kind, in microseconds of `Env::monotonic_micros`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Durations {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub us_total: u64,
    /// The longest.
    pub us_max: u64,
    /// What half of them did not exceed, rounded up to the next power of two, at most `us_max`.
    pub us_p50: u64,
    /// What 99 in 100 of them did not exceed, rounded likewise.
    pub us_p99: u64,
}

/// One number of an [`Activity`], as a monitor takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// What is counted.
    pub name: &'static str,
    /// Which of them, outermost first: writer and outcome of a request, the reason of a restart, and
    /// so on; empty where there is only one.
    pub labels: [&'static str; 2],
    /// The number.
    pub value: u64,
}

impl Sample {
    fn of(name: &'static str, value: u64) -> Self {
        Self { name, labels: ["", ""], value }
    }

    fn labelled(name: &'static str) -> impl Fn((&&'static str, &u64)) -> Self {
        move |(label, value)| Self { name, labels: [label, ""], value: *value }
    }
}

impl Activity {
    /// Every number, by name in a fixed order, then by label. A label that never occurred is absent.
    pub fn samples(&self) -> Vec<Sample> {
        let requests = self.requests.iter();
        let requests = requests.map(|(labels, value)| Sample {
            name: "requests",
            labels: [labels.0, labels.1],
            value: *value,
        });
        let mut samples: Vec<_> = requests.collect();
        samples.push(Sample::of("attempts", self.attempts));
        samples.extend(self.restarts.iter().map(Sample::labelled("restarts")));
        samples.extend(self.conflicts.iter().map(Sample::labelled("conflicts")));
        samples.extend(self.recoveries.iter().map(Sample::labelled("recoveries")));
        samples.extend(self.gate_wait.samples("gate_wait"));
        samples.extend(self.gate_hold.samples("gate_hold"));
        samples.extend(self.lane_wait.samples("lane_wait"));
        samples.push(Sample::of("progress_signs", self.progress_signs));
        samples
    }

    /// Whether nothing was counted.
    pub fn is_idle(&self) -> bool {
        self.samples().iter().all(|sample| sample.value == 0)
    }
}

impl Durations {
    fn samples(&self, name: &'static str) -> [Sample; 5] {
        let sample = |label, value| Sample { name, labels: [label, ""], value };
        [
            sample("count", self.count),
            sample("us_total", self.us_total),
            sample("us_max", self.us_max),
            sample("us_p50", self.us_p50),
            sample("us_p99", self.us_p99),
        ]
    }
}
