//! The writer kind `load`: rows of many tables, appended or upserted in one graph commit. It plans
//! (stage B) and performs single steps (stage F); it must not know gates, intents or the manifest's
//! storage.

mod classify;
mod digest;
mod error;
mod payload;
mod plan;

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use futures::future::try_join_all;
use graphwrite_protocol_types::{
    Access, AttemptId, BaseView, Conflict, Env, GraphHeadToken, IdentityDomain, OperationId,
    Prepared, ReadSet, TableHeadToken, TableSummary,
};
use graphwrite_schema::GraphSchema;
use graphwrite_substrate::Store;
use thiserror::Error;

use crate::input::{LoadInput, TableInput, quoted};
use crate::probe::BaseTables;
use crate::validate::{PostImage, Review};

pub(crate) use classify::Changes;
pub use digest::request_digest;
pub use error::{LoadError, PerformError};
pub use payload::{StagedPayload, perform};

use classify::{RowClass, classify, existing_keys};

/// What a load does with a row whose key the table has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LoadMode {
    /// Refuse the load: every row is new.
    Append,
    /// Replace the row whole. A nullable property that the input leaves out becomes null.
    Upsert,
}

impl LoadMode {
    /// The name shown to people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Append => "append",
            Self::Upsert => "upsert",
        }
    }
}

impl fmt::Display for LoadMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text is not the name of a mode.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a load mode; write `append` or `upsert`")]
pub struct UnknownMode(pub String);

impl FromStr for LoadMode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        let modes = [Self::Append, Self::Upsert];
        let found = modes.into_iter().find(|mode| mode.name() == text);
        found.ok_or_else(|| UnknownMode(text.to_owned()))
    }
}

/// What one attempt is planned against, and on whose behalf.
#[derive(Debug, Clone, Copy)]
pub struct PrepareContext<'a> {
    /// Where the graph is stored.
    pub store: &'a Store,
    /// The state that the plan is computed against.
    pub base: &'a BaseView,
    /// The accepted schema of that state.
    pub schema: &'a GraphSchema,
    /// The graph's identity.
    pub domain: IdentityDomain,
    /// This attempt. Every physical name of the plan carries it (K4).
    pub attempt: AttemptId,
    /// The caller's request.
    pub operation: &'a OperationId,
    /// Who asks.
    pub actor: &'a str,
    /// The caller's message.
    pub message: Option<&'a str>,
    /// The head that the caller demands, which makes the grain coarse.
    pub expected_head: Option<GraphHeadToken>,
    /// Clock and randomness.
    pub env: &'a dyn Env,
}

/// What preparing a load came to.
#[must_use = "a plan does nothing until it is taken through the stages"]
#[derive(Debug)]
pub enum LoadPlan {
    /// There is something to write; its files are staged and no HEAD has moved.
    Write(Box<Prepared<StagedPayload>>),
    /// The graph already says what the input says.
    NoChange {
        /// Row counts, all of them unchanged.
        summaries: Vec<TableSummary>,
        /// What the answer depends on.
        read_set: ReadSet,
    },
    /// Something else came first; nothing was staged.
    Conflict(Conflict),
}

/// The adapter of loads.
#[derive(Debug, Clone, Copy)]
pub struct LoadAdapter {
    /// What it does with keys that are there.
    pub mode: LoadMode,
}

impl LoadAdapter {
    /// An adapter of this mode.
    pub fn new(mode: LoadMode) -> Self {
        Self { mode }
    }

    /// Stage B (RFC 4.2): probes, classifies, validates and stages. No HEAD is moved and nothing
    /// of an earlier attempt is reused, so a restart calls it again with a new attempt and a new
    /// base (RFC 3.4).
    ///
    /// Rows for a table without a dataset are staged too, under the path that the attempt will
    /// create. No ref of that path exists or moves before its effect, and nothing names it until
    /// then, so these are reclaimable uncommitted files (RFC 3.2).
    ///
    /// # Errors
    /// Rows that break a constraint of the graph, a base of another schema, or storage that does
    /// not answer. No HEAD has moved.
    pub async fn prepare(
        &self,
        context: &PrepareContext<'_>,
        input: &LoadInput,
    ) -> Result<LoadPlan, LoadError> {
        check_schema(context, input)?;
        if let Some(conflict) = unexpected_head(context) {
            return Ok(LoadPlan::Conflict(conflict));
        }
        let mut tables = BaseTables::new(context.store, context.base);
        Box::pin(tables.open(input.tables.iter().map(|table| table.identity))).await?;
        let mut read_set = ReadSet::new(context.base);
        if let Some(head) = context.expected_head {
            read_set.add_graph_head(head);
        }
        let judged = match self.mode {
            LoadMode::Append => {
                Box::pin(append(context, input, &mut tables, &mut read_set)).await?
            }
            LoadMode::Upsert => {
                Box::pin(upsert(context, input, &mut tables, &mut read_set)).await?
            }
        };
        let changes = match judged {
            Judged::Changes(changes) => changes,
            Judged::Conflict(conflict) => return Ok(LoadPlan::Conflict(conflict)),
        };
        for (table, changes) in input.tables.iter().zip(&changes) {
            let access = if changes.any() { Access::Written } else { Access::Probed };
            read_set.add_table(context.base, table.identity, access);
        }
        if !changes.iter().any(Changes::any) {
            let summaries = summaries(input, &changes);
            return Ok(LoadPlan::NoChange { summaries, read_set });
        }
        let planned = plan::Plan { context, mode: self.mode, input, changes: &changes };
        Box::pin(planned.stage(&tables, read_set)).await.map(Box::new).map(LoadPlan::Write)
    }
}

/// What became of the rows.
enum Judged {
    Changes(Vec<Changes>),
    Conflict(Conflict),
}

/// The keys are probed and the constraints judged at the same time: every row must be new.
async fn append(
    context: &PrepareContext<'_>,
    input: &LoadInput,
    tables: &mut BaseTables<'_>,
    read_set: &mut ReadSet,
) -> Result<Judged, LoadError> {
    let changes: Vec<_> = input.tables.iter().map(Changes::all_inserts).collect();
    let review = Review::of(PostImage { schema: context.schema, input, changes: &changes })?;
    admit(&review, context, tables, read_set).await?;
    let tables = &*tables;
    let taken = try_join_all(input.tables.iter().map(|table| async move {
        match tables.get(table.identity) {
            Some(base) => existing_keys(table, base).await,
            None => Ok(Vec::new()),
        }
    }));
    let (taken, faults) =
        futures::future::try_join(Box::pin(taken), Box::pin(review.faults(tables))).await?;
    if let Some(conflict) = key_conflict(input, &taken) {
        return Ok(Judged::Conflict(conflict));
    }
    faults.into_result()?;
    Ok(Judged::Changes(changes))
}

/// What changes must be known before it can be judged.
async fn upsert(
    context: &PrepareContext<'_>,
    input: &LoadInput,
    tables: &mut BaseTables<'_>,
    read_set: &mut ReadSet,
) -> Result<Judged, LoadError> {
    let open = &*tables;
    let classified = try_join_all(input.tables.iter().map(|table| async move {
        match open.get(table.identity) {
            Some(base) => classify(table, base).await,
            None => Ok(Changes::all_inserts(table)),
        }
    }));
    let changes = Box::pin(classified).await?;
    let review = Review::of(PostImage { schema: context.schema, input, changes: &changes })?;
    admit(&review, context, tables, read_set).await?;
    Box::pin(review.faults(tables)).await?.into_result()?;
    Ok(Judged::Changes(changes))
}

/// Opens the tables that a review asks and makes them members of the read set, the absent ones
/// too: a row that appears there may change the answer.
async fn admit(
    review: &Review<'_>,
    context: &PrepareContext<'_>,
    tables: &mut BaseTables<'_>,
    read_set: &mut ReadSet,
) -> Result<(), LoadError> {
    for identity in review.tables() {
        read_set.add_table(context.base, identity, Access::Probed);
    }
    Ok(Box::pin(tables.open(review.tables())).await?)
}

fn check_schema(context: &PrepareContext<'_>, input: &LoadInput) -> Result<(), LoadError> {
    let accepted = context.base.schema.0;
    let decoded =
        if context.schema.hash() == accepted { input.schema } else { context.schema.hash() };
    if decoded != accepted {
        return Err(LoadError::SchemaMoved { decoded, accepted });
    }
    let headless = |table: &&TableInput| {
        matches!(context.base.head(table.identity), TableHeadToken::Tombstoned)
    };
    match input.tables.iter().find(headless) {
        Some(table) => Err(LoadError::Headless { table: table.name.clone() }),
        None => Ok(()),
    }
}

fn unexpected_head(context: &PrepareContext<'_>) -> Option<Conflict> {
    let (expected, actual) = (context.expected_head?, context.base.graph_head);
    (expected != actual)
        .then_some(Conflict::ExpectedHead { expected: expected.0, actual: actual.0 })
}

/// The first key of the input that is in the graph already.
fn key_conflict(input: &LoadInput, taken: &[Vec<u32>]) -> Option<Conflict> {
    let total = taken.iter().map(|rows| rows.len() as u64).sum();
    let first = |(table, rows): (_, &Vec<u32>)| Some((table, *rows.first()? as usize));
    let found = input.tables.iter().zip(taken).filter_map(first);
    let (table, row): (&TableInput, _) = found.min_by_key(|(table, row)| table.place(*row))?;
    Some(Conflict::KeyExists {
        table: table.name.clone(),
        key: quoted(&table.key_text(row)),
        place: Some(table.place(row).to_string()),
        total,
    })
}

fn summaries(input: &LoadInput, changes: &[Changes]) -> Vec<TableSummary> {
    let tables = input.tables.iter().zip(changes);
    let summary = |(table, changes): (&TableInput, &Changes)| TableSummary {
        identity: table.identity,
        name: table.name.clone(),
        inserted: changes.count(RowClass::Insert),
        updated: changes.count(RowClass::Update),
        deleted: 0,
        unchanged: changes.count(RowClass::Unchanged),
    };
    tables.map(summary).collect()
}
