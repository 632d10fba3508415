//! The merge of rows against a reference in plain Rust, over rows in memory and over real tables.

mod chance;
mod constraints;
mod cost;
mod discovery;
mod doubts;
mod equality;
mod fresh;
mod memory;
mod rows;
mod tables;
mod truth;
