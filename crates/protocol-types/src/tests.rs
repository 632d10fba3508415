//! Tests of the protocol's objects, over one fixture that every one of them varies.

mod codec;
mod fixture;
mod ids;
mod rules;
mod stages;
