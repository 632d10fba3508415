//! Crashes at every durable operation: what is left is recovered by a fresh process and judged.

mod blind;
mod depth;
mod harness;
mod init;
pub(crate) mod log;
mod matrix;
pub(crate) mod mutations;
mod resend;
pub(crate) mod scenario;

pub(crate) use matrix::{at, at_nth};
