//! Branches of the whole graph: isolated, cheap, and never acknowledged into nothing.

mod isolation;
mod opening;
mod plans;
mod scene;
