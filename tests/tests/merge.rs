//! Merges of branches over the whole path: rows, lineage, outcomes.

mod outcomes;
pub(crate) mod scene;
