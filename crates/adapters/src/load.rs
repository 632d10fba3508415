//! The writer kind `load`: rows of many tables, appended, upserted, or put in place of all that there
//! is, in one graph commit. It classifies rows; it must not know gates, intents or the manifest's
//! storage.

mod classify;

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use graphwrite_protocol_types::{Conflict, ReadSet, WriterKind};
use thiserror::Error;

use crate::change::{Changes, TableChange};
use crate::digest::request_digest;
use crate::error::PrepareError;
use crate::input::{LoadInput, RowsError, TableInput, quoted};
use crate::prepare::{PrepareContext, Signature, WritePlan, judge, plan, probed};
use crate::probe::{BaseTables, all};
use crate::validate::{PostImage, Review};

use classify::{Rest, Taken, classify, existing_keys};

/// What a load does with rows that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LoadMode {
    /// Refuse the load if the table has the key of one of its rows.
    Append,
    /// Replace a row whose key is loaded, whole. A nullable property that the input leaves out becomes
    /// null.
    Upsert,
    /// Replace all rows of every table that the load has rows for. Other tables stay as they are.
    Overwrite,
}

impl LoadMode {
    const ALL: [Self; 3] = [Self::Append, Self::Upsert, Self::Overwrite];

    /// The name shown to people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Append => "append",
            Self::Upsert => "upsert",
            Self::Overwrite => "overwrite",
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
#[error("`{0}` is not a load mode; write `append`, `upsert` or `overwrite`")]
pub struct UnknownMode(pub String);

impl FromStr for LoadMode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        let found = Self::ALL.into_iter().find(|mode| mode.name() == text);
        found.ok_or_else(|| UnknownMode(text.to_owned()))
    }
}

/// The adapter of loads.
#[derive(Debug, Clone, Copy)]
pub struct LoadAdapter {
    /// What it does with rows that are there.
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
    ) -> Result<WritePlan, PrepareError> {
        let named = input.tables.iter().map(|table| (table.identity, table.name.as_str()));
        context.check_schema(input.schema, named)?;
        if let Some(conflict) = context.unexpected_head() {
            return Ok(WritePlan::Conflict(conflict));
        }
        let mut tables = BaseTables::new(context.store, context.base);
        Box::pin(tables.open(input.tables.iter().map(|table| table.identity))).await?;
        let mut read_set = context.read_set();
        let changes = match self.mode {
            LoadMode::Append => {
                let appended = append(context, input, &mut tables, &mut read_set);
                match Box::pin(appended).await? {
                    Ok(changes) => changes,
                    Err(conflict) => return Ok(WritePlan::Conflict(conflict)),
                }
            }
            LoadMode::Upsert | LoadMode::Overwrite => {
                let rest =
                    if self.mode == LoadMode::Upsert { Rest::Stays } else { Rest::IsRemoved };
                let changes = Box::pin(classified(context, input, rest, &tables)).await?;
                judge(context, &changes, input.errors_max, &mut tables, &mut read_set).await?;
                changes
            }
        };
        let request = request_digest(self.mode, input);
        let signature = Signature { request, writer: WriterKind::Load, merges: None };
        plan(context, signature, &changes, &tables, read_set).await
    }
}

/// The keys are probed and the constraints judged at the same time: every row must be new.
async fn append<'a>(
    context: &PrepareContext<'_>,
    input: &'a LoadInput,
    tables: &mut BaseTables<'_>,
    read_set: &mut ReadSet,
) -> Result<Result<Vec<TableChange<'a>>, Conflict>, PrepareError> {
    let new = |rows: &'a TableInput| TableChange { rows, changes: Changes::all_inserts(rows) };
    let changes: Vec<_> = input.tables.iter().map(new).collect();
    let (schema, errors_max) = (context.schema, input.errors_max);
    let review = Review::of(PostImage { schema, tables: &changes, errors_max })?;
    probed(review.tables(), context, tables, read_set).await?;
    let tables = &*tables;
    let at_once = keep_keys(input) && review.is_light();
    let taken = input.tables.iter().map(|table| async move {
        match tables.get(table.identity) {
            Some(base) => existing_keys(table, base).await,
            None => Ok(Taken::default()),
        }
    });
    let (taken, faults) =
        (Box::pin(all(taken.collect(), at_once)), Box::pin(review.faults(tables)));
    let (taken, faults) = if at_once {
        futures::future::try_join(taken, faults).await?
    } else {
        (taken.await?, faults.await?)
    };
    if let Some(conflict) = key_conflict(input, &taken)? {
        return Ok(Err(conflict));
    }
    faults.into_result()?;
    Ok(Ok(changes))
}

/// Whether the indexes over keys are small enough to be there all at once.
fn keep_keys(input: &LoadInput) -> bool {
    input.tables.iter().all(TableInput::keeps_keys)
}

/// What changes must be known before it can be judged.
async fn classified<'a>(
    context: &PrepareContext<'_>,
    input: &'a LoadInput,
    rest: Rest,
    tables: &BaseTables<'_>,
) -> Result<Vec<TableChange<'a>>, PrepareError> {
    let classified = input.tables.iter().map(|rows| async move {
        let changes = match tables.get(rows.identity) {
            Some(base) => classify(context.schema, rows, base, rest).await?,
            None => Changes::all_inserts(rows),
        };
        Ok::<_, PrepareError>(TableChange { rows, changes })
    });
    Box::pin(all(classified.collect(), keep_keys(input))).await
}

/// The first key of the input that is in the graph already.
fn key_conflict(input: &LoadInput, taken: &[Taken]) -> Result<Option<Conflict>, RowsError> {
    let total = taken.iter().map(|taken| taken.total).sum();
    let first = |(table, taken): (_, &Taken)| Some((table, taken.first? as usize));
    let found = input.tables.iter().zip(taken).filter_map(first);
    let found = found.min_by_key(|(table, row): &(&TableInput, usize)| table.place(*row));
    let Some((table, row)) = found else { return Ok(None) };
    Ok(Some(Conflict::KeyExists {
        table: table.name.clone(),
        key: quoted(&table.key_text(row)?),
        place: Some(table.place(row).to_string()),
        total,
    }))
}
