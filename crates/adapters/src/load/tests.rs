//! Loads planned and performed on a real graph in memory.

mod chains;
mod classes;
mod constraints;
mod costs;
mod memory;
mod overwrite;
mod plans;
mod races;
