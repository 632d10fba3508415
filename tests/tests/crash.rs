//! Crashes at every durable operation: what is left is recovered by a fresh process and judged.

mod depth;
mod harness;
mod init;
mod log;
mod matrix;
pub(crate) mod scenario;
