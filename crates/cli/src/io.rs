//! The streams of the process and what is known of the terminal behind them, so that a test can
//! bring its own. It must not know what is written.

use std::io::{BufRead, Write};

/// Where a run reads and writes.
pub struct Io<'a> {
    /// Standard input.
    pub input: &'a mut (dyn BufRead + Send),
    /// Standard output: results, nothing else.
    pub output: &'a mut (dyn Write + Send),
    /// Standard error: everything else.
    pub errors: &'a mut (dyn Write + Send),
    /// Facts about the surroundings.
    pub surroundings: Surroundings,
}

/// What a run may know of the world around it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Surroundings {
    /// Whether a person reads the results.
    pub output_is_terminal: bool,
    /// Whether a person reads the errors.
    pub errors_are_terminal: bool,
    /// NO_COLOR is set and not empty.
    pub no_color: bool,
    /// CLICOLOR_FORCE is set, not empty and not `0`.
    pub force_color: bool,
    /// Width of the terminal in columns, where it is known.
    pub width: Option<u16>,
    /// The user's name, for the history.
    pub user: Option<String>,
}

impl std::fmt::Debug for Io<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Io").field("surroundings", &self.surroundings).finish_non_exhaustive()
    }
}
