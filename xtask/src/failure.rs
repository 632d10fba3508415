//! The ways in which a command of the build system fails, each with what to do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line names no known command.
    Usage(String),
    /// A program could not be started.
    Start { program: String, source: io::Error },
    /// A program ran and reported a failure; `None` when a signal ended it.
    Exit { program: String, code: Option<i32> },
    /// A program answered something that could not be understood.
    Answer { program: String, why: String },
    /// A file could not be read or written.
    File { path: PathBuf, source: io::Error },
    /// A check found faults; they are already printed.
    Found { check: &'static str, faults: usize },
    /// A step of the suite failed.
    Step { step: String, why: Box<Self> },
    /// A step of the demo did not show what it claims.
    Claim(String),
    /// Something was asked for by a name that nothing has.
    NoSuch { what: &'static str, name: String },
    /// No `protoc` for this machine.
    NoProtoc(String),
}

impl Failure {
    /// 2 for a wrong command line, 1 for everything else.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) | Self::NoSuch { .. } => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    }

    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(given) => {
                write!(f, "no such command: `{given}`; `cargo xtask help` lists them")
            }
            Self::Start { program, source } => write!(f, "`{program}` did not start: {source}"),
            Self::Exit { program, code: Some(code) } => write!(f, "`{program}` exited with {code}"),
            Self::Exit { program, code: None } => write!(f, "`{program}` was ended by a signal"),
            Self::Answer { program, why } => {
                write!(f, "the answer of `{program}` could not be understood: {why}")
            }
            Self::File { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Found { check, faults } => write!(f, "{check} found {faults} fault(s)"),
            Self::Step { step, why } => write!(f, "FAILED at {step}: {why}"),
            Self::Claim(claim) => write!(f, "the demo did not show what it claims: {claim}"),
            Self::NoSuch { what, name } => write!(f, "there is no {what} `{name}`"),
            Self::NoProtoc(why) => write!(
                f,
                "no protoc for this machine ({why}); install one or set PROTOC to its path"
            ),
        }
    }
}
