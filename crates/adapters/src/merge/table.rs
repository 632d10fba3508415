//! The merge of one table: rows of the bases, the source and the target, each in the order of their keys,
//! met key by key. Memory is bounded whatever there is of them; it must not know where they come from.

use std::path::PathBuf;

use arrow_row::Row;
use arrow_schema::{ArrowError, SchemaRef};
use graphwrite_protocol_types::Answer;
use graphwrite_schema::{GraphSchema, TypeDef};
use graphwrite_substrate::SubstrateError;
use thiserror::Error;

use super::conflict::{RowConflict, RowConflicts};
use super::cursor::{Cursor, Layout, SortedRows};
use super::discovery::{Discovery, OlderOf};
use super::fresh::Fresh;
use super::gather::{Gathered, Offsets};
use super::rule::{ConflictKind, MergeStrategy, RowFate, come_to, judge};
use crate::change::Changes;
use crate::input::{Place, RowsError, TableInput, identity_column, row_key_text};

/// How a merge is done.
#[derive(Debug, Clone)]
pub struct MergeOptions {
    /// What becomes of conflicts.
    pub strategy: MergeStrategy,
    /// Conflicts of each table that are listed with their rows.
    pub conflicts_listed_max: usize,
    /// Reads all rows of all sides in the order of their keys, whatever is known of where they are.
    pub ordered: bool,
    /// Bytes of memory that the rows of one table may take, about. What is beyond is on a temporary file.
    pub bytes_max: u64,
    /// The directory of the temporary file.
    pub temp_dir: PathBuf,
    /// Rows of the target that may change, in all tables together.
    pub rows_max: u64,
}

impl Default for MergeOptions {
    fn default() -> Self {
        Self {
            strategy: MergeStrategy::default(),
            conflicts_listed_max: 100,
            ordered: false,
            bytes_max: 256 << 20,
            temp_dir: std::env::temp_dir(),
            rows_max: u32::MAX.into(),
        }
    }
}

/// Rows by what the merge does with them. Those that the source has not changed are in none of these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MergeCounts {
    /// Rows of the source that the target did not have, added to it.
    pub adopted: u64,
    /// Rows of the target that are replaced by the source's.
    pub rewritten: u64,
    /// Rows of the target that go, since the source has deleted them.
    pub removed: u64,
    /// Keys that both sides have changed to the same.
    pub converged: u64,
}

impl MergeCounts {
    /// Rows of the target that change.
    pub fn changed(&self) -> u64 {
        self.adopted + self.rewritten + self.removed
    }
}

/// Rows could not be merged; nothing was written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MergeError {
    /// The sides declare the table differently.
    #[error("`{table}` has other columns on one of the sides")]
    SchemaDiverges {
        /// The table.
        table: String,
    },
    /// A side has two rows of one key; a fault of its content.
    #[error("`{table}` has two rows with the key `{key}` in the {side}")]
    DuplicateKey {
        /// The table.
        table: String,
        /// The key as text.
        key: String,
        /// `base`, `source` or `target`.
        side: &'static str,
    },
    /// More rows change than the request allows.
    #[error("the merge changes {rows} rows, and {max} are allowed")]
    TooManyRows {
        /// How many rows of the target would change.
        rows: u64,
        /// The limit.
        max: u64,
    },
    /// The storage or the table engine failed.
    #[error(transparent)]
    Substrate(#[from] SubstrateError),
    /// The rows could not be sorted or kept.
    #[error(transparent)]
    Rows(#[from] RowsError),
}

impl From<ArrowError> for MergeError {
    fn from(error: ArrowError) -> Self {
        Self::Rows(error.into())
    }
}

impl Answer for MergeError {
    fn code(&self) -> &'static str {
        match self {
            Self::SchemaDiverges { .. } => "schema_diverges",
            Self::DuplicateKey { .. } => "table_damaged",
            Self::TooManyRows { .. } => "limit_exceeded",
            Self::Substrate(error) => error.code(),
            Self::Rows(RowsError::Temp(error)) => error.code(),
            Self::Rows(RowsError::Columns(_)) => "internal",
        }
    }

    fn may_retry(&self) -> bool {
        match self {
            Self::Substrate(error) => error.may_retry(),
            Self::Rows(RowsError::Temp(error)) => error.may_retry(),
            Self::SchemaDiverges { .. }
            | Self::DuplicateKey { .. }
            | Self::TooManyRows { .. }
            | Self::Rows(RowsError::Columns(_)) => false,
        }
    }

    fn had_no_effect(&self) -> bool {
        true
    }

    fn help(&self) -> String {
        match self {
            Self::SchemaDiverges { .. } => {
                "the graph is unchanged; give both branches the same schema first".into()
            }
            Self::DuplicateKey { .. } => {
                "the graph is unchanged; run `graphwrite verify <graph>` on the named side, whose rows \
                 were written by something else than graphwrite"
                    .into()
            }
            Self::TooManyRows { .. } => {
                "the graph is unchanged; allow more rows, or merge an older commit of the source first"
                    .into()
            }
            Self::Substrate(error) => error.help(),
            Self::Rows(RowsError::Temp(error)) => error.help(),
            Self::Rows(RowsError::Columns(_)) => {
                "the graph is unchanged; this is a defect of graphwrite, please report it".into()
            }
        }
    }
}

/// What a merge comes to in one table.
#[derive(Debug)]
pub struct MergedTable {
    pub(super) counts: MergeCounts,
    pub(super) conflicts: RowConflicts,
    pub(super) input: TableInput,
    pub(super) changes: Changes,
    /// Where the source has the rows that are put.
    pub(super) taken: Offsets,
    pub(super) discovery: Discovery,
}

impl MergedTable {
    /// Rows by what the merge does with them.
    pub fn counts(&self) -> MergeCounts {
        self.counts
    }

    /// Rows that contradict each other. Under [`MergeStrategy::Fail`] nothing is done about them, and
    /// nothing of the merge may be written if there are any in any table.
    pub fn conflicts(&self) -> &RowConflicts {
        &self.conflicts
    }

    /// How the rows were found that were compared.
    pub fn discovery(&self) -> Discovery {
        self.discovery
    }

    /// The rows that are put into the target.
    pub fn rows(&self) -> &TableInput {
        &self.input
    }

    pub(super) fn def_in<'s>(&self, schema: &'s GraphSchema) -> Option<&'s TypeDef> {
        schema.by_identity(self.input.identity)
    }

    /// The target's rows that go, by their fragment.
    pub(super) fn replaced(&self) -> Offsets {
        let mut replaced = Offsets::new();
        for address in self.leaving() {
            replaced.entry(address >> 32).or_default().insert(address as u32);
        }
        replaced
    }

    /// The addresses of the target's rows that go, replaced or not.
    pub fn leaving(&self) -> impl Iterator<Item = u64> + '_ {
        self.changes.replaced.iter()
    }
}

/// Everything that is compared.
pub(super) struct Sides {
    pub(super) bases: Vec<SortedRows>,
    pub(super) older: Vec<SortedRows>,
    pub(super) source: SortedRows,
    pub(super) target: SortedRows,
}

/// A merge under way.
pub(super) struct TableMerge<'a> {
    def: &'a TypeDef,
    options: &'a MergeOptions,
    layout: Layout,
    /// The source, the target, then the bases.
    cursors: Vec<Cursor>,
    /// What bases are merged with each other by. These follow the others: a key that only they have is met by
    /// nobody.
    older: Vec<Cursor>,
    older_of: OlderOf,
    counts: MergeCounts,
    conflicts: RowConflicts,
    gathered: Gathered,
}

/// The row of a side, by its values where they were opened.
type Value<'r> = Option<Option<Row<'r>>>;

const SOURCE: usize = 0;
const TARGET: usize = 1;

impl<'a> TableMerge<'a> {
    /// Over rows that have the columns of `schema`, and their address as the last one.
    pub(super) fn new(
        graph: &GraphSchema,
        def: &'a TypeDef,
        schema: SchemaRef,
        sides: Sides,
        options: &'a MergeOptions,
    ) -> Result<Self, MergeError> {
        let layout = Layout::new(SchemaRef::clone(&schema), identity_column(def))?;
        let rows = [sides.source, sides.target].into_iter().chain(sides.bases);
        let open = |rows| Cursor::open(rows, &layout);
        let cursors = rows.map(open).collect::<Result<Vec<_>, _>>()?;
        let older = sides.older.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let gathered = Gathered::new(graph, def, &schema, options);
        let (counts, conflicts) = Default::default();
        Ok(Self {
            def,
            options,
            layout,
            cursors,
            older,
            older_of: Vec::new(),
            counts,
            conflicts,
            gathered,
        })
    }

    /// With what says of several bases what they come to.
    pub(super) fn with_older(self, older_of: OlderOf) -> Self {
        Self { older_of, ..self }
    }

    /// Beside rows that were found to be new.
    pub(super) fn beside(mut self, fresh: Fresh) -> Self {
        self.counts.adopted = fresh.rows();
        self.gathered = fresh.gathered;
        self
    }

    pub(super) fn run(mut self, discovery: Discovery) -> Result<MergedTable, MergeError> {
        while let Some(present) = self.present() {
            self.meet(&present)?;
            for (at, _) in present.iter().enumerate().filter(|(_, present)| **present) {
                self.advance(at)?;
            }
        }
        let Gathered { parts, mut changes, taken, .. } = self.gathered;
        changes.reasons = vec![Place::Merged { table: self.def.name.clone(), key: None }];
        changes.same = self.counts.converged;
        let input = TableInput::of(self.def, parts, self.options.bytes_max / 4);
        let (counts, conflicts) = (self.counts, self.conflicts);
        Ok(MergedTable { counts, conflicts, input, changes, taken, discovery })
    }

    /// Which sides have a row of the lowest key at hand; none when all rows were met.
    fn present(&self) -> Option<Vec<bool>> {
        let lowest = self.cursors.iter().filter_map(Cursor::key).min()?;
        Some(self.cursors.iter().map(|cursor| cursor.key() == Some(lowest)).collect())
    }

    fn meet(&mut self, present: &[bool]) -> Result<(), MergeError> {
        // Only where there are two rows their values matter.
        if present.iter().filter(|present| **present).count() > 1 {
            for (cursor, _) in self.cursors.iter_mut().zip(present).filter(|(_, is)| **is) {
                cursor.open_values(&self.layout)?;
            }
        }
        let with_older = self.follow(present)?;
        let values = self.cursors.iter().zip(present);
        let values = values.map(|(cursor, present)| present.then(|| cursor.values()));
        let values: Vec<_> = values.collect();
        let (source, target, bases) = (&values[SOURCE], &values[TARGET], &values[TARGET + 1..]);
        let fate = match self.come_to(bases, &with_older) {
            Some(base) => judge(&[base], source.as_ref(), target.as_ref()),
            None => judge(bases, source.as_ref(), target.as_ref()),
        };
        let is_changed = match bases {
            [] => target.is_some(),
            bases => bases.iter().any(|base| base != target),
        };
        match fate {
            RowFate::Same => self.counts.converged += u64::from(is_changed),
            RowFate::Keep => {}
            RowFate::Take => self.take(present),
            RowFate::Conflict(kind) => self.conflict(kind, present)?,
        }
        Ok(())
    }

    /// Brings the older versions to the key at hand, and says which of them have a row of it.
    fn follow(&mut self, present: &[bool]) -> Result<Vec<bool>, MergeError> {
        let Self { cursors, older, layout, .. } = self;
        let at = present.iter().position(|is_present| *is_present);
        let Some(key) = at.and_then(|at| cursors[at].key()) else { return Ok(Vec::new()) };
        let mut met = Vec::new();
        for cursor in older {
            while cursor.key().is_some_and(|behind| behind < key) {
                cursor.advance(layout)?;
            }
            met.push(cursor.key() == Some(key));
            if met.ends_with(&[true]) {
                cursor.open_values(layout)?;
            }
        }
        Ok(met)
    }

    /// What several bases come to at the key at hand.
    fn come_to<'r>(&'r self, bases: &[Value<'r>], with_older: &[bool]) -> Option<Value<'r>> {
        if bases.len() < 2 || bases.iter().all(|base| *base == bases[0]) {
            return bases.first().cloned();
        }
        let values: Vec<Value<'r>> = self
            .older
            .iter()
            .zip(with_older)
            .map(|(cursor, is_met)| is_met.then(|| cursor.values()))
            .collect();
        let of = |numbers: &Vec<usize>| numbers.iter().map(|at| values[*at]).collect();
        let older: Vec<Option<Vec<Value<'r>>>> =
            self.older_of.iter().map(|numbers| numbers.as_ref().map(of)).collect();
        come_to(bases, &older)
    }

    fn take(&mut self, present: &[bool]) {
        let row = |at: usize| {
            let place = self.cursors[at].place().filter(|_| present[at]);
            place.map(|(_, row)| row)
        };
        let (source, target) = (row(SOURCE), row(TARGET));
        match (source, target) {
            (Some(source), target) => {
                self.gathered.put(source, target);
                let is_new = u64::from(target.is_none());
                self.counts.adopted += is_new;
                self.counts.rewritten += 1 - is_new;
            }
            (None, Some(target)) => {
                self.gathered.remove(target);
                self.counts.removed += 1;
            }
            (None, None) => {}
        }
    }

    fn conflict(&mut self, kind: ConflictKind, present: &[bool]) -> Result<(), MergeError> {
        self.conflicts.count(kind);
        if self.conflicts.listed().len() < self.options.conflicts_listed_max {
            let side = |at: usize| match self.cursors[at].place().filter(|_| present[at]) {
                // Taken out, so that a listed row does not hold its whole batch.
                Some((batch, row)) => self.layout.one_row(batch, row).map(Some),
                None => Ok(None),
            };
            let (source, target) = (side(SOURCE)?, side(TARGET)?);
            let key = source.as_ref().or(target.as_ref()).map(|row| self.key_text(row, 0));
            let key = key.unwrap_or_default();
            self.conflicts.list(RowConflict { kind, key, source, target });
        }
        match self.options.strategy {
            MergeStrategy::Fail | MergeStrategy::Ours => {}
            MergeStrategy::Theirs => self.take(present),
        }
        Ok(())
    }

    fn key_text(&self, batch: &arrow_array::RecordBatch, row: usize) -> String {
        let columns: Vec<_> = self.def.key_columns().into_iter().map(str::to_owned).collect();
        row_key_text(batch, &columns, row)
    }

    fn advance(&mut self, at: usize) -> Result<(), MergeError> {
        let cursor = &self.cursors[at];
        if let (true, Some((batch, _))) = (cursor.ends_batch(), cursor.place()) {
            match at {
                SOURCE => self.gathered.end_source(batch, &self.layout)?,
                TARGET => self.gathered.end_target(batch)?,
                _ => {}
            }
        }
        if self.cursors[at].advance(&self.layout)? {
            return Ok(());
        }
        let again = self.cursors[at].place();
        let key = again.map(|(batch, row)| self.key_text(batch, row)).unwrap_or_default();
        let side = ["source", "target", "base"][at.min(2)];
        Err(MergeError::DuplicateKey { table: self.def.name.clone(), key, side })
    }
}
