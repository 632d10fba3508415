//! Branches of the whole graph: isolated, cheap, and never acknowledged into nothing.

mod deletion;
mod held;
mod isolation;
mod left;
mod opening;
mod orphans;
mod plans;
pub(crate) mod scene;
mod stale;
mod unsettled;
mod whole;
