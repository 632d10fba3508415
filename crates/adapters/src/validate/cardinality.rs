//! Every source has as many edges of a type as the schema allows, counted on the post-image: edges
//! of the base that stay, and edges that are put. A node that goes needs none.

use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_schema::ArrowError;
use arrow_select::concat::concat;
use arrow_select::take::take;
use futures::TryStreamExt;
use graphwrite_protocol_types::{StableTableId, TableIdentity};
use graphwrite_schema::{Cardinality, ConstraintRule, EDGE_SRC, TypeDef};
use graphwrite_substrate::TableHandle;

use super::PostImage;
use crate::change::{Leaving, Reason, TableChange, addresses};
use crate::error::PrepareError;
use crate::input::{Faults, Place, Rule, Violation, identity_column, quoted};
use crate::keys::{KeyColumn, RowIndex, key_text};
use crate::probe::{BaseTables, scan_matching};

/// How many edges of one type have the sources whose number may change?
pub(super) struct CardinalityQuestion<'a> {
    pub(super) edge: TableIdentity,
    name: &'a str,
    cardinality: Cardinality,
    /// What becomes of edges of the type.
    edges: Option<&'a TableChange<'a>>,
    /// Sources whose number of edges may change, one for each reason.
    sources: ArrayRef,
    index: RowIndex,
    reasons: Vec<Cause>,
    /// Sources that may have edges in the base.
    asked: ArrayRef,
}

/// What makes a source count: a reason of one of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cause {
    table: usize,
    reason: Reason,
}

#[derive(Default)]
struct Draft {
    pieces: Vec<ArrayRef>,
    reasons: Vec<Cause>,
}

impl Draft {
    /// Some rows of a column that starts at row `first` of what is put.
    fn add(
        &mut self,
        table: usize,
        column: &ArrayRef,
        rows: impl Iterator<Item = usize>,
        first: usize,
    ) -> Result<(), ArrowError> {
        let at: UInt32Array = rows.map(|row| Some(row as u32)).collect();
        self.pieces.push(take(column, &at, None)?);
        let rows = at.values().iter().map(|row| Reason::Row(first as u32 + row));
        self.reasons.extend(rows.map(|reason| Cause { table, reason }));
        Ok(())
    }

    fn add_leaving(&mut self, table: usize, leaving: &Leaving) {
        self.pieces.push(ArrayRef::clone(&leaving.values));
        let reasons = leaving.reasons.iter();
        self.reasons.extend(reasons.map(|reason| Cause { table, reason: *reason }));
    }
}

pub(super) fn questions<'a>(
    post: &PostImage<'a>,
) -> Result<Vec<CardinalityQuestion<'a>>, ArrowError> {
    let mut questions = Vec::new();
    for def in post.schema.edges() {
        for rule in post.constraints(def.identity) {
            if let ConstraintRule::Cardinality { from, cardinality } = rule {
                questions.extend(question(post, def, from, cardinality)?);
            }
        }
    }
    Ok(questions)
}

fn question<'a>(
    post: &PostImage<'a>,
    def: &'a TypeDef,
    from: StableTableId,
    cardinality: Cardinality,
) -> Result<Option<CardinalityQuestion<'a>>, ArrowError> {
    let mut draft = Draft::default();
    draft_edges(post, def.identity, &mut draft)?;
    if cardinality.min > 0 {
        draft_nodes(post, from, &mut draft)?;
    }
    if draft.reasons.is_empty() {
        return Ok(None);
    }
    let pieces: Vec<_> = draft.pieces.iter().map(AsRef::as_ref).collect();
    let (sources, reasons) = staying(post, from, &concat(&pieces)?, draft.reasons)?;
    let index = RowIndex::new([sources.data_type().clone()], [vec![ArrayRef::clone(&sources)]])?;
    let asked = sources_of_base(post, from, &sources, &index)?;
    Ok(Some(CardinalityQuestion {
        edge: def.identity,
        name: &def.name,
        cardinality,
        edges: post.table(def.identity).map(|(_, edges)| edges),
        sources,
        index,
        reasons,
        asked,
    }))
}

/// Edges that are added or moved count for the source that they get; those that are removed or moved,
/// for the one that they leave.
fn draft_edges(
    post: &PostImage<'_>,
    edge: TableIdentity,
    draft: &mut Draft,
) -> Result<(), ArrowError> {
    let Some((at, table)) = post.table(edge) else { return Ok(()) };
    let mut first = 0;
    for column in table.rows.columns(&[EDGE_SRC])?.into_iter().flatten() {
        let rows = (0..column.len()).filter(|row| table.changes.changes(first + row));
        draft.add(at, &column, rows, first)?;
        first += column.len();
    }
    table.changes.left.iter().for_each(|left| draft.add_leaving(at, left));
    Ok(())
}

/// A new node has as few edges as are put with it.
fn draft_nodes(
    post: &PostImage<'_>,
    from: StableTableId,
    draft: &mut Draft,
) -> Result<(), ArrowError> {
    let Some(def) = post.schema.by_table(from) else { return Ok(()) };
    let Some((at, table)) = post.table(def.identity) else { return Ok(()) };
    let mut first = 0;
    for column in table.rows.columns(&[identity_column(def)])?.into_iter().flatten() {
        let rows = (0..column.len()).filter(|row| table.changes.inserts(first + row));
        draft.add(at, &column, rows, first)?;
        first += column.len();
    }
    Ok(())
}

/// The sources without the nodes that go.
fn staying(
    post: &PostImage<'_>,
    from: StableTableId,
    sources: &ArrayRef,
    reasons: Vec<Cause>,
) -> Result<(ArrayRef, Vec<Cause>), ArrowError> {
    let nodes = post.schema.by_table(from).and_then(|def| post.table(def.identity));
    let gone = nodes.map(|(_, nodes)| nodes.changes.gone.as_slice()).unwrap_or_default();
    if gone.is_empty() {
        return Ok((ArrayRef::clone(sources), reasons));
    }
    let columns = gone.iter().map(|gone| vec![ArrayRef::clone(&gone.values)]);
    let gone = RowIndex::new([sources.data_type().clone()], columns)?;
    let keys = gone.encode(std::slice::from_ref(sources))?;
    let stay: UInt32Array = (0u32..)
        .zip(keys.iter())
        .filter(|(_, key)| gone.find(*key).is_none())
        .map(|(at, _)| Some(at))
        .collect();
    let reasons = stay.values().iter().map(|at| reasons[*at as usize]).collect();
    Ok((take(sources, &stay, None)?, reasons))
}

/// The distinct sources, apart from nodes that the input adds: no edge of the base can start there.
fn sources_of_base(
    post: &PostImage<'_>,
    from: StableTableId,
    sources: &ArrayRef,
    index: &RowIndex,
) -> Result<ArrayRef, ArrowError> {
    let firsts: UInt32Array = index.groups().map(|group| group.first().copied()).collect();
    let distinct = take(sources, &firsts, None)?;
    let nodes = post.schema.by_table(from).and_then(|def| post.table(def.identity));
    let Some((_, nodes)) = nodes else { return Ok(distinct) };
    let keys = nodes.rows.keys.encode(std::slice::from_ref(&distinct))?;
    let is_new = |row| {
        let found = nodes.rows.keys.find(keys.row(row));
        found.is_some_and(|row| nodes.changes.inserts(row as usize))
    };
    let old: UInt32Array =
        (0..distinct.len()).filter(|row| !is_new(*row)).map(|row| Some(row as u32)).collect();
    take(&distinct, &old, None)
}

impl CardinalityQuestion<'_> {
    pub(super) async fn ask(
        &self,
        post: &PostImage<'_>,
        tables: &BaseTables<'_>,
    ) -> Result<Faults, PrepareError> {
        let mut counts = vec![0; self.reasons.len()];
        if let Some(edges) = self.edges {
            let mut first = 0;
            for columns in edges.rows.columns(&[EDGE_SRC])? {
                // An edge that is put as it is stands in the base and is counted there.
                self.count(&columns, |row| edges.changes.changes(first + row), &mut counts)?;
                first += columns[0].len();
            }
        }
        if let Some(table) = tables.get(self.edge).filter(|_| !self.asked.is_empty()) {
            self.count_base(post, table, &mut counts).await?;
        }
        Ok(self.judge(post, &counts))
    }

    async fn count_base(
        &self,
        post: &PostImage<'_>,
        table: &TableHandle,
        counts: &mut [u64],
    ) -> Result<(), PrepareError> {
        let values = vec![(EDGE_SRC.to_owned(), ArrayRef::clone(&self.asked))];
        let stands = post.stands(self.edge);
        let mut batches = scan_matching(table, vec![EDGE_SRC.to_owned()], values).await?;
        while let Some(batch) = batches.try_next().await? {
            let places = addresses(&batch)?;
            self.count(&batch.columns()[..1], |row| stands(places.value(row)), counts)?;
        }
        Ok(())
    }

    /// Adds edges to the count of their source, which is kept at the first of its reasons.
    fn count(
        &self,
        sources: &[ArrayRef],
        counts_edge: impl Fn(usize) -> bool,
        counts: &mut [u64],
    ) -> Result<(), ArrowError> {
        let sources = self.index.encode(sources)?;
        for (row, source) in sources.iter().enumerate() {
            if let Some(first) = self.index.find(source).filter(|_| counts_edge(row)) {
                counts[first as usize] += 1;
            }
        }
        Ok(())
    }

    fn judge(&self, post: &PostImage<'_>, counts: &[u64]) -> Faults {
        let broken = self.index.groups().filter_map(|group| {
            let count = counts[group[0] as usize];
            (!self.cardinality.allows(count)).then_some((group, count))
        });
        let mut broken: Vec<_> = broken
            .map(|(group, count)| (self.cause(group, count), group[0] as usize, count))
            .collect();
        broken.sort_unstable_by_key(|(cause, source, _)| (*cause, *source));
        let mut faults = post.faults();
        for (cause, source, count) in broken {
            let place = post.tables[cause.table].place(cause.reason);
            faults.push(self.violation(place, source, count));
        }
        faults
    }

    /// What to name: the last that adds an edge too many, the first that leaves too few.
    fn cause(&self, group: &[u32], count: u64) -> Cause {
        let too_many = count > u64::from(self.cardinality.min);
        let at = if too_many { group.last() } else { group.first() };
        self.reasons[at.copied().unwrap_or(group[0]) as usize]
    }

    fn violation(&self, place: Place, source: usize, count: u64) -> Violation {
        let key = KeyColumn::of(&self.sources).map(|keys| key_text(keys.value(source)));
        let key = quoted(&key.unwrap_or_default());
        let (name, cardinality) = (self.name, self.cardinality);
        Violation {
            place,
            table: Some(name.to_owned()),
            field: Some("from".to_owned()),
            rule: Rule::Cardinality,
            message: format!(
                "`{key}` would have {count} {name} edges, and {cardinality} are allowed"
            ),
            found: Some(count.to_string()),
        }
    }
}
