//! Tests of the tool: its reports in every form, its errors, its command line, and whole runs on a
//! graph.

mod armed;
mod command_line;
mod errors;
#[cfg(feature = "failpoints")]
mod interrupted;
mod merges;
mod mutations;
mod on_a_graph;
mod outcomes;
mod reports;
mod samples;
mod waits;
mod world;
