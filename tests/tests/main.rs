//! Conformance, crashes, races and processes, over the real storage stack. One binary, because each
//! one links Lance.

#![allow(clippy::unwrap_used, reason = "a test fails where an unwrap does")]
// A hook that owns a handle is proven `Send` through all of its layers.
#![recursion_limit = "256"]

mod activity;
mod audit;
mod branches;
mod cases;
mod conformance;
mod costs;
mod crash;
mod damaged;
mod defects;
mod ground;
mod holds;
mod hooks;
mod judge;
mod merge;
mod model;
mod outcome;
mod process;
mod progress;
mod races;
mod recovery_batch;
mod request;
mod restart;
mod spans;
mod travel;
mod verify;
mod world;
mod zombie;
