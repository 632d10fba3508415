//! The real program on real directories, in processes that die, stall and race (design layer 7). These
//! tests see what an operator sees: exit codes, documents, rows. Of the library they know the catalogue of
//! failpoints, in one file how a record is coded, and in one how the rows of a past commit are read.

mod bad_input;
mod branch_codes;
mod branch_race;
mod catalogue;
mod constraint_race;
mod damage;
mod death;
mod disk;
mod durable;
mod exit_codes;
mod genesis;
#[cfg(target_os = "linux")]
mod memory;
mod merge_race;
mod merges;
mod ownership;
mod pair_race;
mod parked;
mod program;
mod race;
mod record;
mod records;
mod recovery_death;
mod refusals;
mod request;
mod signal;
mod site;
mod storage;
mod travel;
mod zombie;

pub(crate) use program::command;
