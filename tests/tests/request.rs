//! What a test sends, and what it makes of the rows: a load, in any of its modes, or a mutation.

use graphwrite_coordinator::{
    Graph, LoadLimits, LoadMode, LoadRequest, MutateRequest, MutationInput, WriteError,
};
use graphwrite_protocol_types::{GraphHeadToken, OperationId, WriteOutcome};

use crate::judge::Reference;
use crate::world::input;

/// A request, and its meaning for the rows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Request {
    Load(LoadMode, &'static [&'static str]),
    Mutation(Mutation),
}

/// Statements, each as JSON, and their meaning.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mutation {
    pub(crate) statements: &'static [&'static str],
    pub(crate) over: fn(&Reference) -> Reference,
}

/// What a caller may say beside the request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Terms {
    pub(crate) operation: Option<OperationId>,
    pub(crate) expect_head: Option<GraphHeadToken>,
}

pub(crate) const fn append(rows: &'static [&'static str]) -> Request {
    Request::Load(LoadMode::Append, rows)
}

pub(crate) const fn upsert(rows: &'static [&'static str]) -> Request {
    Request::Load(LoadMode::Upsert, rows)
}

pub(crate) const fn overwrite(rows: &'static [&'static str]) -> Request {
    Request::Load(LoadMode::Overwrite, rows)
}

pub(crate) const fn mutation(
    statements: &'static [&'static str],
    over: fn(&Reference) -> Reference,
) -> Request {
    Request::Mutation(Mutation { statements, over })
}

impl Mutation {
    async fn input(&self, graph: &Graph) -> MutationInput {
        let mut builder = graph.mutation(LoadLimits::default()).await.expect("a schema");
        let text = format!("[{}]", self.statements.join(","));
        builder.push_json(&text).expect("within the limits");
        builder.finish().expect("valid statements")
    }
}

impl Request {
    /// Sends the request. Records may still be tidied when this returns.
    pub(crate) async fn send(
        &self,
        graph: &Graph,
        terms: Terms,
    ) -> Result<WriteOutcome, WriteError> {
        match self {
            Self::Load(mode, rows) => {
                let mut request = LoadRequest::new(input(graph, rows).await, *mode);
                request.operation = terms.operation;
                request.expect_head = terms.expect_head;
                graph.load(request).await
            }
            Self::Mutation(mutation) => {
                let mut request = MutateRequest::new(mutation.input(graph).await);
                request.operation = terms.operation;
                request.expect_head = terms.expect_head;
                graph.mutate(request).await
            }
        }
    }

    /// The rows after the request, if it commits over `before`.
    pub(crate) fn over(&self, before: &Reference) -> Reference {
        match self {
            Self::Load(LoadMode::Overwrite, rows) => before.without_tables_of(rows).with(rows),
            Self::Load(_, rows) => before.with(rows),
            Self::Mutation(mutation) => (mutation.over)(before),
        }
    }
}
