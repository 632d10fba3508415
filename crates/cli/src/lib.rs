//! The operator tool: parses a command line, makes one call into the coordinator, and says what
//! came of it. It decides nothing about graphs.

mod answer;
mod classes;
mod command;
mod commands;
mod exit;
mod failure;
#[cfg(feature = "failpoints")]
mod fault;
mod files;
mod in_the_way;
mod interrupt;
mod invalid;
mod io;
mod output;
mod place;
mod progress;
mod remedy;
mod render;
mod report;
mod resolved;
mod run;
mod size;
mod style;
mod text;
mod waiting;

#[cfg(test)]
mod tests;

pub use exit::Exit;
pub use io::{Io, Surroundings};
pub use run::run;
