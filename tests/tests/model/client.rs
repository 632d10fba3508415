//! Sends a request of the model to the product, and says the answer in the model's words.

use graphwrite_coordinator::{
    Graph, InputError, LoadLimits, LoadMode, LoadRequest, MutateRequest, PrepareError, Violations,
    WriteError, WriteErrorKind,
};
use graphwrite_protocol_types::{Answer as _, GraphHeadToken, OperationId, Receipt, WriteOutcome};

use super::machine::Found;
use super::mutation::Statement;
use super::request::{Mode, Request};
use super::row::Row;
use super::shape::Schema;

/// More than a request of the model can have.
const ERRORS_MAX: usize = 1_000;

/// What the caller sends.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) request: Request,
    pub(super) operation: Option<OperationId>,
    pub(super) expect_head: Option<GraphHeadToken>,
}

/// What the caller hears.
#[derive(Debug)]
pub(super) enum Answer {
    Committed(Box<Receipt>),
    NoChange(Box<Receipt>),
    /// The request is refused for what it says, or for what the graph is.
    Faults(Found),
    /// The request ended without a judgement.
    Open(Box<WriteOutcome>),
    /// The request failed.
    Failed(Box<WriteError>),
}

impl Answer {
    /// Whether the caller was told that the commit is there or is not; none if neither.
    pub(super) fn is_committed(&self) -> Option<bool> {
        match self {
            Self::Committed(_) => Some(true),
            Self::NoChange(_) | Self::Faults(_) => Some(false),
            Self::Open(outcome) => outcome.had_no_effect().then_some(false),
            Self::Failed(error) => error.had_no_effect().then_some(false),
        }
    }
}

impl From<Result<WriteOutcome, WriteError>> for Answer {
    fn from(answer: Result<WriteOutcome, WriteError>) -> Self {
        match answer {
            Ok(WriteOutcome::Conflict(conflict)) => {
                Self::Faults(Found::from([conflict.code().to_owned()]))
            }
            Ok(WriteOutcome::Committed(receipt)) => Self::Committed(Box::new(receipt)),
            Ok(WriteOutcome::NoChange(receipt)) => Self::NoChange(Box::new(receipt)),
            Ok(outcome) => Self::Open(Box::new(outcome)),
            Err(WriteError {
                kind: WriteErrorKind::Prepare(PrepareError::Invalid(found)), ..
            }) => found.into(),
            Err(error) => Self::Failed(Box::new(error)),
        }
    }
}

impl From<Violations> for Answer {
    fn from(found: Violations) -> Self {
        assert_eq!(found.total(), found.listed().len() as u64, "all of them are listed");
        let codes = found.listed().iter().map(|violation| violation.rule.code().to_owned());
        Self::Faults(codes.collect())
    }
}

/// Sends a request and waits until nothing of it goes on.
pub(super) async fn send(graph: &Graph, schema: &Schema, sent: &Sent) -> Answer {
    let answer = match &sent.request {
        Request::Load(mode, rows) => load(graph, *mode, rows, sent).await,
        Request::Mutation(statements) => mutate(graph, schema, statements, sent).await,
    };
    graph.settled().await;
    answer
}

async fn load(graph: &Graph, mode: Mode, rows: &[Row], sent: &Sent) -> Answer {
    let builder = graph.input(LoadLimits::default()).await.expect("a builder");
    let mut builder = builder.with_errors_max(ERRORS_MAX);
    for (number, row) in (1..).zip(rows) {
        let line = row.json().to_string();
        builder.push_json_line(number, &line).expect("within the limits");
    }
    let input = match builder.finish() {
        Ok(input) => input,
        Err(InputError::Invalid(found)) => return found.into(),
        Err(error) => panic!("{error}"),
    };
    let mode = match mode {
        Mode::Append => LoadMode::Append,
        Mode::Upsert => LoadMode::Upsert,
        Mode::Overwrite => LoadMode::Overwrite,
    };
    let mut request = LoadRequest::new(input, mode);
    request.operation.clone_from(&sent.operation);
    request.expect_head = sent.expect_head;
    graph.load(request).await.into()
}

async fn mutate(graph: &Graph, schema: &Schema, statements: &[Statement], sent: &Sent) -> Answer {
    let builder = graph.mutation(LoadLimits::default()).await.expect("a builder");
    let mut builder = builder.with_errors_max(ERRORS_MAX);
    let text: Vec<_> = statements.iter().map(|statement| statement.json(schema)).collect();
    let text = serde_json::Value::Array(text).to_string();
    builder.push_json(&text).expect("within the limits");
    let input = match builder.finish() {
        Ok(input) => input,
        Err(InputError::Invalid(found)) => return found.into(),
        Err(error) => panic!("{error}"),
    };
    let mut request = MutateRequest::new(input);
    request.operation.clone_from(&sent.operation);
    request.expect_head = sent.expect_head;
    graph.mutate(request).await.into()
}
