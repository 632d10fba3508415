//! Tests of recovery: the decision table in full, and the interpreter over a small simulated store.

mod actors;
mod barrier;
mod batch;
mod crash;
mod cube;
mod decisions;
pub(crate) mod defect;
mod evidence;
mod fixture;
mod judge;
mod model_port;
mod order;
mod owner;
mod truth;
mod waiting;
mod world;
mod zombie;
