//! The schema crate as its users see it: one module for each promise.

// Helpers of tests may unwrap as tests do.
#![allow(clippy::unwrap_used)]

mod arrow_shapes;
mod canonical;
mod constraints;
mod documents;
mod edge_ids;
mod identities;
mod refusals;
mod round_trips;
mod support;
