//! Every source has as many edges of a type as the schema allows, counted on the post-image: edges
//! of the base that the input does not replace, and edges of the input.

use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_schema::ArrowError;
use arrow_select::concat::concat;
use arrow_select::take::take;
use futures::TryStreamExt;
use graphwrite_protocol_types::{StableTableId, TableIdentity};
use graphwrite_schema::{Cardinality, ConstraintRule, EDGE_ID, EDGE_SRC, TypeDef};
use graphwrite_substrate::TableHandle;

use super::PostImage;
use crate::input::{Faults, Rule, TableInput, Violation, identity_column, quoted};
use crate::keys::{KeyColumn, RowIndex, key_text};
use crate::load::LoadError;
use crate::probe::{BaseTables, scan_matching};

/// How many edges of one type have the sources whose number may change?
pub(super) struct CardinalityQuestion<'a> {
    pub(super) edge: TableIdentity,
    name: &'a str,
    cardinality: Cardinality,
    /// The edges of the type that the input brings.
    edges: Option<&'a TableInput>,
    /// Sources whose number of edges may change, one for each reason.
    sources: ArrayRef,
    index: RowIndex,
    reasons: Vec<Reason>,
    /// Sources that may have edges in the base.
    asked: ArrayRef,
}

/// The row of the input that makes a source count.
#[derive(Debug, Clone, Copy)]
struct Reason {
    table: usize,
    row: usize,
}

#[derive(Default)]
struct Draft {
    pieces: Vec<ArrayRef>,
    reasons: Vec<Reason>,
}

impl Draft {
    fn add(
        &mut self,
        table: usize,
        column: &ArrayRef,
        rows: &[usize],
        first: usize,
    ) -> Result<(), ArrowError> {
        let at: UInt32Array = rows.iter().map(|row| Some(*row as u32)).collect();
        self.pieces.push(take(column, &at, None)?);
        self.reasons.extend(rows.iter().map(|row| Reason { table, row: first + row }));
        Ok(())
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
    let sources = concat(&pieces)?;
    let index = RowIndex::new([sources.data_type().clone()], [vec![ArrayRef::clone(&sources)]])?;
    let asked = sources_of_base(post, from, &sources, &index)?;
    Ok(Some(CardinalityQuestion {
        edge: def.identity,
        name: &def.name,
        cardinality,
        edges: post.table(def.identity).map(|(_, edges, _)| edges),
        sources,
        index,
        reasons: draft.reasons,
        asked,
    }))
}

/// Edges that are added or moved count for the source that they get and the one that they leave.
fn draft_edges(
    post: &PostImage<'_>,
    edge: TableIdentity,
    draft: &mut Draft,
) -> Result<(), ArrowError> {
    let Some((at, table, changes)) = post.table(edge) else { return Ok(()) };
    let mut first = 0;
    for column in table.columns(&[EDGE_SRC])?.into_iter().flatten() {
        let rows = (0..column.len()).filter(|row| changes.changes(first + row));
        draft.add(at, &column, &rows.collect::<Vec<_>>(), first)?;
        first += column.len();
    }
    for (left, rows) in &changes.left_sources {
        draft.pieces.push(ArrayRef::clone(left));
        draft.reasons.extend(rows.iter().map(|row| Reason { table: at, row: *row as usize }));
    }
    Ok(())
}

/// A new node has as few edges as the input brings.
fn draft_nodes(
    post: &PostImage<'_>,
    from: StableTableId,
    draft: &mut Draft,
) -> Result<(), ArrowError> {
    let Some(def) = post.schema.by_table(from) else { return Ok(()) };
    let Some((at, table, changes)) = post.table(def.identity) else { return Ok(()) };
    let mut first = 0;
    for column in table.columns(&[identity_column(def)])?.into_iter().flatten() {
        let rows = (0..column.len()).filter(|row| changes.inserts(first + row));
        draft.add(at, &column, &rows.collect::<Vec<_>>(), first)?;
        first += column.len();
    }
    Ok(())
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
    let Some((_, nodes, changes)) = nodes else { return Ok(distinct) };
    let keys = nodes.keys.encode(std::slice::from_ref(&distinct))?;
    let is_new =
        |row| nodes.keys.find(keys.row(row)).is_some_and(|row| changes.inserts(row as usize));
    let old: UInt32Array =
        (0..distinct.len()).filter(|row| !is_new(*row)).map(|row| Some(row as u32)).collect();
    take(&distinct, &old, None)
}

impl CardinalityQuestion<'_> {
    pub(super) async fn ask(
        &self,
        post: &PostImage<'_>,
        tables: &BaseTables<'_>,
    ) -> Result<Faults, LoadError> {
        let mut counts = vec![0; self.reasons.len()];
        if let Some(edges) = self.edges {
            for columns in edges.columns(&[EDGE_SRC])? {
                self.count(&columns, |_| true, &mut counts)?;
            }
        }
        if let Some(table) = tables.get(self.edge).filter(|_| !self.asked.is_empty()) {
            self.count_base(table, &mut counts).await?;
        }
        Ok(self.judge(post, &counts))
    }

    async fn count_base(&self, table: &TableHandle, counts: &mut [u64]) -> Result<(), LoadError> {
        let columns = vec![EDGE_SRC.to_owned(), EDGE_ID.to_owned()];
        let values = vec![(EDGE_SRC.to_owned(), ArrayRef::clone(&self.asked))];
        let mut batches = scan_matching(table, columns, values).await?;
        while let Some(batch) = batches.try_next().await? {
            let [sources, ids] = batch.columns() else { continue };
            let replaced = match self.edges {
                Some(edges) => {
                    let ids = edges.keys.encode(std::slice::from_ref(ids))?;
                    ids.iter().map(|id| edges.keys.find(id).is_some()).collect()
                }
                None => vec![false; ids.len()],
            };
            self.count(std::slice::from_ref(sources), |row| !replaced[row], counts)?;
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
            .map(|(group, count)| (self.reason(group, count), group[0] as usize, count))
            .collect();
        broken.sort_unstable_by_key(|(reason, ..)| (reason.table, reason.row));
        let mut faults = post.faults();
        for (reason, source, count) in broken {
            faults.push(self.violation(post, reason, source, count));
        }
        faults
    }

    /// The row to name: the last that adds an edge too many, the first that leaves too few.
    fn reason(&self, group: &[u32], count: u64) -> Reason {
        let too_many = count > u64::from(self.cardinality.min);
        let at = if too_many { group.last() } else { group.first() };
        self.reasons[at.copied().unwrap_or(group[0]) as usize]
    }

    fn violation(
        &self,
        post: &PostImage<'_>,
        reason: Reason,
        source: usize,
        count: u64,
    ) -> Violation {
        let key = KeyColumn::of(&self.sources).map(|keys| key_text(keys.value(source)));
        let key = quoted(&key.unwrap_or_default());
        let (name, cardinality) = (self.name, self.cardinality);
        Violation {
            place: post.input.tables[reason.table].place(reason.row),
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
