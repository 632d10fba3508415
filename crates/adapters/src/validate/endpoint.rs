//! Both ends of an edge exist: among the nodes that are put, or among those of the base that stay. One question per
//! node type, whatever edge types ask it.

use std::collections::BTreeMap;

use arrow_array::{ArrayRef, UInt32Array};
use arrow_schema::ArrowError;
use arrow_select::concat::concat;
use arrow_select::take::take;
use futures::TryStreamExt;
use graphwrite_protocol_types::{StableTableId, TableIdentity};
use graphwrite_schema::{ConstraintRule, End, TypeDef};
use graphwrite_substrate::TableHandle;

use super::PostImage;
use crate::change::{TableChange, addresses};
use crate::error::PrepareError;
use crate::input::{Faults, Rule, Violation, identity_column, quoted};
use crate::keys::{KeyColumn, RowIndex, key_text};
use crate::probe::{BaseTables, scan_matching};

/// Do nodes of one type exist?
pub(super) struct EndpointQuestion<'a> {
    pub(super) node: TableIdentity,
    node_name: &'a str,
    key_column: &'a str,
    /// The keys that are asked for, one for each use.
    keys: ArrayRef,
    index: RowIndex,
    uses: Vec<Use>,
}

/// One end of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Use {
    table: usize,
    row: usize,
    is_dst: bool,
}

/// The keys that edges of the input refer to and the input does not bring.
#[derive(Default)]
struct Draft {
    pieces: Vec<ArrayRef>,
    uses: Vec<Use>,
}

pub(super) fn questions<'a>(post: &PostImage<'a>) -> Result<Vec<EndpointQuestion<'a>>, ArrowError> {
    let mut drafts: BTreeMap<StableTableId, Draft> = BTreeMap::new();
    for (at, table) in post.tables() {
        for rule in post.constraints(table.identity()) {
            if let ConstraintRule::Endpoint { end, node, .. } = rule {
                draft(post, (at, table), end, node, drafts.entry(node).or_default())?;
            }
        }
    }
    let asked = drafts.into_iter().filter(|(_, draft)| !draft.uses.is_empty());
    let types = asked.filter_map(|(node, draft)| Some((post.schema.by_table(node)?, draft)));
    types.map(|(def, draft)| EndpointQuestion::new(def, draft)).collect()
}

fn draft(
    post: &PostImage<'_>,
    (table, edges): (usize, &TableChange<'_>),
    end: End,
    node: StableTableId,
    draft: &mut Draft,
) -> Result<(), ArrowError> {
    let nodes = post.schema.by_table(node).and_then(|def| post.table(def.identity));
    let mut first = 0;
    for columns in edges.rows.columns(&[end.column()])? {
        let known = match nodes {
            Some((_, nodes)) => Some((&nodes.rows.keys, nodes.rows.keys.encode(&columns)?)),
            None => None,
        };
        let brought = |row: usize| {
            known.as_ref().is_some_and(|(nodes, keys)| nodes.find(keys.row(row)).is_some())
        };
        let [column] = columns.as_slice() else { continue };
        let asked: Vec<usize> = (0..column.len())
            .filter(|row| edges.changes.changes(first + row) && !brought(*row))
            .collect();
        let indices: UInt32Array = asked.iter().map(|row| Some(*row as u32)).collect();
        draft.pieces.push(take(column, &indices, None)?);
        let is_dst = end == End::Dst;
        draft.uses.extend(asked.iter().map(|row| Use { table, row: first + row, is_dst }));
        first += column.len();
    }
    Ok(())
}

impl<'a> EndpointQuestion<'a> {
    fn new(def: &'a TypeDef, draft: Draft) -> Result<Self, ArrowError> {
        let pieces: Vec<_> = draft.pieces.iter().map(AsRef::as_ref).collect();
        let keys = concat(&pieces)?;
        let index = RowIndex::new([keys.data_type().clone()], [vec![ArrayRef::clone(&keys)]])?;
        Ok(Self {
            node: def.identity,
            node_name: &def.name,
            key_column: identity_column(def),
            keys,
            index,
            uses: draft.uses,
        })
    }

    pub(super) async fn ask(
        &self,
        post: &PostImage<'_>,
        tables: &BaseTables<'_>,
    ) -> Result<Faults, PrepareError> {
        let found = match tables.get(self.node) {
            Some(table) => self.found(post, table).await?,
            None => vec![false; self.uses.len()],
        };
        Ok(self.judge(post, &found))
    }

    /// For the first use of each key, whether the node exists.
    async fn found(
        &self,
        post: &PostImage<'_>,
        table: &TableHandle,
    ) -> Result<Vec<bool>, PrepareError> {
        let stands = post.stands(self.node);
        let firsts: UInt32Array = self.index.groups().map(|group| group.first().copied()).collect();
        let distinct = take(&self.keys, &firsts, None)?;
        let column = self.key_column.to_owned();
        let values = vec![(column.clone(), distinct)];
        let mut found = vec![false; self.uses.len()];
        let mut batches = scan_matching(table, vec![column], values).await?;
        while let Some(batch) = batches.try_next().await? {
            let places = addresses(&batch)?;
            let keys = self.index.encode(&batch.columns()[..1])?;
            for (key, place) in keys.iter().zip(places.values()) {
                if let Some(first) = self.index.find(key).filter(|_| stands(*place)) {
                    found[first as usize] = true;
                }
            }
        }
        Ok(found)
    }

    fn judge(&self, post: &PostImage<'_>, found: &[bool]) -> Faults {
        let missing = self.index.groups().filter(|group| !found[group[0] as usize]).flatten();
        let mut dangling: Vec<(Use, usize)> =
            missing.map(|at| (self.uses[*at as usize], *at as usize)).collect();
        dangling.sort_unstable();
        let mut faults = post.faults();
        for (used, at) in dangling {
            faults.push(self.violation(post, used, at));
        }
        faults
    }

    fn violation(&self, post: &PostImage<'_>, used: Use, at: usize) -> Violation {
        let table = post.tables[used.table].rows;
        let key = KeyColumn::of(&self.keys).map(|keys| key_text(keys.value(at)));
        let key = quoted(&key.unwrap_or_default());
        let field = if used.is_dst { "to" } else { "from" };
        Violation {
            place: table.place(used.row),
            table: Some(table.name.clone()),
            field: Some(field.to_owned()),
            rule: Rule::Endpoint,
            message: format!("there is no {} with the key `{key}`", self.node_name),
            found: Some(key),
        }
    }
}
