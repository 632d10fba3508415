//! What a merge must ask of the target, found from where rows are. The source keeps every constraint by itself,
//! and so do all rows that it shares with the target together with those that are taken over from it: only
//! rows that one side has alone can be against a constraint. It judges nothing.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_row::Row;
use arrow_schema::{ArrowError, SchemaRef};
use futures::{StreamExt, TryStreamExt, stream};
use graphwrite_protocol_types::TableIdentity;
use graphwrite_schema::{Cardinality, ConstraintRule, EDGE_SRC, End, GraphSchema, TypeDef};
use graphwrite_substrate::TableHandle;

use super::candidates::{Apart, Picked, leave_out};
use super::picked::{PickedRows, with_address};
use super::table::MergedTable;
use crate::error::PrepareError;
use crate::input::identity_column;
use crate::input::within::unique_sets;
use crate::keys::{IndexBuilder, Pass, RowIndex};
use crate::probe::BaseTables;
use crate::validate::Doubts;

/// The questions that a merge raises.
#[derive(Debug, Default)]
pub(super) struct Raised<'a> {
    unique: Vec<(&'a TypeDef, Vec<String>)>,
    missing: Vec<&'a TypeDef>,
    named: Vec<(&'a TypeDef, End)>,
    counted: Vec<Counted<'a>>,
}

/// Edges of a type are counted for each node that they start from.
#[derive(Debug)]
struct Counted<'a> {
    edge: &'a TypeDef,
    node: &'a TypeDef,
    cardinality: Cardinality,
}

impl<'a> Raised<'a> {
    pub(super) fn by(schema: &'a GraphSchema, merged: &[MergedTable]) -> Self {
        let mut raised = Self::default();
        for (def, of) in merged.iter().filter_map(|of| Some((of.def_in(schema)?, of))) {
            if of.changes.puts() {
                let sets = unique_sets(schema, def.identity).into_iter();
                raised.unique.extend(sets.map(|columns| (def, columns)));
                raised.missing.extend(ends_of(schema, def).map(|(_, node)| node));
            }
            if !of.changes.gone.is_empty() {
                for edge in schema.edges_touching(def.identity.table) {
                    let ends = ends_of(schema, edge).filter(|(_, node)| *node == def);
                    raised.named.extend(ends.map(|(end, _)| (edge, end)));
                }
            }
        }
        let of = |def: &TypeDef| merged.iter().find(|of| of.input.identity == def.identity);
        raised.counted.extend(counted(schema).filter(|counted| {
            let is_changed = of(counted.edge).is_some_and(|of| of.changes.any());
            let has_new = of(counted.node).is_some_and(|of| of.counts().adopted > 0);
            is_changed || counted.cardinality.min > 0 && has_new
        }));
        raised
    }

    /// The tables whose rows decide.
    pub(super) fn tables(&self) -> BTreeSet<TableIdentity> {
        let unique = self.unique.iter().map(|(def, _)| def.identity);
        let missing = self.missing.iter().map(|node| node.identity);
        let named = self.named.iter().map(|(edge, _)| edge.identity);
        let counted = self.counted.iter().map(|counted| counted.edge.identity);
        unique.chain(missing).chain(named).chain(counted).collect()
    }

    /// The tables of which both sides are compared.
    pub(super) fn compared(&self) -> BTreeSet<TableIdentity> {
        self.tables().into_iter().chain(self.lacking()).collect()
    }

    /// Those of which it matters what the source has and the target has not.
    fn lacking(&self) -> BTreeSet<TableIdentity> {
        let missing = self.missing.iter().map(|node| node.identity);
        let counted = self.counted.iter().flat_map(|counted| {
            let node = (counted.cardinality.min > 0).then_some(counted.node.identity);
            [counted.edge.identity].into_iter().chain(node)
        });
        missing.chain(counted).collect()
    }

    /// What of it is in doubt.
    pub(super) fn doubts(&self, alone: &AllAlone) -> Result<Doubts, ArrowError> {
        let mut doubts = Doubts::default();
        for (def, columns) in &self.unique {
            if let Some(alone) = alone.of(def) {
                let names: Vec<&str> = columns.iter().map(String::as_str).collect();
                let values = alone.values(&alone.target, &names)?;
                doubts.only_unique(def.identity, columns.clone(), values);
            }
        }
        for node in &self.missing {
            if let Some(alone) = alone.of(node) {
                doubts.only_missing(node.identity, alone.lost(identity_column(node))?);
            }
        }
        for (edge, end) in &self.named {
            if let Some(alone) = alone.of(edge) {
                let keys = alone.values(&alone.target, &[end.column()])?;
                doubts.only_named(edge.identity, *end, keys);
            }
        }
        for counted in &self.counted {
            if let Some(sources) = counted.sources(alone)? {
                doubts.only_counted(counted.edge.identity, sources);
            }
        }
        Ok(doubts)
    }
}

impl Counted<'_> {
    /// Nodes that do not have as many edges as in the source, or that the source does not have.
    fn sources(&self, all: &AllAlone) -> Result<Option<RowIndex>, ArrowError> {
        let Some(edges) = all.of(self.edge) else { return Ok(None) };
        let (lost, gained) =
            (edges.values(&edges.source, &[EDGE_SRC])?, edges.values(&edges.target, &[EDGE_SRC])?);
        let differs = |source: Row<'_>| lost.count(source) != gained.count(source);
        let mut sources = edges.builder(&[EDGE_SRC])?;
        for rows in edges.source.iter().chain(&edges.target) {
            sources.add_where(&columns(rows, &[EDGE_SRC])?, differs)?;
        }
        if self.cardinality.min > 0 {
            let Some(nodes) = all.of(self.node) else { return Ok(None) };
            let key = [identity_column(self.node)];
            let of_source = nodes.values(&nodes.source, &key)?;
            for rows in &nodes.target {
                let is_new = |key: Row<'_>| of_source.position(key).is_none();
                sources.add_where(&columns(rows, &key)?, is_new)?;
            }
        }
        Ok(Some(sources.finish()))
    }
}

fn ends_of<'a>(
    schema: &'a GraphSchema,
    edge: &TypeDef,
) -> impl Iterator<Item = (End, &'a TypeDef)> + use<'a> {
    let ends = edge.edge().map(|def| [End::Src, End::Dst].map(|end| (end, def.node_at(end))));
    let ends = ends.into_iter().flatten();
    ends.filter_map(|(end, node)| Some((end, schema.by_table(node)?)))
}

fn counted(schema: &GraphSchema) -> impl Iterator<Item = Counted<'_>> {
    schema.edges().flat_map(move |edge| {
        let rules = schema.constraints_of(edge.identity).into_iter();
        rules.filter_map(move |constraint| match constraint.rule {
            ConstraintRule::Cardinality { from, cardinality } => {
                let node = schema.by_table(from)?;
                Some(Counted { edge, node, cardinality })
            }
            _ => None,
        })
    })
}

/// Tables that are read at the same time.
const TABLES_AT_ONCE: usize = 8;

/// The rows that one side has alone, table by table, as far as it is worth to know them.
#[derive(Debug, Default)]
pub(super) struct AllAlone(BTreeMap<TableIdentity, Alone>);

/// The rows of a table that one side has alone, without those that the merge takes over or replaces.
#[derive(Debug)]
struct Alone {
    columns: SchemaRef,
    source: Vec<RecordBatch>,
    target: Vec<RecordBatch>,
}

impl AllAlone {
    fn of(&self, def: &TypeDef) -> Option<&Alone> {
        self.0.get(&def.identity)
    }

    /// Reads them, in at most `bytes_max` bytes.
    pub(super) async fn read(
        (schema, raised): (&GraphSchema, &Raised<'_>),
        (source, target): (&BaseTables<'_>, &BaseTables<'_>),
        merged: &[MergedTable],
        bytes_max: u64,
    ) -> Result<Self, PrepareError> {
        let (lacking, compared) = (raised.lacking(), raised.compared());
        let bytes_left = bytes_max / compared.len().max(1) as u64;
        let reading = compared.into_iter().map(|identity| {
            let is_lacking = lacking.contains(&identity);
            let of = merged.iter().find(|of| of.input.identity == identity);
            async move {
                let Some(columns) = asked_columns(schema, identity)? else { return Ok(None) };
                let read = Reading { columns, of, is_lacking, bytes_left };
                let alone = if source.head(identity) == target.head(identity) {
                    Some(read.none())
                } else {
                    match (source.get(identity), target.get(identity)) {
                        (Some(source), Some(target)) => read.alone(source, target).await?,
                        _ => None,
                    }
                };
                Ok::<_, PrepareError>(alone.map(|alone| (identity, alone)))
            }
        });
        let reading = stream::iter(reading.collect::<Vec<_>>()).buffered(TABLES_AT_ONCE);
        Ok(Self(reading.try_filter_map(|alone| async { Ok(alone) }).try_collect().await?))
    }
}

/// The columns of a table that constraints ask for.
fn asked_columns(
    schema: &GraphSchema,
    identity: TableIdentity,
) -> Result<Option<SchemaRef>, ArrowError> {
    let (Some(def), Some(all)) = (schema.by_identity(identity), schema.arrow_schema(identity))
    else {
        return Ok(None);
    };
    let ends = ends_of(schema, def).map(|(end, _)| end.column().to_owned());
    let key = def.key_property().map(|key| key.name.clone());
    let unique = unique_sets(schema, identity).into_iter().flatten();
    let asked: BTreeSet<_> = ends.chain(key).chain(unique).collect();
    let at = asked.iter().map(|name| all.index_of(name)).collect::<Result<Vec<_>, _>>()?;
    Ok(Some(all.project(&at)?.into()))
}

struct Reading<'a> {
    columns: SchemaRef,
    of: Option<&'a MergedTable>,
    /// Whether it matters what the source has alone.
    is_lacking: bool,
    bytes_left: u64,
}

impl Reading<'_> {
    /// Of a table that both sides have alike.
    fn none(self) -> Alone {
        Alone { columns: self.columns, source: Vec::new(), target: Vec::new() }
    }

    /// None where to ask the target costs less, or nothing is known.
    async fn alone(
        mut self,
        source: &TableHandle,
        target: &TableHandle,
    ) -> Result<Option<Alone>, PrepareError> {
        let mut apart = Box::pin(Apart::of(source, target)).await?;
        if !self.is_lacking {
            apart.source.clear();
        }
        if let Some(of) = self.of {
            apart.target = Box::pin(leave_out(apart.target, target, &of.replaced())).await?;
            apart.source = Box::pin(leave_out(apart.source, source, &of.taken)).await?;
        }
        let put = self.of.map_or(0, |of| of.input.rows() as u64);
        if !apart.is_worth_it(target, put)? {
            return Ok(None);
        }
        let target = self.rows(target, &apart.target).await?;
        let source = self.rows(source, &apart.source).await?;
        let is_all = self.bytes_left > 0;
        Ok(is_all.then_some(Alone { columns: self.columns, source, target }))
    }

    /// The rows, until there are too many.
    async fn rows(
        &mut self,
        table: &TableHandle,
        picked: &[Picked],
    ) -> Result<Vec<RecordBatch>, PrepareError> {
        let (schema, mut found) = (with_address(&self.columns), Vec::new());
        let left = &mut self.bytes_left;
        let rows = PickedRows { table, schema: &schema, picked };
        let read = rows.read(None, |batch| {
            *left = left.saturating_sub(batch.get_array_memory_size() as u64);
            if *left > 0 {
                found.push(batch);
            }
            Ok::<_, PrepareError>(())
        });
        Box::pin(read).await?;
        Ok(found)
    }
}

impl Alone {
    fn builder(&self, names: &[&str]) -> Result<IndexBuilder, ArrowError> {
        let types = names.iter().map(|name| {
            let field = self.columns.field_with_name(name)?;
            Ok(field.data_type().clone())
        });
        IndexBuilder::new(types.collect::<Result<Vec<_>, ArrowError>>()?, Pass::ALL)
    }

    /// The values of some columns in rows that have all of them.
    fn values(&self, of: &[RecordBatch], names: &[&str]) -> Result<RowIndex, ArrowError> {
        let mut values = self.builder(names)?;
        for rows in of {
            values.add_where(&columns(rows, names)?, |_| true)?;
        }
        Ok(values.finish())
    }

    /// The keys that the source has, and nothing after the merge.
    fn lost(&self, key: &str) -> Result<RowIndex, ArrowError> {
        let (stand, mut lost) = (self.values(&self.target, &[key])?, self.builder(&[key])?);
        for rows in &self.source {
            lost.add_where(&columns(rows, &[key])?, |key| stand.position(key).is_none())?;
        }
        Ok(lost.finish())
    }
}

fn columns(rows: &RecordBatch, names: &[&str]) -> Result<Vec<ArrayRef>, ArrowError> {
    let column = |name: &&str| Ok(ArrayRef::clone(rows.column(rows.schema_ref().index_of(name)?)));
    names.iter().map(column).collect()
}
