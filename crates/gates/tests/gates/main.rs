//! The gates as their callers see them: futures, time-outs, cancellation, sharing, measures. Time is
//! tokio's paused clock throughout, so every number is exact.

mod acquire;
mod cancellation;
mod measures;
mod sharing;
mod stress;
mod timeouts;
mod world;
