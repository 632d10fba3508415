//! Mutations read, resolved and performed on a real graph in memory.

mod acting;
mod cascades;
mod conditions;
mod costs;
mod edges;
mod histories;
mod naive;
mod read_sets;
mod statements;
mod writer;
