//! Branches of a graph: how they are made, found, described and deleted (RFC 7, design 01 section 8).
//! What a name means is said by its records; this composes them with the native branch that an
//! incarnation lives on. It makes no lineage and no manifest version.

mod clear;
mod create;
mod delete;
mod describe;
mod error;
mod open;
mod plans;
mod remains;
mod resend;
mod settle;
mod source;

pub(crate) use create::create;
pub(crate) use delete::delete;
pub(crate) use describe::{describe, list};
pub(crate) use open::{open, open_first};
pub(crate) use plans::open_plan;
pub(crate) use source::ForkSource;

pub use create::{BranchFrom, CreateBranch};
pub use delete::DeleteBranch;
pub use describe::{BranchInfo, BranchStanding, BranchStatus};
pub use error::BranchError;
