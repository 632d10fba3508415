//! Tests of the protocol's objects, over one fixture that every one of them varies.

mod branch_names;
mod codec;
mod fixture;
mod ids;
mod name_records;
mod name_states;
mod reach;
mod rules;
mod stages;
