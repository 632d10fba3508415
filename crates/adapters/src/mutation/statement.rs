//! A mutation as it is kept: typed rows pooled by what is done with them, and the order in which
//! they act. It is valid in itself and knows nothing of what the graph holds.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

use arrow_array::RecordBatch;
use graphwrite_protocol_types::{SchemaHash, TableIdentity};
use graphwrite_schema::{EDGE_DST, EDGE_ID, EDGE_SRC, TypeDef};
use graphwrite_substrate::Predicate;

use crate::input::spot::Spot;
use crate::input::{LoadLimits, identity_column};

/// What the delete of a node does with the edges that name it.
// Exhaustive by intent: edges are in the way, or they go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum OnReferenced {
    /// The request is refused if one is left when all of its statements have acted.
    #[default]
    Restrict,
    /// Those that are there when the statement acts are deleted with the node.
    Cascade,
}

/// Everything that one mutation asks, valid in itself. It may be prepared any number of times.
#[derive(Debug)]
pub struct MutationInput {
    pub(crate) schema: SchemaHash,
    pub(super) groups: Vec<Group>,
    pub(super) steps: Vec<Step>,
    pub(super) statements: u32,
    pub(crate) errors_max: usize,
    pub(crate) limits: LoadLimits,
    /// Digest of the statements, computed when it is first asked for.
    pub(super) content: OnceLock<[u8; 32]>,
}

impl MutationInput {
    /// Hash of the schema that the rows were decoded by.
    pub fn schema(&self) -> SchemaHash {
        self.schema
    }

    /// How many statements there are.
    pub fn statements(&self) -> u64 {
        self.statements.into()
    }

    /// The tables that statements name, in identity order, each with what the strongest of its deletes
    /// does to edges that name its rows.
    pub fn tables(&self) -> BTreeMap<TableIdentity, Option<OnReferenced>> {
        let rows = self.groups.iter().map(|group| match group.action {
            Action::Delete(on) => (group.table, Some(on)),
            Action::Insert | Action::Upsert | Action::Update => (group.table, None),
        });
        let conditions = self.steps.iter().filter_map(|step| match step {
            Step::Where(selection) => Some((selection.table, Some(selection.on))),
            Step::Rows { .. } => None,
        });
        let mut tables = BTreeMap::new();
        for (table, removes) in rows.chain(conditions) {
            let strongest = tables.entry(table).or_default();
            *strongest = removes.max(*strongest);
        }
        tables
    }

    /// How many rows and keys the statements bring.
    pub fn rows(&self) -> u64 {
        self.groups.iter().map(|group| group.spots.len() as u64).sum()
    }
}

/// What is done with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Action {
    /// A new row, whole.
    Insert,
    /// A row, whole, new or not.
    Upsert,
    /// Some properties of a row that is there.
    Update,
    Delete(OnReferenced),
}

/// How a row says which row of the table it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Naming {
    /// By the key of a node.
    Key,
    /// By the ends of an edge that has no parallels.
    Ends,
    /// By the id of an edge that may have parallels.
    Id,
    /// All parallels between two ends.
    Parallels,
}

impl Naming {
    /// How rows of a type are told apart.
    pub(super) fn of(def: &TypeDef) -> Self {
        match def.edge() {
            None => Self::Key,
            Some(edge) if edge.multi => Self::Id,
            Some(_) => Self::Ends,
        }
    }

    /// The columns that name a row. The first is the one that tells rows apart, but for parallels.
    pub(super) fn columns(self, def: &TypeDef) -> Vec<&str> {
        match self {
            Self::Key => vec![identity_column(def)],
            Self::Ends => vec![EDGE_ID, EDGE_SRC, EDGE_DST],
            Self::Id => vec![EDGE_ID],
            Self::Parallels => vec![EDGE_SRC, EDGE_DST],
        }
    }
}

/// Rows with which the same is done: whole rows for an insert or upsert, else the columns that name
/// the row, and for an update the columns that are set.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) table: TableIdentity,
    pub(super) action: Action,
    pub(super) by: Naming,
    pub(super) batches: Vec<RecordBatch>,
    /// Number of the first row of each batch.
    starts: Vec<usize>,
    /// Where each row stands in the request.
    pub(super) spots: Vec<Spot>,
}

impl Group {
    pub(super) fn new(
        (table, action, by): (TableIdentity, Action, Naming),
        batches: Vec<RecordBatch>,
        spots: Vec<Spot>,
    ) -> Self {
        let starts = batches.iter().scan(0, |next, batch| {
            let start = *next;
            *next += batch.num_rows();
            Some(start)
        });
        let starts = starts.collect();
        Self { table, action, by, batches, starts, spots }
    }

    /// The batch of a row, by its number, and the row within it.
    pub(super) fn position(&self, row: usize) -> (usize, usize) {
        let batch = self.starts.partition_point(|start| *start <= row).saturating_sub(1);
        (batch, row - self.starts.get(batch).copied().unwrap_or_default())
    }

    /// The batch of a row, and the row within it.
    pub(super) fn locate(&self, row: usize) -> Option<(&RecordBatch, usize)> {
        let (batch, at) = self.position(row);
        self.batches.get(batch).map(|batch| (batch, at))
    }
}

/// One after the other, these are the request.
#[derive(Debug)]
pub(super) enum Step {
    /// Rows of a group, in order. Neighbours that do the same are one step.
    Rows {
        /// Which group.
        group: usize,
        /// Which of its rows.
        rows: Range<usize>,
    },
    /// The rows that a condition holds for when the step acts are deleted.
    Where(Selection),
}

/// A delete by condition.
#[derive(Debug)]
pub(super) struct Selection {
    pub(super) table: TableIdentity,
    pub(super) predicate: Predicate,
    pub(super) on: OnReferenced,
    pub(super) spot: Spot,
}
