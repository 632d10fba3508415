//! The canonical schema: types and properties by identity, names as labels. A value of
//! [`GraphSchema`] has passed every rule and has one form only.

use std::fmt;

use graphwrite_protocol_types::{StableTableId, TableIdentity};
use serde::{Deserialize, Serialize};

use crate::cardinality::Cardinality;
use crate::constraint::End;
use crate::error::{Place, SchemaError};
use crate::property_type::{PropertyType, ScalarType};
use crate::validate;

/// The column of an edge row's own id.
pub const EDGE_ID: &str = "id";
/// The column of the key of the node that an edge starts from.
pub const EDGE_SRC: &str = "src";
/// The column of the key of the node that an edge leads to.
pub const EDGE_DST: &str = "dst";

/// A property's identity within its type: kept by a rename and never used again. Counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PropertyId(pub u32);

impl fmt::Display for PropertyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The types of a graph. Types and properties are referred to by identity, so a rename changes
/// labels only (BLOCKER-07).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphSchema {
    types: Vec<TypeDef>,
}

impl GraphSchema {
    /// Brings types to the canonical form and checks every rule.
    ///
    /// # Errors
    /// The first rule that the types break, with its place by name.
    pub fn new(mut types: Vec<TypeDef>) -> Result<Self, SchemaError> {
        types.iter_mut().for_each(TypeDef::normalize);
        types.sort_by_key(|def| def.identity);
        validate::check_types(&types)?;
        Ok(Self { types })
    }

    /// All types, sorted by identity.
    pub fn types(&self) -> &[TypeDef] {
        &self.types
    }

    /// The node types, sorted by identity.
    pub fn nodes(&self) -> impl Iterator<Item = &TypeDef> {
        self.types.iter().filter(|def| def.is_node())
    }

    /// The edge types, sorted by identity.
    pub fn edges(&self) -> impl Iterator<Item = &TypeDef> {
        self.types.iter().filter(|def| !def.is_node())
    }

    /// The type with this name; the case counts.
    pub fn by_name(&self, name: &str) -> Option<&TypeDef> {
        self.types.iter().find(|def| def.name == name)
    }

    /// The node type with this name.
    pub fn node_by_name(&self, name: &str) -> Option<&TypeDef> {
        self.by_name(name).filter(|def| def.is_node())
    }

    /// The edge type with this name.
    pub fn edge_by_name(&self, name: &str) -> Option<&TypeDef> {
        self.by_name(name).filter(|def| !def.is_node())
    }

    /// The type with this identity, incarnation included.
    pub fn by_identity(&self, identity: TableIdentity) -> Option<&TypeDef> {
        let found = self.types.binary_search_by_key(&identity, |def| def.identity);
        found.ok().map(|index| &self.types[index])
    }

    /// The type with this stable id, whatever its incarnation.
    pub fn by_table(&self, table: StableTableId) -> Option<&TypeDef> {
        self.types.iter().find(|def| def.identity.table == table)
    }

    /// The edge types that start from or lead to a node type.
    pub fn edges_touching(&self, node: StableTableId) -> impl Iterator<Item = &TypeDef> {
        self.edges()
            .filter(move |def| def.edge().is_some_and(|edge| edge.from == node || edge.to == node))
    }

    /// The type of a node type's key; none for an unknown table and for an edge type.
    pub fn node_key_type(&self, node: StableTableId) -> Option<ScalarType> {
        self.by_table(node)?.key_property()?.property_type.scalar()
    }
}

/// One node or edge type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeDef {
    /// What the type is compared by.
    pub identity: TableIdentity,
    /// The label.
    pub name: String,
    /// What only nodes or only edges have.
    pub kind: TypeKind,
    /// The properties, sorted by id, which is the order of the columns.
    pub properties: Vec<PropertyDef>,
    /// Sets of at least two properties that are unique together, each sorted, and sorted.
    pub unique: Vec<Vec<PropertyId>>,
    /// Whether the key column of a node, or `src` and `dst` of an edge, get an index.
    pub index: bool,
    /// The id of the next property to be added. It only grows: a dropped property's id is never
    /// used again.
    pub next_property_id: u32,
}

/// What a type has only as a node or only as an edge.
// Exhaustive by intent: a graph has nodes and edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TypeKind {
    /// A node type.
    Node {
        /// The property whose value is the row's id.
        key: PropertyId,
    },
    /// An edge type.
    Edge(EdgeDef),
}

/// What an edge type says of its edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeDef {
    /// The node type that edges start from.
    pub from: StableTableId,
    /// The node type that edges lead to.
    pub to: StableTableId,
    /// How many edges each source has.
    pub cardinality: Cardinality,
    /// Whether parallel edges may exist; their rows then carry their own id.
    pub multi: bool,
}

impl EdgeDef {
    /// The node type at one end.
    pub fn node_at(&self, end: End) -> StableTableId {
        match end {
            End::Src => self.from,
            End::Dst => self.to,
        }
    }
}

/// One property of a type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PropertyDef {
    /// What the property is compared by.
    pub id: PropertyId,
    /// The label, and the name of the column.
    pub name: String,
    /// The type of its values.
    pub property_type: PropertyType,
    /// Whether a row may have no value.
    pub nullable: bool,
    /// Whether no two rows may have the same value. A key is unique without it.
    pub unique: bool,
    /// Whether the column gets an index.
    pub index: bool,
}

impl TypeDef {
    /// Whether it is a node type.
    pub fn is_node(&self) -> bool {
        matches!(self.kind, TypeKind::Node { .. })
    }

    /// What an edge type says of its edges; none for a node type.
    pub fn edge(&self) -> Option<&EdgeDef> {
        match &self.kind {
            TypeKind::Node { .. } => None,
            TypeKind::Edge(edge) => Some(edge),
        }
    }

    /// The property with this id.
    pub fn property(&self, id: PropertyId) -> Option<&PropertyDef> {
        self.properties.iter().find(|property| property.id == id)
    }

    /// The property with this name; the case counts.
    pub fn property_by_name(&self, name: &str) -> Option<&PropertyDef> {
        self.properties.iter().find(|property| property.name == name)
    }

    /// The property whose value is a node row's id; none for an edge type.
    pub fn key_property(&self) -> Option<&PropertyDef> {
        match self.kind {
            TypeKind::Node { key } => self.property(key),
            TypeKind::Edge(_) => None,
        }
    }

    /// The columns whose values tell rows apart: a node's key; `src` and `dst` of an edge, or its
    /// `id` when parallel edges may exist.
    pub fn key_columns(&self) -> Vec<&str> {
        match &self.kind {
            TypeKind::Node { .. } => {
                self.key_property().map(PropertyDef::column).into_iter().collect()
            }
            TypeKind::Edge(edge) if edge.multi => vec![EDGE_ID],
            TypeKind::Edge(_) => vec![EDGE_SRC, EDGE_DST],
        }
    }

    /// The columns for which the author asked an index, in the order of the table.
    pub fn indexed_columns(&self) -> Vec<&str> {
        let own = match self.kind {
            TypeKind::Edge(_) if self.index => vec![EDGE_SRC, EDGE_DST],
            _ => Vec::new(),
        };
        let key = self.key_property().filter(|_| self.index).map(|key| key.id);
        let asked = |property: &&PropertyDef| property.index || Some(property.id) == key;
        let properties = self.properties.iter().filter(asked).map(PropertyDef::column);
        own.into_iter().chain(properties).collect()
    }

    /// The type's place in a schema text.
    pub fn place(&self) -> Place {
        let section = if self.is_node() { "node" } else { "edge" };
        Place::root().child(section).child(&self.name)
    }

    fn normalize(&mut self) {
        let key = self.key_property().map(|key| key.id);
        for property in &mut self.properties {
            property.property_type.normalize();
            // A key is unique already: one spelling, one hash.
            property.unique &= Some(property.id) != key;
        }
        self.properties.sort_by_key(|property| property.id);
        self.unique.iter_mut().for_each(|set| set.sort());
        self.unique.sort();
    }
}

impl PropertyDef {
    fn column(&self) -> &str {
        &self.name
    }
}
