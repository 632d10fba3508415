//! Conformance, crashes, races and processes, over the real storage stack. One binary, because each
//! one links Lance.

#![allow(clippy::unwrap_used, reason = "a test fails where an unwrap does")]

mod conformance;
mod costs;
mod crash;
mod judge;
mod process;
mod progress;
mod races;
mod world;
mod zombie;
