//! Merges of branches over the whole path: rows, lineage, outcomes.

mod lineage;
mod outcomes;
pub(crate) mod parents;
mod preconditions;
mod races;
mod scale;
pub(crate) mod scene;
mod took_over;
