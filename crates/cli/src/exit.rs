//! The exit codes: one table for the process, the help text, the JSON errors and the manual. It
//! must not know which error gets which code.

use std::fmt::Write;
use std::process::ExitCode;

/// What the process tells the script that called it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Exit {
    /// What was asked for is done.
    Done,
    /// The question was answered, and the answer is no.
    Negative,
    /// The command line is not valid; nothing was looked at.
    Usage,
    /// An earlier write must be resolved first, or may still be running.
    Recovery,
    /// Something else came first; the request as it stands cannot succeed.
    Conflict,
    /// The request was understood and is not allowed.
    Refused,
    /// Whether the write happened could not be established.
    Unknown,
    /// The storage failed before anything was decided.
    Storage,
    /// The tool itself failed.
    Bug,
}

impl Exit {
    /// Every exit code, in numeric order.
    pub const ALL: [Self; 9] = [
        Self::Done,
        Self::Negative,
        Self::Usage,
        Self::Recovery,
        Self::Conflict,
        Self::Refused,
        Self::Unknown,
        Self::Storage,
        Self::Bug,
    ];

    /// The number that the process exits with.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Negative => 1,
            Self::Usage => 2,
            Self::Recovery => 3,
            Self::Conflict => 4,
            Self::Refused => 5,
            Self::Unknown => 6,
            Self::Storage => 7,
            Self::Bug => 70,
        }
    }

    /// The `kind` of a JSON error.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Negative => "negative",
            Self::Usage => "usage",
            Self::Recovery => "recovery",
            Self::Conflict => "conflict",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
            Self::Storage => "storage",
            Self::Bug => "bug",
        }
    }

    /// What it means, for the help text and the manual.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done, or already so",
            Self::Negative => {
                "the answer is negative: `verify` found faults, a request did not commit, a merge would be refused, no such commit or intent"
            }
            Self::Usage => "the command line is not valid",
            Self::Recovery => {
                "recovery required or contended: a write is unresolved or still running"
            }
            Self::Conflict => {
                "conflict or lost precondition: the key exists, branches contradict each other, the head moved, the operation id is taken"
            }
            Self::Refused => {
                "refused: invalid rows or schema, not a graph, graph exists, unknown format"
            }
            Self::Unknown => "outcome unknown: `graphwrite outcome` and the next write settle it",
            Self::Storage => {
                "storage failed or cannot be reached: no space, no permission, no answer"
            }
            Self::Bug => "a bug in this tool",
        }
    }

    /// The table for the help text.
    pub(crate) fn table() -> String {
        let mut text = String::from("Exit codes:\n");
        for exit in Self::ALL {
            // Writing into a string cannot fail.
            let _ = writeln!(text, "  {:>2}  {}", exit.code(), exit.meaning());
        }
        text
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_has_a_number_and_a_kind_of_its_own() {
        let numbers: Vec<_> = Exit::ALL.iter().map(|exit| exit.code()).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 70]);
        let mut kinds: Vec<_> = Exit::ALL.iter().map(|exit| exit.kind()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds.len(), Exit::ALL.len());
    }

    #[test]
    fn the_manual_has_the_same_table_as_the_tool() {
        let manual = include_str!("../../../docs/operations.md");
        for exit in Exit::ALL {
            let row = format!("| {} | `{}` | {} |", exit.code(), exit.kind(), exit.meaning());
            assert!(manual.contains(&row), "docs/operations.md lacks: {row}");
        }
    }
}
