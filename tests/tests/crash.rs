//! Crashes at every durable operation: what is left is recovered by a fresh process and judged.

mod blind;
mod cells;
pub(crate) mod control;
mod deep;
mod forked;
mod harness;
mod incarnations;
mod init;
pub(crate) mod log;
mod matrix;
mod memo;
mod merged;
pub(crate) mod merges;
pub(crate) mod mutations;
pub(crate) mod on_branch;
pub(crate) mod paused;
mod pending;
mod place;
mod protocol;
mod readers;
pub(crate) mod refs;
mod registry;
mod report;
mod resend;
pub(crate) mod scenario;
mod subject;
mod verdict;

pub(crate) use matrix::{at, at_nth};
