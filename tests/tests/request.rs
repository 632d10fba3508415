//! What a test sends, and what it makes of the rows: a load, in any of its modes, a mutation,
//! or a merge.

use graphwrite_coordinator::{
    BranchFrom, CommitBounds, Graph, LoadLimits, LoadMode, LoadRequest, MergeOptions, MergeRequest,
    MergeStrategy, MutateRequest, MutationInput, WriteError,
};
use graphwrite_protocol_types::{GraphHeadToken, OperationId, WriteOutcome};

use crate::judge::Reference;
use crate::world::input;

/// A request, and its meaning for the rows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Request {
    Load(LoadMode, &'static [&'static str]),
    Mutation(Mutation),
    Merge(Merge),
}

/// Statements, each as JSON, and their meaning.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mutation {
    pub(crate) statements: &'static [&'static str],
    pub(crate) over: fn(&Reference) -> Reference,
}

/// The head of a branch that is merged, and its meaning for the rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Merge {
    pub(crate) source: &'static str,
    pub(crate) strategy: MergeStrategy,
    /// Rows of one commit to a table.
    pub(crate) rows_max: u64,
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

impl Merge {
    pub(crate) fn request(&self, terms: Terms) -> MergeRequest {
        let source = BranchFrom::Head(self.source.parse().expect("a name"));
        let mut request = MergeRequest::new(source);
        request.options = MergeOptions { strategy: self.strategy, ..MergeOptions::default() };
        request.bounds = CommitBounds { rows: self.rows_max, ..CommitBounds::default() };
        request.operation = terms.operation;
        request.expect_head = terms.expect_head;
        request
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
            Self::Merge(merge) => {
                let answer = graph.merge(merge.request(terms)).await;
                answer.map(|answer| answer.outcome)
            }
        }
    }

    /// The rows after the request, if it commits over `before`.
    pub(crate) fn over(&self, before: &Reference) -> Reference {
        match self {
            Self::Load(LoadMode::Overwrite, rows) => before.without_tables_of(rows).with(rows),
            Self::Load(_, rows) => before.with(rows),
            Self::Mutation(mutation) => (mutation.over)(before),
            Self::Merge(merge) => (merge.over)(before),
        }
    }
}
