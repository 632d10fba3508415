//! Merges of branches over the whole path: rows, lineage, outcomes.

mod lineage;
mod outcomes;
mod preconditions;
pub(crate) mod scene;
