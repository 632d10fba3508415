//! The merge of one table from the versions of its sides: which rows are read, and in which way they were
//! found. How they are merged is said elsewhere.

use std::sync::Arc;

use arrow_array::{Array, BooleanArray, RecordBatch, UInt64Array};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::filter::filter_record_batch;
use graphwrite_schema::{GraphSchema, TypeDef};
use graphwrite_substrate::{RowFilter, TableHandle};

use super::candidates::{Candidates, Kept, Picked, Side};
use super::fresh::{self, Fresh};
use super::gather::Gathered;
use super::picked::{Keys, PickedRows, with_address};
use super::table::{MergeError, MergeOptions, MergedTable, Sides, TableMerge};
use crate::change::addresses;
use crate::input::{RowsError, identity_column};
use crate::order::RowSorter;
use crate::probe::NAMED_VALUES_MAX;

/// How the rows were found that a merge compares. The result is the same by either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MergeRoute {
    /// From where rows are: those were left out that are at one place of one file in the source and in
    /// every base.
    Provenance,
    /// All rows of the source and the bases, in order: they have no file in common, or it was asked for.
    #[default]
    Ordered,
}

impl MergeRoute {
    /// The name shown to people and programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Provenance => "provenance",
            Self::Ordered => "ordered",
        }
    }
}

/// What was read for a merge of one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Discovery {
    /// How rows were found.
    pub route: MergeRoute,
    /// Fragments of the source whose files every base has.
    pub shared_fragments: u64,
    /// Rows that were read, of all sides.
    pub rows_read: u64,
}

/// The versions of one table that are compared; none where it has no rows. They may be of different refs,
/// or of different datasets, since two branches may each have loaded a type first.
#[derive(Debug, Clone, Default)]
pub struct MergeTables<'a> {
    /// That of each base. Without a base all rows of the source are new.
    pub bases: Vec<Option<&'a TableHandle>>,
    /// For each base but the first: those by which it is merged with the bases before it, to say what all of
    /// them come to. Nothing where that cannot be said; none of them where they have nothing in common.
    pub older: Vec<Option<Vec<Option<&'a TableHandle>>>>,
    /// That of the commit which is merged.
    pub source: Option<&'a TableHandle>,
    /// That of the head into which it is merged.
    pub target: Option<&'a TableHandle>,
}

/// Merges the rows of one table. Nothing is written. A table that has the same head in the source as in
/// every base needs no merge.
///
/// # Errors
/// The rows could not be read or kept, or are not those of one table.
pub async fn merge_table(
    graph: &GraphSchema,
    def: &TypeDef,
    tables: &MergeTables<'_>,
    options: &MergeOptions,
) -> Result<MergedTable, MergeError> {
    let diverges = || MergeError::SchemaDiverges { table: def.name.clone() };
    let columns = graph.arrow_schema(def.identity).ok_or_else(diverges)?;
    let MergeTables { bases, source, target, .. } = tables;
    let (older, older_of) = older_of(tables);
    let handles = bases.iter().chain([source, target]).chain(&older).flatten();
    if handles.into_iter().any(|table| !has_columns(table, &columns)) {
        return Err(diverges());
    }
    let candidates = if options.ordered {
        Candidates::all(*source, *target, bases, &older)?
    } else {
        Box::pin(Candidates::find(*source, *target, bases, &older)).await?
    };
    let gathered = || Gathered::new(graph, def, &columns, options);
    let mut reader = Reader::new(def, &columns, bases.len() + older.len() + 2, options);
    let mut fresh = reader.fresh(&candidates, gathered)?;
    let mut sides = Box::pin(reader.sides((tables, &older), &candidates, fresh.as_mut())).await?;
    if fresh.as_mut().is_some_and(Fresh::may_repeat) {
        // In order it is met, if it is one.
        (fresh, reader.rows_read) = (None, 0);
        sides = Box::pin(reader.sides((tables, &older), &candidates, None)).await?;
    }
    let discovery = Discovery {
        route: if candidates.shared > 0 { MergeRoute::Provenance } else { MergeRoute::Ordered },
        shared_fragments: candidates.shared,
        rows_read: reader.rows_read,
    };
    let mut merge = TableMerge::new(graph, def, SchemaRef::clone(&columns), sides, options)?;
    merge = merge.with_older(older_of);
    if let Some(fresh) = fresh {
        merge = merge.beside(fresh);
    }
    merge.run(discovery)
}

/// For each base but the first, which of the older versions it is merged with those before it by.
pub(super) type OlderOf = Vec<Option<Vec<usize>>>;

/// The older versions, each once: most bases have the same.
fn older_of<'a>(tables: &MergeTables<'a>) -> (Vec<Side<'a>>, OlderOf) {
    let mut distinct: Vec<Side<'a>> = Vec::new();
    let is_one = |one: Side<'_>, other: Side<'_>| match (one, other) {
        (Some(one), Some(other)) => std::ptr::eq(one, other),
        (None, None) => true,
        _ => false,
    };
    let mut number = |of: &Side<'a>| {
        let known = distinct.iter().position(|known| is_one(*known, *of));
        known.unwrap_or_else(|| {
            distinct.push(*of);
            distinct.len() - 1
        })
    };
    let of = tables.older.iter();
    let of = of.map(|older| older.as_ref().map(|older| older.iter().map(&mut number).collect()));
    let of = of.collect();
    (distinct, of)
}

/// By name and type; a file does not say which property a column is.
fn has_columns(table: &TableHandle, columns: &SchemaRef) -> bool {
    let own = table.schema();
    own.fields().len() == columns.fields().len()
        && columns.fields().iter().all(|field| {
            let found = own.field_with_name(field.name());
            found.is_ok_and(|found| found.data_type() == field.data_type())
        })
}

/// Reads the sides one after the other, each into an order of its own.
struct Reader<'a> {
    key: &'a str,
    schema: SchemaRef,
    options: &'a MergeOptions,
    /// Bytes that the order of one side may take.
    share: u64,
    keys: Keys,
    rows_read: u64,
}

impl<'a> Reader<'a> {
    fn new(def: &'a TypeDef, columns: &SchemaRef, sides: usize, options: &'a MergeOptions) -> Self {
        let share = options.bytes_max / (sides as u64 + 1);
        let (key, schema) = (identity_column(def), with_address(columns));
        Self { key, schema, options, share, keys: Keys::default(), rows_read: 0 }
    }

    /// What tells new rows from others, where most rows of the source are new.
    fn fresh(
        &self,
        candidates: &Candidates,
        gathered: impl FnOnce() -> Gathered,
    ) -> Result<Option<Fresh>, ArrowError> {
        let Some((source, others)) = candidates.rows_max() else { return Ok(None) };
        let is_worth_it = source > NAMED_VALUES_MAX as u64 && others < source / 4;
        if self.options.ordered || !is_worth_it || source * fresh::ROW_BYTES > self.share {
            return Ok(None);
        }
        Ok(Some(Fresh::new(self.schema.index_of(self.key)?, (source, others), gathered())))
    }

    /// The target is read after source and bases: only rows with a key that these have matter, and where
    /// these are few they are asked for by name. Where most rows of the source are new it is the source
    /// that is read last, and the new ones are not among its rows.
    async fn sides(
        &mut self,
        (tables, older): (&MergeTables<'_>, &[Side<'_>]),
        candidates: &Candidates,
        mut fresh: Option<&mut Fresh>,
    ) -> Result<Sides, MergeError> {
        let (mut source, mut target) = (self.sorter()?, self.sorter()?);
        if fresh.is_none() {
            self.rows(tables.source, &candidates.source, None, |batch| source.push(batch)).await?;
        }
        let (mut bases, mut kept) = (Vec::new(), Some(&candidates.kept));
        for (table, picked) in tables.bases.iter().zip(&candidates.bases) {
            let kept = kept.take().filter(|kept| !kept.is_empty());
            let mut base = self.sorter()?;
            let read = self.rows(*table, picked, None, |batch| {
                fresh.as_mut().map_or(Ok(()), |fresh| fresh.know(&batch))?;
                if let Some(kept) = kept {
                    target.push(in_target(&batch, kept)?)?;
                }
                base.push(batch)
            });
            read.await?;
            bases.push(base.finish()?);
        }
        let is_ordered = self.options.ordered;
        let asked = if is_ordered { None } else { self.keys.filter(self.key)? };
        let asked = asked.filter(|_| fresh.is_none());
        let mut of_older = Vec::new();
        for (table, picked) in older.iter().zip(&candidates.older) {
            let mut rows = self.sorter()?;
            self.rows(*table, picked, asked.clone(), |batch| rows.push(batch)).await?;
            of_older.push(rows.finish()?);
        }
        let read = self.rows(tables.target, &candidates.target, asked, |batch| {
            fresh.as_mut().map_or(Ok(()), |fresh| fresh.know(&batch))?;
            target.push(batch)
        });
        read.await?;
        if let Some(fresh) = fresh {
            let read = self.rows(tables.source, &candidates.source, None, |batch| {
                fresh.take(batch)?.map_or(Ok(()), |batch| source.push(batch))
            });
            read.await?;
        }
        Ok(Sides { bases, older: of_older, source: source.finish()?, target: target.finish()? })
    }

    fn sorter(&self) -> Result<RowSorter, RowsError> {
        let sorter = RowSorter::new(SchemaRef::clone(&self.schema), &[self.key], self.share)?;
        Ok(sorter.with_temp_dir(&self.options.temp_dir))
    }

    async fn rows(
        &mut self,
        table: Side<'_>,
        picked: &[Picked],
        filter: Option<RowFilter>,
        mut take: impl FnMut(RecordBatch) -> Result<(), RowsError>,
    ) -> Result<(), MergeError> {
        let Some(table) = table else { return Ok(()) };
        let key = self.schema.index_of(self.key)?;
        let rows = PickedRows { table, schema: &self.schema, picked };
        let read = rows.read(filter, |batch| {
            self.keys.add(batch.column(key));
            self.rows_read += batch.num_rows() as u64;
            Ok::<_, MergeError>(take(batch)?)
        });
        Box::pin(read).await
    }
}

/// The rows of a base that are also in the target, as those of the target.
fn in_target(of_base: &RecordBatch, kept: &Kept) -> Result<RecordBatch, ArrowError> {
    let at = addresses(of_base)?.values().iter().map(|address| kept.address(*address));
    let at = at.collect::<UInt64Array>();
    let is_kept: BooleanArray = (0..at.len()).map(|row| Some(at.is_valid(row))).collect();
    let mut columns = of_base.columns().to_vec();
    columns.pop();
    columns.push(Arc::new(at));
    filter_record_batch(&RecordBatch::try_new(of_base.schema(), columns)?, &is_kept)
}
