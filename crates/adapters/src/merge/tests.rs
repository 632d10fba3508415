//! The merge of rows against a reference in plain Rust, over rows in memory and over real tables.

mod constraints;
mod discovery;
mod equality;
mod memory;
mod rows;
mod tables;
mod truth;
