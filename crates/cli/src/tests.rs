//! Tests of the tool without a graph: its reports in every form, its errors, its command line.

mod command_line;
mod errors;
mod on_a_graph;
mod outcomes;
mod reports;
mod samples;
