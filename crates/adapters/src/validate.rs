//! The constraints that need the graph: judged on the post-image, which is the base with the rows
//! that are put in place of those that go. Every question is one batched scan of one
//! table, and that table becomes a member of the read set (RFC 2.2), rows or no rows.

mod cardinality;
mod doubt;
mod endpoint;
mod reference;
mod unique;

use graphwrite_protocol_types::TableIdentity;
use graphwrite_schema::{ConstraintRule, GraphSchema};

use crate::change::TableChange;
use crate::error::PrepareError;
use crate::input::Faults;
use crate::keys::{Pass, index_bytes};
use crate::probe::{BaseTables, all};

use cardinality::CardinalityQuestion;
pub(crate) use doubt::{Doubted, Doubts};
use endpoint::EndpointQuestion;
use reference::ReferenceQuestion;
use unique::UniqueQuestion;

/// The base with net changes.
#[derive(Clone, Copy)]
pub(crate) struct PostImage<'a> {
    pub(crate) schema: &'a GraphSchema,
    pub(crate) tables: &'a [TableChange<'a>],
    /// How many faults are listed.
    pub(crate) errors_max: usize,
}

impl<'a> PostImage<'a> {
    /// The tables that are touched, each with its number.
    fn tables(&self) -> impl Iterator<Item = (usize, &'a TableChange<'a>)> {
        self.tables.iter().enumerate()
    }

    /// A table, if it is touched.
    fn table(&self, identity: TableIdentity) -> Option<(usize, &'a TableChange<'a>)> {
        self.tables().find(|(_, table)| table.identity() == identity)
    }

    /// Whether a row of the base stays, which is known by its address.
    fn stands(&self, identity: TableIdentity) -> impl Fn(u64) -> bool + use<'a> {
        let replaced = self.table(identity).map(|(_, table)| &table.changes.replaced);
        move |address| replaced.is_none_or(|replaced| !replaced.contains(address))
    }

    fn faults(&self) -> Faults {
        Faults::new(self.errors_max)
    }

    /// Bytes that the index of one question may take while it is asked.
    fn index_share(&self) -> u64 {
        self.tables.iter().map(|table| table.rows.index_share()).min().unwrap_or(u64::MAX)
    }

    fn room(&self) -> Room {
        Room { left: self.index_share() / 2, share: self.index_share() }
    }

    fn constraints(&self, identity: TableIdentity) -> impl Iterator<Item = ConstraintRule> {
        self.schema.constraints_of(identity).into_iter().map(|constraint| constraint.rule)
    }
}

/// Memory for questions that are prepared before they are asked, all at once.
struct Room {
    left: u64,
    share: u64,
}

impl Room {
    /// How a question is asked whose index has so many rows, and bytes of values.
    fn plan(&mut self, rows: u64, bytes: u64) -> Asking {
        let needed = index_bytes(rows, bytes);
        if needed <= self.left {
            self.left -= needed;
            return Asking::AtOnce;
        }
        Asking::InPasses(Pass::needed(rows, bytes, self.share))
    }
}

/// How a question is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asking {
    /// With an index that is built beforehand.
    AtOnce,
    /// With an index for each pass.
    InPasses(u32),
}

impl Asking {
    fn passes(self) -> impl Iterator<Item = Pass> {
        Pass::each(match self {
            Self::AtOnce => 1,
            Self::InPasses(of) => of,
        })
    }
}

/// Something that the rows do not say of themselves.
enum Question<'a> {
    Endpoint(EndpointQuestion<'a>),
    Reference(ReferenceQuestion<'a>),
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
    pub(crate) fn of(post: PostImage<'a>) -> Result<Self, PrepareError> {
        Self::where_in_doubt(post, &Doubts::default())
    }

    /// Only what is in doubt.
    pub(crate) fn where_in_doubt(
        post: PostImage<'a>,
        doubts: &Doubts,
    ) -> Result<Self, PrepareError> {
        let mut room = post.room();
        let endpoints = endpoint::questions(&post, &mut room, doubts)?;
        let endpoints = endpoints.into_iter().map(Question::Endpoint);
        let references = reference::questions(&post, doubts)?.into_iter().map(Question::Reference);
        let unique = unique::questions(&post, &mut room, doubts)?;
        let unique = unique.into_iter().map(Question::Unique);
        let cardinality = cardinality::questions(&post, &mut room, doubts)?;
        let cardinality = cardinality.into_iter().map(Question::Cardinality);
        let questions = endpoints.chain(references).chain(unique).chain(cardinality).collect();
        Ok(Self { post, questions })
    }

    /// The tables whose rows decide.
    pub(crate) fn tables(&self) -> impl Iterator<Item = TableIdentity> {
        self.questions.iter().map(|question| match question {
            Question::Endpoint(question) => question.node,
            Question::Reference(question) => question.edge,
            Question::Unique(question) => question.table.identity(),
            Question::Cardinality(question) => question.edge,
        })
    }

    /// Whether all questions together fit into the memory of the request.
    pub(crate) fn is_light(&self) -> bool {
        self.questions.iter().all(|question| match question {
            Question::Endpoint(question) => question.is_ready(),
            Question::Reference(_) => true,
            Question::Unique(question) => question.is_ready(),
            Question::Cardinality(question) => question.is_ready(),
        })
    }

    /// Asks everything at once, or one question after another where each needs its memory; the tables
    /// must be open.
    pub(crate) async fn faults(&self, tables: &BaseTables<'_>) -> Result<Faults, PrepareError> {
        let asked = self.questions.iter().map(|question| Box::pin(self.ask(question, tables)));
        let mut faults = self.post.faults();
        let found = Box::pin(all(asked.collect(), self.is_light())).await?;
        found.into_iter().for_each(|found| faults.append(found));
        Ok(faults)
    }

    async fn ask(
        &self,
        question: &Question<'a>,
        tables: &BaseTables<'_>,
    ) -> Result<Faults, PrepareError> {
        match question {
            Question::Endpoint(question) => question.ask(&self.post, tables).await,
            Question::Reference(question) => question.ask(&self.post, tables).await,
            Question::Unique(question) => question.ask(&self.post, tables).await,
            Question::Cardinality(question) => question.ask(&self.post, tables).await,
        }
    }
}
