//! Tests of the manifest against in-memory and local storage.

mod arbitration;
mod branches;
mod commits;
mod costs;
mod discards;
mod faults;
mod formats;
mod init;
mod lineage;
mod lookups;
mod many;
mod outcomes;
mod pins;
mod rows;
mod seals;
mod world;
