//! The real program on real directories, in processes that die, stall and race (design layer 7). These
//! tests see what an operator sees: exit codes, documents, rows. They know no type of the library but
//! the catalogue of failpoints.

mod bad_input;
mod catalogue;
mod constraint_race;
mod damage;
mod death;
mod exit_codes;
mod genesis;
#[cfg(target_os = "linux")]
mod memory;
mod program;
mod race;
mod recovery_death;
mod request;
mod signal;
mod site;
mod storage;
mod travel;
mod zombie;
