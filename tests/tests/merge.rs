//! Merges of branches over the whole path: rows, lineage, outcomes.

mod outcomes;
mod preconditions;
pub(crate) mod scene;
