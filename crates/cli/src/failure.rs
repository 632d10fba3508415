//! Why a run did not do what was asked, in one form for people and programs. It must not know what
//! went wrong underneath: others translate their errors into it.

use std::fmt;
use std::io;

use serde::Serialize;

use crate::exit::Exit;
use crate::in_the_way::InTheWay;

/// Whether the graph may have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Effect {
    /// Proven: the graph is as it was for this request.
    None,
    /// Not proven either way.
    Unknown,
    /// The request was carried out; something after it failed.
    Committed,
}

/// One of several things that are wrong, normally one row of the input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Detail {
    /// Where, e.g. `line 12`.
    pub(crate) place: String,
    /// The field at fault, where one is.
    pub(crate) field: Option<String>,
    /// The rule that is broken.
    pub(crate) rule: String,
    /// In words.
    pub(crate) message: String,
}

/// A run that did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) help: String,
    pub(crate) operation: Option<Box<str>>,
    pub(crate) effect: Effect,
    pub(crate) may_retry: bool,
    pub(crate) details: Vec<Detail>,
    /// The earlier write that stopped the run, whose owner may be alive.
    pub(crate) contention: Option<Box<InTheWay>>,
    /// Nobody reads the results any more; that is an end, not an error.
    pub(crate) reader_left: bool,
}

impl Failure {
    pub(crate) fn new(exit: Exit, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            exit,
            code,
            message: message.into(),
            help: String::new(),
            operation: None,
            effect: Effect::None,
            may_retry: false,
            details: Vec::new(),
            contention: None,
            reader_left: false,
        }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: help.into(), ..self }
    }

    pub(crate) fn effect(self, effect: Effect) -> Self {
        Self { effect, ..self }
    }

    pub(crate) fn operation(self, operation: impl fmt::Display) -> Self {
        Self { operation: Some(operation.to_string().into()), ..self }
    }

    pub(crate) fn details(self, details: Vec<Detail>) -> Self {
        Self { details, ..self }
    }

    pub(crate) fn contention(self, met: InTheWay) -> Self {
        Self { contention: Some(Box::new(met)), ..self }
    }

    pub(crate) fn may_retry(self, may_retry: bool) -> Self {
        Self { may_retry, ..self }
    }

    /// The result could not be written.
    pub(crate) fn output(error: &io::Error) -> Self {
        let left = error.kind() == io::ErrorKind::BrokenPipe;
        let message = format!("the result could not be written to standard output: {error}");
        let failure = Self::new(Exit::Storage, "output_failed", message)
            .help("the graph is not concerned; run the command again with another output");
        Self { reader_left: left, ..failure }
    }

    /// The same failure of a run that has created a graph.
    pub(crate) fn after_init(self, graph: &str) -> Self {
        let help =
            format!("the graph is created; only its receipt was lost: `graphwrite status {graph}`");
        self.effect(Effect::Committed).help(help)
    }

    /// The same failure of a run that has sealed an operation, or found that it is committed.
    pub(crate) fn after_seal(self, operation: impl fmt::Display) -> Self {
        let help = "the question is decided; only the answer was lost: ask again without `--seal`";
        self.effect(Effect::Unknown).operation(operation).help(help)
    }

    /// The same failure of a run whose write is already visible.
    pub(crate) fn after_commit(self, operation: &str, commit: Option<&str>) -> Self {
        let commit = commit.map(|id| format!(" as commit {id}")).unwrap_or_default();
        let help = format!("the write is done{commit}; only its receipt was lost");
        self.effect(Effect::Committed).operation(operation).help(help)
    }
}

/// What programs read. The order of the fields is part of the format.
#[derive(Debug, Serialize)]
struct Document<'a> {
    code: &'a str,
    kind: &'a str,
    exit: u8,
    message: &'a str,
    help: &'a str,
    operation_id: Option<&'a str>,
    effect: Effect,
    may_retry: bool,
    #[serde(skip_serializing_if = "<[Detail]>::is_empty")]
    details: &'a [Detail],
    #[serde(skip_serializing_if = "Option::is_none")]
    contention: Option<&'a InTheWay>,
}

impl Failure {
    /// The JSON form: one line.
    pub(crate) fn json(&self) -> String {
        let document = Document {
            code: self.code,
            kind: self.exit.kind(),
            exit: self.exit.code(),
            message: &self.message,
            help: &self.help,
            operation_id: self.operation.as_deref(),
            effect: self.effect,
            may_retry: self.may_retry,
            details: &self.details,
            contention: self.contention.as_deref(),
        };
        // Strings, numbers and unit variants always have a JSON form.
        serde_json::to_string(&document).unwrap_or_default()
    }

    /// What the graph's state is, for people.
    pub(crate) fn state(&self) -> Option<String> {
        let operation = self.operation.as_ref()?;
        let state = match self.effect {
            Effect::None => "did not change the graph",
            Effect::Unknown => "may or may not have changed the graph",
            Effect::Committed => "is committed",
        };
        Some(format!("operation {operation} {state}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::text::shown_lines(&self.message))
    }
}

impl std::error::Error for Failure {}
