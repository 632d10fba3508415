//! A node that goes takes no edge's end away: no edge of the base that stays names it. Edges that are
//! put are asked by their ends. One question per edge type and end.

use arrow_array::{Array, ArrayRef};
use arrow_schema::ArrowError;
use arrow_select::concat::concat;
use futures::TryStreamExt;
use graphwrite_protocol_types::TableIdentity;
use graphwrite_schema::{EDGE_DST, EDGE_ID, EDGE_SRC, End, TypeDef};
use graphwrite_substrate::TableHandle;

use super::{Doubts, PostImage};
use crate::change::{Reason, TableChange, addresses};
use crate::error::PrepareError;
use crate::input::{Faults, Rule, Violation, quoted, row_key_text};
use crate::keys::{KeyColumn, RowIndex, key_text};
use crate::probe::{BaseTables, scan_matching};

/// Does an edge that stays name a node that goes?
pub(super) struct ReferenceQuestion<'a> {
    pub(super) edge: TableIdentity,
    edge_name: &'a str,
    end: End,
    /// What the edge is known by.
    named_by: Vec<String>,
    nodes: &'a TableChange<'a>,
    keys: ArrayRef,
    index: RowIndex,
    reasons: Vec<Reason>,
}

/// A node that goes, by its number among the keys, and the edge that names it.
type Named = (u32, String);

pub(super) fn questions<'a>(
    post: &PostImage<'a>,
    doubts: &Doubts,
) -> Result<Vec<ReferenceQuestion<'a>>, PrepareError> {
    let mut questions = Vec::new();
    for (_, nodes) in post.tables().filter(|(_, table)| !table.changes.gone.is_empty()) {
        for edge in post.schema.edges_touching(nodes.identity().table) {
            for end in [End::Src, End::Dst] {
                if edge.edge().is_some_and(|edge| edge.node_at(end) == nodes.identity().table) {
                    let question = ReferenceQuestion::new(edge, end, nodes)?;
                    let doubted = doubts.named(edge.identity, end);
                    if doubted.is_none_or(|doubted| doubted.shares_a_value_with(&question.index)) {
                        questions.push(question);
                    }
                }
            }
        }
    }
    Ok(questions)
}

impl<'a> ReferenceQuestion<'a> {
    fn new(edge: &'a TypeDef, end: End, nodes: &'a TableChange<'a>) -> Result<Self, ArrowError> {
        let gone = &nodes.changes.gone;
        let keys = concat(&gone.iter().map(|gone| gone.values.as_ref()).collect::<Vec<_>>())?;
        let index = RowIndex::new([keys.data_type().clone()], [vec![ArrayRef::clone(&keys)]])?;
        let reasons = gone.iter().flat_map(|gone| gone.reasons.iter().copied()).collect();
        let mut named_by: Vec<_> = edge.key_columns().into_iter().map(str::to_owned).collect();
        named_by.dedup();
        let (edge_name, edge) = (edge.name.as_str(), edge.identity);
        Ok(Self { edge, edge_name, end, named_by, nodes, keys, index, reasons })
    }

    pub(super) async fn ask(
        &self,
        post: &PostImage<'_>,
        tables: &BaseTables<'_>,
    ) -> Result<Faults, PrepareError> {
        let mut named = match tables.get(self.edge) {
            Some(table) => self.named(post, table).await?,
            None => Vec::new(),
        };
        named.sort_unstable_by(|a, b| {
            let place = |named: &Named| self.reasons[named.0 as usize];
            place(a).cmp(&place(b)).then_with(|| a.cmp(b))
        });
        let mut faults = post.faults();
        for (node, edge) in named {
            faults.push(self.violation(node as usize, &edge));
        }
        Ok(faults)
    }

    async fn named(
        &self,
        post: &PostImage<'_>,
        table: &TableHandle,
    ) -> Result<Vec<Named>, PrepareError> {
        let columns = [EDGE_ID, EDGE_SRC, EDGE_DST].map(str::to_owned).to_vec();
        let values = vec![(self.end.column().to_owned(), ArrayRef::clone(&self.keys))];
        let stands = post.stands(self.edge);
        let mut named = Vec::new();
        let mut batches = scan_matching(table, columns, values).await?;
        while let Some(batch) = batches.try_next().await? {
            let at = batch.schema_ref().index_of(self.end.column())?;
            let ends = self.index.encode(std::slice::from_ref(batch.column(at)))?;
            for (row, place) in addresses(&batch)?.values().iter().enumerate() {
                if let Some(node) = self.index.find(ends.row(row)).filter(|_| stands(*place)) {
                    named.push((node, row_key_text(&batch, &self.named_by, row)));
                }
            }
        }
        Ok(named)
    }

    fn violation(&self, node: usize, edge: &str) -> Violation {
        let key = KeyColumn::of(&self.keys).map(|keys| key_text(keys.value(node)));
        let (key, edge) = (quoted(&key.unwrap_or_default()), quoted(edge));
        let name = self.edge_name;
        Violation {
            place: self.nodes.place(self.reasons[node]),
            table: Some(self.nodes.rows.name.clone()),
            field: Some(self.nodes.rows.key_names()),
            rule: Rule::Referenced,
            message: format!(
                "`{key}` cannot go while {name} `{edge}` names it; remove the edge too"
            ),
            found: Some(key),
        }
    }
}
