//! Which tables a mutation is about and why, as far as its statements and the schema show: what must
//! be read, and what the answer depends on. It reads nothing.

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_protocol_types::TableIdentity;
use graphwrite_schema::{End, GraphSchema, TypeDef};

use super::statement::{Action, Group, MutationInput, Naming, OnReferenced, Step};

/// What the statements do to one table.
#[derive(Debug, Default)]
pub(super) struct Uses {
    /// Whole rows are put over rows that may be there, or cells of them are set.
    pub(super) rewrites: bool,
    /// Rows are inserted.
    pub(super) inserts: bool,
    /// Rows may go.
    pub(super) deletes: bool,
    /// Edges are asked by their ends.
    pub(super) finds_by_ends: bool,
}

impl Uses {
    /// Whether rows of the base may be compared with rows that are put, or become part of them.
    pub(super) fn needs_whole_rows(&self) -> bool {
        self.rewrites || (self.inserts && self.deletes)
    }
}

/// An edge type that goes with nodes of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dependent {
    pub(super) edge: TableIdentity,
    /// The end at which the node is.
    pub(super) end: End,
}

#[derive(Debug, Default)]
pub(super) struct Scope {
    /// Every table that is read or written, in identity order.
    pub(super) tables: BTreeMap<TableIdentity, Uses>,
    /// For each node type of a cascading delete, what goes with its nodes.
    pub(super) dependents: BTreeMap<TableIdentity, Vec<Dependent>>,
    /// The node types of which a condition deletes rows with their edges.
    pub(super) cascading_conditions: BTreeSet<TableIdentity>,
}

impl Scope {
    pub(super) fn of(schema: &GraphSchema, input: &MutationInput) -> Self {
        let mut scope = Self::default();
        for group in &input.groups {
            scope.note_group(group);
            if group.action == Action::Delete(OnReferenced::Cascade) {
                scope.note_cascade(schema, group.table);
            }
        }
        for step in &input.steps {
            let Step::Where(selection) = step else { continue };
            scope.uses(selection.table).deletes = true;
            if selection.on == OnReferenced::Cascade {
                scope.cascading_conditions.insert(selection.table);
                scope.note_cascade(schema, selection.table);
            }
        }
        scope
    }

    fn uses(&mut self, table: TableIdentity) -> &mut Uses {
        self.tables.entry(table).or_default()
    }

    fn note_group(&mut self, group: &Group) {
        let uses = self.uses(group.table);
        match group.action {
            Action::Insert => uses.inserts = true,
            Action::Upsert | Action::Update => uses.rewrites = true,
            Action::Delete(_) => uses.deletes = true,
        }
        uses.finds_by_ends |= group.by == Naming::Parallels;
    }

    fn note_cascade(&mut self, schema: &GraphSchema, node: TableIdentity) {
        if self.dependents.contains_key(&node) {
            return;
        }
        let touching = schema.edges_touching(node.table);
        let dependents: Vec<_> = touching.flat_map(|def| dependents_of(def, node)).collect();
        for dependent in &dependents {
            let uses = self.uses(dependent.edge);
            (uses.deletes, uses.finds_by_ends) = (true, true);
        }
        self.dependents.insert(node, dependents);
    }
}

fn dependents_of(def: &TypeDef, node: TableIdentity) -> impl Iterator<Item = Dependent> {
    let ends = def.edge().map(|edge| [(End::Src, edge.from), (End::Dst, edge.to)]);
    let at = ends.into_iter().flatten().filter(move |(_, found)| *found == node.table);
    let edge = def.identity;
    at.map(move |(end, _)| Dependent { edge, end })
}
