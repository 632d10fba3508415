//! The constraints that need the graph: judged on the post-image, which is the base with the rows
//! of the input in place of those that they replace. Every question is one batched scan of one
//! table, and that table becomes a member of the read set (RFC 2.2), rows or no rows.

mod cardinality;
mod endpoint;
mod unique;

use arrow_schema::ArrowError;
use futures::future::try_join_all;
use graphwrite_protocol_types::TableIdentity;
use graphwrite_schema::{ConstraintRule, GraphSchema};

use crate::input::{Faults, LoadInput, TableInput};
use crate::load::{Changes, LoadError};
use crate::probe::BaseTables;

use cardinality::CardinalityQuestion;
use endpoint::EndpointQuestion;
use unique::UniqueQuestion;

/// The input, and what each of its rows does to the base.
#[derive(Clone, Copy)]
pub(crate) struct PostImage<'a> {
    pub(crate) schema: &'a GraphSchema,
    pub(crate) input: &'a LoadInput,
    /// One for each table of the input.
    pub(crate) changes: &'a [Changes],
}

impl<'a> PostImage<'a> {
    /// The tables of the input, each with its number and what its rows do.
    fn tables(&self) -> impl Iterator<Item = (usize, &'a TableInput, &'a Changes)> {
        let tables = self.input.tables.iter().zip(self.changes).enumerate();
        tables.map(|(at, (table, changes))| (at, table, changes))
    }

    /// A table of the input, if it has rows.
    fn table(&self, identity: TableIdentity) -> Option<(usize, &'a TableInput, &'a Changes)> {
        self.tables().find(|(_, table, _)| table.identity == identity)
    }

    fn faults(&self) -> Faults {
        Faults::new(self.input.errors_max)
    }

    fn constraints(&self, identity: TableIdentity) -> impl Iterator<Item = ConstraintRule> {
        self.schema.constraints_of(identity).into_iter().map(|constraint| constraint.rule)
    }
}

/// Something that the rows do not say of themselves.
enum Question<'a> {
    Endpoint(EndpointQuestion<'a>),
    Unique(UniqueQuestion<'a>),
    Cardinality(CardinalityQuestion<'a>),
}

/// All questions that a post-image raises.
pub(crate) struct Review<'a> {
    post: PostImage<'a>,
    questions: Vec<Question<'a>>,
}

impl<'a> Review<'a> {
    /// Rows that change nothing raise no question: the base keeps its constraints.
    pub(crate) fn of(post: PostImage<'a>) -> Result<Self, ArrowError> {
        let endpoints = endpoint::questions(&post)?.into_iter().map(Question::Endpoint);
        let unique = unique::questions(&post)?.into_iter().map(Question::Unique);
        let cardinality = cardinality::questions(&post)?.into_iter().map(Question::Cardinality);
        Ok(Self { post, questions: endpoints.chain(unique).chain(cardinality).collect() })
    }

    /// The tables whose rows decide.
    pub(crate) fn tables(&self) -> impl Iterator<Item = TableIdentity> {
        self.questions.iter().map(|question| match question {
            Question::Endpoint(question) => question.node,
            Question::Unique(question) => question.table.identity,
            Question::Cardinality(question) => question.edge,
        })
    }

    /// Asks everything at once; the tables must be open.
    pub(crate) async fn faults(&self, tables: &BaseTables<'_>) -> Result<Faults, LoadError> {
        let asked = self.questions.iter().map(|question| Box::pin(self.ask(question, tables)));
        let mut faults = self.post.faults();
        Box::pin(try_join_all(asked)).await?.into_iter().for_each(|found| faults.append(found));
        Ok(faults)
    }

    async fn ask(
        &self,
        question: &Question<'a>,
        tables: &BaseTables<'_>,
    ) -> Result<Faults, LoadError> {
        match question {
            Question::Endpoint(question) => question.ask(&self.post, tables).await,
            Question::Unique(question) => question.ask(&self.post, tables).await,
            Question::Cardinality(question) => question.ask(&self.post, tables).await,
        }
    }
}
