//! Tests of recovery: the decision table in full, and the interpreter over a small simulated store.

mod actors;
mod crash;
pub(crate) mod defect;
mod fixture;
mod judge;
mod model_port;
mod world;
mod zombie;
