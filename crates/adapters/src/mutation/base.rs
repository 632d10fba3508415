//! What the base holds of the rows that statements name, or that go with them: read in at most two
//! rounds, whatever the number of statements, and laid under the overlays. It acts on nothing.

use std::collections::BTreeMap;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::ArrowError;
use futures::future::try_join_all;
use graphwrite_protocol_types::TableIdentity;
use graphwrite_schema::{EDGE_DST, EDGE_SRC, End};
use graphwrite_substrate::SubstrateError;

use super::overlay::Overlay;
use super::scans::{EndsAsked, Keys, Meter, all_columns, edges, keyed, naming_columns, selected};
use super::scope::{Scope, Uses};
use super::statement::{Action, Group, MutationInput, Naming, OnReferenced, Selection, Step};
use super::trouble::unanswered;
use crate::error::PrepareError;
use crate::input::Faults;
use crate::keys::Encoder;
use crate::probe::BaseTables;

/// The tables of a request, each as it is at some point of it.
pub(super) type Overlays<'a> = BTreeMap<TableIdentity, Overlay<'a>>;

/// Where the rows of a group are in the overlay of their table.
pub(super) struct GroupRows {
    /// The row that each names; empty where edges are named by their ends.
    pub(super) ids: Vec<u32>,
    /// Number of the source that the first batch is.
    pub(super) first_source: u32,
}

/// Makes a group known to the overlay of its table.
pub(super) fn register(overlay: &mut Overlay<'_>, group: &Group) -> Result<GroupRows, ArrowError> {
    let (mut ids, mut first_source) = (Vec::with_capacity(group.spots.len()), None);
    for batch in &group.batches {
        if group.by != Naming::Parallels {
            ids.extend(overlay.intern(key_of(overlay, batch)?)?);
        }
        let source = overlay.add_source(batch.clone())?;
        first_source.get_or_insert(source);
    }
    Ok(GroupRows { ids, first_source: first_source.unwrap_or_default() })
}

fn key_of<'b>(overlay: &Overlay<'_>, batch: &'b RecordBatch) -> Result<&'b ArrayRef, ArrowError> {
    Ok(batch.column(batch.schema_ref().index_of(overlay.key_name())?))
}

/// What is asked of one table of the base, in one scan.
enum Question<'q> {
    Keyed(TableIdentity, &'q Keys),
    /// A condition, with the number of its step.
    Condition(usize, &'q Selection),
    Edges(TableIdentity, &'q EndsAsked),
}

impl Question<'_> {
    fn table(&self) -> TableIdentity {
        match self {
            Self::Keyed(table, _) | Self::Edges(table, _) => *table,
            Self::Condition(_, selection) => selection.table,
        }
    }
}

pub(super) struct BaseReader<'s> {
    pub(super) input: &'s MutationInput,
    pub(super) scope: &'s Scope,
    pub(super) groups: &'s [GroupRows],
    pub(super) tables: &'s BaseTables<'s>,
    pub(super) meter: Meter,
}

impl BaseReader<'_> {
    /// Reads everything, and gives back for each condition, by the number of its step, the rows of
    /// the base that it holds for.
    pub(super) async fn read(
        &self,
        overlays: &mut Overlays<'_>,
    ) -> Result<BTreeMap<usize, Vec<u32>>, PrepareError> {
        let mut matched = BTreeMap::new();
        // Which edges go with the rows of a condition is known when these are.
        let at_once = self.scope.cascading_conditions.is_empty();
        let asked = if at_once { self.asked_ends(overlays, &matched)? } else { BTreeMap::new() };
        let keys = self.asked_keys(overlays)?;
        let mut questions: Vec<_> =
            keys.iter().map(|(table, keys)| Question::Keyed(*table, keys)).collect();
        questions.extend(self.conditions());
        questions.extend(about_edges(&asked));
        self.ask_all(overlays, &questions, &mut matched).await?;
        if !at_once {
            let asked = self.asked_ends(overlays, &matched)?;
            let questions: Vec<_> = about_edges(&asked).collect();
            self.ask_all(overlays, &questions, &mut matched).await?;
        }
        Ok(matched)
    }

    fn conditions(&self) -> impl Iterator<Item = Question<'_>> {
        let steps = self.input.steps.iter().enumerate();
        steps.filter_map(|(step, found)| match found {
            Step::Where(selection) => Some(Question::Condition(step, selection)),
            Step::Rows { .. } => None,
        })
    }

    /// Asks everything at once, and lays the answers under the overlays. Rows that were read whole
    /// come first, and stay.
    async fn ask_all(
        &self,
        overlays: &mut Overlays<'_>,
        questions: &[Question<'_>],
        matched: &mut BTreeMap<usize, Vec<u32>>,
    ) -> Result<(), PrepareError> {
        let asked = questions.iter().map(|question| Box::pin(self.ask(overlays, question)));
        let answers = Box::pin(try_join_all(asked)).await?;
        for (question, batches) in questions.iter().zip(answers) {
            let Some(overlay) = overlays.get_mut(&question.table()) else { continue };
            for batch in &batches {
                let ids = overlay.load(batch)?;
                if let Question::Condition(step, _) = question {
                    matched.entry(*step).or_default().extend(ids);
                }
            }
        }
        Ok(())
    }

    /// One scan; none of a table that has no rows.
    async fn ask(
        &self,
        overlays: &Overlays<'_>,
        question: &Question<'_>,
    ) -> Result<Vec<RecordBatch>, PrepareError> {
        let identity = question.table();
        let known = overlays.get(&identity).zip(self.tables.get(identity));
        let Some((overlay, table)) = known else { return Ok(Vec::new()) };
        match question {
            Question::Keyed(_, keys) => {
                let uses = self.scope.tables.get(&identity);
                let is_whole = uses.is_some_and(Uses::needs_whole_rows);
                let columns = if is_whole { all_columns(overlay) } else { naming_columns(overlay) };
                keyed(overlay, table, (keys, columns), &self.meter).await
            }
            Question::Condition(_, selection) => {
                let found = selected(overlay, table, &selection.predicate, &self.meter).await;
                found.map_err(|error| of_statement(error, &overlay.def.name, selection))
            }
            Question::Edges(_, asked) => edges(overlay, table, asked, &self.meter).await,
        }
    }

    fn asked_keys(
        &self,
        overlays: &Overlays<'_>,
    ) -> Result<BTreeMap<TableIdentity, Keys>, ArrowError> {
        let mut keys: BTreeMap<TableIdentity, Keys> = BTreeMap::new();
        for (group, rows) in self.input.groups.iter().zip(self.groups) {
            if group.by != Naming::Parallels && self.tables.get(group.table).is_some() {
                self.add_keys(overlays, group, rows, keys.entry(group.table).or_default())?;
            }
        }
        Ok(keys)
    }

    fn add_keys(
        &self,
        overlays: &Overlays<'_>,
        group: &Group,
        rows: &GroupRows,
        keys: &mut Keys,
    ) -> Result<(), ArrowError> {
        let Some(overlay) = overlays.get(&group.table) else { return Ok(()) };
        let mut ids = rows.ids.iter();
        for batch in &group.batches {
            let named = ids.by_ref().take(batch.num_rows()).map(|id| overlay.key(*id));
            keys.add(key_of(overlay, batch)?, named)?;
        }
        Ok(())
    }

    /// The ends for which edges must be known: of nodes that may go with their edges, and those by
    /// which edges are named.
    fn asked_ends(
        &self,
        overlays: &Overlays<'_>,
        matched: &BTreeMap<usize, Vec<u32>>,
    ) -> Result<BTreeMap<TableIdentity, EndsAsked>, ArrowError> {
        let mut asked: BTreeMap<TableIdentity, EndsAsked> = BTreeMap::new();
        for (node, dependents) in &self.scope.dependents {
            for dependent in dependents {
                let ends = asked.entry(dependent.edge).or_default();
                let keys = match dependent.end {
                    End::Src => &mut ends.from,
                    End::Dst => &mut ends.to,
                };
                self.add_going(overlays, matched, *node, keys)?;
            }
        }
        for group in self.input.groups.iter().filter(|group| group.by == Naming::Parallels) {
            let (src, dst) = &mut asked.entry(group.table).or_default().between;
            for batch in &group.batches {
                add_column(src, batch, EDGE_SRC)?;
                add_column(dst, batch, EDGE_DST)?;
            }
        }
        Ok(asked)
    }

    /// The keys of nodes of one type that may go with their edges. A condition may hold for a row
    /// that the request has put before, so the keys of these count too.
    fn add_going(
        &self,
        overlays: &Overlays<'_>,
        matched: &BTreeMap<usize, Vec<u32>>,
        node: TableIdentity,
        keys: &mut Keys,
    ) -> Result<(), ArrowError> {
        let by_condition = self.scope.cascading_conditions.contains(&node);
        for (group, rows) in self.input.groups.iter().zip(self.groups) {
            let goes = group.action == Action::Delete(OnReferenced::Cascade)
                || (by_condition && !matches!(group.action, Action::Delete(_)));
            if group.table == node && goes {
                self.add_keys(overlays, group, rows, keys)?;
            }
        }
        for (step, ids) in matched {
            let Some(Step::Where(selection)) = self.input.steps.get(*step) else { continue };
            if selection.table == node && selection.on == OnReferenced::Cascade {
                add_rows(overlays.get(&node), ids, keys)?;
            }
        }
        Ok(())
    }
}

fn add_rows(overlay: Option<&Overlay<'_>>, ids: &[u32], keys: &mut Keys) -> Result<(), ArrowError> {
    let Some(overlay) = overlay else { return Ok(()) };
    let based =
        ids.iter().filter_map(|id| Some((*id, &overlay.rows[*id as usize].base.as_ref()?.cells)));
    let based: Vec<_> = based.collect();
    for run in overlay.sources.runs(&based, |(_, cells)| cells) {
        let cells: Vec<_> = run.iter().map(|(_, cells)| *cells).collect();
        let column = overlay.sources.column(overlay.key_index(), &cells)?;
        keys.add(&column, run.iter().map(|(id, _)| overlay.key(*id)))?;
    }
    Ok(())
}

fn add_column(keys: &mut Keys, batch: &RecordBatch, column: &str) -> Result<(), ArrowError> {
    let column = batch.column(batch.schema_ref().index_of(column)?);
    let encoder = Encoder::new([column.data_type().clone()])?;
    let encoded = encoder.rows(std::slice::from_ref(column))?;
    keys.add(column, encoded.iter().map(|key| key.data().into()))
}

/// A condition that has no answer for a row of the base is a fault of its statement.
fn of_statement(error: PrepareError, table: &str, selection: &Selection) -> PrepareError {
    let PrepareError::Table(SubstrateError::Predicate(cause)) = &error else { return error };
    let mut faults = Faults::new(1);
    faults.push(unanswered(table, selection, cause));
    faults.into_result().map_or_else(PrepareError::Invalid, |()| error)
}

fn about_edges(asked: &BTreeMap<TableIdentity, EndsAsked>) -> impl Iterator<Item = Question<'_>> {
    let asked = asked.iter().filter(|(_, ends)| !ends.is_empty());
    asked.map(|(table, ends)| Question::Edges(*table, ends))
}
