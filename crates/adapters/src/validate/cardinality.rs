//! Every source has as many edges of a type as the schema allows, counted on the post-image: edges
//! of the base that stay, and edges that are put. A node that goes needs none.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{ArrowError, DataType};
use futures::TryStreamExt;
use graphwrite_protocol_types::{StableTableId, TableIdentity};
use graphwrite_schema::{Cardinality, ConstraintRule, EDGE_SRC, TypeDef};
use graphwrite_substrate::TableHandle;

use super::{Asking, Doubted, Doubts, PostImage, Room};
use crate::change::{Leaving, Reason, TableChange, addresses};
use crate::error::PrepareError;
use crate::input::{Earliest, Faults, Place, RowsError, Rule, Violation, identity_column, quoted};
use crate::keys::{IndexBuilder, KeyColumn, Pass, RowIndex, key_text};
use crate::probe::{BaseTables, NAMED_VALUES_MAX, scan_matching};

/// How many edges of one type have the sources whose number may change?
pub(super) struct CardinalityQuestion<'a> {
    pub(super) edge: TableIdentity,
    name: &'a str,
    cardinality: Cardinality,
    /// What becomes of edges of the type, and the number of the table.
    edges: Option<(usize, &'a TableChange<'a>)>,
    /// What becomes of nodes that they start from.
    nodes: Option<(usize, &'a TableChange<'a>)>,
    key_column: &'a str,
    key_type: DataType,
    doubted: Option<Doubted>,
    asking: Asking,
    /// The sources whose number of edges may change, where they are asked at once.
    ready: Option<Arc<RowIndex>>,
}

/// What makes a source count: a reason of one of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cause {
    table: usize,
    reason: Reason,
}

/// A source with a wrong number of edges: what to name, the number of the source, and of its edges.
type Broken = (Cause, u32, u64);

pub(super) fn questions<'a>(
    post: &PostImage<'a>,
    room: &mut Room,
    doubts: &Doubts,
) -> Result<Vec<CardinalityQuestion<'a>>, PrepareError> {
    let mut questions = Vec::new();
    for def in post.schema.edges() {
        for rule in post.constraints(def.identity) {
            if let ConstraintRule::Cardinality { from, cardinality } = rule {
                let doubted = doubts.counted(def.identity).cloned();
                let rule = (from, cardinality, doubted);
                questions.extend(CardinalityQuestion::new(post, room, def, rule)?);
            }
        }
    }
    Ok(questions)
}

impl<'a> CardinalityQuestion<'a> {
    /// None when nothing changes the number of any source's edges.
    fn new(
        post: &PostImage<'a>,
        room: &mut Room,
        def: &'a TypeDef,
        (from, cardinality, doubted): (StableTableId, Cardinality, Option<Doubted>),
    ) -> Result<Option<Self>, PrepareError> {
        let Some(node) = post.schema.by_table(from) else { return Ok(None) };
        let Some(key_type) = post.schema.node_key_type(from) else { return Ok(None) };
        let mut question = Self {
            edge: def.identity,
            name: &def.name,
            cardinality,
            edges: post.table(def.identity),
            nodes: post.table(node.identity),
            key_column: identity_column(node),
            key_type: key_type.arrow(),
            doubted,
            asking: Asking::AtOnce,
            ready: None,
        };
        let is_known = question.doubted.as_ref().is_some_and(|sources| sources.len() == 0);
        if is_known || question.edges.is_none() && !question.counts_nodes() {
            return Ok(None);
        }
        let (rows, bytes) = question.size()?;
        question.asking = room.plan(rows, bytes);
        if question.asking == Asking::AtOnce {
            question.ready = Some(Arc::new(question.sources(Pass::ALL)?));
        }
        let is_asked = question.ready.as_ref().is_none_or(|sources| sources.len() > 0);
        Ok(is_asked.then_some(question))
    }

    pub(super) fn is_ready(&self) -> bool {
        self.ready.is_some()
    }

    /// Whether a new node may have too few edges.
    fn counts_nodes(&self) -> bool {
        self.cardinality.min > 0 && self.nodes.is_some()
    }

    /// Rows, and bytes of values, of everything that an index over all sources may hold.
    fn size(&self) -> Result<(u64, u64), ArrowError> {
        let (mut rows, mut bytes) = (0, 0);
        if let Some((_, edges)) = self.edges {
            rows += edges.rows.rows() as u64;
            bytes += edges.rows.width(&[EDGE_SRC])?;
            for left in &edges.changes.left {
                rows += left.reasons.len() as u64;
                bytes += left.values.get_array_memory_size() as u64;
            }
        }
        if let Some((_, nodes)) = self.nodes {
            rows += nodes.rows.rows() as u64;
            bytes += nodes.rows.width(&[self.key_column])?;
        }
        Ok((rows, bytes))
    }

    /// The sources of a pass whose number of edges may change, once for each reason. Reasons are
    /// numbered: the edges, what leaves a source, the nodes.
    fn sources(&self, pass: Pass) -> Result<RowIndex, RowsError> {
        let gone = self.gone()?;
        let (gone, doubted) = (gone.as_ref(), self.doubted.as_deref());
        let mut sources = IndexBuilder::new([self.key_type.clone()], pass)?;
        let mut first = 0;
        if let Some((_, edges)) = self.edges {
            // Edges that are added or moved count for the source that they get.
            for columns in edges.rows.columns(&[EDGE_SRC])? {
                let changes = |row: usize| edges.changes.changes(row);
                first += add(&mut sources, &columns?, (gone, doubted), first, changes)?;
            }
            // Those that are removed or moved count for the one that they leave.
            for left in &edges.changes.left {
                let columns = [ArrayRef::clone(&left.values)];
                first += add(&mut sources, &columns, (gone, doubted), first, |_| true)?;
            }
        }
        // A new node has as few edges as are put with it.
        if let Some((_, nodes)) = self.nodes.filter(|_| self.counts_nodes()) {
            let before = first;
            for columns in nodes.rows.columns(&[self.key_column])? {
                let inserts = |row: usize| nodes.changes.inserts(row - before);
                first += add(&mut sources, &columns?, (gone, doubted), first, inserts)?;
            }
        }
        Ok(sources.finish())
    }

    /// The nodes that go.
    fn gone(&self) -> Result<Option<RowIndex>, ArrowError> {
        let gone = self.nodes.map(|(_, nodes)| nodes.changes.gone.as_slice()).unwrap_or_default();
        if gone.is_empty() {
            return Ok(None);
        }
        let columns = gone.iter().map(|gone| vec![ArrayRef::clone(&gone.values)]);
        RowIndex::new([self.key_type.clone()], columns).map(Some)
    }

    pub(super) async fn ask(
        &self,
        post: &PostImage<'_>,
        tables: &BaseTables<'_>,
    ) -> Result<Faults, PrepareError> {
        let mut faults = post.faults();
        let mut broken = faults.earliest();
        for pass in self.asking.passes() {
            let sources = match &self.ready {
                Some(sources) => Arc::clone(sources),
                None => Arc::new(self.sources(pass)?),
            };
            let mut counts = vec![0; sources.positions()];
            if let Some(table) = tables.get(self.edge) {
                self.count_base(post, table, pass, &sources, &mut counts).await?;
            }
            self.judge(&sources, &counts, &mut broken);
        }
        faults.append_earliest(broken, |broken| self.violation(post, broken))?;
        Ok(faults)
    }

    /// Adds edges of the base that stay to the count of their source, which is kept at its first
    /// position.
    async fn count_base(
        &self,
        post: &PostImage<'_>,
        table: &TableHandle,
        pass: Pass,
        sources: &RowIndex,
        counts: &mut [u64],
    ) -> Result<(), PrepareError> {
        let Some(values) = self.sources_of_base(pass, sources)? else { return Ok(()) };
        let stands = post.stands(self.edge);
        let mut batches = scan_matching(table, vec![EDGE_SRC.to_owned()], values).await?;
        while let Some(batch) = batches.try_next().await? {
            let places = addresses(&batch)?;
            let found = sources.encode(&batch.columns()[..1])?;
            for (source, place) in found.iter().zip(places.values()) {
                if let Some(first) = sources.position(source).filter(|_| stands(*place)) {
                    counts[first as usize] += 1;
                }
            }
        }
        Ok(())
    }

    /// The distinct sources apart from nodes that are added, where no edge of the base can start, if
    /// they are few enough to be named; none when there is no such source.
    fn sources_of_base(
        &self,
        pass: Pass,
        sources: &RowIndex,
    ) -> Result<Option<Vec<(String, ArrayRef)>>, RowsError> {
        let mut firsts: Vec<u32> = sources.groups().map(|group| group[0]).collect();
        if let Some((_, nodes)) = self.nodes {
            let keys = nodes.rows.keys(pass)?;
            firsts.retain(|at| {
                let found = keys.find(sources.row(*at));
                !found.is_some_and(|row| nodes.changes.inserts(row as usize))
            });
        }
        if firsts.is_empty() {
            return Ok(None);
        }
        if firsts.len() > NAMED_VALUES_MAX {
            return Ok(Some(Vec::new()));
        }
        let values = sources.values(&firsts)?.into_iter();
        Ok(Some(values.map(|values| (EDGE_SRC.to_owned(), values)).collect()))
    }

    fn judge(&self, sources: &RowIndex, counts: &[u64], broken: &mut Earliest<Broken>) {
        let edges = self.edges.map_or(0, |(_, edges)| edges.rows.rows());
        for group in sources.groups() {
            // An edge that is put as it is stands in the base and was counted there.
            let put = group.iter().filter(|at| (sources.number(**at) as usize) < edges);
            let count = counts[group[0] as usize] + put.count() as u64;
            if !self.cardinality.allows(count) {
                // What to name: the last that adds an edge too many, the first that leaves too few.
                let too_many = count > u64::from(self.cardinality.min);
                let named = if too_many { group[group.len() - 1] } else { group[0] };
                if let Some(cause) = self.cause(sources.number(named)) {
                    broken.push((cause, sources.number(group[0]), count));
                }
            }
        }
    }

    /// The reason with a number.
    fn cause(&self, number: u32) -> Option<Cause> {
        self.reason(number).map(|(table, reason, _)| Cause { table, reason })
    }

    /// Table, reason and source of a number.
    fn reason(&self, number: u32) -> Option<(usize, Reason, Source<'_>)> {
        let mut at = number as usize;
        if let Some((table, edges)) = self.edges {
            if at < edges.rows.rows() {
                let source = Source::Row(edges, EDGE_SRC, at);
                return Some((table, Reason::Row(number), source));
            }
            at -= edges.rows.rows();
            for left in &edges.changes.left {
                if let Some(reason) = left.reasons.get(at) {
                    return Some((table, *reason, Source::Left(left, at)));
                }
                at -= left.reasons.len();
            }
        }
        let (table, nodes) = self.nodes?;
        Some((table, Reason::Row(at as u32), Source::Row(nodes, self.key_column, at)))
    }

    fn violation(&self, post: &PostImage<'_>, broken: Broken) -> Result<Violation, RowsError> {
        let (cause, source, count) = broken;
        let place: Place = post.tables[cause.table].place(cause.reason);
        let key = match self.reason(source).map(|(_, _, source)| source) {
            Some(source) => source.text()?,
            None => String::new(),
        };
        let (name, cardinality) = (self.name, self.cardinality);
        Ok(Violation {
            place,
            table: Some(name.to_owned()),
            field: Some("from".to_owned()),
            rule: Rule::Cardinality,
            message: format!(
                "`{key}` would have {count} {name} edges, and {cardinality} are allowed"
            ),
            found: Some(count.to_string()),
        })
    }
}

/// Where the key of a source is.
enum Source<'a> {
    Row(&'a TableChange<'a>, &'a str, usize),
    Left(&'a Leaving, usize),
}

impl Source<'_> {
    fn text(&self) -> Result<String, RowsError> {
        match self {
            Self::Row(table, column, row) => table.rows.value_text(&[(*column).to_owned()], *row),
            Self::Left(left, at) => {
                let keys = KeyColumn::of(&left.values);
                Ok(keys.map(|keys| quoted(&key_text(keys.value(*at)))).unwrap_or_default())
            }
        }
    }
}

/// Adds the sources of a column that count, are in doubt and do not go; gives back how many there are in
/// all.
fn add(
    sources: &mut IndexBuilder,
    columns: &[ArrayRef],
    (gone, doubted): (Option<&RowIndex>, Option<&RowIndex>),
    first: usize,
    counts: impl Fn(usize) -> bool,
) -> Result<usize, ArrowError> {
    let keys = gone.map(|gone| gone.encode(columns)).transpose()?;
    let goes = |row: usize| {
        let found = gone.zip(keys.as_ref()).and_then(|(gone, keys)| gone.find(keys.row(row)));
        found.is_some()
    };
    sources.add_among(columns, doubted, |row| {
        (counts(first + row) && !goes(row)).then_some((first + row) as u32)
    })?;
    Ok(columns.first().map_or(0, |column| column.len()))
}
