//! Runs explorations side by side and hands over what they found in their own order.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use crate::job::{Found, Job};

/// Runs all jobs on `threads` threads. Each job is single-threaded, so that it counts the same every
/// time. `found` is called for each, in order, as soon as those before it have been.
pub fn run_all(jobs: &[Job], threads: usize, mut found: impl FnMut(&Job, &Found)) {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some((at, job)) = take(jobs, next) {
                    // Nobody listens any more only when the run is given up.
                    let _ = sender.send((at, job.run()));
                }
            });
        }
        drop(sender);
        let mut waiting: Vec<Option<Found>> = jobs.iter().map(|_| None).collect();
        let mut told = 0;
        for (at, result) in receiver {
            waiting[at] = Some(result);
            while let Some(result) = waiting.get_mut(told).and_then(Option::take) {
                found(&jobs[told], &result);
                told += 1;
            }
        }
    });
}

fn take<'a>(jobs: &'a [Job], next: &AtomicUsize) -> Option<(usize, &'a Job)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    jobs.get(at).map(|job| (at, job))
}
