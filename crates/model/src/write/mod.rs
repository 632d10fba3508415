//! The model of a write: writers with several attempts, recoverers, and an environment, over a store in
//! which everything is durable and nothing is in time.
//!
//! Every decision of recovery is made by `graphwrite_recovery::classify` from an `Intent`, `Evidence`
//! and `AuthorityFacts` of the production, and every arbitration by its `ReadSet` and its stages; the
//! state holds small codes for the values of those types, which `code` and `real` derive.

mod code;
mod configurations;
mod defect;
mod environment;
mod line;
mod look;
mod memo;
mod properties;
mod real;
mod recovery;
mod scenario;
mod setting;
mod solo;
mod store;
mod system;
#[cfg(test)]
mod tests;
mod view;
mod writer;

pub(crate) use configurations::{configurations, defects};
