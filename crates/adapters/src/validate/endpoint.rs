//! Both ends of an edge exist: among the nodes that are put, or among those of the base that stay.
//! One question per node type, whatever edge types ask it.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::TryStreamExt;
use graphwrite_protocol_types::{StableTableId, TableIdentity};
use graphwrite_schema::{ConstraintRule, End, TypeDef};
use graphwrite_substrate::TableHandle;

use super::{Asking, Doubted, Doubts, PostImage, Room};
use crate::change::{TableChange, addresses};
use crate::error::PrepareError;
use crate::input::{Earliest, Faults, RowsError, Rule, Violation, identity_column};
use crate::keys::{IndexBuilder, Pass, RowIndex};
use crate::probe::{BaseTables, named_values, scan_matching};

/// Do nodes of one type exist?
pub(super) struct EndpointQuestion<'a> {
    pub(super) node: TableIdentity,
    node_name: &'a str,
    key_column: &'a str,
    /// The nodes that are put.
    nodes: Option<&'a TableChange<'a>>,
    asks: Vec<Ask<'a>>,
    doubted: Option<Doubted>,
    asking: Asking,
    /// What is asked, where it is asked at once.
    ready: Option<Arc<RowIndex>>,
}

/// The ends of the edges of one type.
struct Ask<'a> {
    table: usize,
    edges: &'a TableChange<'a>,
    end: End,
}

/// One end of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Use {
    table: usize,
    row: usize,
    is_dst: bool,
}

pub(super) fn questions<'a>(
    post: &PostImage<'a>,
    room: &mut Room,
    doubts: &Doubts,
) -> Result<Vec<EndpointQuestion<'a>>, PrepareError> {
    let mut asks: BTreeMap<StableTableId, Vec<Ask<'a>>> = BTreeMap::new();
    for (table, edges) in post.tables().filter(|(_, table)| table.changes.puts()) {
        for rule in post.constraints(edges.identity()) {
            if let ConstraintRule::Endpoint { end, node, .. } = rule {
                asks.entry(node).or_default().push(Ask { table, edges, end });
            }
        }
    }
    let mut questions = Vec::new();
    for (node, asks) in asks {
        let Some(def) = post.schema.by_table(node) else { continue };
        let doubted = doubts.missing(def.identity).cloned();
        if doubted.as_ref().is_some_and(|keys| keys.len() == 0) {
            continue;
        }
        let question = EndpointQuestion::new(post, room, def, (asks, doubted))?;
        // Where all nodes are put together with their edges, the base is not asked.
        if question.ready.as_ref().is_none_or(|asked| asked.len() > 0) {
            questions.push(question);
        }
    }
    Ok(questions)
}

impl Ask<'_> {
    /// Asks for the keys of the pass that are needed, in doubt, and not among `nodes`.
    fn add_to(
        &self,
        asked: &mut IndexBuilder,
        nodes: Option<&Arc<RowIndex>>,
        doubted: Option<&RowIndex>,
    ) -> Result<(), RowsError> {
        let mut first = 0;
        for columns in self.edges.rows.columns(&[self.end.column()])? {
            let columns = columns?;
            let known = match nodes {
                Some(nodes) => Some((nodes, nodes.encode(&columns)?)),
                None => None,
            };
            let is_put = |row: usize| {
                known.as_ref().is_some_and(|(nodes, keys)| nodes.find(keys.row(row)).is_some())
            };
            asked.add_among(&columns, doubted, |row| {
                let is_asked = self.edges.changes.changes(first + row) && !is_put(row);
                is_asked.then_some((first + row) as u32)
            })?;
            first += columns[0].len();
        }
        Ok(())
    }

    /// Names the ends whose keys are asked and were not found.
    fn find_dangling(
        &self,
        asked: &RowIndex,
        found: &[bool],
        dangling: &mut Earliest<Use>,
    ) -> Result<(), RowsError> {
        let (table, is_dst) = (self.table, self.end == End::Dst);
        let mut first = 0;
        for columns in self.edges.rows.columns(&[self.end.column()])? {
            let columns = columns?;
            for (row, key) in asked.encode(&columns)?.iter().enumerate() {
                let is_missing = |key| asked.position(key).is_some_and(|at| !found[at as usize]);
                if self.edges.changes.changes(first + row) && is_missing(key) {
                    dangling.push(Use { table, row: first + row, is_dst });
                }
            }
            first += columns[0].len();
        }
        Ok(())
    }
}

impl<'a> EndpointQuestion<'a> {
    fn new(
        post: &PostImage<'a>,
        room: &mut Room,
        def: &'a TypeDef,
        (asks, doubted): (Vec<Ask<'a>>, Option<Doubted>),
    ) -> Result<Self, PrepareError> {
        let nodes = post.table(def.identity).map(|(_, nodes)| nodes);
        let key_column = identity_column(def);
        let (mut rows, mut bytes) = (0, 0);
        for ask in &asks {
            rows += ask.edges.rows.rows() as u64;
            bytes += ask.edges.rows.width(&[ask.end.column()])?;
        }
        if let Some(nodes) = nodes.filter(|nodes| !nodes.rows.keeps_keys()) {
            rows += nodes.rows.rows() as u64;
            bytes += nodes.rows.width(&[key_column])?;
        }
        let asking = room.plan(rows, bytes);
        let (node, node_name) = (def.identity, def.name.as_str());
        let ready = None;
        let mut question =
            Self { node, node_name, key_column, nodes, asks, doubted, asking, ready };
        if asking == Asking::AtOnce {
            question.ready = Some(Arc::new(question.asked(Pass::ALL)?));
        }
        Ok(question)
    }

    pub(super) fn is_ready(&self) -> bool {
        self.ready.is_some()
    }

    fn asked(&self, pass: Pass) -> Result<RowIndex, RowsError> {
        // A node that is put is not in doubt.
        let nodes = self.nodes.filter(|_| self.doubted.is_none());
        let nodes = nodes.map(|nodes| nodes.rows.keys(pass)).transpose()?;
        let types = self.asks.iter().take(1).map(|ask| {
            let field = ask.edges.rows.schema.field_with_name(ask.end.column());
            field.map(|field| field.data_type().clone())
        });
        let types = types.collect::<Result<Vec<_>, _>>()?;
        let mut asked = IndexBuilder::new(types, pass)?;
        let (nodes, doubted) = (nodes.as_ref(), self.doubted.as_deref());
        self.asks.iter().try_for_each(|ask| ask.add_to(&mut asked, nodes, doubted))?;
        Ok(asked.finish())
    }

    pub(super) async fn ask(
        &self,
        post: &PostImage<'_>,
        tables: &BaseTables<'_>,
    ) -> Result<Faults, PrepareError> {
        let mut faults = post.faults();
        let mut dangling = faults.earliest();
        for pass in self.asking.passes() {
            let asked = match &self.ready {
                Some(asked) => Arc::clone(asked),
                None => Arc::new(self.asked(pass)?),
            };
            let mut found = vec![false; asked.positions()];
            if let Some(table) = tables.get(self.node).filter(|_| asked.len() > 0) {
                self.find(post, table, &asked, &mut found).await?;
            }
            if asked.groups().any(|group| !found[group[0] as usize]) {
                let mut asks = self.asks.iter();
                asks.try_for_each(|ask| ask.find_dangling(&asked, &found, &mut dangling))?;
            }
        }
        faults.append_earliest(dangling, |used| self.violation(post, used))?;
        Ok(faults)
    }

    /// Marks the first position of each key whose node exists.
    async fn find(
        &self,
        post: &PostImage<'_>,
        table: &TableHandle,
        asked: &RowIndex,
        found: &mut [bool],
    ) -> Result<(), PrepareError> {
        let stands = post.stands(self.node);
        let column = self.key_column.to_owned();
        let values = named_values(&column, asked)?;
        let mut batches = scan_matching(table, vec![column], values).await?;
        while let Some(batch) = batches.try_next().await? {
            let places = addresses(&batch)?;
            let keys = asked.encode(&batch.columns()[..1])?;
            for (key, place) in keys.iter().zip(places.values()) {
                if let Some(first) = asked.position(key).filter(|_| stands(*place)) {
                    found[first as usize] = true;
                }
            }
        }
        Ok(())
    }

    fn violation(&self, post: &PostImage<'_>, used: Use) -> Result<Violation, RowsError> {
        let table = post.tables[used.table].rows;
        let (end, field) = if used.is_dst { (End::Dst, "to") } else { (End::Src, "from") };
        let key = table.value_text(&[end.column().to_owned()], used.row)?;
        Ok(Violation {
            place: table.place(used.row),
            table: Some(table.name.clone()),
            field: Some(field.to_owned()),
            rule: Rule::Endpoint,
            message: format!("there is no {} with the key `{key}`", self.node_name),
            found: Some(key),
        })
    }
}
